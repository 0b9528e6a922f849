/* SPDX-License-Identifier: 0BSD
 * Convolution of bytes with packed constant weights, channels last: 1 to 3 dimensions, groups,
 * strides, dilations. A matrix product is one of 1 x 1.
 *
 *   sum[o] = bias[o] + sum over the window: x w[o]  - zero sums[o] - zw[o] (sum of x)
 *   y = what qout.h makes of it
 *
 * x [N][D][H][W][groups*IC], y [N][OD][OH][OW][groups*OC], weights as in qtile.h, group by group.
 * Elements outside x are its zero point. A constant zero point of x is in the bias, made offline:
 * bias[o] - zero (sum of w[o] - K zw[o]); one made at run time comes with `sums`, those of the
 * weights. Operands: y, x, w, bias, scale, zw, sums, zero, sx, add, scratch.
 *
 * Pixels go from the first to the last (mirrored when backward) in tiles of at most INLAY_QPIXELS.
 * Where a window is clipped, or does not lie in one piece in each row, its bytes are gathered in
 * scratch, some pixels at a time; zero points stand for what is outside. */
#ifndef INLAY_QCONV_PACKED_H
#define INLAY_QCONV_PACKED_H

#include "kernels/qmve.h"
#include "kernels/qpacked.h"
#include "kernels/qtile.h"
#include "kernels/walk.h"

/* A row of y, or several joined, on its way. */
typedef struct inlay_qrow {
    void *y;
    int32_t pixels, left,
        right;          /* [left, right): the whole window lies inside */
    int32_t plane, row; /* of the window's first tap; may lie outside */
    int32_t image;
    int32_t most; /* pixels of a call: of more tiles where y lies apart */
} inlay_qrow;

static inline void inlay_qpacked_tile(void *const *base, const inlay_step *step,
                                      inlay_qtile *tile)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    tile->flip = params->flip;
    tile->minus = params->minus;
    tile->zero = inlay_qpacked_zero(base, step);
    tile->weights = (const int8_t *)inlay_at(base, step, 2);
    tile->taps = inlay_qpacked_taps(params);
    tile->deep = params->deep;
    tile->width = params->width;
    tile->channels = params->oc;
    tile->begin = 0;
    tile->end = params->oc;
    tile->bias = (const int32_t *)inlay_at(base, step, 3);
    tile->zw = (const int32_t *)inlay_qpacked_more(base, step, 5);
    tile->zw_all = params->zw;
    tile->sums = (const int32_t *)inlay_qpacked_more(base, step, 6);
    tile->result = inlay_qpacked_result(base, step);
    tile->ys = step->ref[0].pix;
    tile->wide = inlay_qpacked_wide(base, step);
}

/* The window where it lies in x. */
static inline void inlay_qpacked_lie(void *const *base, const inlay_step *step,
                                     const inlay_qrow *row, inlay_qtile *tile)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t plane = row->image * params->id + row->plane;
    tile->x = (const uint8_t *)inlay_at(base, step, 1);
    inlay_qtile_ring(tile, step->ref + 1, step->ref[1].row, step->ref[1].cap);
    tile->first = plane * params->ih + row->row;
    tile->nkd = inlay_qpacked_planes(params);
    tile->d_rows = params->dd * params->ih;
    tile->nkh = params->kh;
    tile->h_rows = params->dh;
    tile->run = params->kw * params->ic;
    tile->xs = (ptrdiff_t)params->sw * step->ref[1].pix;
}

/* The window where it was gathered. */
static inline void inlay_qpacked_gathered(void *const *base,
                                          const inlay_step *step,
                                          inlay_qtile *tile)
{
    tile->x = (const uint8_t *)inlay_at(base, step, 10);
    inlay_qtile_ring(tile, NULL, 0, 1);
    tile->first = 0;
    tile->nkd = 1;
    tile->nkh = 1;
    tile->run = (int32_t)tile->taps;
    tile->xs = tile->taps;
}

/* n bytes outside of x, mostly none; returns their end. */
INLAY_INLINE uint8_t *inlay_qgather_outside(uint8_t *to, int32_t zero,
                                            int32_t n)
{
    if (n)
        memset(to, zero, (size_t)n);
    return to + n;
}

enum {
    INLAY_QGATHER_FEW = 8
}; /* bytes that are copied sooner than a call is made */

/* n taps of ic channels, `next` bytes from one to the next; returns their end. */
INLAY_INLINE uint8_t *inlay_qgather_taps(uint8_t *to, const uint8_t *x,
                                         ptrdiff_t next, int32_t n, int32_t ic)
{
    int32_t i;
    for (; n > 0; n--, to += ic, x += next) {
        if (ic > INLAY_QGATHER_FEW)
            memcpy(to, x, (size_t)ic);
        else
            for (i = 0; i < ic; i++)
                to[i] = x[i];
    }
    return to;
}

/* The taps of one row of the window at column c; x: the group's channels of the row. */
static inline void inlay_qgather_row(const inlay_qpacked_params *params,
                                     const uint8_t *x, int32_t pix, int32_t c,
                                     int32_t zero, uint8_t *to)
{
    const int32_t first = c * params->sw - params->pw;
    const int32_t ic = params->ic;
    int32_t from;
    const int32_t n =
        inlay_clip(first, params->dw, params->kw, params->iw, &from);
    if (!n) {
        memset(to, zero, (size_t)(params->kw * ic));
        return;
    }
    to = inlay_qgather_outside(to, zero, from * ic);
    x += (ptrdiff_t)(first + from * params->dw) * pix;
    if (params->dw == 1 && pix == ic) {
        memcpy(to, x, (size_t)(n * ic));
        to += n * ic;
    } else {
        to = inlay_qgather_taps(to, x, (ptrdiff_t)params->dw * pix, n, ic);
    }
    inlay_qgather_outside(to, zero, (params->kw - from - n) * ic);
}

/* Row r of a plane of x, at the first channel of a group; NULL: there is none. */
static inline const uint8_t *inlay_qimage_row(void *const *base,
                                              const inlay_step *step,
                                              int32_t image, int32_t plane,
                                              int32_t r)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    if (r < 0 || r >= params->ih)
        return NULL;
    if (!INLAY_QUSES(INLAY_QUSE_VOLUMES))
        return (const uint8_t *)inlay_row(base, step, 1,
                                          image * params->ih + r);
    if (plane < 0 || plane >= params->id)
        return NULL;
    plane += image * params->id;
    return (const uint8_t *)inlay_row(base, step, 1, plane * params->ih + r);
}

/* Fills a deep window up to sixteens; to: its end. */
static inline void inlay_qgather_fill(const inlay_qpacked_params *params,
                                      uint8_t *to)
{
    const ptrdiff_t taps = (ptrdiff_t)params->kd * params->kh * params->kw;
    if (params->deep)
        memset(to, params->minus ^ params->flip,
               (size_t)(inlay_qpacked_taps(params) - taps * params->ic));
}

/* The window of pixel c: its rows, each filled up to fours, or all up to sixteens. */
static inline void inlay_qgather(void *const *base, const inlay_step *step,
                                 const inlay_qrow *row, int32_t group,
                                 int32_t c, int32_t zero, uint8_t *to)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t run = params->kw * params->ic;
    const int32_t fill = inlay_qpacked_run(params) - run;
    int32_t d, h;
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++) {
            const uint8_t *x = inlay_qimage_row(base, step, row->image,
                                                row->plane + d * params->dd,
                                                row->row + h * params->dh);
            if (x)
                inlay_qgather_row(params, x + (ptrdiff_t)group * params->ic,
                                  step->ref[1].pix, c, zero, to);
            else
                memset(to, zero, (size_t)run);
            to = inlay_qgather_outside(to + run, params->minus ^ params->flip,
                                       fill);
        }
    inlay_qgather_fill(params, to);
}

#if INLAY_QL > 1
#include "kernels/qsegment.inc.h"
#define INLAY_QSEGMENTS 1
#else
#define INLAY_QSEGMENTS 0
#endif

/* Goes on to the next group of channels. */
static inline void inlay_qpacked_next(const inlay_qpacked_params *params,
                                      inlay_qtile *tile, inlay_qcall *call)
{
    const int32_t padded = inlay_up4(params->oc);
    tile->weights += padded * tile->taps;
    tile->bias += padded;
    if (tile->sums)
        tile->sums += padded;
    if (tile->zw)
        tile->zw += padded;
    if (tile->result.each)
        tile->result.scale += padded;
    if (tile->result.add)
        tile->result.add += params->oc;
    call->y = inlay_qplace(&tile->result, call->y, params->oc);
}

/* Bytes of a row of x, or of several joined: those of its own channels. */
static inline ptrdiff_t inlay_qrow_bytes(const inlay_qpacked_params *params,
                                         const inlay_qrow *row, ptrdiff_t pix)
{
    const int joined = row->pixels > params->ow;
    const int32_t pixels = joined ? row->pixels : params->iw;
    return (pixels - 1) * pix + params->groups * params->ic;
}

/* Where windows are read: in x, one by one in scratch, or overlapping there. */
typedef enum inlay_qway {
    INLAY_QLIES,
    INLAY_QWINDOWS,
    INLAY_QSEGMENT
} inlay_qway;

/* The windows of the call's pixels, from pixel c on, where they lie in x. */
static inline void inlay_qpacked_place(const inlay_step *step,
                                       const inlay_qrow *row,
                                       const inlay_qtile *tile, int32_t group,
                                       int32_t c, inlay_qcall *call)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const ptrdiff_t pix = step->ref[1].pix;
    const ptrdiff_t behind = (call->pixels - 1) * tile->xs + tile->run;
    call->at = (c * params->sw - params->pw) * pix + group * params->ic;
    call->room = inlay_qrow_bytes(params, row, pix) - call->at - behind;
}

/* The windows of the call's pixels, from pixel c on, for one group. */
static inline void
inlay_qpacked_fetch(void *const *base, const inlay_step *step,
                    const inlay_qrow *row, const inlay_qtile *tile,
                    int32_t group, int32_t c, inlay_qway way, inlay_qcall *call)
{
    const int32_t zero = (tile->zero + tile->minus) ^ tile->flip;
    uint8_t *to = (uint8_t *)inlay_at(base, step, 10);
    int32_t i;
    call->at = 0;
    call->room = 0;
#if INLAY_QSEGMENTS
    if (way == INLAY_QSEGMENT) {
        inlay_qsegment_gather(base, step, row, group, c, call->pixels, zero);
        call->room = inlay_qsegment_room(
            (const inlay_qpacked_params *)step->params, tile, call->pixels);
        return;
    }
#endif
    if (way == INLAY_QLIES) {
        inlay_qpacked_place(step, row, tile, group, c, call);
        return;
    }
    for (i = 0; i < call->pixels; i++, to += tile->taps)
        inlay_qgather(base, step, row, group, c + i, zero, to);
}

/* Pixels [c, c + n) of a row; t is a copy. */
static inline void inlay_qpacked_pixels(void *const *base,
                                        const inlay_step *step,
                                        const inlay_qrow *row, inlay_qtile tile,
                                        int32_t c, int32_t n, inlay_qway way)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    int32_t x_sum[INLAY_QPIXELS];
    int32_t group;
    inlay_qcall call;
    call.pixels = n;
    call.y = inlay_qplace(&tile.result, row->y, c * tile.ys);
    call.x_sum = inlay_qhas_zeros(&tile) && !inlay_qfast(&tile) ? x_sum : NULL;
    if (way == INLAY_QWINDOWS)
        inlay_qpacked_gathered(base, step, &tile);
    else if (way == INLAY_QLIES)
        inlay_qpacked_lie(base, step, row, &tile);
#if INLAY_QSEGMENTS
    else
        inlay_qsegment_lie(params, (uint8_t *)inlay_at(base, step, 10), n,
                           &tile);
#endif
    for (group = 0; group < params->groups; group++) {
        inlay_qpacked_fetch(base, step, row, &tile, group, c, way, &call);
        if (call.x_sum)
            inlay_qtile_x_sums(&tile, &call, x_sum);
        inlay_qtile_run(&tile, &call);
        inlay_qpacked_next(params, &tile, &call);
    }
}

/* The first and the end of the pixels that are made like pixel c: with a clipped window or not. */
static inline int32_t inlay_qrow_first(const inlay_qrow *row, int32_t c)
{
    if (c >= row->right)
        return row->right;
    return c >= row->left ? row->left : 0;
}
static inline int32_t inlay_qrow_end(const inlay_qrow *row, int32_t c)
{
    if (c < row->left)
        return row->left;
    return c < row->right ? row->right : row->pixels;
}

/* Of n pixels those of the next tile: tiles are as equal as can be, but where pixels go by two. */
static inline int32_t inlay_qtile_size(int32_t n, int32_t most)
{
#if INLAY_QL == 1
    if (most > 2)
        most -= most % 2;
    return n < most ? n : most;
#else
    const int32_t tiles = (n + most - 1) / most;
    return (n + tiles - 1) / tiles;
#endif
}

#if INLAY_QMVE
/* What Helium's form does not make. */
enum {
    INLAY_QMVE_OTHERS =
        INLAY_QUSE_FOURS | INLAY_QUSE_HALVES | INLAY_QUSE_UNSIGNED
};
#include "kernels/qconv_mve.inc.h"
#endif

/* Are all planes of the window some of x? */
static inline int inlay_qplanes_exist(const inlay_qpacked_params *params,
                                      const inlay_qrow *row)
{
    const int32_t last = row->plane + (params->kd - 1) * params->dd;
    return !INLAY_QUSES(INLAY_QUSE_VOLUMES) ||
           (row->plane >= 0 && last < params->id);
}

/* The image and the plane of x for plane `plane` of y. */
static inline void inlay_qrow_begin(const inlay_qpacked_params *params,
                                    int32_t plane, inlay_qrow *row)
{
    row->image = plane;
    row->plane = 0;
    if (!INLAY_QUSES(INLAY_QUSE_VOLUMES))
        return;
    row->image = plane / params->od;
    row->plane = (plane - row->image * params->od) * params->sd - params->pd;
}

/* Where the window of row r lies, and which of its pixels are whole. */
static inline inlay_qrow inlay_qpacked_window(void *const *base,
                                              const inlay_step *step, int32_t r)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t plane = r / params->oh;
    inlay_qrow row;
    inlay_qrow_begin(params, plane, &row);
    row.row = (r - plane * params->oh) * params->sh - params->ph;
    row.pixels = params->ow;
    row.y = inlay_row(base, step, 0, r);
    row.left = params->ow;
    row.right = params->ow;
    if (inlay_qpacked_whole(params, step) &&
        inlay_qplanes_exist(params, &row) && row.row >= 0 &&
        row.row + (params->kh - 1) * params->dh < params->ih)
        row.left = inlay_inside(params->sw, params->pw,
                                (params->kw - 1) * params->dw + 1, params->iw,
                                params->ow, &row.right);
    return row;
}

#include "kernels/qapart.inc.h"

#include "kernels/qspan.inc.h"

/* All pixels of a row, in the walking direction. */
static inline void inlay_qpacked_row(void *const *base, const inlay_step *step,
                                     const inlay_qtile *tile, int apart,
                                     inlay_qrow *row)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    inlay_qspan span;
    int32_t done;
    int backward;
#if INLAY_QMVE
    if (!INLAY_QUSES(INLAY_QMVE_OTHERS) ||
        (params->deep && params->minus == 128)) {
        inlay_mve_pixel_row(base, step, tile, row, params->gather == 1 ? 1 : 2);
        return;
    }
#endif
    row->most = inlay_qpacked_most(base, step, tile, apart, row);
    backward = step->backward && row->most == INLAY_QTILE_P;
    for (done = 0; done < row->pixels; done += span.n) {
        span = inlay_qspan_of(params, tile, row, done, backward);
        inlay_qpacked_pixels(base, step, row, *tile, span.c, span.n, span.way);
    }
}

/* Is it a product of the pixels of whole rows, one like the other? */
static inline int inlay_qpacked_joins(const inlay_qpacked_params *params,
                                      const inlay_step *step)
{
    const int one_tap = params->kd * params->kh * params->kw == 1;
    const int every_pixel = params->sd * params->sh * params->sw == 1;
    const int same = params->iw == params->ow && params->ih == params->oh &&
                     params->id == params->od;
    const int wide = inlay_qout_is_wide(params->out);
    const size_t pixels = (size_t)params->ow;
    return one_tap && every_pixel && same &&
           params->pd + params->ph + params->pw == 0 &&
           step->ref[1].row == pixels * (size_t)step->ref[1].pix &&
           step->ref[0].row ==
               pixels * (size_t)step->ref[0].pix * (wide ? 4 : 1);
}

/* Channels [t->begin, t->end) of rows [r0, r1). */
static inline void inlay_qpacked_rows(void *const *base, const inlay_step *step,
                                      const inlay_qtile *tile, int apart,
                                      int joins, int32_t r0, int32_t r1)
{
    int32_t done, n;
    for (done = 0; done < r1 - r0; done += n) {
        int32_t r = inlay_next_row(step, r0, r1, done);
        inlay_qrow row;
        n = joins ? inlay_adjacent(step, 0, r, r1 - r0 - done) : 1;
        if (joins)
            n = inlay_adjacent(step, 1, r, n);
        if (step->backward)
            r -= n - 1;
        row = inlay_qpacked_window(base, step, r);
        row.pixels *= n;
        if (n > 1)
            row.right = row.pixels;
        inlay_qpacked_row(base, step, tile, apart, &row);
    }
}

#if INLAY_QDSP
#include "kernels/qconv_dsp.inc.h"
#endif

/* Weights beyond this many bytes are walked a part at a time, so that the part stays in the cache.
 */
#ifndef INLAY_QWEIGHT_BYTES
#define INLAY_QWEIGHT_BYTES 400000
#endif

static inline int inlay_qconv_packed(void *const *base, const inlay_step *step,
                                     int32_t r0, int32_t r1)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int apart = r1 - r0 > 1 && inlay_qpacked_apart(base, step, r0, r1);
    const int joins = apart && inlay_qpacked_joins(params, step);
    inlay_qtile tile;
    ptrdiff_t strip = params->oc;
    inlay_qpacked_tile(base, step, &tile);
#if INLAY_QDSP
    if (!INLAY_QUSES(INLAY_QUSE_FOURS | INLAY_QUSE_SIXTEENS) || tile.wide) {
        inlay_qpairs_rows(base, step, &tile, r0, r1);
        return 0;
    }
#endif
    if (apart && params->groups == 1 &&
        tile.taps * params->oc > INLAY_QWEIGHT_BYTES)
        strip = INLAY_QWEIGHT_BYTES / tile.taps / 48 * 48 + 48;
    for (tile.begin = 0; tile.begin < params->oc; tile.begin = tile.end) {
        tile.end = params->oc - tile.begin > strip ? tile.begin + (int32_t)strip
                                                   : params->oc;
        inlay_qpacked_rows(base, step, &tile, apart, joins, r0, r1);
    }
    return 0;
}

#endif
