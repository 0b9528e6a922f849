/* SPDX-License-Identifier: 0BSD
 * Convolution, transposed convolution and pooling in their plain form: any layout (strides),
 * weights as ONNX has them (also made at run time), float32 and float64 (maximum: also int8 and
 * uint8), 1 to 3 dimensions.
 *
 *   conv      y[n][g*OC + o][z] = b[g*OC + o] + sum over k, i of x[n][g*IC + i][z*s - p + k*d] *
 *             w[g*OC + o][i][k]
 *   deconv    y[n][g*OC + o][z*s - p + k*d] += x[n][g*IC + i][z] * w[g*IC + i][o][k], from b
 *   pools     as in pool.h; `lp` is the p-th root of the sum of |x|^p
 *
 * The positions z, k are triples (depth, row, column). Strides are in elements. One unit:
 * everything. */
#ifndef INLAY_WINDOW_PLAIN_H
#define INLAY_WINDOW_PLAIN_H

#include <float.h>

#include "inlay.h"
#include "inlay_memory.h"
#include "kernels/act.h"
#include "kernels/libm.h"
#include "kernels/phase.h"

typedef struct inlay_window_params {
    int32_t images;
    int32_t groups;
    int32_t ic;        /* channels of x in a group; channels of a pool */
    int32_t oc;        /* channels of y in a group */
    int32_t in[3];     /* depth, rows, columns of x */
    int32_t out[3];    /* the same of y */
    int32_t kernel[3]; /* taps */
    int32_t stride[3];
    int32_t dilation[3];
    int32_t pad[3];       /* before the first element */
    int32_t end[3];       /* after the last */
    int64_t xs[5];        /* strides of x: image, channel, depth, row, column */
    int64_t ys[5];        /* strides of y */
    int32_t count_pad;    /* a mean counts the padding too */
    int32_t p;            /* exponent of the Lp norm */
    int32_t column_major; /* indices of maxima: storage order */
} inlay_window_params;

/* The next position of a box, last dimension fastest; 0 after the last. */
static inline int inlay_next3(int32_t *z, const int32_t *box)
{
    int32_t i;
    for (i = 2; i >= 0; i--) {
        if (++z[i] < box[i])
            return 1;
        z[i] = 0;
    }
    return 0;
}

static inline int64_t inlay_at5(const int64_t *stride, int32_t n, int32_t c,
                                const int32_t *z)
{
    return n * stride[0] + c * stride[1] + z[0] * stride[2] + z[1] * stride[3] +
           z[2] * stride[4];
}

/* An element of y. */
typedef struct inlay_place5 {
    int32_t n, c; /* image, channel */
    int32_t z[3];
} inlay_place5;

/* Goes on to the next element of y, which has so many channels; 0: that was the last. */
static inline int inlay_next5(const inlay_window_params *p, int32_t channels,
                              inlay_place5 *at)
{
    if (inlay_next3(at->z, p->out))
        return 1;
    if (++at->c < channels)
        return 1;
    at->c = 0;
    return ++at->n < p->images;
}

/* Taps of a window that meet the input: from the first, `by` apart, to the end. */
typedef struct inlay_taps {
    int32_t from[3];
    int32_t by[3];
    int32_t end[3];
} inlay_taps;

/* The first tap from k on that reaches a place `below` it; taps are `each` places apart. */
static inline int32_t inlay_tap_above(int32_t below, int32_t each)
{
    return below > 0 ? (below - 1) / each + 1 : 0;
}

/* Those of output z. */
static inline inlay_taps inlay_taps_of(const inlay_window_params *p,
                                       const int32_t *z)
{
    inlay_taps taps;
    int32_t i;
    for (i = 0; i < 3; i++) {
        const int32_t each = p->dilation[i];
        const int32_t at = z[i] * p->stride[i] - p->pad[i];
        const int32_t end = inlay_tap_above(p->in[i] - at, each);
        taps.from[i] = inlay_tap_above(-at, each);
        taps.by[i] = 1;
        taps.end[i] = end < p->kernel[i] ? end : p->kernel[i];
    }
    return taps;
}

/* The first of the taps `first`, `first` + by and so on that is not below `least`. */
static inline int32_t inlay_tap_from(int32_t first, int32_t by, int32_t least)
{
    if (least <= first)
        return first;
    return first + inlay_tap_above(least - first, by) * by;
}

/* The same of a transposed convolution, as a gather. */
static inline inlay_taps inlay_taps_back(const inlay_window_params *p,
                                         const int32_t *z)
{
    inlay_taps taps;
    int32_t i;
    for (i = 0; i < 3; i++) {
        const int32_t each = p->dilation[i];
        const int32_t by = p->stride[i] / inlay_gcd(p->stride[i], each);
        const int32_t at = z[i] + p->pad[i];
        const int64_t beyond = at - (int64_t)(p->in[i] - 1) * p->stride[i];
        const int32_t below = beyond > 0 ? (int32_t)beyond : 0;
        const int32_t least = inlay_tap_above(below, each);
        const int32_t first = inlay_first_tap(at, p->stride[i], each);
        const int32_t end = first < 0 ? 0 : at / each + 1;
        taps.from[i] = inlay_tap_from(first, by, least);
        taps.by[i] = by;
        taps.end[i] = end < p->kernel[i] ? end : p->kernel[i];
    }
    return taps;
}

/* Goes to the first tap; 0: there is none. */
static inline int inlay_tap_start(const inlay_taps *taps, int32_t *k)
{
    memcpy(k, taps->from, sizeof taps->from);
    return k[0] < taps->end[0] && k[1] < taps->end[1] && k[2] < taps->end[2];
}

/* Goes to the next one, the last dimension fastest; 0: that was the last. */
static inline int inlay_tap_next(const inlay_taps *taps, int32_t *k)
{
    int32_t i;
    for (i = 2; i >= 0; i--) {
        if (taps->end[i] - k[i] > taps->by[i]) {
            k[i] += taps->by[i];
            return 1;
        }
        k[i] = taps->from[i];
    }
    return 0;
}

/* Where the tap of output z lies in the input. */
static inline void inlay_tap_at(const inlay_window_params *p, const int32_t *z,
                                const int32_t *k, int32_t *at)
{
    int32_t i;
    for (i = 0; i < 3; i++)
        at[i] = z[i] * p->stride[i] - p->pad[i] + k[i] * p->dilation[i];
}

/* The same of a transposed convolution. */
static inline void inlay_tap_back(const inlay_window_params *p,
                                  const int32_t *z, const int32_t *k,
                                  int32_t *at)
{
    int32_t i;
    for (i = 0; i < 3; i++)
        at[i] = (z[i] + p->pad[i] - k[i] * p->dilation[i]) / p->stride[i];
}

/* Where an element stands in its NCHW tensor; columns before rows where column_major. */
static inline int64_t inlay_flat_index(const inlay_window_params *p, int32_t n,
                                       int32_t c, const int32_t *z)
{
    const int64_t plane = (int64_t)p->in[0] * p->in[1] * p->in[2];
    const int64_t from = ((int64_t)n * p->ic + c) * plane;
    if (p->column_major)
        return from + z[0] +
               (int64_t)p->in[0] * (z[1] + (int64_t)p->in[1] * z[2]);
    return from + ((int64_t)z[0] * p->in[1] + z[1]) * p->in[2] + z[2];
}

/* How many taps of output z lie in x, or, where they count, in its padding. */
static inline int64_t inlay_taps_counted(const inlay_window_params *p,
                                         const inlay_taps *taps,
                                         const int32_t *z)
{
    int64_t count = 1;
    int32_t i;
    for (i = 0; i < 3; i++) {
        const int32_t at = z[i] * p->stride[i] - p->pad[i];
        const int32_t room = p->in[i] + p->end[i] - at;
        const int32_t all = inlay_tap_above(room, p->dilation[i]);
        int32_t n = taps->end[i] - taps->from[i];
        if (p->count_pad)
            n = all < p->kernel[i] ? all : p->kernel[i];
        count *= n > 0 ? n : 0;
    }
    return count;
}

/* Tap k as an index of the weights. */
static inline int64_t inlay_tap_index(const inlay_window_params *p,
                                      const int32_t *k)
{
    const int64_t row = (int64_t)k[0] * p->kernel[1] + k[1];
    return row * p->kernel[2] + k[2];
}

static inline int64_t inlay_tap_count(const inlay_window_params *p)
{
    return (int64_t)p->kernel[0] * p->kernel[1] * p->kernel[2];
}

#define INLAY_FAMILY "window_plain.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

/* Maxima: operands y, indices (int64, laid out as y; may be left out), x. */
#define INLAY_T float
#define INLAY_LOWEST -INFINITY
#define inlay_typed(name) inlay_##name##_f32
#include "maxpool_plain.inc.h"

#define INLAY_T double
#define INLAY_LOWEST -(double)INFINITY
#define inlay_typed(name) inlay_##name##_f64
#include "maxpool_plain.inc.h"

#define INLAY_T int8_t
#define INLAY_LOWEST INT8_MIN
#define inlay_typed(name) inlay_##name##_i8
#include "maxpool_plain.inc.h"

#define INLAY_T uint8_t
#define INLAY_LOWEST 0
#define inlay_typed(name) inlay_##name##_u8
#include "maxpool_plain.inc.h"

#endif
