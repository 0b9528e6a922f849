/* SPDX-License-Identifier: 0BSD
 * Template of matmul.h. INLAY_T: the type of the elements; INLAY_A: that of the two factors;
 * inlay_typed(name): inlay_<name>_<type>; INLAY_ONE: makes rows of a product,
 * inlay_mm_plain_<type> or a faster one. */

/* row[j] += v b[j] for the n columns of a row of y; those of b are `step` apart. */
INLAY_INLINE void inlay_typed(mm_axpy)(INLAY_T *row, INLAY_T v,
                                       const INLAY_T *b, int64_t step,
                                       int32_t n)
{
    int32_t j;
    for (j = 0; j < n; j++)
        row[j] = (INLAY_T)(row[j] + v * b[j * step]);
}

/* Rows of one matrix of any strides. */
static inline void inlay_typed(mm_plain)(const inlay_matmul_params *p,
                                         int32_t rows, INLAY_T *y,
                                         const INLAY_T *a, const INLAY_T *b)
{
    const int32_t n = p->n;
    int32_t i, j, k;
    for (i = 0; i < rows; i++) {
        for (j = 0; j < n; j++)
            y[j] = 0;
        for (k = 0; k < p->k; k++) {
            const INLAY_T v = a[k * p->ak];
            const INLAY_T *row = b + k * p->bk;
            inlay_typed(mm_axpy)(y, v, row, p->bn, n);
        }
        y += n;
        a += p->am;
    }
}

/* y = alpha y + beta c in a row; c: NULL, or at its first element. */
INLAY_INLINE void inlay_typed(mm_scale)(const inlay_matmul_params *p,
                                        INLAY_T *y, const INLAY_T *c)
{
    const INLAY_T alpha = (INLAY_T)(INLAY_A)p->alpha;
    const INLAY_T beta = (INLAY_T)(INLAY_A)p->beta;
    int32_t j;
    for (j = 0; j < p->n; j++) {
        const INLAY_T add = c ? beta * c[j * p->cn] : 0;
        y[j] = (INLAY_T)(alpha * y[j] + add);
    }
}

/* The same in some rows. */
static inline void inlay_typed(mm_finish)(const inlay_matmul_params *p,
                                          int32_t rows, INLAY_T *y,
                                          const INLAY_T *c)
{
    int32_t i;
    for (i = 0; i < rows; i++) {
        inlay_typed(mm_scale)(p, y, c);
        y += p->n;
        if (c)
            c += p->cm;
    }
}

/* The next `rows` rows of the matrices in row-major order. a: their rows, where it has some for
 * each unit. */
static inline void inlay_typed(mm_rows)(const inlay_matmul_params *p,
                                        inlay_mm_batch *at, int32_t rows,
                                        INLAY_T *y, const INLAY_T *a,
                                        const INLAY_T *b, const INLAY_T *c)
{
    while (rows > 0) {
        const int32_t left = p->m - at->row;
        const int32_t n = rows < left ? rows : left;
        const INLAY_T *from = p->by_row ? a : a + at->a + at->row * p->am;
        INLAY_ONE(p, n, y, from, b + at->b);
        if (c || p->alpha != 1.0f) {
            const INLAY_T *add = c ? c + at->c + at->row * p->cm : c;
            inlay_typed(mm_finish)(p, n, y, add);
        }
        y += (int64_t)n * p->n;
        if (p->by_row)
            a += n * p->am;
        rows -= n;
        at->row += n;
        if (at->row == p->m)
            inlay_mm_next(p, at);
    }
}

static inline int inlay_typed(matmul)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_matmul_params *p = (const inlay_matmul_params *)s->params;
    const INLAY_T *b = (const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *c = (const INLAY_T *)inlay_at(base, s, 3);
    inlay_mm_batch at;
    inlay_mm_seek(p, r0 * p->lines, &at);
    while (r0 < r1) {
        const int32_t units = inlay_mm_together(p, s, r0, r1, sizeof(INLAY_T));
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r0);
        const INLAY_T *a = (const INLAY_T *)inlay_row(base, s, 1, r0);
        inlay_typed(mm_rows)(p, &at, units * p->lines, y, a, b, c);
        r0 += units;
    }
    return 0;
}

#undef INLAY_T
#undef INLAY_A
#undef inlay_typed
#undef INLAY_ONE
