/* SPDX-License-Identifier: 0BSD
 * Template of the normalizations. INLAY_T: the type; INLAY_M(f): its <math.h>; INLAY_K(name): name_<suffix>. */

/* Sum of (x - m)^power over n elements `step` apart, power 1 or 2; 16 accumulators, in chunks. */
static inline INLAY_T INLAY_K(inlay_line_sum)(const INLAY_T *x, int32_t n, ptrdiff_t step, INLAY_T m, int power)
{
    INLAY_T total = 0, l[16];
    int32_t i = 0, j, end;
    while (i < n) {
        for (j = 0; j < 16; j++) l[j] = 0;
        end = n - i < 1024 ? n : i + 1024;
        if (step == 1) {
            if (power == 2) for (; i + 16 <= end; i += 16) for (j = 0; j < 16; j++) l[j] += (x[i + j] - m) * (x[i + j] - m);
            else for (; i + 16 <= end; i += 16) for (j = 0; j < 16; j++) l[j] += x[i + j];
        }
        for (j = 0; i < end; i++, j = (j + 1) % 16) l[j] += power == 2 ? (x[i * step] - m) * (x[i * step] - m) : x[i * step];
        for (j = 8; j; j /= 2) { int32_t k; for (k = 0; k < j; k++) l[k] += l[k + j]; }
        total += l[0];
    }
    return total;
}

/* One line: statistics, then y = (x - mean) * inv * scale + bias. */
static inline void INLAY_K(inlay_norm_line)(const inlay_norm_params *p, INLAY_T *y, const INLAY_T *x, const INLAY_T *scale, const INLAY_T *bias, INLAY_T *stat)
{
    const ptrdiff_t step = p->inner;
    const int32_t part = p->group;
    const INLAY_T mean = p->center ? INLAY_K(inlay_line_sum)(x, p->n, step, 0, 1) / (INLAY_T)p->n : 0;
    const INLAY_T var = INLAY_K(inlay_line_sum)(x, p->n, step, mean, 2) / (INLAY_T)p->n;
    const INLAY_T inv = 1 / INLAY_M(sqrt)(var + (INLAY_T)p->epsilon);
    int32_t e, g;
    stat[0] = mean;
    stat[1] = inv;
    if (part == 1 && step == 1 && scale && bias) {
        INLAY_MAP(INLAY_T, y, p->n, z = (x[i] - mean) * inv * scale[i] + bias[i];);
        return;
    }
    for (g = 0; g * part < p->n; g++) {
        const INLAY_T a = scale ? scale[g * (ptrdiff_t)p->along] * inv : inv, b = bias ? bias[g * (ptrdiff_t)p->along] : 0;
        const int32_t end = p->n - g * part < part ? p->n : (g + 1) * part;
        for (e = g * part; e < end; e++) y[e * step] = (x[e * step] - mean) * a + b;
    }
}

static inline int INLAY_K(inlay_norm)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_norm_params *p = (const inlay_norm_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0), *mean = (INLAY_T *)inlay_at(base, s, 1), *inv = (INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 3), *scale = (const INLAY_T *)inlay_at(base, s, 4), *bias = (const INLAY_T *)inlay_at(base, s, 5);
    int32_t o, k;
    (void)r0, (void)r1;
    for (o = 0; o < p->outer; o++)
        for (k = 0; k < p->inner; k++) {
            const ptrdiff_t at = (ptrdiff_t)o * p->n * p->inner + k, channel = (ptrdiff_t)(o % p->period) * p->outer_step + (ptrdiff_t)k * p->inner_step;
            INLAY_T stat[2];
            INLAY_K(inlay_norm_line)(p, y + at, x + at, scale ? scale + channel : NULL, bias ? bias + channel : NULL, stat);
            if (mean) mean[(ptrdiff_t)o * p->inner + k] = stat[0];
            if (inv) inv[(ptrdiff_t)o * p->inner + k] = stat[1];
        }
    return 0;
}

/* y = x / (bias + alpha / size * sum of x^2 over the window of channels)^beta; x is [units][outer][c][inner]. */
static inline int INLAY_K(inlay_lrn)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_lrn_params *p = (const inlay_lrn_params *)s->params;
    const ptrdiff_t step = p->inner;
    for (; r0 < r1; r0++) {
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r0);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r0);
        int32_t o, k, c, j;
        for (o = 0; o < p->outer; o++) {
            const ptrdiff_t block = p->by_pixel ? 0 : (ptrdiff_t)p->c * p->inner;
            INLAY_T *yo = y + o * (p->by_pixel ? (ptrdiff_t)s->ref[0].pix : block);
            const INLAY_T *xo = x + o * (p->by_pixel ? (ptrdiff_t)s->ref[1].pix : block);
            for (k = 0; k < p->inner; k++)
                for (c = 0; c < p->c; c++) {
                    const int32_t lo = c - p->before < 0 ? 0 : c - p->before, hi = c + p->after >= p->c ? p->c - 1 : c + p->after;
                    INLAY_T sum = 0, d;
                    for (j = lo; j <= hi; j++) sum += xo[j * step + k] * xo[j * step + k];
                    d = (INLAY_T)p->bias + (INLAY_T)p->scale * sum;
                    yo[c * step + k] = xo[c * step + k] * INLAY_M(pow)(d, -(INLAY_T)p->beta);
                }
        }
    }
    return 0;
}
