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

#include "kernels/libm.h"
#include "kernels/math_vec.h"
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
enum { INLAY_NORM_MOST = 1024 }; /* elements that are one sum of lanes */

/* Where scale and bias of a line begin, of its block o and its place k. */
static inline ptrdiff_t inlay_norm_channel(const inlay_norm_params *p,
                                           int32_t o, int32_t k)
{
    const ptrdiff_t outer = (ptrdiff_t)(o % p->period) * p->outer_step;
    return outer + (ptrdiff_t)k * p->inner_step;
}

#define INLAY_FAMILY "norm_lanes.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#if INLAY_VL > 1

/* inlay_lanes_sum_f32() in vectors, but for the sum of the lanes: sums of 2 INLAY_VL lanes. */
INLAY_INLINE inlay_vf inlay_chunk_lanes_v(const float *x, int32_t n, float mean,
                                          const int power)
{
    const inlay_vf middle = inlay_all(power == 2 ? mean : 0.0f);
    inlay_vf even = inlay_all(0.0f);
    inlay_vf odd = even;
    int32_t i = 0;
    for (; i + 2 * INLAY_VL <= n; i += 2 * INLAY_VL) {
        const inlay_vf a = INLAY_V(load)(x + i) - middle;
        const inlay_vf b = INLAY_V(load)(x + i + INLAY_VL) - middle;
        even = power == 2 ? INLAY_V(fma)(a, a, even) : even + a;
        odd = power == 2 ? INLAY_V(fma)(b, b, odd) : odd + b;
    }
    for (; i < n; i += INLAY_VL) {
        const inlay_vf a = INLAY_V(load)(x + i) - middle;
        even = power == 2 ? INLAY_V(fma)(a, a, even) : even + a;
    }
    return even + odd;
}

static inline float inlay_chunk_sum_v(const float *x, int32_t n, float mean,
                                      int power)
{
    return inlay_total_v(inlay_chunk_lanes_v(x, n, mean, power));
}

/* inlay_lanes_write_f32() in vectors. */
static inline void inlay_norm_write_v(float *y, const float *x,
                                      const float *scale, const float *bias,
                                      int32_t n, float mean, float inv)
{
    const inlay_vf none = inlay_all(0.0f);
    int32_t i;
    for (i = 0; i < n; i += INLAY_VL) {
        const int32_t left = n - i;
        const inlay_vf v = (inlay_take_v(x + i, left) - mean) * inv;
        const inlay_vf a = inlay_take_v(scale + i, left);
        const inlay_vf b = bias ? inlay_take_v(bias + i, left) : none;
        inlay_put_v(y + i, INLAY_V(fma)(v, a, b), left);
    }
}

/* Lines that are normalized together: the sums across vectors and the roots are made for four at a
 * time. One is written before the next is read for its result: y may lie as if they came one by
 * one. */
typedef struct inlay_norm_lines {
    float *y[4];
    const float *x[4];
} inlay_norm_lines;

/* Of each line the sum of (x - mean)^2 (power 1: of x), divided by n. */
INLAY_INLINE inlay_vf inlay_four_means_v(const inlay_norm_lines *lines,
                                         int32_t n, inlay_vf mean,
                                         const int power)
{
    inlay_vf sum[4];
    int j;
    INLAY_UNROLL
    for (j = 0; j < 4; j++)
        sum[j] = inlay_chunk_lanes_v(lines->x[j], n, mean[j], power);
    /* As inlay_line_sum_f32() begins: no negative zero is left. */
    return (inlay_four_totals_v(sum) + 0.0f) / (float)n;
}

/* inlay_norm_line_f32() of four lines of adjacent elements with a scale. */
INLAY_APART void inlay_norm_four_v(const inlay_norm_params *p,
                                   const inlay_norm_lines *lines,
                                   const float *scale, const float *bias)
{
    const inlay_vf epsilon = inlay_all((float)p->epsilon);
    inlay_vf mean = inlay_all(0.0f);
    inlay_vf inv;
    int j;
    if (p->center)
        mean = inlay_four_means_v(lines, p->n, mean, 1);
    inv = inlay_four_means_v(lines, p->n, mean, 2) + epsilon;
    inv = 1.0f / INLAY_V(root)(inv);
    for (j = 0; j < 4; j++)
        inlay_norm_write_v(lines->y[j], lines->x[j], scale, bias, p->n, mean[j],
                           inv[j]);
}

/* Is each unit a line of adjacent elements, which one sum of lanes takes? */
static inline int inlay_norm_has_lines(const inlay_step *s)
{
    const inlay_norm_params *p = (const inlay_norm_params *)s->params;
    if (p->outer != 1 || p->inner != 1 || p->group != 1)
        return 0;
    if (s->ref[1].base >= 0 || s->ref[2].base >= 0 || s->ref[4].base < 0)
        return 0;
    return p->n % INLAY_NORM_LANES == 0 && p->n <= INLAY_NORM_MOST;
}

/* Units from r0 on, four at a time; returns the first that is left. */
static inline int32_t inlay_norm_by_four(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    const inlay_norm_params *p = (const inlay_norm_params *)s->params;
    const float *scale = (const float *)inlay_at(base, s, 4);
    const float *bias = (const float *)inlay_at(base, s, 5);
    for (; r0 + 4 <= r1; r0 += 4) {
        inlay_norm_lines lines;
        int j;
        for (j = 0; j < 4; j++) {
            lines.y[j] = (float *)inlay_row(base, s, 0, r0 + j);
            lines.x[j] = (const float *)inlay_row(base, s, 3, r0 + j);
        }
        inlay_norm_four_v(p, &lines, scale, bias);
    }
    return r0;
}
#endif

/* Sum of (x - mean)^2 (power 1: of x) over n <= 1024 elements that lie together, n a multiple of
 * 16. */
static inline float inlay_chunk_sum_f32(const float *x, int32_t n, float mean,
                                        int power)
{
#if INLAY_VL > 1
    return inlay_chunk_sum_v(x, n, mean, power);
#else
    return inlay_lanes_sum_f32(x, n, mean, power);
#endif
}

static inline double inlay_chunk_sum_f64(const double *x, int32_t n,
                                         double mean, int power)
{
    return inlay_lanes_sum_f64(x, n, mean, power);
}

static inline void inlay_norm_adjacent_f32(float *y, const float *x,
                                           const float *scale,
                                           const float *bias, int32_t n,
                                           float mean, float inv)
{
#if INLAY_VL > 1
    inlay_norm_write_v(y, x, scale, bias, n, mean, inv);
#else
    inlay_lanes_write_f32(y, x, scale, bias, n, mean, inv);
#endif
}

static inline void inlay_norm_adjacent_f64(double *y, const double *x,
                                           const double *scale,
                                           const double *bias, int32_t n,
                                           double mean, double inv)
{
    inlay_lanes_write_f64(y, x, scale, bias, n, mean, inv);
}

#define INLAY_FAMILY "norm.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

static inline int inlay_norm_f32(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
#if INLAY_VL > 1
    if (inlay_norm_has_lines(s))
        r0 = inlay_norm_by_four(base, s, r0, r1);
#endif
    return inlay_norm_units_f32(base, s, r0, r1);
}

static inline int inlay_norm_f64(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    return inlay_norm_units_f64(base, s, r0, r1);
}

#endif
