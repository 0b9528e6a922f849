/* SPDX-License-Identifier: 0BSD
 * The maximum of windows for one element type. Included by window_plain.h. */

/* The maximum of one window; *where: its index, -1: the window is empty. */
static inline INLAY_T inlay_typed(maxpool_one)(const inlay_window_params *p,
                                               const INLAY_T *x, int32_t n,
                                               int32_t c, const int32_t *z,
                                               int64_t *where)
{
    const inlay_taps taps = inlay_taps_of(p, z);
    int32_t k[3];
    INLAY_T best = INLAY_LOWEST;
    int more = inlay_tap_start(&taps, k);
    *where = -1;
    for (; more; more = inlay_tap_next(&taps, k)) {
        int32_t at[3];
        INLAY_T v;
        inlay_tap_at(p, z, k, at);
        v = x[inlay_at5(p->xs, n, c, at)];
        if (*where >= 0 && !(v > best))
            continue;
        best = v;
        *where = inlay_flat_index(p, n, c, at);
    }
    return best;
}

static inline int inlay_typed(maxpool_plain)(void *const *base,
                                             const inlay_step *s, int32_t r0,
                                             int32_t r1)
{
    const inlay_window_params *p = (const inlay_window_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    int64_t *index = (int64_t *)inlay_at(base, s, 1);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 2);
    inlay_place5 at = { 0, 0, { 0, 0, 0 } };
    int more = p->images > 0 && p->ic > 0;
    (void)r0;
    (void)r1;
    for (; more; more = inlay_next5(p, p->ic, &at)) {
        const int64_t to = inlay_at5(p->ys, at.n, at.c, at.z);
        int64_t where;
        y[to] = inlay_typed(maxpool_one)(p, x, at.n, at.c, at.z, &where);
        if (index)
            index[to] = where < 0 ? 0 : where;
    }
    return 0;
}

#undef INLAY_T
#undef INLAY_LOWEST
#undef inlay_typed
