/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on int16_t. */
#ifndef INLAY_REDUCE_I16_H
#define INLAY_REDUCE_I16_H

#include "reduce.h"

INLAY_ARG(argmax_i16, int16_t, v > b)
INLAY_ARG(argmin_i16, int16_t, v < b)

#endif
