/* SPDX-License-Identifier: 0BSD
 * Transposed convolution over channels-last images, float32: 1 to 3 dimensions, groups, strides,
 * dilations.
 *
 *   y[n][z][r][c][g*OC + o] = clamp(b[g][o] + sum over the kd, kh, kw with (r + ph - kh * dh) = sh
 *       * h and so on, and i, of
 *       x[n][d][h][w][g*IC + i] * w[g*IC + i][o][kd][kh][kw] + q[n][z][r][c][g*OC + o])
 *
 * x [N][D][H][W][groups*IC], y and q [N][OD][OH][OW][groups*OC]. Outputs of the same remainder of
 * (r + ph) by sh (a phase; so in all dimensions) are an ordinary convolution of stride 1 with
 * every (sh / gcd)-th tap, from the last to the first, and dilation dh / gcd, gcd that of sh and
 * dh; phases that no tap reaches are the bias. kd, kh and kw of the parameters count the taps of a
 * phase (the window is filled up with zeros to whole phases). Weights: for each phase that has
 * taps, by its first tap, depth first, and for each group the blocks of tile_f32.h; the bias group
 * by group. Units and operands as in conv_f32.h. */
#ifndef INLAY_DECONV_F32_H
#define INLAY_DECONV_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/upright.h"

static inline int32_t inlay_gcd(int32_t a, int32_t b)
{
    while (b) {
        const int32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* One dimension: the phase of output place `at` (padding added). */
typedef struct inlay_phase {
    int32_t
        first; /* its first tap, which is its number among those that have taps; -1: it has none */
    int32_t top;    /* place in x of the last of its taps, which is the first that is read */
    int32_t step;   /* from tap to tap in x */
    int32_t phases; /* that have taps */
} inlay_phase;

static inline inlay_phase inlay_phase_of(int32_t at, int32_t stride, int32_t dilation, int32_t taps)
{
    const int32_t g = inlay_gcd(stride, dilation);
    inlay_phase f;
    f.step = dilation / g;
    f.phases = stride / g;
    for (f.first = f.phases - 1; f.first >= 0; f.first--)
        if (f.first * dilation % stride == at % stride)
            break;
    f.top = f.first < 0 ? 0 : (at - f.first * dilation) / stride - (taps - 1) * f.step;
    return f;
}

/* Planes and rows of the window of output row r that exist; returns its first tap, *phase the
 * number of its weights. */
static inline ptrdiff_t inlay_deconv_window(const inlay_conv_params *p, inlay_tile *t, int32_t r,
                                            ptrdiff_t *phase)
{
    const int32_t n = r / (p->od * p->oh);
    const inlay_phase d = inlay_phase_of(r / p->oh % p->od + p->pd, p->sd, p->dd, p->kd);
    const inlay_phase h = inlay_phase_of(r % p->oh + p->ph, p->sh, p->dh, p->kh);
    int32_t from_d = 0;
    int32_t from_h = 0;
    t->nkd = d.first < 0 ? 0 : inlay_clip(d.top, d.step, p->kd, p->id, &from_d);
    t->nkh = h.first < 0 ? 0 : inlay_clip(h.top, h.step, p->kh, p->ih, &from_h);
    if (!t->nkh)
        t->nkd = 0;
    t->d_rows = d.step * p->ih;
    t->h_rows = h.step;
    t->first = t->nkd ? (n * p->id + d.top + from_d * d.step) * p->ih + h.top + from_h * h.step : 0;
    t->slot = t->first % t->cap;
    *phase = t->nkd ? (ptrdiff_t)d.first * h.phases + h.first : 0;
    return t->nkd ? from_d * t->plane_taps + from_h * t->row_taps : 0;
}

/* Columns c, c + sw and so on of row r: a convolution of stride 1. */
static inline void inlay_deconv_columns(void *const *base, const inlay_step *s,
                                        const inlay_tile *tile, int32_t r, int32_t c, ptrdiff_t tap,
                                        ptrdiff_t phase)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *b = (const float *)inlay_at(base, s, 3);
    const int32_t padded = (p->oc + 3) / 4 * 4;
    const int32_t pix = s->ref[1].pix;
    const inlay_phase f = inlay_phase_of(c + p->pw, p->sw, p->dw, p->kw);
    inlay_conv_params one = *p;
    inlay_tile t = *tile;
    inlay_conv_row row;
    int32_t g;
    one.ow = (p->ow - c + p->sw - 1) / p->sw;
    one.pw = -f.top; /* may be negative: columns cut off by the padding */
    one.sw = 1;
    one.dw = f.step;
    row.tap = tap;
    row.pixels = row.right = one.ow;
    row.left = 0;
    if (f.first < 0)
        t.nkd = 0;
    else
        row.left = inlay_inside(1, one.pw, (p->kw - 1) * f.step + 1, p->iw, one.ow, &row.right);
    phase = (phase * f.phases + (f.first < 0 ? 0 : f.first)) * p->groups;
    for (g = 0; g < p->groups; g++) {
        row.y = (float *)inlay_row(base, s, 0, r) + (ptrdiff_t)c * s->ref[0].pix + g * p->oc;
        row.q = s->ref[4].base < 0 ? NULL
                                   : (const float *)inlay_row(base, s, 4, r) +
                                         (ptrdiff_t)c * s->ref[4].pix + g * p->oc;
        t.x = (const float *)inlay_at(base, s, 1) + g * p->ic;
        inlay_conv_pixels(&one, &t, &row, w + (phase + g) * padded * t.taps, b + g * padded, 0,
                          p->oc, pix, s->backward);
    }
}

static inline int inlay_deconv_rows(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t pix = s->ref[1].pix;
    const int32_t step = p->dw / inlay_gcd(p->sw, p->dw);
    int32_t done, c;
    inlay_tile t;
    inlay_conv_tile(p, base, s, &t);
    t.xs = pix;
    t.ys = (ptrdiff_t)p->sw * s->ref[0].pix;
    t.qs = (ptrdiff_t)p->sw * s->ref[4].pix;
    t.pieces = step == 1 && pix == p->ic ? 1 : p->kw;
    t.run = t.pieces == 1 ? p->kw * p->ic : p->ic;
    t.piece = (ptrdiff_t)step * pix;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        ptrdiff_t phase;
        const ptrdiff_t tap = inlay_deconv_window(p, &t, r, &phase);
        for (c = 0; c < p->sw && c < p->ow; c++)
            inlay_deconv_columns(base, s, &t, r, c, tap, phase);
    }
    return 0;
}

/* As inlay_stretch(), for rows that are made of row (r + ph) / sh of x and the `reach` - 1 before
 * it. */
static inline int32_t inlay_deconv_stretch(const inlay_step *s, int32_t reach, int32_t r0,
                                           int32_t r1, int32_t *r)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t at = s->backward ? r1 - 1 : r0;
    const int32_t row = at % p->oh;
    const int32_t begin = at / p->oh * p->ih;
    const int32_t end = begin + p->ih;
    const int32_t cap = s->ref[1].cap;
    const int32_t room = s->backward ? row + 1 : p->oh - row;
    const int32_t last = begin + (row + p->ph) / p->sh + 1;
    const int32_t first = last - reach;
    const int32_t lo = first > begin ? first : begin;
    const int32_t hi = last < end ? last : end;
    int32_t n = inlay_adjacent(s, 4, at, inlay_adjacent(s, 0, at, r1 - r0 < room ? r1 - r0 : room));
    int32_t fit = n;
    if (lo >= hi)
        return 0;
    if (s->backward) {
        const int32_t from = (hi - 1) / cap * cap;
        if (from > begin)
            fit = first < from ? 0 : row + p->ph - (from - begin + reach - 1) * p->sh + 1;
    } else {
        const int32_t to = lo / cap * cap + cap;
        if (to < end)
            fit = last > to ? 0 : (to - begin) * p->sh - p->ph - row;
    }
    n = fit < n ? fit : n;
    *r = s->backward ? at - n + 1 : at;
    return n;
}

/* As inlay_upright_rows(). */
static inline int inlay_deconv_upright(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t g = inlay_gcd(p->sh, p->dh);
    const int32_t reach =
        (p->kh - 1) * (p->dh / g) + 1 + ((p->sh / g - 1) * p->dh + p->sh - 1) / p->sh;
    const int apart = inlay_disjoint(base, s, 0, 1, 1, 1);
    inlay_lying l;
    int32_t n;
    int32_t r = 0;
    while (r0 < r1) {
        n = inlay_deconv_stretch(s, reach, apart || !s->backward ? r0 : r1 - 1,
                                 apart || s->backward ? r1 : r0 + 1, &r);
        if (n > 0) {
            const int32_t begin = r / p->oh * p->ih;
            const int32_t row = r % p->oh;
            const int32_t first = (row + p->ph) / p->sh + 1 - reach;
            const int32_t last = (row + n - 1 + p->ph) / p->sh + 1;
            const int32_t lo = first > 0 ? first : 0;
            const int32_t hi = last < p->ih ? last : p->ih;
            inlay_lie(&l, s, r, n, begin + lo, begin + hi, row + p->ph - lo * p->sh);
            inlay_deconv_rows(base, &l.step, 0, 1);
        } else {
            n = 1;
            inlay_deconv_rows(base, s, s->backward ? r1 - 1 : r0, s->backward ? r1 : r0 + 1);
        }
        if (s->backward)
            r1 -= n;
        else
            r0 += n;
    }
    return 0;
}

static inline int inlay_deconv_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    if (inlay_upright((const inlay_conv_params *)s->params))
        return inlay_deconv_upright(base, s, r0, r1);
    return inlay_deconv_rows(base, s, r0, r1);
}

static inline int inlay_deconv_act_f32(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return inlay_then_act(inlay_deconv_f32, base, s, r0, r1, p->ow, p->groups * p->oc, p->act, p->a,
                          p->b);
}

#endif
