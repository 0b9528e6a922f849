/* SPDX-License-Identifier: 0BSD
 * Shuffles of elements of one size. Included by shuffle.h. */

/* Each channel of a cycle takes what the next holds, the last what the first held. */
static inline void inlay_typed(shuffle_cycle)(INLAY_T *y, const INLAY_T *x,
                                              const uint16_t *channel,
                                              int32_t n)
{
    const INLAY_T first = x[channel[0]];
    int32_t i;
    for (i = 1; i < n; i++) {
        const INLAY_T next = x[channel[i]];
        y[channel[i - 1]] = next;
    }
    y[channel[n - 1]] = first;
}

static inline void inlay_typed(shuffle_pixel)(INLAY_T *y, const INLAY_T *x,
                                              const uint16_t *cycle,
                                              const uint16_t *end)
{
    while (cycle < end) {
        const int32_t n = *cycle++;
        inlay_typed(shuffle_cycle)(y, x, cycle, n);
        cycle += n;
    }
}

/* The pixels of a row, in the order of the step. */
static inline void inlay_typed(shuffle_row)(const inlay_step *s, INLAY_T *y,
                                            const INLAY_T *x,
                                            const uint16_t *cycles)
{
    const inlay_shuffle_params *p = (const inlay_shuffle_params *)s->params;
    const uint16_t *end = cycles + p->entries;
    int32_t i;
    for (i = 0; i < p->pixels; i++) {
        const ptrdiff_t pixel = inlay_next_row(s, 0, p->pixels, i);
        INLAY_T *to = y + pixel * s->ref[0].pix;
        const INLAY_T *from = x + pixel * s->ref[1].pix;
        inlay_typed(shuffle_pixel)(to, from, cycles, end);
    }
}

static inline int inlay_typed(shuffle)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const uint16_t *cycles = (const uint16_t *)inlay_at(base, s, 2);
    int32_t i;
    for (i = 0; i < r1 - r0; i++) {
        const int32_t r = inlay_next_row(s, r0, r1, i);
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r);
        inlay_typed(shuffle_row)(s, y, x, cycles);
    }
    return 0;
}
