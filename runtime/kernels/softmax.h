/* SPDX-License-Identifier: 0BSD
 * Softmax, LogSoftmax and Hardmax along n: x and y are [units][outer][n][inner].
 *
 *   softmax      e^(x - max) / sum        log_softmax   x - max - log(sum)        hardmax   1 at
 *                the first maximum, else 0 */
#ifndef INLAY_SOFTMAX_H
#define INLAY_SOFTMAX_H

#include "math_f32.h"
#include "nd.h"

#define INLAY_softmax_FIELDS(F, N) \
    F(int32_t, outer) /* lines of a unit; pixels where it is a row of an image */ \
    F(int32_t, n) \
    F(int32_t, inner)    /* elements from one member of a line to the next */ \
    F(int32_t, by_pixel) /* 1: lines are `pix` elements apart (inner == 1) */
INLAY_PARAMS(softmax);

/* One line: n elements `step` apart. */
typedef void inlay_softmax_line(void *y, const void *x, int32_t n, ptrdiff_t step);

static inline int inlay_softmax(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                                size_t size, inlay_softmax_line *line)
{
    const inlay_softmax_params *p = (const inlay_softmax_params *)s->params;
    const size_t block = (size_t)p->n * (size_t)p->inner;
    const size_t yp = size * (p->by_pixel ? (size_t)s->ref[0].pix : block);
    const size_t xp = size * (p->by_pixel ? (size_t)s->ref[1].pix : block);
    for (; r0 < r1; r0++) {
        unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r0);
        const unsigned char *x = (const unsigned char *)inlay_row(base, s, 1, r0);
        int32_t o, i;
        for (o = 0; o < p->outer; o++, y += yp, x += xp)
            for (i = 0; i < p->inner; i++)
                line(y + (size_t)i * size, x + (size_t)i * size, p->n, p->inner);
    }
    return 0;
}

static inline float inlay_line_max_f32(const float *x, int32_t n, ptrdiff_t step)
{
    float m = x[0];
    int32_t i = 0;
    int32_t j;
    if (step == 1 && n >= 16) {
        float l[16];
        for (j = 0; j < 16; j++)
            l[j] = x[j];
        for (i = 16; i + 16 <= n; i += 16)
            for (j = 0; j < 16; j++)
                l[j] = x[i + j] > l[j] ? x[i + j] : l[j];
        for (j = 0; j < 16; j++)
            m = l[j] > m ? l[j] : m;
    }
    for (; i < n; i++)
        m = x[i * step] > m ? x[i * step] : m;
    return m;
}

/* y = e^(x - m); the sum of all y. y may be x. */
static inline float inlay_line_exp_f32(float *y, const float *x, int32_t n, ptrdiff_t step, float m)
{
    float sum = 0.0f;
    float l[16] = { 0 };
    int32_t k = 0;
    int32_t j;
    if (step == 1) {
        INLAY_MAP(float, y, n, z = inlay_exp_f(x[i] - m););
        for (; k + 16 <= n; k += 16)
            for (j = 0; j < 16; j++)
                l[j] += y[k + j];
        for (j = 0; j < 8; j++)
            l[j] += l[j + 8];
        sum = ((l[0] + l[4]) + (l[1] + l[5])) + ((l[2] + l[6]) + (l[3] + l[7]));
        for (; k < n; k++)
            sum += y[k];
        return sum;
    }
    for (; k < n; k++)
        sum += y[k * step] = inlay_exp_f(x[k * step] - m);
    return sum;
}

static inline void inlay_softmax_line_f32(void *yv, const void *xv, int32_t n, ptrdiff_t step)
{
    float *y = (float *)yv;
    const float *x = (const float *)xv;
    const float scale = 1.0f / inlay_line_exp_f32(y, x, n, step, inlay_line_max_f32(x, n, step));
    int32_t k;
    if (step == 1) {
        INLAY_MAP(float, y, n, z = y[i] * scale;);
    } else
        for (k = 0; k < n; k++)
            y[k * step] *= scale;
}

static inline int inlay_softmax_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    return inlay_softmax(base, s, r0, r1, sizeof(float), inlay_softmax_line_f32);
}

static inline void inlay_log_softmax_line_f32(void *yv, const void *xv, int32_t n, ptrdiff_t step)
{
    float *y = (float *)yv;
    const float *x = (const float *)xv;
    const float m = inlay_line_max_f32(x, n, step);
    float sum = 0.0f;
    float log_sum;
    int32_t i;
    for (i = 0; i < n; i++)
        sum += inlay_exp_f(x[i * step] - m);
    log_sum = logf(sum);
    for (i = 0; i < n; i++)
        y[i * step] = x[i * step] - m - log_sum;
}

static inline int inlay_log_softmax_f32(void *const *base, const inlay_step *s, int32_t r0,
                                        int32_t r1)
{
    return inlay_softmax(base, s, r0, r1, sizeof(float), inlay_log_softmax_line_f32);
}

static inline void inlay_softmax_line_f64(void *yv, const void *xv, int32_t n, ptrdiff_t step)
{
    double *y = (double *)yv;
    double sum = 0;
    double m;
    const double *x = (const double *)xv;
    int32_t i;
    for (m = x[0], i = 1; i < n; i++)
        m = x[i * step] > m ? x[i * step] : m;
    for (i = 0; i < n; i++)
        sum += y[i * step] = exp(x[i * step] - m);
    for (i = 0; i < n; i++)
        y[i * step] /= sum;
}

static inline int inlay_softmax_f64(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    return inlay_softmax(base, s, r0, r1, sizeof(double), inlay_softmax_line_f64);
}

static inline void inlay_log_softmax_line_f64(void *yv, const void *xv, int32_t n, ptrdiff_t step)
{
    double *y = (double *)yv;
    double sum = 0;
    double m;
    const double *x = (const double *)xv;
    int32_t i;
    for (m = x[0], i = 1; i < n; i++)
        m = x[i * step] > m ? x[i * step] : m;
    for (i = 0; i < n; i++)
        sum += exp(x[i * step] - m);
    sum = log(sum);
    for (i = 0; i < n; i++)
        y[i * step] = x[i * step] - m - sum;
}

static inline int inlay_log_softmax_f64(void *const *base, const inlay_step *s, int32_t r0,
                                        int32_t r1)
{
    return inlay_softmax(base, s, r0, r1, sizeof(double), inlay_log_softmax_line_f64);
}

#define INLAY_HARDMAX(name, T) \
    static inline void inlay_##name##_line(void *yv, const void *xv, int32_t n, ptrdiff_t step) \
    { \
        T *y = (T *)yv; \
        const T *x = (const T *)xv; \
        int32_t i, at = 0; \
        for (i = 1; i < n; i++) \
            at = x[i * step] > x[at * step] ? i : at; \
        for (i = 0; i < n; i++) \
            y[i * step] = (T)(i == at); \
    } \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        return inlay_softmax(base, s, r0, r1, sizeof(T), inlay_##name##_line); \
    }

INLAY_HARDMAX(hardmax_f32, float)
INLAY_HARDMAX(hardmax_f64, double)

#endif
