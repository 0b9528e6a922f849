/* SPDX-License-Identifier: 0BSD
 * Places in a tensor. */
#ifndef INLAY_INDEX_H
#define INLAY_INDEX_H

#include "inlay.h"

/* Index v of an axis of n elements, which counts from the end where it is negative; -1: outside. */
static inline int64_t inlay_index(int64_t v, int64_t n)
{
    if (v < 0)
        v += n;
    return v < 0 || v >= n ? -1 : v;
}

static inline int64_t inlay_clamp_i64(int64_t v, int64_t low, int64_t high)
{
    if (v < low)
        return low;
    return v > high ? high : v;
}

/* Goes to the next place in a tensor of dims n, the last axis first; 0 at the end. */
static inline int inlay_next_index(int32_t *at, const int32_t *n, int32_t rank)
{
    int32_t d;
    for (d = rank - 1; d >= 0; d--) {
        if (++at[d] < n[d])
            return 1;
        at[d] = 0;
    }
    return 0;
}

/* The element at `at` of a tensor of dims n, but with index i on the axis. */
static inline size_t inlay_element_at(const int32_t *at, const int32_t *n,
                                      int32_t rank, int32_t axis, int64_t i)
{
    size_t element = 0;
    int32_t d;
    for (d = 0; d < rank; d++) {
        const size_t place = d == axis ? (size_t)i : (size_t)at[d];
        element = element * (size_t)n[d] + place;
    }
    return element;
}

/* The element that an index vector names, with one index for each of the first `depth` dims; -1:
 * one of them is outside. */
static inline int64_t inlay_named_element(const int64_t *index,
                                          const int32_t *n, int32_t depth)
{
    int64_t element = 0;
    int32_t d;
    for (d = 0; d < depth; d++) {
        const int64_t i = inlay_index(index[d], n[d]);
        if (i < 0)
            return -1;
        element = element * n[d] + i;
    }
    return element;
}

#endif
