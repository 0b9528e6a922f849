/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on float: the template eltwise_float.inc.h. */
#ifndef INLAY_ELTWISE_F32_H
#define INLAY_ELTWISE_F32_H

#include <float.h>
#include "kernels/act.h"
#include "nd.h"

#define INLAY_T float
#define INLAY_MAX FLT_MAX
#define INLAY_M(name) name##f
#define INLAY_FAST(name) inlay_##name##_f
#define INLAY_PICK(c, a, b) inlay_either(inlay_mask(c), (a), (b))
#define INLAY_K(name) name##_f32
#include "eltwise_float.inc.h"
#undef INLAY_T
#undef INLAY_MAX
#undef INLAY_M
#undef INLAY_FAST
#undef INLAY_PICK
#undef INLAY_K

#endif
