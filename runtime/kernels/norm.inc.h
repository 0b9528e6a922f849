/* SPDX-License-Identifier: 0BSD
 * The normalizations for one element type. Included by norm.h. */

/* Sum of (x - mean)^2 (power 1: of x) over n elements `step` apart, one by one. */
static inline INLAY_T inlay_typed(sparse_sum)(const INLAY_T *x, int32_t n,
                                              ptrdiff_t step, INLAY_T mean,
                                              int power)
{
    INLAY_T sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) {
        const INLAY_T one = x[i * step];
        const INLAY_T v = one - mean;
        sum += power == 2 ? v * v : one;
    }
    return sum;
}

/* Sum of (x - mean)^power over n elements `step` apart, power 1 or 2. */
static inline INLAY_T inlay_typed(line_sum)(const INLAY_T *x, int32_t n,
                                            ptrdiff_t step, INLAY_T mean,
                                            int power)
{
    INLAY_T total = 0;
    int32_t i = 0;
    while (step == 1 && n - i >= INLAY_NORM_LANES) {
        const int32_t lines = (n - i) / INLAY_NORM_LANES;
        const int32_t some = n - i < INLAY_NORM_MOST ? lines * INLAY_NORM_LANES
                                                     : INLAY_NORM_MOST;
        total += inlay_typed(chunk_sum)(x + i, some, mean, power);
        i += some;
    }
    while (i < n) {
        const int32_t left = n - i;
        const int32_t some = left < 64 ? left : 64;
        const INLAY_T *from = x + i * step;
        total += inlay_typed(sparse_sum)(from, some, step, mean, power);
        i += some;
    }
    return total;
}

/* Operands of a unit; scale and bias are at those of its line, or NULL. */
typedef struct inlay_typed(norm_data)
{
    INLAY_T *y;
    const INLAY_T *x;
    const INLAY_T *scale;
    const INLAY_T *bias;
}
inlay_typed(norm_data);

/* y = (x - mean) * a + b of n elements that lie together, in vectors; 0: they are none. */
static inline int inlay_typed(norm_together)(INLAY_T *y, const INLAY_T *x,
                                             int32_t n, INLAY_T mean, INLAY_T a,
                                             INLAY_T b)
{
#if INLAY_SINGLE && INLAY_VL > 1
    const inlay_vf middle = inlay_all(mean);
    const inlay_vf factor = inlay_all(a);
    const inlay_vf more = inlay_all(b);
    int32_t i;
    if (n < INLAY_VL)
        return 0;
    for (i = 0; i < n; i += INLAY_VL) {
        const inlay_vf v = inlay_take_v(x + i, n - i) - middle;
        inlay_put_v(y + i, INLAY_V(fma)(v, factor, more), n - i);
    }
    return 1;
#else
    (void)y;
    (void)x;
    (void)n;
    (void)mean;
    (void)a;
    (void)b;
    return 0;
#endif
}

/* y = (x - mean) * inv * scale + bias for any line: groups of elements have one scale and one bias.
 */
static inline void inlay_typed(norm_groups)(const inlay_norm_params *p,
                                            const inlay_typed(norm_data) * d,
                                            INLAY_T mean, INLAY_T inv)
{
    const ptrdiff_t step = p->inner;
    const int32_t part = p->group;
    int32_t first, i;
    ptrdiff_t at = 0;
    for (first = 0; first < p->n; first += part) {
        const INLAY_T a = d->scale ? d->scale[at] * inv : inv;
        const INLAY_T b = d->bias ? d->bias[at] : 0;
        const int32_t left = p->n - first;
        const int32_t end = left < part ? p->n : first + part;
        at += p->along;
        if (step == 1 && inlay_typed(norm_together)(d->y + first, d->x + first,
                                                    end - first, mean, a, b))
            continue;
        for (i = first; i < end; i++) {
            const INLAY_T v = d->x[i * step] - mean;
            d->y[i * step] = v * a + b;
        }
    }
}

/* One line: statistics, then y. */
static inline void inlay_typed(norm_line)(const inlay_norm_params *p,
                                          const inlay_typed(norm_data) * d,
                                          INLAY_T *mean, INLAY_T *inv)
{
    const INLAY_T n = (INLAY_T)p->n;
    const ptrdiff_t step = p->inner;
    const int adjacent = p->group == 1 && step == 1;
    INLAY_T square;
    *mean = 0;
    if (p->center)
        *mean = inlay_typed(line_sum)(d->x, p->n, step, 0, 1) / n;
    square = inlay_typed(line_sum)(d->x, p->n, step, *mean, 2);
    square /= n;
    *inv = 1 / INLAY_F(sqrt)(square + (INLAY_T)p->epsilon);
    if (adjacent && d->scale)
        inlay_typed(norm_adjacent)(d->y, d->x, d->scale, d->bias, p->n, *mean,
                                   *inv);
    else
        inlay_typed(norm_groups)(p, d, *mean, *inv);
}

/* sum[j] += (x[j] - mean[j])^2 */
INLAY_INLINE void inlay_typed(columns_deviate)(INLAY_T *sum, const INLAY_T *x,
                                               const INLAY_T *mean)
{
    int32_t j;
    for (j = 0; j < INLAY_NORM_LANES; j++) {
        const INLAY_T v = x[j] - mean[j];
        sum[j] += v * v;
    }
}

/* Sums of (x - mean)^power of 16 lines side by side, power 1 (mean 0) or 2. */
static inline void inlay_typed(columns_sum)(INLAY_T *sum, const INLAY_T *x,
                                            const inlay_norm_params *p,
                                            const INLAY_T *mean, int power)
{
    INLAY_T part[INLAY_NORM_LANES];
    int32_t i, end;
    inlay_typed(norm_clear)(sum);
    for (i = 0; i < p->n; i = end) {
        end = p->n - i < 64 ? p->n : i + 64;
        inlay_typed(norm_clear)(part);
        for (; i < end; i++) {
            const INLAY_T *row = x + (ptrdiff_t)i * p->inner;
            if (power == 1)
                inlay_typed(norm_add)(part, row);
            else
                inlay_typed(columns_deviate)(part, row, mean);
        }
        inlay_typed(norm_add)(sum, part);
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
        INLAY_T block[INLAY_NORM_LANES];
        for (j = 0; j < INLAY_NORM_LANES; j++) {
            const INLAY_T v = d->x[row + j] - mean[j];
            block[j] = v * a[j] + b[j];
        }
        memcpy(d->y + row, block, sizeof block);
    }
}

/* 16 lines side by side (inner >= 16): channels of an image that is channels last. */
static inline void inlay_typed(norm_columns)(const inlay_norm_params *p,
                                             const inlay_typed(norm_data) * d,
                                             INLAY_T *mean, INLAY_T *inv)
{
    const INLAY_T n = (INLAY_T)p->n;
    const INLAY_T epsilon = (INLAY_T)p->epsilon;
    INLAY_T square[INLAY_NORM_LANES];
    INLAY_T a[INLAY_NORM_LANES];
    INLAY_T b[INLAY_NORM_LANES];
    int32_t j;
    inlay_typed(norm_clear)(mean);
    if (p->center)
        inlay_typed(columns_sum)(mean, d->x, p, NULL, 1);
    for (j = 0; j < INLAY_NORM_LANES; j++)
        mean[j] /= n;
    inlay_typed(columns_sum)(square, d->x, p, mean, 2);
    for (j = 0; j < INLAY_NORM_LANES; j++) {
        inv[j] = 1 / INLAY_F(sqrt)(square[j] / n + epsilon);
        a[j] = d->scale ? d->scale[j] * inv[j] : inv[j];
        b[j] = d->bias ? d->bias[j] : 0;
    }
    inlay_typed(columns_write)(p, d, mean, a, b);
}

/* The operands of line k of a block, whose first element is `first` elements from those of the
 * unit. */
static inline inlay_typed(norm_data)
    inlay_typed(norm_at)(const inlay_typed(norm_data) * all, ptrdiff_t first,
                         ptrdiff_t channel)
{
    inlay_typed(norm_data) d = *all;
    d.y += first;
    d.x += first;
    if (d.scale)
        d.scale += channel;
    if (d.bias)
        d.bias += channel;
    return d;
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
        const inlay_typed(norm_data) d =
            inlay_typed(norm_at)(all, first + k, channel);
        const int32_t left = p->inner - k;
        INLAY_T m[INLAY_NORM_LANES];
        INLAY_T v[INLAY_NORM_LANES];
        lines = 1;
        if (columns && left >= INLAY_NORM_LANES)
            lines = INLAY_NORM_LANES;
        if (lines == 1)
            inlay_typed(norm_line)(p, &d, m, v);
        else
            inlay_typed(norm_columns)(p, &d, m, v);
        if (mean)
            memcpy(mean + k, m, (size_t)lines * sizeof *m);
        if (inv)
            memcpy(inv + k, v, (size_t)lines * sizeof *v);
    }
}

static inline int inlay_typed(norm_units)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
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
            INLAY_T *own_mean = mean ? mean + at : NULL;
            INLAY_T *own_inv = inv ? inv + at : NULL;
            inlay_typed(norm_block)(p, &all, own_mean, own_inv, o);
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
        const int32_t before = c - p->before;
        const int32_t after = c + p->after;
        const int32_t first = before < 0 ? 0 : before;
        const int32_t end = after >= p->c ? p->c : after + 1;
        INLAY_T sum = 0;
        for (j = first; j < end; j++) {
            const INLAY_T v = x[j * step];
            sum += v * v;
        }
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
        for (o = 0; o < p->outer; o++) {
            for (k = 0; k < p->inner; k++)
                inlay_typed(lrn_place)(p, y + k, x + k);
            y += y_block;
            x += x_block;
        }
    }
    return 0;
}
