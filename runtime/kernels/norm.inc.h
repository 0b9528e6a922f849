/* SPDX-License-Identifier: 0BSD
 * Template of the normalizations. INLAY_T: the type; INLAY_M(f): its <math.h>; INLAY_K(name):
 * name_<suffix>. */

/* Sum of (x - m)^2 (m 0 and power 1: of x) over n <= 1024 elements that lie together, n a multiple
 * of 16. */
static inline INLAY_T INLAY_K(inlay_chunk_sum)(const INLAY_T *x, int32_t n, INLAY_T m, int power)
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
static inline INLAY_T INLAY_K(inlay_line_sum)(const INLAY_T *x, int32_t n, ptrdiff_t step,
                                              INLAY_T m, int power)
{
    INLAY_T total = 0;
    int32_t i = 0;
    while (step == 1 && n - i >= 16) {
        const int32_t k = n - i < 1024 ? (n - i) / 16 * 16 : 1024;
        total += INLAY_K(inlay_chunk_sum)(x + i, k, m, power);
        i += k;
    }
    while (i < n) {
        const int32_t end = n - i < 64 ? n : i + 64;
        INLAY_T part = 0;
        for (; i < end; i++)
            part += power == 2 ? (x[i * step] - m) * (x[i * step] - m) : x[i * step];
        total += part;
    }
    return total;
}

/* One line: statistics, then y = (x - mean) * inv * scale + bias. */
static inline void INLAY_K(inlay_norm_line)(const inlay_norm_params *p, INLAY_T *y,
                                            const INLAY_T *x, const INLAY_T *scale,
                                            const INLAY_T *bias, INLAY_T *stat)
{
    const ptrdiff_t step = p->inner;
    const int32_t part = p->group;
    const INLAY_T mean =
        p->center ? INLAY_K(inlay_line_sum)(x, p->n, step, 0, 1) / (INLAY_T)p->n : 0;
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
        const INLAY_T a = scale ? scale[g * (ptrdiff_t)p->along] * inv : inv;
        const INLAY_T b = bias ? bias[g * (ptrdiff_t)p->along] : 0;
        const int32_t end = p->n - g * part < part ? p->n : (g + 1) * part;
        for (e = g * part; e < end; e++)
            y[e * step] = (x[e * step] - mean) * a + b;
    }
}

/* 16 lines side by side (inner >= 16): channels of an image that is channels last. */
static inline void INLAY_K(inlay_norm_columns)(const inlay_norm_params *p, INLAY_T *y,
                                               const INLAY_T *x, const INLAY_T *scale,
                                               const INLAY_T *bias, INLAY_T *mean, INLAY_T *inv)
{
    INLAY_T part[16], var[16], a[16], b[16];
    int32_t i = 0;
    int32_t j;
    int32_t end;
    for (j = 0; j < 16; j++)
        mean[j] = var[j] = 0;
    while (p->center && i < p->n) {
        for (j = 0; j < 16; j++)
            part[j] = 0;
        for (end = p->n - i < 64 ? p->n : i + 64; i < end; i++)
            for (j = 0; j < 16; j++)
                part[j] += x[(ptrdiff_t)i * p->inner + j];
        for (j = 0; j < 16; j++)
            mean[j] += part[j];
    }
    for (j = 0; j < 16; j++)
        mean[j] /= (INLAY_T)p->n;
    for (i = 0; i < p->n;) {
        for (j = 0; j < 16; j++)
            part[j] = 0;
        for (end = p->n - i < 64 ? p->n : i + 64; i < end; i++)
            for (j = 0; j < 16; j++)
                part[j] += (x[(ptrdiff_t)i * p->inner + j] - mean[j]) *
                           (x[(ptrdiff_t)i * p->inner + j] - mean[j]);
        for (j = 0; j < 16; j++)
            var[j] += part[j];
    }
    for (j = 0; j < 16; j++) {
        inv[j] = 1 / INLAY_M(sqrt)(var[j] / (INLAY_T)p->n + (INLAY_T)p->epsilon);
        a[j] = scale ? scale[j] * inv[j] : inv[j];
        b[j] = bias ? bias[j] : 0;
    }
    for (i = 0; i < p->n; i++) {
        INLAY_T t[16];
        for (j = 0; j < 16; j++)
            t[j] = (x[(ptrdiff_t)i * p->inner + j] - mean[j]) * a[j] + b[j];
        memcpy(y + (ptrdiff_t)i * p->inner, t, sizeof t);
    }
}

/* The lines of a unit. */
static inline void INLAY_K(inlay_norm_unit)(const inlay_norm_params *p, INLAY_T *y, INLAY_T *mean,
                                            INLAY_T *inv, const INLAY_T *x, const INLAY_T *scale,
                                            const INLAY_T *bias)
{
    int32_t o, k;
    for (o = 0; o < p->outer; o++) {
        k = 0;
        for (; p->inner_step == 1 && p->group >= p->n && k + 16 <= p->inner; k += 16) {
            const ptrdiff_t at = (ptrdiff_t)o * p->n * p->inner + k;
            const ptrdiff_t channel = (ptrdiff_t)(o % p->period) * p->outer_step + k;
            INLAY_T m[16], v[16];
            INLAY_K(inlay_norm_columns)
            (p, y + at, x + at, scale ? scale + channel : NULL, bias ? bias + channel : NULL, m, v);
            if (mean)
                memcpy(mean + (ptrdiff_t)o * p->inner + k, m, sizeof m);
            if (inv)
                memcpy(inv + (ptrdiff_t)o * p->inner + k, v, sizeof v);
        }
        for (; k < p->inner; k++) {
            const ptrdiff_t at = (ptrdiff_t)o * p->n * p->inner + k;
            const ptrdiff_t channel =
                (ptrdiff_t)(o % p->period) * p->outer_step + (ptrdiff_t)k * p->inner_step;
            INLAY_T stat[2];
            INLAY_K(inlay_norm_line)
            (p, y + at, x + at, scale ? scale + channel : NULL, bias ? bias + channel : NULL, stat);
            if (mean)
                mean[(ptrdiff_t)o * p->inner + k] = stat[0];
            if (inv)
                inv[(ptrdiff_t)o * p->inner + k] = stat[1];
        }
    }
}

static inline int INLAY_K(inlay_norm)(void *const *base, const inlay_step *s, int32_t r0,
                                      int32_t r1)
{
    const inlay_norm_params *p = (const inlay_norm_params *)s->params;
    INLAY_T *mean = (INLAY_T *)inlay_at(base, s, 1);
    INLAY_T *inv = (INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *scale = (const INLAY_T *)inlay_at(base, s, 4);
    const INLAY_T *bias = (const INLAY_T *)inlay_at(base, s, 5);
    for (; r0 < r1; r0++)
        INLAY_K(inlay_norm_unit)
    (p, (INLAY_T *)inlay_row(base, s, 0, r0), mean, inv, (const INLAY_T *)inlay_row(base, s, 3, r0),
     scale, bias);
    return 0;
}

/* y = x / (bias + alpha / size * sum of x^2 over the window of channels)^beta; x is
 * [units][outer][c][inner]. */
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
                    const int32_t lo = c - p->before < 0 ? 0 : c - p->before;
                    const int32_t hi = c + p->after >= p->c ? p->c - 1 : c + p->after;
                    INLAY_T sum = 0;
                    INLAY_T d;
                    for (j = lo; j <= hi; j++)
                        sum += xo[j * step + k] * xo[j * step + k];
                    d = (INLAY_T)p->bias + (INLAY_T)p->scale * sum;
                    yo[c * step + k] = xo[c * step + k] * INLAY_M(pow)(d, -(INLAY_T)p->beta);
                }
        }
    }
    return 0;
}
