/* SPDX-License-Identifier: 0BSD
 * A depthwise convolution and the 1x1 convolution of its result in one step, float32: a few pixels
 * at a time pass through scratch, and the wide tensor between the two never exists.
 *
 *   m[n][r][c][i] = clamp(d_bias[i] + sum over kh, kw: x[n][r*sh - ph + kh*dh][c*sw - pw +
 *       kw*dw][i] * d_w[kh][kw][i])
 *   y[n][r][c][o] = clamp(bias[o] + sum over i: m[n][r][c][i] * w[o][i] + q[n][r][c][o])
 *
 * x [N][H][W][C], y and q [N][OH][OW][OC]; weights and biases as in dwconv_f32.h and conv_f32.h. A
 * unit is a row of y. Operands: y, x, d_w, d_bias, w, bias, q (may be left out; may be y's own
 * memory), scratch of `chunk` pixels of C. The same numbers as the two kernels by themselves. */
#ifndef INLAY_DWPW_F32_H
#define INLAY_DWPW_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/dwconv_f32.h"

#define INLAY_dwpw_FIELDS(F, N) \
    F(int32_t, ih) /* rows of x in an image */ \
    F(int32_t, iw) /* pixels of x in a row */ \
    F(int32_t, oh) /* the same of y */ \
    F(int32_t, ow) \
    F(int32_t, kh) /* taps of the window */ \
    F(int32_t, kw) \
    F(int32_t, sh) /* strides */ \
    F(int32_t, sw) \
    F(int32_t, dh) /* dilations */ \
    F(int32_t, dw) \
    F(int32_t, ph) /* padding before the first element */ \
    F(int32_t, pw) \
    F(int32_t, channels) /* of x */ \
    F(int32_t, oc)       /* channels of y */ \
    F(int32_t, width)    /* channels of a block of packed weights: 16 or 4 */ \
    F(int32_t, chunk)    /* pixels that pass through scratch at a time */ \
    F(int32_t, d_clamp)  /* of the depthwise result: bit 0: at least d_a; bit 1: at most d_b */ \
    F(int32_t, clamp)    /* of y: bit 0: at least a; bit 1: at most b */ \
    F(float, d_a) \
    F(float, d_b) \
    F(float, a) \
    F(float, b)
INLAY_PARAMS(dwpw);

/* What the functions of dwconv_f32.h ask for, and no more: this runs for every row. */
static inline void inlay_dwpw_depthwise(const inlay_dwpw_params *p, inlay_conv_params *d)
{
    d->ih = p->ih, d->iw = p->iw, d->oh = p->oh, d->ow = p->ow;
    d->kh = p->kh, d->kw = p->kw, d->sh = p->sh, d->sw = p->sw, d->dh = p->dh, d->dw = p->dw,
    d->ph = p->ph, d->pw = p->pw;
    d->groups = p->channels, d->clamp = p->d_clamp, d->a = p->d_a, d->b = p->d_b;
}

static inline int inlay_dwpw_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    const int32_t chunks = (p->ow + p->chunk - 1) / p->chunk;
    const int32_t pix = s->ref[1].pix;
    const float *dw = (const float *)inlay_at(base, s, 2);
    const float *db = (const float *)inlay_at(base, s, 3);
    const float *w = (const float *)inlay_at(base, s, 4);
    const float *b = (const float *)inlay_at(base, s, 5);
    float *m = (float *)inlay_at(base, s, 7);
    inlay_conv_params d;
    inlay_dw t;
    inlay_tile u;
    int32_t left, right, done, i;
    inlay_dwpw_depthwise(p, &d);
    inlay_dw_setup(&d, p->channels, s->ref + 1, 0, inlay_at(base, s, 1), &t);
    inlay_tile_product(&u, m, p->channels, p->channels, s->ref[0].pix, s->ref[6].pix, p->width);
    u.clamp = p->clamp, u.lo = p->a, u.hi = p->b;
    left = inlay_dw_left(&d, &right);
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        const float *wr = inlay_dw_window(&d, &t, dw, r);
        const float *q = s->ref[6].base < 0 ? NULL : (const float *)inlay_row(base, s, 6, r);
        float *y = (float *)inlay_row(base, s, 0, r);
        for (i = 0; i < chunks; i++) {
            const int32_t from = (s->backward ? chunks - 1 - i : i) * p->chunk;
            const int32_t n = p->ow - from < p->chunk ? p->ow - from : p->chunk;
            t.origin = from;
            inlay_dw_columns(&d, &t, wr, db, m, NULL, from, from + n, left, right, pix,
                             s->backward);
            inlay_tile_pixels(&u, n, 0, w, 0, b, y + from * u.ys, q ? q + from * u.qs : q, 0, p->oc,
                              p->oc, s->backward);
        }
    }
    return 0;
}

#endif
