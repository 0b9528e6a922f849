/* SPDX-License-Identifier: 0BSD
 * The register-blocked inner product of convolutions and matrix products, float32.
 *
 * A tile is P pixels by a group of output channels; its sums stay in registers.
 *
 *   y[p][o] = clamp(b[o] + sum over taps k: x[p][k] w[k][o]  (+ q[p][o]))
 *
 * x [P][taps], w [taps][OC], b [OC], y and q [P][OC]. Weights are packed offline: blocks of `width`
 * output channels (16; 4 for scalar machines), then a block of 8 and one of 4 for the rest, filled
 * up with zeros; in a block [tap][channel of the block]. The bias is filled up in the same way. A
 * window of x is some rows of a ring (those that exist); of each row `pieces` runs of adjacent
 * floats (one where pixels lie without gaps). */
#ifndef INLAY_TILE_F32_H
#define INLAY_TILE_F32_H

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/vec.h"

typedef struct inlay_tile inlay_tile;
typedef struct inlay_tiles inlay_tiles;
struct inlay_stored;

/* Makes channels [t->begin, t->end) of some tiles. */
typedef void inlay_tile_run(inlay_tile *t, const inlay_tiles *call);

/* What all tiles of a row have in common. */
struct inlay_tile {
    const float *x;       /* row 0 of the ring */
    size_t row;           /* floats from row to row */
    int32_t cap;          /* rows of the ring */
    int32_t first;        /* first row of the window */
    int32_t slot;         /* the same modulo cap */
    int32_t nkd, d_rows;  /* planes of the window, rows from one to the next */
    int32_t nkh, h_rows;  /* rows of a plane of it, rows from one to the next */
    int32_t pieces, run;  /* runs in a row, floats in a run */
    ptrdiff_t piece;      /* floats from run to run */
    ptrdiff_t xs, ys, qs; /* floats from pixel to pixel of the tile */
    /* Weights of a plane, row, piece, clipped or not, and of the whole window: a block has taps *
     * its width floats. */
    ptrdiff_t plane_taps, row_taps, piece_taps, taps;
    const float *weights; /* of channel 0 of the first group */
    ptrdiff_t skip;       /* channels in front of channel 0 of this group */
    const float *bias;    /* of channel 0 */
    int32_t channels;     /* that exist */
    int32_t begin, end;   /* those that are made */
    int32_t width;        /* channels of the main blocks */
    int32_t clamp;        /* bit 0: at least lo; bit 1: at most hi */
    int32_t backward;     /* several tiles go from the last to the first */
    float lo, hi;
    inlay_tile_run *make; /* the way the window is walked */
    int32_t apart;        /* y overlaps nothing that other tiles need */
    const struct inlay_stored *narrow; /* tile_narrow.h: instead of weights */
#ifdef INLAY_ROW_SLOTS
    /* of the rows of x, in units of so many floats; NULL: a ring */
    const uint16_t *slots;
    size_t unit;
#endif
#if INLAY_VL > 1
    int32_t line; /* pixels that tiles are cut from: INLAY_TILE_IS_LONG */
#endif
};

/* The tiles that follow are cut from a line of so many pixels. */
INLAY_INLINE void inlay_tile_line(inlay_tile *t, int32_t pixels)
{
#if INLAY_VL > 1
    t->line = pixels;
#else
    (void)t;
    (void)pixels;
#endif
}

/* Tiles that are made by one call. */
struct inlay_tiles {
    int32_t pixels; /* of a tile */
    /* tiles, each behind the one before, or in front of it: t->backward */
    int32_t count;
    /* floats from the row to the first tap that exists, pixel 0 of the first */
    ptrdiff_t at;
    ptrdiff_t tap;  /* the first tap that exists */
    float *y;       /* channel 0 of the first tile */
    const float *q; /* the same, or NULL */
};

/* Weights of some taps of the window, made floats: all of a group's, [block][tap][width]. */
typedef struct inlay_panel {
    ptrdiff_t from, end; /* taps */
    int32_t begins;      /* the first panel of a window */
    int32_t ends;        /* the last */
} inlay_panel;

/* A group of their channels. */
typedef struct inlay_group {
    const float *weights; /* at the first tap */
    const float *bias;
    float *y;
    const float *q;
    int32_t part;             /* channels of the group that exist, 0: all */
    const float *scale;       /* of each sum, or NULL: tile_narrow.h */
    const inlay_panel *panel; /* tile_narrow.h: what `weights` are */
    float *sum;               /* of each tile, between two panels */
} inlay_group;

/* What follows the sums of a tile. */
enum {
    INLAY_END_LOW = 1,  /* at least lo: the bits of t->clamp */
    INLAY_END_HIGH = 2, /* at most hi */
    INLAY_END_ADD = 4,  /* q is added */
    INLAY_END_PART = 8, /* not all channels of a group exist */
    INLAY_END_ALL = 15
};

/* What a tile has code of its own for. */
typedef struct inlay_shape {
    int walk;   /* INLAY_WALK_... */
    int uses;   /* bit n: there is code for tiles of n pixels */
    int pixels; /* of a pair of tiles: more than INLAY_TILE_P */
    int vectors;
    ptrdiff_t width; /* floats from tap to tap of the weights */
    ptrdiff_t block; /* from 16 channels of a tap to the next 16 */
    int ends;        /* INLAY_END_... that may follow */
} inlay_shape;

/* How the window of a tile is walked: pixels lie in its rows, each row is a pixel, or there is no
 * window, but a line of floats for each pixel. The first two also panel by panel of weights that
 * are stored in a narrower type. */
enum {
    INLAY_WALK_ROWS,
    INLAY_WALK_STEPS,
    INLAY_WALK_LINES,
    INLAY_WALK_PANEL_ROWS,
    INLAY_WALK_PANEL_STEPS
};

/* Is a pixel a row? */
INLAY_INLINE int inlay_walk_is_steps(const int walk)
{
    return walk == INLAY_WALK_STEPS || walk == INLAY_WALK_PANEL_STEPS;
}

/* Most pixels in a tile; none has more on any target: the planner counts on it. */
enum { INLAY_TILE_MOST = 7 };
#ifndef INLAY_TILE_P
#if INLAY_VL == 16
#define INLAY_TILE_P 7
#elif INLAY_VL == 8 || defined __aarch64__
#define INLAY_TILE_P 6
#elif INLAY_VL == 4
#define INLAY_TILE_P 3
#elif defined INLAY_FPU_ARM || defined INLAY_HELIUM
#define INLAY_TILE_P 5
#elif defined __arm__
#define INLAY_TILE_P 6
#else
#define INLAY_TILE_P 4
#endif
#endif
/* Does one function make tiles of any number of pixels? */
#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
#define INLAY_TILE_ARM 1
#else
#define INLAY_TILE_ARM 0
#endif
#if INLAY_TILE_ARM && INLAY_TILE_P > 5
#error "INLAY_TILE_P is at most 5 on 32-bit Arm cores with floats"
#endif
#if INLAY_TILE_P > 7
#error "INLAY_TILE_P is at most 7"
#endif

/* Vectors that a tile may keep in registers: sums, the weights of a tap and, where no instruction
 * takes it from memory, a float of x. Tiles that take less than half go in pairs. */
#if INLAY_VL == 16 || (INLAY_VL == 4 && defined __aarch64__)
#define INLAY_TILE_HELD 31
#elif INLAY_VL > 1
#define INLAY_TILE_HELD 14
#else
#define INLAY_TILE_HELD 0
#endif
enum { INLAY_TILE_FULL = INLAY_TILE_ARM ? INLAY_TILE_P : INLAY_TILE_MOST };
enum { INLAY_TILE_SUMS = (INLAY_TILE_HELD ? 2 : 1) * INLAY_TILE_FULL };

/* Is it two tiles at once? */
INLAY_INLINE int inlay_is_pair(const inlay_shape shape)
{
    return shape.pixels > INLAY_TILE_P;
}

/* Which tiles there is code for. A generated file says of its steps, before it includes this one,
 * the lines that they cut into tiles: use(channels, pixels) for each, and what follows their sums.
 * All other tiles are right as well, and slower: a pixel at a time. Without a word of it there is
 * code for all. */
#ifdef INLAY_TILE_ENDS
#define INLAY_TILE_SOME 1
#else
#define INLAY_TILE_ENDS INLAY_END_ALL
#define INLAY_TILE_SOME 0
#endif
/* Channels of a block of packed weights: where it is 4, others have less code of their own. */
#ifndef INLAY_TILE_WIDTH
#define INLAY_TILE_WIDTH 16
#endif
/* 0: weights that are stored in a narrower type are signed bytes with a scale for each channel, or
 * none, in blocks of four channels: Arm cores with floats need no panels (tile_narrow.h). */
#ifndef INLAY_TILE_PANELS
#define INLAY_TILE_PANELS 1
#endif
#ifndef INLAY_TILE_ROWS
#define INLAY_TILE_ROWS(use)
#endif
#ifndef INLAY_TILE_STEPS
#define INLAY_TILE_STEPS(use)
#endif
#ifndef INLAY_TILE_LINES
#define INLAY_TILE_LINES(use)
#endif

/* Bit n: a line of so many pixels has tiles of n pixels. They differ by one at most. */
#define INLAY_TILE_UP(a, b) (((a) + (b)-1) / (b))
#define INLAY_TILE_COUNT(line) INLAY_TILE_UP(line, INLAY_TILE_P)
#define INLAY_TILE_LESS(line) (1 << (line) / INLAY_TILE_COUNT(line))
#define INLAY_TILE_MORE(line) (1 << INLAY_TILE_UP(line, INLAY_TILE_COUNT(line)))
#define INLAY_TILE_CUT(line) (INLAY_TILE_LESS(line) | INLAY_TILE_MORE(line))
#define INLAY_TILE_IF(what, line) | ((what) ? INLAY_TILE_CUT(line) : 0)

/* Is a line that is walked by rows so long that pairs of tiles of 32 channels are faster than tiles
 * of 64? A pair takes as many registers, and a weight serves twice the pixels. Where few pixels
 * follow, weights come from far away: from four places at once they come faster. */
#define INLAY_TILE_BY_ROWS (INLAY_WALK == INLAY_WALK_ROWS)
#define INLAY_TILE_IS_LONG(n) (INLAY_TILE_BY_ROWS && (n) > 3 * INLAY_TILE_P)

/* Channels that are left behind the groups of 64, of 32, and so on: inlay_tile_group(). */
#define INLAY_TILE_64(c) ((c) - ((c) + 3) / 64 * 64)
#define INLAY_TILE_32(c) (INLAY_TILE_64(c) - (INLAY_TILE_64(c) >= 29 ? 32 : 0))
#define INLAY_TILE_16(c) (INLAY_TILE_32(c) - (INLAY_TILE_32(c) > 12 ? 16 : 0))
#define INLAY_TILE_8(c) (INLAY_TILE_16(c) - (INLAY_TILE_16(c) > 4 ? 8 : 0))

/* The tiles of a line in each size of group. Pixels by themselves have code in any case. */
#define INLAY_TILE_BITS (INLAY_TILE_SOME ? 0 : (2 << INLAY_TILE_P) - 1)
#define INLAY_TILE_ONE (INLAY_TILE_SOME ? 2 : (2 << INLAY_TILE_P) - 1)
#define INLAY_TILE_WHOLE(c, n) ((c) >= 61 && !INLAY_TILE_IS_LONG(n))
#define INLAY_TILE_HALVED(c, n) ((c) >= 61 && INLAY_TILE_IS_LONG(n))
#define INLAY_TILE_LAST(c) (INLAY_TILE_64(c) >= 29)
#define INLAY_TILE_TWO(c, n) (INLAY_TILE_LAST(c) || INLAY_TILE_HALVED(c, n))
#define INLAY_TILE_IN_64(c, line) INLAY_TILE_IF(INLAY_TILE_WHOLE(c, line), line)
#define INLAY_TILE_IN_32(c, line) INLAY_TILE_IF(INLAY_TILE_TWO(c, line), line)
#define INLAY_TILE_IN_8(c, line) INLAY_TILE_IF(INLAY_TILE_16(c) > 4, line)
#if INLAY_VL == 16
#define INLAY_TILE_IN_16(c, line) INLAY_TILE_IF(INLAY_TILE_32(c) > 12, line)
#else
#define INLAY_TILE_IN_16(c, line) INLAY_TILE_IF((c) > 12, line)
#endif
#if INLAY_VL == 1
#define INLAY_TILE_IN_4(c, line) INLAY_TILE_IF(1, line)
#else
#define INLAY_TILE_IN_4(c, line) INLAY_TILE_IF(INLAY_TILE_8(c) > 0, line)
#endif

/* How the rows of x lie. */
static inline void inlay_tile_ring(inlay_tile *t, const inlay_ref *x)
{
    t->row = x->row / sizeof(float);
    t->cap = x->cap;
#ifdef INLAY_ROW_SLOTS
    t->slots = x->slot;
    t->unit = x->unit / sizeof(float);
#endif
}

/* Row `slot` of the ring. */
INLAY_INLINE const float *inlay_tile_row(const inlay_tile *t, int32_t slot)
{
#ifdef INLAY_ROW_SLOTS
    if (t->slots)
        return t->x + t->slots[slot] * t->unit;
#endif
    return t->x + (size_t)slot * t->row;
}

/* The slot of the ring that holds the first row of plane d of a window. */
INLAY_INLINE int32_t inlay_tile_plane(const inlay_tile *t, int32_t d)
{
    return (t->first + d * t->d_rows) % t->cap;
}

/* The slot of the ring that is `rows` rows of a window behind this one. */
INLAY_INLINE int32_t inlay_tile_slot(const inlay_tile *t, int32_t slot,
                                     int32_t rows)
{
    slot += rows * t->h_rows;
    if (slot >= t->cap)
        slot -= t->cap;
    return slot;
}

/* The slot of the next row of a window. */
INLAY_INLINE int32_t inlay_tile_next(const inlay_tile *t, int32_t slot)
{
    return inlay_tile_slot(t, slot, 1);
}

/* Sums of a group of which only n channels exist, of one pixel. */
INLAY_APART void inlay_tile_part(const inlay_tile *t, const float *sum,
                                 float *y, const float *q, int32_t n)
{
    const float lo = t->clamp & INLAY_END_LOW ? t->lo : -INFINITY;
    const float hi = t->clamp & INLAY_END_HIGH ? t->hi : INFINITY;
    int32_t i;
    for (i = 0; i < n; i++) {
        const float v = q ? sum[i] + q[i] : sum[i];
        y[i] = inlay_min1(hi, inlay_max1(lo, v));
    }
}

#include "kernels/tile_few.inc.h"

#define INLAY_FAMILY "tile_f32.inc.h"
#include "each_width.inc.h"
#undef INLAY_FAMILY

/* Channels of the group of packed channels that begins at `channel`, of t->channels (rounded up to
 * 4). */
static inline int32_t inlay_tile_group(const inlay_tile *t, int32_t channel)
{
#if INLAY_VL == 1
    (void)t;
    (void)channel;
    return 4;
#else
    const int32_t left = t->channels - channel;
    if (t->width == 4)
        return 4;
    if (INLAY_VL == 16 && left >= 61)
        return 64;
    if (INLAY_VL == 16 && left >= 29)
        return 32;
    if (left > 12)
        return 16;
    return left > 4 ? 8 : 4;
#endif
}

/* Channels c and so on of a group, at most 16, of one pixel of its tiles; sums are the caller's. */
INLAY_INLINE void inlay_group_part(const inlay_tile *t, const inlay_group *g,
                                   int32_t pixel, int32_t c, inlay_group *part)
{
    *part = *g;
    part->weights += c * t->taps;
    part->bias += c;
    part->y += pixel * t->ys + c;
    if (part->q)
        part->q += pixel * t->qs + c;
    part->part = g->part && g->part - c < 16 ? g->part - c : 0;
}

/* Are weights of the tile blocks of four channels, which have code of their own? */
INLAY_INLINE int inlay_tile_blocks(const inlay_tile *t)
{
    return INLAY_TILE_ARM && (INLAY_TILE_WIDTH == 4 || t->width == 4);
}

#if INLAY_TILE_ARM
#include "kernels/tile_blocks_arm.inc.h"
#endif

#define INLAY_WALK INLAY_WALK_ROWS
#define INLAY_LIST INLAY_TILE_ROWS
#define INLAY_R(name) inlay_rows_##name
#include "kernels/tile_walk.inc.h"

/* Tile i of the cut of n pixels into equal tiles (they differ by one pixel at most): its first
 * pixel; *pixels: how many it has. */
static inline int32_t inlay_tile_cut(int32_t n, int32_t tiles, int32_t i,
                                     int32_t *pixels)
{
    const int32_t small = n / tiles;
    const int32_t more = n % tiles;
    *pixels = small + (i < more);
    return i * small + (i < more ? i : more);
}

/* The tile of a matrix product: every pixel is `taps` floats, without a window. */
static inline void inlay_tile_product(inlay_tile *t, inlay_tile_run *make,
                                      const float *x, int32_t taps,
                                      ptrdiff_t xs, int32_t width)
{
    memset(t, 0, sizeof *t);
    t->make = make;
    t->x = x;
    t->cap = 1;
    t->nkd = 1;
    t->nkh = 1;
    t->pieces = 1;
    t->run = taps;
    t->xs = xs;
    t->plane_taps = taps;
    t->row_taps = taps;
    t->piece_taps = taps;
    t->taps = taps;
    t->width = width;
}

/* Before what tiles read is overwritten: makes those that wait for others (tile_narrow.h). */
static inline void inlay_tile_done(inlay_tile *t)
{
    if (t->narrow)
        t->make(t, NULL);
}

/* Where the tiles from pixel number `pixel` on lie, of those that `all` says. */
INLAY_INLINE void inlay_tile_place(const inlay_tile *t, const inlay_tiles *all,
                                   int32_t pixel, inlay_tiles *some)
{
    some->at = all->at + pixel * t->xs;
    some->y = all->y + pixel * t->ys;
    some->q = all->q ? all->q + pixel * t->qs : NULL;
}

/* May one call make several tiles? Those that may lie over others' x: where they are one group of
 * channels. */
INLAY_INLINE int inlay_tile_joins(const inlay_tile *t)
{
    const int32_t channels = t->end - t->begin;
    if (t->apart || inlay_tile_blocks(t))
        return 1;
    return INLAY_VL > 1 && channels <= 32 &&
           channels <= inlay_tile_group(t, t->begin);
}

/* Tiles of a call where all of a line might be one: so many do with the weights of a group of
 * channels, and what they read and write is still in the cache for the next group. */
enum { INLAY_TILE_BLOCK = 8 };

/* Of those of one size from number i on, so many; `more` of all tiles are larger ones. */
INLAY_INLINE int32_t inlay_tile_block(const inlay_tile *t, int32_t tiles,
                                      int32_t more, int32_t i)
{
    const int32_t first = t->backward ? tiles - more : more;
    const int32_t left = (i < first ? first : tiles) - i;
    return left < INLAY_TILE_BLOCK ? left : INLAY_TILE_BLOCK;
}

/* Of `count` tiles of one size, from number i on, those of one call. */
INLAY_INLINE int32_t inlay_tile_call(const inlay_tile *t, const int joins,
                                     int32_t count, int32_t tiles, int32_t more,
                                     int32_t i)
{
    if (!joins)
        return 1;
    if (INLAY_VL > 1 && t->apart)
        return inlay_tile_block(t, tiles, more, i);
    return count;
}

/* The one tile of one pixel. */
INLAY_INLINE void inlay_tile_pixel(inlay_tile *t, inlay_tiles *one)
{
    one->pixels = 1;
    one->count = 1;
    t->make(t, one);
}

/* n pixels in tiles as equal as can be, from the first to the last, or mirrored (t->backward);
 * `all` says where pixel 0 of them lies. A tile is finished before the next is begun; those of one
 * size and one group of channels are one call. */
INLAY_APART void inlay_tile_pixels(inlay_tile *t, const inlay_tiles *all,
                                   int32_t n)
{
    const int32_t tiles = INLAY_TILE_COUNT(n);
    const int32_t small = n / (tiles ? tiles : 1);
    const int32_t more = n - small * tiles;
    const int joins = inlay_tile_joins(t);
    inlay_tiles some = *all;
    int32_t pixel = t->backward ? n : 0;
    int32_t i;
    inlay_tile_line(t, n);
    if (n == 1) {
        inlay_tile_pixel(t, &some);
        return;
    }
    for (i = 0; i < tiles; i += some.count) {
        const int32_t large = t->backward ? i >= tiles - more : i < more;
        some.pixels = small + large;
        some.count = large ? more : tiles - more;
        some.count = inlay_tile_call(t, joins, some.count, tiles, more, i);
        if (t->backward)
            pixel -= some.pixels;
        inlay_tile_place(t, all, pixel, &some);
        t->make(t, &some);
        if (t->backward)
            pixel -= some.pixels * (some.count - 1);
        else
            pixel += some.pixels * some.count;
    }
}

#endif
