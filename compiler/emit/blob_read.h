/* SPDX-License-Identifier: Apache-2.0
 * A blob of weights as a file: is it one, and whole? It is read a window at a time. */
#ifndef INLAY_EMIT_BLOB_READ_H
#define INLAY_EMIT_BLOB_READ_H

#include "emit/blob_notes.h"

typedef struct BlobFile {
    File *file;
    uint64_t layout;
    uint64_t begin;   /* where the weights begin */
    uint64_t weights; /* bytes of them, their seal included */
    uint32_t sum;     /* the seal's CRC-32, of all weights */
    BlobNotes notes;
} BlobFile;

/* Opens and checks all of it: 65 where it is none, cut off or damaged. */
BlobFile blob_open(Arena *arena, const char *path);
/* The same of a file that is open. */
BlobFile blob_read(Arena *arena, File *file);

#endif
