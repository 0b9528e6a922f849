/* SPDX-License-Identifier: 0BSD
 * Softmax, LogSoftmax and Hardmax along n: x and y are [units][outer][n][inner].
 *
 *   softmax      e^(x - max) / sum        log_softmax   x - max - log(sum)        hardmax   1 at
 *                the first maximum, else 0 */
#ifndef INLAY_SOFTMAX_H
#define INLAY_SOFTMAX_H

#include <float.h>

#include "math_f32.h"
#include "nd.h"
#include "softmax_vec.h"

typedef struct inlay_softmax_params {
    int32_t outer; /* lines of a unit; pixels where it is a row of an image */
    int32_t n;
    int32_t inner;    /* elements from one member of a line to the next */
    int32_t by_pixel; /* 1: lines are `pix` elements apart (inner == 1) */
} inlay_softmax_params;

/* One line, n elements `step` apart; or as many lines as elements lie between two of them. */
typedef void inlay_softmax_line(void *y, const void *x, int32_t n,
                                ptrdiff_t step);

/* How the lines of a step are made. */
typedef struct inlay_softmax_ways {
    size_t size; /* bytes of an element */
    inlay_softmax_line *line;
    inlay_softmax_line *lines; /* side by side; NULL: one by one */
} inlay_softmax_ways;

/* The lines of a block. */
INLAY_INLINE void inlay_softmax_block(const inlay_softmax_params *p,
                                      const inlay_softmax_ways *ways,
                                      unsigned char *y, const unsigned char *x)
{
    int32_t i;
    if (ways->lines && p->inner > 1) {
        ways->lines(y, x, p->n, p->inner);
        return;
    }
    for (i = 0; i < p->inner; i++)
        ways->line(y + (size_t)i * ways->size, x + (size_t)i * ways->size, p->n,
                   p->inner);
}

INLAY_INLINE int inlay_softmax(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1,
                               const inlay_softmax_ways *ways)
{
    const inlay_softmax_params *p = (const inlay_softmax_params *)s->params;
    const size_t block = (size_t)p->n * (size_t)p->inner;
    const int pixel = p->by_pixel;
    const size_t yp = ways->size * (pixel ? (size_t)s->ref[0].pix : block);
    const size_t xp = ways->size * (pixel ? (size_t)s->ref[1].pix : block);
    for (; r0 < r1; r0++) {
        unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r0);
        const unsigned char *x =
            (const unsigned char *)inlay_row(base, s, 1, r0);
        int32_t o;
        for (o = 0; o < p->outer; o++, y += yp, x += xp)
            inlay_softmax_block(p, ways, y, x);
    }
    return 0;
}

#if INLAY_VL > 1

static inline float inlay_line_max_f32(const float *x, int32_t n,
                                       ptrdiff_t step)
{
    float most = x[0];
    int32_t i;
    if (step == 1)
        return inlay_line_max_v(x, n);
    for (i = 0; i < n; i++)
        most = x[i * step] > most ? x[i * step] : most;
    return most;
}

#else

/* The largest of 16 n elements that lie together. */
static inline float inlay_line_max16(const float *x, int32_t n)
{
    float part[16];
    float most;
    int32_t i, j;
    for (j = 0; j < 16; j++)
        part[j] = x[j];
    for (i = 16; i < 16 * n; i += 16)
        for (j = 0; j < 16; j++)
            part[j] = x[i + j] > part[j] ? x[i + j] : part[j];
    most = x[0];
    for (j = 0; j < 16; j++)
        most = part[j] > most ? part[j] : most;
    return most;
}

static inline float inlay_line_max_f32(const float *x, int32_t n,
                                       ptrdiff_t step)
{
    float most = x[0];
    int32_t i = 0;
    if (step == 1 && n >= 16) {
        i = n / 16 * 16;
        most = inlay_line_max16(x, n / 16);
    }
    for (; i < n; i++)
        most = x[i * step] > most ? x[i * step] : most;
    return most;
}

#endif

static inline double inlay_line_max_f64(const double *x, int32_t n,
                                        ptrdiff_t step)
{
    double most = x[0];
    int32_t i;
    for (i = 1; i < n; i++)
        most = x[i * step] > most ? x[i * step] : most;
    return most;
}

#if INLAY_VL == 1

/* y = e^(x - most), a block at a time: y may be x. */
static inline void inlay_line_exp(float *y, const float *x, int32_t n,
                                  float most)
{
    int32_t i = 0;
#ifdef INLAY_BLOCK
    for (; i + INLAY_BLOCK <= n; i += INLAY_BLOCK) {
        float block[INLAY_BLOCK];
        int32_t j;
        for (j = 0; j < INLAY_BLOCK; j++)
            block[j] = inlay_exp_f(x[i + j] - most);
        memcpy(y + i, block, sizeof block);
    }
#endif
    for (; i < n; i++)
        y[i] = inlay_exp_f(x[i] - most);
}

static inline float inlay_line_sum(const float *x, int32_t n)
{
    float part[16] = { 0 };
    float sum;
    int32_t i, j;
    for (i = 0; i + 16 <= n; i += 16)
        for (j = 0; j < 16; j++)
            part[j] += x[i + j];
    for (j = 0; j < 8; j++)
        part[j] += part[j + 8];
    for (j = 0; j < 4; j++)
        part[j] += part[j + 4];
    sum = (part[0] + part[1]) + (part[2] + part[3]);
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static inline void inlay_line_scale(float *y, int32_t n, float scale)
{
    int32_t i, j;
    for (i = 0; i + 16 <= n; i += 16)
        for (j = 0; j < 16; j++)
            y[i + j] *= scale;
    for (; i < n; i++)
        y[i] *= scale;
}

static inline void inlay_line_softmax(float *y, const float *x, int32_t n)
{
    inlay_line_exp(y, x, n, inlay_line_max_f32(x, n, 1));
    inlay_line_scale(y, n, 1.0f / inlay_line_sum(y, n));
}

/* No lines side by side. */
#define inlay_softmax_lines_f32 NULL
#else
#define inlay_line_softmax inlay_line_softmax_v
#endif
#define inlay_softmax_lines_f64 NULL

static inline void inlay_softmax_line_f32(void *to, const void *from, int32_t n,
                                          ptrdiff_t step)
{
    float *y = (float *)to;
    const float *x = (const float *)from;
    float sum = 0.0f;
    float most;
    int32_t i;
    if (step == 1) {
        inlay_line_softmax(y, x, n);
        return;
    }
    most = inlay_line_max_f32(x, n, step);
    for (i = 0; i < n; i++) {
        const float v = inlay_exp_f(x[i * step] - most);
        y[i * step] = v;
        sum += v;
    }
    sum = 1.0f / sum;
    for (i = 0; i < n; i++)
        y[i * step] *= sum;
}

static inline void inlay_softmax_line_f64(void *to, const void *from, int32_t n,
                                          ptrdiff_t step)
{
    double *y = (double *)to;
    const double *x = (const double *)from;
    const double most = inlay_line_max_f64(x, n, step);
    double sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) {
        const double v = exp(x[i * step] - most);
        y[i * step] = v;
        sum += v;
    }
    for (i = 0; i < n; i++)
        y[i * step] /= sum;
}

static inline float inlay_softmax_exp_f32(float x)
{
    return inlay_exp_f(x);
}

static inline double inlay_softmax_exp_f64(double x)
{
    return exp(x);
}

/* A line of adjacent elements in vectors; 0: there are none. */
static inline int inlay_line_log_softmax_f32(float *y, const float *x,
                                             int32_t n, float most)
{
#if INLAY_VL > 1
    const float sum = inlay_line_exp_v(NULL, x, n, most);
    inlay_line_below_v(y, x, n, most, logf(sum));
    return 1;
#else
    (void)y;
    (void)x;
    (void)n;
    (void)most;
    return 0;
#endif
}

static inline int inlay_line_log_softmax_f64(double *y, const double *x,
                                             int32_t n, double most)
{
    (void)y;
    (void)x;
    (void)n;
    (void)most;
    return 0;
}

#define INLAY_FAMILY "softmax.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
