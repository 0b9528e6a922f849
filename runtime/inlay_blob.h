/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: weights as a blob of their own, which may change without the code.
 *
 * Its head is four little-endian words: magic and form, a hash of the layout (all that the code
 * takes for granted), bytes of the weights, and in the last one the bytes of a block and, in the
 * upper half, where the weights begin. Behind it stand the CRC-32 of each block of the weights,
 * zeros, and the CRC-32 of all before it; then the weights and their seal (inlay_weights.h). All
 * four words are constants of the code: nothing of a blob decides what is read of it. */
#ifndef INLAY_BLOB_H
#define INLAY_BLOB_H

#include "inlay_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INLAY_BLOB_MAGIC \
    UINT64_C(0x0100424f4c424e49) /* "INBLOB", then 0 and its form, 1 */
#define INLAY_BLOB_WORDS 4
#define INLAY_BLOB_CRC_SIZE 4u
#define INLAY_BLOB_BLOCK 4096u
#define INLAY_BLOB_ALIGN 64u

/* What sums are made with: tables on hosts, next to nothing elsewhere. */
#if UINTPTR_MAX > 0xffffffffu && !defined INLAY_CRC_SMALL
typedef inlay_crc_tables inlay_blob_tables;

static inline void inlay_blob_prepare(inlay_blob_tables *tables)
{
    inlay_crc_prepare(tables);
}

static inline uint32_t inlay_blob_crc(const inlay_blob_tables *tables,
                                      const unsigned char *p, size_t n)
{
    return inlay_crc_wide(tables, 0, p, n);
}
#else
typedef unsigned char inlay_blob_tables;

static inline void inlay_blob_prepare(inlay_blob_tables *tables)
{
    *tables = 0;
}

static inline uint32_t inlay_blob_crc(const inlay_blob_tables *tables,
                                      const unsigned char *p, size_t n)
{
    (void)tables;
    return inlay_crc_small(0, p, n);
}
#endif

/* What comparisons found, noted twice: no single instruction that a core skips makes a bad blob a
 * good one. */
typedef struct inlay_blob_doubt {
    volatile uint32_t bits;  /* that differ */
    volatile uint32_t times; /* that words differed */
    volatile uint32_t done;  /* words compared */
} inlay_blob_doubt;

static inline void inlay_blob_compare(inlay_blob_doubt *doubt, uint32_t is,
                                      uint32_t made)
{
    doubt->bits |= is ^ made;
    doubt->done++;
    doubt->times += is != made;
}

/* The same of n bytes and their CRC-32, which stands at `sum`. */
static inline void inlay_blob_sum(inlay_blob_doubt *doubt,
                                  const inlay_blob_tables *tables,
                                  const unsigned char *p, size_t n,
                                  const unsigned char *sum)
{
    inlay_blob_compare(doubt, inlay_blob_crc(tables, p, n),
                       inlay_crc_word(sum));
}

/* Of n words of 64 bits as the core has them. */
static inline void inlay_blob_words(inlay_blob_doubt *doubt,
                                    const unsigned char *p,
                                    const uint64_t *made, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++, p += sizeof made[i]) {
        uint64_t is;
        memcpy(&is, p, sizeof is);
        inlay_blob_compare(doubt, (uint32_t)is, (uint32_t)made[i]);
        inlay_blob_compare(doubt, (uint32_t)(is >> 32),
                           (uint32_t)(made[i] >> 32));
    }
}

/* Of all bytes with their sums; returns how many sums there are. `size` bytes of weights begin at
 * byte `begin`. */
static inline uint32_t inlay_blob_sums(inlay_blob_doubt *doubt,
                                       const unsigned char *blob, size_t begin,
                                       size_t size)
{
    const unsigned char *sum = blob + INLAY_BLOB_WORDS * sizeof(uint64_t);
    const size_t head = begin - INLAY_BLOB_CRC_SIZE;
    inlay_blob_tables tables;
    size_t at, n;
    inlay_blob_prepare(&tables);
    inlay_blob_sum(doubt, &tables, blob, head, blob + head);
    for (at = 0; at < size; at += n, sum += INLAY_BLOB_CRC_SIZE) {
        n = size - at < INLAY_BLOB_BLOCK ? size - at : INLAY_BLOB_BLOCK;
        inlay_blob_sum(doubt, &tables, blob + begin + at, n, sum);
    }
    return 1 + (uint32_t)((size + INLAY_BLOB_BLOCK - 1) / INLAY_BLOB_BLOCK);
}

/* How a blob begins whose weights begin at byte `begin` and end with that seal. */
static inline void inlay_blob_head(uint64_t *head, const uint64_t *seal,
                                   uint64_t begin)
{
    head[0] = INLAY_BLOB_MAGIC;
    head[1] = seal[1];
    head[2] = seal[2] + INLAY_SEAL_SIZE;
    head[3] = begin << 32 | INLAY_BLOB_BLOCK;
}

/* The weights of a blob of `length` bytes, or more, that is whole and begins and ends so; NULL: it
 * is another, cut off or damaged. */
static inline const void *inlay_blob_open(const void *blob, size_t length,
                                          size_t begin, const uint64_t *seal)
{
    enum { SEAL_WORDS = 3 };
    const unsigned char *bytes = (const unsigned char *)blob;
    const size_t size = (size_t)seal[2] + INLAY_SEAL_SIZE;
    const unsigned char *end = bytes + begin + seal[2];
    inlay_blob_doubt doubt = { 0, 0, 0 };
    uint64_t head[INLAY_BLOB_WORDS];
    uint32_t sums;
    inlay_blob_head(head, seal, begin);
    if (length < begin || length - begin < size)
        return NULL;
    inlay_blob_words(&doubt, bytes, head, INLAY_BLOB_WORDS);
    if (doubt.bits)
        return NULL;
    inlay_blob_words(&doubt, end, seal, SEAL_WORDS);
    sums = inlay_blob_sums(&doubt, bytes, begin, size);
    if (doubt.bits)
        return NULL;
    if (doubt.done != 2 * (INLAY_BLOB_WORDS + SEAL_WORDS) + sums)
        return NULL;
    return doubt.times ? NULL : bytes + begin;
}

#ifdef __cplusplus
}
#endif
#endif
