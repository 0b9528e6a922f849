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

#include "kernels/qout.h"

#define INLAY_QBLOCK 64 /* columns summed at a time */

static inline int32_t inlay_q8(const uint8_t *p, ptrdiff_t i, int is_signed)
{
    const int32_t v = p[i];
    return is_signed ? (v ^ 128) - 128 : v;
}

/* A zero point that may be left out. */
static inline int32_t inlay_q8_zero(const uint8_t *p, ptrdiff_t i,
                                    int is_signed)
{
    return p ? inlay_q8(p, i, is_signed) : 0;
}

/* The sums of a block of columns: acc[j] += sum over i < k of ((a[i] ^ flip) - za) b[i * ldb + j].
 */
typedef struct inlay_qdots {
    int32_t *acc;
    const uint8_t *a;
    int32_t k;
    int32_t flip;
    int32_t za;
    const uint8_t *b;
    ptrdiff_t ldb;
} inlay_qdots;

/* Columns [0, n). */
INLAY_INLINE void inlay_qdot_rows(const inlay_qdots *of, int32_t n,
                                  int b_signed)
{
    const uint8_t *b = of->b;
    int32_t *acc = of->acc;
    int32_t i, j;
    for (i = 0; i < of->k; i++, b += of->ldb) {
        const int32_t v = (of->a[i] ^ of->flip) - of->za;
        if (v == 0)
            continue;
        for (j = 0; j < n; j++)
            acc[j] = inlay_wrap_add(acc[j], v * inlay_q8(b, j, b_signed));
    }
}

/* Whole fours of n columns, whose sums stay in registers; returns how many columns those are. */
#if INLAY_QMVE
#include "kernels/qdot_mve.inc.h"
#else
#if INLAY_QL == 1
enum { INLAY_QDOT_LANES = 4 }; /* columns at a time, at the most */
#elif INLAY_QL == 8
enum { INLAY_QDOT_LANES = 8 };
#else
enum { INLAY_QDOT_LANES = 16 };
#endif

INLAY_INLINE void inlay_qdot_lanes(const inlay_qdots *of, int32_t j,
                                   int32_t lanes, int b_signed)
{
    const uint8_t *a = of->a;
    const uint8_t *const end = a + of->k;
    const uint8_t *b = of->b + j;
    const ptrdiff_t ldb = of->ldb;
    const int32_t flip = of->flip;
    const int32_t za = of->za;
    int32_t acc[INLAY_QDOT_LANES];
    int32_t c;
    memcpy(acc, of->acc + j, (size_t)lanes * sizeof *acc);
    for (; a < end; a++, b += ldb) {
        const int32_t v = (*a ^ flip) - za;
        INLAY_UNROLL
        for (c = 0; c < lanes; c++)
            acc[c] = inlay_wrap_add(acc[c], v * inlay_q8(b, c, b_signed));
    }
    memcpy(of->acc + j, acc, (size_t)lanes * sizeof *acc);
}

INLAY_INLINE int32_t inlay_qdot_fours(const inlay_qdots *of, int32_t n,
                                      int b_signed)
{
    int32_t j = 0;
    if (INLAY_QDOT_LANES > 4)
        for (; j + INLAY_QDOT_LANES <= n; j += INLAY_QDOT_LANES)
            inlay_qdot_lanes(of, j, INLAY_QDOT_LANES, b_signed);
    for (; j + 4 <= n; j += 4)
        inlay_qdot_lanes(of, j, 4, b_signed);
    return j;
}
#endif

INLAY_INLINE void inlay_qdot_columns(inlay_qdots *of, int32_t n, int b_signed)
{
    const int32_t done = inlay_qdot_fours(of, n, b_signed);
    of->acc += done;
    of->b += done;
    if (done < n)
        inlay_qdot_rows(of, n - done, b_signed);
}

/* n columns; returns the sum of (a[i] - za). */
static inline int32_t inlay_qdot(int32_t *acc, int32_t n, const uint8_t *a,
                                 int32_t k, int32_t za, int a_signed,
                                 const uint8_t *b, ptrdiff_t ldb, int b_signed)
{
    inlay_qdots of;
    int32_t sum = 0;
    int32_t i;
    of.acc = acc;
    of.a = a;
    of.k = k;
    of.flip = a_signed ? 128 : 0;
    of.za = za + of.flip;
    of.b = b;
    of.ldb = ldb;
    for (i = 0; i < k; i++)
        sum = inlay_wrap_add(sum, a[i] ^ of.flip);
    if (b_signed)
        inlay_qdot_columns(&of, n, 1);
    else
        inlay_qdot_columns(&of, n, 0);
    return inlay_wrap_add(sum, inlay_wrap_mul(k, -of.za));
}

/* Scales and zero points of a result; steps of 0: one for all. */
typedef struct inlay_qout {
    int32_t kind; /* INLAY_QOUT_... */
    float sa;
    const float *sb;
    int32_t sb_step;
    float sy;
    int32_t zy;
    int32_t lo; /* the least and largest byte */
    int32_t hi;
} inlay_qout;

enum { INLAY_QSTORE_BLOCK = 16 }; /* results that get their scales at a time */

/* The factors of n columns that sums are taken times. */
static inline void inlay_qfactors(const inlay_qout *q, const float *sb,
                                  int32_t n, float *factor)
{
    int32_t j;
    for (j = 0; j < n; j++)
        factor[j] = q->sa * sb[j] / q->sy;
}

/* y[j] from acc[j], j < n; sb is that of column 0. */
static inline void inlay_qdot_bytes(const inlay_qout *q, uint8_t *y,
                                    const int32_t *acc, const float *sb,
                                    int32_t n)
{
    float factor[INLAY_QSTORE_BLOCK];
    inlay_qresult result;
    int32_t j;
    memset(&result, 0, sizeof result);
    result.zero = q->zy;
    result.lo = q->lo;
    result.hi = q->hi;
    inlay_qfactors(q, sb, 1, factor);
    for (j = 1; j < INLAY_QSTORE_BLOCK; j++)
        factor[j] = factor[0];
    for (; n > 0; n -= INLAY_QSTORE_BLOCK) {
        const int32_t m = n < INLAY_QSTORE_BLOCK ? n : INLAY_QSTORE_BLOCK;
        if (q->sb_step)
            inlay_qfactors(q, sb, m, factor);
#if INLAY_QSOFT
        for (j = 0; j < m; j++)
            y[j] = (uint8_t)inlay_qinteger_byte(&result, acc[j], factor[j]);
#else
        inlay_qfloat_bytes(&result, factor, acc, m, y);
#endif
        y += m;
        acc += m;
        sb += q->sb_step * m;
    }
}

/* y[at + j] from acc[j], j < n; sb is that of column 0. */
static inline void inlay_qstore(const inlay_qout *q, void *y, ptrdiff_t at,
                                const int32_t *acc, int32_t n)
{
    int32_t j;
    if (q->kind == INLAY_QOUT_I32) {
        memcpy((int32_t *)y + at, acc, (size_t)n * sizeof *acc);
        return;
    }
    if (q->kind != INLAY_QOUT_F32) {
        inlay_qdot_bytes(q, (uint8_t *)y + at, acc, q->sb, n);
        return;
    }
    for (j = 0; j < n; j++)
        ((float *)y)[at + j] =
            (float)acc[j] * (q->sa * q->sb[(ptrdiff_t)j * q->sb_step]);
}

typedef struct inlay_qmatmul_params {
    int32_t m;     /* rows of a matrix of a and y */
    int32_t n;     /* columns of b and y */
    int32_t k;     /* columns of a, rows of b */
    int32_t signs; /* bit 0: a is signed, bit 1: b */
    int32_t out;   /* INLAY_QOUT_... */
    int32_t lo;    /* the least and largest byte of y */
    int32_t hi;
    int32_t za;   /* how many zero points a has: one, or one a row */
    int32_t zb;   /* b: one, or one a column */
    int32_t sa;   /* how many scales a has */
    int32_t sb;   /* b */
    int32_t rank; /* batch dimensions */
    int32_t dims[6];
    int32_t as[6];  /* strides of a along them, matrices; 0 repeats */
    int32_t bs[6];  /* strides of b */
    int32_t lines;  /* rows of y in a unit */
    int32_t by_row; /* 1: those of a are a unit's too */
} inlay_qmatmul_params;

/* What a result is made of, beside its sums: bounds, scale of a, scale and zero point of y, each of
 * which may be left out. */
static inline inlay_qout inlay_qout_of(int32_t kind, int32_t lo, int32_t hi,
                                       const float *sa, const float *sy,
                                       const uint8_t *zy)
{
    inlay_qout q;
    q.kind = kind;
    q.lo = lo;
    q.hi = hi;
    q.sa = sa ? *sa : 1.0f;
    q.sb = NULL;
    q.sb_step = 0;
    q.sy = sy ? *sy : 1.0f;
    q.zy = inlay_q8_zero(zy, 0, kind == INLAY_QOUT_I8);
    return q;
}

/* Takes the zero points of columns `first` and on off: zero[(first + j) % count] sum. */
static inline void inlay_qzero(int32_t *acc, int32_t n, int32_t sum,
                               const uint8_t *zero, int32_t count,
                               ptrdiff_t first, int is_signed)
{
    int32_t off = inlay_wrap_mul(sum, -inlay_q8(zero, 0, is_signed));
    int32_t j;
    if (count <= 1 && !off)
        return;
    for (j = 0; j < n; j++) {
        if (count > 1)
            off = inlay_wrap_mul(
                sum, -inlay_q8(zero, (first + j) % count, is_signed));
        acc[j] = inlay_wrap_add(acc[j], off);
    }
}

/* The operands of a product, and a row of it that is made. */
typedef struct inlay_qproduct {
    const inlay_qmatmul_params *p;
    const uint8_t *za, *zb;
    const float *sa, *sb;
    inlay_qout out;
    void *y;              /* the rows of a unit */
    ptrdiff_t line;       /* of those */
    const uint8_t *a, *b; /* the row of a, the matrix of b */
    ptrdiff_t row;        /* of all matrices */
    ptrdiff_t column;     /* the first of the matrix, of all matrices */
} inlay_qproduct;

/* Columns [n, n + width) of the row. */
static inline void inlay_qmatmul_block(inlay_qproduct *m, int32_t n,
                                       int32_t width)
{
    const inlay_qmatmul_params *p = m->p;
    const int a_signed = p->signs & 1;
    const int b_signed = p->signs >> 1 & 1;
    const int32_t z = inlay_q8_zero(m->za, m->row % p->za, a_signed);
    const ptrdiff_t column = m->column + n;
    int32_t acc[INLAY_QBLOCK];
    int32_t sum;
    memset(acc, 0, (size_t)width * sizeof *acc);
    sum = inlay_qdot(acc, width, m->a, p->k, z, a_signed, m->b + n, p->n,
                     b_signed);
    if (m->zb)
        inlay_qzero(acc, width, sum, m->zb, p->zb, column, b_signed);
    m->out.sb = m->sb;
    if (m->sb && p->sb > 1)
        m->out.sb += column % p->sb;
    inlay_qstore(&m->out, m->y, m->line * p->n + n, acc, width);
}

/* Where the row's factors lie, from the first matrices on. */
static inline void inlay_qmatmul_find(inlay_qproduct *m, const uint8_t *a,
                                      const uint8_t *b)
{
    const inlay_qmatmul_params *p = m->p;
    int32_t rest = (int32_t)(m->row / p->m);
    int32_t d;
    m->column = (ptrdiff_t)rest * p->n;
    m->a = a + m->row % p->m * p->k;
    m->b = b;
    for (d = p->rank - 1; d >= 0; d--) {
        const ptrdiff_t at = rest % p->dims[d];
        m->a += at * p->as[d] * p->m * p->k;
        m->b += at * p->bs[d] * p->k * p->n;
        rest /= p->dims[d];
    }
}

static inline void inlay_qmatmul_line(inlay_qproduct *m)
{
    const inlay_qmatmul_params *p = m->p;
    int32_t n;
    if (m->sa)
        m->out.sa = m->sa[m->row % p->sa];
    for (n = 0; n < p->n; n += INLAY_QBLOCK) {
        const int32_t left = p->n - n;
        inlay_qmatmul_block(m, n, left < INLAY_QBLOCK ? left : INLAY_QBLOCK);
    }
}

/* All but the matrices. */
static inline inlay_qproduct inlay_qproduct_of(void *const *base,
                                               const inlay_step *s)
{
    const inlay_qmatmul_params *p = (const inlay_qmatmul_params *)s->params;
    const float *sy = (const float *)inlay_at(base, s, 7);
    const uint8_t *zy = (const uint8_t *)inlay_at(base, s, 8);
    inlay_qproduct m;
    memset(&m, 0, sizeof m);
    m.p = p;
    m.za = (const uint8_t *)inlay_at(base, s, 3);
    m.zb = (const uint8_t *)inlay_at(base, s, 4);
    m.sa = (const float *)inlay_at(base, s, 5);
    m.sb = (const float *)inlay_at(base, s, 6);
    m.out = inlay_qout_of(p->out, p->lo, p->hi, NULL, sy, zy);
    m.out.sb_step = p->sb > 1;
    return m;
}

/* Operands: y, a, b, za, zb, sa, sb, sy, zy. */
static inline int inlay_qmatmul(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    inlay_qproduct m = inlay_qproduct_of(base, s);
    const uint8_t *a = (const uint8_t *)inlay_at(base, s, 1);
    const uint8_t *b = (const uint8_t *)inlay_at(base, s, 2);
    for (; r0 < r1; r0++) {
        m.y = inlay_row(base, s, 0, r0);
        for (m.line = 0; m.line < m.p->lines; m.line++) {
            m.row = (ptrdiff_t)r0 * m.p->lines + m.line;
            inlay_qmatmul_find(&m, a, b);
            if (m.p->by_row)
                m.a = (const uint8_t *)inlay_row(base, s, 1, r0) +
                      m.line * m.p->k;
            inlay_qmatmul_line(&m);
        }
    }
    return 0;
}

typedef struct inlay_qconv_params {
#include "kernels/window_fields.inc.h"
    int32_t groups;
    int32_t ic;    /* channels of x in a group */
    int32_t oc;    /* channels of y in a group */
    int32_t signs; /* bit 0: x is signed, bit 1: w */
    int32_t out;   /* INLAY_QOUT_... */
    int32_t lo;    /* the least and largest byte of y */
    int32_t hi;
    int32_t zw; /* how many zero points w has: one, or one a channel of y */
    int32_t sw_count; /* how many scales */
} inlay_qconv_params;

/* Position of tap k; 0: outside. */
static inline int inlay_qconv_tap(int32_t z, int32_t stride, int32_t pad,
                                  int32_t k, int32_t dilation, int32_t size,
                                  int32_t *at)
{
    *at = z * stride - pad + k * dilation;
    return *at >= 0 && *at < size;
}

static inline int inlay_qconv_depthwise(const inlay_qconv_params *p)
{
    return p->ic == 1 && p->oc == 1;
}

/* Channels of one pixel that are made at once. */
typedef struct inlay_qconv_block {
    int32_t row, column; /* of y */
    int32_t group;       /* depthwise: the first channel */
    int32_t o, n;        /* channels [o, o + n) of the group */
    int32_t zx;          /* zero point of x */
    int32_t *acc;
} inlay_qconv_block;

/* Adds one tap of a depthwise convolution; x, w, zw: at the first channel. */
static inline void inlay_qconv_each(const inlay_qconv_params *p,
                                    const inlay_qconv_block *k,
                                    const uint8_t *x, const uint8_t *w,
                                    const uint8_t *zw)
{
    const int x_signed = p->signs & 1;
    const int w_signed = p->signs >> 1 & 1;
    const int many = p->zw > 1;
    const int32_t n = k->n;
    const int32_t zx = k->zx;
    int32_t *acc = k->acc;
    int32_t j;
    if (zw && many)
        zw += k->group;
    for (j = 0; j < n; j++) {
        const int32_t zero = inlay_q8_zero(zw, many ? j : 0, w_signed);
        const int32_t of_x = inlay_q8(x, j, x_signed) - zx;
        const int32_t of_w = inlay_q8(w, j, w_signed) - zero;
        acc[j] = inlay_wrap_add(acc[j], of_x * of_w);
    }
}

/* The weights of tap `tap`, at the first channel of the block. */
static inline const uint8_t *inlay_qconv_weights(void *const *base,
                                                 const inlay_step *s,
                                                 const inlay_qconv_block *k,
                                                 ptrdiff_t tap)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const uint8_t *w = (const uint8_t *)inlay_at(base, s, 2);
    const ptrdiff_t taps = (ptrdiff_t)p->kd * p->kh * p->kw;
    if (inlay_qconv_depthwise(p))
        return w + tap * p->groups + k->group;
    return w + (k->group * taps + tap) * p->ic * p->oc + k->o;
}

/* Adds one tap; x, w: at the first channel. Returns the sum of what was multiplied. */
static inline int32_t inlay_qconv_add(void *const *base, const inlay_step *s,
                                      const inlay_qconv_block *k,
                                      const uint8_t *x, const uint8_t *w)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    if (inlay_qconv_depthwise(p)) {
        inlay_qconv_each(p, k, x, w, (const uint8_t *)inlay_at(base, s, 4));
        return 0;
    }
    return inlay_qdot(k->acc, k->n, x, p->ic, k->zx, p->signs & 1, w, p->oc,
                      p->signs >> 1 & 1);
}

/* Adds the taps of one row of the window; row: of x, tap: the first. */
static inline int32_t inlay_qconv_row(void *const *base, const inlay_step *s,
                                      const inlay_qconv_block *k,
                                      const uint8_t *row, ptrdiff_t tap)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    int32_t sum = 0;
    int32_t i, at;
    row += (ptrdiff_t)k->group * p->ic;
    for (i = 0; i < p->kw; i++) {
        if (!inlay_qconv_tap(k->column, p->sw, p->pw, i, p->dw, p->iw, &at))
            continue;
        sum += inlay_qconv_add(base, s, k, row + (ptrdiff_t)at * s->ref[1].pix,
                               inlay_qconv_weights(base, s, k, tap + i));
    }
    return sum;
}

/* Adds the taps of a plane of the window; plane: of x, tap: the first. */
static inline int32_t inlay_qconv_plane(void *const *base, const inlay_step *s,
                                        const inlay_qconv_block *k,
                                        int32_t plane, ptrdiff_t tap)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const int32_t h = k->row % p->oh;
    int32_t sum = 0;
    int32_t i, row;
    for (i = 0; i < p->kh; i++, tap += p->kw) {
        const uint8_t *x;
        if (!inlay_qconv_tap(h, p->sh, p->ph, i, p->dh, p->ih, &row))
            continue;
        x = (const uint8_t *)inlay_row(base, s, 1, plane * p->ih + row);
        sum += inlay_qconv_row(base, s, k, x, tap);
    }
    return sum;
}

/* Adds all taps; returns the sum of what was multiplied with weights. */
static inline int32_t inlay_qconv_sums(void *const *base, const inlay_step *s,
                                       const inlay_qconv_block *k)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const int32_t z = k->row / p->oh % p->od;
    const int32_t image = k->row / p->oh / p->od;
    int32_t sum = 0;
    int32_t i, plane;
    for (i = 0; i < p->kd; i++) {
        const ptrdiff_t tap = (ptrdiff_t)i * p->kh * p->kw;
        if (!inlay_qconv_tap(z, p->sd, p->pd, i, p->dd, p->id, &plane))
            continue;
        sum += inlay_qconv_plane(base, s, k, image * p->id + plane, tap);
    }
    return sum;
}

/* Stores the sums of a block whose first channel is `first`; q has all but the scales of the
 * weights. */
static inline void inlay_qconv_end(void *const *base, const inlay_step *s,
                                   const inlay_qconv_block *k, int32_t first,
                                   inlay_qout *q)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const float *sw = (const float *)inlay_at(base, s, 6);
    const ptrdiff_t pixel = (ptrdiff_t)k->column * s->ref[0].pix;
    q->sb = sw;
    if (sw && p->sw_count > 1)
        q->sb += first;
    inlay_qstore(q, inlay_row(base, s, 0, k->row), pixel + first, k->acc, k->n);
}

/* Makes such a block. */
static inline void inlay_qconv_make(void *const *base, const inlay_step *s,
                                    inlay_qconv_block *k, int32_t first,
                                    inlay_qout *q)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const uint8_t *zw = (const uint8_t *)inlay_at(base, s, 4);
    const int32_t *bias = (const int32_t *)inlay_at(base, s, 9);
    int32_t acc[INLAY_QBLOCK];
    int32_t j, sum;
    for (j = 0; j < k->n; j++)
        acc[j] = bias ? bias[first + j] : 0;
    k->acc = acc;
    sum = inlay_qconv_sums(base, s, k);
    if (zw && !inlay_qconv_depthwise(p))
        inlay_qzero(acc, k->n, sum, zw, p->zw, first, p->signs >> 1 & 1);
    inlay_qconv_end(base, s, k, first, q);
}

/* All channels of a pixel. */
static inline void inlay_qconv_pixel(void *const *base, const inlay_step *s,
                                     inlay_qconv_block *k, inlay_qout *q)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const int depthwise = inlay_qconv_depthwise(p);
    const int32_t groups = depthwise ? 1 : p->groups;
    const int32_t oc = depthwise ? p->groups : p->oc;
    int32_t g, o;
    for (g = 0; g < groups; g++)
        for (o = 0; o < oc; o += INLAY_QBLOCK) {
            k->group = depthwise ? o : g;
            k->o = o;
            k->n = oc - o < INLAY_QBLOCK ? oc - o : INLAY_QBLOCK;
            inlay_qconv_make(base, s, k, g * oc + o, q);
        }
}

/* x [N][D][H][W][C], w [groups][taps][ic][oc] (depthwise: [taps][C]), channels last.
 * Operands: y, x, w, zx, zw, sx, sw, sy, zy, bias (int32). A unit is a row of y. */
static inline int inlay_qconv(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1)
{
    const inlay_qconv_params *p = (const inlay_qconv_params *)s->params;
    const uint8_t *zx = (const uint8_t *)inlay_at(base, s, 3);
    const float *sx = (const float *)inlay_at(base, s, 5);
    const float *sy = (const float *)inlay_at(base, s, 7);
    const uint8_t *zy = (const uint8_t *)inlay_at(base, s, 8);
    inlay_qout q = inlay_qout_of(p->out, p->lo, p->hi, sx, sy, zy);
    inlay_qconv_block k;
    q.sb_step = p->sw_count > 1;
    k.zx = inlay_q8_zero(zx, 0, p->signs & 1);
    for (k.row = r0; k.row < r1; k.row++)
        for (k.column = 0; k.column < p->ow; k.column++)
            inlay_qconv_pixel(base, s, &k, &q);
    return 0;
}

#endif
