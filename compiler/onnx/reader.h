/* SPDX-License-Identifier: Apache-2.0
 * Reads an ONNX file into a Graph: names resolved, constants as recipes, nothing
 * inferred and no payload read. Whatever is wrong with the file ends in
 * fail_at() with 65 (malformed) or 69 (an operator set we do not know). */
#ifndef INLAY_ONNX_READER_H
#define INLAY_ONNX_READER_H

#include "ir/graph.h"

typedef struct ReadOptions {
    /* folder of external data; NULL: that of the model */
    const char *external_dir;
    bool no_external; /* refuse external data */
} ReadOptions;

/* The model at `path` ("-": standard input, spooled to a temporary file). opt may be NULL. */
Graph *onnx_read(Arena *arena, Store *store, const char *path,
                 const ReadOptions *opt);

/* A file that holds a single TensorProto, as test data sets do. Strings are codes of the store's
 * words (ir/words.h). *name (may be NULL) gets its name, "" where it has none. */
Recipe *onnx_read_tensor(Arena *arena, Store *store, const char *path,
                         const ReadOptions *opt, const char **name);

#endif
