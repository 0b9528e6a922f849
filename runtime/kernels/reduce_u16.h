/* SPDX-License-Identifier: 0BSD
 * Reductions and argmax on uint16_t. */
#ifndef INLAY_REDUCE_U16_H
#define INLAY_REDUCE_U16_H

#include "reduce.h"

INLAY_ARG(argmax_u16, uint16_t, v > b)
INLAY_ARG(argmin_u16, uint16_t, v < b)

#endif
