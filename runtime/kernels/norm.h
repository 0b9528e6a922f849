/* SPDX-License-Identifier: 0BSD
 * Normalizations by mean and variance, and by neighbouring channels.
 *
 * norm: x is [outer][n][inner], statistics along n. LayerNormalization [rows][n][1],
 * InstanceNormalization [N C][pixels][1] or, channels last, [N][pixels][C], GroupNormalization [N
 * groups][C / groups x pixels][1]. Operands: y, mean, inv (either may be left out: [outer][inner]),
 * x, scale, bias (may be left out). lrn: see the template. */
#ifndef INLAY_NORM_H
#define INLAY_NORM_H

#include <math.h>

#include "nd.h"

#define INLAY_norm_FIELDS(F, N) \
    F(int32_t, \
      outer) /* of a unit: all of it, or where there are no statistics, a row of an image */ \
    F(int32_t, n) \
    F(int32_t, inner) \
    F(int32_t, center) /* 1: the mean is taken off; 0: root mean square */ \
    F(int32_t, period) /* scale and bias of line (o, k), element i begin at (o % period) * \
                          outer_step + k * inner_step ... */ \
    F(int32_t, outer_step) \
    F(int32_t, inner_step) \
    F(int32_t, group) /* ... + (i / group) * along */ \
    F(int32_t, along) \
    F(double, epsilon)
INLAY_PARAMS(norm);

#define INLAY_lrn_FIELDS(F, N) \
    F(int32_t, outer)    /* blocks of channels in a unit */ \
    F(int32_t, c)        /* channels */ \
    F(int32_t, inner)    /* elements from one channel to the next */ \
    F(int32_t, by_pixel) /* 1: blocks are `pix` elements apart (inner == 1) */ \
    F(int32_t, before)   /* channels of the window before and after the one in work */ \
    F(int32_t, after) \
    F(double, scale) /* alpha / size */ \
    F(double, bias) \
    F(double, beta)
INLAY_PARAMS(lrn);

#define INLAY_T float
#define INLAY_M(name) name##f
#define INLAY_K(name) name##_f32
#include "norm.inc.h"
#undef INLAY_T
#undef INLAY_M
#undef INLAY_K

#define INLAY_T double
#define INLAY_M(name) name
#define INLAY_K(name) name##_f64
#include "norm.inc.h"
#undef INLAY_T
#undef INLAY_M
#undef INLAY_K

#endif
