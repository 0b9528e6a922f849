/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on double. */
#ifndef INLAY_REDUCE_F64_H
#define INLAY_REDUCE_F64_H

#include <math.h>

#include "reduce.h"

INLAY_REDUCE(reduce_sum_f64, double, double, 0, a + x, a + b, a)
INLAY_REDUCE(reduce_mean_f64, double, double, 0, a + x, a + b, a / (double)count)
INLAY_REDUCE(reduce_prod_f64, double, double, 1, a *x, a *b, a)
INLAY_REDUCE(reduce_l1_f64, double, double, 0, a + fabs(x), a + b, a)
INLAY_REDUCE(reduce_sum_square_f64, double, double, 0, a + x * x, a + b, a)
INLAY_REDUCE(reduce_l2_f64, double, double, 0, a + x * x, a + b, sqrt(a))
INLAY_REDUCE(reduce_log_sum_f64, double, double, 0, a + x, a + b, log(a))
INLAY_REDUCE(reduce_log_sum_exp_f64, double, double, -(double)INFINITY, inlay_log_add(a, x),
             inlay_log_add(a, b), a)
INLAY_REDUCE(reduce_max_f64, double, double, -(double)INFINITY, ((x > a) | (x != x)) ? x : a,
             ((b > a) | (b != b)) ? b : a, a)
INLAY_REDUCE(reduce_min_f64, double, double, (double)INFINITY, ((x < a) | (x != x)) ? x : a,
             ((b < a) | (b != b)) ? b : a, a)
INLAY_ARG(argmax_f64, double, v > b)
INLAY_ARG(argmin_f64, double, v < b)

#endif
