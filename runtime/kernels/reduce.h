/* SPDX-License-Identifier: 0BSD
 * Reductions over any set of axes: the walk and the pattern of a kernel.
 *
 *   y[k...] = finish(join over r... of x[sum k stride_k + sum r stride_r])
 *
 * x's innermost dimension is either kept (a tile of columns is accumulated at once) or reduced (16
 * accumulators along the line). Sums are taken in chunks that are added up in turn, so that errors
 * grow with the number of chunks, not of elements. */
#ifndef INLAY_REDUCE_H
#define INLAY_REDUCE_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "inlay.h"

#define INLAY_reduce_FIELDS(F, N) \
    F(int32_t, kept)    /* kept loops, outermost first, >= 1 */ \
    F(int32_t, reduced) /* reduced loops, outermost first, >= 1 */ \
    F(int32_t, \
      columns) /* 1: the innermost kept loop is contiguous in x; 0: the innermost reduced one */ \
    F(int32_t, count) /* elements of x for each of y */ \
    F(int32_t, \
      values) /* 1: the axes are operand 2 (int64); nk holds x's dims, nr y's dims other than 1 */ \
    F(int32_t, axes)  /* entries of operand 2 */ \
    F(int32_t, none)  /* 1: no axes means none, not all */ \
    N(int32_t, nk, 8) /* sizes of the kept loops */ \
    N(int32_t, sk, 8) /* their strides in x, elements */ \
    N(int32_t, nr, 8) /* sizes of the reduced loops */ \
    N(int32_t, sr, 8) /* their strides in x, elements */
INLAY_PARAMS(reduce);

#define INLAY_LANES 16
#define INLAY_CHUNK 64 /* steps of an accumulator before it is added to the total */

/* What a reduction does, on arrays of accumulators of its own type. */
typedef struct inlay_reducer {
    size_t x, acc, y; /* bytes of an element */
    void (*start)(void *acc, int32_t n);
    void (*step)(void *acc, const void *x, int32_t n, int32_t rows,
                 ptrdiff_t stride);                    /* acc[j] takes x[j], x[stride + j] ... */
    void (*line)(void *acc, const void *x, int32_t n); /* acc[j % INLAY_LANES] takes x[j] */
    void (*join)(void *acc, const void *other, int32_t n);
    void (*finish)(void *y, const void *acc, int32_t n, int32_t count);
} inlay_reducer;

typedef union inlay_accumulators {
    double f64[INLAY_LANES];
    int64_t i64[INLAY_LANES];
    unsigned char bytes[INLAY_LANES * 8];
} inlay_accumulators;

/* Next index of `loops` loops; moves *x. 0 at the end. */
static inline int inlay_walk(int32_t *at, const int32_t *n, const int32_t *stride, int32_t loops,
                             const unsigned char **x, size_t size)
{
    int32_t d;
    for (d = loops - 1; d >= 0; d--) {
        *x += (ptrdiff_t)stride[d] * (ptrdiff_t)size;
        if (++at[d] < n[d])
            return 1;
        *x -= (ptrdiff_t)stride[d] * n[d] * (ptrdiff_t)size;
        at[d] = 0;
    }
    return 0;
}

/* n <= INLAY_LANES columns beginning at x. */
static inline void inlay_reduce_columns(const inlay_reduce_params *p, const inlay_reducer *f,
                                        unsigned char *y, const unsigned char *x, int32_t n)
{
    inlay_accumulators acc, total;
    int32_t at[8] = { 0 };
    int32_t i;
    const int32_t last = p->reduced - 1;
    const int32_t rows = p->nr[last];
    const ptrdiff_t stride = p->sr[last];
    f->start(&total, n);
    if (p->count)
        do {
            for (i = 0; i < rows; i += INLAY_CHUNK) {
                f->start(&acc, n);
                f->step(&acc, x + i * stride * (ptrdiff_t)f->x, n,
                        rows - i < INLAY_CHUNK ? rows - i : INLAY_CHUNK, stride);
                f->join(&total, &acc, n);
            }
        } while (inlay_walk(at, p->nr, p->sr, last, &x, f->x));
    f->finish(y, &total, n, p->count);
}

/* One element: lines of nr[last] elements. */
static inline void inlay_reduce_lines(const inlay_reduce_params *p, const inlay_reducer *f,
                                      unsigned char *y, const unsigned char *x)
{
    inlay_accumulators acc, total;
    int32_t at[8] = { 0 };
    int32_t w;
    int32_t i;
    const int32_t last = p->reduced - 1;
    const int32_t run = p->nr[last];
    f->start(&total, 1);
    if (p->count)
        do {
            for (i = 0; i < run; i += INLAY_LANES * INLAY_CHUNK) {
                const int32_t n =
                    run - i < INLAY_LANES * INLAY_CHUNK ? run - i : INLAY_LANES * INLAY_CHUNK;
                f->start(&acc, INLAY_LANES);
                f->line(&acc, x + (size_t)i * f->x, n);
                for (w = INLAY_LANES / 2; w; w /= 2)
                    f->join(&acc, acc.bytes + (size_t)w * f->acc, w);
                f->join(&total, &acc, 1);
            }
        } while (inlay_walk(at, p->nr, p->sr, last, &x, f->x));
    f->finish(y, &total, 1, p->count);
}

static inline int inlay_reduce_walk(void *const *base, const inlay_step *s,
                                    const inlay_reduce_params *p, const inlay_reducer *f)
{
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int32_t last = p->kept - 1;
    int32_t at[8] = { 0 };
    int32_t j;
    do {
        for (j = 0; j < p->nk[last];) {
            const int32_t rest = p->nk[last] - j;
            const int32_t n = !p->columns ? 1 : rest < INLAY_LANES ? rest : INLAY_LANES;
            const unsigned char *from = x + (ptrdiff_t)j * p->sk[last] * (ptrdiff_t)f->x;
            if (p->columns)
                inlay_reduce_columns(p, f, y, from, n);
            else
                inlay_reduce_lines(p, f, y, from);
            y += (size_t)n * f->y;
            j += n;
        }
    } while (inlay_walk(at, p->nk, p->sk, last, &x, f->x));
    return 0;
}

static inline void inlay_add_loop(int32_t *loops, int32_t *n, int32_t *stride, int32_t size,
                                  int32_t step)
{
    n[*loops] = size;
    stride[(*loops)++] = step;
}

/* Loops for axes that are values: q gets what the compiler else writes. 0 where y's dims would be
 * others. */
static inline int inlay_reduce_values(const inlay_reduce_params *p, const int64_t *axes,
                                      inlay_reduce_params *q)
{
    int32_t i;
    int32_t step = 1;
    int32_t kept = 0;
    int32_t sizes[8];
    int32_t strides[8];
    unsigned gone = p->axes || p->none ? 0 : ~0u;
    for (i = 0; i < p->axes; i++) {
        const int64_t a = axes[i] < 0 ? axes[i] + p->kept : axes[i];
        if (a < 0 || a >= p->kept)
            return 0;
        gone |= 1u << a;
    }
    for (i = p->kept - 1; i >= 0; i--) {
        sizes[i] = p->nk[i];
        strides[i] = step;
        step *= p->nk[i];
    }
    memset(q, 0, sizeof *q);
    q->count = 1;
    for (i = 0; i < p->kept; i++) {
        if (gone >> i & 1) {
            q->count *= sizes[i];
            inlay_add_loop(&q->reduced, q->nr, q->sr, sizes[i], strides[i]);
        } else {
            if (sizes[i] != 1 && (kept >= p->reduced || p->nr[kept++] != sizes[i]))
                return 0;
            inlay_add_loop(&q->kept, q->nk, q->sk, sizes[i], strides[i]);
        }
        q->columns = !(gone >> i & 1);
    }
    if (!q->kept)
        inlay_add_loop(&q->kept, q->nk, q->sk, 1, 0);
    if (!q->reduced)
        inlay_add_loop(&q->reduced, q->nr, q->sr, 1, 0);
    return kept == p->reduced;
}

static inline int inlay_reduce(void *const *base, const inlay_step *s, const inlay_reducer *f)
{
    const inlay_reduce_params *p = (const inlay_reduce_params *)s->params;
    inlay_reduce_params q;
    if (p->values) {
        if (!inlay_reduce_values(p, (const int64_t *)inlay_at(base, s, 2), &q))
            return -INLAY_E_SHAPE;
        p = &q;
    }
    return inlay_reduce_walk(base, s, p, f);
}

/* y [outer][inner] = the index along n of the largest (or smallest) of x [outer][n][inner]. */
#define INLAY_arg_FIELDS(F, N) \
    F(int32_t, outer) \
    F(int32_t, n) \
    F(int32_t, inner) \
    F(int32_t, last) /* 1: of equals the last, 0: the first */
INLAY_PARAMS(arg);

/* log(e^a + e^b): where the axes are values the maximum of all cannot be taken off beforehand. */
static inline double inlay_log_add(double a, double b)
{
    const double high = a > b ? a : b;
    const double low = a > b ? b : a;
    if (a != a || b != b)
        return a + b;
    return low < -1.7976931348623157e308 || high > 1.7976931348623157e308
               ? high
               : high + log1p(exp(low - high));
}

/* Kernel inlay_<name>: T to T through accumulators of type A. The expressions: the start of an
 * accumulator; what it is after x; two joined (a, b); the result of a, `count` elements. */
#define INLAY_REDUCE(name, T, A, START, STEP, JOIN, FINISH) \
    INLAY_REDUCE_(name, T, A, START, STEP, JOIN, FINISH)
#define INLAY_REDUCE_(name, T, A, START, STEP, JOIN, FINISH) \
    static inline void inlay_##name##_start(void *av, int32_t n) \
    { \
        A \
        *acc = (A *)av; \
        int32_t j; \
        for (j = 0; j < n; j++) \
            acc[j] = (START); \
    } \
    static inline void inlay_##name##_step(void *av, const void *xv, int32_t n, int32_t rows, \
                                           ptrdiff_t stride) \
    { \
        A \
        *acc = (A *)av; \
        const T *q = (const T *)xv; \
        int32_t i, j; \
        if (n == INLAY_LANES) { \
            A \
            l[INLAY_LANES]; \
            for (j = 0; j < INLAY_LANES; j++) \
                l[j] = acc[j]; \
            for (i = 0; i < rows; i++, q += stride) \
                for (j = 0; j < INLAY_LANES; j++) { \
                    const A \
                    a = l[j]; \
                    const A \
                    x = (A)q[j]; \
                    l[j] = (STEP); \
                } \
            for (j = 0; j < INLAY_LANES; j++) \
                acc[j] = l[j]; \
        } else \
            for (i = 0; i < rows; i++, q += stride) \
                for (j = 0; j < n; j++) { \
                    const A \
                    a = acc[j]; \
                    const A \
                    x = (A)q[j]; \
                    acc[j] = (STEP); \
                } \
    } \
    static inline void inlay_##name##_line(void *av, const void *xv, int32_t n) \
    { \
        A \
        *acc = (A *)av; \
        const T *q = (const T *)xv; \
        A \
        l[INLAY_LANES]; \
        int32_t i = 0, j; \
        for (j = 0; j < INLAY_LANES; j++) \
            l[j] = acc[j]; \
        for (; i + INLAY_LANES <= n; i += INLAY_LANES) \
            for (j = 0; j < INLAY_LANES; j++) { \
                const A \
                a = l[j]; \
                const A \
                x = (A)q[i + j]; \
                l[j] = (STEP); \
            } \
        for (j = 0; i < n; i++, j++) { \
            const A \
            a = l[j]; \
            const A \
            x = (A)q[i]; \
            l[j] = (STEP); \
        } \
        for (j = 0; j < INLAY_LANES; j++) \
            acc[j] = l[j]; \
    } \
    static inline void inlay_##name##_join(void *av, const void *bv, int32_t n) \
    { \
        A \
        *acc = (A *)av; \
        const A \
        *o = (const A *)bv; \
        int32_t j; \
        for (j = 0; j < n; j++) { \
            const A \
            a = acc[j]; \
            const A \
            b = o[j]; \
            acc[j] = (JOIN); \
        } \
    } \
    static inline void inlay_##name##_finish(void *yv, const void *av, int32_t n, int32_t count) \
    { \
        T *y = (T *)yv; \
        const A \
        *acc = (const A *)av; \
        int32_t j; \
        (void)count; \
        for (j = 0; j < n; j++) { \
            const A \
            a = acc[j]; \
            y[j] = (T)(FINISH); \
        } \
    } \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        static const inlay_reducer f = { \
            sizeof(T), \
            sizeof(A), \
            sizeof(T), \
            inlay_##name##_start, \
            inlay_##name##_step, \
            inlay_##name##_line, \
            inlay_##name##_join, \
            inlay_##name##_finish \
        }; \
        (void)r0, (void)r1; \
        return inlay_reduce(base, s, &f); \
    }

/* Kernel inlay_<name>: `better` says whether v takes the place of b. */
#define INLAY_ARG(name, T, better) INLAY_ARG_(name, T, better)
#define INLAY_ARG_(name, T, better) \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_arg_params *p = (const inlay_arg_params *)s->params; \
        int64_t *y = (int64_t *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 1); \
        int32_t o, i, k; \
        (void)r0, (void)r1; \
        for (o = 0; o < p->outer; o++, x += (ptrdiff_t)p->n * p->inner) \
            for (k = 0; k < p->inner; k++) { \
                T b = x[k]; \
                int32_t at = 0; \
                for (i = 1; i < p->n; i++) { \
                    const T v = x[(ptrdiff_t)i * p->inner + k]; \
                    if ((better) || (p->last && v == b)) { \
                        b = v; \
                        at = i; \
                    } \
                } \
                *y++ = at; \
            } \
        return 0; \
    }

#endif
