/* SPDX-License-Identifier: 0BSD
 * ArgMax and ArgMin. Included by reduce.h. */

/* The place of the best of n elements `step` apart: the largest or smallest, of equals the first or
 * the last. */
INLAY_INLINE int32_t inlay_typed(arg_line)(const INLAY_T *x, int32_t n,
                                           ptrdiff_t step, int last,
                                           const int largest)
{
    INLAY_T best = x[0];
    int32_t at = 0;
    int32_t i;
    for (i = 1; i < n; i++) {
        const INLAY_T v = x[i * step];
        const int better = largest ? v > best : v < best;
        if (better || (last && v == best)) {
            best = v;
            at = i;
        }
    }
    return at;
}

/* A row of y. */
INLAY_INLINE void inlay_typed(arg_row)(const inlay_arg_params *p, int64_t *y,
                                       const INLAY_T *x, const int largest)
{
    int32_t o, k;
    for (o = 0; o < p->outer; o++, x += (ptrdiff_t)p->n * p->inner)
        for (k = 0; k < p->inner; k++)
            *y++ =
                inlay_typed(arg_line)(x + k, p->n, p->inner, p->last, largest);
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
