/* SPDX-License-Identifier: 0BSD
 * The register-blocked product of bytes: a tile is some pixels by a group of output channels.
 *
 *   sum[p][o] = bias[o] + sum over taps k: x[p][k] w[k][o]   (- zero sums[o]) (- zw[o] sum x[p])
 *
 * x's numbers are its bytes, flipped by `flip`, less `minus`; those of w have a sign. Weights are
 * packed offline: blocks of `width` output channels (16, or 4 for small cores), then one of the
 * rest, filled up to a multiple of 4 with zeros; in a block, for each row of the window, the row's
 * taps in fours, filled up with zeros: [four][channel of the block][4]. bias, sums, scales and zw
 * are filled up to fours likewise.
 *
 * Or, `wide`, in halves of 16 bits that hold two channels (qtile_dsp.inc.h); or, `deep`, blocks of
 * four channels with the taps of the whole window in sixteens, filled up with zeros: [sixteen]
 * [channel of the block][16] (qconv_mve.inc.h).
 *
 * A window is some rows of a ring, of each `run` bytes; or, where pixels were gathered, one row.
 * Vectors where qvec.h has them and x's numbers are those the machine takes, else plain C. */
#ifndef INLAY_QTILE_H
#define INLAY_QTILE_H

#include "kernels/qout.h"

/* What all tiles of a step have in common. */
typedef struct inlay_qtile {
    const uint8_t *x;    /* row 0 of the ring */
    size_t row;          /* bytes from row to row */
    int32_t cap;         /* rows of the ring */
    int32_t first;       /* first row of the window */
    int32_t nkd, d_rows; /* planes of the window, rows from one to the next */
    int32_t nkh, h_rows; /* rows of a plane of it, rows from one to the next */
    int32_t run;         /* bytes of each row */
    ptrdiff_t xs, ys;    /* bytes of x, elements of y from pixel to pixel */
    int32_t flip, minus; /* what makes numbers of x's bytes */
    int32_t zero;        /* zero point of x; used with sums alone */
    const int8_t *weights;
    ptrdiff_t taps;     /* weights of a channel */
    int32_t width;      /* channels of the main blocks */
    int32_t channels;   /* that exist */
    int32_t begin, end; /* those that are made */
    const int32_t *bias;
    /* of each channel's weights; NULL: zero is in the bias */
    const int32_t *sums;
    /* zero points of the weights, each channel's; NULL: all are `zw_all` */
    const int32_t *zw;
    int32_t zw_all;
    inlay_qresult result;
    uint32_t *wide; /* room for widened windows; NULL: weights are no halves */
    int32_t deep;   /* 1: weights are packed in sixteens */
#ifdef INLAY_ROW_SLOTS
    /* of the rows of x, in units of so many bytes; NULL: a ring */
    const uint16_t *slots;
    size_t unit;
#endif
} inlay_qtile;

/* How the rows of x lie; NULL: `cap` rows of a window that was gathered, `row` bytes apart. */
static inline void inlay_qtile_ring(inlay_qtile *tile, const inlay_ref *x,
                                    size_t row, int32_t cap)
{
    tile->row = row;
    tile->cap = cap;
#ifdef INLAY_ROW_SLOTS
    tile->slots = x ? x->slot : NULL;
    tile->unit = x ? x->unit : 0;
#else
    (void)x;
#endif
}

/* Pixels that are made by one call. */
typedef struct inlay_qcall {
    int32_t pixels;
    ptrdiff_t at; /* bytes from the row to the first pixel's first tap */
    void *y;      /* channel 0 of the first */
    /* bytes of x behind the last pixel's row of the window */
    ptrdiff_t room;
    /* of each pixel; NULL: weights have no zero points, or vectors count them themselves */
    const int32_t *x_sum;
} inlay_qcall;

/* The most of a tile: several blocks of channels only where a vector holds one. */
enum { INLAY_QPIXELS = 7, INLAY_QGROUP = INLAY_QL < 16 ? 16 : 48 };
enum { INLAY_QDEPTH = 16 }; /* taps side by side, if deep */

/* A group of a tile's channels. */
typedef struct inlay_qgroup {
    int32_t channel;      /* the first */
    int32_t n;            /* that exist */
    int32_t lanes;        /* the same, filled up to fours */
    const int8_t *w;      /* their weights */
    const int8_t *last;   /* those of their last block */
    int32_t step;         /* bytes of a four of that block */
    const int32_t *start; /* what their sums begin with */
    const float *scale;   /* and are multiplied with */
    int32_t own_start[INLAY_QGROUP];
    float own_scale[INLAY_QGROUP];
} inlay_qgroup;

static inline int32_t inlay_up4(int32_t n)
{
    return (n + 3) / 4 * 4;
}

/* Channels of the block that `channel` begins. */
static inline int32_t inlay_qblock(const inlay_qtile *tile, int32_t channel)
{
    const int32_t left = inlay_up4(tile->channels - channel);
    return left < tile->width ? left : tile->width;
}

/* Have the weights zero points? */
static inline int inlay_qhas_zeros(const inlay_qtile *tile)
{
    return INLAY_QUSES(INLAY_QUSE_MORE) && (tile->zw || tile->zw_all);
}

/* What the sums of a group begin with, less what the zero point of x adds to them. */
static inline void inlay_qgroup_starts(const inlay_qtile *tile,
                                       inlay_qgroup *group)
{
    const int32_t *sums = tile->sums + group->channel;
    int32_t i;
    for (i = 0; i < group->lanes; i++) {
        const int32_t off = inlay_wrap_mul(tile->zero, sums[i]);
        group->own_start[i] = inlay_wrap_add(group->start[i], -off);
    }
    group->start = group->own_start;
}

/* What the sums of a group begin with, and what they are multiplied with: as it lies in the
 * weights where nothing is to be done. */
static inline void inlay_qgroup_begin(const inlay_qtile *tile,
                                      inlay_qgroup *group)
{
    const inlay_qresult *result = &tile->result;
    group->start = tile->bias + group->channel;
    group->scale = group->own_scale;
    if (INLAY_QUSES(INLAY_QUSE_MORE) && tile->sums)
        inlay_qgroup_starts(tile, group);
    if (!inlay_qout_scales(result->kind))
        return;
    if (result->each && inlay_qfactor_is_one(result))
        group->scale = result->scale + group->channel;
    else
        inlay_qscales(result, group->channel, group->lanes, group->own_scale);
}

/* Takes from the sums of n channels of a pixel what the zero points of their weights add. */
static inline void inlay_qtile_take_zeros(const inlay_qtile *tile,
                                          const inlay_qcall *call,
                                          int32_t channel, int32_t n,
                                          int32_t pixel, int32_t *sum)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        const int32_t zw = tile->zw ? tile->zw[channel + i] : tile->zw_all;
        const int32_t off = inlay_wrap_mul(zw, call->x_sum[pixel]);
        sum[i] = inlay_wrap_add(sum[i], -off);
    }
}

/* Lanes [from, from + n) of the group at one pixel become results. */
INLAY_APART void inlay_qgroup_end(const inlay_qtile *tile,
                                  const inlay_qcall *call,
                                  const inlay_qgroup *group, int32_t pixel,
                                  int32_t from, int32_t n, int32_t *sum)
{
    const int32_t channel = group->channel + from;
    const ptrdiff_t at = pixel * tile->ys + channel;
    if (INLAY_QUSES(INLAY_QUSE_MORE) && call->x_sum)
        inlay_qtile_take_zeros(tile, call, channel, n, pixel, sum);
    inlay_qresults(&tile->result, channel, n, sum, group->scale + from,
                   inlay_qplace(&tile->result, call->y, at));
}

/* Row h of plane d of the window. */
static inline const uint8_t *inlay_qwindow(const inlay_qtile *tile, int32_t d,
                                           int32_t h)
{
    const int32_t r = tile->first + d * tile->d_rows + h * tile->h_rows;
#ifdef INLAY_ROW_SLOTS
    if (tile->slots)
        return tile->x + tile->slots[r] * tile->unit;
#endif
    return tile->x + (size_t)(r < tile->cap ? r : r % tile->cap) * tile->row;
}

/* The sum of the numbers of n bytes. */
static inline int32_t inlay_qbytes_sum(const inlay_qtile *tile,
                                       const uint8_t *x, int32_t n)
{
    int32_t sum = -n * tile->minus;
    int32_t i;
    for (i = 0; i < n; i++)
        sum += x[i] ^ tile->flip;
    return sum;
}

/* The sums of x's numbers over the window of each pixel. */
static inline void inlay_qtile_x_sums(const inlay_qtile *tile,
                                      const inlay_qcall *call, int32_t *sum)
{
    int32_t p, d, h;
    for (p = 0; p < call->pixels; p++) {
        const ptrdiff_t at = call->at + p * tile->xs;
        sum[p] = 0;
        for (d = 0; d < tile->nkd; d++)
            for (h = 0; h < tile->nkh; h++)
                sum[p] += inlay_qbytes_sum(tile, inlay_qwindow(tile, d, h) + at,
                                           tile->run);
    }
}

#include "kernels/qtile_plain.inc.h"

#if INLAY_QL > 1
#include "kernels/qtile_vec.inc.h"
#endif

#if INLAY_QDSP
#include "kernels/qtile_dsp.inc.h"
#endif

/* ---- tiles ---- */

/* Does the machine take x's numbers as they are? */
static inline int inlay_qfast(const inlay_qtile *tile)
{
#if INLAY_QL > 1
    return tile->minus == INLAY_QMINUS && !tile->wide && !tile->deep;
#else
    (void)tile;
    return 0;
#endif
}

/* Blocks of the group that `channel` begins: several where a vector holds one. */
static inline int32_t inlay_qblocks(const inlay_qtile *tile, int32_t channel,
                                    int fast)
{
    const int32_t left = (tile->end - channel + 15) / 16;
    if (INLAY_QL < 16 || !fast || tile->width < 16)
        return 1;
    if (left == 4 || (left > 2 && inlay_qhas_zeros(tile)))
        return 2;
    return left < 3 ? left : 3;
}

/* All channels of some pixels, group by group. */
static inline void inlay_qtile_run(const inlay_qtile *tile,
                                   const inlay_qcall *call)
{
    const int fast = inlay_qfast(tile);
    inlay_qgroup group;
    for (group.channel = tile->begin; group.channel < tile->end;
         group.channel += group.lanes) {
        const int32_t blocks = inlay_qblocks(tile, group.channel, fast);
        const int32_t before = (blocks - 1) * tile->width;
        const int32_t block = inlay_qblock(tile, group.channel + before);
        const int32_t left = tile->channels - group.channel;
        group.lanes = before + block;
        group.n = left < group.lanes ? left : group.lanes;
        group.w = tile->weights + group.channel * tile->taps;
        group.last = group.w + before * tile->taps;
        group.step = 4 * block;
        inlay_qgroup_begin(tile, &group);
#if INLAY_QL > 1
        if (fast) {
            inlay_qvector(tile, call, &group);
            continue;
        }
#endif
        inlay_qplain(tile, call, &group);
    }
}

#endif
