/* SPDX-License-Identifier: Apache-2.0
 * The figures of a compiled model as one JSON document (NAME.json, --json). */
#ifndef INLAY_EMIT_MANIFEST_H
#define INLAY_EMIT_MANIFEST_H

#include <jansson.h>

#include "ir/program.h"

typedef struct ManifestFacts {
    const char *name;
    const char *weights_sha256; /* NULL: not computed */
    const char *model_sha256;
    const char *weights_form;
} ManifestFacts;

/* A new reference; never NULL: out of memory fails. */
json_t *manifest_build(const Program *p, const ManifestFacts *f);
/* The document as text with a newline at its end, in the arena. */
const char *manifest_text(Arena *a, json_t *document);

#endif
