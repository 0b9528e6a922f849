/* SPDX-License-Identifier: 0BSD
 * Tiles of tile_f32.h whose weights are stored in a narrower type than float, in the same blocks.
 *
 * Before it is multiplied a weight v becomes a float: v, or (v - zero) * scale where the step has
 * scales; one scale and one zero point for each output channel, or for each of them and so many
 * taps. Some taps of a group of channels at a time are made floats on the stack, a panel, and serve
 * several tiles; sums of a tile that need several panels wait beside it. The products and their
 * order are those of float weights: the same bits. */
#ifndef INLAY_TILE_NARROW_H
#define INLAY_TILE_NARROW_H

#include "inlay.h"
#include "kernels/tile_f32.h"
#include "kernels/widen.h"

enum { INLAY_PANEL_TAPS = 64, INLAY_PANEL_TILES = 8 };
#if INLAY_VL == 16
enum { INLAY_PANEL_CHANNELS = 64 };
#elif INLAY_VL > 1
enum { INLAY_PANEL_CHANNELS = 16 };
#else
enum { INLAY_PANEL_CHANNELS = 4 };
#endif

/* The operand behind the others that says how weights become floats, int32: taps of one scale,
 * scales along the taps, packed channels of the step, type of the scales, zero point where there is
 * one for all. */
enum {
    INLAY_HOW_BLOCK,
    INLAY_HOW_BLOCKS,
    INLAY_HOW_CHANNELS,
    INLAY_HOW_SCALE,
    INLAY_HOW_ZERO,
    INLAY_HOW_COUNT
};
enum { INLAY_SCALE_F32, INLAY_SCALE_F16, INLAY_SCALE_BF16 };

typedef struct inlay_stored {
    inlay_widen_type *widen; /* of the weights and their zero points */
    const void *values;
    const int32_t *how; /* NULL: weights are what they say */
    const void *scale;  /* packed as the weights are */
    const void *zero;   /* NULL: the same for all */
} inlay_stored;

/* Operand w of a step, whose further operands are at `how`. */
static inline void inlay_stored_take(void *const *base, const inlay_step *s,
                                     int w, int how, inlay_widen_type *widen,
                                     inlay_stored *narrow)
{
    narrow->widen = widen;
    narrow->values = inlay_at(base, s, w);
    narrow->how = (const int32_t *)inlay_at(base, s, how);
    narrow->scale = inlay_at(base, s, how + 1);
    narrow->zero = inlay_at(base, s, how + 2);
}

/* Scales [first, first + n), n at most 16. */
static inline void inlay_narrow_scales(const inlay_stored *narrow,
                                       ptrdiff_t first, int32_t n, float *to)
{
    switch (narrow->how[INLAY_HOW_SCALE]) {
    case INLAY_SCALE_F16:
        inlay_widen_f16(to, narrow->scale, first, n);
        break;
    case INLAY_SCALE_BF16:
        inlay_widen_bf16(to, narrow->scale, first, n);
        break;
    default:
        memcpy(to, (const float *)narrow->scale + first,
               (size_t)n * sizeof *to);
        break;
    }
}

/* w = (w - zero) * scale for `taps` taps of `width` channels. */
static inline void inlay_narrow_scale(float *w, int32_t taps, int32_t width,
                                      const float *scale, const float *zero)
{
    int32_t k;
    for (k = 0; k < taps; k++, w += width) {
        int32_t i = 0;
#if INLAY_VL > 1
        for (; width - i >= INLAY_VL; i += INLAY_VL)
            INLAY_V(store)
        (w + i, (INLAY_V(load)(w + i) - INLAY_V(load)(zero + i)) *
                    INLAY_V(load)(scale + i));
#endif
#if INLAY_VL > 4
        for (; width - i >= 4; i += 4)
            inlay_store4(w + i, (inlay_load4(w + i) - inlay_load4(zero + i)) *
                                    inlay_load4(scale + i));
#endif
        for (; i < width; i++)
            w[i] = (w[i] - zero[i]) * scale[i];
    }
}

/* Where a group of channels lies in what is packed with `steps` elements for each channel. */
typedef struct inlay_block {
    ptrdiff_t channel; /* the first of its block, of all groups */
    int32_t inside;    /* of the group in the block */
    int32_t stride;    /* channels of the block */
    int32_t width;     /* of the group */
} inlay_block;

static inline ptrdiff_t inlay_block_at(const inlay_block *block,
                                       ptrdiff_t steps, ptrdiff_t step)
{
    return block->channel * steps + step * block->stride + block->inside;
}

/* Scales and zero points of the taps from `tap` on. */
static inline void inlay_panel_scale(const inlay_tile *t,
                                     const inlay_block *block, float *to,
                                     ptrdiff_t tap, int32_t taps)
{
    const inlay_stored *narrow = t->narrow;
    const int32_t *how = narrow->how;
    inlay_block own = *block;
    int32_t n, i;
    own.channel %= how[INLAY_HOW_CHANNELS];
    for (; taps > 0; taps -= n, tap += n, to += n * own.width) {
        const int32_t inside = (int32_t)(tap % how[INLAY_HOW_BLOCK]);
        const ptrdiff_t at = inlay_block_at(&own, how[INLAY_HOW_BLOCKS],
                                            tap / how[INLAY_HOW_BLOCK]);
        float scale[16], zero[16];
        n = how[INLAY_HOW_BLOCK] - inside;
        if (n > taps)
            n = taps;
        inlay_narrow_scales(narrow, at, own.width, scale);
        if (narrow->zero)
            narrow->widen(zero, narrow->zero, at, own.width);
        else
            for (i = 0; i < own.width; i++)
                zero[i] = (float)how[INLAY_HOW_ZERO];
        inlay_narrow_scale(to, n, own.width, scale, zero);
    }
}

/* Taps from `tap` on of one block of channels, as floats [tap][width]. */
static inline void inlay_panel_block(const inlay_tile *t,
                                     const inlay_block *block, float *to,
                                     ptrdiff_t tap, int32_t taps)
{
    const inlay_stored *narrow = t->narrow;
    const ptrdiff_t at = inlay_block_at(block, t->taps, tap);
    const int32_t n = block->width;
    int32_t k;
    if (n == block->stride)
        narrow->widen(to, narrow->values, at, taps * n);
    else
        for (k = 0; k < taps; k++)
            narrow->widen(to + k * n, narrow->values, at + k * block->stride,
                          n);
    if (narrow->how)
        inlay_panel_scale(t, block, to, tap, taps);
}

#define INLAY_WALK INLAY_WALK_PANEL_ROWS
#define INLAY_LIST INLAY_TILE_ROWS
#define INLAY_R(name) inlay_panel_rows_##name
#include "kernels/tile_walk.inc.h"

#define INLAY_WALK INLAY_WALK_PANEL_STEPS
#define INLAY_LIST INLAY_TILE_STEPS
#define INLAY_R(name) inlay_panel_steps_##name
#include "kernels/tile_walk.inc.h"

#if INLAY_VL == 1

/* The group of n channels from `channel` on: where it lies. */
static inline inlay_block inlay_panel_place(const inlay_tile *t,
                                            int32_t channel, int32_t n)
{
    inlay_block block;
    block.stride = inlay_panel_rows_width(t, channel);
    block.inside = 0;
    if (block.stride == t->width || block.stride == 8)
        block.inside = channel % t->width;
    block.channel = t->skip + channel - block.inside;
    block.width = n;
    return block;
}

#else

static inline inlay_block inlay_panel_place(const inlay_tile *t,
                                            int32_t channel, int32_t n)
{
    inlay_block block;
    block.stride = n > 16 ? 16 : n;
    block.inside = 0;
    block.channel = t->skip + channel;
    block.width = block.stride;
    return block;
}

#endif

/* A panel of the group of n channels. */
static inline void inlay_panel_fill(const inlay_tile *t, float *to,
                                    int32_t channel, int32_t n, ptrdiff_t tap,
                                    int32_t taps)
{
    inlay_block block = inlay_panel_place(t, channel, n);
    int32_t i;
    for (i = 0; i < n; i += block.width) {
        inlay_panel_block(t, &block, to + i * INLAY_PANEL_TAPS, tap, taps);
        block.channel += block.width;
    }
}

/* The tap behind the last one of the window. */
static inline ptrdiff_t inlay_panel_last(const inlay_tile *t, int steps)
{
    ptrdiff_t last = t->run;
    if (!t->nkh || (!steps && !t->nkd))
        return 0;
    last += (t->nkh - 1) * t->row_taps;
    if (steps)
        return last;
    return last + (t->nkd - 1) * t->plane_taps +
           (t->pieces - 1) * t->piece_taps;
}

/* Sets where a panel ends; is it the last? */
static inline int32_t inlay_panel_end(inlay_panel *panel, ptrdiff_t last)
{
    panel->end = panel->from + INLAY_PANEL_TAPS;
    if (panel->end < last)
        return 0;
    panel->end = last;
    return 1;
}

/* One group of n channels of some tiles: panel by panel. */
static inline void inlay_panel_group(const inlay_tile *t,
                                     const inlay_tiles *call,
                                     const inlay_group *channels,
                                     int32_t channel, int32_t n,
                                     const int steps)
{
    float weights[INLAY_PANEL_TAPS * INLAY_PANEL_CHANNELS];
    float sum[INLAY_PANEL_TILES * INLAY_TILE_P * INLAY_PANEL_CHANNELS];
    const ptrdiff_t end = call->tap + inlay_panel_last(t, steps);
    inlay_tile part = *t;
    inlay_group g = *channels;
    inlay_panel panel;
    part.taps = INLAY_PANEL_TAPS;
    part.width = n > 16 ? 16 : n;
    panel.begins = 1;
    panel.from = call->tap;
    panel.ends = 0;
    g.weights = weights;
    g.panel = &panel;
    g.sum = sum;
    while (!panel.ends) {
        panel.ends = inlay_panel_end(&panel, end);
        inlay_panel_fill(t, weights, channel, n, panel.from,
                         (int32_t)(panel.end - panel.from));
        if (steps)
            inlay_panel_steps_sized(&part, call, &g, n);
        else
            inlay_panel_rows_sized(&part, call, &g, n);
        panel.begins = 0;
        panel.from = panel.end;
    }
}

/* Channels [t->begin, t->end) of at most INLAY_PANEL_TILES tiles. */
static inline void inlay_panel_groups(const inlay_tile *t,
                                      const inlay_tiles *call, const int steps)
{
    int32_t channel, n;
    for (channel = t->begin; channel < t->end; channel += n) {
        const int32_t left = t->channels - channel;
        inlay_group g;
        n = inlay_tile_group(t, channel);
        g.bias = t->bias + channel;
        g.y = call->y + channel;
        g.q = call->q ? call->q + channel : NULL;
        g.part = left < n ? left : 0;
        inlay_panel_group(t, call, &g, channel, n, steps);
    }
}

/* inlay_tile.make of narrow weights, where pixels lie in the rows. */
static inline void inlay_panel_rows_make(inlay_tile *t, const inlay_tiles *call)
{
    const ptrdiff_t pixels = t->backward ? -call->pixels : call->pixels;
    inlay_tiles some = *call;
    int32_t done;
    for (done = 0; done < call->count; done += some.count) {
        some.count = call->count - done;
        if (some.count > INLAY_PANEL_TILES)
            some.count = INLAY_PANEL_TILES;
        some.at = call->at + done * pixels * t->xs;
        some.y = call->y + done * pixels * t->ys;
        some.q = call->q ? call->q + done * pixels * t->qs : NULL;
        inlay_panel_groups(t, &some, 0);
    }
}

/* The same where each row is a pixel: a call is one tile. */
static inline void inlay_panel_steps_make(inlay_tile *t,
                                          const inlay_tiles *call)
{
    inlay_panel_groups(t, call, 1);
}

#endif
