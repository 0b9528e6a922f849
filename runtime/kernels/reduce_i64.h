/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on int64_t. */
#ifndef INLAY_REDUCE_I64_H
#define INLAY_REDUCE_I64_H

#include "reduce.h"

INLAY_REDUCE(reduce_sum_i64, int64_t, uint64_t, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_mean_i64, int64_t, int64_t, 0, (int64_t)((uint64_t)a + (uint64_t)x),
             (int64_t)((uint64_t)a + (uint64_t)b), count ? a / (int64_t)count : 0)
INLAY_REDUCE(reduce_prod_i64, int64_t, uint64_t, 1, a *x, a *b, a)
INLAY_REDUCE(reduce_l1_i64, int64_t, uint64_t, 0, a + ((int64_t)x < 0 ? 0 - x : x), a + b, a)
INLAY_REDUCE(reduce_sum_square_i64, int64_t, uint64_t, 0, a + x * x, a + b, a)
INLAY_REDUCE(reduce_max_i64, int64_t, int64_t, INT64_MIN, x > a ? x : a, b > a ? b : a, a)
INLAY_REDUCE(reduce_min_i64, int64_t, int64_t, INT64_MAX, x < a ? x : a, b < a ? b : a, a)
INLAY_ARG(argmax_i64, int64_t, v > b)
INLAY_ARG(argmin_i64, int64_t, v < b)

#endif
