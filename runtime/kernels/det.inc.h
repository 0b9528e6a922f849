/* SPDX-License-Identifier: 0BSD
 * Determinant and inverse for one element type, by elimination with the largest pivot of the
 * column. Included by einsum.h. */

/* The row from k on with the largest element of column k. */
static inline int32_t inlay_typed(det_pivot)(const INLAY_T *m, int32_t n,
                                             int32_t k)
{
    int32_t pivot = k;
    int32_t i;
    for (i = k + 1; i < n; i++) {
        const INLAY_T value = INLAY_F(fabs)(m[i * n + k]);
        if (value > INLAY_F(fabs)(m[pivot * n + k]))
            pivot = i;
    }
    return pivot;
}

/* Exchanges elements [from, n) of two rows. */
static inline void inlay_typed(det_exchange)(INLAY_T *a, INLAY_T *b,
                                             int32_t from, int32_t n)
{
    int32_t j;
    for (j = from; j < n; j++) {
        const INLAY_T v = a[j];
        a[j] = b[j];
        b[j] = v;
    }
}

/* row -= factor * other, elements [from, n). */
static inline void inlay_typed(det_take_off)(INLAY_T *row, INLAY_T factor,
                                             const INLAY_T *other, int32_t from,
                                             int32_t n)
{
    int32_t j;
    for (j = from; j < n; j++)
        row[j] -= factor * other[j];
}

static inline INLAY_T inlay_typed(det_one)(INLAY_T *m, int32_t n)
{
    INLAY_T det = 1;
    int32_t i, k;
    for (k = 0; k < n; k++) {
        const int32_t pivot = inlay_typed(det_pivot)(m, n, k);
        INLAY_T *row = m + k * n;
        INLAY_T *best = m + pivot * n;
        if (!(INLAY_F(fabs)(best[k]) > 0))
            return 0;
        if (pivot != k) {
            det = -det;
            inlay_typed(det_exchange)(row, best, k, n);
        }
        det *= row[k];
        for (i = k + 1; i < n; i++) {
            INLAY_T *below = m + i * n;
            const INLAY_T factor = below[k] / row[k];
            inlay_typed(det_take_off)(below, factor, row, k + 1, n);
        }
    }
    return det;
}

static inline int inlay_typed(det)(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_det_params *p = (const inlay_det_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    INLAY_T *m = (INLAY_T *)inlay_at(base, s, 2);
    const size_t size = (size_t)p->n * (size_t)p->n;
    int32_t b;
    (void)r0;
    (void)r1;
    for (b = 0; b < p->batch; b++, x += size) {
        memcpy(m, x, size * sizeof *m);
        y[b] = inlay_typed(det_one)(m, p->n);
    }
    return 0;
}

/* Column k becomes that of the unit matrix in all rows but row k, which has it: what is taken off
 * a row of m is taken off that of y. */
static inline void inlay_typed(inverse_clear)(INLAY_T *y, INLAY_T *m, int32_t n,
                                              int32_t k)
{
    const INLAY_T *row = m + k * n;
    const INLAY_T *to = y + k * n;
    int32_t i;
    for (i = 0; i < n; i++) {
        INLAY_T *other = m + i * n;
        const INLAY_T factor = other[k];
        if (i == k)
            continue;
        inlay_typed(det_take_off)(other, factor, row, 0, n);
        inlay_typed(det_take_off)(y + i * n, factor, to, 0, n);
    }
}

/* By Gauss and Jordan; where there is no inverse, its elements are infinite or no numbers. */
static inline void inlay_typed(inverse_one)(INLAY_T *y, INLAY_T *m, int32_t n)
{
    int32_t i, k;
    for (i = 0; i < n * n; i++)
        y[i] = i % (n + 1) == 0;
    for (k = 0; k < n; k++) {
        const int32_t pivot = inlay_typed(det_pivot)(m, n, k);
        const INLAY_T head = m[pivot * n + k];
        INLAY_T *row = m + k * n;
        INLAY_T *to = y + k * n;
        if (pivot != k) {
            inlay_typed(det_exchange)(row, m + pivot * n, 0, n);
            inlay_typed(det_exchange)(to, y + pivot * n, 0, n);
        }
        for (i = 0; i < n; i++) {
            row[i] /= head;
            to[i] /= head;
        }
        inlay_typed(inverse_clear)(y, m, n, k);
    }
}

static inline int inlay_typed(inverse)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_det_params *p = (const inlay_det_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    INLAY_T *m = (INLAY_T *)inlay_at(base, s, 2);
    const size_t size = (size_t)p->n * (size_t)p->n;
    int32_t b;
    (void)r0;
    (void)r1;
    for (b = 0; b < p->batch; b++, x += size, y += size) {
        memcpy(m, x, size * sizeof *m);
        inlay_typed(inverse_one)(y, m, p->n);
    }
    return 0;
}
