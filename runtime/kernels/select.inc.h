/* SPDX-License-Identifier: 0BSD
 * NonZero for one element type. Included by select.h. */

/* Writes the indices; how many there are, or -1: more than there is room for. */
static inline int32_t inlay_typed(nonzero_find)(const inlay_nonzero_params *p,
                                                int64_t *y, const INLAY_T *x)
{
    int32_t at[8] = { 0 };
    int32_t found = 0;
    int32_t d;
    for (d = 0; d < p->rank; d++)
        if (!p->n[d])
            return 0;
    do {
        if (*x++ == 0)
            continue;
        if (found == p->room)
            return -1;
        for (d = 0; d < p->rank; d++)
            y[(ptrdiff_t)d * p->room + found] = at[d];
        found++;
    } while (inlay_next_index(at, p->n, p->rank));
    return found;
}

static inline int inlay_typed(nonzero)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_nonzero_params *p = (const inlay_nonzero_params *)s->params;
    int64_t *y = (int64_t *)inlay_at(base, s, 0);
    int64_t *count = (int64_t *)inlay_at(base, s, 1);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 2);
    const int32_t found = inlay_typed(nonzero_find)(p, y, x);
    int32_t d;
    (void)r0;
    (void)r1;
    if (found < 0)
        return -INLAY_E_SHAPE;
    for (d = 0; d < p->rank; d++)
        memset(y + (ptrdiff_t)d * p->room + found, 0,
               (size_t)(p->room - found) * sizeof *y);
    if (!inlay_counted(count, found, p->room))
        return -INLAY_E_SHAPE;
    return 0;
}
