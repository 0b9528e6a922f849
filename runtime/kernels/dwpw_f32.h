/* SPDX-License-Identifier: 0BSD
 * A depthwise convolution and the 1x1 convolution of its result in one step, float32: a few pixels at a
 * time pass through scratch, and the wide tensor between the two never exists.
 *
 *   m[n][r][c][i] = clamp(d_bias[i] + sum over kh, kw: x[n][r*sh - ph + kh*dh][c*sw - pw + kw*dw][i] * d_w[kh][kw][i])
 *   y[n][r][c][o] = clamp(bias[o] + sum over i: m[n][r][c][i] * w[o][i] + q[n][r][c][o])
 *
 * x [N][H][W][C], y and q [N][OH][OW][OC]; weights and biases as in dwconv_f32.h and conv_f32.h. A unit is
 * a row of y. Operands: y, x, d_w, d_bias, w, bias, q (may be left out; may be y's own memory), scratch
 * of `chunk` pixels of C. The same numbers as the two kernels by themselves. */
#ifndef INLAY_DWPW_F32_H
#define INLAY_DWPW_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/dwconv_f32.h"

#define INLAY_dwpw_FIELDS(F, N) \
    F(int32_t, ih)              /* rows of x in an image */ \
    F(int32_t, iw)              /* pixels of x in a row */ \
    F(int32_t, oh)              /* the same of y */ \
    F(int32_t, ow) \
    F(int32_t, kh)              /* taps of the window */ \
    F(int32_t, kw) \
    F(int32_t, sh)              /* strides */ \
    F(int32_t, sw) \
    F(int32_t, dh)              /* dilations */ \
    F(int32_t, dw) \
    F(int32_t, ph)              /* padding before the first element */ \
    F(int32_t, pw) \
    F(int32_t, channels)        /* of x */ \
    F(int32_t, oc)              /* channels of y */ \
    F(int32_t, width)           /* channels of a block of packed weights: 16 or 4 */ \
    F(int32_t, chunk)           /* pixels that pass through scratch at a time */ \
    F(int32_t, d_clamp)         /* of the depthwise result: bit 0: at least d_a; bit 1: at most d_b */ \
    F(int32_t, clamp)           /* of y: bit 0: at least a; bit 1: at most b */ \
    F(float, d_a) \
    F(float, d_b) \
    F(float, a) \
    F(float, b)
INLAY_PARAMS(dwpw);

/* Both convolutions as their own kernels know them. Field by field: this runs for every row, and a small library's
 * memset() goes byte by byte. */
static inline void inlay_dwpw_parts(const inlay_dwpw_params *p, inlay_conv_params *d, inlay_conv_params *c)
{
    d->id = d->od = d->kd = d->sd = d->dd = d->ic = d->oc = 1;
    d->pd = d->width = d->act = 0;
    d->ih = p->ih, d->iw = p->iw, d->oh = p->oh, d->ow = p->ow;
    d->kh = p->kh, d->kw = p->kw, d->sh = p->sh, d->sw = p->sw, d->dh = p->dh, d->dw = p->dw, d->ph = p->ph, d->pw = p->pw;
    d->groups = p->channels, d->clamp = p->d_clamp, d->a = p->d_a, d->b = p->d_b;
    c->pd = c->ph = c->pw = c->act = 0;
    c->id = c->od = c->kd = c->kh = c->kw = c->sd = c->sh = c->sw = c->dd = c->dh = c->dw = c->groups = 1;
    c->ih = c->oh = 1, c->iw = c->ow = p->ow;
    c->ic = p->channels, c->oc = p->oc, c->width = p->width, c->clamp = p->clamp, c->a = p->a, c->b = p->b;
}

/* The tile of the 1x1 convolution: its x is scratch, one row of pixels without gaps. */
static inline void inlay_dwpw_tile(const inlay_conv_params *c, void *const *base, const inlay_step *s, inlay_tile *t)
{
    inlay_ref ref[5];
    inlay_step one = *s;
    ref[0] = s->ref[0], ref[1] = s->ref[7], ref[2] = s->ref[4], ref[3] = s->ref[5], ref[4] = s->ref[6];
    ref[1].cap = 1, ref[1].pix = c->ic;
    one.ref = ref;
    inlay_conv_tile(c, base, &one, t);
    t->nkd = t->nkh = 1;
    t->first = t->slot = 0;
}

static inline int inlay_dwpw_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    const int32_t chunks = (p->ow + p->chunk - 1) / p->chunk, pix = s->ref[1].pix;
    const float *dw = (const float *)inlay_at(base, s, 2), *db = (const float *)inlay_at(base, s, 3);
    const float *w = (const float *)inlay_at(base, s, 4), *b = (const float *)inlay_at(base, s, 5);
    float *m = (float *)inlay_at(base, s, 7);
    inlay_conv_params d, c;
    inlay_ref middle = s->ref[7];
    inlay_conv_row row;
    inlay_dw t;
    inlay_tile u;
    int32_t left, right, done, i;
    inlay_dwpw_parts(p, &d, &c);
    middle.pix = p->channels;
    inlay_dw_setup(&d, &middle, s->ref + 1, &middle, inlay_at(base, s, 1), &t);
    inlay_dwpw_tile(&c, base, s, &u);
    left = inlay_dw_left(&d, &right);
    row.left = 0, row.tap = 0;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        const float *wr = inlay_dw_window(&d, &t, dw, r), *q = s->ref[6].base < 0 ? NULL : (const float *)inlay_row(base, s, 6, r);
        float *y = (float *)inlay_row(base, s, 0, r);
        for (i = 0; i < chunks; i++) {
            const int32_t from = (s->backward ? chunks - 1 - i : i) * p->chunk, n = p->ow - from < p->chunk ? p->ow - from : p->chunk;
            t.origin = from;
            inlay_dw_columns(&d, &t, wr, db, m, NULL, from, from + n, left, right, pix, s->backward);
            row.y = y + from * u.ys;
            row.q = q ? q + from * u.qs : q;
            row.pixels = row.right = n;
            inlay_conv_pixels(&c, &u, &row, w, b, 0, p->oc, p->channels, s->backward);
        }
    }
    return 0;
}

#endif
