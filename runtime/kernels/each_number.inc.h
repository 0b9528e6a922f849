/* SPDX-License-Identifier: 0BSD
 * Includes the file INLAY_FAMILY once for each type of number. */
#include "each_float.inc.h"
#include "each_integer.inc.h"
