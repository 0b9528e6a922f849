/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on double: the template eltwise_float.inc.h. */
#ifndef INLAY_ELTWISE_F64_H
#define INLAY_ELTWISE_F64_H

#include <float.h>
#include <math.h>
#include "kernels/act_f64.h"
#include "nd.h"

#define INLAY_T double
#define INLAY_MAX DBL_MAX
#define INLAY_M(name) name
#define INLAY_FAST(name) name
#define INLAY_PICK(c, a, b) ((c) ? (a) : (b))
#define INLAY_K(name) name##_f64
#include "eltwise_float.inc.h"
#undef INLAY_T
#undef INLAY_MAX
#undef INLAY_M
#undef INLAY_FAST
#undef INLAY_PICK
#undef INLAY_K

#endif
