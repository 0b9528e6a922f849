/* SPDX-License-Identifier: 0BSD
 * Steps between numbers of 16 bits that are no products with weights, in integers alone.
 *
 *   qadd_short       y = code(a + b)
 *   qmul_short       y = code(a b)
 *   qrescale_short   y = code(a)
 *   qscale_short     y = code(x sa), of int32 x less its zero point
 *   qsum_i16, _u16   y = sum of the codes of all pixels of an image, int32
 *
 * A number is (code - zero) scale; code(v) = clip(round(v / sy) + zy), to nearest, ties to even.
 * The last operand holds the numbers. Of sums each operand has a factor of 31 bits, in steps of the
 * result; 2^INLAY_QSHORT_UP times what is less than 2^17 has as many bits. */
#ifndef INLAY_QSHORT_STEP_H
#define INLAY_QSHORT_STEP_H

#include "kernels/qshort.h"
#include "nd.h"
#include "pool.h"

/* The numbers of a step, its last operand: words of 32 bits. Zero points and bounds are numbers
 * with a sign, but for that of sums. */
typedef struct inlay_qshort_step {
    int32_t flip_a; /* 0x8000: codes without a sign */
    int32_t flip_b;
    int32_t flip_y;
    int32_t za;
    int32_t zb;
    int32_t zy;
    int32_t lo;
    int32_t hi;
    int32_t factor_a; /* the only one but for sums */
    int32_t factor_b;
    int32_t places;
} inlay_qshort_step;

enum {
    INLAY_QSHORT_WORDS = sizeof(inlay_qshort_step) / sizeof(int32_t),
    INLAY_QSHORT_UP = 13
};

static inline int32_t inlay_qshort_number(uint16_t code, int32_t flip,
                                          int32_t zero)
{
    return (int16_t)(code ^ flip) - zero;
}

static inline inlay_qshort_result
inlay_qshort_result_of(const inlay_qshort_step *q)
{
    inlay_qshort_result result;
    result.factor = &q->factor_a;
    result.places = &q->places;
    result.each = 0;
    result.zero = q->zy;
    result.lo = q->lo;
    result.hi = q->hi;
    result.flip = q->flip_y;
    result.far = 0;
    return result;
}

/* n elements of y of those of a and b, which lie step_a and step_b apart. */
typedef void inlay_qshort_two(uint16_t *y, const uint16_t *a, const uint16_t *b,
                              int32_t n, int32_t step_a, int32_t step_b,
                              const inlay_qshort_step *numbers);

/* Their loops. */
static inline void inlay_qshort_nest(inlay_nest *nest, const inlay_step *s)
{
    const inlay_nd2_params *p = (const inlay_nd2_params *)s->params;
    const size_t size[3] = { 2, 2, 2 };
    const int32_t *stride[3] = { NULL, p->a, p->b };
    nest->rank = p->rank;
    memcpy(nest->n, p->n, sizeof nest->n);
    inlay_nest_set(nest, s, 3, stride, size, p->rows, p->pixel);
}

/* Rows [r0, r1) of a kernel of two operands. */
INLAY_INLINE int inlay_qshort_two_rows(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1,
                                       inlay_qshort_two *pair)
{
    const inlay_nd2_params *p = (const inlay_nd2_params *)s->params;
    const void *numbers = inlay_at(base, s, 3);
    inlay_nest nest;
    inlay_qshort_nest(&nest, s);
    for (; r0 < r1; r0++) {
        unsigned char *o[3];
        int32_t at[8] = { 0 };
        inlay_nest_begin(base, s, 3, p->rows, p->every, r0, o);
        do {
            uint16_t *y = (uint16_t *)(void *)o[0];
            const uint16_t *a = (const uint16_t *)(const void *)o[1];
            const uint16_t *b = (const uint16_t *)(const void *)o[2];
            pair(y, a, b, nest.n[nest.rank - 1], nest.in[1], nest.in[2],
                 (const inlay_qshort_step *)numbers);
        } while (inlay_nest_next(&nest, at, o, 3));
    }
    return 0;
}

static inline void inlay_qadd_short_run(uint16_t *y, const uint16_t *a,
                                        const uint16_t *b, int32_t n,
                                        int32_t step_a, int32_t step_b,
                                        const inlay_qshort_step *numbers)
{
    const inlay_qshort_step q = *numbers;
    const inlay_qshort_result result = inlay_qshort_result_of(&q);
    const uint32_t down = INLAY_QSHORT_DOWN((uint32_t)q.places);
    const int32_t up = 1 << INLAY_QSHORT_UP;
    int32_t i;
    for (i = 0; i < n; i++, a += step_a, b += step_b) {
        const int32_t of_a = inlay_qshort_number(*a, q.flip_a, q.za) * up;
        const int32_t of_b = inlay_qshort_number(*b, q.flip_b, q.zb) * up;
        int64_t sum = (int64_t)of_a * q.factor_a;
        sum += (int64_t)of_b * q.factor_b;
        y[i] =
            (uint16_t)inlay_qshort_clamp(&result, inlay_qshort_down(sum, down));
    }
}

/* Operands: y, a, b, numbers. */
static inline int inlay_qadd_short(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_qshort_two_rows(base, s, r0, r1, inlay_qadd_short_run);
}

static inline void inlay_qmul_short_run(uint16_t *y, const uint16_t *a,
                                        const uint16_t *b, int32_t n,
                                        int32_t step_a, int32_t step_b,
                                        const inlay_qshort_step *numbers)
{
    const inlay_qshort_step q = *numbers;
    const inlay_qshort_result result = inlay_qshort_result_of(&q);
    const inlay_qshort_scale scale = inlay_qshort_scale_of(&result, 0);
    int32_t i;
    for (i = 0; i < n; i++, a += step_a, b += step_b) {
        const int32_t of_a = inlay_qshort_number(*a, q.flip_a, q.za);
        const int32_t of_b = inlay_qshort_number(*b, q.flip_b, q.zb);
        const int64_t product = (int64_t)of_a * of_b;
        y[i] = inlay_qshort_code_long(&result, &scale, product);
    }
}

/* Operands: as those of qadd_short. */
static inline int inlay_qmul_short(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_qshort_two_rows(base, s, r0, r1, inlay_qmul_short_run);
}

static inline void inlay_qrescale_short_run(uint16_t *y, const uint16_t *x,
                                            int32_t n,
                                            const inlay_qshort_step *numbers)
{
    const inlay_qshort_step q = *numbers;
    const inlay_qshort_result result = inlay_qshort_result_of(&q);
    const inlay_qshort_scale scale = inlay_qshort_scale_of(&result, 0);
    int32_t i;
    for (i = 0; i < n; i++) {
        const int32_t v = inlay_qshort_number(x[i], q.flip_a, q.za);
        y[i] = inlay_qshort_code_long(&result, &scale, v);
    }
}

/* Operands: y, x, numbers. */
static inline int inlay_qrescale_short(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    const inlay_qshort_step *q =
        (const inlay_qshort_step *)inlay_at(base, s, 2);
    const int dense = p->pixel == p->n ||
                      (s->ref[0].pix == p->pixel && s->ref[1].pix == p->pixel);
    const int32_t run = dense ? p->n : p->pixel;
    for (; r0 < r1; r0++) {
        uint16_t *y = (uint16_t *)inlay_row(base, s, 0, r0);
        const uint16_t *x = (const uint16_t *)inlay_row(base, s, 1, r0);
        int32_t i;
        for (i = 0; i < p->n; i += run) {
            inlay_qrescale_short_run(y, x, run, q);
            y += s->ref[0].pix;
            x += s->ref[1].pix;
        }
    }
    return 0;
}

/* Operands: y, x (int32), numbers. */
static inline int inlay_qscale_short(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    const inlay_qshort_step *q =
        (const inlay_qshort_step *)inlay_at(base, s, 2);
    const inlay_qshort_result result = inlay_qshort_result_of(q);
    const inlay_qshort_scale scale = inlay_qshort_scale_of(&result, 0);
    for (; r0 < r1; r0++) {
        uint16_t *y = (uint16_t *)inlay_row(base, s, 0, r0);
        const int32_t *x = (const int32_t *)inlay_row(base, s, 1, r0);
        int32_t i;
        for (i = 0; i < p->n; i++) {
            const int64_t v = (int64_t)x[i] - q->za;
            y[i] = inlay_qshort_code_long(&result, &scale, v);
        }
    }
    return 0;
}

/* Row by row into the sums of the image, which begin at its first row. */
INLAY_INLINE int inlay_qsum_short(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1, const int is_signed)
{
    const inlay_globalpool_params *p =
        (const inlay_globalpool_params *)s->params;
    const int32_t pix = s->ref[1].pix;
    for (; r0 < r1; r0++) {
        const uint16_t *x = (const uint16_t *)inlay_row(base, s, 1, r0);
        int32_t *y = (int32_t *)inlay_row(base, s, 0, r0 / p->rows);
        int32_t i, c;
        if (r0 % p->rows == 0)
            memset(y, 0, (size_t)p->channels * sizeof *y);
        for (i = 0; i < p->width; i++, x += pix)
            for (c = 0; c < p->channels; c++)
                y[c] += is_signed ? (int16_t)x[c] : x[c];
    }
    return 0;
}

/* Operands: y (int32), x. */
static inline int inlay_qsum_i16(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    return inlay_qsum_short(base, s, r0, r1, 1);
}

static inline int inlay_qsum_u16(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    return inlay_qsum_short(base, s, r0, r1, 0);
}

#endif
