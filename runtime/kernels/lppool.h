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

typedef struct inlay_lppool_params {
    int32_t id; /* up to `channels` as those of the other pools */
    int32_t ih;
    int32_t iw;
    int32_t od;
    int32_t oh;
    int32_t ow;
    int32_t kd;
    int32_t kh;
    int32_t kw;
    int32_t sd;
    int32_t sh;
    int32_t sw;
    int32_t dd;
    int32_t dh;
    int32_t dw;
    int32_t pd;
    int32_t ph;
    int32_t pw;
    int32_t channels;
    int32_t p; /* the exponent */
} inlay_lppool_params;

static inline inlay_pool_params inlay_lppool_shape(const inlay_lppool_params *p)
{
    inlay_pool_params shape = { 0 };
    shape.id = p->id;
    shape.ih = p->ih;
    shape.iw = p->iw;
    shape.od = p->od;
    shape.oh = p->oh;
    shape.ow = p->ow;
    shape.kd = p->kd;
    shape.kh = p->kh;
    shape.kw = p->kw;
    shape.sd = p->sd;
    shape.sh = p->sh;
    shape.sw = p->sw;
    shape.dd = p->dd;
    shape.dh = p->dh;
    shape.dw = p->dw;
    shape.pd = p->pd;
    shape.ph = p->ph;
    shape.pw = p->pw;
    shape.channels = p->channels;
    return shape;
}

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

/* Channel c of a pixel from the taps of its window. */
static inline float inlay_lp_pixel(void *const *base, const inlay_step *s,
                                   const inlay_lppool_params *p,
                                   const inlay_window *w, int32_t c)
{
    const ptrdiff_t xp = s->ref[1].pix;
    float sum = 0.0f;
    int32_t d, h, k;
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const int32_t row = w->first_row + d * p->dd * p->ih + h * p->dh;
            const float *at =
                (const float *)inlay_row(base, s, 1, row) + w->first_col * xp;
            for (k = 0; k < w->nw; k++)
                sum += inlay_lp_power(at[k * p->dw * xp + c], p->p);
        }
    return inlay_lp_root(sum, p->p);
}

static inline int inlay_lppool_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_lppool_params *p = (const inlay_lppool_params *)s->params;
    const inlay_pool_params shape = inlay_lppool_shape(p);
    int32_t done, i, c;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        float *row = (float *)inlay_row(base, s, 0, r);
        inlay_window w;
        inlay_pool_window_rows(&shape, r, &w);
        for (i = 0; i < p->ow; i++) {
            const int32_t col = s->backward ? p->ow - 1 - i : i;
            float *y = row + (ptrdiff_t)col * s->ref[0].pix;
            inlay_pool_window_columns(&shape, col, &w);
            for (c = 0; c < p->channels; c++)
                y[c] = inlay_lp_pixel(base, s, p, &w, c);
        }
    }
    return 0;
}

#endif
