/* SPDX-License-Identifier: 0BSD
 * Operators whose starts, pads, repeats or shapes are values at run time. The shape of the result
 * was fixed when the model was compiled: other values end the run with INLAY_E_SHAPE. */
#ifndef INLAY_VALUES_H
#define INLAY_VALUES_H

#include "inlay_memory.h"
#include "index.h"

/* Operand 0: n values (int64); operand 1: `tables` lists of n values each, one of which every value
 * must equal. No result. */
typedef struct inlay_check_params {
    int32_t n;      /* values */
    int32_t tables; /* alternatives */
} inlay_check_params;

static inline int inlay_check_values(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_check_params *p = (const inlay_check_params *)s->params;
    const int64_t *v = (const int64_t *)inlay_at(base, s, 0);
    const int64_t *t = (const int64_t *)inlay_at(base, s, 1);
    int32_t i, k;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++) {
        for (k = 0; k < p->tables; k++)
            if (v[i] == t[k * p->n + i])
                break;
        if (k == p->tables)
            return -INLAY_E_SHAPE;
    }
    return 0;
}

/* Slice and Pad. Operands: y, x, then for Slice starts, ends, axes, steps; for Pad pads, fill (one
 * element), axes. Lists are int64; axes and steps may be left out. */
typedef struct inlay_window_nd_params {
    int32_t rank;  /* of x and y */
    int32_t size;  /* bytes of an element */
    int32_t count; /* entries of starts; half the entries of pads */
    int32_t mode;  /* Pad: 0 constant, 1 edge, 2 reflect, 3 wrap */
    int32_t x[8];  /* dims of x */
    int32_t y[8];  /* dims of y */
} inlay_window_nd_params;

/* Which axis entry k of the lists is for; -1: none. */
static inline int32_t inlay_list_axis(const inlay_window_nd_params *p,
                                      const int64_t *axes, int32_t k)
{
    int64_t a = axes ? axes[k] : k;
    if (a < 0)
        a += p->rank;
    return a < 0 || a >= p->rank ? -1 : (int32_t)a;
}

/* Start and step of one axis; 0 where its length is not what was compiled. */
static inline int inlay_slice_axis(int64_t size, int64_t out, int64_t start,
                                   int64_t end, int64_t step, int64_t *from,
                                   int64_t *by)
{
    const int64_t lo = step > 0 ? 0 : -1;
    const int64_t hi = step > 0 ? size : size - 1;
    int64_t n;
    if (step == 0)
        return 0;
    if (step < -INT64_MAX)
        step = -INT64_MAX;
    if (start < 0)
        start += size;
    if (end < 0)
        end += size;
    start = inlay_clamp_i64(start, 0, hi < 0 ? 0 : hi);
    end = inlay_clamp_i64(end, lo, hi);
    if (step > 0)
        n = end > start ? (end - start - 1) / step + 1 : 0;
    else
        n = start > end ? (start - end - 1) / -step + 1 : 0;
    *from = start;
    *by = step;
    return n == out;
}

/* Axes that no list names, those whose bit in `seen` is not set, stay as they are. */
static inline int inlay_slice_rest(const inlay_window_nd_params *p, int seen)
{
    int32_t d;
    for (d = 0; d < p->rank; d++)
        if (!(seen >> d & 1) && p->x[d] != p->y[d])
            return -INLAY_E_SHAPE;
    return 0;
}

/* Start and step of each axis from the lists; 0 or -INLAY_E_... */
static inline int inlay_slice_window(void *const *base, const inlay_step *s,
                                     int64_t *from, int64_t *by)
{
    const inlay_window_nd_params *p = (const inlay_window_nd_params *)s->params;
    const int64_t *starts = (const int64_t *)inlay_at(base, s, 2);
    const int64_t *ends = (const int64_t *)inlay_at(base, s, 3);
    const int64_t *axes = (const int64_t *)inlay_at(base, s, 4);
    const int64_t *steps = (const int64_t *)inlay_at(base, s, 5);
    int32_t d;
    int seen = 0;
    for (d = 0; d < p->count; d++) {
        const int32_t a = inlay_list_axis(p, axes, d);
        if (a < 0)
            return -INLAY_E_INDEX;
        seen |= 1 << a;
        if (!inlay_slice_axis(p->x[a], p->y[a], starts[d], ends[d],
                              steps ? steps[d] : 1, from + a, by + a))
            return -INLAY_E_SHAPE;
    }
    return inlay_slice_rest(p, seen);
}

/* The element of x that is at place `at` of y. */
static inline int64_t inlay_slice_element(const inlay_window_nd_params *p,
                                          const int32_t *at,
                                          const int64_t *from,
                                          const int64_t *by)
{
    int64_t element = 0;
    int32_t d;
    for (d = 0; d < p->rank; d++)
        element = element * p->x[d] + from[d] + at[d] * by[d];
    return element;
}

static inline int inlay_slice_values(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_window_nd_params *p = (const inlay_window_nd_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const size_t size = (size_t)p->size;
    int64_t from[8] = { 0 };
    int64_t by[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    int32_t at[8] = { 0 };
    const int error = inlay_slice_window(base, s, from, by);
    (void)r0;
    (void)r1;
    if (error)
        return error;
    do {
        const int64_t k = inlay_slice_element(p, at, from, by);
        memcpy(y, x + (size_t)k * size, size);
        y += size;
    } while (inlay_next_index(at, p->y, p->rank));
    return 0;
}

/* Source index of index i (before the margin is taken off) on an axis of n elements; -1: the fill
 * value. */
static inline int64_t inlay_pad_index(int64_t i, int64_t n, int32_t mode)
{
    int64_t period, r;
    if (i >= 0 && i < n)
        return i;
    if (mode == 0 || n < 1)
        return -1;
    if (mode == 1 || n == 1)
        return i < 0 ? 0 : n - 1;
    period = mode == 2 ? 2 * n - 2 : n;
    r = i % period;
    if (r < 0)
        r += period;
    return r < n ? r : period - r;
}

/* What is added before and after each axis; 0 or -INLAY_E_... */
static inline int inlay_pad_margins(void *const *base, const inlay_step *s,
                                    int64_t *before, int64_t *after)
{
    const inlay_window_nd_params *p = (const inlay_window_nd_params *)s->params;
    const int64_t *pads = (const int64_t *)inlay_at(base, s, 2);
    const int64_t *axes = (const int64_t *)inlay_at(base, s, 4);
    int32_t d;
    for (d = 0; d < p->count; d++) {
        const int32_t a = inlay_list_axis(p, axes, d);
        if (a < 0)
            return -INLAY_E_INDEX;
        before[a] = pads[d];
        after[a] = pads[p->count + d];
    }
    for (d = 0; d < p->rank; d++)
        if (before[d] < -(int64_t)p->x[d] || before[d] > p->y[d] ||
            after[d] != p->y[d] - p->x[d] - before[d])
            return -INLAY_E_SHAPE;
    return 0;
}

/* The element of x that is at place `at` of y; -1: the fill value. */
static inline int64_t inlay_pad_element(const inlay_window_nd_params *p,
                                        const int32_t *at,
                                        const int64_t *before,
                                        const int64_t *after)
{
    int64_t element = 0;
    int32_t d;
    for (d = 0; d < p->rank; d++) {
        const int64_t added = before[d] > 0 ? before[d] : 0;
        const int64_t cut = before[d] < 0 ? -before[d] : 0;
        const int64_t end = after[d] < 0 ? -after[d] : 0;
        const int64_t i =
            inlay_pad_index(at[d] - added, p->x[d] - cut - end, p->mode);
        if (i < 0)
            return -1;
        element = element * p->x[d] + cut + i;
    }
    return element;
}

static inline int inlay_pad_values(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_window_nd_params *p = (const inlay_window_nd_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const unsigned char *fill = (const unsigned char *)inlay_at(base, s, 3);
    const size_t size = (size_t)p->size;
    int64_t before[8] = { 0 };
    int64_t after[8] = { 0 };
    int32_t at[8] = { 0 };
    const int error = inlay_pad_margins(base, s, before, after);
    (void)r0;
    (void)r1;
    if (error)
        return error;
    do {
        const int64_t k = inlay_pad_element(p, at, before, after);
        memcpy(y, k < 0 ? fill : x + (size_t)k * size, size);
        y += size;
    } while (inlay_next_index(at, p->y, p->rank));
    return 0;
}

#endif
