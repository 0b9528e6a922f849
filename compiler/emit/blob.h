/* SPDX-License-Identifier: Apache-2.0
 * NAME.blob: the weights behind a head with a checksum for each block of them, as
 * runtime/inlay_blob.h opens it. It is made a window at a time, whatever its size. */
#ifndef INLAY_EMIT_BLOB_H
#define INLAY_EMIT_BLOB_H

#include "base/io.h"
#include "inlay_blob.h"
#include "ir/program.h"

/* Where so many bytes of weights begin in it. */
uint64_t blob_begin(uint64_t weights);
/* Bytes of all of it. */
uint64_t blob_size(const Program *program);
/* Writes what stands before the weights, which are complete and are read once. It comes last: what
 * was cut off before has no head. */
void blob_finish(const Program *program, File *file);

#endif
