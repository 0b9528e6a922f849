/* SPDX-License-Identifier: 0BSD
 * Einsum for one element type; sums are made in INLAY_WIDE. Included by einsum.h. */

#if !defined INLAY_BITS || INLAY_BITS >= 32

/* y[j] += v * x[j] */
static inline void inlay_typed(einsum_add)(INLAY_T *y, INLAY_WIDE v,
                                           const INLAY_T *x, int32_t n)
{
    int32_t j;
    for (j = 0; j < n; j++)
        y[j] = (INLAY_T)((INLAY_WIDE)y[j] + v * (INLAY_WIDE)x[j]);
}

/* A line of the result where b is contiguous along it: then the sums are a vector. */
static inline void inlay_typed(einsum_line)(const inlay_einsum_params *p,
                                            INLAY_T *y, const INLAY_T *a,
                                            const INLAY_T *b)
{
    const int32_t n = p->nk[p->kept - 1];
    int32_t at[8] = { 0 };
    ptrdiff_t of_a = 0;
    ptrdiff_t of_b = 0;
    int32_t j;
    for (j = 0; j < n; j++)
        y[j] = 0;
    do
        inlay_typed(einsum_add)(y, (INLAY_WIDE)a[of_a], b + of_b, n);
    while (inlay_walk2(at, p->nr, p->ar, p->br, p->summed, &of_a, &of_b));
}

/* The sum of n products of adjacent elements, n a multiple of 8. */
static inline INLAY_WIDE inlay_typed(einsum_eights)(const INLAY_T *a,
                                                    const INLAY_T *b, int32_t n)
{
    INLAY_WIDE part[8] = { 0 };
    int32_t i, j;
    for (i = 0; i < n; i += 8)
        for (j = 0; j < 8; j++) {
            const INLAY_WIDE v = (INLAY_WIDE)a[i + j];
            part[j] += v * (INLAY_WIDE)b[i + j];
        }
    for (j = 0; j < 4; j++)
        part[j] += part[j + 4];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/* The sum of n products of elements a_step and b_step apart. */
static inline INLAY_WIDE inlay_typed(einsum_run)(const INLAY_T *a,
                                                 const INLAY_T *b, int32_t n,
                                                 ptrdiff_t a_step,
                                                 ptrdiff_t b_step)
{
    INLAY_WIDE sum = 0;
    int32_t i = 0;
    if (a_step == 1 && b_step == 1 && n >= 8) {
        i = n / 8 * 8;
        sum = inlay_typed(einsum_eights)(a, b, i);
    }
    for (; i < n; i++) {
        const INLAY_WIDE v = (INLAY_WIDE)a[i * a_step];
        sum += v * (INLAY_WIDE)b[i * b_step];
    }
    return sum;
}

/* One element of the result. */
static inline INLAY_T inlay_typed(einsum_sum)(const inlay_einsum_params *p,
                                              const INLAY_T *a,
                                              const INLAY_T *b)
{
    const int32_t last = p->summed - 1;
    const int32_t n = p->nr[last];
    const ptrdiff_t a_step = p->ar[last];
    const ptrdiff_t b_step = p->br[last];
    int32_t at[8] = { 0 };
    ptrdiff_t of_a = 0;
    ptrdiff_t of_b = 0;
    INLAY_WIDE sum = 0;
    do
        sum += inlay_typed(einsum_run)(a + of_a, b + of_b, n, a_step, b_step);
    while (inlay_walk2(at, p->nr, p->ar, p->br, last, &of_a, &of_b));
    return (INLAY_T)sum;
}

/* The innermost loop of the result; a and b: at its first element. */
static inline void inlay_typed(einsum_last)(const inlay_einsum_params *p,
                                            INLAY_T *y, const INLAY_T *a,
                                            const INLAY_T *b)
{
    const int32_t last = p->kept - 1;
    const ptrdiff_t a_step = p->ak[last];
    const ptrdiff_t b_step = p->bk[last];
    int32_t j;
    if (a_step == 0 && b_step == 1) {
        inlay_typed(einsum_line)(p, y, a, b);
        return;
    }
    for (j = 0; j < p->nk[last]; j++) {
        y[j] = inlay_typed(einsum_sum)(p, a, b);
        a += a_step;
        b += b_step;
    }
}

static inline int inlay_typed(einsum)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_einsum_params *p = (const inlay_einsum_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *a = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *b = (const INLAY_T *)inlay_at(base, s, 2);
    const int32_t last = p->kept - 1;
    int32_t at[8] = { 0 };
    ptrdiff_t of_a = 0;
    ptrdiff_t of_b = 0;
    (void)r0;
    (void)r1;
    do {
        inlay_typed(einsum_last)(p, y, a + of_a, b + of_b);
        y += p->nk[last];
    } while (inlay_walk2(at, p->nk, p->ak, p->bk, last, &of_a, &of_b));
    return 0;
}

#endif
