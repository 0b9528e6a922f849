/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on uint64_t. */
#ifndef INLAY_REDUCE_U64_H
#define INLAY_REDUCE_U64_H

#include "reduce.h"

INLAY_REDUCE(reduce_sum_u64, uint64_t, uint64_t, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_mean_u64, uint64_t, uint64_t, 0, (uint64_t)((uint64_t)a + (uint64_t)x),
             (uint64_t)((uint64_t)a + (uint64_t)b), count ? a / (uint64_t)count : 0)
INLAY_REDUCE(reduce_prod_u64, uint64_t, uint64_t, 1, a *x, a *b, a)
INLAY_REDUCE(reduce_l1_u64, uint64_t, uint64_t, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_sum_square_u64, uint64_t, uint64_t, 0, a + x * x, a + b, a)
INLAY_REDUCE(reduce_max_u64, uint64_t, uint64_t, 0, x > a ? x : a, b > a ? b : a, a)
INLAY_REDUCE(reduce_min_u64, uint64_t, uint64_t, UINT64_MAX, x < a ? x : a, b < a ? b : a, a)
INLAY_ARG(argmax_u64, uint64_t, v > b)
INLAY_ARG(argmin_u64, uint64_t, v < b)

#endif
