/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on int32_t. */
#ifndef INLAY_REDUCE_I32_H
#define INLAY_REDUCE_I32_H

#include "reduce.h"

INLAY_REDUCE(reduce_sum_i32, int32_t, uint32_t, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_mean_i32, int32_t, int32_t, 0, (int32_t)((uint32_t)a + (uint32_t)x),
             (int32_t)((uint32_t)a + (uint32_t)b), count ? a / (int32_t)count : 0)
INLAY_REDUCE(reduce_prod_i32, int32_t, uint32_t, 1, a *x, a *b, a)
INLAY_REDUCE(reduce_l1_i32, int32_t, uint32_t, 0, a + ((int32_t)x < 0 ? 0 - x : x), a + b, a)
INLAY_REDUCE(reduce_sum_square_i32, int32_t, uint32_t, 0, a + x * x, a + b, a)
INLAY_REDUCE(reduce_max_i32, int32_t, int32_t, INT32_MIN, x > a ? x : a, b > a ? b : a, a)
INLAY_REDUCE(reduce_min_i32, int32_t, int32_t, INT32_MAX, x < a ? x : a, b < a ? b : a, a)
INLAY_ARG(argmax_i32, int32_t, v > b)
INLAY_ARG(argmin_i32, int32_t, v < b)

#endif
