/* SPDX-License-Identifier: Apache-2.0
 * Codes of bytes two at a time, as the runtime decodes them (runtime/inlay_pairs.h): some bits of
 * each byte are stored, and pairs of what is left, the cells, have one code word; rare ones are
 * escapes. Made of how often each pair comes, for the fewest bits with few escapes. */
#ifndef INLAY_IR_PAIR_CODE_H
#define INLAY_IR_PAIR_CODE_H

#include <stdbool.h>

#include "inlay_pairs.h"
#include "ir/prefix_code.h"

enum {
    PAIR_GROUP = INLAY_PAIR_GROUP,
    PAIR_WAYS = 6, /* 3 to 5 bits that are stored, the sign among them or not */
    PAIR_LISTED = 256, /* pairs of cells of 4 bits */
    PAIR_ITEMS = 8     /* of a group at most: words, and cells of escapes */
};

/* How often pairs of cells come, of one way to take bytes apart. */
typedef struct PairCount {
    uint64_t of[PAIR_LISTED]; /* first cell + 16 * second cell */
    uint64_t wide;            /* those with a larger cell */
} PairCount;

typedef struct PairCode {
    int low;    /* bits of a byte that are stored */
    bool apart; /* the sign is one of them */
    int listed; /* words */
    uint8_t book[INLAY_PAIR_BITS + INLAY_PAIR_ENTRIES];
    CodeWord word[PAIR_LISTED]; /* of pairs; bits 0: it is an escape */
    CodeWord escape[INLAY_PAIR_CELL + 1]; /* whose cells have so many bits */
    uint64_t bits;                        /* of all words and cells */
    uint64_t escapes;
} PairCode;

/* Counts the four pairs of a group. */
void pair_count(PairCount count[PAIR_WAYS], const uint8_t value[PAIR_GROUP]);
/* At least one group was counted; an escape is as bad as so many bits. */
void pair_code_make(PairCode *code, const PairCount count[PAIR_WAYS], int dear);
/* Bytes of the book. */
uint64_t pair_code_book(const PairCode *code);
/* The bits of a group that are stored: code->low bytes. */
void pair_code_lower(const PairCode *code, const uint8_t value[PAIR_GROUP],
                     uint8_t *lower);
/* The rest of it, the lowest bit of each item first; returns how many items. */
int pair_code_words(const PairCode *code, const uint8_t value[PAIR_GROUP],
                    CodeWord item[PAIR_ITEMS]);

#endif
