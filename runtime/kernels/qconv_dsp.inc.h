/* SPDX-License-Identifier: 0BSD
 * The walk of qconv_packed.h on Arm cores with the DSP instructions: pixels go by two, also from
 * the end of a row to the begin of the next. Their windows are widened from where they lie, zero
 * points for what is outside, to the words that qtile_dsp.inc.h takes: all reads of two pixels come
 * before their results are written. Included by qconv_packed.h. */
#ifndef INLAY_QCONV_DSP_H
#define INLAY_QCONV_DSP_H

/* What all pixels have in common. The tile is that of the first group, its rows those of the row
 * that was begun last. */
typedef struct inlay_qpairs {
    void *const *base;
    const inlay_step *step;
    const inlay_qpacked_params *params;
    inlay_qtile tile;
} inlay_qpairs;

/* The registers of two pixels are all there are, one more than clang gives away. */
#ifdef __clang__
enum { INLAY_QPIXELS_AT_ONCE = 1 };
#else
enum { INLAY_QPIXELS_AT_ONCE = 2 };
#endif

/* A pixel of y. */
typedef struct inlay_qspot {
    const inlay_qrow *row;
    int32_t c;
} inlay_qspot;

/* What makes numbers with signs of x's bytes. */
static inline uint32_t inlay_qmask(const inlay_qtile *t)
{
    if (!INLAY_QUSES(INLAY_QUSE_SHIFTED))
        return 0;
    return (uint32_t)(t->flip ^ 128) * UINT32_C(0x01010101);
}

/* ---- words of numbers, to every word or to every other one ---- */

INLAY_INLINE void inlay_qwiden_four(uint32_t v, uint32_t *to, int32_t step)
{
    to[0] = inlay_even(v);
    to[step] = inlay_odd(v);
}

/* The last n bytes of a row, fewer than four, and zeros. */
INLAY_INLINE uint32_t inlay_qtail(const uint8_t *x, int32_t n, uint32_t mask)
{
    uint32_t v = 0;
    int32_t i;
    for (i = n - 1; i >= 0; i--)
        v = v << 8 | x[i];
    return (v ^ mask) & (UINT32_MAX >> (32 - 8 * n));
}

/* n bytes; returns where the next belong. */
INLAY_INLINE uint32_t *inlay_qwiden_run(const uint8_t *x, int32_t n,
                                        uint32_t mask, uint32_t *to,
                                        int32_t step)
{
    const uint8_t *const end = x + (n & ~3);
#ifndef __OPTIMIZE_SIZE__
    const uint8_t *const main = x + (n & ~15);
    int32_t i;
    for (; x < main; x += 16, to += 8 * step)
        INLAY_UNROLL
    for (i = 0; i < 4; i++)
        inlay_qwiden_four(inlay_word(x + 4 * i) ^ mask, to + 2 * i * step,
                          step);
#endif
    for (; x < end; x += 4, to += 2 * step)
        inlay_qwiden_four(inlay_word(x) ^ mask, to, step);
    if (n & 3) {
        inlay_qwiden_four(inlay_qtail(x, n & 3, mask), to, step);
        to += 2 * step;
    }
    return to;
}

/* A four of two pixels; returns where the next belongs. */
INLAY_INLINE uint32_t *inlay_qwiden_fours(uint32_t v, uint32_t w, uint32_t *to)
{
    register uint32_t even_v __asm__("r4") = inlay_even(v);
    register uint32_t even_w __asm__("r5") = inlay_even(w);
    register uint32_t odd_v __asm__("r6") = inlay_odd(v);
    register uint32_t odd_w __asm__("r8") = inlay_odd(w);
    __asm__ volatile("stm %0!, {r4, r5, r6, r8}"
                     : "+r"(to)
                     : "r"(even_v), "r"(even_w), "r"(odd_v), "r"(odd_w)
                     : "memory");
    return to;
}

/* The same of three. */
INLAY_INLINE uint32_t *inlay_qwiden_threes(uint32_t a, uint32_t b, uint32_t c,
                                           uint32_t *to)
{
    register uint32_t even_a __asm__("r4") = inlay_even(a);
    register uint32_t even_b __asm__("r5") = inlay_even(b);
    register uint32_t even_c __asm__("r6") = inlay_even(c);
    register uint32_t odd_a __asm__("r8") = inlay_odd(a);
    register uint32_t odd_b __asm__("r9") = inlay_odd(b);
    register uint32_t odd_c __asm__("r10") = inlay_odd(c);
    __asm__ volatile("stm %0!, {r4, r5, r6, r8, r9, r10}"
                     : "+r"(to)
                     : "r"(even_a), "r"(even_b), "r"(even_c), "r"(odd_a),
                       "r"(odd_b), "r"(odd_c)
                     : "memory");
    return to;
}

/* n bytes of two pixels that lie `next` bytes apart. */
INLAY_INLINE uint32_t *inlay_qwiden_both(const uint8_t *x, ptrdiff_t next,
                                         int32_t n, uint32_t mask, uint32_t *to)
{
    const uint8_t *const end = x + (n & ~3);
    const uint8_t *const main = x + (n & ~15);
    int32_t i;
    for (; x < main; x += 16)
        INLAY_UNROLL
    for (i = 0; i < 16; i += 4)
        to = inlay_qwiden_fours(inlay_word(x + i) ^ mask,
                                inlay_word(x + i + next) ^ mask, to);
    for (; x < end; x += 4)
        to = inlay_qwiden_fours(inlay_word(x) ^ mask,
                                inlay_word(x + next) ^ mask, to);
    if (n & 3)
        to = inlay_qwiden_fours(inlay_qtail(x, n & 3, mask),
                                inlay_qtail(x + next, n & 3, mask), to);
    return to;
}

/* n bytes of three pixels that lie `next` bytes apart, in fours. */
INLAY_INLINE uint32_t *inlay_qwiden_triple(const uint8_t *x, ptrdiff_t next,
                                           int32_t n, uint32_t mask,
                                           uint32_t *to)
{
    const uint8_t *const end = x + n;
    for (; x < end; x += 4) {
        const uint32_t a = inlay_word(x) ^ mask;
        const uint32_t b = inlay_word(x + next) ^ mask;
        const uint32_t c = inlay_word(x + 2 * next) ^ mask;
        to = inlay_qwiden_threes(a, b, c, to);
    }
    return to;
}

/* n fours of zero points. */
static inline uint32_t *inlay_qwiden_zero(const inlay_qtile *t, int32_t n,
                                          uint32_t *to, int32_t step)
{
    const uint32_t zero = (uint32_t)(t->zero & 0xffff) * UINT32_C(0x10001);
    for (; n > 0; n--, to += 2 * step) {
        to[0] = zero;
        to[step] = zero;
    }
    return to;
}

/* A row of the window that does not exist: what fills its last four is 0. */
static inline void inlay_qwiden_none(const inlay_qpairs *job, int32_t run,
                                     uint32_t *to, int32_t step)
{
    const uint32_t zero = (uint32_t)(job->tile.zero & 255);
    to = inlay_qwiden_zero(&job->tile, run / 4, to, step);
    if (run & 3)
        inlay_qwiden_four(zero * UINT32_C(0x01010101) &
                              UINT32_MAX >> (32 - 8 * (run & 3)),
                          to, step);
}

/* Number k of a row of the window. */
static inline void inlay_qwiden_put(int32_t number, int32_t k, uint32_t *to,
                                    int32_t step)
{
    const uint16_t half = (uint16_t)number;
    const ptrdiff_t word = k / 4 * 2 + k % 2;
    const ptrdiff_t upper = k / 2 % 2;
    unsigned char *at = (unsigned char *)(to + word * step);
    memcpy(at + 2 * upper, &half, sizeof half);
}

/* ---- a row of the window that is clipped, or does not lie in one piece ---- */

/* Taps [from, from + n) of each row of the window exist. */
typedef struct inlay_qtaps {
    ptrdiff_t at;   /* bytes from a row's first column to the first of these */
    ptrdiff_t next; /* to the next */
    int32_t from, n;
    int one; /* do they lie in one piece? */
} inlay_qtaps;

/* Taps of whole fours; x: the first of these. */
static inline void inlay_qwiden_taps(const inlay_qpairs *job,
                                     const inlay_qtaps *taps, const uint8_t *x,
                                     uint32_t *to, int32_t step)
{
    const uint32_t mask = inlay_qmask(&job->tile);
    const int32_t ic = job->params->ic;
    const int32_t after = job->params->kw - taps->from - taps->n;
    const int32_t pieces = taps->one ? 1 : taps->n;
    const int32_t run = taps->one ? taps->n * ic : ic;
    int32_t i;
    to = inlay_qwiden_zero(&job->tile, taps->from * (ic / 4), to, step);
    for (i = 0; i < pieces; i++, x += taps->next)
        to = inlay_qwiden_run(x, run, mask, to, step);
    inlay_qwiden_zero(&job->tile, after * (ic / 4), to, step);
}

/* Bytes [at, at + 4) of a row of `bytes` bytes, at least four; zero points for what is outside. */
static inline uint32_t inlay_qrow_four(const uint8_t *row, ptrdiff_t at,
                                       ptrdiff_t bytes, uint32_t zero)
{
    const ptrdiff_t last = bytes - 4;
    ptrdiff_t beside; /* by so many bytes it lies beside the row */
    if (at < 0) {
        beside = -at;
        if (beside >= 4)
            return zero;
        return inlay_word(row) << 8 * beside | zero >> (32 - 8 * beside);
    }
    if (at <= last)
        return inlay_word(row + at);
    beside = at - last;
    if (beside >= 4)
        return zero;
    return inlay_word(row + last) >> 8 * beside | zero << (32 - 8 * beside);
}

/* Taps of one channel each, all of which exist. */
static inline void inlay_qwiden_ones(const uint8_t *x, ptrdiff_t next,
                                     int32_t n, uint32_t mask, uint32_t *to,
                                     int32_t step)
{
    for (; n >= 4; n -= 4, x += 4 * next, to += 2 * step) {
        const uint32_t lower = x[0] | (uint32_t)x[next] << 8;
        const uint32_t upper = x[2 * next] | (uint32_t)x[3 * next] << 8;
        inlay_qwiden_four((lower | upper << 16) ^ mask, to, step);
    }
    if (n > 0) {
        uint32_t v = x[0];
        if (n > 1)
            v |= (uint32_t)x[next] << 8;
        if (n > 2)
            v |= (uint32_t)x[2 * next] << 16;
        inlay_qwiden_four((v ^ mask) & (UINT32_MAX >> (32 - 8 * n)), to, step);
    }
}

/* Others, number by number. */
static inline void inlay_qwiden_each(const inlay_qpairs *job,
                                     const inlay_qtaps *taps, const uint8_t *x,
                                     uint32_t *to, int32_t step)
{
    const inlay_qtile *t = &job->tile;
    const int32_t ic = job->params->ic;
    const int32_t run = job->params->kw * ic;
    const int32_t fours = (run + 3) / 4;
    int32_t i, k;
    inlay_qwiden_zero(t, fours, to, step);
    for (k = 0; k < taps->n; k++, x += taps->next)
        for (i = 0; i < ic; i++)
            inlay_qwiden_put((x[i] ^ t->flip) - t->minus,
                             (taps->from + k) * ic + i, to, step);
    for (i = run; i < 4 * fours; i++)
        inlay_qwiden_put(0, i, to, step);
}

/* The taps at column c, for a group of channels. */
static inline inlay_qtaps inlay_qtaps_at(const inlay_qpairs *job, int32_t c,
                                         int32_t group)
{
    const inlay_qpacked_params *p = job->params;
    const int32_t pix = job->step->ref[1].pix;
    const int32_t first = c * p->sw - p->pw;
    inlay_qtaps taps;
    taps.next = (ptrdiff_t)p->dw * pix;
    taps.n = inlay_clip(first, p->dw, p->kw, p->iw, &taps.from);
    taps.at = (ptrdiff_t)(first + taps.from * p->dw) * pix + group * p->ic;
    taps.one = taps.next == p->ic || taps.n <= 1;
    return taps;
}

/* x: the row's first column; NULL: there is no such row. */
static inline void inlay_qwiden_row(const inlay_qpairs *job,
                                    const inlay_qtaps *taps, const uint8_t *x,
                                    uint32_t *to, int32_t step)
{
    const inlay_qpacked_params *p = job->params;
    const int32_t run = p->kw * p->ic;
    const int windows = INLAY_QUSES(INLAY_QUSE_WINDOWS);
    if (windows && (!x || !taps->n))
        inlay_qwiden_none(job, run, to, step);
    else if (!windows || (taps->n == p->kw && taps->one))
        inlay_qwiden_run(x + taps->at, run, inlay_qmask(&job->tile), to, step);
    else if (p->ic % 4 == 0)
        inlay_qwiden_taps(job, taps, x + taps->at, to, step);
    else if (p->ic == 1 && taps->n == p->kw)
        inlay_qwiden_ones(x + taps->at, taps->next, run,
                          inlay_qmask(&job->tile), to, step);
    else
        inlay_qwiden_each(job, taps, x + taps->at, to, step);
}

/* ---- windows ---- */

/* Do rows lie in one piece that is not of whole fours, and have one four at least? */
static inline int inlay_qwiden_is_piece(const inlay_qpairs *job)
{
    const inlay_qpacked_params *p = job->params;
    return p->ic % 4 && p->dw * job->step->ref[1].pix == p->ic &&
           p->iw * p->ic >= 4;
}

/* Of each of such rows the same bytes, from `at` on: a row of the window. */
typedef struct inlay_qpiece {
    int32_t at, run;
    int32_t bytes; /* of the row */
    int whole;     /* do all fours lie in the row? */
    uint32_t zero; /* four zero points */
    uint32_t mask;
    uint32_t last; /* bytes of the last four that count */
} inlay_qpiece;

static inline inlay_qpiece inlay_qpiece_of(const inlay_qpairs *job, int32_t c)
{
    const inlay_qpacked_params *p = job->params;
    const inlay_qtile *t = &job->tile;
    const int32_t zero = (t->zero + t->minus) ^ t->flip;
    inlay_qpiece piece;
    piece.at = (c * p->sw - p->pw) * p->ic;
    piece.run = p->kw * p->ic;
    piece.bytes = p->iw * p->ic;
    piece.whole =
        piece.at >= 0 && piece.at + inlay_up4(piece.run) <= piece.bytes;
    piece.zero = (uint32_t)(zero & 255) * UINT32_C(0x01010101);
    piece.mask = inlay_qmask(t);
    piece.last = UINT32_MAX >> 8 * (inlay_up4(piece.run) - piece.run);
    return piece;
}

/* Four bytes of the row of the window, from number k on. */
INLAY_INLINE uint32_t inlay_qpiece_four(const inlay_qpiece *of,
                                        const uint8_t *x, int32_t k)
{
    if (!x)
        return of->zero;
    if (of->whole)
        return inlay_word(x + of->at + k);
    return inlay_qrow_four(x, of->at + k, of->bytes, of->zero);
}

/* x: the row; NULL: there is none. What fills the last four is 0. Returns where the next goes. */
INLAY_INLINE uint32_t *inlay_qwiden_piece(const inlay_qpiece *of,
                                          const uint8_t *x, uint32_t *to,
                                          int32_t step)
{
    const int32_t last = inlay_up4(of->run) - 4;
    int32_t k;
    for (k = 0; k < last; k += 4, to += 2 * step)
        inlay_qwiden_four(inlay_qpiece_four(of, x, k) ^ of->mask, to, step);
    inlay_qwiden_four((inlay_qpiece_four(of, x, k) ^ of->mask) & of->last, to,
                      step);
    return to + 2 * step;
}

/* The window of any pixel of such rows. */
static inline void inlay_qwiden_pieces(const inlay_qpairs *job,
                                       const inlay_qspot *spot, uint32_t *to,
                                       int32_t step)
{
    const inlay_qpacked_params *p = job->params;
    const inlay_qpiece piece = inlay_qpiece_of(job, spot->c);
    const inlay_ref *ring = job->step->ref + 1;
    const uint8_t *x = (const uint8_t *)inlay_at(job->base, job->step, 1);
    const int32_t rows = p->ih;
    int32_t d, h;
    for (d = 0; d < inlay_qpacked_planes(p); d++) {
        const int32_t plane = spot->row->plane + d * p->dd;
        const int32_t top = (spot->row->image * p->id + plane) * rows;
        const int inside =
            !INLAY_QUSES(INLAY_QUSE_VOLUMES) || (plane >= 0 && plane < p->id);
        int32_t r = spot->row->row;
        for (h = p->kh; h > 0; h--, r += p->dh) {
            const uint8_t *line = NULL;
            if (inside && r >= 0 && r < rows)
                line = x + inlay_row_at(ring, top + r);
            to = inlay_qwiden_piece(&piece, line, to, step);
        }
    }
}

/* The window of any pixel. */
static inline void inlay_qwiden_any(const inlay_qpairs *job,
                                    const inlay_qspot *spot, int32_t group,
                                    uint32_t *to, int32_t step)
{
    const inlay_qpacked_params *p = job->params;
    const inlay_qrow *row = spot->row;
    const inlay_qtaps taps = inlay_qtaps_at(job, spot->c, group);
    const int32_t next = inlay_up4(p->kw * p->ic) / 2 * step;
    int32_t d, h;
    if (INLAY_QUSES(INLAY_QUSE_PIECES) && inlay_qwiden_is_piece(job)) {
        inlay_qwiden_pieces(job, spot, to, step);
        return;
    }
    for (d = 0; d < inlay_qpacked_planes(p); d++)
        for (h = 0; h < p->kh; h++, to += next)
            inlay_qwiden_row(job, &taps,
                             inlay_qimage_row(job->base, job->step, row->image,
                                              row->plane + d * p->dd,
                                              row->row + h * p->dh),
                             to, step);
}

INLAY_APART void inlay_qwiden_two(const inlay_qpairs *job,
                                  const inlay_qspot *spot, int32_t group)
{
    inlay_qwiden_any(job, spot, group, job->tile.wide, 2);
    inlay_qwiden_any(job, spot + 1, group, job->tile.wide + 1, 2);
}

INLAY_APART void inlay_qwiden_one(const inlay_qpairs *job,
                                  const inlay_qspot *spot, int32_t group)
{
    inlay_qwiden_any(job, spot, group, job->tile.wide, 1);
}

/* The windows of two pixels of the row that was begun last, of which nothing is clipped. */
static inline void inlay_qwiden_whole(const inlay_qpairs *job,
                                      const inlay_qspot *spot, int32_t group)
{
    const inlay_qpacked_params *p = job->params;
    const inlay_qtile *t = &job->tile;
    const ptrdiff_t next = (spot[1].c - spot[0].c) * t->xs;
    const ptrdiff_t at =
        (ptrdiff_t)(spot->c * p->sw - p->pw) * job->step->ref[1].pix +
        group * p->ic;
    const uint32_t mask = inlay_qmask(t);
    uint32_t *to = t->wide;
    int32_t d, h;
    for (d = 0; d < inlay_qpacked_planes(p); d++)
        for (h = 0; h < t->nkh; h++)
            to = inlay_qwiden_both(inlay_qwindow(t, d, h) + at, next, t->run,
                                   mask, to);
}

#include "kernels/qgroups_dsp.inc.h"

/* ---- three pixels ---- */

/* How many of the last row's pixels, which come after `more`, are made together at the end: three,
 * or none. */
static inline int32_t inlay_qpairs_apart(const inlay_qpairs *job, int32_t more)
{
    const inlay_qpacked_params *p = job->params;
    const inlay_qtile *t = &job->tile;
    if (!INLAY_QTRIPLES || (p->ow + more) % 2 == 0 || p->ow < INLAY_QTRIPLE)
        return 0;
    if (p->wide != INLAY_QTRIPLE || p->groups > 1 || t->channels % 4)
        return 0;
    return inlay_qpairs_simple(t, inlay_qhas_zeros(t)) ? INLAY_QTRIPLE : 0;
}

/* The windows of three pixels of one row; whole: nothing of them is clipped. */
static inline void inlay_qtriple_widen(const inlay_qpairs *job,
                                       const inlay_qspot *spot, int whole)
{
    const inlay_qpacked_params *p = job->params;
    const inlay_qtile *t = &job->tile;
    const ptrdiff_t next = (spot[1].c - spot[0].c) * t->xs;
    const ptrdiff_t at =
        (ptrdiff_t)(spot->c * p->sw - p->pw) * job->step->ref[1].pix;
    uint32_t *to = t->wide;
    int32_t d, h;
    for (h = 0; !whole && h < INLAY_QTRIPLE; h++)
        inlay_qwiden_any(job, spot + h, 0, to + h, INLAY_QTRIPLE);
    for (d = 0; whole && d < inlay_qpacked_planes(p); d++)
        for (h = 0; h < t->nkh; h++)
            to = inlay_qwiden_triple(inlay_qwindow(t, d, h) + at, next, t->run,
                                     inlay_qmask(t), to);
}

/* The last three pixels of a row. */
static inline void inlay_qtriple_last(const inlay_qpairs *job,
                                      const inlay_qrow *row)
{
    const inlay_qtile *t = &job->tile;
    const int backward = job->step->backward;
    const int32_t first = backward ? 0 : job->params->ow - INLAY_QTRIPLE;
    const int whole = first >= row->left && first + INLAY_QTRIPLE <= row->right;
    inlay_qspot spot[INLAY_QTRIPLE];
    inlay_qplaces to;
    int32_t i;
    for (i = 0; i < INLAY_QTRIPLE; i++) {
        spot[i].row = row;
        spot[i].c = first + (backward ? INLAY_QTRIPLE - 1 - i : i);
    }
    to.x_sum = NULL;
    to.y[0] = inlay_qplace(&t->result, row->y, spot->c * t->ys);
    to.y[1] = inlay_qplace(&t->result, row->y, spot[1].c * t->ys);
    inlay_qtriple_widen(job, spot, whole && t->run % 4 == 0);
    inlay_qtriple_run(t, &to);
}

/* Are two pixels of one row, and their windows whole? */
static inline int inlay_qspots_inside(const inlay_qspot *spot)
{
    const inlay_qrow *row = spot->row;
    const int32_t end = row->right;
    if (row != spot[1].row || spot->c < row->left || spot[1].c < row->left)
        return 0;
    return spot->c < end && spot[1].c < end;
}

static inline void inlay_qpairs_widen(const inlay_qpairs *job,
                                      const inlay_qspot *spot, int32_t group,
                                      int two)
{
    if (!two)
        inlay_qwiden_one(job, spot, group);
    else if (inlay_qwiden_has_groups(job))
        inlay_qwiden_grouped(job, spot, group);
    else if (inlay_qspots_inside(spot))
        inlay_qwiden_whole(job, spot, group);
    else
        inlay_qwiden_two(job, spot, group);
}

/* The sum of the numbers of a widened window. */
static inline int32_t inlay_qwords_sum(const uint32_t *word, ptrdiff_t taps,
                                       int32_t step)
{
    int32_t sum = 0;
    ptrdiff_t i;
    for (i = 0; i < taps / 2; i++, word += step) {
        const int16_t lower = (int16_t)(*word & 0xffff);
        const int16_t upper = (int16_t)(*word >> 16);
        sum += lower + upper;
    }
    return sum;
}

/* ---- the walk ---- */

static inline void inlay_qpairs_group(const inlay_qpairs *job,
                                      const inlay_qtile *t,
                                      const inlay_qspot *spot, int32_t group,
                                      int two)
{
    int32_t x_sum[2];
    inlay_qplaces to;
    int i;
    to.x_sum = inlay_qhas_zeros(t) ? x_sum : NULL;
    for (i = 0; i <= two; i++)
        to.y[i] =
            inlay_qplace(&t->result, spot[i].row->y,
                         spot[i].c * t->ys + (ptrdiff_t)group * t->channels);
    inlay_qpairs_widen(job, spot, group, two);
    for (i = 0; to.x_sum && i <= two; i++)
        x_sum[i] = inlay_qwords_sum(t->wide + i, t->taps, 1 + two);
    inlay_qpairs_run(t, &to, two);
}

static inline void inlay_qpairs_spots(const inlay_qpairs *job,
                                      const inlay_qspot *spot, int two)
{
    inlay_qtile tile;
    inlay_qcall call;
    int32_t group;
    inlay_qpairs_group(job, &job->tile, spot, 0, two);
    if (!INLAY_QUSES(INLAY_QUSE_GROUPS) || job->params->groups == 1)
        return;
    tile = job->tile;
    call.y = spot->row->y;
    for (group = 1; group < job->params->groups; group++) {
        inlay_qpacked_next(job->params, &tile, &call);
        inlay_qpairs_group(job, &tile, spot, group, two);
    }
}

/* Pixels of a row but the last `apart`; spot[0] may be one of the row before. Returns how many are
 * left over. */
static inline int inlay_qpairs_row(const inlay_qpairs *job,
                                   const inlay_qrow *row, inlay_qspot *spot,
                                   int n, int32_t apart)
{
    const int32_t pixels = job->params->ow;
    int32_t i;
    for (i = 0; i < pixels - apart; i++) {
        spot[n].row = row;
        spot[n].c = job->step->backward ? pixels - 1 - i : i;
        n++;
        if (n < INLAY_QPIXELS_AT_ONCE && job->params->wide > 1)
            continue;
        inlay_qpairs_spots(job, spot, INLAY_QPIXELS_AT_ONCE > 1 && n > 1);
        n = 0;
    }
    return n;
}

/* With several groups, the first one's results are written before the second one's numbers are
 * read: then two pixels are of one row. */
static inline void inlay_qpairs_rows(void *const *base, const inlay_step *step,
                                     const inlay_qtile *tile, int32_t r0,
                                     int32_t r1)
{
    const int groups = INLAY_QUSES(INLAY_QUSE_GROUPS);
    inlay_qpairs job;
    inlay_qrow row[2];
    inlay_qspot spot[2];
    int32_t done;
    int n = 0;
    job.base = base;
    job.step = step;
    job.params = (const inlay_qpacked_params *)step->params;
    job.tile = *tile;
    for (done = 0; done < r1 - r0; done++) {
        const int last = done + 1 == r1 - r0;
        const int32_t apart = last ? inlay_qpairs_apart(&job, n) : 0;
        inlay_qrow *now = row + done % 2;
        *now = inlay_qpacked_window(base, step,
                                    inlay_next_row(step, r0, r1, done));
        inlay_qpacked_lie(base, step, now, &job.tile);
        n = inlay_qpairs_row(&job, now, spot, n, apart);
        if (apart)
            inlay_qtriple_last(&job, now);
        if (n && ((groups && job.params->groups > 1) || last)) {
            inlay_qpairs_spots(&job, spot, 0);
            n = 0;
        }
    }
}

#endif
