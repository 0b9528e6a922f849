/* SPDX-License-Identifier: 0BSD
 * Shuffles of elements of one size. Included by shuffle.h. */

static inline void inlay_typed(shuffle_pixel)(INLAY_T *y, const INLAY_T *x,
                                              const uint16_t *cycle,
                                              const uint16_t *end)
{
    while (cycle < end) {
        const int32_t n = *cycle++;
        const INLAY_T first = x[cycle[0]];
        int32_t i;
        for (i = 0; i < n - 1; i++)
            y[cycle[i]] = x[cycle[i + 1]];
        y[cycle[i]] = first;
        cycle += n;
    }
}

static inline int inlay_typed(shuffle)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_shuffle_params *p = (const inlay_shuffle_params *)s->params;
    const uint16_t *cycles = (const uint16_t *)inlay_at(base, s, 2);
    int32_t r, i;
    for (r = 0; r < r1 - r0; r++) {
        const int32_t row = s->backward ? r1 - 1 - r : r0 + r;
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, row);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, row);
        for (i = 0; i < p->pixels; i++) {
            const ptrdiff_t at = s->backward ? p->pixels - 1 - i : i;
            inlay_typed(shuffle_pixel)(y + at * s->ref[0].pix,
                                       x + at * s->ref[1].pix, cycles,
                                       cycles + p->entries);
        }
    }
    return 0;
}
