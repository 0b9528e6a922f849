/* SPDX-License-Identifier: Apache-2.0
 * The seal at the end of the blob of weights (runtime/inlay_weights.h): by it the generated code
 * knows a blob that is not its own, or is damaged. */
#ifndef INLAY_EMIT_SEAL_H
#define INLAY_EMIT_SEAL_H

#include "base/io.h"
#include "base/digest.h"
#include "ir/program.h"

/* What two programs must share for the same blobs to fit both: where constants lie, their types and
 * shapes, and the kernels with all parameters that read them. */
uint64_t seal_layout(const Program *program);

/* The constants of the code: words 0 to 2. The program has weights. */
void seal_words(const Program *program, uint64_t words[3]);

/* Writes the seal behind the values, which begin at byte `at` of the file and are complete; reads
 * them once. `h` gets the values and the seal; it may be NULL. */
void seal_write(const Program *program, File *file, uint64_t at, Sha256 *h);

#endif
