/* SPDX-License-Identifier: 0BSD
 * The walk of tile_narrow.h over the channels of a pixel that is alone, whose weights become floats
 * in registers (inlay_line of widen.h). */

/* Is what waits a pixel that is always alone, and its window one run of taps? */
INLAY_INLINE int inlay_line_serves(const inlay_queue *queue)
{
    const inlay_waiting *w = queue->tile;
    const inlay_tile *t = &w->tile;
    if (queue->tiles != 1 || !t->narrow->alone || w->call.pixels != 1)
        return 0;
    return t->nkd == 1 && t->nkh == 1 && t->pieces == 1;
}

/* The scales of tap `tap` of a group of channels; returns how many taps have the same. */
static inline int32_t inlay_line_scales(inlay_line *line,
                                        const inlay_stored *narrow,
                                        const inlay_block *block, int32_t tap)
{
    const int32_t *how = narrow->how;
    const int32_t blocks = how[INLAY_HOW_BLOCKS];
    const int32_t number = blocks > 1 ? tap / how[INLAY_HOW_BLOCK] : 0;
    const int32_t n = block->width;
    inlay_block own = *block;
    int32_t i;
    if (own.channel >= how[INLAY_HOW_CHANNELS])
        own.channel %= how[INLAY_HOW_CHANNELS];
    for (i = 0; i < line->channels; i += n) {
        const ptrdiff_t at = inlay_block_at(&own, blocks, number);
        inlay_narrow_scales(narrow, at, n, line->scale + i);
        if (narrow->zero)
            narrow->type->widen(line->zero + i, narrow->zero, at, n);
        own.channel += n;
    }
    return (number + 1) * how[INLAY_HOW_BLOCK] - tap;
}

/* All taps of a group of channels. */
static inline void inlay_line_taps(inlay_line *line, const inlay_tile *t,
                                   const inlay_block *block, int32_t tap,
                                   float *y)
{
    const inlay_stored *narrow = t->narrow;
    const int bits = narrow->type->bits;
    int32_t left = t->run;
    const unsigned char *values = (const unsigned char *)narrow->values;
    line->begins = 1;
    line->y = NULL;
    do {
        const ptrdiff_t at = inlay_block_at(block, t->taps, tap);
        line->from = values + at * bits / 8;
        line->taps = left;
        if (narrow->how) {
            const int32_t most = inlay_line_scales(line, narrow, block, tap);
            line->taps = left < most ? left : most;
        }
        left -= line->taps;
        if (left <= 0)
            line->y = y;
        narrow->type->line(line);
        line->begins = 0;
        line->x += line->taps;
        tap += line->taps;
    } while (left > 0);
}

/* What follows the sums of a group of which not all channels exist. */
static inline void inlay_line_part(inlay_line *line, const inlay_tile *t,
                                   const inlay_group *g)
{
    int32_t i;
    for (i = 0; i < g->part; i++)
        line->sum[i] += g->bias[i];
    inlay_tile_part(t, line->sum, g->y, g->q, g->part);
}

/* n channels of the pixel, from `channel` on. */
static inline void inlay_line_group(const inlay_queue *queue, inlay_line *line,
                                    int32_t channel, int32_t n)
{
    const inlay_tile *t = &queue->tile[0].tile;
    const inlay_tiles *call = &queue->tile[0].call;
    const inlay_block block = inlay_panel_place(t, channel, n);
    const int bits = t->narrow->type->bits;
    const inlay_group g = inlay_panel_channels(queue, 0, channel, n);
    line->x = inlay_tile_row(t, t->slot) + call->at;
    line->channels = n;
    line->step = block.stride * bits / 8;
    line->block = t->taps * 16 * bits / 8;
    line->bias = g.bias;
    line->q = g.q;
    inlay_line_taps(line, t, &block, (int32_t)call->tap, g.part ? NULL : g.y);
    if (g.part)
        inlay_line_part(line, t, &g);
}

/* Channels of the group that begins at `channel`: where registers hold more than a tile's, more.
 * What exists is filled up to fours. */
static inline int32_t inlay_line_channels(const inlay_tile *t, int32_t channel)
{
    const int32_t left = t->channels - channel;
    if (INLAY_VL == 8 && t->width == 16 && left >= 29)
        return 32;
    return inlay_tile_group(t, channel);
}

/* What is the same for all groups. */
static inline void inlay_line_begin(inlay_line *line, const inlay_tile *t)
{
    const inlay_stored *narrow = t->narrow;
    const int32_t number = narrow->how ? narrow->how[INLAY_HOW_ZERO] : 0;
    const float zero = (float)number;
    int32_t i;
    line->lo = t->clamp & INLAY_END_LOW ? t->lo : -INFINITY;
    line->hi = t->clamp & INLAY_END_HIGH ? t->hi : INFINITY;
    line->scaled = narrow->how != NULL;
    line->moved = narrow->zero != NULL || zero != 0;
    for (i = 0; i < INLAY_LINE_MOST; i++)
        line->zero[i] = zero;
}

/* All channels of the only pixel that waits. */
INLAY_APART void inlay_line_flush(const inlay_queue *queue)
{
    const inlay_tile *t = &queue->tile[0].tile;
    inlay_line line;
    int32_t channel, n;
    inlay_line_begin(&line, t);
    for (channel = t->begin; channel < t->end; channel += n) {
        n = inlay_line_channels(t, channel);
        inlay_line_group(queue, &line, channel, n);
    }
}
