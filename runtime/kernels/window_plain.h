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

#include <math.h>

#include "inlay.h"
#include "kernels/act.h"

#define INLAY_window_FIELDS(F, N) \
    F(int32_t, images) \
    F(int32_t, groups) \
    F(int32_t, ic)        /* channels of x in a group; channels of a pool */ \
    F(int32_t, oc)        /* channels of y in a group */ \
    N(int32_t, in, 3)     /* depth, rows, columns of x */ \
    N(int32_t, out, 3)    /* the same of y */ \
    N(int32_t, kernel, 3) /* taps */ \
    N(int32_t, stride, 3) \
    N(int32_t, dilation, 3) \
    N(int32_t, pad, 3)       /* before the first element */ \
    N(int32_t, end, 3)       /* after the last */ \
    N(int64_t, xs, 5)        /* strides of x: image, channel, depth, row, column */ \
    N(int64_t, ys, 5)        /* strides of y */ \
    F(int32_t, count_pad)    /* a mean counts the padding too */ \
    F(int32_t, p)            /* exponent of the Lp norm */ \
    F(int32_t, column_major) /* indices of maxima: storage order */
INLAY_PARAMS(window);

/* The input position of tap k of output z; 0: it lies outside. */
static inline int inlay_tap(const inlay_window_params *p, const int32_t *z, const int32_t *k,
                            int32_t *at)
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

static inline int64_t inlay_at5(const int64_t *stride, int32_t n, int32_t c, const int32_t *z)
{
    return n * stride[0] + c * stride[1] + z[0] * stride[2] + z[1] * stride[3] + z[2] * stride[4];
}

#define INLAY_CONV_PLAIN(SUFFIX, T) \
    static inline T inlay_conv_sum_##SUFFIX(const inlay_window_params *p, const T *x, const T *w, \
                                            int32_t n, int32_t g, const int32_t *z) \
    { \
        const int64_t taps = (int64_t)p->kernel[0] * p->kernel[1] * p->kernel[2]; \
        int32_t k[3] = { 0, 0, 0 }, at[3], i; \
        T sum = 0; \
        do { \
            const T *wk = w + ((int64_t)k[0] * p->kernel[1] + k[1]) * p->kernel[2] + k[2]; \
            if (!inlay_tap(p, z, k, at)) \
                continue; \
            for (i = 0; i < p->ic; i++) \
                sum += x[inlay_at5(p->xs, n, g * p->ic + i, at)] * wk[i * taps]; \
        } while (inlay_next3(k, p->kernel)); \
        return sum; \
    } \
    static inline int inlay_conv_plain_##SUFFIX(void *const *base, const inlay_step *s, \
                                                int32_t r0, int32_t r1) \
    { \
        const inlay_window_params *p = (const inlay_window_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 1), *w = (const T *)inlay_at(base, s, 2); \
        const T *b = (const T *)inlay_at(base, s, 3); \
        const int64_t each = (int64_t)p->ic * p->kernel[0] * p->kernel[1] * p->kernel[2]; \
        int32_t n, o; \
        (void)r0, (void)r1; \
        for (n = 0; n < p->images; n++) \
            for (o = 0; o < p->groups * p->oc; o++) { \
                int32_t z[3] = { 0, 0, 0 }; \
                do { \
                    const int64_t at = inlay_at5(p->ys, n, o, z); \
                    T v = inlay_conv_sum_##SUFFIX(p, x, w + o * each, n, o / p->oc, z); \
                    if (b) \
                        v += b[o]; \
                    y[at] = v; \
                } while (inlay_next3(z, p->out)); \
            } \
        return 0; \
    }
INLAY_CONV_PLAIN(f32, float)
INLAY_CONV_PLAIN(f64, double)

/* As a gather: an input position meets output z at tap k where z + pad - k * dilation is a multiple
 * of the stride. */
static inline int inlay_back_tap(const inlay_window_params *p, const int32_t *z, const int32_t *k,
                                 int32_t *at)
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

#define INLAY_DECONV_PLAIN(SUFFIX, T) \
    static inline T inlay_deconv_sum_##SUFFIX(const inlay_window_params *p, const T *x, \
                                              const T *w, int32_t n, int32_t g, int32_t o, \
                                              const int32_t *z) \
    { \
        const int64_t taps = (int64_t)p->kernel[0] * p->kernel[1] * p->kernel[2]; \
        int32_t k[3] = { 0, 0, 0 }, at[3], i; \
        T sum = 0; \
        do { \
            const T *wk = w + ((int64_t)g * p->ic * p->oc + o) * taps + \
                          ((int64_t)k[0] * p->kernel[1] + k[1]) * p->kernel[2] + k[2]; \
            if (!inlay_back_tap(p, z, k, at)) \
                continue; \
            for (i = 0; i < p->ic; i++) \
                sum += x[inlay_at5(p->xs, n, g * p->ic + i, at)] * wk[i * p->oc * taps]; \
        } while (inlay_next3(k, p->kernel)); \
        return sum; \
    } \
    static inline int inlay_deconv_plain_##SUFFIX(void *const *base, const inlay_step *s, \
                                                  int32_t r0, int32_t r1) \
    { \
        const inlay_window_params *p = (const inlay_window_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 1), *w = (const T *)inlay_at(base, s, 2); \
        const T *b = (const T *)inlay_at(base, s, 3); \
        int32_t n, o; \
        (void)r0, (void)r1; \
        for (n = 0; n < p->images; n++) \
            for (o = 0; o < p->groups * p->oc; o++) { \
                int32_t z[3] = { 0, 0, 0 }; \
                do { \
                    const int64_t at = inlay_at5(p->ys, n, o, z); \
                    T v = inlay_deconv_sum_##SUFFIX(p, x, w, n, o / p->oc, o % p->oc, z); \
                    if (b) \
                        v += b[o]; \
                    y[at] = v; \
                } while (inlay_next3(z, p->out)); \
            } \
        return 0; \
    }
INLAY_DECONV_PLAIN(f32, float)
INLAY_DECONV_PLAIN(f64, double)

/* Where an element stands in its NCHW tensor; columns before rows where column_major. */
static inline int64_t inlay_flat_index(const inlay_window_params *p, int32_t n, int32_t c,
                                       const int32_t *z)
{
    const int64_t plane = (int64_t)p->in[0] * p->in[1] * p->in[2];
    const int64_t from = ((int64_t)n * p->ic + c) * plane;
    if (p->column_major)
        return from + z[0] + (int64_t)p->in[0] * (z[1] + (int64_t)p->in[1] * z[2]);
    return from + ((int64_t)z[0] * p->in[1] + z[1]) * p->in[2] + z[2];
}

/* Operands: y, indices (int64, laid out as y; may be left out), x. */
#define INLAY_MAXPOOL_PLAIN(SUFFIX, T, lowest) \
    static inline int inlay_maxpool_plain_##SUFFIX(void *const *base, const inlay_step *s, \
                                                   int32_t r0, int32_t r1) \
    { \
        const inlay_window_params *p = (const inlay_window_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        int64_t *index = (int64_t *)inlay_at(base, s, 1); \
        const T *x = (const T *)inlay_at(base, s, 2); \
        int32_t n, c; \
        (void)r0, (void)r1; \
        for (n = 0; n < p->images; n++) \
            for (c = 0; c < p->ic; c++) { \
                int32_t z[3] = { 0, 0, 0 }; \
                do { \
                    int32_t k[3] = { 0, 0, 0 }, at[3]; \
                    T best = lowest; \
                    int64_t where = -1; \
                    do { \
                        if (!inlay_tap(p, z, k, at)) \
                            continue; \
                        if (where < 0 || x[inlay_at5(p->xs, n, c, at)] > best) \
                            best = x[inlay_at5(p->xs, n, c, at)], \
                            where = inlay_flat_index(p, n, c, at); \
                    } while (inlay_next3(k, p->kernel)); \
                    y[inlay_at5(p->ys, n, c, z)] = best; \
                    if (index) \
                        index[inlay_at5(p->ys, n, c, z)] = where < 0 ? 0 : where; \
                } while (inlay_next3(z, p->out)); \
            } \
        return 0; \
    }
INLAY_MAXPOOL_PLAIN(f32, float, -INFINITY)
INLAY_MAXPOOL_PLAIN(f64, double, (double)-INFINITY)
INLAY_MAXPOOL_PLAIN(i8, int8_t, INT8_MIN)
INLAY_MAXPOOL_PLAIN(u8, uint8_t, 0)

/* Does tap k of output z lie in x or its padding? */
static inline int inlay_tap_padded(const inlay_window_params *p, const int32_t *z, const int32_t *k)
{
    int32_t i;
    for (i = 0; i < 3; i++)
        if (z[i] * p->stride[i] - p->pad[i] + k[i] * p->dilation[i] >= p->in[i] + p->end[i])
            return 0;
    return 1;
}

/* Operands: y, x. STEP adds the element v to the sum; END makes the result of the sum and `count`.
 */
#define INLAY_SUMPOOL_PLAIN(NAME, T, STEP, END) \
    static inline int NAME(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_window_params *p = (const inlay_window_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 1); \
        int32_t n, c; \
        (void)r0, (void)r1; \
        for (n = 0; n < p->images; n++) \
            for (c = 0; c < p->ic; c++) { \
                int32_t z[3] = { 0, 0, 0 }; \
                do { \
                    int32_t k[3] = { 0, 0, 0 }, at[3], count = 0; \
                    T sum = 0; \
                    do { \
                        if (inlay_tap(p, z, k, at)) { \
                            const T v = x[inlay_at5(p->xs, n, c, at)]; \
                            STEP count++; \
                        } else if (p->count_pad && inlay_tap_padded(p, z, k)) \
                            count++; \
                    } while (inlay_next3(k, p->kernel)); \
                    (void)count; \
                    y[inlay_at5(p->ys, n, c, z)] = END; \
                } while (inlay_next3(z, p->out)); \
            } \
        return 0; \
    }
INLAY_SUMPOOL_PLAIN(inlay_avgpool_plain_f32, float, sum += v;, count ? sum / (float)count : 0.0f)
INLAY_SUMPOOL_PLAIN(inlay_avgpool_plain_f64, double, sum += v;, count ? sum / (double)count : 0.0)
INLAY_SUMPOOL_PLAIN(inlay_lppool_plain_f32, float,
                    sum += p->p == 1   ? fabsf(v)
                           : p->p == 2 ? v * v
                                       : powf(fabsf(v), (float)p->p);
                    , p->p == 1   ? sum
                      : p->p == 2 ? sqrtf(sum)
                                  : powf(sum, 1.0f / (float)p->p))
INLAY_SUMPOOL_PLAIN(inlay_lppool_plain_f64, double,
                    sum += p->p == 1   ? fabs(v)
                           : p->p == 2 ? v * v
                                       : pow(fabs(v), (double)p->p);
                    , p->p == 1   ? sum
                      : p->p == 2 ? sqrt(sum)
                                  : pow(sum, 1.0 / (double)p->p))

/* y[i] = act(x[i] + q[i]) over whole tensors: after kernels that have no activation of their own.
 * Operands: y, x, q (may be left out). */
#define INLAY_act_FIELDS(F, N) \
    F(int64_t, n)   /* elements */ \
    F(int32_t, act) /* INLAY_ACT_... */ \
    F(float, a)     /* its two numbers */ \
    F(float, b)
INLAY_PARAMS(act);

static inline int inlay_act_whole_f32(void *const *base, const inlay_step *s, int32_t r0,
                                      int32_t r1)
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
