/* SPDX-License-Identifier: 0BSD
 * Steps between quantized bytes. A number is (byte - zero) scale; int8 bytes are counted from -128
 * by a flip of their highest bit: ^ 128, where uint8 has ^ 0, so each kernel takes any mix.
 *
 *   table_8       y = table[x], table [256] by the byte as it is
 *   table_f32     the same of floats
 *   qadd          y = byte(a + b)
 *   qmul          y = byte(a b)
 *   qdiv          y = byte(a / b)
 *   qprelu        y = byte(a), of a below 0 a times b, a float
 *   qavgpool      y = byte(mean of a window)
 *   qsum          y = sum of the bytes of all pixels of an image, int32
 *   qscale        y = byte(x sa), of int32 x less its zero point
 *
 * byte(v) = clip(round(v / sy) + zy), to nearest, ties to even: as DequantizeLinear, the operator
 * and QuantizeLinear do it one after the other. The last operand holds the numbers. */
#ifndef INLAY_QSTEP_H
#define INLAY_QSTEP_H

#include "kernels/qmve.h"
#include "kernels/qout.h"
#include "pool.h"
#include "quant.h"

/* The numbers of a step, its last operand: words of 32 bits. Zero points and bounds are flipped. */
typedef struct inlay_qstep {
    int32_t flip_a;
    int32_t flip_b;
    int32_t flip_y;
    int32_t za;
    int32_t zb;
    int32_t zy;
    int32_t lo;
    int32_t hi;
    int32_t inner; /* 1: zy is added before it rounds */
    float sa;      /* scales */
    float sb;
    float sy;
} inlay_qstep;

/* Words that they are. */
enum { INLAY_QSTEP_WORDS = sizeof(inlay_qstep) / sizeof(int32_t) };

enum { INLAY_QSTEP_BLOCK = 32 }; /* channels summed at a time */

typedef void inlay_table_run(void *y, const uint8_t *x, int32_t n,
                             const void *table);

static inline void inlay_table_bytes(void *to, const uint8_t *x, int32_t n,
                                     const void *table)
{
    const uint8_t *entry = (const uint8_t *)table;
    uint8_t *y = (uint8_t *)to;
    int32_t i;
    for (i = 0; i < n; i++)
        y[i] = entry[x[i]];
}

static inline void inlay_table_floats(void *to, const uint8_t *x, int32_t n,
                                      const void *table)
{
    const float *entry = (const float *)table;
    float *y = (float *)to;
    int32_t i;
    for (i = 0; i < n; i++)
        y[i] = entry[x[i]];
}

/* Operands: y, of elements of `size` bytes, x, table. */
INLAY_INLINE int inlay_table_rows(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1, size_t size,
                                  inlay_table_run *each)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    const void *table = inlay_at(base, s, 2);
    const int dense = p->pixel == p->n ||
                      (s->ref[0].pix == p->pixel && s->ref[1].pix == p->pixel);
    const int32_t run = dense ? p->n : p->pixel;
    for (; r0 < r1; r0++) {
        unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r0);
        const uint8_t *x = (const uint8_t *)inlay_row(base, s, 1, r0);
        int32_t i;
        for (i = 0; i < p->n; i += run) {
            each(y, x, run, table);
            y += (size_t)s->ref[0].pix * size;
            x += s->ref[1].pix;
        }
    }
    return 0;
}

static inline int inlay_table_8(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    return inlay_table_rows(base, s, r0, r1, 1, inlay_table_bytes);
}

static inline int inlay_table_f32(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    return inlay_table_rows(base, s, r0, r1, sizeof(float), inlay_table_floats);
}

/* Are numbers of bytes times `of`, divided by `by`, neither lost nor without bound? */
static inline int inlay_qdivides(float of, float by)
{
    return inlay_scale_suits(of) && inlay_scale_suits(by);
}

#if INLAY_MVE_FLOAT
#include "kernels/qstep_mve.inc.h"
#endif

#if INLAY_QDSP_FLOAT
#include "kernels/qstep_dsp.inc.h"
#endif

/* n elements of y of those of a and b, which lie step_a and step_b apart, by the numbers of the
 * step. */
typedef void inlay_qtwo(uint8_t *y, const uint8_t *a, const uint8_t *b,
                        int32_t n, int32_t step_a, int32_t step_b,
                        const inlay_qstep *q);

/* The loops of a kernel of two operands, the second of elements of `b` bytes. */
static inline void inlay_qtwo_nest(inlay_nest *nest, const inlay_step *s,
                                   size_t b)
{
    const inlay_nd2_params *p = (const inlay_nd2_params *)s->params;
    const size_t size[3] = { 1, 1, b };
    const int32_t *stride[3] = { NULL, p->a, p->b };
    nest->rank = p->rank;
    memcpy(nest->n, p->n, sizeof nest->n);
    inlay_nest_set(nest, s, 3, stride, size, p->rows, p->pixel);
}

/* Rows [r0, r1) of it. */
INLAY_INLINE int inlay_qtwo_rows(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1, size_t b,
                                 inlay_qtwo *pair)
{
    const inlay_nd2_params *p = (const inlay_nd2_params *)s->params;
    const inlay_qstep *q = (const inlay_qstep *)inlay_at(base, s, 3);
    inlay_nest nest;
    inlay_qtwo_nest(&nest, s, b);
    for (; r0 < r1; r0++) {
        unsigned char *o[3];
        int32_t at[8] = { 0 };
        inlay_nest_begin(base, s, 3, p->rows, p->every, r0, o);
        do
            pair(o[0], o[1], o[2], nest.n[nest.rank - 1], nest.in[1],
                 nest.in[2], q);
        while (inlay_nest_next(&nest, at, o, 3));
    }
    return 0;
}

/* The byte of a number. */
static inline uint8_t inlay_qstep_byte(const inlay_qstep *q, float v)
{
    return (uint8_t)(inlay_saturate(v / q->sy, q->zy, q->lo, q->hi) ^
                     q->flip_y);
}

/* The same where the zero point is added before it rounds. */
static inline uint8_t inlay_qstep_inner(const inlay_qstep *q, float v)
{
    const int32_t flip = q->flip_y;
    const float steps = v / q->sy + (float)(q->zy - flip);
    return (uint8_t)inlay_saturate(steps, 0, q->lo - flip, q->hi - flip);
}

static inline float inlay_qstep_a(const inlay_qstep *q, int32_t a)
{
    return (float)((a ^ q->flip_a) - q->za) * q->sa;
}

static inline float inlay_qstep_b(const inlay_qstep *q, int32_t b)
{
    return (float)((b ^ q->flip_b) - q->zb) * q->sb;
}

/* The byte of the mean of `count` numbers of a, of which the zero points are taken off. */
static inline uint8_t inlay_qstep_mean(const inlay_qstep *q, int32_t sum,
                                       int32_t count)
{
    const float mean = (float)sum * q->sa / (float)count;
    return q->inner ? inlay_qstep_inner(q, mean) : inlay_qstep_byte(q, mean);
}

#if INLAY_QSOFT
#include "kernels/qstep_soft.inc.h"
#endif

#if INLAY_QL > 1 && defined __SSE2__
#include "kernels/qstep_vec.inc.h"
#define INLAY_QSTEP_VECTORS 1
#else
#define INLAY_QSTEP_VECTORS 0
#endif

/* How many elements of sums, or products, the core's own instructions made. */
INLAY_INLINE int32_t inlay_qtwo_fast(uint8_t *y, const uint8_t *a,
                                     const uint8_t *b, int32_t n,
                                     int32_t step_a, int32_t step_b,
                                     const inlay_qstep *q, int product)
{
#if INLAY_MVE_FLOAT
    return (product ? inlay_mve_products_of
                    : inlay_mve_sums_of)(y, a, b, n, step_a, step_b, q);
#elif INLAY_QDSP_FLOAT
    if (!inlay_dsp_suits(step_a, step_b, q))
        return 0;
    if (product)
        return inlay_dsp_products_of(y, a, b, n, q);
    return inlay_dsp_sums_of(y, a, b, n, q);
#elif INLAY_QSTEP_VECTORS
    if (step_a > 1 || step_b > 1)
        return 0;
    inlay_qtwo_vectors(y, a, b, n, step_a, step_b, q, product);
    return n;
#elif INLAY_QSOFT
    return (product ? inlay_soft_products_of
                    : inlay_soft_sums_of)(y, a, b, n, step_a, step_b, q);
#else
    (void)y;
    (void)a;
    (void)b;
    (void)n;
    (void)step_a;
    (void)step_b;
    (void)q;
    (void)product;
    return 0;
#endif
}

/* A block of elements that follow one another is made before it is stored: y may lie over a or b.
 * Elements [i, n); returns the first of the rest. */
INLAY_INLINE int32_t inlay_qadd_blocks(uint8_t *y, const uint8_t *a,
                                       const uint8_t *b, int32_t i, int32_t n,
                                       const inlay_qstep *q)
{
#ifdef INLAY_BLOCK
    for (; i + INLAY_BLOCK <= n; i += INLAY_BLOCK) {
        uint8_t block[INLAY_BLOCK];
        int32_t j;
        for (j = 0; j < INLAY_BLOCK; j++)
            block[j] = inlay_qstep_byte(q, inlay_qstep_a(q, a[i + j]) +
                                               inlay_qstep_b(q, b[i + j]));
        memcpy(y + i, block, sizeof block);
    }
#else
    (void)y;
    (void)a;
    (void)b;
    (void)n;
    (void)q;
#endif
    return i;
}

static inline void inlay_qadd_run(uint8_t *y, const uint8_t *a,
                                  const uint8_t *b, int32_t n, int32_t step_a,
                                  int32_t step_b, const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    int32_t i = inlay_qtwo_fast(y, a, b, n, step_a, step_b, numbers, 0);
    if (step_a == 1 && step_b == 1)
        i = inlay_qadd_blocks(y, a, b, i, n, &q);
    for (; i < n; i++) {
        const float of_a = inlay_qstep_a(&q, a[(ptrdiff_t)i * step_a]);
        const float of_b = inlay_qstep_b(&q, b[(ptrdiff_t)i * step_b]);
        y[i] = inlay_qstep_byte(&q, of_a + of_b);
    }
}

/* Operands: y, a, b, numbers. */
static inline int inlay_qadd(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    return inlay_qtwo_rows(base, s, r0, r1, 1, inlay_qadd_run);
}

static inline void inlay_qmul_run(uint8_t *y, const uint8_t *a,
                                  const uint8_t *b, int32_t n, int32_t step_a,
                                  int32_t step_b, const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    int32_t i = inlay_qtwo_fast(y, a, b, n, step_a, step_b, numbers, 1);
    for (; i < n; i++) {
        const float of_a = inlay_qstep_a(&q, a[(ptrdiff_t)i * step_a]);
        const float of_b = inlay_qstep_b(&q, b[(ptrdiff_t)i * step_b]);
        y[i] = inlay_qstep_byte(&q, of_a * of_b);
    }
}

/* Operands: as those of qadd. */
static inline int inlay_qmul(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    return inlay_qtwo_rows(base, s, r0, r1, 1, inlay_qmul_run);
}

static inline void inlay_qdiv_run(uint8_t *y, const uint8_t *a,
                                  const uint8_t *b, int32_t n, int32_t step_a,
                                  int32_t step_b, const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    int32_t i;
    for (i = 0; i < n; i++) {
        const float of_a = inlay_qstep_a(&q, a[(ptrdiff_t)i * step_a]);
        const float of_b = inlay_qstep_b(&q, b[(ptrdiff_t)i * step_b]);
        y[i] = inlay_qstep_byte(&q, of_a / of_b);
    }
}

/* Operands: as those of qadd. */
static inline int inlay_qdiv(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    return inlay_qtwo_rows(base, s, r0, r1, 1, inlay_qdiv_run);
}

/* slope: floats, steps of them. */
static inline void inlay_qprelu_run(uint8_t *y, const uint8_t *a,
                                    const uint8_t *slope, int32_t n,
                                    int32_t step_a, int32_t step_slope,
                                    const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    const float *b = (const float *)(const void *)slope;
    int32_t i;
    for (i = 0; i < n; i++) {
        const float v = inlay_qstep_a(&q, a[(ptrdiff_t)i * step_a]);
        const float below = v * b[(ptrdiff_t)i * step_slope];
        y[i] = inlay_qstep_byte(&q, v < 0.0f ? below : v);
    }
}

/* Operands: y, a, slopes (float), numbers. */
static inline int inlay_qprelu(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    return inlay_qtwo_rows(base, s, r0, r1, sizeof(float), inlay_qprelu_run);
}

/* Adds the bytes of some pixels to n sums; returns how many of these the core's own instructions
 * made. */
INLAY_INLINE int32_t inlay_qpool_fast(const uint8_t *x, ptrdiff_t next,
                                      int32_t pixels, int32_t n, int32_t flip,
                                      int32_t *sum)
{
#if INLAY_MVE_FLOAT
    return inlay_mve_add_pixels(x, next, pixels, n, flip, sum);
#elif INLAY_QDSP_FLOAT
    return inlay_dsp_add_pixels(x, next, pixels, n, flip, sum);
#else
    (void)x;
    (void)next;
    (void)pixels;
    (void)n;
    (void)flip;
    (void)sum;
    return 0;
#endif
}

/* Adds n channels, from x on, of all taps of a window. */
static inline void inlay_qpool_sums(void *const *base, const inlay_step *s,
                                    const inlay_window *w, int32_t c, int32_t n,
                                    int32_t flip, int32_t *sum)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pix = s->ref[1].pix;
    int32_t d, h, k, i, done;
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const int32_t r = inlay_window_row(p, w, d, h);
            const uint8_t *x = (const uint8_t *)inlay_row(base, s, 1, r) + c;
            x += w->first_col * pix;
            done = inlay_qpool_fast(x, p->dw * pix, w->nw, n, flip, sum);
            for (k = 0; k < w->nw && done < n; k++, x += p->dw * pix)
                for (i = done; i < n; i++)
                    sum[i] += x[i] ^ flip;
        }
}

static inline void inlay_qavgpool_pixel(void *const *base, const inlay_step *s,
                                        const inlay_window *w, void *to)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const inlay_qstep q = *(const inlay_qstep *)inlay_at(base, s, 2);
    const int32_t zeros = w->nd * w->nh * w->nw * q.za;
    uint8_t *y = (uint8_t *)to;
    int32_t c, i;
    for (c = 0; c < p->channels; c += INLAY_QSTEP_BLOCK) {
        const int32_t left = p->channels - c;
        const int32_t n = left < INLAY_QSTEP_BLOCK ? left : INLAY_QSTEP_BLOCK;
        int32_t sum[INLAY_QSTEP_BLOCK] = { 0 };
        inlay_qpool_sums(base, s, w, c, n, q.flip_a, sum);
#if INLAY_QSOFT
        if (inlay_soft_means_of(y + c, sum, n, zeros, w->count, &q))
            continue;
#endif
        for (i = 0; i < n; i++)
            y[c + i] = inlay_qstep_mean(&q, sum[i] - zeros, w->count);
    }
}

/* Operands: y, x, numbers. Units are rows of y, as those of avgpool_f32. */
static inline int inlay_qavgpool(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    return inlay_pool_rows(base, s, r0, r1, 1, inlay_qavgpool_pixel, NULL);
}

/* The number of a byte; flip: 128 if it has a sign, else 0. */
INLAY_INLINE int32_t inlay_qsum_number(uint8_t byte, int32_t flip)
{
    return flip ? (int8_t)byte : byte;
}

#if INLAY_QL > 1
enum { INLAY_QSUM_BLOCK = INLAY_QSTEP_BLOCK };
#elif INLAY_QMVE
enum { INLAY_QSUM_BLOCK = 8 };
#else
enum { INLAY_QSUM_BLOCK = 4 };
#endif

/* Adds a pixel of x to n sums of channels; block: there are as many as a block has. */
INLAY_INLINE void inlay_qsum_pixel(const uint8_t *x, int32_t n, int block,
                                   int32_t flip, int32_t *sum)
{
    int32_t c;
#if INLAY_QL == 1
    if (block) {
        INLAY_UNROLL
        for (c = 0; c < INLAY_QSUM_BLOCK; c++)
            sum[c] += inlay_qsum_number(x[c], flip);
        return;
    }
#else
    (void)block;
#endif
    for (c = 0; c < n; c++)
        sum[c] += inlay_qsum_number(x[c], flip);
}

#if INLAY_QMVE
/* Numbers of four bytes. */
INLAY_INLINE int32x4_t inlay_qsum_four(const uint8_t *x, int32_t flip)
{
    return flip ? vldrbq_s32((const int8_t *)x)
                : vreinterpretq_s32_u32(vldrbq_u32(x));
}

/* Adds a row of eight channels. */
INLAY_INLINE void inlay_qsum_eight(const uint8_t *x, int32_t pix, int32_t n,
                                   int32_t flip, int32_t *y)
{
    int32x4_t low = vld1q_s32(y);
    int32x4_t high = vld1q_s32(y + 4);
    for (; n > 0; n--, x += pix) {
        low = vaddq_s32(low, inlay_qsum_four(x, flip));
        high = vaddq_s32(high, inlay_qsum_four(x + 4, flip));
    }
    vst1q_s32(y, low);
    vst1q_s32(y + 4, high);
}
#endif

/* The same of a row. */
INLAY_INLINE void inlay_qsum_row(const inlay_globalpool_params *p,
                                 const uint8_t *x, int32_t pix, int32_t n,
                                 int block, int32_t flip, int32_t *y)
{
    int32_t sum[INLAY_QSUM_BLOCK];
    int32_t i;
#if INLAY_QMVE
    if (block) {
        inlay_qsum_eight(x, pix, p->width, flip, y);
        return;
    }
#endif
    memcpy(sum, y, (size_t)n * sizeof *sum);
    for (i = p->width; i > 0; i--, x += pix)
        inlay_qsum_pixel(x, n, block, flip, sum);
    memcpy(y, sum, (size_t)n * sizeof *sum);
}

/* Row by row into the sums of the image, which begin at its first row. flip: of x. */
INLAY_INLINE int inlay_qsum(void *const *base, const inlay_step *s, int32_t r0,
                            int32_t r1, int32_t flip)
{
    const inlay_globalpool_params *p =
        (const inlay_globalpool_params *)s->params;
    const int32_t pix = s->ref[1].pix;
    int32_t c;
    for (; r0 < r1; r0++) {
        const uint8_t *x = (const uint8_t *)inlay_row(base, s, 1, r0);
        int32_t *y = (int32_t *)inlay_row(base, s, 0, r0 / p->rows);
        if (r0 % p->rows == 0)
            memset(y, 0, (size_t)p->channels * sizeof *y);
        for (c = 0; c + INLAY_QSUM_BLOCK <= p->channels; c += INLAY_QSUM_BLOCK)
            inlay_qsum_row(p, x + c, pix, INLAY_QSUM_BLOCK, 1, flip, y + c);
        if (c < p->channels)
            inlay_qsum_row(p, x + c, pix, p->channels - c, 0, flip, y + c);
    }
    return 0;
}

static inline int inlay_qsum_u8(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    return inlay_qsum(base, s, r0, r1, 0);
}

static inline int inlay_qsum_i8(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    return inlay_qsum(base, s, r0, r1, 128);
}

static inline void inlay_qscale_run(uint8_t *y, const int32_t *x, int32_t n,
                                    const inlay_qstep *q)
{
#if INLAY_QSTEP_VECTORS
    inlay_qscale_vectors(y, x, n, q);
#else
    int32_t i;
    for (i = 0; i < n; i++)
        y[i] = inlay_qstep_byte(q, (float)(x[i] - q->za) * q->sa);
#endif
}

/* Operands: y, x (int32), numbers. Rows that follow one another are one run. */
static inline int inlay_qscale(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    const inlay_qstep q = *(const inlay_qstep *)inlay_at(base, s, 2);
    const inlay_ref *y = s->ref;
    const inlay_ref *x = s->ref + 1;
    const size_t n = (size_t)p->n;
    const int dense = y->row == n && x->row == n * sizeof(int32_t) &&
                      r1 <= y->cap && r1 <= x->cap && !inlay_is_dealt(y) &&
                      !inlay_is_dealt(x);
    const int32_t rows = dense ? r1 - r0 : 1;
    for (; r0 < r1; r0 += rows)
        inlay_qscale_run((uint8_t *)inlay_row(base, s, 0, r0),
                         (const int32_t *)inlay_row(base, s, 1, r0),
                         rows * p->n, &q);
    return 0;
}

#endif
