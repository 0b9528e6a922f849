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
    const char *const *shape, *const *dim, *const *constant, *const *without, *const *io;  /* of the command line, ended by NULL; NULL: none */
    int pack_width;
} ManifestFacts;

/* The plan as it is emitted, so that others can judge it: sets "tensors" and "schedule" of the document, and for each
 * of its `steps` the operands, with their places and the rows that a unit needs. */
void manifest_plan(json_t *document, json_t *steps, const Program *p);

/* For parts of the document: never NULL (out of memory fails), and text that is not UTF-8 gets '?'. */
json_t *manifest_made(json_t *j);
void manifest_set(json_t *object, const char *key, json_t *value);
json_t *manifest_name(Arena *a, const char *s);

/* A new reference; never NULL: out of memory fails. */
json_t *manifest_build(const Program *p, const ManifestFacts *f);
/* The document as text with a newline at its end, in the arena. */
const char *manifest_text(Arena *a, json_t *document);

#endif
