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

typedef struct inlay_dwpw_params {
    int32_t ih; /* rows of x in an image */
    int32_t iw; /* pixels of x in a row */
    int32_t oh; /* the same of y */
    int32_t ow;
    int32_t kh; /* taps of the window */
    int32_t kw;
    int32_t sh; /* strides */
    int32_t sw;
    int32_t dh; /* dilations */
    int32_t dw;
    int32_t ph; /* padding before the first element */
    int32_t pw;
    int32_t channels; /* of x */
    int32_t oc;       /* channels of y */
    int32_t width;    /* channels of a block of packed weights: 16 or 4 */
    int32_t chunk;    /* pixels that pass through scratch at a time */
    /* of the depthwise result: bit 0: at least d_a; bit 1: at most d_b */
    int32_t d_clamp;
    int32_t clamp; /* of y: bit 0: at least a; bit 1: at most b */
    float d_a;
    float d_b;
    float a;
    float b;
} inlay_dwpw_params;

/* What the functions of dwconv_f32.h ask for, and no more: this runs for every row. */
static inline void inlay_dwpw_depthwise(const inlay_dwpw_params *p,
                                        inlay_conv_params *depthwise)
{
    depthwise->ih = p->ih;
    depthwise->iw = p->iw;
    depthwise->oh = p->oh;
    depthwise->ow = p->ow;
    depthwise->kh = p->kh;
    depthwise->kw = p->kw;
    depthwise->sh = p->sh;
    depthwise->sw = p->sw;
    depthwise->dh = p->dh;
    depthwise->dw = p->dw;
    depthwise->ph = p->ph;
    depthwise->pw = p->pw;
    depthwise->groups = p->channels;
    depthwise->clamp = p->d_clamp;
    depthwise->a = p->d_a;
    depthwise->b = p->d_b;
}

/* The 1x1 convolution of what lies in scratch. */
static inline void inlay_dwpw_pointwise(void *const *base, const inlay_step *s,
                                        const float *scratch, inlay_tile *t)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    inlay_conv_scratch(base, s, scratch, t, p->channels, p->oc, p->width);
    t->clamp = p->clamp;
    t->lo = p->a;
    t->hi = p->b;
}

/* One row of y, chunk by chunk. */
static inline void inlay_dwpw_row(void *const *base, const inlay_step *s,
                                  const inlay_conv_params *depthwise,
                                  inlay_dw *first, inlay_tile *second,
                                  int32_t r)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    const int32_t chunks = (p->ow + p->chunk - 1) / p->chunk;
    const float *q = inlay_row_if(base, s, 6, r);
    float *y = (float *)inlay_row(base, s, 0, r);
    inlay_tiles call;
    int32_t i;
    call.at = 0;
    call.tap = 0;
    for (i = 0; i < chunks; i++) {
        const int32_t from = inlay_next_row(s, 0, chunks, i) * p->chunk;
        const int32_t left = p->ow - from;
        const int32_t pixels = left < p->chunk ? left : p->chunk;
        first->origin = from;
        inlay_dw_columns(depthwise, first, from, from + pixels);
        call.y = y + from * second->ys;
        call.q = q ? q + from * second->qs : NULL;
        inlay_tile_pixels(second, &call, pixels);
        inlay_tile_done(second);
    }
}

/* Rows [r0, r1), with the tile of the second convolution, whose input is in scratch. */
static inline int inlay_dwpw_by(void *const *base, const inlay_step *s,
                                float *scratch, inlay_tile *second, int32_t r0,
                                int32_t r1)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    inlay_conv_params depthwise;
    inlay_dw first;
    int32_t done;
    inlay_dwpw_depthwise(p, &depthwise);
    inlay_dw_setup(&depthwise, base, s, &first);
    first.y = scratch;
    first.ys = p->channels;
    first.q = NULL;
    first.qs = 0;
    first.apart = 1;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_dw_window(&depthwise, &first, w, r);
        inlay_dwpw_row(base, s, &depthwise, &first, second, r);
    }
    return 0;
}

static inline int inlay_dwpw_f32(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    float *scratch = (float *)inlay_at(base, s, 7);
    inlay_tile second;
    inlay_dwpw_pointwise(base, s, scratch, &second);
    return inlay_dwpw_by(base, s, scratch, &second, r0, r1);
}

#endif
