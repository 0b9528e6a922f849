/* SPDX-License-Identifier: 0BSD
 * Normalizations by mean and variance, and by neighbouring channels.
 *
 * norm: x is [outer][n][inner], statistics along n. LayerNormalization [rows][n][1],
 * InstanceNormalization [N C][pixels][1] or, channels last, [N][pixels][C], GroupNormalization [N
 * groups][C / groups x pixels][1]. Operands: y, mean, inv (either may be left out: [outer][inner]),
 * x, scale, bias (may be left out). lrn: y = x / (bias + alpha / size * sum of x^2
 * over the window of channels)^beta; x and y are [units][outer][c][inner]. */
#ifndef INLAY_NORM_H
#define INLAY_NORM_H

#include <float.h>
#include <math.h>

#include "nd.h"

typedef struct inlay_norm_params {
    /* of a unit: all of it, or where there are no statistics, a row of an image */
    int32_t outer;
    int32_t n;
    int32_t inner;
    int32_t center; /* 1: the mean is taken off; 0: root mean square */
    /* scale and bias of line (o, k), element i begin at (o % period) * outer_step + k *
     * inner_step ... */
    int32_t period;
    int32_t outer_step;
    int32_t inner_step;
    int32_t group; /* ... + (i / group) * along */
    int32_t along;
    double epsilon;
} inlay_norm_params;

typedef struct inlay_lrn_params {
    int32_t outer;    /* blocks of channels in a unit */
    int32_t c;        /* channels */
    int32_t inner;    /* elements from one channel to the next */
    int32_t by_pixel; /* 1: blocks are `pix` elements apart (inner == 1) */
    /* channels of the window before and after the one in work */
    int32_t before;
    int32_t after;
    double scale; /* alpha / size */
    double bias;
    double beta;
} inlay_lrn_params;

enum { INLAY_NORM_LANES = 16 }; /* sums, or lines, that are made side by side */

/* Where scale and bias of a line begin, of its block o and its place k. */
static inline ptrdiff_t inlay_norm_channel(const inlay_norm_params *p,
                                           int32_t o, int32_t k)
{
    const ptrdiff_t outer = (ptrdiff_t)(o % p->period) * p->outer_step;
    return outer + (ptrdiff_t)k * p->inner_step;
}

#define INLAY_FAMILY "norm.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
