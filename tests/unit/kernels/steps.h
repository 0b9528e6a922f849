/* SPDX-License-Identifier: Apache-2.0
 * One step over whole buffers, for kernels without geometry of their own: operand i is buffer i. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

#include "images.h"

enum { MOST_OPERANDS = 8 };

/* Runs a kernel: so many rows of operand 0, of `row` bytes, of all else that there is; NULL buffers
 * are left out. */
static inline int run_rows(inlay_kernel *kernel, const void *params, int n,
                           void *const *buffer, int32_t rows, size_t row)
{
    inlay_ref ref[MOST_OPERANDS] = { { 0 } };
    for (int i = 0; i < n; i++)
        ref[i] = (inlay_ref){ .cap = 1,
                              .pix = 1,
                              .base = buffer[i] ? i : INLAY_NONE };
    ref[0].cap = rows;
    ref[0].row = row;
    const inlay_step s = { kernel, params, ref, rows, 0 };
    return kernel(buffer, &s, 0, rows);
}

/* Runs a kernel as one unit. */
static inline int run_whole(inlay_kernel *kernel, const void *params, int n,
                            void *const *buffer)
{
    return run_rows(kernel, params, n, buffer, 1, 0);
}

#define RUN(kernel, params, ...) \
    run_whole(kernel, params, \
              (int)(sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *)), \
              (void *[]){ __VA_ARGS__ })

#endif
