/* SPDX-License-Identifier: 0BSD
 * Windows of one element type. Included by signal.h. */

static inline int inlay_typed(taper)(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_taper_params *p = (const inlay_taper_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const int64_t *n = (const int64_t *)inlay_at(base, s, 1);
    int64_t i;
    (void)r0;
    (void)r1;
    if (*n != p->n)
        return -INLAY_E_SHAPE;
    for (i = 0; i < p->n; i++) {
        const double value = inlay_taper_value(p, i);
        y[i] = (INLAY_T)value;
    }
    return 0;
}
