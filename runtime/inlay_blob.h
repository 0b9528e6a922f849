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

/* Are n bytes those of which the CRC-32 stands at `sum`? */
static inline int inlay_blob_sound(const inlay_blob_tables *tables,
                                   const unsigned char *p, size_t n,
                                   const unsigned char *sum)
{
    return inlay_blob_crc(tables, p, n) == inlay_crc_word(sum);
}

/* Is each of its bytes as it was made? `size` bytes of weights begin at byte `begin`. */
static inline int inlay_blob_whole(const unsigned char *blob, size_t begin,
                                   size_t size)
{
    const unsigned char *sum = blob + INLAY_BLOB_WORDS * sizeof(uint64_t);
    const size_t head = begin - INLAY_BLOB_CRC_SIZE;
    inlay_blob_tables tables;
    size_t at, n;
    inlay_blob_prepare(&tables);
    if (!inlay_blob_sound(&tables, blob, head, blob + head))
        return 0;
    for (at = 0; at < size; at += n, sum += INLAY_BLOB_CRC_SIZE) {
        n = size - at < INLAY_BLOB_BLOCK ? size - at : INLAY_BLOB_BLOCK;
        if (!inlay_blob_sound(&tables, blob + begin + at, n, sum))
            return 0;
    }
    return 1;
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
    const unsigned char *bytes = (const unsigned char *)blob;
    const size_t size = (size_t)seal[2] + INLAY_SEAL_SIZE;
    uint64_t head[INLAY_BLOB_WORDS];
    inlay_blob_head(head, seal, begin);
    if (length < begin || length - begin < size)
        return NULL;
    if (memcmp(bytes, head, sizeof head) != 0)
        return NULL;
    if (!inlay_sealed(bytes + begin, size, seal))
        return NULL;
    return inlay_blob_whole(bytes, begin, size) ? bytes + begin : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
