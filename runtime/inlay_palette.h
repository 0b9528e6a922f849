/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: weights of whose output channels each has a palette of 4 or 16 values.
 *
 * A constant is blocks, one behind the other. In a block some channels take turns: `each` values of
 * one, then of the next, in rows. A coded block is
 *
 *     the palette of each of its channels, a value as it lies in memory, the lowest byte first
 *     of each row the indices, 2 or 4 bits each, the lowest first; four of them begin with a byte
 *     zeros up to a multiple of the bytes of a value
 *
 * How blocks lie is in the code, so damage gives other values, and no access beyond them. */
#ifndef INLAY_PALETTE_H
#define INLAY_PALETTE_H

#include <string.h>

#include "inlay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of each palette of the model: 4 or 16; else there are both, or they are not known. */
#ifndef INLAY_PALETTES
#define INLAY_PALETTES 20
#endif

/* Words that say how blocks lie; the last four come again for each run of them. */
enum {
    INLAY_PALETTE_BITS, /* of an index */
    INLAY_PALETTE_HALVES, /* pairs of bytes are 256 times an odd channel and the even one */
    INLAY_PALETTE_RUNS, /* of blocks that are alike; they come again */
    INLAY_PALETTE_RUN
};

/* Blocks that are alike, and how their constant is coded. */
typedef struct inlay_palette {
    uint32_t block; /* values of each */
    uint32_t lanes; /* channels of each */
    uint32_t each;  /* values of a channel in a row: 1, or a multiple of four */
    uint32_t width; /* bytes of a value */
    uint32_t bits;  /* of an index */
    uint32_t halves;
} inlay_palette;

/* Fours of values, and the palettes of the first. */
typedef struct inlay_palette_fours {
    const unsigned char *index;
    const unsigned char *palette;
    unsigned char *to;
    size_t n;
    /* bytes from the palette of a value to that of the next one, from four to four, and of those
     * that take turns */
    size_t step, four, all;
} inlay_palette_fours;

/* The indices of four values. */
INLAY_INLINE uint32_t inlay_palette_next(const unsigned char *index, int bits)
{
    return bits == 2 ? index[0] : index[0] | (uint32_t)index[1] << 8;
}

INLAY_INLINE uint32_t inlay_palette_index(uint32_t four, int i, int bits)
{
    return four >> i * bits & ((1u << bits) - 1);
}

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
enum { INLAY_PALETTE_TURNED = 1 };
#else
enum { INLAY_PALETTE_TURNED = 0 };
#endif

/* A value, its lowest byte last in memory. */
static inline void inlay_palette_turned(const unsigned char *value,
                                        unsigned char *to, size_t width)
{
    for (; width; width--)
        *to++ = value[width - 1];
}

/* Both are aligned to the bytes of a value. */
INLAY_INLINE void inlay_palette_put(const unsigned char *value,
                                    unsigned char *to, int width)
{
    if (width == 1)
        *to = *value;
    else if (INLAY_PALETTE_TURNED)
        inlay_palette_turned(value, to, (size_t)width);
    else if (width == 2)
        *(uint16_t *)(void *)to = *(const uint16_t *)(const void *)value;
    else
        *(float *)(void *)to = *(const float *)(const void *)value;
}

/* Four values of a palette each. */
INLAY_INLINE void inlay_palette_four(const inlay_palette_fours *f,
                                     const unsigned char *at,
                                     const unsigned char *index,
                                     unsigned char *to, int bits, int width)
{
    const uint32_t four = inlay_palette_next(index, bits);
    const size_t size = (size_t)width;
    const size_t step = f->step;
    const size_t a = size * inlay_palette_index(four, 0, bits);
    const size_t b = size * inlay_palette_index(four, 1, bits);
    const size_t c = size * inlay_palette_index(four, 2, bits);
    const size_t d = size * inlay_palette_index(four, 3, bits);
    inlay_palette_put(at + a, to, width);
    inlay_palette_put(at + step + b, to + size, width);
    inlay_palette_put(at + 2 * step + c, to + 2 * size, width);
    inlay_palette_put(at + 3 * step + d, to + 3 * size, width);
}

/* The same palettes for all fours. */
INLAY_INLINE void inlay_palette_same(const inlay_palette_fours *f, int bits,
                                     int width)
{
    const unsigned char *index = f->index;
    unsigned char *to = f->to;
    size_t n;
    for (n = f->n; n; n--) {
        inlay_palette_four(f, f->palette, index, to, bits, width);
        to += 4 * width;
        index += bits / 2;
    }
}

INLAY_INLINE void inlay_palette_plain(const inlay_palette_fours *f, int bits,
                                      int width)
{
    const unsigned char *index = f->index;
    const unsigned char *end = f->palette + f->all;
    const unsigned char *at = f->palette;
    unsigned char *to = f->to;
    size_t n;
    if (f->four == f->all) {
        inlay_palette_same(f, bits, width);
        return;
    }
    for (n = f->n; n; n--) {
        inlay_palette_four(f, at, index, to, bits, width);
        to += 4 * width;
        index += bits / 2;
        at += f->four;
        if (at == end)
            at = f->palette;
    }
}

/* 256 times an odd channel and the even one before it, of indices i and i + 1. */
INLAY_INLINE void inlay_palette_half(const unsigned char *even, uint32_t four,
                                     int i, int bits, unsigned char *to)
{
    const unsigned char *odd = even + ((size_t)1 << bits);
    const int low = (signed char)even[inlay_palette_index(four, i, bits)];
    const uint32_t high = odd[inlay_palette_index(four, i + 1, bits)];
    const uint32_t half = (uint32_t)low + (high << 8);
    to[0] = (unsigned char)half;
    to[1] = (unsigned char)(half >> 8);
}

/* Two of each of two channels, then of the other two, and again. */
INLAY_INLINE void inlay_palette_halves(const inlay_palette_fours *f, int bits)
{
    const unsigned char *palette = f->palette;
    const unsigned char *other = palette + ((size_t)2 << bits);
    const unsigned char *index = f->index;
    unsigned char *to = f->to;
    size_t n;
    for (n = f->n; n; n -= 2) {
        const uint32_t four = inlay_palette_next(index, bits);
        const uint32_t next = inlay_palette_next(index + bits / 2, bits);
        inlay_palette_half(palette, four, 0, bits, to);
        inlay_palette_half(palette, four, 2, bits, to + 2);
        inlay_palette_half(other, next, 0, bits, to + 4);
        inlay_palette_half(other, next, 2, bits, to + 6);
        to += 8;
        index += bits;
    }
}

/* As a loop of its own for each kind. */
INLAY_INLINE void inlay_palette_kinds(const inlay_palette *p,
                                      const inlay_palette_fours *f, int bits)
{
    if (p->halves)
        inlay_palette_halves(f, bits);
    else if (p->width == 1)
        inlay_palette_plain(f, bits, 1);
    else if (p->width == 2)
        inlay_palette_plain(f, bits, 2);
    else
        inlay_palette_plain(f, bits, 4);
}

INLAY_APART void inlay_palette_run(const inlay_palette *p,
                                   const inlay_palette_fours *f)
{
    if (INLAY_PALETTES != 4 && p->bits == 4)
        inlay_palette_kinds(p, f, 4);
    else if (INLAY_PALETTES != 16)
        inlay_palette_kinds(p, f, 2);
}

/* ---- blocks ---- */

/* Bytes of a palette. */
static inline size_t inlay_palette_own(const inlay_palette *p)
{
    return ((size_t)1 << p->bits) * p->width;
}

/* Bytes of the indices of a row. */
static inline size_t inlay_palette_row(const inlay_palette *p)
{
    return ((size_t)p->lanes * p->each + 3) / 4 * p->bits / 2;
}

/* Of a block, zeros included. */
static inline size_t inlay_palette_coded(const inlay_palette *p)
{
    const size_t rows = p->block / (p->lanes * p->each);
    const size_t index = rows * inlay_palette_row(p);
    const size_t whole = (index + p->width - 1) / p->width * p->width;
    return p->lanes * inlay_palette_own(p) + whole;
}

/* Values of less than four channels. */
static inline void inlay_palette_rest(const inlay_palette *p,
                                      const inlay_palette_fours *f, size_t n)
{
    const unsigned all = (1u << p->bits) - 1;
    size_t i;
    for (i = 0; i < n; i++) {
        const size_t bit = i * p->bits;
        const unsigned index = f->index[bit / 8] >> bit % 8 & all;
        const unsigned char *value = f->palette + i * f->step;
        unsigned char *to = f->to + i * p->width;
        value += index * p->width;
        if (INLAY_PALETTE_TURNED)
            inlay_palette_turned(value, to, p->width);
        else
            memcpy(to, value, p->width);
    }
}

/* Rows of a value of each channel, which are no whole fours. */
static inline void inlay_palette_rows(const inlay_palette *p,
                                      inlay_palette_fours f)
{
    const unsigned char *palette = f.palette;
    const size_t whole = p->lanes / 4;
    size_t left;
    for (left = p->block; left; left -= p->lanes) {
        f.n = whole;
        f.palette = palette;
        inlay_palette_run(p, &f);
        f.index += whole * p->bits / 2;
        f.palette += whole * f.four;
        f.to += whole * 4 * p->width;
        inlay_palette_rest(p, &f, p->lanes % 4);
        f.index += inlay_palette_row(p) - whole * p->bits / 2;
        f.to += p->lanes % 4 * p->width;
    }
}

/* Many values of a channel, then of the next one. */
static inline void inlay_palette_long(const inlay_palette *p,
                                      inlay_palette_fours f)
{
    const unsigned char *palette = f.palette;
    size_t left;
    f.n = p->each / 4;
    for (left = p->block; left; left -= p->each) {
        inlay_palette_run(p, &f);
        f.index += f.n * p->bits / 2;
        f.to += (size_t)p->each * p->width;
        f.palette += inlay_palette_own(p);
        if (f.palette == palette + f.all)
            f.palette = palette;
    }
}

static inline void inlay_palette_block(const inlay_palette *p,
                                       const unsigned char *from,
                                       unsigned char *to)
{
    const size_t own = inlay_palette_own(p);
    inlay_palette_fours f;
    f.all = p->lanes * own;
    f.palette = from;
    f.index = from + f.all;
    f.to = to;
    f.n = p->block / 4;
    f.step = p->each == 1 ? own : 0;
    f.four = p->each == 1 ? 4 * own : own;
    if (p->each > 4) {
        f.four = 0;
        inlay_palette_long(p, f);
    } else if (p->lanes * p->each % 4) {
        inlay_palette_rows(p, f);
    } else {
        inlay_palette_run(p, &f);
    }
}

/* n values from value `first` on, with which a block begins, as these words say. By itself, so that
 * kernels do not run on top of its stack. */
INLAY_APART void inlay_palette_decode(const uint32_t *words, uint32_t width,
                                      const unsigned char *from, uint32_t first,
                                      unsigned char *to, size_t n)
{
    inlay_palette p;
    uint32_t run = 0;
    p.width = width;
    p.bits = words[INLAY_PALETTE_BITS];
    p.halves = words[INLAY_PALETTE_HALVES];
    while (n) {
        const uint32_t *of = words + INLAY_PALETTE_RUN + 4 * run;
        uint32_t i;
        size_t coded;
        p.block = of[1];
        p.lanes = of[2];
        p.each = of[3];
        coded = inlay_palette_coded(&p);
        i = first / p.block < of[0] ? first / p.block : of[0];
        from += i * coded;
        first -= i * p.block;
        for (; i < of[0] && n; i++) {
            inlay_palette_block(&p, from, to);
            from += coded;
            to += (size_t)p.block * width;
            n -= p.block < n ? p.block : n;
        }
        run = run + 1 == words[INLAY_PALETTE_RUNS] ? 0 : run + 1;
    }
}

#ifdef __cplusplus
}
#endif
#endif
