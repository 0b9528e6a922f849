/* SPDX-License-Identifier: Apache-2.0
 * The report to look at: one HTML file that needs nothing but itself (templates/report.html). */
#ifndef INLAY_EMIT_HTML_H
#define INLAY_EMIT_HTML_H

#include "emit/text.h"
#include "ir/program.h"

/* Names of the model are escaped and cut; what is shown without scripts is complete but for the
 * choice of a step. */
Text html_report(const Program *program, const char *name);

#endif
