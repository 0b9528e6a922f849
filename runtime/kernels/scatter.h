/* SPDX-License-Identifier: 0BSD
 * Writing by index: y begins as a copy of x (or is x's memory), then takes the updates in order.
 *
 * scatter_elements   y[at with at[axis] = I[at]] op= u[at]
 * scatter_nd         y[I[k][0]][I[k][1]]...[run] op= u[k][run]
 *
 * op: 0 assign, 1 add, 2 mul, 3 max, 4 min. Indices are int64, negative ones count from the end;
 * one outside ends the run with INLAY_E_INDEX. Operands: y, x, indices, updates. */
#ifndef INLAY_SCATTER_H
#define INLAY_SCATTER_H

#include <string.h>

#include "gather.h"

#define INLAY_scatter_FIELDS(F, N) \
    F(int32_t, op) \
    F(int32_t, rank) /* of x for elements; length of an index vector for nd */ \
    F(int32_t, axis) \
    F(int32_t, k)     /* index vectors (nd) */ \
    F(int32_t, run)   /* elements that a vector names (nd) */ \
    F(int64_t, bytes) /* of x */ \
    N(int32_t, x, 8)  /* dims of x, of those a vector runs over */ \
    N(int32_t, y, 8)  /* dims of the indices (elements) */
INLAY_PARAMS(scatter);

/* y op= u, n elements. */
typedef void inlay_combine(void *y, const void *u, int32_t n, int32_t op);

static inline void inlay_scatter_begin(void *const *base, const inlay_step *s, size_t bytes)
{
    void *y = inlay_at(base, s, 0);
    const void *x = inlay_at(base, s, 1);
    if (y != x)
        memmove(y, x, bytes);
}

static inline int inlay_scatter_elements(void *const *base, const inlay_step *s, size_t size,
                                         inlay_combine *combine)
{
    const inlay_scatter_params *p = (const inlay_scatter_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const unsigned char *u = (const unsigned char *)inlay_at(base, s, 3);
    int32_t at[8] = { 0 };
    int32_t d;
    inlay_scatter_begin(base, s, (size_t)p->bytes);
    if (!index)
        return 0;
    do {
        const int64_t i = inlay_index(*index++, p->x[p->axis]);
        size_t k = 0;
        if (i < 0)
            return -INLAY_E_INDEX;
        for (d = 0; d < p->rank; d++)
            k = k * (size_t)p->x[d] + (d == p->axis ? (size_t)i : (size_t)at[d]);
        combine(y + k * size, u, 1, p->op);
        u += size;
        for (d = p->rank - 1; d >= 0; d--) {
            if (++at[d] < p->y[d])
                break;
            at[d] = 0;
        }
    } while (d >= 0);
    return 0;
}

static inline int inlay_scatter_nd(void *const *base, const inlay_step *s, size_t size,
                                   inlay_combine *combine)
{
    const inlay_scatter_params *p = (const inlay_scatter_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const unsigned char *u = (const unsigned char *)inlay_at(base, s, 3);
    int32_t k, d;
    inlay_scatter_begin(base, s, (size_t)p->bytes);
    for (k = 0; k < p->k; k++) {
        size_t at = 0;
        for (d = 0; d < p->rank; d++) {
            const int64_t i = inlay_index(*index++, p->x[d]);
            if (i < 0)
                return -INLAY_E_INDEX;
            at = at * (size_t)p->x[d] + (size_t)i;
        }
        combine(y + at * (size_t)p->run * size, u, p->run, p->op);
        u += (size_t)p->run * size;
    }
    return 0;
}

/* W: unsigned where T is an integer, in which sums wrap around; else T. */
#define INLAY_SCATTER(suffix, T, W) \
    static inline void inlay_combine_##suffix(void *yv, const void *uv, int32_t n, int32_t op) \
    { \
        T *y = (T *)yv; \
        const T *u = (const T *)uv; \
        int32_t i; \
        switch (op) { \
        case 1: \
            for (i = 0; i < n; i++) \
                y[i] = (T)((W)y[i] + (W)u[i]); \
            break; \
        case 2: \
            for (i = 0; i < n; i++) \
                y[i] = (T)((W)y[i] * (W)u[i]); \
            break; \
        case 3: \
            for (i = 0; i < n; i++) \
                y[i] = u[i] > y[i] ? u[i] : y[i]; \
            break; \
        case 4: \
            for (i = 0; i < n; i++) \
                y[i] = u[i] < y[i] ? u[i] : y[i]; \
            break; \
        default: \
            memcpy(y, u, (size_t)n * sizeof *y); \
            break; \
        } \
    } \
    static inline int inlay_scatter_elements_##suffix(void *const *base, const inlay_step *s, \
                                                      int32_t r0, int32_t r1) \
    { \
        (void)r0, (void)r1; \
        return inlay_scatter_elements(base, s, sizeof(T), inlay_combine_##suffix); \
    } \
    static inline int inlay_scatter_nd_##suffix(void *const *base, const inlay_step *s, \
                                                int32_t r0, int32_t r1) \
    { \
        (void)r0, (void)r1; \
        return inlay_scatter_nd(base, s, sizeof(T), inlay_combine_##suffix); \
    }

INLAY_SCATTER(f32, float, float)
INLAY_SCATTER(f64, double, double)
INLAY_SCATTER(i8, int8_t, uint32_t)
INLAY_SCATTER(i16, int16_t, uint32_t)
INLAY_SCATTER(i32, int32_t, uint32_t)
INLAY_SCATTER(i64, int64_t, uint64_t)
INLAY_SCATTER(u8, uint8_t, uint32_t)
INLAY_SCATTER(u16, uint16_t, uint32_t)
INLAY_SCATTER(u32, uint32_t, uint32_t)
INLAY_SCATTER(u64, uint64_t, uint64_t)

#endif
