/* SPDX-License-Identifier: 0BSD
 * Pooling by p-norm over channels-last float32 images, 1 to 3 dimensions:
 *
 *   y = (sum of |x|^p)^(1/p) over the taps that exist
 *
 * x [N][D][H][W][C], y [N][OD][OH][OW][C]. Units are rows of y; operands: y, x. Pixels go from the
 * first to the last, or back, as in pool.h. */
#ifndef INLAY_LPPOOL_H
#define INLAY_LPPOOL_H

#include "kernels/pool.h"

static inline float inlay_lp_power(float v, int32_t p)
{
    if (p == 1)
        return fabsf(v);
    return p == 2 ? v * v : powf(fabsf(v), (float)p);
}

static inline float inlay_lp_root(float sum, int32_t p)
{
    if (p == 1)
        return sum;
    return p == 2 ? sqrtf(sum) : powf(sum, 1.0f / (float)p);
}

/* Adds the taps of a row of a window, `step` floats from one to the next. */
static inline float inlay_lp_taps(float sum, const float *x, int32_t taps,
                                  ptrdiff_t step, int32_t exponent)
{
    int32_t k;
    for (k = 0; k < taps; k++) {
        sum += inlay_lp_power(*x, exponent);
        x += step;
    }
    return sum;
}

/* Channel c of a pixel from the taps of its window. */
static inline float inlay_lp_pixel(void *const *base, const inlay_step *s,
                                   const inlay_window *w, int32_t c)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pixel = s->ref[1].pix;
    const ptrdiff_t first = w->first_col * pixel + c;
    const ptrdiff_t step = p->dw * pixel;
    float sum = 0.0f;
    int32_t d, h;
    for (d = 0; d < w->nd; d++) {
        int32_t row = w->first_row + d * p->dd * p->ih;
        for (h = 0; h < w->nh; h++) {
            const float *x = (const float *)inlay_row(base, s, 1, row);
            sum = inlay_lp_taps(sum, x + first, w->nw, step, p->exponent);
            row += p->dh;
        }
    }
    return inlay_lp_root(sum, p->exponent);
}

/* All channels of a pixel. */
static inline void inlay_lppool_pixel(void *const *base, const inlay_step *s,
                                      const inlay_window *w, void *to)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    float *y = (float *)to;
    int32_t c;
    for (c = 0; c < p->channels; c++)
        y[c] = inlay_lp_pixel(base, s, w, c);
}

static inline int inlay_lppool_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_pool_rows(base, s, r0, r1, sizeof(float), inlay_lppool_pixel,
                           NULL);
}

#endif
