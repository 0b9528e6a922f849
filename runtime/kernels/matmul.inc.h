/* SPDX-License-Identifier: 0BSD
 * Template of matmul.h. INLAY_T: the type of the elements; INLAY_A: that of the two factors;
 * INLAY_N(name): name_<suffix>; INLAY_ONE: multiplies two matrices, inlay_mm_plain_<suffix> or a
 * faster one. */

/* One matrix of any strides. */
static inline void INLAY_N(mm_plain)(const inlay_matmul_params *p, INLAY_T *y,
                                     const INLAY_T *a, const INLAY_T *b)
{
    int32_t i, j, k;
    for (i = 0; i < p->m; i++) {
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

/* y = alpha y + beta c; c: NULL, or at its matrix. */
static inline void INLAY_N(mm_finish)(const inlay_matmul_params *p, INLAY_T *y,
                                      const INLAY_T *c)
{
    const INLAY_T alpha = (INLAY_T)(INLAY_A)p->alpha;
    const INLAY_T beta = (INLAY_T)(INLAY_A)p->beta;
    int32_t i, j;
    for (i = 0; i < p->m; i++)
        for (j = 0; j < p->n; j++) {
            INLAY_T *v = y + (int64_t)i * p->n + j;
            const INLAY_T add = c ? beta * c[i * p->cm + j * p->cn] : 0;
            *v = (INLAY_T)(alpha * *v + add);
        }
}

/* The batch in row-major order. */
static inline int INLAY_N(matmul)(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_matmul_params *p = (const inlay_matmul_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *a = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *b = (const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *c = (const INLAY_T *)inlay_at(base, s, 3);
    inlay_mm_batch at = { { 0 }, 0, 0, 0 };
    (void)r0;
    (void)r1;
    do {
        INLAY_ONE(p, y, a + at.a, b + at.b);
        if (c || p->alpha != 1.0f)
            INLAY_N(mm_finish)(p, y, c ? c + at.c : c);
        y += (int64_t)p->m * p->n;
    } while (inlay_mm_next(p, &at));
    return 0;
}

#undef INLAY_T
#undef INLAY_A
#undef INLAY_N
#undef INLAY_ONE
