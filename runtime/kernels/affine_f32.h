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

typedef struct inlay_affine_params {
    int32_t pixels; /* of a row */
    int32_t channels;
    int32_t clamp; /* bit 0: at least a; bit 1: at most b */
    int32_t act;   /* INLAY_ACT_...: done by affine_act */
    float a;       /* the two numbers of clamp or act */
    float b;
} inlay_affine_params;

/* The map of the channels, and how pixels lie. */
typedef struct inlay_affine {
    const float *scale;
    const float *shift;
    int32_t channels;
    int32_t clamp;
    float lo;
    float hi;
    ptrdiff_t ys; /* floats from pixel to pixel */
    ptrdiff_t xs;
} inlay_affine;

#define INLAY_FAMILY "affine_f32.inc.h"
#include "each_width.inc.h"
#undef INLAY_FAMILY

static inline void inlay_affine_pixels(const inlay_affine *m, float *y,
                                       const float *x, int32_t pixels)
{
    int32_t c = 0;
#if INLAY_VL >= 16
    c = inlay_affine16(m, y, x, pixels, c);
#endif
#if INLAY_VL >= 8
    c = inlay_affine8(m, y, x, pixels, c);
#endif
#if INLAY_HAS_4
    c = inlay_affine4(m, y, x, pixels, c);
#endif
    inlay_affine1(m, y, x, pixels, c);
}

/* Pixels that stay in the cache while all their channels are gone through. */
static inline int32_t inlay_affine_some(int32_t channels)
{
    const int32_t n = 2048 / (channels + 1);
    return n > 0 ? n : 1;
}

/* One row, so many pixels at a time. */
static inline void inlay_affine_row(const inlay_affine *m, float *y,
                                    const float *x, int32_t pixels)
{
    const int32_t some = inlay_affine_some(m->channels);
    int32_t i;
    for (i = 0; i < pixels; i += some) {
        const int32_t left = pixels - i;
        const int32_t n = left < some ? left : some;
        inlay_affine_pixels(m, y + i * m->ys, x + i * m->xs, n);
    }
}

static inline int inlay_affine_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_affine_params *p = (const inlay_affine_params *)s->params;
    inlay_affine m;
    int32_t done;
    m.scale = (const float *)inlay_at(base, s, 2);
    m.shift = (const float *)inlay_at(base, s, 3);
    m.channels = p->channels;
    m.clamp = p->clamp;
    m.lo = p->a;
    m.hi = p->b;
    m.ys = s->ref[0].pix;
    m.xs = s->ref[1].pix;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        float *y = (float *)inlay_row(base, s, 0, r);
        const float *x = (const float *)inlay_row(base, s, 1, r);
        inlay_affine_row(&m, y, x, p->pixels);
    }
    return 0;
}

static inline int inlay_affine_act_f32(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_affine_params *p = (const inlay_affine_params *)s->params;
    const inlay_act_pass pass =
        inlay_act_pass_of(p->pixels, p->channels, p->act, p->a, p->b);
    return inlay_then_act(inlay_affine_f32, base, s, r0, r1, &pass);
}

/* Images that lie plane by plane, [images][channels][n]: operands as above, one unit. */
typedef struct inlay_affine_planes_params {
    int32_t images;
    int32_t channels;
    int32_t n;     /* elements of a plane */
    int32_t clamp; /* bit 0: at least a; bit 1: at most b */
    float a;
    float b;
} inlay_affine_planes_params;

/* One plane; the scale and the shift are those of its channel. */
static inline void inlay_affine_plane(const inlay_affine_planes_params *p,
                                      float *y, const float *x, float scale,
                                      float shift)
{
    int32_t i;
#if INLAY_VL > 1
    const inlay_vf factor = inlay_all(scale);
    const inlay_vf more = inlay_all(shift);
    for (i = 0; i < p->n; i += INLAY_VL) {
        const int32_t left = p->n - i;
        inlay_vf v = inlay_take_v(x + i, left);
        v = INLAY_V(fma)(v, factor, more);
        if (p->clamp & 1)
            v = INLAY_V(max)(inlay_all(p->a), v);
        if (p->clamp & 2)
            v = INLAY_V(min)(inlay_all(p->b), v);
        inlay_put_v(y + i, v, left);
    }
#else
    for (i = 0; i < p->n; i++) {
        float v = inlay_fma1(x[i], scale, shift);
        if (p->clamp & 1)
            v = inlay_max1(p->a, v);
        if (p->clamp & 2)
            v = inlay_min1(p->b, v);
        y[i] = v;
    }
#endif
}

static inline int inlay_affine_planes_f32(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    const inlay_affine_planes_params *p =
        (const inlay_affine_planes_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *scale = (const float *)inlay_at(base, s, 2);
    const float *shift = (const float *)inlay_at(base, s, 3);
    int32_t image, c;
    for (image = 0; image < p->images; image++)
        for (c = 0; c < p->channels; c++) {
            inlay_affine_plane(p, y, x, scale[c], shift[c]);
            y += p->n;
            x += p->n;
        }
    (void)r0;
    (void)r1;
    return 0;
}

/* Operands: y, x, scale, shift, w, bias, q (may be left out; may be y's own memory), scratch of
 * `chunk` pixels of ic. The same numbers as the two kernels by themselves. */
typedef struct inlay_affine_conv_params {
    int32_t pixels; /* of a row */
    int32_t ic;     /* channels of x */
    int32_t oc;     /* channels of y */
    int32_t width;  /* channels of a block of packed weights: 16 or 4 */
    int32_t chunk;  /* pixels that pass through scratch at a time */
    /* of what is convolved: bit 0: at least x_a; bit 1: at most x_b */
    int32_t x_clamp;
    int32_t clamp; /* of y: bit 0: at least a; bit 1: at most b */
    int32_t act;   /* INLAY_ACT_...: done by affine_conv_act */
    float x_a;
    float x_b;
    float a;
    float b;
} inlay_affine_conv_params;

/* The convolution of what lies in scratch. */
static inline void inlay_affine_product(void *const *base, const inlay_step *s,
                                        const float *scratch, inlay_tile *t)
{
    const inlay_affine_conv_params *p =
        (const inlay_affine_conv_params *)s->params;
    inlay_conv_scratch(base, s, scratch, t, p->ic, p->oc, p->width);
    t->clamp = p->clamp;
    t->lo = p->a;
    t->hi = p->b;
}

/* Pixels of the chunk that begins at pixel `from`. */
static inline int32_t inlay_affine_chunk(const inlay_affine_conv_params *p,
                                         int32_t from)
{
    const int32_t left = p->pixels - from;
    return left < p->chunk ? left : p->chunk;
}

/* One row of y, chunk by chunk. */
static inline void inlay_affine_conv_row(void *const *base, const inlay_step *s,
                                         const inlay_affine *m, float *scratch,
                                         inlay_tile *t, int32_t r)
{
    const inlay_affine_conv_params *p =
        (const inlay_affine_conv_params *)s->params;
    const int32_t chunks = (p->pixels + p->chunk - 1) / p->chunk;
    const float *x = (const float *)inlay_row(base, s, 1, r);
    const float *q = inlay_row_if(base, s, 6, r);
    float *y = (float *)inlay_row(base, s, 0, r);
    inlay_tiles call;
    int32_t i;
    call.at = 0;
    call.tap = 0;
    for (i = 0; i < chunks; i++) {
        const int32_t from = inlay_next_row(s, 0, chunks, i) * p->chunk;
        const int32_t pixels = inlay_affine_chunk(p, from);
        inlay_affine_pixels(m, scratch, x + from * m->xs, pixels);
        call.y = y + from * t->ys;
        call.q = q ? q + from * t->qs : NULL;
        inlay_tile_pixels(t, &call, pixels);
        inlay_tile_done(t);
    }
}

/* Rows [r0, r1), with the tile of the convolution, whose input is in scratch. */
static inline int inlay_affine_conv_by(void *const *base, const inlay_step *s,
                                       float *scratch, inlay_tile *t,
                                       int32_t r0, int32_t r1)
{
    const inlay_affine_conv_params *p =
        (const inlay_affine_conv_params *)s->params;
    inlay_affine m;
    int32_t done;
    m.scale = (const float *)inlay_at(base, s, 2);
    m.shift = (const float *)inlay_at(base, s, 3);
    m.channels = p->ic;
    m.clamp = p->x_clamp;
    m.lo = p->x_a;
    m.hi = p->x_b;
    m.ys = p->ic;
    m.xs = s->ref[1].pix;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_affine_conv_row(base, s, &m, scratch, t, r);
    }
    return 0;
}

static inline int inlay_affine_conv_f32(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    float *scratch = (float *)inlay_at(base, s, 7);
    inlay_tile t;
    inlay_affine_product(base, s, scratch, &t);
    return inlay_affine_conv_by(base, s, scratch, &t, r0, r1);
}

/* The rows by `kernel`, and then the activation. */
static inline int inlay_affine_then_act(inlay_kernel *kernel, void *const *base,
                                        const inlay_step *s, int32_t r0,
                                        int32_t r1)
{
    const inlay_affine_conv_params *p =
        (const inlay_affine_conv_params *)s->params;
    const inlay_act_pass pass =
        inlay_act_pass_of(p->pixels, p->oc, p->act, p->a, p->b);
    return inlay_then_act(kernel, base, s, r0, r1, &pass);
}

static inline int inlay_affine_conv_act_f32(void *const *base,
                                            const inlay_step *s, int32_t r0,
                                            int32_t r1)
{
    return inlay_affine_then_act(inlay_affine_conv_f32, base, s, r0, r1);
}

#endif
