/* SPDX-License-Identifier: 0BSD
 * Template of the walk of a reduction: elements of INLAY_T are gathered in accumulators of INLAY_A.
 * INLAY_R(name): the names of the functions; those that the walk calls are start, take (an
 * element), join (another accumulator) and finish. `op` is a constant wherever these functions
 * stand. INLAY_EXTREMES: both are float, and there are vectors. */

/* All accumulators begin. */
INLAY_INLINE void INLAY_R(clear)(INLAY_A *acc, const int op)
{
    int32_t j;
    for (j = 0; j < INLAY_LANES; j++)
        acc[j] = INLAY_R(start)(op);
}

/* acc[j] takes x[j]. */
INLAY_INLINE void INLAY_R(lane)(INLAY_A *acc, const INLAY_T *x, int32_t n,
                                const int op)
{
    int32_t j;
#ifdef INLAY_EXTREMES
    if (n == INLAY_LANES && op >= INLAY_REDUCE_MAX) {
        inlay_extremes(acc, x, op);
        return;
    }
#endif
    for (j = 0; j < n; j++)
        acc[j] = INLAY_R(take)(acc[j], (INLAY_A)x[j], op);
}

/* acc[j] takes other[j]. */
INLAY_INLINE void INLAY_R(joined)(INLAY_A *acc, const INLAY_A *other, int32_t n,
                                  const int op)
{
    int32_t j;
    for (j = 0; j < n; j++)
        acc[j] = INLAY_R(join)(acc[j], other[j], op);
}

/* acc[j] takes x[j], x[stride + j] and so on. */
INLAY_INLINE void INLAY_R(rows)(INLAY_A *acc, const INLAY_T *x, int32_t n,
                                int32_t rows, ptrdiff_t stride, const int op)
{
    int32_t i;
    for (i = 0; i < rows; i++) {
        INLAY_R(lane)(acc, x, n, op);
        x += stride;
    }
}

/* acc[j % INLAY_LANES] takes x[j]. */
INLAY_INLINE void INLAY_R(line)(INLAY_A *acc, const INLAY_T *x, int32_t n,
                                const int op)
{
    int32_t i, j;
    for (i = 0; i + INLAY_LANES <= n; i += INLAY_LANES)
        INLAY_R(lane)(acc, x + i, INLAY_LANES, op);
    for (j = 0; i < n; i++, j++)
        acc[j] = INLAY_R(take)(acc[j], (INLAY_A)x[i], op);
}

/* total[j] takes the rows of column j of x, a chunk at a time. */
INLAY_INLINE void INLAY_R(chunks)(INLAY_A *total, const INLAY_T *x, int32_t n,
                                  int32_t rows, ptrdiff_t stride, const int op)
{
    int32_t i;
    for (i = 0; i < rows; i += INLAY_CHUNK) {
        const int32_t left = rows - i;
        const int32_t some = left < INLAY_CHUNK ? left : INLAY_CHUNK;
        const INLAY_T *from = x + i * stride;
        INLAY_A acc[INLAY_LANES];
        INLAY_R(clear)(acc, op);
        if (n == INLAY_LANES)
            INLAY_R(rows)(acc, from, INLAY_LANES, some, stride, op);
        else
            INLAY_R(rows)(acc, from, n, some, stride, op);
        INLAY_R(joined)(total, acc, n, op);
    }
}

/* n <= INLAY_LANES columns beginning at x. */
INLAY_INLINE void INLAY_R(columns)(const inlay_reduce_params *p, INLAY_T *y,
                                   const INLAY_T *x, int32_t n, const int op)
{
    const int32_t last = p->reduced - 1;
    const int32_t rows = p->nr[last];
    const ptrdiff_t stride = p->sr[last];
    INLAY_A total[INLAY_LANES];
    int32_t at[8] = { 0 };
    ptrdiff_t offset = 0;
    int32_t j;
    for (j = 0; j < n; j++)
        total[j] = INLAY_R(start)(op);
    if (p->count)
        do
            INLAY_R(chunks)(total, x + offset, n, rows, stride, op);
        while (inlay_walk(at, p->nr, p->sr, last, &offset));
    for (j = 0; j < n; j++)
        y[j] = (INLAY_T)INLAY_R(finish)(total[j], p->count, op);
}

/* Several lines of one element's worth: what n adjacent elements come to. */
INLAY_INLINE INLAY_A INLAY_R(some)(const INLAY_T *x, int32_t n, const int op)
{
#ifdef INLAY_EXTREMES
    return op < INLAY_REDUCE_MAX ? inlay_reduce_line(x, n, op)
                                 : inlay_extreme_of_line(x, n, op);
#else
    INLAY_A acc[INLAY_LANES];
    int32_t half;
    INLAY_R(clear)(acc, op);
    INLAY_R(line)(acc, x, n, op);
    for (half = INLAY_LANES / 2; half; half /= 2)
        INLAY_R(joined)(acc, acc + half, half, op);
    return acc[0];
#endif
}

/* `total` and what a line of n elements comes to, in pieces. */
INLAY_INLINE INLAY_A INLAY_R(pieces)(INLAY_A total, const INLAY_T *x, int32_t n,
                                     const int op)
{
    const int32_t most = INLAY_LANES * INLAY_CHUNK;
    int32_t i;
    for (i = 0; i < n; i += most) {
        const int32_t left = n - i;
        const int32_t count = left < most ? left : most;
        const INLAY_A some = INLAY_R(some)(x + i, count, op);
        total = INLAY_R(join)(total, some, op);
    }
    return total;
}

/* One element: lines of nr[last] elements. */
INLAY_INLINE void INLAY_R(lines)(const inlay_reduce_params *p, INLAY_T *y,
                                 const INLAY_T *x, const int op)
{
    const int32_t last = p->reduced - 1;
    const int32_t run = p->nr[last];
    INLAY_A total = INLAY_R(start)(op);
    int32_t at[8] = { 0 };
    ptrdiff_t offset = 0;
    if (p->count)
        do
            total = INLAY_R(pieces)(total, x + offset, run, op);
        while (inlay_walk(at, p->nr, p->sr, last, &offset));
    *y = (INLAY_T)INLAY_R(finish)(total, p->count, op);
}

/* The innermost loop of y; x: at the elements of its first one. Returns where y ends. */
INLAY_INLINE INLAY_T *INLAY_R(innermost)(const inlay_reduce_params *p,
                                         INLAY_T *y, const INLAY_T *x,
                                         const int op)
{
    const int32_t last = p->kept - 1;
    const int32_t size = p->nk[last];
    const int32_t step = p->sk[last];
    int32_t j, n;
    for (j = 0; j < size; j += n) {
        const INLAY_T *from = x + j * step;
        const int32_t left = size - j;
        n = left < INLAY_LANES ? left : INLAY_LANES;
        if (!p->columns)
            n = 1;
        if (p->columns)
            INLAY_R(columns)(p, y, from, n, op);
        else
            INLAY_R(lines)(p, y, from, op);
        y += n;
    }
    return y;
}

/* A row of y: its loops are those of a row of x. */
INLAY_INLINE void INLAY_R(row)(const inlay_reduce_params *p, INLAY_T *y,
                               const INLAY_T *x, const int op)
{
    int32_t at[8] = { 0 };
    ptrdiff_t offset = 0;
    do
        y = INLAY_R(innermost)(p, y, x + offset, op);
    while (inlay_walk(at, p->nk, p->sk, p->kept - 1, &offset));
}

INLAY_INLINE int INLAY_R(reduce)(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1, const int op)
{
    inlay_reduce_params made;
    const inlay_reduce_params *p = inlay_reduce_loops(base, s, &made);
    if (!p)
        return -INLAY_E_SHAPE;
    for (; r0 < r1; r0++) {
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r0);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r0);
        INLAY_R(row)(p, y, x, op);
    }
    return 0;
}

#undef INLAY_A
#undef INLAY_R
