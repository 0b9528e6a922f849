/* SPDX-License-Identifier: 0BSD
 * Convolution of numbers of 16 bits with packed constant weights, channels last: 1 to 3 dimensions,
 * groups, strides, dilations. A matrix product is one of 1 x 1.
 *
 *   sum[o] = bias[o] + sum over the window: x w[o]
 *   y = what qshort.h makes of it
 *
 *   qconv_short        weights of 8 bits, sums of 32
 *   qconv_short_long   weights of 8 bits, sums of 64: of runs of taps that fit 32
 *   qconv_short_wide   weights of 16 bits above -32768, sums of 64
 *
 * x [N][D][H][W][groups*IC], y [N][OD][OH][OW][groups*OC]. Elements outside x are its zero point,
 * which is in the bias, made offline. Weights: for each group blocks of `width` channels; in a
 * block, for each two taps of the window, filled up to fours, in turn, those of channel 0, of
 * channel 1, ... Crossed, those of two channels lie side by side, tap by tap: Arm's DSP
 * instructions widen them in place. Operands: y, x, w, bias (of 32 or 64 bits), scales, scratch.
 *
 * Windows of a few pixels are gathered in scratch: of two taps those of pixel 0, of pixel 1, ... */
#ifndef INLAY_QCONV_SHORT_H
#define INLAY_QCONV_SHORT_H

#include "kernels/qdsp.h"
#include "kernels/qshort.h"
#include "kernels/qshort_params.h"
#include "kernels/walk.h"

/* Where the windows of some pixels of a row of y lie. */
typedef struct inlay_qshort_row {
    int32_t image, plane, row; /* of the window's first tap; may lie outside */
} inlay_qshort_row;

static inline inlay_qshort_row
inlay_qshort_row_of(const inlay_qshort_params *params, int32_t r)
{
    const int32_t plane = r / params->oh;
    inlay_qshort_row row;
    row.image = plane / params->od;
    row.plane = plane % params->od * params->sd - params->pd;
    row.row = r % params->oh * params->sh - params->ph;
    return row;
}

/* Row r of a plane of x; NULL: there is none. */
static inline const uint16_t *inlay_qshort_source(void *const *base,
                                                  const inlay_step *step,
                                                  int32_t image, int32_t plane,
                                                  int32_t r)
{
    const inlay_qshort_params *params =
        (const inlay_qshort_params *)step->params;
    if (r < 0 || r >= params->ih || plane < 0 || plane >= params->id)
        return NULL;
    plane += image * params->id;
    return (const uint16_t *)inlay_row(base, step, 1, plane * params->ih + r);
}

/* ---- windows in scratch ---- */

/* A window on its way into scratch, where `pixels` of them lie pair by pair. */
typedef struct inlay_qshort_window {
    uint16_t *to; /* its first tap */
    int32_t tap;  /* taps that are there */
    int32_t pixels;
    uint16_t flip;
} inlay_qshort_window;

static inline uint16_t *inlay_qshort_place(const inlay_qshort_window *window)
{
    const ptrdiff_t pair = window->tap >> 1;
    return window->to + pair * 2 * window->pixels + (window->tap & 1);
}

/* n taps of number v. */
static inline void inlay_qshort_fill(inlay_qshort_window *window, int32_t v,
                                     int32_t n)
{
    for (; n > 0; n--, window->tap++)
        *inlay_qshort_place(window) = (uint16_t)v;
}

/* n taps of x, at least one. */
static inline void inlay_qshort_copy(inlay_qshort_window *window,
                                     const uint16_t *x, int32_t n)
{
    const uint32_t flips = window->flip * UINT32_C(0x10001);
    const ptrdiff_t apart = 2 * (ptrdiff_t)window->pixels;
    uint16_t *to = inlay_qshort_place(window);
    int32_t pairs;
    if (window->tap & 1) {
        *to = *x++ ^ window->flip;
        to += apart - 1;
        window->tap++;
        n--;
    }
    window->tap += n;
    for (pairs = n >> 1; pairs > 0; pairs--, x += 2, to += apart) {
        uint32_t pair;
        memcpy(&pair, x, sizeof pair);
        pair ^= flips;
        memcpy(to, &pair, sizeof pair);
    }
    if (n & 1)
        *to = *x ^ window->flip;
}

/* The taps of one row of the window at column c; x: the group's channels of the row. */
static inline void inlay_qshort_taps(const inlay_qshort_params *params,
                                     const uint16_t *x, int32_t pix, int32_t c,
                                     inlay_qshort_window *window)
{
    const int32_t first = c * params->sw - params->pw;
    const int32_t ic = params->ic;
    int32_t from, n;
    n = inlay_clip(first, params->dw, params->kw, params->iw, &from);
    if (!n) {
        inlay_qshort_fill(window, params->zero, params->kw * ic);
        return;
    }
    inlay_qshort_fill(window, params->zero, from * ic);
    x += (ptrdiff_t)(first + from * params->dw) * pix;
    from += n;
    if (params->dw == 1 && pix == ic)
        inlay_qshort_copy(window, x, n * ic);
    else
        for (; n > 0; n--, x += (ptrdiff_t)params->dw * pix)
            inlay_qshort_copy(window, x, ic);
    inlay_qshort_fill(window, params->zero, (params->kw - from) * ic);
}

/* The window of pixel c. */
static inline void inlay_qshort_gather(void *const *base,
                                       const inlay_step *step,
                                       const inlay_qshort_row *row,
                                       int32_t group, int32_t c,
                                       inlay_qshort_window *window)
{
    const inlay_qshort_params *params =
        (const inlay_qshort_params *)step->params;
    int32_t d, h;
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++) {
            const uint16_t *x = inlay_qshort_source(base, step, row->image,
                                                    row->plane + d * params->dd,
                                                    row->row + h * params->dh);
            if (x)
                inlay_qshort_taps(params, x + (ptrdiff_t)group * params->ic,
                                  step->ref[1].pix, c, window);
            else
                inlay_qshort_fill(window, params->zero,
                                  params->kw * params->ic);
        }
    inlay_qshort_fill(window, 0, -window->tap & 3);
}

/* Those of n pixels from c on, for one group: pairs of taps [pair][n][2]. */
static inline const int16_t *inlay_qshort_windows(void *const *base,
                                                  const inlay_step *step,
                                                  const inlay_qshort_row *row,
                                                  int32_t group, int32_t c,
                                                  int32_t n)
{
    const inlay_qshort_params *params =
        (const inlay_qshort_params *)step->params;
    uint16_t *to = (uint16_t *)inlay_at(base, step, 5);
    inlay_qshort_window window;
    int32_t i;
    if (!params->gather) {
        const int32_t plane = row->image * params->id;
        return (const int16_t *)inlay_row(base, step, 1, plane * params->ih) +
               (ptrdiff_t)group * params->ic;
    }
    window.pixels = n;
    window.flip = (uint16_t)params->flip;
    for (i = 0; i < n; i++) {
        window.to = to + 2 * i;
        window.tap = 0;
        inlay_qshort_gather(base, step, row, group, c + i, &window);
    }
    return (const int16_t *)to;
}

/* ---- sums of four channels ---- */

/* Windows of some pixels, and the weights of four channels of a block. */
typedef struct inlay_qshort_tile {
    const int16_t *x; /* [pair][pixels][2] */
    int32_t pairs;
    const void *w;
    ptrdiff_t pitch; /* weights of a block from pair to pair */
} inlay_qshort_tile;

#include "kernels/qshort_plain.inc.h"

#if INLAY_QHALVES
#include "kernels/qshort_dsp.inc.h"
#endif

/* Has the machine a form of its own of weights that lie so? */
INLAY_INLINE int inlay_qshort_suits(const inlay_qshort_tile *tile, int crossed)
{
    if (INLAY_QHALVES)
        return crossed && tile->pitch == 2 * INLAY_QSHORT_FOUR;
    return !crossed;
}

/* Adds products to sums[pixel][channel] of one pixel, or two. */
INLAY_APART void inlay_qshort_bytes_1(const inlay_qshort_tile *tile,
                                      int crossed, int32_t *sum)
{
    if (!inlay_qshort_suits(tile, crossed)) {
        inlay_qshort_bytes_any(tile, crossed, 1, sum);
        return;
    }
#if INLAY_QHALVES
    inlay_qshort_dsp_1(tile, sum);
#else
    inlay_qshort_bytes_plain(tile, 1, sum);
#endif
}
INLAY_APART void inlay_qshort_bytes_2(const inlay_qshort_tile *tile,
                                      int crossed, int32_t *sum)
{
    if (!inlay_qshort_suits(tile, crossed)) {
        inlay_qshort_bytes_any(tile, crossed, 2, sum);
        return;
    }
#if INLAY_QHALVES
    inlay_qshort_dsp_2(tile, sum);
#else
    inlay_qshort_bytes_plain(tile, 2, sum);
#endif
}

/* The same of weights of 16 bits. */
INLAY_INLINE void inlay_qshort_halves(const inlay_qshort_tile *tile,
                                      const int n, int64_t *sum)
{
#if INLAY_QHALVES
    inlay_qshort_halves_two(tile, 0, n, sum);
    inlay_qshort_halves_two(tile, 2, n, sum);
#else
    inlay_qshort_halves_plain(tile, n, sum);
#endif
}
INLAY_APART void inlay_qshort_halves_1(const inlay_qshort_tile *tile,
                                       int64_t *sum)
{
    inlay_qshort_halves(tile, 1, sum);
}
INLAY_APART void inlay_qshort_halves_2(const inlay_qshort_tile *tile,
                                       int64_t *sum)
{
    inlay_qshort_halves(tile, 2, sum);
}

/* ---- a tile ---- */

/* The channels of a group, of some pixels. */
typedef struct inlay_qshort_call {
    const inlay_qshort_params *params;
    inlay_qshort_tile tile; /* of the group's first channel */
    inlay_qshort_result result;
    const void *bias; /* of the group's first channel, filled up */
    uint16_t *y;      /* the first pixel's */
    ptrdiff_t ys;     /* from pixel to pixel */
    int32_t channel;  /* the group's first, filled up */
    int32_t n;        /* pixels, at most two */
} inlay_qshort_call;

/* How many of n channels from o on exist. */
static inline int32_t inlay_qshort_left(const inlay_qshort_call *call,
                                        int32_t o, int32_t n)
{
    const int32_t left = call->params->oc - o;
    return left < n ? left : n;
}

/* The weights of four channels from o on. */
INLAY_INLINE inlay_qshort_tile
inlay_qshort_tile_at(const inlay_qshort_call *call, int32_t o, ptrdiff_t bytes)
{
    const ptrdiff_t taps = 2 * (ptrdiff_t)call->tile.pairs;
    const int32_t within = o & (call->params->width - 1);
    inlay_qshort_tile tile = call->tile;
    tile.w =
        (const int8_t *)tile.w + ((o - within) * taps + 2 * within) * bytes;
    return tile;
}

/* Channels from o on, of which there are n: weights of bytes, sums of 32 bits. */
static inline void inlay_qshort_make(const inlay_qshort_call *call, int32_t o,
                                     int32_t n)
{
    const int32_t *bias = (const int32_t *)call->bias + o;
    const int32_t pitch = call->n * INLAY_QSHORT_FOUR;
    int32_t sum[2 * INLAY_QSHORT_BATCH];
    int32_t i;
    for (i = 0; i < n; i += INLAY_QSHORT_FOUR) {
        const inlay_qshort_tile tile = inlay_qshort_tile_at(call, o + i, 1);
        int32_t *to = sum + i * call->n;
        memcpy(to, bias + i, INLAY_QSHORT_FOUR * sizeof *to);
        if (call->n == 1) {
            inlay_qshort_bytes_1(&tile, call->params->crossed, to);
            continue;
        }
        memcpy(to + INLAY_QSHORT_FOUR, bias + i,
               INLAY_QSHORT_FOUR * sizeof *to);
        inlay_qshort_bytes_2(&tile, call->params->crossed, to);
    }
    for (i = 0; i < call->n; i++)
        inlay_qshort_store(&call->result, call->channel + o, n,
                           sum + i * INLAY_QSHORT_FOUR, pitch,
                           call->y + i * call->ys + o);
}

/* Codes of at most four channels. */
static inline void inlay_qshort_store_long(const inlay_qshort_call *call,
                                           int32_t o, int32_t n,
                                           const int64_t *sum)
{
    int32_t c, i;
    for (c = 0; c < n; c++) {
        const inlay_qshort_scale scale =
            inlay_qshort_scale_of(&call->result, call->channel + o + c);
        for (i = 0; i < call->n; i++)
            call->y[i * call->ys + o + c] = inlay_qshort_code_long(
                &call->result, &scale, sum[i * INLAY_QSHORT_FOUR + c]);
    }
}

static inline void inlay_qshort_begin_long(const inlay_qshort_call *call,
                                           int32_t o, int64_t *sum)
{
    const int64_t *bias = (const int64_t *)call->bias + o;
    memcpy(sum, bias, INLAY_QSHORT_FOUR * sizeof *sum);
    memcpy(sum + INLAY_QSHORT_FOUR, bias, INLAY_QSHORT_FOUR * sizeof *sum);
}

/* The same with sums of 64 bits. */
static inline void inlay_qshort_sum_long(const inlay_qshort_call *call,
                                         const inlay_qshort_tile *tile,
                                         int64_t *sum)
{
    inlay_qshort_tile run = *tile;
    int32_t some[2 * INLAY_QSHORT_FOUR];
    int32_t left;
    int i;
    for (left = tile->pairs; left > 0; left -= run.pairs) {
        run.pairs = left < INLAY_QSHORT_RUN ? left : INLAY_QSHORT_RUN;
        memset(some, 0, sizeof some);
        if (call->n == 1)
            inlay_qshort_bytes_1(&run, call->params->crossed, some);
        else
            inlay_qshort_bytes_2(&run, call->params->crossed, some);
        for (i = 0; i < 2 * INLAY_QSHORT_FOUR; i++)
            sum[i] = inlay_qshort_add(sum[i], some[i]);
        run.x += (ptrdiff_t)2 * call->n * run.pairs;
        run.w = (const int8_t *)run.w + run.pitch * run.pairs;
    }
}

/* Channels from o on, of which there are n; `bytes`, a constant of the callers: of a weight. */
INLAY_INLINE void inlay_qshort_make_sums(const inlay_qshort_call *call,
                                         int32_t o, int32_t n, const int bytes)
{
    int64_t sum[2 * INLAY_QSHORT_FOUR];
    int32_t i;
    for (i = 0; i < n; i += INLAY_QSHORT_FOUR) {
        const inlay_qshort_tile tile = inlay_qshort_tile_at(call, o + i, bytes);
        inlay_qshort_begin_long(call, o + i, sum);
        if (bytes == 1)
            inlay_qshort_sum_long(call, &tile, sum);
        else if (call->n == 1)
            inlay_qshort_halves_1(&tile, sum);
        else
            inlay_qshort_halves_2(&tile, sum);
        inlay_qshort_store_long(
            call, o + i, inlay_qshort_left(call, o + i, INLAY_QSHORT_FOUR),
            sum);
    }
}

static inline void inlay_qshort_make_long(const inlay_qshort_call *call,
                                          int32_t o, int32_t n)
{
    inlay_qshort_make_sums(call, o, n, 1);
}

/* The same of weights of 16 bits. */
static inline void inlay_qshort_make_wide(const inlay_qshort_call *call,
                                          int32_t o, int32_t n)
{
    inlay_qshort_make_sums(call, o, n, 2);
}

typedef void inlay_qshort_maker(const inlay_qshort_call *call, int32_t o,
                                int32_t n);

/* What differs between the kernels: bytes of a weight and of a bias. */
typedef struct inlay_qshort_form {
    ptrdiff_t weight, bias;
    inlay_qshort_maker *make;
} inlay_qshort_form;

/* What is the same for all pixels. */
static inline void inlay_qshort_begin(void *const *base, const inlay_step *step,
                                      inlay_qshort_call *call)
{
    const inlay_qshort_params *params =
        (const inlay_qshort_params *)step->params;
    call->params = params;
    call->ys = step->ref[0].pix;
    call->tile.pairs = inlay_qshort_pairs(params);
    call->tile.pitch = 2 * params->width;
    call->result.zero = params->zy;
    call->result.lo = params->lo;
    call->result.hi = params->hi;
    call->result.flip = params->flip_y;
    call->result.far = params->far;
    inlay_qshort_scales(base, step, 4, params->scales, &call->result);
}

/* All channels of a group, whose windows are there. */
INLAY_INLINE void inlay_qshort_group(inlay_qshort_call *call,
                                     const inlay_qshort_form *form)
{
    const int32_t channels = call->params->oc;
    int32_t o;
    for (o = 0; o < channels; o += INLAY_QSHORT_BATCH)
        form->make(call, o, inlay_qshort_left(call, o, INLAY_QSHORT_BATCH));
    call->y += channels;
}

/* Pixels from c on of row r of y, as many as the call has. */
INLAY_INLINE void inlay_qshort_some(void *const *base, const inlay_step *step,
                                    int32_t r, int32_t c,
                                    inlay_qshort_call *call,
                                    const inlay_qshort_form *form)
{
    const inlay_qshort_params *params = call->params;
    const int32_t padded = inlay_qshort_padded(params);
    const inlay_qshort_row row = inlay_qshort_row_of(params, r);
    const int8_t *weights = (const int8_t *)inlay_at(base, step, 2);
    const int8_t *bias = (const int8_t *)inlay_at(base, step, 3);
    const ptrdiff_t window = 2 * call->tile.pairs * form->weight;
    int32_t group;
    call->y = (uint16_t *)inlay_row(base, step, 0, r) + c * call->ys;
    for (group = 0; group < params->groups; group++) {
        const ptrdiff_t first = (ptrdiff_t)group * padded;
        call->channel = (int32_t)first;
        call->tile.x =
            inlay_qshort_windows(base, step, &row, group, c, call->n);
        call->tile.w = weights + first * window;
        call->bias = bias + first * form->bias;
        inlay_qshort_group(call, form);
    }
}

/* Rows [r0, r1), in the walking direction. */
INLAY_INLINE int inlay_qshort_rows(void *const *base, const inlay_step *step,
                                   int32_t r0, int32_t r1,
                                   const inlay_qshort_form *form)
{
    const inlay_qshort_params *params =
        (const inlay_qshort_params *)step->params;
    const int32_t most = params->gather > 1 ? INLAY_QSHORT_PIXELS : 1;
    inlay_qshort_call call;
    int32_t done, c;
    inlay_qshort_begin(base, step, &call);
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(step, r0, r1, done);
        for (c = 0; c < params->ow; c += call.n) {
            const int32_t left = params->ow - c;
            call.n = left < most ? left : most;
            inlay_qshort_some(base, step, r, step->backward ? left - call.n : c,
                              &call, form);
        }
    }
    return 0;
}

static inline int inlay_qconv_short(void *const *base, const inlay_step *step,
                                    int32_t r0, int32_t r1)
{
    const inlay_qshort_form form = { 1, 4, inlay_qshort_make };
    return inlay_qshort_rows(base, step, r0, r1, &form);
}

static inline int inlay_qconv_short_long(void *const *base,
                                         const inlay_step *step, int32_t r0,
                                         int32_t r1)
{
    const inlay_qshort_form form = { 1, 8, inlay_qshort_make_long };
    return inlay_qshort_rows(base, step, r0, r1, &form);
}

static inline int inlay_qconv_short_wide(void *const *base,
                                         const inlay_step *step, int32_t r0,
                                         int32_t r1)
{
    const inlay_qshort_form form = { 2, 8, inlay_qshort_make_wide };
    return inlay_qshort_rows(base, step, r0, r1, &form);
}

#endif
