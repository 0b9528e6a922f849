/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on integers. */
#ifndef INLAY_ELTWISE_INTEGER_H
#define INLAY_ELTWISE_INTEGER_H

#include "nd.h"

#define INLAY_FAMILY "eltwise_integer.inc.h"
#include "each_integer.inc.h"
#undef INLAY_FAMILY

#endif
