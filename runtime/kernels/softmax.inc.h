/* SPDX-License-Identifier: 0BSD
 * Softmax and its kin for one element type. Included by softmax.h. */

static inline int inlay_typed(softmax)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_softmax_ways ways = {
        sizeof(INLAY_T),
        inlay_typed(softmax_line),
        inlay_typed(softmax_lines),
    };
    return inlay_softmax(base, s, r0, r1, &ways);
}

static inline void inlay_typed(log_softmax_line)(void *to, const void *from,
                                                 int32_t n, ptrdiff_t step)
{
    INLAY_T *y = (INLAY_T *)to;
    const INLAY_T *x = (const INLAY_T *)from;
    const INLAY_T most = inlay_typed(line_max)(x, n, step);
    INLAY_T sum = 0;
    int32_t i;
    if (step == 1 && inlay_typed(line_log_softmax)(y, x, n, most))
        return;
    for (i = 0; i < n; i++) {
        const INLAY_T below = x[i * step] - most;
        sum += inlay_typed(softmax_exp)(below);
    }
    sum = INLAY_F(log)(sum);
    for (i = 0; i < n; i++)
        y[i * step] = x[i * step] - most - sum;
}

static inline int inlay_typed(log_softmax)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_softmax_ways ways = {
        sizeof(INLAY_T),
        inlay_typed(log_softmax_line),
        NULL,
    };
    return inlay_softmax(base, s, r0, r1, &ways);
}

/* The place of a line's first maximum. A first number that is NaN stays, others are passed over. */
static inline int32_t inlay_typed(hardmax_place)(const INLAY_T *x, int32_t n,
                                                 ptrdiff_t step)
{
    int32_t at = 0;
    int32_t i;
#if INLAY_SINGLE && INLAY_VL > 1
    if (step == 1 && x[0] == x[0])
        return inlay_line_place_v(x, n, inlay_line_max_v(x, n));
#endif
    for (i = 1; i < n; i++)
        at = x[i * step] > x[at * step] ? i : at;
    return at;
}

static inline void inlay_typed(hardmax_line)(void *to, const void *from,
                                             int32_t n, ptrdiff_t step)
{
    INLAY_T *y = (INLAY_T *)to;
    const int32_t at =
        inlay_typed(hardmax_place)((const INLAY_T *)from, n, step);
    int32_t i;
    if (step == 1)
        memset(y, 0, (size_t)n * sizeof *y);
    else
        for (i = 0; i < n; i++)
            y[i * step] = 0;
    y[at * step] = 1;
}

static inline int inlay_typed(hardmax)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_softmax_ways ways = {
        sizeof(INLAY_T),
        inlay_typed(hardmax_line),
        NULL,
    };
    return inlay_softmax(base, s, r0, r1, &ways);
}
