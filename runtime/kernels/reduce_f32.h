/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on float. */
#ifndef INLAY_REDUCE_F32_H
#define INLAY_REDUCE_F32_H

#include <math.h>

#include "reduce.h"

INLAY_REDUCE(reduce_sum_f32, float, float, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_mean_f32, float, float, 0, a + x, a + b, a / (float)count)
INLAY_REDUCE(reduce_prod_f32, float, float, 1, a *x, a *b, a)
INLAY_REDUCE(reduce_l1_f32, float, float, 0, a + fabsf(x), a + b, a)
INLAY_REDUCE(reduce_sum_square_f32, float, float, 0, a + x * x, a + b, a)
INLAY_REDUCE(reduce_l2_f32, float, float, 0, a + x * x, a + b, sqrtf(a))
INLAY_REDUCE(reduce_log_sum_f32, float, float, 0, a + x, a + b, logf(a))
INLAY_REDUCE(reduce_log_sum_exp_f32, float, double, -(double)INFINITY, inlay_log_add(a, x),
             inlay_log_add(a, b), (float)a)
INLAY_REDUCE(reduce_max_f32, float, float, -INFINITY, ((x > a) | (x != x)) ? x : a,
             ((b > a) | (b != b)) ? b : a, a)
INLAY_REDUCE(reduce_min_f32, float, float, INFINITY, ((x < a) | (x != x)) ? x : a,
             ((b < a) | (b != b)) ? b : a, a)
INLAY_ARG(argmax_f32, float, v > b)
INLAY_ARG(argmin_f32, float, v < b)

#endif
