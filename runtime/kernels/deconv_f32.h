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
#include "kernels/phase.h"
#include "kernels/upright.h"

/* One dimension: the phase of output place `at` (padding added). */
typedef struct inlay_phase {
    /* its first tap, which is its number among those that have taps; -1: it has none */
    int32_t first;
    /* place in x of the last of its taps, which is the first that is read */
    int32_t top;
    int32_t step;   /* from tap to tap in x */
    int32_t phases; /* that have taps */
} inlay_phase;

static inline inlay_phase inlay_phase_of(int32_t at, int32_t stride,
                                         int32_t dilation, int32_t taps)
{
    const int32_t g = inlay_gcd(stride, dilation);
    inlay_phase f;
    f.step = dilation / g;
    f.phases = stride / g;
    f.first = inlay_first_tap(at, stride, dilation);
    f.top = inlay_tap_place(at, f.first, stride, dilation);
    f.top -= (taps - 1) * f.step;
    return f;
}

/* Taps of a phase that exist in a dimension of `size` elements; *from: the first. */
static inline int32_t inlay_phase_clip(const inlay_phase *phase, int32_t taps,
                                       int32_t size, int32_t *from)
{
    *from = 0;
    if (phase->first < 0)
        return 0;
    return inlay_clip(phase->top, phase->step, taps, size, from);
}

/* The phase of the plane of output row r. */
static inline inlay_phase inlay_deconv_plane(const inlay_conv_params *p,
                                             int32_t r)
{
    const int32_t plane = r / p->oh % p->od + p->pd;
    return inlay_phase_of(plane, p->sd, p->dd, p->kd);
}

/* The phase of output row r in its plane. */
static inline inlay_phase inlay_deconv_row(const inlay_conv_params *p,
                                           int32_t r)
{
    const int32_t row = r % p->oh + p->ph;
    return inlay_phase_of(row, p->sh, p->dh, p->kh);
}

/* Planes and rows of the window of output row r that exist; returns its first tap, *phase the
 * number of its weights. */
static inline ptrdiff_t inlay_deconv_window(const inlay_conv_params *p,
                                            inlay_tile *t, int32_t r,
                                            ptrdiff_t *phase)
{
    const int32_t image = r / (p->od * p->oh);
    const inlay_phase d = inlay_deconv_plane(p, r);
    const inlay_phase h = inlay_deconv_row(p, r);
    int32_t from_d, from_h;
    t->nkd = inlay_phase_clip(&d, p->kd, p->id, &from_d);
    t->nkh = inlay_phase_clip(&h, p->kh, p->ih, &from_h);
    t->d_rows = d.step * p->ih;
    t->h_rows = h.step;
    t->first = 0;
    t->slot = 0;
    *phase = 0;
    if (!t->nkh)
        t->nkd = 0;
    if (!t->nkd)
        return 0;
    t->first = (image * p->id + d.top + from_d * d.step) * p->ih + h.top +
               from_h * h.step;
    t->slot = t->first % t->cap;
    *phase = (ptrdiff_t)d.first * h.phases + h.first;
    return from_d * t->plane_taps + from_h * t->row_taps;
}

/* The columns of one phase of a row, as pixels of a convolution of stride 1. */
static inline void inlay_deconv_pixels(const inlay_conv_params *p,
                                       const inlay_phase *column, int32_t c,
                                       inlay_tile *t, inlay_conv_row *row)
{
    const int32_t extent = (p->kw - 1) * column->step + 1;
    inlay_conv_params one = *p;
    int32_t group;
    one.ow = (p->ow - c + p->sw - 1) / p->sw;
    one.pw = -column->top; /* may be negative: columns cut off by the padding */
    one.sw = 1;
    one.dw = column->step;
    row->pixels = one.ow;
    row->left = 0;
    row->right = one.ow;
    if (column->first < 0)
        t->nkd = 0;
    else
        row->left = inlay_inside(1, one.pw, extent, p->iw, one.ow, &row->right);
    for (group = 0; group < p->groups; group++) {
        inlay_conv_pixels(&one, t, row);
        inlay_conv_next_group(p, t, row, 1);
    }
}

/* Columns c, c + sw and so on of row r. */
INLAY_APART void inlay_deconv_columns(void *const *base, const inlay_step *s,
                                      const inlay_tile *tile, int32_t r,
                                      int32_t c, ptrdiff_t tap, ptrdiff_t phase)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t padded = (p->oc + 3) / 4 * 4;
    const inlay_phase column = inlay_phase_of(c + p->pw, p->sw, p->dw, p->kw);
    inlay_tile t = *tile;
    inlay_conv_row row;
    row.tap = tap;
    row.pix = s->ref[1].pix;
    row.y = (float *)inlay_row(base, s, 0, r) + (ptrdiff_t)c * s->ref[0].pix;
    row.q = inlay_row_if(base, s, 4, r);
    if (row.q)
        row.q += (ptrdiff_t)c * s->ref[4].pix;
    phase *= column.phases;
    if (column.first > 0)
        phase += column.first;
    t.skip += phase * p->groups * padded;
    inlay_deconv_pixels(p, &column, c, &t, &row);
}

/* Rows [r0, r1) by a tile that inlay_conv_tile() made. */
INLAY_APART int inlay_deconv_by(void *const *base, const inlay_step *s,
                                inlay_tile *t, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t pix = s->ref[1].pix;
    const int32_t step = p->dw / inlay_gcd(p->sw, p->dw);
    const int adjacent = step == 1 && pix == p->ic;
    int32_t done, c;
    t->xs = pix;
    t->ys *= p->sw;
    t->qs *= p->sw;
    t->pieces = adjacent ? 1 : p->kw;
    t->run = adjacent ? p->kw * p->ic : p->ic;
    t->piece = (ptrdiff_t)step * pix;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        ptrdiff_t phase;
        const ptrdiff_t tap = inlay_deconv_window(p, t, r, &phase);
        for (c = 0; c < p->sw && c < p->ow; c++)
            inlay_deconv_columns(base, s, t, r, c, tap, phase);
    }
    return 0;
}

static inline int inlay_deconv_rows(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    inlay_tile t;
    inlay_conv_tile(base, s, &t);
    t.make = inlay_rows_run;
    return inlay_deconv_by(base, s, &t, r0, r1);
}

/* `rows` is the kernel for rows as they lie, of a step of so many operands. */
static inline int inlay_deconv_with(inlay_kernel *rows, int operands,
                                    void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t gcd = inlay_gcd(p->sh, p->dh);
    const int32_t phases = p->sh / gcd;
    inlay_slide slide;
    if (!inlay_upright(p))
        return rows(base, s, r0, r1);
    slide.height = p->oh;
    slide.rows = p->ih;
    slide.stride = p->sh;
    slide.pad = p->ph;
    slide.extent = (p->kh - 1) * (p->dh / gcd) + 1;
    slide.extent += ((phases - 1) * p->dh + p->sh - 1) / p->sh;
    slide.transposed = 1;
    slide.operands = operands;
    return inlay_upright_rows(rows, base, s, r0, r1, &slide);
}

static inline int inlay_deconv_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_deconv_with(inlay_deconv_rows, 5, base, s, r0, r1);
}

static inline int inlay_deconv_act_f32(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_deconv_f32, base, s, r0, r1, channels);
}

#endif
