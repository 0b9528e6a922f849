/* SPDX-License-Identifier: 0BSD
 * By order of values: TopK and Unique; along an axis: CumSum, CumProd, Range. One kernel for each
 * element type. */
#ifndef INLAY_ORDER_H
#define INLAY_ORDER_H

#include <math.h>
#include <string.h>

#include "inlay.h"

/* topk: values and indices [outer][k][inner] of x [outer][n][inner], best first; of equals the
 * first. Operands: values, indices, x. */
#define INLAY_topk_FIELDS(F, N) \
    F(int32_t, outer) \
    F(int32_t, n) \
    F(int32_t, inner) \
    F(int32_t, k) \
    F(int32_t, largest) /* 1: the largest, 0: the smallest */
INLAY_PARAMS(topk);

/* unique: x is n slices of [outer][n][inner]. Operands: y, count, first, inverse, counts (int64,
 * may be left out), x, scratch of 2 n int32. y, first and counts have room for `found`; what is not
 * used of it becomes 0. */
#define INLAY_unique_FIELDS(F, N) \
    F(int32_t, outer) \
    F(int32_t, n) \
    F(int32_t, inner) \
    F(int32_t, found)  /* slices that the result has room for: fewer only where count is wanted */ \
    F(int32_t, sorted) /* 1: in ascending order, 0: as they come */
INLAY_PARAMS(unique);

/* cumulate: y[i] = y[i - 1] op x[i] along one axis. Operands: y, x, axis (int64, where it is a
 * value). */
#define INLAY_cumulate_FIELDS(F, N) \
    F(int32_t, rank) \
    F(int32_t, axis)      /* -1: operand 2 */ \
    F(int32_t, exclusive) /* 1: element i is left out of sum i */ \
    F(int32_t, reverse)   /* 1: from the last to the first */ \
    N(int32_t, n, 8)      /* dims */
INLAY_PARAMS(cumulate);

/* range: y[i] = start + i delta, i < n. Operands: y, start, limit, delta. */
#define INLAY_range_FIELDS(F, N) F(int32_t, n)
INLAY_PARAMS(range);

/* outer, n, inner of the axis; 0 where it is outside. */
static inline int inlay_cumulate_axis(const inlay_cumulate_params *p, const int64_t *axis,
                                      int32_t *outer, int32_t *n, int32_t *inner)
{
    int64_t a = p->axis >= 0 || !axis ? p->axis : *axis;
    int32_t i;
    if (a < 0)
        a += p->rank;
    if (a < 0 || a >= p->rank)
        return 0;
    *outer = *inner = 1;
    for (i = 0; i < p->rank; i++) {
        if (i < a)
            *outer *= p->n[i];
        if (i > a)
            *inner *= p->n[i];
    }
    *n = p->n[a];
    return 1;
}

#define INLAY_TOPK(suffix, T) \
    static inline int inlay_topk_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                          int32_t r1) \
    { \
        const inlay_topk_params *p = (const inlay_topk_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        int64_t *index = (int64_t *)inlay_at(base, s, 1); \
        const T *x = (const T *)inlay_at(base, s, 2); \
        const ptrdiff_t step = p->inner; \
        int32_t o, c, i, j; \
        (void)r0, (void)r1; \
        for (o = 0; o < p->outer; o++) \
            for (c = 0; c < p->inner; c++) { \
                const T *q = x + (ptrdiff_t)o * p->n * step + c; \
                T *v = y + (ptrdiff_t)o * p->k * step + c; \
                int64_t *at = index + (ptrdiff_t)o * p->k * step + c; \
                for (i = 0; i < p->n; i++) { \
                    const T t = q[i * step]; \
                    j = i < p->k ? i : p->k; \
                    if (j == p->k && \
                        !(p->largest ? t > v[(j - 1) * step] : t < v[(j - 1) * step])) \
                        continue; \
                    if (j == p->k) \
                        j--; \
                    for (; j > 0 && (p->largest ? t > v[(j - 1) * step] : t < v[(j - 1) * step]); \
                         j--) { \
                        v[j * step] = v[(j - 1) * step]; \
                        at[j * step] = at[(j - 1) * step]; \
                    } \
                    v[j * step] = t; \
                    at[j * step] = i; \
                } \
            } \
        return 0; \
    }

/* Slices are compared element by element; `order` holds the first of each kind, ascending, `place`
 * their order of appearance. */
#define INLAY_UNIQUE(suffix, T) \
    static inline int inlay_unique_compare_##suffix(const inlay_unique_params *p, const T *x, \
                                                    int32_t a, int32_t b) \
    { \
        int32_t o, i; \
        for (o = 0; o < p->outer; o++) \
            for (i = 0; i < p->inner; i++) { \
                const T u = x[((ptrdiff_t)o * p->n + a) * p->inner + i], \
                        v = x[((ptrdiff_t)o * p->n + b) * p->inner + i]; \
                if (u < v) \
                    return -1; \
                if (u > v) \
                    return 1; \
            } \
        return 0; \
    } \
    static inline int32_t inlay_unique_find_##suffix(const inlay_unique_params *p, const T *x, \
                                                     const int32_t *order, int32_t kinds, \
                                                     int32_t i, int *same) \
    { \
        int32_t lo = 0, hi = kinds; \
        *same = 0; \
        while (lo < hi) { \
            const int32_t mid = lo + (hi - lo) / 2; \
            const int c = inlay_unique_compare_##suffix(p, x, i, order[mid]); \
            if (c == 0) { \
                *same = 1; \
                return mid; \
            } \
            if (c < 0) \
                hi = mid; \
            else \
                lo = mid + 1; \
        } \
        return lo; \
    } \
    static inline int inlay_unique_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                            int32_t r1) \
    { \
        const inlay_unique_params *p = (const inlay_unique_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        int64_t *count = (int64_t *)inlay_at(base, s, 1), \
                *first = (int64_t *)inlay_at(base, s, 2); \
        int64_t *inverse = (int64_t *)inlay_at(base, s, 3), \
                *counts = (int64_t *)inlay_at(base, s, 4); \
        const T *x = (const T *)inlay_at(base, s, 5); \
        int32_t *order = (int32_t *)inlay_at(base, s, 6), *place = order + p->n, kinds = 0, i, k, \
                o; \
        int same; \
        (void)r0, (void)r1; \
        for (i = 0; i < p->n; i++) { \
            k = inlay_unique_find_##suffix(p, x, order, kinds, i, &same); \
            if (same) \
                continue; \
            if (kinds == p->found) \
                return -INLAY_E_SHAPE; \
            memmove(order + k + 1, order + k, (size_t)(kinds - k) * sizeof *order); \
            order[k] = i; \
            kinds++; \
        } \
        if (!count && kinds != p->found) \
            return -INLAY_E_SHAPE; \
        if (count) \
            *count = kinds; \
        if (first) \
            memset(first, 0, (size_t)p->found * sizeof *first); \
        if (counts) \
            memset(counts, 0, (size_t)p->found * sizeof *counts); \
        memset(y, 0, (size_t)p->outer *(size_t)p->found *(size_t)p->inner * sizeof *y); \
        for (k = 0; k < kinds; k++) { \
            place[k] = k; \
            if (p->sorted) \
                continue; \
            for (place[k] = 0, i = 0; i < kinds; i++) \
                place[k] += order[i] < order[k]; \
        } \
        for (k = 0; k < kinds; k++) { \
            if (first) \
                first[place[k]] = order[k]; \
            for (o = 0; o < p->outer; o++) \
                memcpy(y + ((ptrdiff_t)o * p->found + place[k]) * p->inner, \
                       x + ((ptrdiff_t)o * p->n + order[k]) * p->inner, \
                       (size_t)p->inner * sizeof *y); \
        } \
        for (i = 0; i < p->n && (inverse || counts); i++) { \
            k = place[inlay_unique_find_##suffix(p, x, order, kinds, i, &same)]; \
            if (inverse) \
                inverse[i] = k; \
            if (counts) \
                counts[k]++; \
        } \
        return 0; \
    }

/* A: type of the accumulator, in which integers wrap around. */
#define INLAY_CUMULATE(name, T, A, start, op) \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_cumulate_params *p = (const inlay_cumulate_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 1); \
        int32_t outer, n, inner, o, c, i; \
        (void)r0, (void)r1; \
        if (!inlay_cumulate_axis(p, (const int64_t *)inlay_at(base, s, 2), &outer, &n, &inner)) \
            return -INLAY_E_INDEX; \
        for (o = 0; o < outer; o++) \
            for (c = 0; c < inner; c++) { \
                A \
                acc = (start); \
                for (i = 0; i < n; i++) { \
                    const ptrdiff_t at = \
                        ((ptrdiff_t)o * n + (p->reverse ? n - 1 - i : i)) * inner + c; \
                    const A \
                    v = (A)x[at], next = acc op v; \
                    y[at] = (T)(p->exclusive ? acc : next); \
                    acc = next; \
                } \
            } \
        return 0; \
    }

#define INLAY_RANGE(suffix, T) \
    static inline int inlay_range_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                           int32_t r1) \
    { \
        const inlay_range_params *p = (const inlay_range_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T start = *(const T *)inlay_at(base, s, 1), \
                limit = *(const T *)inlay_at(base, s, 2), \
                delta = *(const T *)inlay_at(base, s, 3); \
        const double count = ceil(((double)limit - (double)start) / (double)delta); \
        int32_t i; \
        (void)r0, (void)r1; \
        if ((count > 0 ? count : 0) != p->n) \
            return -INLAY_E_SHAPE; \
        for (i = 0; i < p->n; i++) \
            y[i] = (T)(start + (T)i * delta); \
        return 0; \
    }

#define INLAY_ORDERED(suffix, T) INLAY_TOPK(suffix, T) INLAY_UNIQUE(suffix, T)
INLAY_ORDERED(f32, float)
INLAY_ORDERED(f64, double)
INLAY_ORDERED(i8, int8_t)
INLAY_ORDERED(i16, int16_t)
INLAY_ORDERED(i32, int32_t)
INLAY_ORDERED(i64, int64_t)
INLAY_ORDERED(u8, uint8_t)
INLAY_ORDERED(u16, uint16_t)
INLAY_ORDERED(u32, uint32_t)
INLAY_ORDERED(u64, uint64_t)

#define INLAY_CUMULATES(suffix, T, A) \
    INLAY_CUMULATE(cumsum_##suffix, T, A, 0, +) INLAY_CUMULATE(cumprod_##suffix, T, A, 1, *)
INLAY_CUMULATES(f32, float, float)
INLAY_CUMULATES(f64, double, double)
INLAY_CUMULATES(i32, int32_t, uint32_t)
INLAY_CUMULATES(i64, int64_t, uint64_t)
INLAY_CUMULATES(u32, uint32_t, uint32_t)
INLAY_CUMULATES(u64, uint64_t, uint64_t)

INLAY_RANGE(f32, float)
INLAY_RANGE(f64, double)
INLAY_RANGE(i16, int16_t)
INLAY_RANGE(i32, int32_t)
INLAY_RANGE(i64, int64_t)

#endif
