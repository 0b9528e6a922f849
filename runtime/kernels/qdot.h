/* SPDX-License-Identifier: 0BSD
 * Products of 8-bit integers with 32-bit sums: matrix product and convolution, in their plain form.
 *
 *   acc[m][n] = sum over k: (a[m][k] - za) (b[k][n] - zb)  (+ bias[n])
 *   y = acc (int32), or acc * sa * sb (float), or saturate(round(acc * sa * sb / sy) + zy)
 *
 * Sums are made for a block of columns at a time, along b's rows, which lie in one piece; the zero
 * point of b is taken off afterwards: sum (a - za) b - zb sum (a - za). */
#ifndef INLAY_QDOT_H
#define INLAY_QDOT_H

#include "quant.h"

#define INLAY_QBLOCK 64 /* columns summed at a time */

/* What becomes of the sums: parameter `out`. */
enum { INLAY_QOUT_I32 = 0, INLAY_QOUT_U8 = 1, INLAY_QOUT_I8 = 2, INLAY_QOUT_F32 = 3 };

static inline int32_t inlay_q8(const uint8_t *p, ptrdiff_t i, int is_signed)
{
    const int32_t v = p[i];
    return is_signed ? (v ^ 128) - 128 : v;
}

/* A zero point that may be left out. */
static inline int32_t inlay_q8_zero(const uint8_t *p, ptrdiff_t i, int is_signed)
{
    return p ? inlay_q8(p, i, is_signed) : 0;
}

/* Sums wrap, as those of the reference do: quantizers write biases at the very end of int32. */
static inline int32_t inlay_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* acc[j] += sum over i < k of (a[i] - za) b[i * ldb + j], j < n; returns the sum of (a[i] - za). */
static inline int32_t inlay_qdot(int32_t *acc, int32_t n, const uint8_t *a, int32_t k, int32_t za,
                                 int a_signed, const uint8_t *b, ptrdiff_t ldb, int b_signed)
{
    int32_t i;
    int32_t j;
    int32_t sum = 0;
    for (i = 0; i < k; i++, b += ldb) {
        const int32_t v = inlay_q8(a, i, a_signed) - za;
        if (v == 0)
            continue;
        sum += v;
        if (b_signed)
            for (j = 0; j < n; j++)
                acc[j] = inlay_wrap_add(acc[j], v * (int8_t)b[j]);
        else
            for (j = 0; j < n; j++)
                acc[j] = inlay_wrap_add(acc[j], v * b[j]);
    }
    return sum;
}

/* Scales and zero points of a result; steps of 0: one for all. */
typedef struct inlay_qout {
    int32_t kind; /* INLAY_QOUT_... */
    float sa;
    const float *sb;
    int32_t sb_step;
    float sy;
    int32_t zy;
} inlay_qout;

/* y[at + j] from acc[j], j < n; sb is that of column 0. */
static inline void inlay_qstore(const inlay_qout *q, void *y, ptrdiff_t at, const int32_t *acc,
                                int32_t n)
{
    const int32_t lo = q->kind == INLAY_QOUT_I8 ? -128 : 0;
    const int32_t hi = q->kind == INLAY_QOUT_I8 ? 127 : 255;
    int32_t j;
    if (q->kind == INLAY_QOUT_I32) {
        memcpy((int32_t *)y + at, acc, (size_t)n * sizeof *acc);
        return;
    }
    for (j = 0; j < n; j++) {
        const float scale = q->sa * q->sb[(ptrdiff_t)j * q->sb_step];
        if (q->kind == INLAY_QOUT_F32)
            ((float *)y)[at + j] = (float)acc[j] * scale;
        else
            ((uint8_t *)y)[at + j] =
                (uint8_t)inlay_saturate((float)acc[j] * (scale / q->sy), q->zy, lo, hi);
    }
}

#define INLAY_qmatmul_FIELDS(F, N) \
    F(int32_t, m)     /* rows of a matrix of a and y */ \
    F(int32_t, n)     /* columns of b and y */ \
    F(int32_t, k)     /* columns of a, rows of b */ \
    F(int32_t, signs) /* bit 0: a is signed, bit 1: b */ \
    F(int32_t, out)   /* INLAY_QOUT_... */ \
    F(int32_t, za)    /* how many zero points a has: one, or one a row */ \
    F(int32_t, zb)    /* b: one, or one a column */ \
    F(int32_t, sa)    /* how many scales a has */ \
    F(int32_t, sb)    /* b */ \
    F(int32_t, rank)  /* batch dimensions */ \
    N(int32_t, dims, 6) \
    N(int32_t, as, 6) /* strides of a along them, matrices; 0 repeats */ \
    N(int32_t, bs, 6) /* strides of b */
INLAY_PARAMS(qmatmul);

/* Operands: y, a, b, za, zb, sa, sb, sy, zy. The whole product is one unit. */
static inline int inlay_qmatmul(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_qmatmul_params *p = (const inlay_qmatmul_params *)s->params;
    const uint8_t *za = (const uint8_t *)inlay_at(base, s, 3);
    const uint8_t *zb = (const uint8_t *)inlay_at(base, s, 4);
    const float *sa = (const float *)inlay_at(base, s, 5);
    const float *sb = (const float *)inlay_at(base, s, 6);
    const float *sy = (const float *)inlay_at(base, s, 7);
    const uint8_t *zy = (const uint8_t *)inlay_at(base, s, 8);
    const int a_signed = p->signs & 1;
    const int b_signed = p->signs >> 1 & 1;
    inlay_qout q = { p->out,
                     1.0f,
                     NULL,
                     p->sb > 1,
                     sy ? *sy : 1.0f,
                     inlay_q8_zero(zy, 0, p->out == INLAY_QOUT_I8) };
    int32_t batch;
    int32_t batches = 1;
    int32_t d;
    int32_t m;
    int32_t n;
    int32_t j;
    (void)r0, (void)r1;
    for (d = 0; d < p->rank; d++)
        batches *= p->dims[d];
    for (batch = 0; batch < batches; batch++) {
        const uint8_t *a = (const uint8_t *)inlay_at(base, s, 1);
        const uint8_t *b = (const uint8_t *)inlay_at(base, s, 2);
        int32_t rest = batch;
        for (d = p->rank - 1; d >= 0; d--) {
            a += (ptrdiff_t)(rest % p->dims[d]) * p->as[d] * p->m * p->k;
            b += (ptrdiff_t)(rest % p->dims[d]) * p->bs[d] * p->k * p->n;
            rest /= p->dims[d];
        }
        for (m = 0; m < p->m; m++, a += p->k) {
            const ptrdiff_t row = (ptrdiff_t)batch * p->m + m;
            const int32_t z = inlay_q8_zero(za, row % p->za, a_signed);
            if (sa)
                q.sa = sa[row % p->sa];
            for (n = 0; n < p->n; n += INLAY_QBLOCK) {
                const int32_t e = p->n - n < INLAY_QBLOCK ? p->n - n : INLAY_QBLOCK;
                const ptrdiff_t column = (ptrdiff_t)batch * p->n + n;
                int32_t acc[INLAY_QBLOCK] = { 0 };
                const int32_t sum = inlay_qdot(acc, e, a, p->k, z, a_signed, b + n, p->n, b_signed);
                if (zb)
                    for (j = 0; j < e; j++)
                        acc[j] = inlay_wrap_add(
                            acc[j], -sum * inlay_q8(zb, (column + j) % p->zb, b_signed));
                q.sb = sb ? sb + (p->sb > 1 ? column % p->sb : 0) : sb;
                inlay_qstore(&q, inlay_at(base, s, 0), row * p->n + n, acc, e);
            }
        }
    }
    return 0;
}

#define INLAY_qconv_FIELDS(F, N) \
    F(int32_t, id) \
    F(int32_t, ih) \
    F(int32_t, iw) /* size of x: planes, rows, pixels */ \
    F(int32_t, od) \
    F(int32_t, oh) \
    F(int32_t, ow) /* size of y */ \
    F(int32_t, kd) \
    F(int32_t, kh) \
    F(int32_t, kw) /* taps */ \
    F(int32_t, sd) \
    F(int32_t, sh) \
    F(int32_t, sw) /* strides */ \
    F(int32_t, dd) \
    F(int32_t, dh) \
    F(int32_t, dw) /* dilations */ \
    F(int32_t, pd) \
    F(int32_t, ph) \
    F(int32_t, pw) /* padding before */ \
    F(int32_t, groups) \
    F(int32_t, ic)       /* channels of x in a group */ \
    F(int32_t, oc)       /* channels of y in a group */ \
    F(int32_t, signs)    /* bit 0: x is signed, bit 1: w */ \
    F(int32_t, out)      /* INLAY_QOUT_... */ \
    F(int32_t, zw)       /* how many zero points w has: one, or one a channel of y */ \
    F(int32_t, sw_count) /* how many scales */
INLAY_PARAMS(qconv);

/* Position of tap k; 0: outside. */
static inline int inlay_qconv_tap(int32_t z, int32_t stride, int32_t pad, int32_t k,
                                  int32_t dilation, int32_t size, int32_t *at)
{
    *at = z * stride - pad + k * dilation;
    return *at >= 0 && *at < size;
}

/* Sums of channels [o, o + n) of group g at (row r0, pixel c): those of a depthwise convolution are
 * channels [g, g + n). */
static inline int32_t inlay_qconv_sums(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t c, int32_t g, int32_t o, int32_t n, int32_t zx,
                                       int32_t *acc)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const int x_signed = p->signs & 1;
    const int w_signed = p->signs >> 1 & 1;
    const int depthwise = p->ic == 1 && p->oc == 1;
    const int32_t h = r0 % p->oh;
    const int32_t z = r0 / p->oh % p->od;
    const int32_t image = r0 / p->oh / p->od;
    const int32_t taps = p->kd * p->kh * p->kw;
    const uint8_t *w = (const uint8_t *)inlay_at(base, s, 2);
    const uint8_t *zw = (const uint8_t *)inlay_at(base, s, 4);
    int32_t kd;
    int32_t kh;
    int32_t kw;
    int32_t at[3];
    int32_t sum = 0;
    int32_t j;
    for (kd = 0; kd < p->kd; kd++) {
        if (!inlay_qconv_tap(z, p->sd, p->pd, kd, p->dd, p->id, at))
            continue;
        for (kh = 0; kh < p->kh; kh++) {
            const uint8_t *row;
            if (!inlay_qconv_tap(h, p->sh, p->ph, kh, p->dh, p->ih, at + 1))
                continue;
            row = (const uint8_t *)inlay_row(base, s, 1, (image * p->id + at[0]) * p->ih + at[1]);
            for (kw = 0; kw < p->kw; kw++) {
                const ptrdiff_t tap = (ptrdiff_t)(kd * p->kh + kh) * p->kw + kw;
                const uint8_t *x;
                if (!inlay_qconv_tap(c, p->sw, p->pw, kw, p->dw, p->iw, at + 2))
                    continue;
                x = row + (ptrdiff_t)at[2] * s->ref[1].pix + (ptrdiff_t)g * p->ic;
                if (!depthwise)
                    sum += inlay_qdot(acc, n, x, p->ic, zx, x_signed,
                                      w + ((ptrdiff_t)g * taps + tap) * p->ic * p->oc + o, p->oc,
                                      w_signed);
                else
                    for (j = 0; j < n; j++)
                        acc[j] = inlay_wrap_add(
                            acc[j], (inlay_q8(x, j, x_signed) - zx) *
                                        (inlay_q8(w, tap * p->groups + g + j, w_signed) -
                                         inlay_q8_zero(zw, p->zw > 1 ? g + j : 0, w_signed)));
            }
        }
    }
    return sum;
}

/* x [N][D][H][W][C], w [groups][taps][ic][oc] (depthwise: [taps][C]), channels last.
 * Operands: y, x, w, zx, zw, sx, sw, sy, zy, bias (int32). A unit is a row of y. */
static inline int inlay_qconv(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const uint8_t *zw = (const uint8_t *)inlay_at(base, s, 4);
    const uint8_t *zy = (const uint8_t *)inlay_at(base, s, 8);
    const float *sx = (const float *)inlay_at(base, s, 5);
    const float *sw = (const float *)inlay_at(base, s, 6);
    const float *sy = (const float *)inlay_at(base, s, 7);
    const int32_t *bias = (const int32_t *)inlay_at(base, s, 9);
    const int depthwise = p->ic == 1 && p->oc == 1;
    const int w_signed = p->signs >> 1 & 1;
    const int32_t groups = depthwise ? 1 : p->groups;
    const int32_t oc = depthwise ? p->groups : p->oc;
    const int32_t zx = inlay_q8_zero((const uint8_t *)inlay_at(base, s, 3), 0, p->signs & 1);
    inlay_qout q = {
        p->out,          sx ? *sx : 1.0f, NULL,
        p->sw_count > 1, sy ? *sy : 1.0f, inlay_q8_zero(zy, 0, p->out == INLAY_QOUT_I8)
    };
    int32_t c, g, o, j;
    for (; r0 < r1; r0++)
        for (c = 0; c < p->ow; c++)
            for (g = 0; g < groups; g++)
                for (o = 0; o < oc; o += INLAY_QBLOCK) {
                    const int32_t n = oc - o < INLAY_QBLOCK ? oc - o : INLAY_QBLOCK;
                    const int32_t first = g * oc + o;
                    int32_t acc[INLAY_QBLOCK], sum;
                    for (j = 0; j < n; j++)
                        acc[j] = bias ? bias[first + j] : 0;
                    sum = inlay_qconv_sums(base, s, r0, c, depthwise ? o : g, o, n, zx, acc);
                    if (zw && !depthwise)
                        for (j = 0; j < n; j++)
                            acc[j] = inlay_wrap_add(
                                acc[j], -sum * inlay_q8(zw, p->zw > 1 ? first + j : 0, w_signed));
                    q.sb = sw ? sw + (p->sw_count > 1 ? first : 0) : sw;
                    inlay_qstore(&q, inlay_row(base, s, 0, r0),
                                 (ptrdiff_t)c * s->ref[0].pix + first, acc, n);
                }
    return 0;
}

#endif
