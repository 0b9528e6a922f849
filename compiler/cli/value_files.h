/* SPDX-License-Identifier: Apache-2.0
 * Values for a run, from files as people have them, in the type and shape that a tensor wants; and
 * made ones: zeros, random:SEED. */
#ifndef INLAY_CLI_VALUE_FILES_H
#define INLAY_CLI_VALUE_FILES_H

#include "cli/file_values.h"
#include "pipeline/state.h"

/* A tensor whose values may be several, one behind the other along an axis: a signal in steps. */
typedef struct Series {
    int axis; /* -1: it has its own size */
    /* how often the tensor; found where a file says it, kept for made values */
    int64_t times;
} Series;

/* What values are wanted for. */
typedef struct Tensors {
    Tensor *const *at;
    size_t n;
    Series *series; /* of each; NULL: all have their own size */
} Tensors;

/* The values for each tensor, in its type and in the arena: of a file each, or of one .npz that has
 * them by name, or in order where it knows none of the names and has as many. Fails with 66 where
 * there is no file, with 65 where it does not fit. */
void **values_load(Compile *compile, const Tensors *wanted,
                   const char *const *file);
/* The shape of what a file holds for tensor i, and what messages call the file; false: it is made
 * up, of whatever shape is wanted, or a picture, and the shape is not known. */
bool values_shape(Compile *compile, const Tensors *wanted,
                  const char *const *file, size_t i, Shape *shape,
                  const char **place);
/* Does the word name a .npz? */
bool value_is_archive(Arena *arena, const char *word);
/* Values of a file as the tensor's; `path` is what messages call it. */
void *value_fit(Arena *arena, const char *path, const FileValues *values,
                const Tensor *tensor);
/* The same as a question: could they be the tensor's? */
bool value_fits(const FileValues *values, const Tensor *tensor);

#endif
