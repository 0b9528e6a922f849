/* SPDX-License-Identifier: Apache-2.0
 * The stages that write the output folder. */
#ifndef INLAY_PIPELINE_WRITE_H
#define INLAY_PIPELINE_WRITE_H

#include "emit/manifest.h"
#include "pipeline/state.h"

/* src/: the C and the weights. */
void write_source(Compile *compile);
/* The C alone, to compile->out. */
void write_code(Compile *compile);
/* The manifest, the report, and what --csv and --html ask for. */
void write_reports(Compile *compile);

/* What the manifest says beside the program; nothing of the written weights yet. */
ManifestFacts manifest_facts(Compile *compile);

#endif
