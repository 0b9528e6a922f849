/* SPDX-License-Identifier: 0BSD
 * Contraction of two operands over any labels, and the determinant.
 *
 *   einsum   y[k...] = sum over r... of a[sum k ak + sum r ar] b[sum k bk + sum r br]
 *   det      y[b] = determinant of x[b][n][n]; scratch n n elements */
#ifndef INLAY_EINSUM_H
#define INLAY_EINSUM_H

#include <math.h>
#include <string.h>

#include "inlay.h"

#define INLAY_einsum_FIELDS(F, N) \
    F(int32_t, kept)   /* loops of the result, outermost first, >= 1 */ \
    F(int32_t, summed) /* loops that are summed over, >= 1 */ \
    N(int32_t, nk, 8)  /* sizes */ \
    N(int32_t, ak, 8)  /* strides, elements */ \
    N(int32_t, bk, 8) \
    N(int32_t, nr, 8) \
    N(int32_t, ar, 8) \
    N(int32_t, br, 8)
INLAY_PARAMS(einsum);

/* Next index of the first `loops` loops; moves the two offsets. 0 at the end. */
static inline int inlay_walk2(int32_t *at, const int32_t *n, const int32_t *sa, const int32_t *sb,
                              int32_t loops, ptrdiff_t *a, ptrdiff_t *b)
{
    int32_t d;
    for (d = loops - 1; d >= 0; d--) {
        *a += sa[d], *b += sb[d];
        if (++at[d] < n[d])
            return 1;
        *a -= (ptrdiff_t)sa[d] * n[d], *b -= (ptrdiff_t)sb[d] * n[d];
        at[d] = 0;
    }
    return 0;
}

/* The innermost loop of the result runs inside the sums where b is contiguous along it: then it is
 * a vector. */
#define INLAY_EINSUM(suffix, T, A) \
    static inline void inlay_einsum_line_##suffix(const inlay_einsum_params *p, T *y, const T *a, \
                                                  const T *b) \
    { \
        const int32_t last = p->kept - 1, m = p->nk[last]; \
        int32_t at[8] = { 0 }, j; \
        ptrdiff_t ia = 0, ib = 0; \
        for (j = 0; j < m; j++) \
            y[j] = 0; \
        do { \
            const A \
            v = (A)a[ia]; \
            const T *q = b + ib; \
            for (j = 0; j < m; j++) \
                y[j] = (T)((A)y[j] + v * (A)q[j]); \
        } while (inlay_walk2(at, p->nr, p->ar, p->br, p->summed, &ia, &ib)); \
    } \
    static inline T inlay_einsum_sum_##suffix(const inlay_einsum_params *p, const T *a, \
                                              const T *b) \
    { \
        const int32_t last = p->summed - 1; \
        const ptrdiff_t sa = p->ar[last], sb = p->br[last]; \
        int32_t at[8] = { 0 }, i; \
        ptrdiff_t ia = 0, ib = 0; \
        A \
        sum = 0; \
        do { \
            A \
            part = 0, l[8] = { 0 }; \
            i = 0; \
            if (sa == 1 && sb == 1) { \
                const T *q = a + ia, *r = b + ib; \
                int32_t j; \
                for (; i + 8 <= p->nr[last]; i += 8) \
                    for (j = 0; j < 8; j++) \
                        l[j] += (A)q[i + j] * (A)r[i + j]; \
                part = ((l[0] + l[4]) + (l[1] + l[5])) + ((l[2] + l[6]) + (l[3] + l[7])); \
            } \
            for (; i < p->nr[last]; i++) \
                part += (A)a[ia + i * sa] * (A)b[ib + i * sb]; \
            sum += part; \
        } while (inlay_walk2(at, p->nr, p->ar, p->br, last, &ia, &ib)); \
        return (T)sum; \
    } \
    static inline int inlay_einsum_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                            int32_t r1) \
    { \
        const inlay_einsum_params *p = (const inlay_einsum_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T *a = (const T *)inlay_at(base, s, 1), *b = (const T *)inlay_at(base, s, 2); \
        const int32_t last = p->kept - 1; \
        int32_t at[8] = { 0 }, j; \
        ptrdiff_t ia = 0, ib = 0; \
        (void)r0, (void)r1; \
        do { \
            if (p->ak[last] == 0 && p->bk[last] == 1) \
                inlay_einsum_line_##suffix(p, y, a + ia, b + ib); \
            else \
                for (j = 0; j < p->nk[last]; j++) \
                    y[j] = inlay_einsum_sum_##suffix(p, a + ia + (ptrdiff_t)j * p->ak[last], \
                                                     b + ib + (ptrdiff_t)j * p->bk[last]); \
            y += p->nk[last]; \
        } while (inlay_walk2(at, p->nk, p->ak, p->bk, last, &ia, &ib)); \
        return 0; \
    }

INLAY_EINSUM(f32, float, float)
INLAY_EINSUM(f64, double, double)
INLAY_EINSUM(i32, int32_t, uint32_t)
INLAY_EINSUM(i64, int64_t, uint64_t)

#define INLAY_det_FIELDS(F, N) \
    F(int32_t, batch) \
    F(int32_t, n)
INLAY_PARAMS(det);

/* Elimination with the largest pivot of the column. */
#define INLAY_DET(suffix, T, FABS) \
    static inline T inlay_det_one_##suffix(T *m, int32_t n) \
    { \
        T det = 1; \
        int32_t i, j, k; \
        for (k = 0; k < n; k++) { \
            int32_t pivot = k; \
            for (i = k + 1; i < n; i++) \
                if (FABS(m[i * n + k]) > FABS(m[pivot * n + k])) \
                    pivot = i; \
            if (!(FABS(m[pivot * n + k]) > 0)) \
                return 0; \
            if (pivot != k) \
                det = -det; \
            for (j = k; j < n && pivot != k; j++) { \
                const T t = m[k * n + j]; \
                m[k * n + j] = m[pivot * n + j]; \
                m[pivot * n + j] = t; \
            } \
            det *= m[k * n + k]; \
            for (i = k + 1; i < n; i++) { \
                const T f = m[i * n + k] / m[k * n + k]; \
                for (j = k + 1; j < n; j++) \
                    m[i * n + j] -= f * m[k * n + j]; \
            } \
        } \
        return det; \
    } \
    static inline int inlay_det_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                         int32_t r1) \
    { \
        const inlay_det_params *p = (const inlay_det_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0), *m = (T *)inlay_at(base, s, 2); \
        const T *x = (const T *)inlay_at(base, s, 1); \
        const size_t size = (size_t)p->n * (size_t)p->n; \
        int32_t b; \
        (void)r0, (void)r1; \
        for (b = 0; b < p->batch; b++, x += size) { \
            memcpy(m, x, size * sizeof *m); \
            y[b] = inlay_det_one_##suffix(m, p->n); \
        } \
        return 0; \
    }

/* y = the inverse of each matrix of x, by Gauss and Jordan with the largest pivot of the column;
 * where there is none, its elements are infinite or no numbers. Operands and parameters as for det.
 */
#define INLAY_INVERSE(suffix, T, FABS) \
    static inline void inlay_inverse_one_##suffix(T *y, T *m, int32_t n) \
    { \
        int32_t i, j, k; \
        for (i = 0; i < n * n; i++) \
            y[i] = i % (n + 1) == 0; \
        for (k = 0; k < n; k++) { \
            int32_t pivot = k; \
            T f; \
            for (i = k + 1; i < n; i++) \
                if (FABS(m[i * n + k]) > FABS(m[pivot * n + k])) \
                    pivot = i; \
            for (j = 0; j < n && pivot != k; j++) { \
                const T t = m[k * n + j], u = y[k * n + j]; \
                m[k * n + j] = m[pivot * n + j], m[pivot * n + j] = t; \
                y[k * n + j] = y[pivot * n + j], y[pivot * n + j] = u; \
            } \
            f = m[k * n + k]; \
            for (j = 0; j < n; j++) \
                m[k * n + j] /= f, y[k * n + j] /= f; \
            for (i = 0; i < n; i++) { \
                f = m[i * n + k]; \
                for (j = 0; j < n && i != k; j++) \
                    m[i * n + j] -= f * m[k * n + j], y[i * n + j] -= f * y[k * n + j]; \
            } \
        } \
    } \
    static inline int inlay_inverse_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                             int32_t r1) \
    { \
        const inlay_det_params *p = (const inlay_det_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0), *m = (T *)inlay_at(base, s, 2); \
        const T *x = (const T *)inlay_at(base, s, 1); \
        const size_t size = (size_t)p->n * (size_t)p->n; \
        int32_t b; \
        (void)r0, (void)r1; \
        for (b = 0; b < p->batch; b++, x += size, y += size) { \
            memcpy(m, x, size * sizeof *m); \
            inlay_inverse_one_##suffix(y, m, p->n); \
        } \
        return 0; \
    }

INLAY_INVERSE(f32, float, fabsf)
INLAY_INVERSE(f64, double, fabs)
INLAY_DET(f32, float, fabsf)
INLAY_DET(f64, double, fabs)

#endif
