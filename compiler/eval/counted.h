/* SPDX-License-Identifier: Apache-2.0
 * A run that ends: loops decide while they run how often they turn. */
#ifndef INLAY_EVAL_COUNTED_H
#define INLAY_EVAL_COUNTED_H

#include "ir/program.h"

/* As eval_run(), but an error as soon as steps have done more work than that: multiplications, and
 * bytes that they write. */
int eval_run_within(Program *program, void *const *in, void *const *out,
                    int64_t work);

#endif
