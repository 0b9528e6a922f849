/* SPDX-License-Identifier: 0BSD
 * Tiles of tile_f32.h whose weights are stored in a narrower type than float, in the same blocks.
 *
 * Before it is multiplied a weight v becomes a float: v, or (v - zero) * scale where the step has
 * scales; one scale and one zero point for each output channel, or for each of them and so many
 * taps. Some taps of a group of channels at a time are made floats on the stack, a panel, and serve
 * several tiles; sums of a tile that need several panels wait beside it. The products and
 * their order are those of float weights, the same bits, but for the groups of tile_few.inc.h, and
 * where there are no vectors: there one scale for each channel is multiplied behind its sums, and
 * signed bytes without zero points need no panel on Arm cores with floats (tile_bytes_arm.inc.h).
 *
 * A pixel that is alone in all plans, as in a fully connected layer, has no panel: its weights
 * become floats in registers, and scales are multiplied behind the sums. */
#ifndef INLAY_TILE_NARROW_H
#define INLAY_TILE_NARROW_H

#include "inlay.h"
#include "kernels/tile_f32.h"
#include "kernels/widen.h"

/* Floats of a panel, and tiles that it serves. */
#if INLAY_VL == 16
enum { INLAY_PANEL_FLOATS = 64 * 64, INLAY_PANEL_TILES = 12 };
enum { INLAY_PANEL_CHANNELS = 64 };
#elif INLAY_VL > 1
enum { INLAY_PANEL_FLOATS = 64 * 16, INLAY_PANEL_TILES = 8 };
enum { INLAY_PANEL_CHANNELS = 16 };
#elif INLAY_TILE_ARM && !INLAY_TILE_PANELS
enum { INLAY_PANEL_FLOATS = 64 * 4, INLAY_PANEL_TILES = 1 };
enum { INLAY_PANEL_CHANNELS = 4 };
#else
enum { INLAY_PANEL_FLOATS = 64 * 4, INLAY_PANEL_TILES = 4 };
enum { INLAY_PANEL_CHANNELS = 4 };
#endif
#if defined __GNUC__ && INLAY_VL > 1
#define INLAY_PANEL_ALIGNED __attribute__((aligned(64)))
#else
#define INLAY_PANEL_ALIGNED
#endif

/* The operand behind the others that says how weights become floats, int32: taps of one scale,
 * scales along the taps, packed channels that have scales (channel i those of i modulo that), type
 * of the scales, zero point where there is one for all. */
enum {
    INLAY_HOW_BLOCK,
    INLAY_HOW_BLOCKS,
    INLAY_HOW_CHANNELS,
    INLAY_HOW_SCALE,
    INLAY_HOW_ZERO,
    INLAY_HOW_COUNT
};
enum { INLAY_SCALE_F32, INLAY_SCALE_F16, INLAY_SCALE_BF16 };

/* A tile that waits for others which the same panels serve. */
typedef struct inlay_waiting {
    inlay_tile tile;
    inlay_tiles call;
} inlay_waiting;

typedef struct inlay_queue {
    int32_t tiles;
    inlay_waiting tile[INLAY_PANEL_TILES];
} inlay_queue;

typedef struct inlay_stored {
    const inlay_widening *type; /* of the weights and their zero points */
    const void *values;
    const int32_t *how; /* NULL: weights are what they say */
    const void *scale;  /* packed as the weights are */
    const void *zero;   /* NULL: the same for all */
    inlay_queue *queue;
    int32_t alone; /* a tile of one pixel is one whatever the plan */
} inlay_stored;

/* Operand w of a step, whose further operands are at `how`; no tiles wait for it. */
static inline void inlay_stored_read(void *const *base, const inlay_step *s,
                                     int w, int how, const inlay_widening *type,
                                     inlay_stored *narrow)
{
    narrow->queue = NULL;
    narrow->alone = 0;
    narrow->type = type;
    narrow->values = inlay_at(base, s, w);
    narrow->how = (const int32_t *)inlay_at(base, s, how);
    narrow->scale = inlay_at(base, s, how + 1);
    narrow->zero = inlay_at(base, s, how + 2);
}

/* The same, with a queue of tiles. */
static inline void inlay_stored_take(void *const *base, const inlay_step *s,
                                     int w, int how, const inlay_widening *type,
                                     inlay_stored *narrow, inlay_queue *queue)
{
    inlay_stored_read(base, s, w, how, type, narrow);
    narrow->queue = queue;
    queue->tiles = 0;
    /* What is not named is not linked. */
    if (INLAY_TILE_ARM && !INLAY_TILE_PANELS)
        narrow->type = NULL;
}

/* to[i] = from[i] for n floats, mostly INLAY_SCALED. */
static inline void inlay_scales_copy(float *to, const float *from, int32_t n)
{
    if (n == INLAY_SCALED)
        memcpy(to, from, INLAY_SCALED * sizeof *to);
    else
        memcpy(to, from, (size_t)n * sizeof *to);
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
        inlay_scales_copy(to, (const float *)narrow->scale + first, n);
        break;
    }
}

#if INLAY_VL > 1

/* w = (w - zero) * scale for `taps` taps of `width` channels. */
static inline void inlay_narrow_scale(float *w, int32_t taps, int32_t width,
                                      const float *scale, const float *zero)
{
    int32_t k;
    for (k = 0; k < taps; k++, w += width) {
        int32_t i = 0;
        for (; width - i >= INLAY_VL; i += INLAY_VL)
            INLAY_V(store)
        (w + i, (INLAY_V(load)(w + i) - INLAY_V(load)(zero + i)) *
                    INLAY_V(load)(scale + i));
#if INLAY_VL > 4
        for (; width - i >= 4; i += 4)
            inlay_store4(w + i, (inlay_load4(w + i) - inlay_load4(zero + i)) *
                                    inlay_load4(scale + i));
#endif
        for (; i < width; i++)
            w[i] = (w[i] - zero[i]) * scale[i];
    }
}

#endif

/* Are scales multiplied behind the sums? So it is where there are no vectors and each channel has
 * one scale. */
static inline int inlay_scales_late(const inlay_stored *narrow)
{
    return INLAY_VL == 1 && narrow->how && narrow->how[INLAY_HOW_BLOCKS] == 1;
}

/* Are all zero points 0? */
static inline int inlay_narrow_centred(const inlay_stored *narrow)
{
    return !narrow->how || (!narrow->zero && narrow->how[INLAY_HOW_ZERO] == 0);
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

/* Scales and zero points of n channels: `at` is where they lie. Scales that are multiplied behind
 * the sums are 1 here. */
static inline void inlay_panel_scales(const inlay_stored *narrow, ptrdiff_t at,
                                      int32_t n, float *scale, float *zero)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        scale[i] = 1.0f;
        zero[i] = (float)narrow->how[INLAY_HOW_ZERO];
    }
    if (!inlay_scales_late(narrow))
        inlay_narrow_scales(narrow, at, n, scale);
    if (narrow->zero)
        narrow->type->widen(zero, narrow->zero, at, n);
}

/* Taps of one block of scales, which lie at `at`. */
static inline void inlay_panel_part(const inlay_tile *t,
                                    const inlay_block *block, float *to,
                                    ptrdiff_t tap, int32_t taps, ptrdiff_t at)
{
    const inlay_stored *narrow = t->narrow;
    const inlay_widening *type = narrow->type;
    const int32_t n = block->width;
    const ptrdiff_t first = inlay_block_at(block, t->taps, tap);
    float scale[16], zero[16];
    if (!INLAY_TILE_ARM && inlay_scales_late(narrow) &&
        inlay_narrow_centred(narrow)) {
        type->scaled(to, narrow->values, first, block->stride, taps, NULL,
                     NULL);
        return;
    }
    inlay_panel_scales(narrow, at, n, scale, zero);
#if INLAY_VL > 1
    if (n < INLAY_SCALED) {
        int32_t i;
        for (i = 0; i < taps; i++)
            type->widen(to + i * n, narrow->values, first + i * block->stride,
                        n);
        inlay_narrow_scale(to, taps, n, scale, zero);
        return;
    }
#endif
    type->scaled(to, narrow->values, first, block->stride, taps, scale, zero);
}

/* The same of several blocks of scales. */
static inline void inlay_panel_scaled(const inlay_tile *t,
                                      const inlay_block *block, float *to,
                                      ptrdiff_t tap, int32_t taps)
{
    const int32_t *how = t->narrow->how;
    inlay_block own = *block;
    int32_t n;
    own.channel %= how[INLAY_HOW_CHANNELS];
    for (; taps > 0; taps -= n, tap += n, to += n * own.width) {
        const ptrdiff_t at = inlay_block_at(&own, how[INLAY_HOW_BLOCKS],
                                            tap / how[INLAY_HOW_BLOCK]);
        n = how[INLAY_HOW_BLOCK] - (int32_t)(tap % how[INLAY_HOW_BLOCK]);
        if (n > taps)
            n = taps;
        inlay_panel_part(t, block, to, tap, n, at);
    }
}

/* Asks for the weights behind those of `taps` taps: panels jump from block to block, which no
 * machine foresees. */
static inline void inlay_panel_ahead(const inlay_stored *narrow, ptrdiff_t at,
                                     int32_t n)
{
#if defined __GNUC__ && INLAY_VL > 1
    const int bits = narrow->type->bits;
    const char *from = (const char *)narrow->values + (at + n) * bits / 8;
    int32_t i;
    for (i = 0; i < n * bits / 8; i += 64)
        __builtin_prefetch(from + i, 0, 2);
#else
    (void)narrow;
    (void)at;
    (void)n;
#endif
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
    if (taps < t->taps)
        inlay_panel_ahead(narrow, at, taps * n);
    if (narrow->how)
        inlay_panel_scaled(t, block, to, tap, taps);
    else if (n == block->stride)
        narrow->type->widen(to, narrow->values, at, taps * n);
    else
        for (k = 0; k < taps; k++)
            narrow->type->widen(to + k * n, narrow->values,
                                at + k * block->stride, n);
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
    if (INLAY_TILE_WIDTH != 4 &&
        (block.stride == t->width || block.stride == 8))
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

/* Taps of each block of channels that a panel of n channels has room for. */
INLAY_INLINE ptrdiff_t inlay_panel_room(const inlay_tile *t, int32_t n)
{
    const ptrdiff_t room = INLAY_PANEL_FLOATS / n;
    return INLAY_VL > 1 && t->taps < room ? t->taps : room;
}

/* A panel of the group of n channels. Whole blocks lie one after the other. */
static inline void inlay_panel_fill(const inlay_tile *t, float *to,
                                    int32_t channel, int32_t n,
                                    const inlay_panel *panel)
{
    const int32_t taps = (int32_t)(panel->end - panel->from);
    const ptrdiff_t room = inlay_panel_room(t, n);
    inlay_block block = inlay_panel_place(t, channel, n);
    int32_t i;
    if (block.width < n && taps == t->taps && !t->narrow->how) {
        const ptrdiff_t at = inlay_block_at(&block, t->taps, panel->from);
        t->narrow->type->widen(to, t->narrow->values, at, taps * n);
        return;
    }
    for (i = 0; i < n; i += block.width) {
        inlay_panel_block(t, &block, to + i * room, panel->from, taps);
        block.channel += block.width;
    }
}

/* The tap behind the last one of a tile's window; 0: no row of it exists. */
static inline ptrdiff_t inlay_panel_last(const inlay_waiting *w,
                                         const int steps)
{
    const inlay_tile *t = &w->tile;
    ptrdiff_t last = w->call.tap + t->run;
    if (!t->nkh || (!steps && !t->nkd))
        return 0;
    last += (t->nkh - 1) * t->row_taps;
    if (steps)
        return last;
    last += (t->nkd - 1) * t->plane_taps;
    return last + (t->pieces - 1) * t->piece_taps;
}

/* The taps that any of the tiles needs. */
static inline ptrdiff_t inlay_panel_taps(const inlay_queue *queue,
                                         inlay_panel *panel, const int steps)
{
    ptrdiff_t end = 0;
    int32_t i;
    panel->from = queue->tile[0].call.tap;
    for (i = 0; i < queue->tiles; i++) {
        const inlay_waiting *w = queue->tile + i;
        const ptrdiff_t last = inlay_panel_last(w, steps);
        if (w->call.tap < panel->from)
            panel->from = w->call.tap;
        if (last > end)
            end = last;
    }
    return end;
}

/* Channels of a group of the i-th tile of a queue. */
static inline inlay_group inlay_panel_channels(const inlay_queue *queue,
                                               int32_t i, int32_t channel,
                                               int32_t n)
{
    const inlay_waiting *w = queue->tile + i;
    const int32_t left = w->tile.channels - channel;
    inlay_group g;
    g.bias = w->tile.bias + channel;
    g.y = w->call.y + channel;
    g.q = w->call.q ? w->call.q + channel : NULL;
    g.part = left < n ? left : 0;
    g.scale = NULL;
    return g;
}

/* The scales of four channels that are multiplied behind the sums, NULL: there are none. */
static inline const float *inlay_late_scales(const inlay_tile *t,
                                             int32_t channel, float *to)
{
    const inlay_stored *narrow = t->narrow;
    int32_t at;
    if (!inlay_scales_late(narrow))
        return NULL;
    at = (int32_t)t->skip + channel;
    if (at >= narrow->how[INLAY_HOW_CHANNELS])
        at %= narrow->how[INLAY_HOW_CHANNELS];
    if (narrow->how[INLAY_HOW_SCALE] == INLAY_SCALE_F32)
        return (const float *)narrow->scale + at;
    inlay_narrow_scales(narrow, at, 4, to);
    return to;
}

/* What one panel adds to all tiles; `sum` has those of each tile. */
static inline void inlay_panel_add(const inlay_queue *queue,
                                   const inlay_panel *panel,
                                   const float *weights, float *sum,
                                   int32_t channel, int32_t n, const int steps)
{
    float scale[4];
    int32_t i;
    for (i = 0; i < queue->tiles; i++) {
        const inlay_waiting *w = queue->tile + i;
        inlay_group g = inlay_panel_channels(queue, i, channel, n);
        g.weights = weights;
        g.panel = panel;
        g.scale = inlay_late_scales(&w->tile, channel, scale);
        g.sum = sum + i * INLAY_TILE_P * INLAY_PANEL_CHANNELS;
        if (steps)
            inlay_panel_steps_sized(&w->tile, &w->call, &g, n);
        else
            inlay_panel_rows_sized(&w->tile, &w->call, &g, n);
    }
}

/* One group of n channels of all tiles, panel by panel; t: a tile as it came. */
INLAY_APART void inlay_panel_group(const inlay_queue *queue,
                                   const inlay_tile *t, int32_t channel,
                                   int32_t n, const int steps)
{
    float weights[INLAY_PANEL_FLOATS] INLAY_PANEL_ALIGNED;
    float sum[INLAY_PANEL_TILES * INLAY_TILE_P *
              INLAY_PANEL_CHANNELS] INLAY_PANEL_ALIGNED;
    inlay_panel panel;
    const ptrdiff_t end = inlay_panel_taps(queue, &panel, steps);
    const ptrdiff_t room = inlay_panel_room(t, n);
    panel.begins = 1;
    panel.ends = 0;
    while (!panel.ends) {
        panel.end = panel.from + room;
        panel.ends = panel.end >= end;
        if (panel.ends)
            panel.end = end > panel.from ? end : panel.from;
        inlay_panel_fill(t, weights, channel, n, &panel);
        inlay_panel_add(queue, &panel, weights, sum, channel, n, steps);
        panel.begins = 0;
        panel.from = panel.end;
    }
}

#include "kernels/line_walk.inc.h"

/* Makes the tiles that wait. What they read as weights are panels. */
INLAY_INLINE void inlay_panel_flush(inlay_queue *queue, const int steps)
{
    const inlay_tile t = queue->tile[0].tile;
    int32_t channel, n, i;
    for (channel = t.begin; channel < t.end; channel += n) {
        n = inlay_tile_group(&t, channel);
        for (i = 0; i < queue->tiles; i++) {
            queue->tile[i].tile.taps = inlay_panel_room(&t, n);
            queue->tile[i].tile.width = n > 16 ? 16 : n;
        }
        inlay_panel_group(queue, &t, channel, n, steps);
    }
    queue->tiles = 0;
}

INLAY_APART void inlay_panel_rows_flush(inlay_queue *queue)
{
    if (inlay_line_serves(queue)) {
        inlay_line_flush(queue);
        queue->tiles = 0;
    }
    if (queue->tiles)
        inlay_panel_flush(queue, 0);
}

INLAY_APART void inlay_panel_steps_flush(inlay_queue *queue)
{
    if (queue->tiles)
        inlay_panel_flush(queue, 1);
}

/* Have both the same channels of the same weights? */
static inline int inlay_panel_alike(const inlay_tile *t,
                                    const inlay_tile *other)
{
    return t->skip == other->skip && t->begin == other->begin &&
           t->end == other->end;
}

/* Puts a tile into the queue; makes what waits where there is no room, or where the tile's results
 * may lie over what others read. */
INLAY_INLINE void inlay_panel_wait(const inlay_tile *t, const inlay_tiles *call,
                                   void (*const flush)(inlay_queue *))
{
    inlay_queue *queue = t->narrow->queue;
    inlay_waiting *w;
    if (queue->tiles && !inlay_panel_alike(t, &queue->tile[0].tile))
        flush(queue);
    w = queue->tile + queue->tiles++;
    w->tile = *t;
    w->call = *call;
    w->call.count = 1;
    if (!t->apart || queue->tiles == INLAY_PANEL_TILES)
        flush(queue);
}

/* inlay_tile.make of narrow weights, where pixels lie in the rows; without a call all that waits is
 * made. */
static inline void inlay_panel_rows_make(inlay_tile *t, const inlay_tiles *call)
{
    ptrdiff_t pixels;
    inlay_tiles one;
    int32_t i;
    if (!call) {
        inlay_panel_rows_flush(t->narrow->queue);
        return;
    }
    one = *call;
    pixels = t->backward ? -call->pixels : call->pixels;
    for (i = 0; i < call->count; i++) {
        inlay_panel_wait(t, &one, inlay_panel_rows_flush);
        one.at += pixels * t->xs;
        one.y += pixels * t->ys;
        if (one.q)
            one.q += pixels * t->qs;
    }
}

#if INLAY_TILE_ARM
#include "kernels/tile_bytes_arm.inc.h"
#endif

/* How tiles of rows are made. They wait for each other where y lies over nothing that is read. */
static inline void inlay_panel_rows_take(inlay_tile *t, int apart)
{
    t->make = inlay_panel_rows_make;
    t->apart = apart;
#if INLAY_TILE_ARM
    if (inlay_bytes_serve(t)) {
        t->make = inlay_bytes_make;
        t->apart = 0;
    }
#endif
}

/* The same where each row is a pixel: a call is one tile. */
static inline void inlay_panel_steps_make(inlay_tile *t,
                                          const inlay_tiles *call)
{
    inlay_panel_wait(t, call, inlay_panel_steps_flush);
}

#endif
