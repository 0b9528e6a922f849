/* SPDX-License-Identifier: 0BSD
 * Template of matmul.h. INLAY_T: the type of the elements; INLAY_A: that of the two factors;
 * INLAY_N(name): name_<suffix>; INLAY_ONE: makes rows of a product, inlay_mm_plain_<suffix>
 * or a faster one. */

/* Rows of one matrix of any strides. */
static inline void INLAY_N(mm_plain)(const inlay_matmul_params *p, int32_t rows,
                                     INLAY_T *y, const INLAY_T *a,
                                     const INLAY_T *b)
{
    int32_t i, j, k;
    for (i = 0; i < rows; i++) {
        INLAY_T *row = y + (int64_t)i * p->n;
        for (j = 0; j < p->n; j++)
            row[j] = 0;
        for (k = 0; k < p->k; k++) {
            const INLAY_T v = a[i * p->am + k * p->ak];
            const INLAY_T *from = b + k * p->bk;
            for (j = 0; j < p->n; j++)
                row[j] = (INLAY_T)(row[j] + v * from[j * p->bn]);
        }
    }
}

/* y = alpha y + beta c, in some rows; c: NULL, or at the first of them. */
static inline void INLAY_N(mm_finish)(const inlay_matmul_params *p,
                                      int32_t rows, INLAY_T *y,
                                      const INLAY_T *c)
{
    const INLAY_T alpha = (INLAY_T)(INLAY_A)p->alpha;
    const INLAY_T beta = (INLAY_T)(INLAY_A)p->beta;
    int32_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < p->n; j++) {
            INLAY_T *v = y + (int64_t)i * p->n + j;
            const INLAY_T add = c ? beta * c[i * p->cm + j * p->cn] : 0;
            *v = (INLAY_T)(alpha * *v + add);
        }
}

/* The next `rows` rows of the matrices in row-major order. a: their rows, where it has some for
 * each unit. */
static inline void INLAY_N(mm_rows)(const inlay_matmul_params *p,
                                    inlay_mm_batch *at, int32_t rows,
                                    INLAY_T *y, const INLAY_T *a,
                                    const INLAY_T *b, const INLAY_T *c)
{
    while (rows > 0) {
        const int32_t left = p->m - at->row;
        const int32_t n = rows < left ? rows : left;
        const INLAY_T *from = p->by_row ? a : a + at->a + at->row * p->am;
        INLAY_ONE(p, n, y, from, b + at->b);
        if (c || p->alpha != 1.0f)
            INLAY_N(mm_finish)(p, n, y, c ? c + at->c + at->row * p->cm : c);
        y += (int64_t)n * p->n;
        if (p->by_row)
            a += n * p->am;
        rows -= n;
        at->row += n;
        if (at->row == p->m)
            inlay_mm_next(p, at);
    }
}

static inline int INLAY_N(matmul)(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_matmul_params *p = (const inlay_matmul_params *)s->params;
    const INLAY_T *b = (const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *c = (const INLAY_T *)inlay_at(base, s, 3);
    inlay_mm_batch at;
    inlay_mm_seek(p, r0 * p->lines, &at);
    while (r0 < r1) {
        const int32_t units = inlay_mm_together(p, s, r0, r1, sizeof(INLAY_T));
        INLAY_N(mm_rows)
        (p, &at, units * p->lines, (INLAY_T *)inlay_row(base, s, 0, r0),
         (const INLAY_T *)inlay_row(base, s, 1, r0), b, c);
        r0 += units;
    }
    return 0;
}

#undef INLAY_T
#undef INLAY_A
#undef INLAY_N
#undef INLAY_ONE
