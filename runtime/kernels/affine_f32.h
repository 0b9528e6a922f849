/* SPDX-License-Identifier: 0BSD
 * A scale and a shift for each channel, and an activation, float32: BatchNormalization with
 * constant statistics.
 *
 *   y[p][c] = act(x[p][c] * scale[c] + shift[c])
 *
 * x and y are images, or one row; y may be x. A unit is a row; operands: y, x, scale [channels],
 * shift [channels]. Its form in front of a 1x1 convolution passes a few pixels at a time through
 * scratch, so that y never exists. */
#ifndef INLAY_AFFINE_F32_H
#define INLAY_AFFINE_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"

#define INLAY_affine_FIELDS(F, N) \
    F(int32_t, pixels) /* of a row */ \
    F(int32_t, channels) \
    F(int32_t, clamp) /* bit 0: at least a; bit 1: at most b */ \
    F(int32_t, act)   /* INLAY_ACT_...: done by affine_act */ \
    F(float, a)       /* the two numbers of clamp or act */ \
    F(float, b)
INLAY_PARAMS(affine);

#define INLAY_AFFINE_LOOP(L) \
    for (; channels - c >= L; c += L) { \
        const inlay_f##L scale = inlay_load##L(s + c), shift = inlay_load##L(t + c), \
                         lo = inlay_splat##L(a), hi = inlay_splat##L(b); \
        for (i = 0; i < pixels; i++) { \
            inlay_f##L v = inlay_fma##L(inlay_load##L(x + i * xp + c), scale, shift); \
            if (clamp & 1) \
                v = inlay_max##L(lo, v); \
            if (clamp & 2) \
                v = inlay_min##L(hi, v); \
            inlay_store##L(y + i * yp + c, v); \
        } \
    }

/* Pixels yp and xp floats apart. */
static inline void inlay_affine_pixels(float *y, ptrdiff_t yp, const float *x, ptrdiff_t xp,
                                       int32_t pixels, int32_t channels, const float *s,
                                       const float *t, int32_t clamp, float a, float b)
{
    int32_t c = 0;
    int32_t i;
#if INLAY_VL >= 16
    INLAY_AFFINE_LOOP(16)
#endif
#if INLAY_VL >= 8
    INLAY_AFFINE_LOOP(8)
#endif
#if INLAY_VL >= 4
    INLAY_AFFINE_LOOP(4)
#endif
    INLAY_AFFINE_LOOP(1)
}

/* Pixels that stay in the cache while all their channels are gone through. */
static inline int32_t inlay_affine_some(int32_t channels)
{
    const int32_t n = 2048 / (channels + 1);
    return n > 0 ? n : 1;
}

static inline int inlay_affine_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_affine_params *p = (const inlay_affine_params *)s->params;
    const float *scale = (const float *)inlay_at(base, s, 2);
    const float *shift = (const float *)inlay_at(base, s, 3);
    const int32_t yp = s->ref[0].pix;
    const int32_t xp = s->ref[1].pix;
    const int32_t some = inlay_affine_some(p->channels);
    int32_t i, k;
    for (i = r0; i < r1; i++) {
        const int32_t r = s->backward ? r0 + r1 - 1 - i : i;
        float *y = (float *)inlay_row(base, s, 0, r);
        const float *x = (const float *)inlay_row(base, s, 1, r);
        for (k = 0; k < p->pixels; k += some)
            inlay_affine_pixels(y + (ptrdiff_t)k * yp, yp, x + (ptrdiff_t)k * xp, xp,
                                p->pixels - k < some ? p->pixels - k : some, p->channels, scale,
                                shift, p->clamp, p->a, p->b);
    }
    return 0;
}

static inline int inlay_affine_act_f32(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_affine_params *p = (const inlay_affine_params *)s->params;
    return inlay_then_act(inlay_affine_f32, base, s, r0, r1, p->pixels, p->channels, p->act, p->a,
                          p->b);
}

/* Operands: y, x, scale, shift, w, bias, q (may be left out; may be y's own memory), scratch of
 * `chunk` pixels of ic. The same numbers as the two kernels by themselves. */
#define INLAY_affine_conv_FIELDS(F, N) \
    F(int32_t, pixels)  /* of a row */ \
    F(int32_t, ic)      /* channels of x */ \
    F(int32_t, oc)      /* channels of y */ \
    F(int32_t, width)   /* channels of a block of packed weights: 16 or 4 */ \
    F(int32_t, chunk)   /* pixels that pass through scratch at a time */ \
    F(int32_t, x_clamp) /* of what is convolved: bit 0: at least x_a; bit 1: at most x_b */ \
    F(int32_t, clamp)   /* of y: bit 0: at least a; bit 1: at most b */ \
    F(int32_t, act)     /* INLAY_ACT_...: done by affine_conv_act */ \
    F(float, x_a) \
    F(float, x_b) \
    F(float, a) \
    F(float, b)
INLAY_PARAMS(affine_conv);

static inline int inlay_affine_conv_f32(void *const *base, const inlay_step *s, int32_t r0,
                                        int32_t r1)
{
    const inlay_affine_conv_params *p = (const inlay_affine_conv_params *)s->params;
    const float *scale = (const float *)inlay_at(base, s, 2);
    const float *shift = (const float *)inlay_at(base, s, 3);
    const int32_t chunks = (p->pixels + p->chunk - 1) / p->chunk;
    const int32_t xp = s->ref[1].pix;
    const float *w = (const float *)inlay_at(base, s, 4);
    const float *b = (const float *)inlay_at(base, s, 5);
    float *some = (float *)inlay_at(base, s, 7);
    inlay_tile t;
    int32_t done, i;
    inlay_tile_product(&t, some, p->ic, p->ic, s->ref[0].pix, s->ref[6].pix, p->width);
    t.clamp = p->clamp, t.lo = p->a, t.hi = p->b;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        const float *x = (const float *)inlay_row(base, s, 1, r);
        const float *q = s->ref[6].base < 0 ? NULL : (const float *)inlay_row(base, s, 6, r);
        float *y = (float *)inlay_row(base, s, 0, r);
        for (i = 0; i < chunks; i++) {
            const int32_t c = (s->backward ? chunks - 1 - i : i) * p->chunk;
            const int32_t n = p->pixels - c < p->chunk ? p->pixels - c : p->chunk;
            inlay_affine_pixels(some, p->ic, x + (ptrdiff_t)c * xp, xp, n, p->ic, scale, shift,
                                p->x_clamp, p->x_a, p->x_b);
            inlay_tile_pixels(&t, n, 0, w, 0, b, y + c * t.ys, q ? q + c * t.qs : q, 0, p->oc,
                              p->oc, s->backward);
        }
    }
    return 0;
}

static inline int inlay_affine_conv_act_f32(void *const *base, const inlay_step *s, int32_t r0,
                                            int32_t r1)
{
    const inlay_affine_conv_params *p = (const inlay_affine_conv_params *)s->params;
    return inlay_then_act(inlay_affine_conv_f32, base, s, r0, r1, p->pixels, p->oc, p->act, p->a,
                          p->b);
}

#endif
