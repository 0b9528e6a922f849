/* SPDX-License-Identifier: 0BSD
 * Picks of elements of one size. Included by pick.h. */

static inline void inlay_typed(pick_line)(void *to, const void *from,
                                          const int32_t *table, int32_t n,
                                          int32_t run)
{
    INLAY_T *y = (INLAY_T *)to;
    const INLAY_T *x = (const INLAY_T *)from;
    const size_t bytes = (size_t)run * sizeof *y;
    ptrdiff_t i;
    if (run == 1) {
        for (i = 0; i < n; i++)
            y[i] = x[table[i]];
        return;
    }
    for (i = 0; i < n; i++)
        memcpy(y + i * run, x + table[i], bytes);
}

static inline void inlay_typed(pick_pixels)(void *to, const void *from,
                                            const int32_t *table,
                                            const inlay_pick_params *p,
                                            ptrdiff_t y_pixel,
                                            ptrdiff_t x_pixel)
{
    INLAY_T *y = (INLAY_T *)to;
    const INLAY_T *x = (const INLAY_T *)from;
    const size_t bytes = (size_t)p->run * sizeof *y;
    const int32_t n = p->n[1];
    const int32_t origin = p->origin;
    int32_t i;
    if (p->run == 1) {
        for (i = 0; i < n; i++)
            y[i * y_pixel] = x[(table[i] - origin) * x_pixel];
        return;
    }
    for (i = 0; i < n; i++) {
        const INLAY_T *pixel = x + (table[i] - origin) * x_pixel;
        memcpy(y + i * y_pixel, pixel, bytes);
    }
}

static inline int inlay_typed(pick)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    if (!((const inlay_pick_params *)s->params)->rank)
        return inlay_pick_rows(base, s, r0, r1, inlay_typed(pick_pixels));
    return inlay_pick(base, s, sizeof(INLAY_T), inlay_typed(pick_line));
}
