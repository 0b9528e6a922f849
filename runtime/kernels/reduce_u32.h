/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on uint32_t. */
#ifndef INLAY_REDUCE_U32_H
#define INLAY_REDUCE_U32_H

#include "reduce.h"

INLAY_REDUCE(reduce_sum_u32, uint32_t, uint32_t, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_mean_u32, uint32_t, uint32_t, 0, (uint32_t)((uint32_t)a + (uint32_t)x),
             (uint32_t)((uint32_t)a + (uint32_t)b), count ? a / (uint32_t)count : 0)
INLAY_REDUCE(reduce_prod_u32, uint32_t, uint32_t, 1, a *x, a *b, a)
INLAY_REDUCE(reduce_l1_u32, uint32_t, uint32_t, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_sum_square_u32, uint32_t, uint32_t, 0, a + x * x, a + b, a)
INLAY_REDUCE(reduce_max_u32, uint32_t, uint32_t, 0, x > a ? x : a, b > a ? b : a, a)
INLAY_REDUCE(reduce_min_u32, uint32_t, uint32_t, UINT32_MAX, x < a ? x : a, b < a ? b : a, a)
INLAY_ARG(argmax_u32, uint32_t, v > b)
INLAY_ARG(argmin_u32, uint32_t, v < b)

#endif
