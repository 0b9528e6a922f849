/* SPDX-License-Identifier: 0BSD
 * The tile of qdwconv_packed.h on Arm cores with the DSP instructions: two pixels, or one, by four
 * channels. A word of four channels becomes two words of two halves, which are multiplied with
 * those of the weights. For weights without zero points. */
#ifndef INLAY_QDW_DSP_H
#define INLAY_QDW_DSP_H

/* sum and the product of the lower halves, or of the upper ones. */
INLAY_INLINE int32_t inlay_add_lower(int32_t sum, uint32_t x, uint32_t w)
{
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w));
    return sum;
}
INLAY_INLINE int32_t inlay_add_upper(int32_t sum, uint32_t x, uint32_t w)
{
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w));
    return sum;
}

/* Adds a tap of four channels. */
INLAY_INLINE void inlay_qdw_four(int32_t *sum, uint32_t x, uint32_t even,
                                 uint32_t odd)
{
    const uint32_t x02 = inlay_even(x);
    const uint32_t x13 = inlay_odd(x);
    sum[0] = inlay_add_lower(sum[0], x02, even);
    sum[1] = inlay_add_lower(sum[1], x13, odd);
    sum[2] = inlay_add_upper(sum[2], x02, even);
    sum[3] = inlay_add_upper(sum[3], x13, odd);
}

/* Taps of a row of the window that are read alike: inside x, or from the block of zero points. */
typedef struct inlay_qdw_place {
    const uint8_t *x; /* of the first tap, at the first pixel */
    const int8_t *w;
    int32_t taps;
    ptrdiff_t tap, pixel; /* bytes of x from tap to tap, from pixel to pixel */
} inlay_qdw_place;

enum { INLAY_QDW_PLACES = 24 }; /* three for a row of the window */

typedef struct inlay_qdw_places {
    int32_t n;
    inlay_qdw_place place[INLAY_QDW_PLACES];
} inlay_qdw_places;

static inline void inlay_qdw_put(const inlay_qdw *job, inlay_qdw_places *to,
                                 const inlay_qdw_line *line, int32_t tap,
                                 int32_t taps, const int8_t *w)
{
    inlay_qdw_place *place = to->place + to->n;
    if (taps == 0)
        return;
    place->x = line ? line->x + tap * line->tap : job->pad;
    place->tap = line ? line->tap : 0;
    place->pixel = line ? line->pixel : 0;
    place->w = w + tap * job->of.channels;
    place->taps = taps;
    to->n++;
}

/* All taps of a tile's pixels, of which those at an edge come alone. */
static inline void inlay_qdw_find(const inlay_qdw *job, const inlay_qrow *row,
                                  const inlay_qdw_tile *tile,
                                  inlay_qdw_places *to)
{
    const inlay_qpacked_params *p =
        (const inlay_qpacked_params *)job->step->params;
    const int8_t *w = job->of.weights + tile->channel;
    const int32_t first = tile->c * p->sw - p->pw;
    int32_t from, d, h;
    int32_t n = inlay_clip(first, p->dw, p->kw, p->iw, &from);
    for (d = 0; d < p->kd; d++)
        for (h = 0; h < p->kh; h++, w += p->kw * p->groups) {
            const inlay_qdw_line line = inlay_qdw_row(job, row, tile, d, h);
            if (line.x == job->pad) {
                inlay_qdw_put(job, to, NULL, 0, p->kw, w);
                continue;
            }
            inlay_qdw_put(job, to, NULL, 0, from, w);
            inlay_qdw_put(job, to, &line, from, n, w);
            inlay_qdw_put(job, to, NULL, from + n, p->kw - from - n, w);
        }
}

/* Adds the taps of a place, `i` channels and `at` pixels on. */
INLAY_INLINE void inlay_qdw_taps(const inlay_qdw *job,
                                 const inlay_qdw_place *place, int32_t i,
                                 int32_t at, int two, inlay_qpair *sum)
{
    const uint32_t mask = inlay_qmask(&job->of);
    const ptrdiff_t next = place->pixel;
    const uint8_t *x = place->x + at * next + i;
    const int8_t *w = place->w + i;
    int32_t left;
    for (left = place->taps; left > 0; left--) {
        const uint32_t v = inlay_word(w);
        const uint32_t even = inlay_even(v);
        const uint32_t odd = inlay_odd(v);
        inlay_qdw_four(sum->a, inlay_word(x) ^ mask, even, odd);
        if (two)
            inlay_qdw_four(sum->b, inlay_word(x + next) ^ mask, even, odd);
        x += place->tap;
        w += job->of.channels;
    }
}

/* Channels [i, i + 4) of the block, of one pixel or two; at: pixels from the first. */
INLAY_INLINE void inlay_qdw_sums(const inlay_qdw *job,
                                 const inlay_qdw_places *of, int32_t i,
                                 int32_t at, int two, inlay_qpair *sum)
{
    inlay_qpair all = { { 0 }, { 0 } };
    int32_t k;
    for (k = 0; k < of->n; k++)
        inlay_qdw_taps(job, of->place + k, i, at, two, &all);
    *sum = all;
}

/* Any results: four channels of a pixel. */
INLAY_APART void inlay_qdw_other(const inlay_qdw *job, int32_t channel,
                                 int32_t i, int32_t *sum, void *y)
{
    int32_t k;
    for (k = 0; k < 4; k++)
        sum[k] = inlay_wrap_add(sum[k], job->start[i + k]);
    inlay_qresults(&job->of.result, channel, 4, sum, job->scale + i, y);
}

/* Four channels of one pixel, or two, from sums to results. */
INLAY_INLINE void inlay_qdw_store(const inlay_qdw *job, const inlay_qrow *row,
                                  const inlay_qdw_tile *tile, int32_t i,
                                  int two, int simple, inlay_qpair *sum)
{
    const inlay_qresult *r = &job->of.result;
    const int32_t channel = tile->channel + i;
    const ptrdiff_t at = tile->c * job->of.ys + channel;
#if defined __ARM_FP && (__ARM_FP & 4)
    if (simple) {
        const int32_t flip = r->lo + 128;
        inlay_qbytes(sum, job->start + i, job->scale + i, r->zero - flip, flip,
                     (uint8_t *)row->y + at, job->of.ys, two);
        return;
    }
#else
    (void)simple;
#endif
    inlay_qdw_other(job, channel, i, sum->a, inlay_qplace(r, row->y, at));
    if (two)
        inlay_qdw_other(job, channel, i, sum->b,
                        inlay_qplace(r, row->y, at + job->of.ys));
}

INLAY_INLINE void inlay_qdw_fours(const inlay_qdw *job, const inlay_qrow *row,
                                  const inlay_qdw_tile *tile,
                                  const inlay_qdw_places *of, int32_t at,
                                  int two)
{
    const int simple = inlay_qsaturates(&job->of.result);
    inlay_qdw_tile part = *tile;
    inlay_qpair sum;
    int32_t i;
    part.c += at;
    for (i = 0; i < tile->n; i += 4) {
        inlay_qdw_sums(job, of, i, at, two, &sum);
        inlay_qdw_store(job, row, &part, i, two, simple, &sum);
    }
}

INLAY_APART void inlay_qdw_fours_two(const inlay_qdw *job,
                                     const inlay_qrow *row,
                                     const inlay_qdw_tile *tile,
                                     const inlay_qdw_places *of, int32_t at)
{
    inlay_qdw_fours(job, row, tile, of, at, 1);
}

INLAY_APART void inlay_qdw_fours_one(const inlay_qdw *job,
                                     const inlay_qrow *row,
                                     const inlay_qdw_tile *tile,
                                     const inlay_qdw_places *of, int32_t at)
{
    inlay_qdw_fours(job, row, tile, of, at, 0);
}

/* Whole fours of channels, weights without zero points, and not too many rows. */
static inline int inlay_qdw_suits(const inlay_qdw *job,
                                  const inlay_qdw_tile *tile)
{
    const inlay_qpacked_params *p =
        (const inlay_qpacked_params *)job->step->params;
    return tile->n % 4 == 0 && !p->deep && !job->of.zw && job->of.zw_all == 0 &&
           job->of.minus == 128 && 3 * p->kd * p->kh <= INLAY_QDW_PLACES;
}

static inline void inlay_qdw_dsp(const inlay_qdw *job, const inlay_qrow *row,
                                 const inlay_qdw_tile *tile)
{
    inlay_qdw_places places;
    int32_t at;
    places.n = 0;
    inlay_qdw_find(job, row, tile, &places);
    for (at = 0; at + 2 <= tile->pixels; at += 2)
        inlay_qdw_fours_two(job, row, tile, &places, at);
    if (at < tile->pixels)
        inlay_qdw_fours_one(job, row, tile, &places, at);
}

#endif
