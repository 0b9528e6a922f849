/* SPDX-License-Identifier: 0BSD
 * LayerNormalization of quantized lines: y and x are [units][outer][n], scale and bias [n].
 *
 *   y = byte((x - mean) / sqrt(variance + epsilon) * scale + bias)
 *
 * Mean and variance come of exact sums of integers; where params->center is 0 there is no mean, and
 * the variance is the mean square. byte() and the numbers are those of qstep.h. */
#ifndef INLAY_QNORM_H
#define INLAY_QNORM_H

#include "kernels/libm.h"
#include "kernels/qstep.h"

/* Elements of a line at most: their squares' sum fits 31 bits. */
enum { INLAY_QNORM_MOST = 33000 };

typedef struct inlay_qnorm_params {
    int32_t outer;  /* lines of a unit, a pixel each */
    int32_t n;      /* elements of a line */
    int32_t center; /* 1: the mean is taken off */
    float epsilon;
} inlay_qnorm_params;

/* Of a line in steps of x: its mean, and what its numbers are multiplied with. */
typedef struct inlay_qnorm_line {
    float mean, factor;
} inlay_qnorm_line;

static inline inlay_qnorm_line inlay_qnorm_of(const inlay_qnorm_params *params,
                                              const uint8_t *x,
                                              const inlay_qstep *q)
{
    const int32_t n = params->n;
    const float all = (float)n;
    inlay_qnorm_line line = { 0.0f, 0.0f };
    int32_t sum = 0;
    int32_t squares = 0;
    int64_t spread;
    float variance;
    int32_t i;
    for (i = 0; i < n; i++) {
        const int32_t v = (x[i] ^ q->flip_a) - q->za;
        sum += v;
        squares += v * v;
    }
    spread = (int64_t)squares * n;
    if (params->center) {
        line.mean = (float)sum / all;
        spread -= (int64_t)sum * sum;
    }
    variance = (float)spread / (all * all);
    line.factor = q->sa / sqrtf(variance * q->sa * q->sa + params->epsilon);
    return line;
}

#if INLAY_QSTEP_VECTORS
/* As many elements of a line as fill vectors; returns their number. */
INLAY_INLINE int32_t inlay_qnorm_vectors(const inlay_qnorm_line *line,
                                         uint8_t *y, const uint8_t *x,
                                         const float *scale, const float *bias,
                                         int32_t n, const inlay_qstep *q)
{
    const inlay_qclip clip = inlay_qclip_of(q->zy, q->lo, q->hi);
    const inlay_qf mean = INLAY_MM(set1_ps)(line->mean);
    const inlay_qf factor = INLAY_MM(set1_ps)(line->factor);
    int32_t i;
    for (i = 0; i + INLAY_QL <= n; i += INLAY_QL) {
        const inlay_qf each = INLAY_MM(loadu_ps)(scale + i);
        inlay_qf v;
        v = inlay_qside(x + i, 1, INLAY_QL, q->flip_a, q->za, 1.0f);
        v = INLAY_MM(mul_ps)(INLAY_MM(sub_ps)(v, mean), factor);
        v = INLAY_MM(mul_ps)(v, each);
        if (bias)
            v = INLAY_MM(add_ps)(v, INLAY_MM(loadu_ps)(bias + i));
        inlay_qside_end(q, &clip, v, INLAY_QL, y + i);
    }
    return i;
}
#endif

/* One line; bias NULL: none. y may lie over x. */
static inline void inlay_qnorm_run(const inlay_qnorm_params *params, uint8_t *y,
                                   const uint8_t *x, const float *scale,
                                   const float *bias,
                                   const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    const inlay_qnorm_line line = inlay_qnorm_of(params, x, &q);
    int32_t i = 0;
#if INLAY_QSTEP_VECTORS
    i = inlay_qnorm_vectors(&line, y, x, scale, bias, params->n, numbers);
#endif
    for (; i < params->n; i++) {
        const float steps = (float)((x[i] ^ q.flip_a) - q.za);
        const float v = (steps - line.mean) * line.factor * scale[i];
        y[i] = inlay_qstep_byte(&q, bias ? v + bias[i] : v);
    }
}

/* Operands: y, x, scale, bias (may be left out), numbers. */
static inline int inlay_qnorm(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1)
{
    const inlay_qnorm_params *p = (const inlay_qnorm_params *)s->params;
    const float *scale = (const float *)inlay_at(base, s, 2);
    const float *bias = (const float *)inlay_at(base, s, 3);
    const inlay_qstep *q = (const inlay_qstep *)inlay_at(base, s, 4);
    for (; r0 < r1; r0++) {
        uint8_t *y = (uint8_t *)inlay_row(base, s, 0, r0);
        const uint8_t *x = (const uint8_t *)inlay_row(base, s, 1, r0);
        int32_t o;
        for (o = 0; o < p->outer; o++) {
            inlay_qnorm_run(p, y, x, scale, bias, q);
            y += s->ref[0].pix;
            x += s->ref[1].pix;
        }
    }
    return 0;
}

#endif
