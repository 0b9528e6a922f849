/* SPDX-License-Identifier: Apache-2.0
 * What changed from one blob to the next, as a file of its own (runtime/inlay_delta.h). Both blobs
 * are for the same code. It is made and read a window at a time. */
#ifndef INLAY_EMIT_BLOB_DELTA_H
#define INLAY_EMIT_BLOB_DELTA_H

#include "emit/blob_read.h"
#include "inlay_delta.h"

typedef struct BlobDelta {
    inlay_delta_head head;
    uint64_t bytes;   /* of the file */
    uint64_t records; /* how many it has */
    uint64_t fresh;   /* bytes that it brings */
    uint64_t blocks;  /* of the weights that differ; where it was made */
} BlobDelta;

/* Writes the delta that makes `new` of `old`; 78 where they are for different code, 69 where slots
 * cannot count the bytes of the new one. */
BlobDelta blob_delta_write(Arena *arena, const BlobFile *old,
                           const BlobFile *new, File *to);

/* Does the file begin as a delta does? */
bool blob_delta_is(File *file);
/* Is it whole, as far as it can be said without the old blob? 65 where it is not. */
BlobDelta blob_delta_open(File *file);
/* Is it for that blob? */
bool blob_delta_fits(const BlobDelta *delta, const BlobFile *old);

#endif
