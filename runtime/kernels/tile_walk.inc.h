/* SPDX-License-Identifier: 0BSD
 * Template of tile_f32.h for one way to walk a window, INLAY_WALK: a function for each size of a
 * group of channels, and inlay_..._run(), which takes them in turn. INLAY_R(name): its names.
 * INLAY_LIST: what the file says of the lines that are walked in this way. */

/* The numbers of pixels of the tiles of each size of group. */
enum {
    INLAY_R(uses_64) = INLAY_TILE_BITS INLAY_LIST(INLAY_TILE_IN_64),
    INLAY_R(uses_32) = INLAY_TILE_BITS INLAY_LIST(INLAY_TILE_IN_32),
    INLAY_R(uses_16) = INLAY_TILE_ONE INLAY_LIST(INLAY_TILE_IN_16),
    INLAY_R(uses_8) = INLAY_TILE_ONE INLAY_LIST(INLAY_TILE_IN_8),
    INLAY_R(uses_4) = INLAY_TILE_ONE INLAY_LIST(INLAY_TILE_IN_4)
};

#define INLAY_GROUP INLAY_R(4)
#define INLAY_USES INLAY_R(uses_4)
#if INLAY_VL == 1
#if INLAY_HAS_4 && !INLAY_TILE_ARM
#define INLAY_L 4
#define INLAY_VECTORS 1
#else
#define INLAY_L 1
#define INLAY_VECTORS 4
#endif
#define INLAY_TAP_STEP (INLAY_TILE_WIDTH == 4 ? 4 : t->width)
#else
#define INLAY_L 4
#define INLAY_VECTORS 1
#define INLAY_TAP_STEP 4
#endif
#define INLAY_BLOCK_STEP 0
#define INLAY_ENDS INLAY_TILE_ENDS
#define INLAY_ENDS_1 INLAY_END_ALL
#include "kernels/tile_group.inc.h"

#if INLAY_VL > 1

#define INLAY_GROUP INLAY_R(8)
#define INLAY_USES INLAY_R(uses_8)
#if INLAY_VL == 4
#define INLAY_L 4
#define INLAY_VECTORS 2
#else
#define INLAY_L 8
#define INLAY_VECTORS 1
#endif
#define INLAY_TAP_STEP 8
#define INLAY_BLOCK_STEP 0
#define INLAY_ENDS INLAY_TILE_ENDS
#define INLAY_ENDS_1 INLAY_END_ALL
#include "kernels/tile_group.inc.h"

#define INLAY_GROUP INLAY_R(16)
#define INLAY_USES INLAY_R(uses_16)
#define INLAY_L INLAY_VL
#define INLAY_VECTORS 16 / INLAY_VL
#define INLAY_TAP_STEP 16
#define INLAY_BLOCK_STEP 0
#define INLAY_ENDS INLAY_TILE_ENDS
#define INLAY_ENDS_1 INLAY_END_ALL
#include "kernels/tile_group.inc.h"

#endif
#if INLAY_VL == 16

#define INLAY_GROUP INLAY_R(32)
#define INLAY_USES INLAY_R(uses_32)
#define INLAY_L 16
#define INLAY_VECTORS 2
#define INLAY_TAP_STEP 16
#define INLAY_BLOCK_STEP t->taps * 16
#define INLAY_ENDS INLAY_TILE_ENDS
#define INLAY_ENDS_1 INLAY_TILE_ENDS
#include "kernels/tile_group.inc.h"

#define INLAY_GROUP INLAY_R(64)
#define INLAY_USES INLAY_R(uses_64)
#define INLAY_L 16
#define INLAY_VECTORS 4
#define INLAY_TAP_STEP 16
#define INLAY_BLOCK_STEP t->taps * 16
#define INLAY_ENDS INLAY_TILE_ENDS
#define INLAY_ENDS_1 INLAY_TILE_ENDS
#include "kernels/tile_group.inc.h"

#endif

/* A group of n channels; 0: there is no code for tiles of so many pixels. */
static inline int INLAY_R(group)(const inlay_tile *t, const inlay_tiles *call,
                                 const inlay_group *g, int32_t n)
{
    int uses = INLAY_R(uses_4);
    switch (n) {
#if INLAY_VL == 16
    case 64:
        uses = INLAY_R(uses_64);
        if (uses >> call->pixels & 1)
            INLAY_R(64)(t, call, g);
        break;
    case 32:
        uses = INLAY_R(uses_32);
        if (uses >> call->pixels & 1)
            INLAY_R(32)(t, call, g);
        break;
#endif
#if INLAY_VL > 1
    case 16:
        uses = INLAY_R(uses_16);
        if (uses >> call->pixels & 1)
            INLAY_R(16)(t, call, g);
        break;
    case 8:
        uses = INLAY_R(uses_8);
        if (uses >> call->pixels & 1)
            INLAY_R(8)(t, call, g);
        break;
#endif
    default:
        if (uses >> call->pixels & 1)
            INLAY_R(4)(t, call, g);
        break;
    }
    return uses >> call->pixels & 1;
}

/* Tiles that there is no code for: one pixel, and at most 16 channels, at a time. */
INLAY_APART void INLAY_R(singly)(const inlay_tile *t, const inlay_tiles *call,
                                 const inlay_group *g, int32_t n)
{
    const int32_t pixels = call->pixels * call->count;
    inlay_tile tile = *t;
    inlay_tiles one = *call;
    int32_t i, c;
    one.pixels = 1;
    one.count = 1;
    for (i = 0; i < pixels; i++) {
        const int32_t pixel = t->backward ? call->pixels - 1 - i : i;
        if (inlay_walk_is_steps(INLAY_WALK))
            tile.slot = (t->slot + pixel * t->pieces) % t->cap;
        else
            one.at = call->at + pixel * t->xs;
        for (c = 0; c < n; c += 16) {
            inlay_group part;
            inlay_group_part(t, g, pixel, c, &part);
            if (part.sum)
                part.sum += i * n + c;
            INLAY_R(group)(&tile, &one, &part, n < 16 ? n : 16);
        }
    }
}

#if INLAY_VL == 1

/* Width of the block that a channel lies in. */
static inline int32_t INLAY_R(width)(const inlay_tile *t, int32_t channel)
{
#if INLAY_TILE_WIDTH == 4
    (void)t;
    (void)channel;
    return 4;
#else
    const int32_t inside = channel % t->width;
    const int32_t left = (t->channels - (channel - inside) + 3) / 4 * 4;
    if (left >= t->width)
        return t->width;
    return inside < left / 8 * 8 ? 8 : 4;
#endif
}

#endif

/* The weights of the group of n channels that begins at `channel`. */
static inline void INLAY_R(weights)(inlay_tile *t, const inlay_tiles *call,
                                    inlay_group *g, int32_t channel, int32_t n)
{
    int32_t first = channel;
#if INLAY_VL == 1
    const int32_t width = INLAY_R(width)(t, channel);
    if (INLAY_TILE_WIDTH != 4 && (width == t->width || width == 8))
        first -= channel % t->width;
    t->width = width;
    (void)n;
#else
    const int32_t width = n > 16 ? 16 : n;
#endif
    g->weights = t->weights + (t->skip + first) * t->taps + call->tap * width +
                 (channel - first);
}

/* The tiles of a group of n channels. */
static inline void INLAY_R(sized)(const inlay_tile *t, const inlay_tiles *call,
                                  const inlay_group *g, int32_t n)
{
    int ends = t->clamp;
    if (g->q)
        ends |= INLAY_END_ADD;
    if (g->part)
        ends |= INLAY_END_PART;
    if (ends & ~INLAY_TILE_ENDS || !INLAY_R(group)(t, call, g, n))
        INLAY_R(singly)(t, call, g, n);
}

/* Channels of the group that begins at `channel`: in tiles of a long line 32 in place of 64. */
static inline int32_t
INLAY_R(channels)(const inlay_tile *t, const inlay_tiles *call, int32_t channel)
{
    const int32_t n = inlay_tile_group(t, channel);
#if INLAY_VL == 16
    const int is_long = INLAY_TILE_IS_LONG(t->line);
    const int half = is_long ? INLAY_R(uses_32) : ~INLAY_R(uses_64);
    if (n == 64 && half >> call->pixels & 1)
        return 32;
#else
    (void)call;
#endif
    return n;
}

/* Channels [t->begin, t->end) of some tiles, group by group. */
INLAY_APART void INLAY_R(run)(inlay_tile *t, const inlay_tiles *call)
{
    const int32_t width = t->width;
    int32_t channel, n;
#if INLAY_TILE_ARM
    if (INLAY_WALK == INLAY_WALK_ROWS && inlay_tile_blocks(t)) {
        inlay_blocks_floats(t, call);
        return;
    }
#endif
    for (channel = t->begin; channel < t->end; channel += n) {
        const int32_t left = t->channels - channel;
        inlay_group g;
        n = INLAY_R(channels)(t, call, channel);
        INLAY_R(weights)(t, call, &g, channel, n);
        g.bias = t->bias + channel;
        g.y = call->y + channel;
        g.q = call->q ? call->q + channel : NULL;
        g.part = left < n ? left : 0;
        if (INLAY_TILE_ARM)
            g.scale = NULL;
        g.panel = NULL;
        g.sum = NULL;
        INLAY_R(sized)(t, call, &g, n);
        if (INLAY_VL == 1)
            t->width = width;
    }
}

#undef INLAY_WALK
#undef INLAY_R
#undef INLAY_LIST
