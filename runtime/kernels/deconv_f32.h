/* SPDX-License-Identifier: 0BSD
 * Transposed convolution over channels-last images, float32, dilation 1: 1 or 2 dimensions, groups.
 *
 *   y[n][r][c][g*OC + o] = clamp(b[g][o] + sum over the kh, kw with (r + ph - kh) = sh * h, (c + pw - kw) = sw * w, and i, of
 *       x[n][h][w][g*IC + i] * w[g*IC + i][o][kh][kw] + q[n][r][c][g*OC + o])
 *
 * x [N][H][W][groups*IC], y and q [N][OH][OW][groups*OC]. Outputs of the same remainder of (r + ph) by sh and
 * (c + pw) by sw (a phase) are an ordinary convolution of stride 1 with every sh-th and sw-th tap, from the
 * last to the first: kh and kw of the parameters count the taps of a phase (the window is filled
 * up with zeros to whole phases). Weights: for each row phase, column phase and group the blocks
 * of tile_f32.h; the bias group by group. Units and operands as in conv_f32.h. */
#ifndef INLAY_DECONV_F32_H
#define INLAY_DECONV_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"

/* The phase of columns whose first output is c, as a convolution: geometry for inlay_conv_pixels. */
static inline void inlay_deconv_phase(const inlay_conv_params *p, inlay_conv_params *one, int32_t c)
{
    *one = *p;
    one->ow = (p->ow - c + p->sw - 1) / p->sw;
    one->pw = p->kw - 1 - (c + p->pw) / p->sw;      /* may be negative: columns cut off by the padding */
    one->sw = 1;
}

static inline int inlay_deconv_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2), *b = (const float *)inlay_at(base, s, 3);
    const int32_t padded = (p->oc + 3) / 4 * 4, pix = s->ref[1].pix;
    int32_t done, c, g;
    inlay_tile t;
    inlay_conv_tile(p, base, s, &t);
    t.xs = pix;
    t.ys = (ptrdiff_t)p->sw * s->ref[0].pix;
    t.qs = (ptrdiff_t)p->sw * s->ref[4].pix;
    t.nkd = 1;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done, h = r % p->oh + p->ph, top = h / p->sh - (p->kh - 1);
        int32_t from;
        t.nkh = inlay_clip(top, 1, p->kh, p->ih, &from);
        t.first = t.nkh ? r / p->oh * p->ih + top + from : 0;
        t.slot = t.first % t.cap;
        for (c = 0; c < p->sw && c < p->ow; c++) {
            const ptrdiff_t phase = (h % p->sh * p->sw + (c + p->pw) % p->sw) * p->groups;
            inlay_conv_params one;
            inlay_conv_row row;
            inlay_deconv_phase(p, &one, c);
            row.tap = from * t.row_taps;
            row.pixels = one.ow;
            row.left = inlay_inside(1, one.pw, p->kw, p->iw, one.ow, &row.right);
            for (g = 0; g < p->groups; g++) {
                row.y = (float *)inlay_row(base, s, 0, r) + (ptrdiff_t)c * s->ref[0].pix + g * p->oc;
                row.q = s->ref[4].base < 0 ? NULL : (const float *)inlay_row(base, s, 4, r) + (ptrdiff_t)c * s->ref[4].pix + g * p->oc;
                t.x = (const float *)inlay_at(base, s, 1) + g * p->ic;
                inlay_conv_pixels(&one, &t, &row, w + (phase + g) * padded * t.taps, b + g * padded, 0, p->oc, pix, s->backward);
            }
        }
    }
    return 0;
}

static inline int inlay_deconv_act_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    int32_t done;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        inlay_deconv_f32(base, s, r, r + 1);
        inlay_act_rows(base, s, r, p->ow, p->groups * p->oc, p->act, p->a, p->b);
    }
    return 0;
}

#endif
