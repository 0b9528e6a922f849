/* SPDX-License-Identifier: 0BSD
 * ArgMax and ArgMin. Included by reduce.h. */

/* Does v come in the place of the best so far? Of equals the last does, where it is asked for. */
INLAY_INLINE int inlay_typed(arg_beats)(INLAY_T v, INLAY_T best, int last,
                                        const int largest)
{
    const int better = largest ? v > best : v < best;
    return better | (last & (v == best));
}

#if INLAY_SINGLE && INLAY_VL > 1
/* The best of all lanes becomes that of the first. */
INLAY_INLINE void inlay_typed(arg_join)(INLAY_T *best, int32_t *at, int last,
                                        const int largest)
{
    int32_t j;
    for (j = 1; j < INLAY_LANES; j++) {
        int taken = inlay_typed(arg_beats)(best[j], best[0], 0, largest);
        if (best[j] == best[0])
            taken = last ? at[j] > at[0] : at[j] < at[0];
        if (taken) {
            best[0] = best[j];
            at[0] = at[j];
        }
    }
}

/* The place of the best of n numbers side by side: that of each lane, then of all. A NaN is the
 * best where it is the first number, and nowhere else. */
INLAY_INLINE int32_t inlay_typed(arg_line)(const INLAY_T *x, int32_t n,
                                           int last, const int largest)
{
    INLAY_T best[INLAY_LANES];
    int32_t at[INLAY_LANES] = { 0 };
    int32_t i;
    for (i = 0; i < INLAY_LANES; i++)
        best[i] = x[0];
    for (i = 0; i + INLAY_LANES <= n; i += INLAY_LANES)
        inlay_arg_lanes(best, at, x + i, i, 1, last, largest);
    inlay_typed(arg_join)(best, at, last, largest);
    for (; i < n; i++)
        if (inlay_typed(arg_beats)(x[i], best[0], last, largest)) {
            best[0] = x[i];
            at[0] = i;
        }
    return at[0];
}
#else
/* The place of the best of n numbers side by side. */
INLAY_INLINE int32_t inlay_typed(arg_line)(const INLAY_T *x, int32_t n,
                                           int last, const int largest)
{
    INLAY_T best = x[0];
    int32_t at = 0;
    int32_t i;
    for (i = 1; i < n; i++)
        if (inlay_typed(arg_beats)(x[i], best, last, largest)) {
            best = x[i];
            at = i;
        }
    return at;
}
#endif

/* The same of `count` columns side by side, `step` numbers from row to row. */
INLAY_INLINE void inlay_typed(arg_columns)(int64_t *y, const INLAY_T *x,
                                           int32_t n, ptrdiff_t step,
                                           int32_t count, int last,
                                           const int largest)
{
    INLAY_T best[INLAY_ARG_COLUMNS];
    int32_t at[INLAY_ARG_COLUMNS] = { 0 };
    int32_t i, j;
    memcpy(best, x, (size_t)count * sizeof *best);
    for (i = 1; i < n; i++) {
        x += step;
#if INLAY_SINGLE && INLAY_VL > 1
        if (count == INLAY_ARG_COLUMNS) {
            inlay_arg_lanes(best, at, x, i, 0, last, largest);
            continue;
        }
#endif
        for (j = 0; j < count; j++)
            if (inlay_typed(arg_beats)(x[j], best[j], last, largest)) {
                best[j] = x[j];
                at[j] = i;
            }
    }
    for (j = 0; j < count; j++)
        y[j] = at[j];
}

/* All columns of n rows of `inner` numbers. */
INLAY_INLINE void inlay_typed(arg_block)(const inlay_arg_params *p, int64_t *y,
                                         const INLAY_T *x, const int largest)
{
    const int32_t whole = p->inner / INLAY_ARG_COLUMNS * INLAY_ARG_COLUMNS;
    int32_t k;
    for (k = 0; k < whole; k += INLAY_ARG_COLUMNS)
        inlay_typed(arg_columns)(y + k, x + k, p->n, p->inner,
                                 INLAY_ARG_COLUMNS, p->last, largest);
    if (k < p->inner)
        inlay_typed(arg_columns)(y + k, x + k, p->n, p->inner, p->inner - k,
                                 p->last, largest);
}
/* A row of y. */
INLAY_INLINE void inlay_typed(arg_row)(const inlay_arg_params *p, int64_t *y,
                                       const INLAY_T *x, const int largest)
{
    int32_t o;
    for (o = 0; o < p->outer; o++) {
        if (p->inner == 1)
            *y = inlay_typed(arg_line)(x, p->n, p->last, largest);
        else
            inlay_typed(arg_block)(p, y, x, largest);
        y += p->inner;
        x += (ptrdiff_t)p->n * p->inner;
    }
}

INLAY_INLINE int inlay_typed(arg)(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1, const int largest)
{
    const inlay_arg_params *p = (const inlay_arg_params *)s->params;
    for (; r0 < r1; r0++) {
        int64_t *y = (int64_t *)inlay_row(base, s, 0, r0);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r0);
        inlay_typed(arg_row)(p, y, x, largest);
    }
    return 0;
}

static inline int inlay_typed(argmax)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_typed(arg)(base, s, r0, r1, 1);
}

static inline int inlay_typed(argmin)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_typed(arg)(base, s, r0, r1, 0);
}
