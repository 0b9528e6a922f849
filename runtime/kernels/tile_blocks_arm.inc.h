/* SPDX-License-Identifier: 0BSD
 * Tiles of rows on Arm cores where weights lie in blocks of four channels: what the groups of a
 * tile have in common is found once for all. Weights are floats, or signed bytes, which become
 * floats in registers; the scale of a channel is multiplied behind its sum. */

/* Scales of four channels from `channel` on of tile_narrow.h; `to` has room for them. */
typedef const float *inlay_scales_at(const inlay_tile *t, int32_t channel,
                                     float *to);

/* Scales of all channels, one behind the other, or four that serve all. */
typedef struct inlay_blocks_scales {
    int32_t all;        /* 0: only the function knows them */
    int32_t mask;       /* of channels: 0 where four serve all */
    const float *first; /* of channel 0, NULL: there are none */
} inlay_blocks_scales;

/* Is there code for tiles of so many pixels? */
INLAY_INLINE int inlay_blocks_use(int32_t pixels)
{
    return INLAY_ARM_USES >> pixels & 1;
}

/* Where the rows of the window begin. */
INLAY_INLINE void inlay_blocks_rows(const inlay_tile *t, ptrdiff_t at,
                                    const float **to)
{
    int32_t slot = t->slot;
    int32_t h;
    for (h = 0;;) {
        to[h] = inlay_tile_row(t, slot) + at;
        if (++h == t->nkh)
            return;
        slot = inlay_tile_next(t, slot);
    }
}

/* May one call go through the whole window? Its runs are rows of one plane. */
INLAY_INLINE int inlay_blocks_whole(const inlay_tile *t)
{
    return t->nkd == 1 && t->pieces == 1 && t->run > 0 && t->nkh > 0 &&
           t->nkh <= INLAY_ARM_ROWS;
}

/* A window run by run. */
INLAY_APART void inlay_blocks_runs(const inlay_tile *t, inlay_arm_run *run,
                                   ptrdiff_t at, const char *weights, int bytes)
{
    int32_t d, h, i;
    const float *x[1];
    run->from = run->sum;
    run->skip = 0;
    for (d = 0; d < t->nkd && t->run > 0; d++) {
        int32_t slot = d ? inlay_tile_plane(t, d) : t->slot;
        for (h = 0; h < t->nkh; h++) {
            ptrdiff_t tap = d * t->plane_taps + h * t->row_taps;
            x[0] = inlay_tile_row(t, slot) + at;
            for (i = 0; i < t->pieces; i++) {
                run->at = x;
                run->end = x + 1;
                inlay_arm_sum_up(run, weights + tap * run->step, bytes);
                x[0] += t->piece;
                tap += t->piece_taps;
            }
            slot = inlay_tile_next(t, slot);
        }
    }
}

/* Some tiles, and what they have in common. */
typedef struct inlay_blocks {
    const char *weights; /* of the first group */
    ptrdiff_t block;     /* bytes from group to group */
    ptrdiff_t ys;        /* bytes from pixel to pixel of y */
    int32_t whole;       /* one call goes through a window */
    int32_t is_short;    /* channels of whole groups whose sums end shortly */
    const inlay_blocks_scales *known;
    const float *rows[INLAY_ARM_ROWS];
    inlay_arm_run run;
    float sum[INLAY_TILE_P * 4];
} inlay_blocks;

/* What follows the sums of four channels of a tile; y and q are those of channel 0. */
INLAY_INLINE void inlay_blocks_end(const inlay_tile *t, inlay_blocks *b,
                                   int32_t channel, float *y, const float *q,
                                   inlay_scales_at *scales)
{
    const int32_t left = t->channels - channel;
    float room[4];
    inlay_group g;
    g.bias = t->bias + channel;
    g.scale = scales ? scales(t, channel, room) : NULL;
    g.part = left < 4 ? left : 0;
    inlay_arm_end(t, &g, b->sum, y + channel, q ? q + channel : NULL,
                  b->run.pixels);
}

/* Channels [t->begin, t->end) of one tile. */
INLAY_INLINE void inlay_blocks_tile(const inlay_tile *t, inlay_blocks *b,
                                    ptrdiff_t at, float *y, const float *q,
                                    inlay_scales_at *scales, const int bytes)
{
    const char *weights = b->weights;
    const float *bias = t->bias;
    const int32_t end = t->end;
    int32_t channel;
    for (channel = t->begin; channel < end; channel += 4) {
        if (b->whole) {
            b->run.at = b->rows;
            inlay_arm_sum_up(&b->run, weights, bytes);
        } else {
            inlay_arm_clear(b->sum);
            inlay_blocks_runs(t, &b->run, at, weights, bytes);
        }
        if (channel < b->is_short) {
            const float *scale = NULL;
            if (scales && b->known->first)
                scale = b->known->first + (channel & b->known->mask);
            inlay_arm_end_short(t, b->sum, bias + channel, scale, y + channel,
                                b->ys, b->run.pixels);
        } else {
            inlay_blocks_end(t, b, channel, y, q, scales);
        }
        weights += b->block;
    }
}

/* Tiles of so many pixels, whose weights have so many bytes. */
INLAY_INLINE void inlay_blocks_begin(const inlay_tile *t,
                                     const inlay_tiles *call, inlay_blocks *b,
                                     const void *values, const int bytes)
{
    b->block = t->taps * 4 * bytes;
    b->weights = (const char *)values + call->tap * 4 * bytes +
                 (t->skip + t->begin) / 4 * b->block;
    b->ys = t->ys * (ptrdiff_t)sizeof(float);
    b->whole = inlay_blocks_whole(t);
    b->is_short = inlay_arm_is_short(t, call->q) ? t->channels / 4 * 4 : 0;
    b->run.sum = b->sum;
    b->run.pixels = inlay_blocks_use(call->pixels) ? call->pixels : 1;
    b->run.step = 4 * bytes;
    inlay_arm_groups(&b->run, t->run);
    inlay_arm_apart(&b->run, t->xs);
    if (b->whole) {
        b->run.from = inlay_arm_zeros;
        b->run.skip = (t->row_taps - t->run) * b->run.step;
        b->run.end = b->rows + t->nkh;
    }
}

/* All tiles of a call one after the other, pixel by pixel where there is no code for so many. */
INLAY_INLINE void inlay_blocks_run(const inlay_tile *t, const inlay_tiles *call,
                                   const void *values, inlay_scales_at *scales,
                                   const inlay_blocks_scales *known,
                                   const int bytes)
{
    int32_t left = call->pixels * call->count;
    int32_t pixel, step;
    inlay_blocks b;
    inlay_blocks_begin(t, call, &b, values, bytes);
    b.known = known;
    if (scales && !known->all)
        b.is_short = 0;
    step = t->backward ? -b.run.pixels : b.run.pixels;
    pixel = t->backward ? call->pixels - b.run.pixels : 0;
    for (; left > 0; left -= b.run.pixels, pixel += step) {
        const ptrdiff_t at = call->at + pixel * t->xs;
        const float *q = call->q ? call->q + pixel * t->qs : NULL;
        if (b.whole)
            inlay_blocks_rows(t, at, b.rows);
        inlay_blocks_tile(t, &b, at, call->y + pixel * t->ys, q, scales, bytes);
    }
}

INLAY_APART void inlay_blocks_floats(const inlay_tile *t,
                                     const inlay_tiles *call)
{
    inlay_blocks_run(t, call, t->weights, NULL, NULL, sizeof(float));
}
