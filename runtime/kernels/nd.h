/* SPDX-License-Identifier: 0BSD
 * Loops over elements: the one engine under every elementwise kernel.
 *
 * INLAY_MAP runs a short expression over n elements in blocks that compilers turn
 * into vectors even where the result overwrites an operand (a block is read
 * whole before it is written). The nests walk up to 8 dimensions with a stride
 * per operand; the inner loop is a function of its own. */
#ifndef INLAY_ND_H
#define INLAY_ND_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inlay.h"

/* Blocks only where there are vectors: elsewhere the copy through t_ costs time. */
#if defined __SSE2__ || defined __ARM_NEON || defined __ARM_FEATURE_MVE || \
    defined __riscv_vector || defined __VSX__ || defined __wasm_simd128__
#define INLAY_MAP(T, y, n, ...) \
    do { \
        int32_t i_ = 0; \
        for (; i_ + 16 <= (n); i_ += 16) { \
            T t_[16]; \
            int32_t j_; \
            for (j_ = 0; j_ < 16; j_++) { \
                const int32_t i = i_ + j_; \
                T z; \
                __VA_ARGS__ t_[j_] = z; \
            } \
            memcpy((y) + i_, t_, sizeof t_); \
        } \
        for (; i_ < (n); i_++) { \
            const int32_t i = i_; \
            T z; \
            __VA_ARGS__(y)[i] = z; \
        } \
    } while (0)
#else
#define INLAY_MAP(T, y, n, ...) \
    do { \
        int32_t i_; \
        for (i_ = 0; i_ < (n); i_++) { \
            const int32_t i = i_; \
            T z; \
            __VA_ARGS__(y)[i] = z; \
        } \
    } while (0)
#endif

/* One operand, one result, the same shape: `n` elements in a unit. */
#define INLAY_flat_FIELDS(F, N) \
    F(int32_t, n)     /* elements of a unit (a row) */ \
    F(int32_t, pixel) /* elements of a pixel; == n where the tensor has none */ \
    F(double, a)      /* numbers of the operator: alpha ... */ \
    F(double, b)
INLAY_PARAMS(flat);

/* Two operands broadcast into a dense result. Operand 0 is the result. */
#define INLAY_nd2_FIELDS(F, N) \
    F(int32_t, rank)  /* loops of a unit, 1 .. 8, outermost first */ \
    F(int32_t, rows)  /* bit i: operand i has a row for each unit; else it is the same for all */ \
    F(int32_t, pixel) /* the loop from pixel to pixel, -1: none */ \
    N(int32_t, n, 8)  /* sizes of the loops */ \
    N(int32_t, a, 8)  /* strides of operand 1, elements */ \
    N(int32_t, b, 8)  /* strides of operand 2 */
INLAY_PARAMS(nd2);

/* Three operands (Where). */
#define INLAY_nd3_FIELDS(F, N) \
    F(int32_t, rank)  /* loops of a unit, 1 .. 8, outermost first */ \
    F(int32_t, rows)  /* bit i: operand i has a row for each unit */ \
    F(int32_t, pixel) /* the loop from pixel to pixel, -1: none */ \
    N(int32_t, n, 8)  /* sizes of the loops */ \
    N(int32_t, a, 8)  /* strides of operand 1, elements */ \
    N(int32_t, b, 8)  /* strides of operand 2 */ \
    N(int32_t, c, 8)  /* strides of operand 3 */
INLAY_PARAMS(nd3);

/* Rows of operand i from r on that lie one after the other, `bytes` each, at most r1 - r. */
static inline int32_t inlay_rows_together(const inlay_step *s, int i, int32_t r, int32_t r1,
                                          size_t bytes)
{
    const inlay_ref *f = s->ref + i;
    const int32_t left = f->cap - r % f->cap;
    if (s->units > 1 && f->row != bytes)
        return 1;
    return left < r1 - r ? left : r1 - r;
}

/* Inner loop of a unary kernel: y[i] = f(x[i]), i < n. */
typedef void inlay_inner1(void *y, const void *x, int32_t n, const inlay_flat_params *p);

/* Rows [r0, r1) of a unary kernel; ys, xs: bytes of an element. */
static inline int inlay_flat(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                             size_t ys, size_t xs, inlay_inner1 *inner)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    const size_t yp = (size_t)s->ref[0].pix * ys;
    const size_t xp = (size_t)s->ref[1].pix * xs;
    const int dense = p->pixel == p->n || (s->ref[0].pix == p->pixel && s->ref[1].pix == p->pixel);
    while (r0 < r1) {
        unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r0);
        const unsigned char *x = (const unsigned char *)inlay_row(base, s, 1, r0);
        int32_t k = 1;
        int32_t w;
        if (dense) {
            const int32_t ky = inlay_rows_together(s, 0, r0, r1, (size_t)p->n * ys);
            const int32_t kx = inlay_rows_together(s, 1, r0, r1, (size_t)p->n * xs);
            k = kx < ky ? kx : ky;
            inner(y, x, p->n * k, p);
        } else {
            for (w = 0; w < p->n; w += p->pixel, y += yp, x += xp)
                inner(y, x, p->pixel, p);
        }
        r0 += k;
    }
    return 0;
}

/* A nest ready to run: byte strides of up to 4 operands, the innermost ones in elements. */
typedef struct inlay_nest {
    int32_t rank, n[8];
    ptrdiff_t step[4][8]; /* bytes */
    int32_t in[4];        /* elements, innermost loop */
} inlay_nest;

/* Sets operand k of a nest: stride NULL: dense. `pix` replaces the stride of the loop over pixels,
 * 0: it does not. */
static inline void inlay_nest_operand(inlay_nest *t, int k, const int32_t *stride, size_t size,
                                      int32_t pixel, int32_t pix)
{
    ptrdiff_t dense = 1;
    int32_t i;
    for (i = t->rank - 1; i >= 0; i--) {
        ptrdiff_t e = stride ? (ptrdiff_t)stride[i] : dense;
        if (i == pixel && pix && e)
            e = pix;
        if (!stride && i == pixel && pix)
            dense = pix;
        t->step[k][i] = e * (ptrdiff_t)size;
        dense *= t->n[i];
    }
}

/* Joins the innermost loops where all operands allow it and fixes the innermost strides. */
static inline void inlay_nest_finish(inlay_nest *t, int operands, const size_t *size)
{
    int k;
    while (t->rank > 1) {
        const int32_t l = t->rank - 1;
        for (k = 0; k < operands; k++)
            if (t->step[k][l - 1] != t->step[k][l] * t->n[l])
                break;
        if (k < operands)
            break;
        for (k = 0; k < operands; k++)
            t->step[k][l - 1] = t->step[k][l];
        t->n[l - 1] *= t->n[l];
        t->rank--;
    }
    for (k = 0; k < operands; k++)
        t->in[k] = (int32_t)(t->step[k][t->rank - 1] / (ptrdiff_t)size[k]);
}

/* Advances the operands to the next innermost loop; 0 at the end. */
static inline int inlay_nest_next(const inlay_nest *t, int32_t *at, unsigned char **p, int operands)
{
    int32_t d = t->rank - 2;
    int k;
    for (; d >= 0; d--) {
        for (k = 0; k < operands; k++)
            p[k] += t->step[k][d];
        if (++at[d] < t->n[d])
            return 1;
        for (k = 0; k < operands; k++)
            p[k] -= t->step[k][d] * t->n[d];
        at[d] = 0;
    }
    return 0;
}

static inline unsigned char *inlay_operand(void *const *base, const inlay_step *s, int i,
                                           int32_t rows, int32_t r)
{
    return (unsigned char *)(rows >> i & 1 ? inlay_row(base, s, i, r) : inlay_at(base, s, i));
}

/* Inner loop of a binary kernel; strides in elements, the result's is 1. */
typedef void inlay_inner2(void *y, const void *a, const void *b, int32_t n, int32_t sa, int32_t sb);

static inline int inlay_nd2(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                            size_t ys, size_t as, size_t bs, inlay_inner2 *inner)
{
    const inlay_nd2_params *p = (const inlay_nd2_params *)s->params;
    size_t size[3];
    inlay_nest t;
    int k;
    size[0] = ys, size[1] = as, size[2] = bs;
    t.rank = p->rank;
    memcpy(t.n, p->n, sizeof t.n);
    for (k = 0; k < 3; k++)
        inlay_nest_operand(&t, k,
                           k == 0   ? NULL
                           : k == 1 ? p->a
                                    : p->b,
                           size[k], p->pixel, p->rows >> k & 1 ? s->ref[k].pix : 0);
    inlay_nest_finish(&t, 3, size);
    for (; r0 < r1; r0++) {
        unsigned char *o[3];
        int32_t at[8] = { 0 };
        for (k = 0; k < 3; k++)
            o[k] = inlay_operand(base, s, k, p->rows, r0);
        do
            inner(o[0], o[1], o[2], t.n[t.rank - 1], t.in[1], t.in[2]);
        while (inlay_nest_next(&t, at, o, 3));
    }
    return 0;
}

typedef void inlay_inner3(void *y, const void *a, const void *b, const void *c, int32_t n,
                          int32_t sa, int32_t sb, int32_t sc);

static inline int inlay_nd3(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                            const size_t *size, inlay_inner3 *inner)
{
    const inlay_nd3_params *p = (const inlay_nd3_params *)s->params;
    inlay_nest t;
    int k;
    t.rank = p->rank;
    memcpy(t.n, p->n, sizeof t.n);
    for (k = 0; k < 4; k++)
        inlay_nest_operand(&t, k,
                           k == 0   ? NULL
                           : k == 1 ? p->a
                           : k == 2 ? p->b
                                    : p->c,
                           size[k], p->pixel, p->rows >> k & 1 ? s->ref[k].pix : 0);
    inlay_nest_finish(&t, 4, size);
    for (; r0 < r1; r0++) {
        unsigned char *o[4];
        int32_t at[8] = { 0 };
        for (k = 0; k < 4; k++)
            o[k] = inlay_operand(base, s, k, p->rows, r0);
        do
            inner(o[0], o[1], o[2], o[3], t.n[t.rank - 1], t.in[1], t.in[2], t.in[3]);
        while (inlay_nest_next(&t, at, o, 4));
    }
    return 0;
}

/* Kernel inlay_<name>: z (of type R) from x (of type T); the statements assign z. */
#define INLAY_UNARY(name, R, T, ...) INLAY_UNARY_(name, R, T, __VA_ARGS__)
#define INLAY_UNARY_(name, R, T, ...) \
    static inline void inlay_##name##_n(void *yv, const void *xv, int32_t n, \
                                        const inlay_flat_params *p) \
    { \
        R *y = (R *)yv; \
        const T *q = (const T *)xv; \
        (void)p; \
        INLAY_MAP(R, y, n, const T x = q[i]; __VA_ARGS__); \
    } \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        return inlay_flat(base, s, r0, r1, sizeof(R), sizeof(T), inlay_##name##_n); \
    }

/* Kernel inlay_<name>: z (of type R) from a, b (of types A, B). */
#define INLAY_BINARY(name, R, A, B, ...) INLAY_BINARY_(name, R, A, B, __VA_ARGS__)
#define INLAY_BINARY_(name, R, A, B, ...) \
    static inline void inlay_##name##_n(void *yv, const void *av, const void *bv, int32_t n, \
                                        int32_t sa, int32_t sb) \
    { \
        R *y = (R *)yv; \
        const A \
        *pa = (const A *)av; \
        const B *pb = (const B *)bv; \
        if (sa == 1 && sb == 1) { \
            INLAY_MAP(R, y, n, const A a = pa[i]; const B b = pb[i]; __VA_ARGS__); \
        } else if (sa == 1 && sb == 0) { \
            const B b = pb[0]; \
            INLAY_MAP(R, y, n, const A a = pa[i]; __VA_ARGS__); \
        } else if (sa == 0 && sb == 1) { \
            const A \
            a = pa[0]; \
            INLAY_MAP(R, y, n, const B b = pb[i]; __VA_ARGS__); \
        } else { \
            int32_t i; \
            for (i = 0; i < n; i++) { \
                const A \
                a = pa[(ptrdiff_t)i * sa]; \
                const B b = pb[(ptrdiff_t)i * sb]; \
                R z; \
                __VA_ARGS__ y[i] = z; \
            } \
        } \
    } \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        return inlay_nd2(base, s, r0, r1, sizeof(R), sizeof(A), sizeof(B), inlay_##name##_n); \
    }

#endif
