/* SPDX-License-Identifier: 0BSD
 * How a window goes over the rows of a ring: what of it exists, and which rows lie one after the
 * other. */
#ifndef INLAY_WALK_H
#define INLAY_WALK_H

#include "inlay.h"

/* Clips the taps of one dimension: tap k stands at first + k * step of `size` elements.
 * *from: the first tap that exists; returns how many exist. */
static inline int32_t inlay_clip(int32_t first, int32_t step, int32_t taps,
                                 int32_t size, int32_t *from)
{
    int32_t skip, end;
    *from = 0;
    if (first >= 0 && first + (taps - 1) * step < size)
        return taps;
    skip = first < 0 ? (step - 1 - first) / step : 0;
    end = first < size ? (size - first + step - 1) / step : 0;
    *from = skip < taps ? skip : taps;
    if (end > taps)
        end = taps;
    return end > skip ? end - skip : 0;
}

/* First and end of the outputs whose whole window lies inside. The padding may be negative. */
static inline int32_t inlay_inside(int32_t stride, int32_t pad, int32_t extent,
                                   int32_t size, int32_t out, int32_t *end)
{
    const int32_t room = size + pad - extent;
    int32_t left = pad > 0;
    int32_t right = room < 0 ? 0 : room / stride + 1;
    if (pad > stride)
        left = (pad + stride - 1) / stride;
    if (left > out)
        left = out;
    if (right > out)
        right = out;
    *end = right > left ? right : left;
    return left;
}

/* Rows, from r in the walking direction, that lie one after the other in ring i; at most n. */
static inline int32_t inlay_adjacent(const inlay_step *s, int i, int32_t r,
                                     int32_t n)
{
    const inlay_ref *ring = s->ref + i;
    const int32_t slot = r % ring->cap;
    const int32_t room = s->backward ? slot + 1 : ring->cap - slot;
    if (inlay_is_dealt(ring))
        return 1;
    return ring->base < 0 || n < room ? n : room;
}

/* Of rows [r0, r1) the one that is made after `done` others. */
static inline int32_t inlay_next_row(const inlay_step *s, int32_t r0,
                                     int32_t r1, int32_t done)
{
    return s->backward ? r1 - 1 - done : r0 + done;
}

#endif
