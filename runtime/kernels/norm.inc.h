/* SPDX-License-Identifier: 0BSD
 * The normalizations for one element type. Included by norm.h. */

/* Sum of (x - m)^2 (m 0 and power 1: of x) over n <= 1024 elements that lie together, n a multiple
 * of 16. */
static inline INLAY_T inlay_typed(chunk_sum)(const INLAY_T *x, int32_t n,
                                             INLAY_T m, int power)
{
    INLAY_T l[16] = { 0 };
    int32_t i, j;
    if (power == 2)
        for (i = 0; i < n; i += 16)
            for (j = 0; j < 16; j++)
                l[j] += (x[i + j] - m) * (x[i + j] - m);
    else
        for (i = 0; i < n; i += 16)
            for (j = 0; j < 16; j++)
                l[j] += x[i + j];
    for (j = 0; j < 8; j++)
        l[j] += l[j + 8];
    for (j = 0; j < 4; j++)
        l[j] += l[j + 4];
    return (l[0] + l[2]) + (l[1] + l[3]);
}

/* Sum of (x - m)^power over n elements `step` apart, power 1 or 2. */
static inline INLAY_T inlay_typed(line_sum)(const INLAY_T *x, int32_t n,
                                            ptrdiff_t step, INLAY_T m,
                                            int power)
{
    INLAY_T total = 0;
    int32_t i = 0;
    while (step == 1 && n - i >= 16) {
        const int32_t k = n - i < 1024 ? (n - i) / 16 * 16 : 1024;
        total += inlay_typed(chunk_sum)(x + i, k, m, power);
        i += k;
    }
    while (i < n) {
        const int32_t end = n - i < 64 ? n : i + 64;
        INLAY_T part = 0;
        for (; i < end; i++)
            part += power == 2 ? (x[i * step] - m) * (x[i * step] - m)
                               : x[i * step];
        total += part;
    }
    return total;
}

/* Operands of a unit; scale and bias are at those of its line, or NULL. */
typedef struct inlay_typed(norm_data)
{
    INLAY_T *y;
    const INLAY_T *x;
    const INLAY_T *scale, *bias;
}
inlay_typed(norm_data);

/* y = (x - mean) * inv * scale + bias for a line of adjacent elements with numbers of their own; a
 * block at a time: y may be x. */
static inline void inlay_typed(norm_adjacent)(const inlay_typed(norm_data) * d,
                                              int32_t n, INLAY_T mean,
                                              INLAY_T inv)
{
    int32_t i = 0;
#ifdef INLAY_BLOCK
    for (; i + INLAY_BLOCK <= n; i += INLAY_BLOCK) {
        INLAY_T block[INLAY_BLOCK];
        int32_t j;
        for (j = 0; j < INLAY_BLOCK; j++) {
            const INLAY_T v = (d->x[i + j] - mean) * inv;
            block[j] = v * d->scale[i + j] + d->bias[i + j];
        }
        memcpy(d->y + i, block, sizeof block);
    }
#endif
    for (; i < n; i++)
        d->y[i] = (d->x[i] - mean) * inv * d->scale[i] + d->bias[i];
}

/* The same for any line: groups of elements have one scale and one bias. */
static inline void inlay_typed(norm_groups)(const inlay_norm_params *p,
                                            const inlay_typed(norm_data) * d,
                                            INLAY_T mean, INLAY_T inv)
{
    const ptrdiff_t step = p->inner;
    const int32_t part = p->group;
    int32_t g, i;
    for (g = 0; g * part < p->n; g++) {
        const ptrdiff_t at = g * (ptrdiff_t)p->along;
        const INLAY_T a = d->scale ? d->scale[at] * inv : inv;
        const INLAY_T b = d->bias ? d->bias[at] : 0;
        const int32_t end = p->n - g * part < part ? p->n : (g + 1) * part;
        for (i = g * part; i < end; i++)
            d->y[i * step] = (d->x[i * step] - mean) * a + b;
    }
}

/* One line: statistics, then y. */
static inline void inlay_typed(norm_line)(const inlay_norm_params *p,
                                          const inlay_typed(norm_data) * d,
                                          INLAY_T *mean, INLAY_T *inv)
{
    const ptrdiff_t step = p->inner;
    const int adjacent = p->group == 1 && step == 1;
    INLAY_T square;
    *mean = 0;
    if (p->center)
        *mean = inlay_typed(line_sum)(d->x, p->n, step, 0, 1) / (INLAY_T)p->n;
    square = inlay_typed(line_sum)(d->x, p->n, step, *mean, 2);
    square /= (INLAY_T)p->n;
    *inv = 1 / INLAY_F(sqrt)(square + (INLAY_T)p->epsilon);
    if (adjacent && d->scale && d->bias)
        inlay_typed(norm_adjacent)(d, p->n, *mean, *inv);
    else
        inlay_typed(norm_groups)(p, d, *mean, *inv);
}

/* Sums of (x - mean)^power of 16 lines side by side, power 1 (mean 0) or 2. */
static inline void inlay_typed(columns_sum)(INLAY_T *sum, const INLAY_T *x,
                                            const inlay_norm_params *p,
                                            const INLAY_T *mean, int power)
{
    INLAY_T part[16];
    int32_t i = 0;
    int32_t j, end;
    for (j = 0; j < 16; j++)
        sum[j] = 0;
    while (i < p->n) {
        for (j = 0; j < 16; j++)
            part[j] = 0;
        for (end = p->n - i < 64 ? p->n : i + 64; i < end; i++) {
            const INLAY_T *row = x + (ptrdiff_t)i * p->inner;
            if (power == 1)
                for (j = 0; j < 16; j++)
                    part[j] += row[j];
            else
                for (j = 0; j < 16; j++)
                    part[j] += (row[j] - mean[j]) * (row[j] - mean[j]);
        }
        for (j = 0; j < 16; j++)
            sum[j] += part[j];
    }
}

/* y = (x - mean) * a + b for n rows of 16 lines side by side; a row at a time: y may be x. */
static inline void inlay_typed(columns_write)(const inlay_norm_params *p,
                                              const inlay_typed(norm_data) * d,
                                              const INLAY_T *mean,
                                              const INLAY_T *a,
                                              const INLAY_T *b)
{
    int32_t i, j;
    for (i = 0; i < p->n; i++) {
        const ptrdiff_t row = (ptrdiff_t)i * p->inner;
        INLAY_T block[16];
        for (j = 0; j < 16; j++)
            block[j] = (d->x[row + j] - mean[j]) * a[j] + b[j];
        memcpy(d->y + row, block, sizeof block);
    }
}

/* 16 lines side by side (inner >= 16): channels of an image that is channels last. */
static inline void inlay_typed(norm_columns)(const inlay_norm_params *p,
                                             const inlay_typed(norm_data) * d,
                                             INLAY_T *mean, INLAY_T *inv)
{
    const INLAY_T n = (INLAY_T)p->n;
    INLAY_T square[16], a[16], b[16];
    int32_t j;
    for (j = 0; j < 16; j++)
        mean[j] = 0;
    if (p->center)
        inlay_typed(columns_sum)(mean, d->x, p, NULL, 1);
    for (j = 0; j < 16; j++)
        mean[j] /= n;
    inlay_typed(columns_sum)(square, d->x, p, mean, 2);
    for (j = 0; j < 16; j++) {
        inv[j] = 1 / INLAY_F(sqrt)(square[j] / n + (INLAY_T)p->epsilon);
        a[j] = d->scale ? d->scale[j] * inv[j] : inv[j];
        b[j] = d->bias ? d->bias[j] : 0;
    }
    inlay_typed(columns_write)(p, d, mean, a, b);
}

/* The lines of block o of a unit, whose operands are `all`; mean and inv: NULL, or at those of the
 * block. */
static inline void inlay_typed(norm_block)(const inlay_norm_params *p,
                                           const inlay_typed(norm_data) * all,
                                           INLAY_T *mean, INLAY_T *inv,
                                           int32_t o)
{
    const ptrdiff_t first = (ptrdiff_t)o * p->n * p->inner;
    const int columns = p->inner_step == 1 && p->group >= p->n;
    int32_t k, lines;
    for (k = 0; k < p->inner; k += lines) {
        const ptrdiff_t channel = inlay_norm_channel(p, o, k);
        inlay_typed(norm_data) d;
        INLAY_T m[16], v[16];
        d.y = all->y + first + k;
        d.x = all->x + first + k;
        d.scale = all->scale ? all->scale + channel : NULL;
        d.bias = all->bias ? all->bias + channel : NULL;
        lines = columns && k + 16 <= p->inner ? 16 : 1;
        if (lines == 16)
            inlay_typed(norm_columns)(p, &d, m, v);
        else
            inlay_typed(norm_line)(p, &d, m, v);
        if (mean)
            memcpy(mean + k, m, (size_t)lines * sizeof *m);
        if (inv)
            memcpy(inv + k, v, (size_t)lines * sizeof *v);
    }
}

static inline int inlay_typed(norm)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_norm_params *p = (const inlay_norm_params *)s->params;
    INLAY_T *mean = (INLAY_T *)inlay_at(base, s, 1);
    INLAY_T *inv = (INLAY_T *)inlay_at(base, s, 2);
    inlay_typed(norm_data) all;
    int32_t o;
    all.scale = (const INLAY_T *)inlay_at(base, s, 4);
    all.bias = (const INLAY_T *)inlay_at(base, s, 5);
    for (; r0 < r1; r0++) {
        all.y = (INLAY_T *)inlay_row(base, s, 0, r0);
        all.x = (const INLAY_T *)inlay_row(base, s, 3, r0);
        for (o = 0; o < p->outer; o++) {
            const ptrdiff_t at = (ptrdiff_t)o * p->inner;
            inlay_typed(norm_block)(p, &all, mean ? mean + at : NULL,
                                    inv ? inv + at : NULL, o);
        }
    }
    return 0;
}

/* Channels at one place, `inner` elements apart. */
static inline void inlay_typed(lrn_place)(const inlay_lrn_params *p, INLAY_T *y,
                                          const INLAY_T *x)
{
    const ptrdiff_t step = p->inner;
    const INLAY_T power = -(INLAY_T)p->beta;
    int32_t c, j;
    for (c = 0; c < p->c; c++) {
        const int32_t first = c - p->before < 0 ? 0 : c - p->before;
        const int32_t end = c + p->after >= p->c ? p->c : c + p->after + 1;
        INLAY_T sum = 0;
        for (j = first; j < end; j++)
            sum += x[j * step] * x[j * step];
        sum = (INLAY_T)p->bias + (INLAY_T)p->scale * sum;
        y[c * step] = x[c * step] * INLAY_F(pow)(sum, power);
    }
}

static inline int inlay_typed(lrn)(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_lrn_params *p = (const inlay_lrn_params *)s->params;
    const ptrdiff_t block = (ptrdiff_t)p->c * p->inner;
    const ptrdiff_t y_block = p->by_pixel ? s->ref[0].pix : block;
    const ptrdiff_t x_block = p->by_pixel ? s->ref[1].pix : block;
    for (; r0 < r1; r0++) {
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r0);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r0);
        int32_t o, k;
        for (o = 0; o < p->outer; o++)
            for (k = 0; k < p->inner; k++)
                inlay_typed(lrn_place)(p, y + o * y_block + k,
                                       x + o * x_block + k);
    }
    return 0;
}
