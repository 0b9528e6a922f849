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
#include <math.h>

#include "inlay.h"
#include "kernels/act.h"

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

/* The input position of tap k of output z; 0: it lies outside. */
static inline int inlay_tap(const inlay_window_params *p, const int32_t *z,
                            const int32_t *k, int32_t *at)
{
    int32_t i;
    for (i = 0; i < 3; i++) {
        at[i] = z[i] * p->stride[i] - p->pad[i] + k[i] * p->dilation[i];
        if (at[i] < 0 || at[i] >= p->in[i])
            return 0;
    }
    return 1;
}

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

/* As a gather: an input position meets output z at tap k where z + pad - k * dilation is a multiple
 * of the stride. */
static inline int inlay_back_tap(const inlay_window_params *p, const int32_t *z,
                                 const int32_t *k, int32_t *at)
{
    int32_t i;
    for (i = 0; i < 3; i++) {
        const int32_t v = z[i] + p->pad[i] - k[i] * p->dilation[i];
        if (v < 0 || v % p->stride[i])
            return 0;
        at[i] = v / p->stride[i];
        if (at[i] >= p->in[i])
            return 0;
    }
    return 1;
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

/* Does tap k of output z lie in x or its padding? */
static inline int inlay_tap_padded(const inlay_window_params *p,
                                   const int32_t *z, const int32_t *k)
{
    int32_t i;
    for (i = 0; i < 3; i++)
        if (z[i] * p->stride[i] - p->pad[i] + k[i] * p->dilation[i] >=
            p->in[i] + p->end[i])
            return 0;
    return 1;
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

/* y[i] = act(x[i] + q[i]) over whole tensors: after kernels that have no activation of their own.
 * Operands: y, x, q (may be left out). */
typedef struct inlay_act_params {
    int64_t n;   /* elements */
    int32_t act; /* INLAY_ACT_... */
    float a;     /* its two numbers */
    float b;
} inlay_act_params;

static inline int inlay_act_whole_f32(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_act_params *p = (const inlay_act_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *q = (const float *)inlay_at(base, s, 2);
    int64_t i;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i += 4096) {
        const int32_t n = (int32_t)(p->n - i < 4096 ? p->n - i : 4096);
        int32_t j;
        for (j = 0; j < n; j++)
            y[i + j] = q ? x[i + j] + q[i + j] : x[i + j];
        inlay_act_f32(y + i, n, p->act, p->a, p->b);
    }
    return 0;
}

#endif
