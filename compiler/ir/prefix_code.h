/* SPDX-License-Identifier: Apache-2.0
 * Codes of bytes, as the runtime decodes them (runtime/inlay_coded.h): bytes fall into classes of
 * neighbours, a class has a prefix of at most 7 bits, and a number of at most 5 says which of its
 * bytes it is. Made of how often each byte comes, for the fewest bits, the code itself included. */
#ifndef INLAY_IR_PREFIX_CODE_H
#define INLAY_IR_PREFIX_CODE_H

#include <stddef.h>
#include <stdint.h>

enum {
    CODE_CLASSES = 64, /* code words of any code */
    CODE_BYTES = 256,
    PREFIX_BIT = 1 << 16 /* a bit, in costs */
};

typedef struct CodeClass {
    uint8_t first;  /* byte; the others follow, 0 after 255 */
    uint8_t prefix; /* bits of its prefix, at least 1 */
    uint8_t number; /* bits of the number: it has 1 << number bytes */
} CodeClass;

/* The code word of a byte; bits 0: the byte does not come. */
typedef struct CodeWord {
    uint16_t word;
    uint8_t bits;
} CodeWord;

typedef struct PrefixCode {
    int classes;
    CodeClass of[CODE_CLASSES]; /* the shortest prefixes first */
    CodeWord word[CODE_BYTES];
} PrefixCode;

/* At least one count is not 0. */
void prefix_code_make(PrefixCode *code, const uint64_t count[CODE_BYTES]);
/* The code as the runtime reads it: 2 * classes bytes. */
void prefix_code_book(const PrefixCode *code, uint8_t *book);
/* Bits of all code words. */
uint64_t prefix_code_bits(const PrefixCode *code,
                          const uint64_t count[CODE_BYTES]);
/* Bits below which no code of single bytes can go: the entropy of order 0, rounded down. */
uint64_t prefix_code_bound(const uint64_t count[CODE_BYTES]);
/* What words that come `count` times of `all` cost about, of at most so many bits: by their share,
 * and where that is smaller than the longest word's, what the other words lose. */
uint64_t prefix_cost(uint64_t all, uint64_t count, int most);
/* The best lengths of n words, each of at most so many bits. */
void prefix_lengths(const uint64_t *count, int n, int most, uint8_t *bits);

#endif
