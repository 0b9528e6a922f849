/* SPDX-License-Identifier: 0BSD
 * The register-blocked inner product of convolutions and matrix products, float32.
 *
 * A tile is P pixels by a group of output channels. Every vector of accumulators is a named
 * variable, made by macros: arrays of accumulators do not stay in registers.
 *
 *   y[p][o] = clamp(b[o] + sum over taps k: x[p][k] w[k][o]  (+ q[p][o]))
 *
 * Weights are packed offline: blocks of `width` output channels (16; 4 for scalar machines), then
 * a block of 8 and one of 4 for the rest, filled up with zeros; in a block [tap][channel of the
 * block]. The bias is filled up in the same way. A window of x is some rows of a ring (those that
 * exist); of each row `pieces` runs of adjacent floats (one where pixels lie without gaps). */
#ifndef INLAY_TILE_F32_H
#define INLAY_TILE_F32_H

#include "inlay.h"
#include "kernels/vec.h"

typedef struct inlay_tile {
    const float *x;       /* row 0 of the ring */
    size_t row;           /* floats from row to row */
    int32_t cap;          /* rows of the ring */
    int32_t first, slot;  /* first row of the window: its index, and that modulo cap */
    int32_t nkd, d_rows;  /* planes of the window, rows from one to the next */
    int32_t nkh, h_rows;  /* rows of a plane of it, rows from one to the next */
    int32_t pieces, run;  /* runs in a row, floats in a run */
    ptrdiff_t piece;      /* floats from run to run */
    ptrdiff_t xs, ys, qs; /* floats from pixel to pixel of the tile */
    ptrdiff_t plane_taps, row_taps, piece_taps; /* weights of a plane, row, piece, clipped or not */
    ptrdiff_t taps;   /* of the whole window: a block has taps * its width floats */
    int32_t width;    /* channels of the main blocks */
    int32_t clamp;    /* bit 0: at least lo; bit 1: at most hi */
    int32_t backward; /* several tiles go from the last to the first */
    float lo, hi;
} inlay_tile;

/* Most pixels in a tile; none has more on any target: the planner counts on it. */
enum { INLAY_TILE_MOST = 7 };
#ifndef INLAY_TILE_P
#if INLAY_VL == 16
#define INLAY_TILE_P 7
#elif INLAY_VL == 8 || defined __aarch64__
#define INLAY_TILE_P 6
#elif INLAY_VL == 4
#define INLAY_TILE_P 3
#elif defined __arm__
#define INLAY_TILE_P 6
#else
#define INLAY_TILE_P 4
#endif
#endif
#if INLAY_TILE_P > 7
#error "INLAY_TILE_P is at most 7"
#endif

#if defined __GNUC__
#define INLAY_TILE_FN static __attribute__((noinline, unused)) void
#else
#define INLAY_TILE_FN static inline void
#endif

/* Accumulators of a group of which only n channels exist, pixel by pixel. */
INLAY_TILE_FN inlay_tile_part(const inlay_tile *t, const float *a, float *y, const float *q,
                              int32_t n)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        float v = q ? a[i] + q[i] : a[i];
        if (t->clamp & 1)
            v = inlay_max1(t->lo, v);
        if (t->clamp & 2)
            v = inlay_min1(t->hi, v);
        y[i] = v;
    }
}

/* Repetition over P pixels, and over the N vectors (of L floats) of a pixel. */
#define INLAY_P1(M, L, N) M(L, N, 0)
#define INLAY_P2(M, L, N) INLAY_P1(M, L, N) M(L, N, 1)
#define INLAY_P3(M, L, N) INLAY_P2(M, L, N) M(L, N, 2)
#define INLAY_P4(M, L, N) INLAY_P3(M, L, N) M(L, N, 3)
#define INLAY_P5(M, L, N) INLAY_P4(M, L, N) M(L, N, 4)
#define INLAY_P6(M, L, N) INLAY_P5(M, L, N) M(L, N, 5)
#define INLAY_P7(M, L, N) INLAY_P6(M, L, N) M(L, N, 6)
#define INLAY_N1(M, L, p) M(L, p, 0)
#define INLAY_N2(M, L, p) INLAY_N1(M, L, p) M(L, p, 1)
#define INLAY_N4(M, L, p) INLAY_N2(M, L, p) M(L, p, 2) M(L, p, 3)

#define INLAY_T_BIAS(L, p, v) const inlay_f##L b##v = inlay_load##L(b + v * L);
#define INLAY_T_WEIGHT(L, p, v) \
    const inlay_f##L w##v = inlay_load##L(wk + (v * L / split) * block + v * L % split);
#define INLAY_T_WEIGHTS1(L) INLAY_N1(INLAY_T_WEIGHT, L, 0)
#define INLAY_T_WEIGHTS2(L) INLAY_N2(INLAY_T_WEIGHT, L, 0)
#if INLAY_VL == 1 && defined __arm__ && defined __ARM_FP && defined __GNUC__ && !defined __clang__
/* Four adjacent floats by one instruction: gcc takes four, of the 37 in the loop of a tile of six
 * pixels. */
#define INLAY_T_WEIGHTS4(L) \
    register float w0 __asm__("s12"), w1 __asm__("s13"), w2 __asm__("s14"), w3 __asm__("s15"); \
    __asm__("vldmia %4, {s12-s15}" \
            : "=t"(w0), "=t"(w1), "=t"(w2), "=t"(w3) \
            : "r"(wk), "m"(*(const float(*)[4])(const void *)wk));
#else
#define INLAY_T_WEIGHTS4(L) INLAY_N4(INLAY_T_WEIGHT, L, 0)
#endif
#define INLAY_T_X(L, N, p) const float *x##p = xr + p * xs;
#define INLAY_T_SET_(L, p, v) inlay_f##L a##p##_##v = inlay_splat##L(0.0f);
#define INLAY_T_SET(L, N, p) INLAY_N##N(INLAY_T_SET_, L, p)
/* The bias comes last: sums that begin with it would round at its size. */
#define INLAY_T_BIASED_(L, p, v) a##p##_##v += b##v;
#define INLAY_T_BIASED(L, N, p) INLAY_N##N(INLAY_T_BIASED_, L, p)
#define INLAY_T_FMA_(L, p, v) a##p##_##v = inlay_fma##L(w##v, s, a##p##_##v);
#define INLAY_T_FMA(L, N, p) \
    { \
        const inlay_f##L s = inlay_splat##L(x##p[k]); \
        INLAY_N##N(INLAY_T_FMA_, L, p) \
    }
#define INLAY_T_ADD_(L, p, v) a##p##_##v += inlay_load##L(q + p * t->qs + v * L);
#define INLAY_T_ADD(L, N, p) INLAY_N##N(INLAY_T_ADD_, L, p)
#define INLAY_T_LO_(L, p, v) a##p##_##v = inlay_max##L(lo, a##p##_##v);
#define INLAY_T_LO(L, N, p) INLAY_N##N(INLAY_T_LO_, L, p)
#define INLAY_T_HI_(L, p, v) a##p##_##v = inlay_min##L(hi, a##p##_##v);
#define INLAY_T_HI(L, N, p) INLAY_N##N(INLAY_T_HI_, L, p)
#define INLAY_T_STORE_(L, p, v) inlay_store##L(y + p * t->ys + v * L, a##p##_##v);
#define INLAY_T_STORE(L, N, p) INLAY_N##N(INLAY_T_STORE_, L, p)
#define INLAY_T_PART_(L, p, v) inlay_store##L(a + v * L, a##p##_##v);
#define INLAY_T_PART(L, N, p) \
    INLAY_N##N(INLAY_T_PART_, L, p) \
        inlay_tile_part(t, a, y + p * t->ys, q ? q + p * t->qs : q, part);

/* Goes on to the next tile of a call. On a scalar core groups are four channels, calls of several
 * tiles rare, and the sums cost more than they save. */
#if INLAY_VL == 1
#define INLAY_TILE_NEXT(P) ((void)tiles, 0)
#else
#define INLAY_TILE_NEXT(P) \
    (--tiles > 0 && (at += (t->backward ? -P : P) * xs, y += (t->backward ? -P : P) * t->ys, \
                     q = q ? q + (t->backward ? -P : P) * t->qs : q, 1))
#endif

/* The rows of a window, pixels lying in them. */
#define INLAY_WALK_ROWS(P, N, L) \
    for (d = 0; d < t->nkd; d++) { \
        const float *wh = w + d * t->plane_taps * width; \
        if (d) \
            slot = (t->first + d * t->d_rows) % t->cap; \
        for (h = 0; h < t->nkh; h++, wh += t->row_taps * width) { \
            const float *xr = t->x + (size_t)slot * t->row + at, *wi = wh; \
            slot += t->h_rows; \
            if (slot >= t->cap) \
                slot -= t->cap; \
            for (i = 0; i < pieces; i++, xr += t->piece, wi += piece_w) { \
                const float *wk = wi; \
                INLAY_P##P(INLAY_T_X, L, N) for (k = 0; k < run; k++, wk += width) \
                { \
                    INLAY_T_WEIGHTS##N(L) INLAY_P##P(INLAY_T_FMA, L, N) \
                } \
            } \
        } \
    }

/* Each row a pixel, those of the tile `pieces` rows apart: as many taps at once as lie together for
 * all of them. */
#define INLAY_T_SLOT(L, N, p) \
    int32_t s##p = slot + p * pieces; \
    if (s##p >= t->cap) \
        s##p -= t->cap; \
    if (i > t->cap - s##p) \
        i = t->cap - s##p;
#define INLAY_T_STEP(L, N, p) const float *x##p = t->x + (size_t)s##p * t->row;
#define INLAY_WALK_STEPS(P, N, L) \
    (void)piece_w, (void)at; \
    d = t->h_rows == 1 && (ptrdiff_t)t->row == run; \
    for (h = 0; h < t->nkh; h += i) { \
        const float *wk = w + h * t->row_taps * width; \
        i = d ? t->nkh - h : 1; \
        { \
            INLAY_P##P(INLAY_T_SLOT, L, N) const int32_t all = i * run; \
            INLAY_P##P(INLAY_T_STEP, L, N) for (k = 0; k < all; k++, wk += width) \
            { \
                INLAY_T_WEIGHTS##N(L) INLAY_P##P(INLAY_T_FMA, L, N) \
            } \
        } \
        slot += i * t->h_rows; \
        if (slot >= t->cap) \
            slot -= t->cap; \
    }

/* So many tiles, one after the other, or one before the other where t->backward. at: floats from
 * the row to the first tap that exists, of pixel 0 of the first tile; w, b: of the group, w at the
 * first tap. part: channels of the group that exist, 0: all. WIDTH: floats from tap to tap in the
 * weights; SPLIT: channels that lie one after the other, the next then taps * WIDTH further on. */
#define INLAY_TILE(WALK, NAME, P, N, L, WIDTH, SPLIT) \
    INLAY_TILE_FN NAME(const inlay_tile *t, int32_t tiles, ptrdiff_t at, const float *w, \
                       const float *b, float *y, const float *q, int32_t part) \
    { \
        const ptrdiff_t width = WIDTH, split = SPLIT, block = t->taps * width, xs = t->xs, \
                        piece_w = t->piece_taps * width; \
        const int32_t run = t->run, pieces = t->pieces; \
        (void)block, (void)split, (void)xs; \
        do { \
            int32_t d, h, i, k, slot = t->slot; \
            INLAY_P##P(INLAY_T_SET, L, N) INLAY_WALK_##WALK(P, N, L) \
            { \
                INLAY_N##N(INLAY_T_BIAS, L, 0) INLAY_P##P(INLAY_T_BIASED, L, N) \
            } \
            if (part) { \
                float a[N * L]; \
                INLAY_P##P(INLAY_T_PART, L, N) continue; \
            } \
            if (q) { \
                INLAY_P##P(INLAY_T_ADD, L, N) \
            } \
            if (t->clamp & 1) { \
                const inlay_f##L lo = inlay_splat##L(t->lo); \
                INLAY_P##P(INLAY_T_LO, L, N) \
            } \
            if (t->clamp & 2) { \
                const inlay_f##L hi = inlay_splat##L(t->hi); \
                INLAY_P##P(INLAY_T_HI, L, N) \
            } \
            INLAY_P##P(INLAY_T_STORE, L, N) \
        } while (INLAY_TILE_NEXT(P)); \
    }

#if INLAY_TILE_P >= 7
#define INLAY_TILE_CASE7(NAME) \
    case 7: \
        NAME##_7(t, tiles, at, w, b, y, q, part); \
        break;
#define INLAY_TILE_7(...) INLAY_TILE(__VA_ARGS__)
#else
#define INLAY_TILE_CASE7(NAME)
#define INLAY_TILE_7(...)
#endif
#if INLAY_TILE_P >= 6
#define INLAY_TILE_CASE6(NAME) \
    case 6: \
        NAME##_6(t, tiles, at, w, b, y, q, part); \
        break;
#define INLAY_TILE_6(...) INLAY_TILE(__VA_ARGS__)
#else
#define INLAY_TILE_CASE6(NAME)
#define INLAY_TILE_6(...)
#endif
#if INLAY_TILE_P >= 5
#define INLAY_TILE_CASE5(NAME) \
    case 5: \
        NAME##_5(t, tiles, at, w, b, y, q, part); \
        break;
#define INLAY_TILE_5(...) INLAY_TILE(__VA_ARGS__)
#else
#define INLAY_TILE_CASE5(NAME)
#define INLAY_TILE_5(...)
#endif
#if INLAY_TILE_P >= 4
#define INLAY_TILE_CASE4(NAME) \
    case 4: \
        NAME##_4(t, tiles, at, w, b, y, q, part); \
        break;
#define INLAY_TILE_4(...) INLAY_TILE(__VA_ARGS__)
#else
#define INLAY_TILE_CASE4(NAME)
#define INLAY_TILE_4(...)
#endif

/* All tiles of N vectors of L floats, and NAME(t, p, tiles, ...) that picks the one of p pixels. */
#define INLAY_TILES(NAME, N, L, WIDTH, SPLIT) INLAY_TILES_BY(ROWS, NAME, N, L, WIDTH, SPLIT)
#define INLAY_TILES_BY(WALK, NAME, N, L, WIDTH, SPLIT) \
    INLAY_TILE(WALK, NAME##_1, 1, N, L, WIDTH, SPLIT) \
    INLAY_TILE(WALK, NAME##_2, 2, N, L, WIDTH, SPLIT) \
    INLAY_TILE(WALK, NAME##_3, 3, N, L, WIDTH, SPLIT) \
    INLAY_TILE_4(WALK, NAME##_4, 4, N, L, WIDTH, SPLIT) \
    INLAY_TILE_5(WALK, NAME##_5, 5, N, L, WIDTH, SPLIT) \
    INLAY_TILE_6(WALK, NAME##_6, 6, N, L, WIDTH, SPLIT) \
    INLAY_TILE_7(WALK, NAME##_7, 7, N, L, WIDTH, SPLIT) \
    static inline void NAME(const inlay_tile *t, int32_t p, int32_t tiles, ptrdiff_t at, \
                            const float *w, const float *b, float *y, const float *q, \
                            int32_t part) \
    { \
        switch (p) { \
        case 1: \
            NAME##_1(t, tiles, at, w, b, y, q, part); \
            break; \
        case 2: \
            NAME##_2(t, tiles, at, w, b, y, q, part); \
            break; \
        case 3: \
            NAME##_3(t, tiles, at, w, b, y, q, part); \
            break; \
            INLAY_TILE_CASE4(NAME) \
            INLAY_TILE_CASE5(NAME) \
            INLAY_TILE_CASE6(NAME) \
            INLAY_TILE_CASE7(NAME) \
        default: \
            break; \
        } \
    }

#if INLAY_VL == 16
#define INLAY_TILES_ALL(WALK, NAME) \
    INLAY_TILES_BY(WALK, NAME##_64, 4, 16, 16, 16) \
    INLAY_TILES_BY(WALK, NAME##_32, 2, 16, 16, 16) \
    INLAY_TILES_BY(WALK, NAME##_16, 1, 16, 16, 16) \
    INLAY_TILES_BY(WALK, NAME##_8, 1, 8, 8, 8) INLAY_TILES_BY(WALK, NAME##_4, 1, 4, 4, 4)
#define INLAY_TILE_WIDE(NAME) \
    case 64: \
        NAME##_64(t, p, tiles, at, w, b, y + o, qo, part); \
        break; \
    case 32: \
        NAME##_32(t, p, tiles, at, w, b, y + o, qo, part); \
        break;
#elif INLAY_VL == 8
#define INLAY_TILES_ALL(WALK, NAME) \
    INLAY_TILES_BY(WALK, NAME##_16, 2, 8, 16, 16) \
    INLAY_TILES_BY(WALK, NAME##_8, 1, 8, 8, 8) INLAY_TILES_BY(WALK, NAME##_4, 1, 4, 4, 4)
#define INLAY_TILE_WIDE(NAME)
#elif INLAY_VL == 4
#define INLAY_TILES_ALL(WALK, NAME) \
    INLAY_TILES_BY(WALK, NAME##_16, 4, 4, 16, 16) \
    INLAY_TILES_BY(WALK, NAME##_8, 2, 4, 8, 8) INLAY_TILES_BY(WALK, NAME##_4, 1, 4, 4, 4)
#define INLAY_TILE_WIDE(NAME)
#else
#define INLAY_TILES_ALL(WALK, NAME) INLAY_TILES_BY(WALK, NAME##_any, 4, 1, t->width, 4)
#endif

/* Channels of the group of packed channels that begins at o, of oc (rounded up to 4). */
static inline int32_t inlay_tile_group(int32_t o, int32_t oc, int32_t width)
{
#if INLAY_VL == 1
    (void)o, (void)oc, (void)width;
    return 4;
#else
    const int32_t left = oc - o;
    (void)width;
#if INLAY_VL == 16
    if (left >= 61)
        return 64;
    if (left >= 29)
        return 32;
#endif
    return left > 12 ? 16 : left > 4 ? 8 : 4;
#endif
}

/* Width of the block that channel o lies in. */
static inline int32_t inlay_tile_width(int32_t o, int32_t oc, int32_t width)
{
    const int32_t at = o - o % width;
    const int32_t left = (oc - at + 3) / 4 * 4;
    if (left >= width)
        return width;
    return o - at < left / 8 * 8 ? 8 : 4;
}

/* NAME_run: tiles of p pixels, channels [o, end) of a convolution of oc channels: the group loop,
 * and the tiles that it takes. w is the first tap that exists, counted in taps; weights, bias, y, q
 * begin at channel 0. */
#if INLAY_VL == 1
#define INLAY_TILE_GROUP(NAME) \
    const int32_t width = inlay_tile_width(o, oc, t->width); \
    const int32_t full = t->width, first = width == full ? o - o % width \
                                           : width == 8  ? o - o % full \
                                                         : o; \
    const float *w = weights + first * t->taps + tap * width + (o - first); \
    t->width = width; \
    NAME##_any(t, p, tiles, at, w, bias + o, y + o, q ? q + o : q, oc - o < n ? oc - o : 0); \
    t->width = full;
#else
#define INLAY_TILE_GROUP(NAME) \
    const float *w = weights + o * t->taps + tap * (n > 16 ? 16 : n), *b = bias + o, \
                *qo = q ? q + o : q; \
    const int32_t part = oc - o < n ? oc - o : 0; \
    switch (n) { \
        INLAY_TILE_WIDE(NAME) \
    case 16: \
        NAME##_16(t, p, tiles, at, w, b, y + o, qo, part); \
        break; \
    case 8: \
        NAME##_8(t, p, tiles, at, w, b, y + o, qo, part); \
        break; \
    default: \
        NAME##_4(t, p, tiles, at, w, b, y + o, qo, part); \
        break; \
    }
#endif
#define INLAY_TILE_RUN(WALK, NAME) \
    INLAY_TILES_ALL(WALK, NAME) \
    static inline void NAME##_run(inlay_tile *t, int32_t p, int32_t tiles, ptrdiff_t at, \
                                  const float *weights, ptrdiff_t tap, const float *bias, \
                                  float *y, const float *q, int32_t o, int32_t end, int32_t oc) \
    { \
        while (o < end) { \
            const int32_t n = inlay_tile_group(o, oc, t->width); \
            INLAY_TILE_GROUP(NAME) \
            o += n; \
        } \
    }
INLAY_TILE_RUN(ROWS, inlay_tile)

/* Tile i of the cut of n pixels into equal tiles (they differ by one pixel at most): its first
 * pixel; *p: its pixels. */
static inline int32_t inlay_tile_cut(int32_t n, int32_t tiles, int32_t i, int32_t *p)
{
    const int32_t small = n / tiles;
    const int32_t more = n % tiles;
    *p = small + (i < more);
    return i * small + (i < more ? i : more);
}

/* The tile of a matrix product: every pixel is `taps` floats, without a window. */
static inline void inlay_tile_product(inlay_tile *t, const float *x, int32_t taps, ptrdiff_t xs,
                                      ptrdiff_t ys, ptrdiff_t qs, int32_t width)
{
    t->x = x;
    t->row = 0;
    t->cap = t->nkd = t->nkh = t->pieces = 1;
    t->first = t->slot = t->d_rows = t->h_rows = t->clamp = t->backward = 0;
    t->run = taps;
    t->piece = 0;
    t->xs = xs, t->ys = ys, t->qs = qs;
    t->plane_taps = t->row_taps = t->piece_taps = t->taps = taps;
    t->width = width;
    t->lo = t->hi = 0.0f;
}

/* n pixels in tiles as equal as can be, from the first to the last, or mirrored; the rest as for a
 * tile. A tile is finished before the next is begun; those of one size and one group of channels
 * are one call. */
static inline void inlay_tile_pixels(inlay_tile *t, int32_t n, ptrdiff_t at, const float *weights,
                                     ptrdiff_t tap, const float *bias, float *y, const float *q,
                                     int32_t o, int32_t end, int32_t oc, int32_t backward)
{
    const int32_t tiles = (n + INLAY_TILE_P - 1) / INLAY_TILE_P;
    const int32_t small = n / (tiles ? tiles : 1);
    const int32_t more = n - small * tiles;
    const int32_t one = INLAY_VL > 1 && end - o <= inlay_tile_group(o, oc, t->width);
    int32_t i;
    int32_t k;
    int32_t c = backward ? n : 0;
    t->backward = backward;
    for (i = 0; i < tiles; i += k) {
        const int32_t large = backward ? i >= tiles - more : i < more;
        const int32_t p = small + large;
        k = !one ? 1 : large ? more : tiles - more;
        if (backward)
            c -= p;
        inlay_tile_run(t, p, k, at + c * t->xs, weights, tap, bias, y + c * t->ys,
                       q ? q + c * t->qs : q, o, end, oc);
        c += backward ? p - k * p : k * p;
    }
}

#endif
