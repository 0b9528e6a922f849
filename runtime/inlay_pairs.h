/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: bytes that are coded two at a time, and decoded eight at a time.
 *
 * The bytes that differ in nothing but their lowest 3 to 5 bits are a cell. These bits are stored
 * as they are; the cells of two bytes have one code word of at most 6 bits. Where the sign lies
 * among the bits that are stored, -1 - x is in the cell of x. Coded bytes are
 *
 *     how many code words have 1, 2, ... 6 bits, a byte each
 *     of each word, the shortest first, its cells, 4 bits each; a second one of 15 makes the word
 *         an escape, and the first one says of how many bits the two cells are that follow
 *     of each 8 bytes the bits that are stored, as inlay_pairs_some() takes them apart
 *     of each 8 bytes four code words, the lowest bit first, and the cells of the escapes
 *
 * with words of a length that count up, their first bit counting most, and four bytes of zeros.
 * Damage gives other bytes, and no access beyond them. */
#ifndef INLAY_PAIRS_H
#define INLAY_PAIRS_H

#include <string.h>

#include "inlay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    INLAY_PAIR_BITS = 6, /* of a code word at most */
    INLAY_PAIR_ENTRIES = 64,
    INLAY_PAIR_CELL = 5,    /* bits of a cell that follows, at most */
    INLAY_PAIR_ESCAPE = 15, /* the second cell of an escape */
    INLAY_PAIR_GROUP = 8    /* bytes */
};

#define INLAY_EACH_BYTE 0x01010101u
#define INLAY_EACH_HALF 0x11111111u
#define INLAY_ESCAPES 0xff00u /* bits of the sum of four entries */
/* Of the 3 or 5 bits that are stored those that share a word; the last one stands by itself. */
#define INLAY_PAIRS_MASK(low) (INLAY_EACH_BYTE * ((low) == 3 ? 3u : 15u))

/* Bytes that are being decoded. */
typedef struct inlay_pairs {
    /* What follows from the next six bits: in the lowest byte how many the word has, in the next
     * one 1 of an escape; above, two bytes but for what is stored, or the bits of a cell. */
    uint32_t *entry;
    const unsigned char *book, *lower, *words;
    uint32_t at, end; /* bits of the words: the next one, and all of them */
    uint32_t mask;    /* of the stored bits of four bytes in their word */
    uint32_t sign;    /* what the last stored bit does; of 4 where signs are */
    uint8_t listed;   /* words of the book */
    uint8_t low;      /* bits of a byte that are stored */
    uint8_t apart;    /* the sign is one of them */
} inlay_pairs;

/* What follows from `low` and `apart`. */
static inline void inlay_pairs_signs(inlay_pairs *p)
{
    p->mask = INLAY_PAIRS_MASK(p->low);
    if (p->low == 3)
        p->sign = p->apart ? 255 : 4;
    else if (p->low == 5)
        p->sign = p->apart ? 15 : 1;
    else
        p->sign = p->apart ? INLAY_EACH_BYTE << 7 : 0;
    if (p->low == 4 && p->apart)
        p->mask = INLAY_EACH_BYTE * 0x87;
}

/* ---- the table ---- */

/* The byte whose stored bits are 0, of a cell. */
static inline uint32_t inlay_pairs_cell(const inlay_pairs *p, uint32_t cell)
{
    if (p->apart)
        return (cell << (p->low - 1)) & 127u;
    return ((cell >> 1 ^ (0u - (cell & 1))) << p->low) & 255u;
}

static inline uint32_t inlay_pairs_entry(const inlay_pairs *p, unsigned word,
                                         unsigned bits)
{
    const uint32_t first = word & 15u;
    const uint32_t second = word >> 4;
    const uint32_t longest = INLAY_PAIR_CELL;
    if (second == INLAY_PAIR_ESCAPE)
        return bits | 256u | (first < longest ? first : longest) << 16;
    return bits | inlay_pairs_cell(p, first) << 16 |
           inlay_pairs_cell(p, second) << 24;
}

/* The word after one of so many bits, whose first bit is the lowest; 0 after the last one. */
static inline unsigned inlay_pairs_next(unsigned word, unsigned bits)
{
    unsigned bit = 1u << bits >> 1;
    for (; word & bit; bit >>= 1)
        word ^= bit;
    return word | bit;
}

static inline void inlay_pairs_make(const inlay_pairs *p)
{
    const unsigned char *listed = p->book + INLAY_PAIR_BITS;
    const unsigned char *end = listed + p->listed;
    unsigned word = 0;
    unsigned bits, n, i;
    for (i = 0; i < INLAY_PAIR_ENTRIES; i++)
        p->entry[i] = INLAY_PAIR_BITS;
    for (bits = 1; bits <= INLAY_PAIR_BITS; bits++)
        for (n = p->book[bits - 1]; n && listed != end; n--) {
            const uint32_t entry = inlay_pairs_entry(p, *listed++, bits);
            for (i = word; i < INLAY_PAIR_ENTRIES; i += 1u << bits)
                p->entry[i] = entry;
            word = inlay_pairs_next(word, bits);
        }
}

/* ---- the bytes ---- */

/* Four bytes, the lowest first. */
static inline uint32_t inlay_pairs_four(const unsigned char *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static inline void inlay_pairs_put(unsigned char *to, uint32_t four)
{
    to[0] = (unsigned char)four;
    to[1] = (unsigned char)(four >> 8);
    to[2] = (unsigned char)(four >> 16);
    to[3] = (unsigned char)(four >> 24);
}

/* The bits behind an entry's word. */
static inline uint32_t inlay_pairs_pass(uint32_t bits, uint32_t entry)
{
#if defined __GNUC__ && defined __arm__ && \
    (!defined __thumb__ || defined __thumb2__)
    /* it takes the lowest byte by itself; compilers do not know */
    uint32_t rest;
    __asm__("lsr %0, %1, %2" : "=r"(rest) : "r"(bits), "r"(entry));
    return rest;
#else
    return bits >> (uint8_t)entry;
#endif
}

/* 25 bits of the words or more from bit `at` on. */
static inline uint32_t inlay_pairs_bits(const unsigned char *words, uint32_t at)
{
    return inlay_pairs_four(words + (at >> 3)) >> (at & 7);
}

/* The entries of a group. */
typedef struct inlay_pair_entries {
    uint32_t a, b, c, d;
} inlay_pair_entries;

/* Those of the next of these bits. */
INLAY_INLINE inlay_pair_entries inlay_pairs_look(const uint32_t *entry,
                                                 uint32_t bits)
{
    const uint32_t all = INLAY_PAIR_ENTRIES - 1;
    inlay_pair_entries group;
    group.a = entry[bits & all];
    bits = inlay_pairs_pass(bits, group.a);
    group.b = entry[bits & all];
    bits = inlay_pairs_pass(bits, group.b);
    group.c = entry[bits & all];
    bits = inlay_pairs_pass(bits, group.c);
    group.d = entry[bits & all];
    return group;
}

/* An escape's entry with the next cells of the words, never from beyond the end. */
INLAY_APART uint32_t inlay_pairs_cells(const inlay_pairs *p, uint32_t *at,
                                       uint32_t entry)
{
    const uint32_t width = entry >> 16;
    const uint32_t all = (1u << (width & 7)) - 1;
    const uint32_t from = *at < p->end ? *at : p->end;
    const uint32_t bits = inlay_pairs_bits(p->words, from);
    *at = from + 2 * width;
    return (entry & 255u) | inlay_pairs_cell(p, bits & all) << 16 |
           inlay_pairs_cell(p, bits >> width & all) << 24;
}

/* Two pairs of bytes, but for the bits that are stored. What the second entry has in its lowest
 * byte stays there, and the stored bits make up for it, where they are enough. */
INLAY_INLINE uint32_t inlay_pairs_join(uint32_t first, uint32_t second, int low)
{
    return (low < 4 ? second & ~255u : second) ^ first >> 16;
}

/* The two halves of a group. */
typedef struct inlay_pair_group {
    uint32_t one, two;
} inlay_pair_group;

INLAY_INLINE inlay_pair_group inlay_pairs_halves(inlay_pair_entries entry,
                                                 int low)
{
    inlay_pair_group group;
    group.one = inlay_pairs_join(entry.a, entry.b, low);
    group.two = inlay_pairs_join(entry.c, entry.d, low);
    return group;
}

INLAY_INLINE uint32_t inlay_pairs_sum(inlay_pair_entries entry)
{
    return entry.a + entry.b + entry.c + entry.d;
}

/* Those of a group with escapes; returns the bit behind their cells, or the end. */
INLAY_APART uint32_t inlay_pairs_escapes(const inlay_pairs *p, uint32_t at,
                                         inlay_pair_group *group)
{
    inlay_pair_entries entry =
        inlay_pairs_look(p->entry, inlay_pairs_bits(p->words, at));
    at += (uint8_t)inlay_pairs_sum(entry);
    if (entry.a & INLAY_ESCAPES)
        entry.a = inlay_pairs_cells(p, &at, entry.a);
    if (entry.b & INLAY_ESCAPES)
        entry.b = inlay_pairs_cells(p, &at, entry.b);
    if (entry.c & INLAY_ESCAPES)
        entry.c = inlay_pairs_cells(p, &at, entry.c);
    if (entry.d & INLAY_ESCAPES)
        entry.d = inlay_pairs_cells(p, &at, entry.d);
    *group = inlay_pairs_halves(entry, p->low);
    return at < p->end ? at : p->end;
}

/* The stored bits that share a word. */
INLAY_INLINE uint32_t inlay_pairs_shared(const unsigned char *lower, int low)
{
    if (low == 3) {
        const uint32_t half = lower[0] | (uint32_t)lower[1] << 8;
        return half | half << 14;
    }
    return inlay_pairs_four(lower);
}

/* Eight bits, each at the end of a half byte: those of the first four bytes in the lower halves. */
INLAY_INLINE uint32_t inlay_pairs_spread(uint32_t bits)
{
    bits |= bits << 7;
    return (bits | bits << 14) & INLAY_EACH_HALF;
}

/* Turns the bytes whose highest bit is one of `sign`. */
INLAY_INLINE uint32_t inlay_pairs_turn(uint32_t four, uint32_t sign)
{
    return four ^ ((four & sign) - ((four & sign) >> 7));
}

/* Adds the stored bits of a group. The single ones of 5 change the upper half of their own byte,
 * and the lower halves of others: the bits that share a word make up for that. */
INLAY_INLINE inlay_pair_group inlay_pairs_add(inlay_pair_group group,
                                              const unsigned char *lower,
                                              uint32_t mask, uint32_t sign,
                                              int low)
{
    const uint32_t shared = inlay_pairs_shared(lower, low);
    const uint32_t spread = inlay_pairs_spread(lower[low - 1]);
    group.one ^= shared & mask;
    group.two ^= (shared >> 4 | shared << 28) & mask;
    if (low == 5) {
        group.one ^= spread * sign << 4;
        group.two ^= spread * sign;
    } else if (low == 3) {
        group.one ^= (spread & INLAY_EACH_BYTE) * sign;
        group.two ^= (spread >> 4 & INLAY_EACH_BYTE) * sign;
    } else {
        group.one = inlay_pairs_turn(group.one, sign);
        group.two = inlay_pairs_turn(group.two, sign);
    }
    return group;
}

/* n groups, or fewer: none after one whose escapes leave too few bits for the rest. The words of a
 * group take 24 bits at most. Returns how far it came. */
INLAY_INLINE unsigned char *inlay_pairs_some(inlay_pairs *p, unsigned char *to,
                                             size_t n, int low)
{
    const uint32_t *entry = p->entry;
    const uint32_t sign = p->sign;
    const uint32_t mask = low == 4 ? p->mask : INLAY_PAIRS_MASK(low);
    const unsigned char *words = p->words;
    const unsigned char *lower = p->lower;
    uint32_t at = p->at;
    do {
        const inlay_pair_entries next =
            inlay_pairs_look(entry, inlay_pairs_bits(words, at));
        const uint32_t sum = inlay_pairs_sum(next);
        inlay_pair_group group = inlay_pairs_halves(next, low);
        if (sum & INLAY_ESCAPES) {
            inlay_pair_group known;
            at = inlay_pairs_escapes(p, at, &known);
            group = known;
            n = 24 * n > p->end - at ? 1 : n;
        } else {
            at += (uint8_t)sum;
        }
        group = inlay_pairs_add(group, lower, mask, sign, low);
        inlay_pairs_put(to, group.one);
        inlay_pairs_put(to + 4, group.two);
        lower += low;
        to += INLAY_PAIR_GROUP;
    } while (--n);
    p->lower = lower;
    p->at = at < p->end ? at : p->end;
    return to;
}

/* As a loop of its own for each number of stored bits. */
static inline unsigned char *inlay_pairs_groups(inlay_pairs *p,
                                                unsigned char *to, size_t n)
{
    if (p->low == 3)
        return inlay_pairs_some(p, to, n, 3);
    if (p->low == 4)
        return inlay_pairs_some(p, to, n, 4);
    return inlay_pairs_some(p, to, n, 5);
}

/* Whole groups until `stop`: unchecked as long as there are bits enough, the last ones singly. */
static inline unsigned char *inlay_pairs_run(inlay_pairs *p, unsigned char *to,
                                             const unsigned char *stop)
{
    while (to != stop) {
        const size_t left = (size_t)(stop - to) / INLAY_PAIR_GROUP;
        const size_t safe = (p->end - p->at) / 32;
        const size_t n = safe < left ? safe : left;
        to = inlay_pairs_groups(p, to, n ? n : 1);
    }
    return to;
}

/* Bytes [from, from + n) of the next group. */
static inline unsigned char *inlay_pairs_part(inlay_pairs *p, unsigned char *to,
                                              size_t from, size_t n)
{
    unsigned char group[INLAY_PAIR_GROUP];
    (void)inlay_pairs_run(p, group, group + sizeof group);
    memcpy(to, group + from, n);
    return to + n;
}

/* n bytes from byte `first` on. */
static inline void inlay_pairs_decode(inlay_pairs *p, size_t first,
                                      unsigned char *to, size_t n)
{
    const size_t whole = (size_t)INLAY_PAIR_GROUP;
    const size_t from = first % whole;
    const size_t head = n < whole - from ? n : whole - from;
    p->lower += first / whole * p->low;
    if (from) {
        to = inlay_pairs_part(p, to, from, head);
        n -= head;
    }
    to = inlay_pairs_run(p, to, to + n / whole * whole);
    if (n % whole)
        (void)inlay_pairs_part(p, to, 0, n % whole);
}

#ifdef __cplusplus
}
#endif
#endif
