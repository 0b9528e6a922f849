/* SPDX-License-Identifier: 0BSD
 * Transpositions of words, four each way in vectors of four. On processors that have them,
 * INLAY_MOVE_VECTORS is defined; pixels of three elements have loops of their own there, of which
 * the compiler makes shuffles. */
#ifndef INLAY_TURN_VEC_H
#define INLAY_TURN_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "inlay.h"

#if defined __SSE2__ || defined __aarch64__
#define INLAY_MOVE_VECTORS 1

typedef uint32_t inlay_quad __attribute__((vector_size(16)));
typedef uint32_t inlay_any_quad
    __attribute__((vector_size(16), aligned(4), may_alias));

/* Of a and b, one behind the other, four words by their places. */
#ifdef __clang__
#define INLAY_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define INLAY_PLACES(...) ((inlay_quad){ __VA_ARGS__ })
#define INLAY_MIX(a, b, ...) __builtin_shuffle(a, b, INLAY_PLACES(__VA_ARGS__))
#endif

INLAY_INLINE inlay_quad inlay_quad_at(const uint32_t *from)
{
    return *(const inlay_any_quad *)(const void *)from;
}

INLAY_INLINE void inlay_quad_to(uint32_t *to, inlay_quad v)
{
    *(inlay_any_quad *)(void *)to = v;
}

/* Two rows of y: v has their words by pairs of rows of x. */
INLAY_INLINE void inlay_quads_to(uint32_t *y, ptrdiff_t y_step,
                                 const inlay_quad *v)
{
    inlay_quad_to(y, INLAY_MIX(v[0], v[1], 0, 1, 4, 5));
    inlay_quad_to(y + y_step, INLAY_MIX(v[0], v[1], 2, 3, 6, 7));
}

/* y[k][j] = x[j][k], four words each way. */
INLAY_INLINE void inlay_turn_quads(uint32_t *y, const uint32_t *x,
                                   ptrdiff_t y_step, ptrdiff_t x_step)
{
    inlay_quad row[4];
    inlay_quad low[2];
    inlay_quad high[2];
    int32_t j;
    INLAY_UNROLL
    for (j = 0; j < 4; j++) {
        row[j] = inlay_quad_at(x);
        x += x_step;
    }
    INLAY_UNROLL
    for (j = 0; j < 2; j++) {
        const inlay_quad a = row[2 * j];
        const inlay_quad b = row[2 * j + 1];
        low[j] = INLAY_MIX(a, b, 0, 4, 1, 5);
        high[j] = INLAY_MIX(a, b, 2, 6, 3, 7);
    }
    inlay_quads_to(y, y_step, low);
    inlay_quads_to(y + 2 * y_step, y_step, high);
}

/* So many words each way, multiples of four. */
static inline void inlay_turn_words(void *to, const void *from, int32_t rows,
                                    int32_t columns, ptrdiff_t y_step,
                                    ptrdiff_t x_step)
{
    uint32_t *y = (uint32_t *)to;
    const uint32_t *x = (const uint32_t *)from;
    int32_t j, k;
    for (k = 0; k < rows; k += 4) {
        for (j = 0; j < columns; j += 4)
            inlay_turn_quads(y + j, x + j * x_step, y_step, x_step);
        y += 4 * y_step;
        x += 4;
    }
}

#endif
#endif
