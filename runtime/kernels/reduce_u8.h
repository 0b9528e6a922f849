/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on uint8_t. */
#ifndef INLAY_REDUCE_U8_H
#define INLAY_REDUCE_U8_H

#include "reduce.h"

INLAY_REDUCE(reduce_max_u8, uint8_t, uint8_t, 0, x > a ? x : a, b > a ? b : a, a)
INLAY_REDUCE(reduce_min_u8, uint8_t, uint8_t, UINT8_MAX, x < a ? x : a, b < a ? b : a, a)
INLAY_ARG(argmax_u8, uint8_t, v > b)
INLAY_ARG(argmin_u8, uint8_t, v < b)

#endif
