/* SPDX-License-Identifier: 0BSD
 * Operators on bool: a byte, 0 or not. */
#ifndef INLAY_LOGICAL_H
#define INLAY_LOGICAL_H

#include "nd.h"

INLAY_UNARY(logical_not, uint8_t, uint8_t, z = (uint8_t)!x;)
INLAY_BINARY(logical_and, uint8_t, uint8_t, uint8_t, z = (uint8_t)((a != 0) & (b != 0));)
INLAY_BINARY(logical_or, uint8_t, uint8_t, uint8_t, z = (uint8_t)((a != 0) | (b != 0));)
INLAY_BINARY(logical_xor, uint8_t, uint8_t, uint8_t, z = (uint8_t)((a != 0) ^ (b != 0));)
INLAY_BINARY(logical_equal, uint8_t, uint8_t, uint8_t, z = (uint8_t)((a != 0) == (b != 0));)

#endif
