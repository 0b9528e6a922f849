/* SPDX-License-Identifier: 0BSD
 * Operators on bool: a byte, 0 or not. */
#ifndef INLAY_LOGICAL_H
#define INLAY_LOGICAL_H

#include "nd.h"

#define INLAY_T uint8_t

#define INLAY_NAME inlay_logical_not
#define INLAY_FORMULA !x
#include "unary.inc.h"

#define INLAY_NAME inlay_logical_and
#define INLAY_FORMULA (a != 0) & (b != 0)
#include "binary.inc.h"

#define INLAY_NAME inlay_logical_or
#define INLAY_FORMULA (a != 0) | (b != 0)
#include "binary.inc.h"

#define INLAY_NAME inlay_logical_xor
#define INLAY_FORMULA (a != 0) ^ (b != 0)
#include "binary.inc.h"

#define INLAY_NAME inlay_logical_equal
#define INLAY_FORMULA (a != 0) == (b != 0)
#include "binary.inc.h"

#undef INLAY_T

#endif
