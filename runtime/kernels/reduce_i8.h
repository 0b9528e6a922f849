/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on int8_t. */
#ifndef INLAY_REDUCE_I8_H
#define INLAY_REDUCE_I8_H

#include "reduce.h"

INLAY_REDUCE(reduce_max_i8, int8_t, int8_t, INT8_MIN, x > a ? x : a, b > a ? b : a, a)
INLAY_REDUCE(reduce_min_i8, int8_t, int8_t, INT8_MAX, x < a ? x : a, b < a ? b : a, a)
INLAY_ARG(argmax_i8, int8_t, v > b)
INLAY_ARG(argmin_i8, int8_t, v < b)

#endif
