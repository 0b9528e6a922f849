/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: weights that are coded in flash, and decoded into a window of the arena right
 * before a step takes them. Bytes may be coded in pairs (inlay_pairs.h), channels may have palettes
 * (inlay_palette.h, which is included before this where any have); of other constants this holds:
 *
 * Of each value of a constant the highest byte is coded, the others are stored as they are. The
 * sign of a float is its lowest bit meanwhile, so that the highest byte is the exponent. Bytes fall
 * into classes of 1 to 32 neighbours; a code word is the prefix of the class and the number within
 * it. A coded constant is
 *
 *     of each class two bytes: its first member, and bits of its prefix + 16 * bits of the number
 *     the other bytes of each value, the lowest first
 *     the code words, the highest bit first, and four bytes of zeros
 *
 * with classes of short prefixes first, whose prefixes count up. A damaged constant gives other
 * values, and no access beyond it. */
#ifndef INLAY_CODED_H
#define INLAY_CODED_H

#include "inlay_fetch.h"
#include "inlay_pairs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    INLAY_CODE_PREFIX = 7,    /* bits of a prefix at most */
    INLAY_CODE_NUMBER = 5,    /* of a number within a class */
    INLAY_CODE_ENTRIES = 128, /* prefixes of so many bits */
    INLAY_CODE_BEHIND = 4,    /* bytes that may be read behind the code words */
    INLAY_CODE_PALETTE = 8
};

/* The code of a constant that a step reads. */
typedef struct inlay_coded {
    size_t at;             /* byte of the weights at which it begins */
    uint32_t values;       /* of the whole constant */
    uint32_t bits;         /* of all code words */
    uint32_t first;        /* value that the first piece begins with */
    const uint32_t *begin; /* of each piece: the bit that it begins with */
    uint8_t listed;        /* classes; or words of pairs */
    uint8_t width;         /* bytes of a value: 1, 2 or 4 */
    uint8_t
        turned; /* the sign is the lowest bit, or one of those that are stored */
    /* bits of each byte that are stored, of pairs; else 0; or INLAY_CODE_PALETTE: `begin` is how
     * the blocks lie */
    uint8_t low;
} inlay_coded;

/* The parameters of a step that decodes. */
typedef struct inlay_decoding {
    const inlay_pieces *pieces;
    const inlay_coded *coded; /* of each of pieces->fetch */
    size_t code;              /* byte of the window with room for inlay_code */
} inlay_decoding;

/* The decoder's table, in the window. */
typedef union inlay_code {
    /* What follows from the next seven bits: the lower byte of an entry is 32 less the bits of the
     * code word, 20 to 31, the upper one what the code word as a number is short of the byte. */
    uint16_t entry[INLAY_CODE_ENTRIES];
    uint32_t pair[INLAY_PAIR_ENTRIES];
} inlay_code;

static inline void inlay_code_make(inlay_code *code, const unsigned char *book,
                                   unsigned classes)
{
    unsigned at = 0;
    for (; classes; classes--, book += 2) {
        const unsigned prefix = book[1] & 7u;
        const unsigned asked = book[1] >> 4;
        const unsigned number =
            asked < INLAY_CODE_NUMBER ? asked : (unsigned)INLAY_CODE_NUMBER;
        const unsigned span = (unsigned)INLAY_CODE_ENTRIES >> prefix;
        const unsigned word = at / span << number;
        const unsigned bits = prefix + number ? prefix + number : 1;
        const unsigned entry = (32 - bits) | ((book[0] - word) & 255u) << 8;
        const unsigned end = at + span;
        if (end > INLAY_CODE_ENTRIES)
            break;
        while (at < end)
            code->entry[at++] = (uint16_t)entry;
    }
    while (at < INLAY_CODE_ENTRIES)
        code->entry[at++] = 31;
}

/* 25 bits or more from bit `at` on, the first one highest. */
static inline uint32_t inlay_code_bits(const unsigned char *words, uint32_t at)
{
    const unsigned char *p = words + (at >> 3);
    const uint32_t four = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
                          (uint32_t)p[2] << 8 | p[3];
    return four << (at & 7);
}

/* Pairs of bytes until `stop`, `stride` bytes from one to the next; returns the bit behind them.
 * Two code words take 24 bits at most. */
static inline uint32_t inlay_code_pairs(const inlay_code *code,
                                        const unsigned char *words, uint32_t at,
                                        unsigned char *to,
                                        const unsigned char *stop,
                                        size_t stride)
{
    const uint16_t *entry = code->entry;
    while (to != stop) {
        const uint32_t bits = inlay_code_bits(words, at);
        const uint32_t one = entry[bits >> 25];
        const uint8_t down = (uint8_t)one;
        const uint32_t rest = bits >> down | bits << (32 - down);
        const uint32_t two = entry[rest >> 25];
        const uint8_t next = (uint8_t)two;
        to[0] = (unsigned char)((bits >> down) + (one >> 8));
        to[stride] = (unsigned char)((rest >> next) + (two >> 8));
        to += 2 * stride;
        at += 64 - ((uint32_t)down + next);
    }
    return at;
}

/* A byte at a time, never from beyond the end. */
static inline void inlay_code_last(const inlay_code *code,
                                   const unsigned char *words, uint32_t at,
                                   uint32_t end, unsigned char *to, size_t n,
                                   size_t stride)
{
    for (; n; n--, to += stride) {
        const uint32_t bits = inlay_code_bits(words, at);
        const uint32_t one = code->entry[bits >> 25];
        const uint8_t down = (uint8_t)one;
        to[0] = (unsigned char)((bits >> down) + (one >> 8));
        at += 32u - down;
        at = at < end ? at : end;
    }
}

/* n bytes from bit `at` on. Pairs are decoded unchecked as long as even the longest would not go
 * beyond the end. */
static inline void inlay_code_bytes(const inlay_code *code,
                                    const unsigned char *words, uint32_t at,
                                    uint32_t end, unsigned char *to, size_t n,
                                    size_t stride)
{
    const uint32_t longest = 2 * (INLAY_CODE_PREFIX + INLAY_CODE_NUMBER);
    size_t pairs;
    at = at < end ? at : end;
    for (pairs = n / 2; pairs; n -= 2 * pairs) {
        const unsigned char *stop;
        pairs = (end - at) / longest;
        pairs = pairs < n / 2 ? pairs : n / 2;
        stop = to + 2 * pairs * stride;
        at = inlay_code_pairs(code, words, at, to, stop, stride);
        to += 2 * pairs * stride;
    }
    inlay_code_last(code, words, at, end, to, n, stride);
}

/* Values whose upper bytes lie there get the lower ones. */
static inline void inlay_code_join16(unsigned char *to,
                                     const unsigned char *low, size_t n,
                                     int turned)
{
    size_t i;
    for (i = 0; i < n; i++) {
        const unsigned all = (unsigned)to[2 * i] << 8 | low[i];
        const uint16_t value = (uint16_t)(turned ? all >> 1 | all << 15 : all);
        memcpy(to + 2 * i, &value, sizeof value);
    }
}

static inline void inlay_code_join32(unsigned char *to,
                                     const unsigned char *low, size_t n,
                                     int turned)
{
    size_t i;
    for (i = 0; i < n; i++, low += 3) {
        const uint32_t all = (uint32_t)to[4 * i] << 24 |
                             (uint32_t)low[2] << 16 | (uint32_t)low[1] << 8 |
                             low[0];
        const uint32_t value = turned ? all >> 1 | all << 31 : all;
        memcpy(to + 4 * i, &value, sizeof value);
    }
}

/* n values from value `first` on, the first one's code word at bit `at`. */
static inline void inlay_decode_classes(const inlay_coded *coded,
                                        const unsigned char *book,
                                        uint32_t first, uint32_t at,
                                        unsigned char *to, size_t n,
                                        const inlay_code *code)
{
    const size_t lower = coded->width - 1u;
    const unsigned char *low = book + 2u * coded->listed;
    const unsigned char *words = low + lower * coded->values;
    if (!lower) {
        inlay_code_bytes(code, words, at, coded->bits, to, n, 1);
        return;
    }
    inlay_code_bytes(code, words, at, coded->bits, to, n, coded->width);
    low += lower * first;
    if (coded->width == 2)
        inlay_code_join16(to, low, n, coded->turned);
    else
        inlay_code_join32(to, low, n, coded->turned);
}

/* Bytes in pairs, from bit `at` on. */
static inline inlay_pairs inlay_coded_pairs(const inlay_coded *coded,
                                            const unsigned char *book,
                                            uint32_t at, inlay_code *code)
{
    const uint32_t groups = (coded->values + 7) / INLAY_PAIR_GROUP;
    inlay_pairs p;
    p.entry = code->pair;
    p.book = book;
    p.lower = book + INLAY_PAIR_BITS + coded->listed;
    p.words = p.lower + (size_t)groups * coded->low;
    p.at = at;
    p.end = coded->bits;
    p.listed = coded->listed;
    p.low = coded->low;
    p.apart = coded->turned;
    inlay_pairs_signs(&p);
    return p;
}

/* Makes the table of a constant. */
static inline void inlay_decode_make(const inlay_coded *coded,
                                     const unsigned char *weights,
                                     inlay_code *code)
{
    const unsigned char *book = weights + coded->at;
#ifdef INLAY_PALETTES
    if (coded->low == INLAY_CODE_PALETTE)
        return;
#endif
    if (coded->low) {
        const inlay_pairs p = inlay_coded_pairs(coded, book, 0, code);
        inlay_pairs_make(&p);
    } else {
        inlay_code_make(code, book, coded->listed);
    }
}

/* n values from value `first` on with that table, the code word of the first one, or of its group,
 * at bit `at`. */
static inline void inlay_decode(const inlay_coded *coded,
                                const unsigned char *weights, uint32_t first,
                                uint32_t at, unsigned char *to, size_t n,
                                inlay_code *code)
{
    const unsigned char *book = weights + coded->at;
    if (coded->low) {
        inlay_pairs p = inlay_coded_pairs(coded, book, at, code);
        inlay_pairs_decode(&p, first, to, n);
    } else {
        inlay_decode_classes(coded, book, first, at, to, n, code);
    }
}

/* n values of a piece, from value `first` on. */
static inline void inlay_decode_one(const inlay_coded *coded,
                                    const unsigned char *weights,
                                    uint32_t first, int32_t piece,
                                    unsigned char *to, size_t n,
                                    inlay_code *code)
{
#ifdef INLAY_PALETTES
    if (coded->low == INLAY_CODE_PALETTE) {
        inlay_palette_decode(coded->begin, coded->width, weights + coded->at,
                             first, to, n);
        return;
    }
#endif
    inlay_decode(coded, weights, first, coded->begin[piece], to, n, code);
}

/* The constants of a piece. The table of the only one stays from piece to piece. */
static inline void inlay_decode_piece(const inlay_fetching *f,
                                      const inlay_decoding *d, int32_t piece)
{
    const inlay_pieces *p = f->pieces;
    const unsigned char *weights =
        (const unsigned char *)f->base[INLAY_WEIGHTS];
    unsigned char *window =
        (unsigned char *)inlay_at(f->base, f->step, p->operands);
    inlay_code *code = (inlay_code *)(void *)(window + d->code);
    int32_t i;
    for (i = 0; i < p->fetches; i++) {
        const inlay_fetch *one = p->fetch + i;
        const inlay_coded *coded = d->coded + i;
        const size_t n = piece == p->pieces - 1 ? one->last : one->bytes;
        uint32_t first = coded->first;
        if (piece)
            first +=
                (uint32_t)piece * (p->advance[one->operand] / coded->width);
        if (!piece || p->fetches > 1)
            inlay_decode_make(coded, weights, code);
        inlay_decode_one(coded, weights, first, piece, window + one->at,
                         n / coded->width, code);
    }
}

/* The kernel of a step that decodes: piece by piece, as a step that fetches. */
static inline int inlay_decoded(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    const inlay_decoding *d = (const inlay_decoding *)s->params;
    inlay_fetching f;
    int32_t piece;
    int r = 0;
    f.stream = NULL;
    f.pieces = d->pieces;
    f.base = base;
    f.step = s;
    f.waits = 0;
    for (piece = 0; !r && piece < f.pieces->pieces; piece++) {
        inlay_decode_piece(&f, d, piece);
        r = inlay_fetch_make(&f, piece, r0, r1);
    }
    return r;
}

#ifdef __cplusplus
}
#endif
#endif
