/* SPDX-License-Identifier: 0BSD
 * The elements of each pixel in another order: a shuffle of channels, by element size.
 *
 *   y[p][c] = x[p][order[c]]
 *
 * y may be x: the order is given as its cycles, and a cycle holds one element while the others
 * move. Backward, rows and pixels go from last to first. A unit is a row; operands: y, x, cycles
 * [entries] of uint16: the length n of one, then its n channels, each of which takes what the next
 * holds. */
#ifndef INLAY_SHUFFLE_H
#define INLAY_SHUFFLE_H

#include "inlay.h"

#define INLAY_shuffle_FIELDS(F, N) \
    F(int32_t, pixels)  /* of a row */ \
    F(int32_t, entries) /* of the table */
INLAY_PARAMS(shuffle);

#define INLAY_SHUFFLE(bits) \
    static inline void inlay_shuffle_pixel_##bits(uint##bits##_t *y, const uint##bits##_t *x, \
                                                  const uint16_t *t, const uint16_t *end) \
    { \
        while (t < end) { \
            const int32_t n = *t++; \
            const uint##bits##_t first = x[t[0]]; \
            int32_t i; \
            for (i = 0; i < n - 1; i++) \
                y[t[i]] = x[t[i + 1]]; \
            y[t[i]] = first; \
            t += n; \
        } \
    } \
    static inline int inlay_shuffle_##bits(void *const *base, const inlay_step *s, int32_t r0, \
                                           int32_t r1) \
    { \
        const inlay_shuffle_params *p = (const inlay_shuffle_params *)s->params; \
        const uint16_t *cycles = (const uint16_t *)inlay_at(base, s, 2); \
        int32_t r, i; \
        for (r = 0; r < r1 - r0; r++) { \
            const int32_t row = s->backward ? r1 - 1 - r : r0 + r; \
            uint##bits##_t *y = (uint##bits##_t *)inlay_row(base, s, 0, row); \
            const uint##bits##_t *x = (const uint##bits##_t *)inlay_row(base, s, 1, row); \
            for (i = 0; i < p->pixels; i++) { \
                const ptrdiff_t at = s->backward ? p->pixels - 1 - i : i; \
                inlay_shuffle_pixel_##bits(y + at * s->ref[0].pix, x + at * s->ref[1].pix, cycles, \
                                           cycles + p->entries); \
            } \
        } \
        return 0; \
    }

INLAY_SHUFFLE(8)
INLAY_SHUFFLE(16)
INLAY_SHUFFLE(32)

#endif
