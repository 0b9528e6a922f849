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

/* The depthwise convolution of pixels c .. c + n - 1 of row r, into scratch. */
static inline void inlay_dwpw_depthwise(void *const *base, const inlay_step *s, int32_t r, int32_t c, int32_t n)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    inlay_conv_params d;
    inlay_ref ref[5];
    inlay_step one = *s;
    memset(&d, 0, sizeof d);
    d.ih = p->ih, d.iw = p->iw, d.oh = p->oh, d.ow = n;
    d.kh = p->kh, d.kw = p->kw, d.sh = p->sh, d.sw = p->sw, d.dh = p->dh, d.dw = p->dw;
    d.ph = p->ph, d.pw = p->pw - c * p->sw;
    d.groups = p->channels, d.clamp = p->d_clamp, d.a = p->d_a, d.b = p->d_b;
    ref[0] = s->ref[7];
    ref[0].cap = 1, ref[0].pix = p->channels;
    ref[1] = s->ref[1], ref[2] = s->ref[2], ref[3] = s->ref[3];
    ref[4] = s->ref[6], ref[4].base = INLAY_NONE;
    one.params = &d, one.ref = ref;
    inlay_dwconv_f32(base, &one, r, r + 1);
}

/* The 1x1 convolution of those pixels. */
static inline void inlay_dwpw_pointwise(void *const *base, const inlay_step *s, int32_t r, int32_t c, int32_t n)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    inlay_conv_params d;
    inlay_ref ref[5];
    inlay_step one = *s;
    memset(&d, 0, sizeof d);
    d.id = d.od = d.kd = d.kh = d.kw = d.sd = d.sh = d.sw = d.dd = d.dh = d.dw = d.groups = 1;
    d.ih = d.oh = s->units, d.iw = d.ow = n;
    d.ic = p->channels, d.oc = p->oc, d.width = p->width, d.clamp = p->clamp, d.a = p->a, d.b = p->b;
    ref[0] = s->ref[0];
    ref[0].off += (size_t)c * (size_t)ref[0].pix * sizeof(float);
    ref[1] = s->ref[7];
    ref[1].cap = 1, ref[1].pix = p->channels;
    ref[2] = s->ref[4], ref[3] = s->ref[5], ref[4] = s->ref[6];
    ref[4].off += (size_t)c * (size_t)ref[4].pix * sizeof(float);
    one.params = &d, one.ref = ref;
    inlay_conv_f32(base, &one, r, r + 1);
}

static inline int inlay_dwpw_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_dwpw_params *p = (const inlay_dwpw_params *)s->params;
    const int32_t chunks = (p->ow + p->chunk - 1) / p->chunk;
    int32_t done, i;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        for (i = 0; i < chunks; i++) {
            const int32_t c = (s->backward ? chunks - 1 - i : i) * p->chunk, n = p->ow - c < p->chunk ? p->ow - c : p->chunk;
            inlay_dwpw_depthwise(base, s, r, c, n);
            inlay_dwpw_pointwise(base, s, r, c, n);
        }
    }
    return 0;
}

#endif
