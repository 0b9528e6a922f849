/* SPDX-License-Identifier: Apache-2.0
 * Values for a run from files as people have them: TensorProto (.pb), NumPy (.npy), numbers as
 * text (.csv, .txt), sound (.wav), pictures (.pgm, .ppm); and made ones: zeros, random:SEED. */
#ifndef INLAY_CLI_VALUE_FILES_H
#define INLAY_CLI_VALUE_FILES_H

#include "ir/graph.h"

/* What a file holds, row-major. */
typedef struct FileValues {
    DType dtype;
    Shape shape;
    void *at;
    bool
        any_type; /* converted to what is wanted; else only widths may differ */
    double scale; /* for floats: times this; 0: as they are */
} FileValues;

/* The values for the tensor, in its type and in the arena. Fails with 66 where there is no file,
 * with 65 where it does not fit. */
void *value_load(Arena *arena, Store *store, const Tensor *tensor,
                 const char *path);

/* Readers of one format each, by the file's content. */
FileValues npy_read(Arena *arena, const char *path, File *file);
FileValues wav_read(Arena *arena, const char *path, File *file);
/* `wanted` says whether channels come first. */
FileValues picture_read(Arena *arena, const char *path, File *file,
                        const Tensor *wanted);
FileValues text_read(Arena *arena, const char *path, File *file);

/* For the readers: the whole file with a NUL behind it; a failure with 65. */
char *value_text(Arena *arena, File *file);
_Noreturn void value_fail(const char *path, const char *what);

/* Writes a .npy file. */
void npy_write(Arena *arena, File *file, const Tensor *tensor,
               const void *values);

#endif
