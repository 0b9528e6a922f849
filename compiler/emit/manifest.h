/* SPDX-License-Identifier: Apache-2.0
 * The figures of a compiled model as one JSON document (NAME.json, --json). */
#ifndef INLAY_EMIT_MANIFEST_H
#define INLAY_EMIT_MANIFEST_H

#include <jansson.h>

#include "base/pieces.h"
#include "ir/program.h"

typedef struct ManifestFacts {
    const char *name;
    const char *weights_sha256; /* NULL: not computed */
    const char *model_sha256;
    const char *weights_form;
    const char *target; /* NULL: none was named */
    /* of the command line, ended by NULL; NULL: none */
    const char *const *from;
    const char *const *to;
    const char *const *shape;
    const char *const *dim;
    const char *const *constant;
    const char *const *without;
    const char *const *io;
    const char *const *state;
    const char *const *preprocess;
    const char *const *stream;
    int updates;                /* UpdatePolicy */
    const char *const *shaping; /* options that decide what the code is */
    const Map *kept;            /* results that are not folded; NULL: none */
    /* of each variant but the first (ir/lengths.h) its `dim` */
    const char **const *variant_dim;
    json_t *files; /* that were written, becomes the manifest's; NULL: none */
} ManifestFacts;

/* The document under way: one step is held at a time, so that memory does not follow the document.
 */
typedef struct ManifestText {
    Sink sink;
    /* of jansson's memory: what is taken after it goes with each line */
    ArenaMark free;
    bool any_key, any_element;
} ManifestText;

/* The plan as it is emitted, so that others can judge it: the lists "tensors" and "schedule". */
typedef struct ManifestPlan ManifestPlan;
ManifestPlan *manifest_plan(const Program *program);
void manifest_tensors(ManifestText *manifest, const ManifestPlan *l);
void manifest_schedule(ManifestText *manifest, const Program *program);
/* Adds a step's operands, with their places and the rows that a unit needs. */
void manifest_operands(const ManifestPlan *l, json_t *step, const Step *s);

/* Of weights that come as a blob: each constant, in the blob or in the code, and what each step has
 * in its parameters. By them another model is held to code in the field (manifest_blob.c). */

/* By constant, the step and the operand that take it first. */
typedef struct ConstantUse {
    const Step *step; /* NULL: none does */
    int operand;
} ConstantUse;
ConstantUse *constant_uses(const Program *program);
/* What the kernel of its step calls it: "weights", "bias"; its step must be there. */
const char *constant_role(const Program *program, const ConstantUse *use);

/* Constant i: node, role, dtype, dims, place, at, bytes; of the code also crc32. */
json_t *constant_facts(const Program *program, const ConstantUse *uses,
                       size_t i);
/* What comes through windows. */
json_t *stream_facts(const Program *program);
/* The step's parameters as the code has them. */
json_t *params_facts(const Program *program, const Step *step);

/* The list "constants". */
void manifest_constants(ManifestText *manifest, const Program *program,
                        const ManifestFacts *facts);

/* Of lengths that runs are given (manifest_lengths.c): does value `index` follow them as a result;
 * which dimensions of an input they are; the keys "lengths" and "variants". */
bool manifest_follows(const Program *program, const Tensor *tensor,
                      size_t index);
void manifest_symbols(json_t *object, const Program *program,
                      const Tensor *tensor);
void manifest_lengths(ManifestText *manifest, const Program *program,
                      const ManifestFacts *facts);
/* The key "options" (manifest_options.c). */
json_t *manifest_options(const Program *program, const ManifestFacts *facts);
/* The keys "states" and "stream", where there are any. */
void manifest_kept(ManifestText *manifest, const Program *program);

/* A key with its value on one line (taken over), or with a list of elements, each on its own. */
void manifest_key(ManifestText *manifest, const char *key, json_t *value);
void manifest_list(ManifestText *manifest, const char *key);
void manifest_element(ManifestText *manifest, json_t *value);
void manifest_list_end(ManifestText *manifest);
/* The last line. */
void manifest_end(const ManifestText *manifest);

/* For parts of the document: never NULL, and text that is not UTF-8 gets '?'. */
json_t *manifest_made(json_t *json);
void manifest_set(json_t *object, const char *key, json_t *value);
json_t *manifest_name(Arena *arena, const char *s);
/* A list that ends in NULL, or NULL; of each text all, or what is before the last "=". */
json_t *manifest_names(Arena *arena, const char *const *list,
                       bool until_equals);

/* The document, with a newline at its end. `stats` becomes its last key (taken over); NULL: none.
 */
void manifest_write(const Program *program, const ManifestFacts *facts,
                    json_t *stats, Sink sink);

#endif
