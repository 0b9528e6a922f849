/* SPDX-License-Identifier: Apache-2.0
 * What files hold, as they hold it: TensorProto (.pb), NumPy (.npy), numbers and words as text
 * (.csv, .txt), sound (.wav), pictures (.png, .pgm, .ppm). */
#ifndef INLAY_CLI_FILE_VALUES_H
#define INLAY_CLI_FILE_VALUES_H

#include "ir/graph.h"

/* What a file holds, row-major. */
typedef struct FileValues {
    DType dtype;
    Shape shape;
    void *at;
    /* converted to what is wanted; else only widths may differ */
    bool any_type;
    double scale; /* for floats: times this; 0: as they are */
} FileValues;

/* A file to be read, and the tensor that wants its values. */
typedef struct ValueFile {
    Arena *arena;
    Store *store;
    const char *path;
    File *file;
    const Tensor *wanted;
} ValueFile;

typedef FileValues ValueReader(const ValueFile *from);

/* By the file's first bytes. Fails with 65 where it is damaged. */
ValueReader file_values;
/* One is read in the size that the tensor has. */
bool file_is_picture(File *file);
/* Readers of one format each. */
ValueReader npy_read, wav_read, netpbm_read, png_read, text_read, words_read;
/* The same of a .npy that is in memory. */
FileValues npy_values(Arena *arena, Store *store, const char *path,
                      const char *all, uint64_t size);

/* A picture's pixels as they lie in the file, channels side by side. */
typedef struct Picture {
    int64_t channels;
    int64_t width;
    int64_t height;
    const unsigned char *pixel;
} Picture;

enum { LARGEST_SIDE = 65535 };

/* Has it the size that the model wants? Fails with 65 where not, before it is read. */
void picture_check(const ValueFile *from, const Picture *picture);
FileValues picture_values(const ValueFile *from, const Picture *picture);

/* For the readers: the whole file with a NUL behind it; a failure with 65. */
char *value_text(Arena *arena, File *file);
Loc value_place(const char *path);
_Noreturn void value_fail(const char *path, const char *what);

/* Writes a .npy file. */
void npy_write(Arena *arena, File *file, const Tensor *tensor,
               const void *values);

#endif
