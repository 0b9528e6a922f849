/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: a blob of weights behind a function of the caller, checked some bytes at a time.
 */
#ifndef INLAY_SOURCE_H
#define INLAY_SOURCE_H

#include "inlay_blob.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef INLAY_SOURCE
#define INLAY_SOURCE
/* Where the bytes of a blob are. What it returns is 0, or anything else where that failed. */
typedef struct inlay_source {
    /* n bytes, from byte `offset` of the blob on, to `to` */
    int (*read)(void *context, size_t offset, size_t n, void *to);
    /* The same in two halves, or both NULL: start() may come back before the bytes are there, and
     * wait() comes back when they are. One at a time, and no read() between them. */
    int (*start)(void *context, size_t offset, size_t n, void *to);
    int (*wait)(void *context);
    void *context;
} inlay_source;
#endif

/* Bytes that are read at a time while a blob is checked. */
#ifndef INLAY_SOURCE_CHUNK
#define INLAY_SOURCE_CHUNK 256u
#endif

#if UINTPTR_MAX > 0xffffffffu && !defined INLAY_CRC_SMALL
static inline uint32_t inlay_source_crc(const inlay_blob_tables *tables,
                                        uint32_t crc, const unsigned char *p,
                                        size_t n)
{
    return inlay_crc_wide(tables, crc, p, n);
}
#else
static inline uint32_t inlay_source_crc(const inlay_blob_tables *tables,
                                        uint32_t crc, const unsigned char *p,
                                        size_t n)
{
    (void)tables;
    return inlay_crc_small(crc, p, n);
}
#endif

/* Are n bytes from `at` on those of which the CRC-32 stands at byte `sum`? 1, or 0: they are not,
 * or cannot be read. */
static inline int inlay_source_sound(const inlay_source *source,
                                     const inlay_blob_tables *tables, size_t at,
                                     size_t n, size_t sum)
{
    unsigned char bytes[INLAY_SOURCE_CHUNK];
    uint32_t crc = 0;
    size_t k;
    for (; n; n -= k, at += k) {
        k = n < sizeof bytes ? n : sizeof bytes;
        if (source->read(source->context, at, k, bytes))
            return 0;
        crc = inlay_source_crc(tables, crc, bytes, k);
    }
    if (source->read(source->context, sum, INLAY_BLOB_CRC_SIZE, bytes))
        return 0;
    return crc == inlay_crc_word(bytes);
}

/* Is each byte of the blob as it was made? `size` bytes of weights begin at byte `begin`. */
static inline int inlay_source_whole(const inlay_source *source, size_t begin,
                                     size_t size)
{
    const size_t head = begin - INLAY_BLOB_CRC_SIZE;
    size_t sum = INLAY_BLOB_WORDS * sizeof(uint64_t);
    inlay_blob_tables tables;
    size_t at, n;
    inlay_blob_prepare(&tables);
    if (!inlay_source_sound(source, &tables, 0, head, head))
        return 0;
    for (at = 0; at < size; at += n, sum += INLAY_BLOB_CRC_SIZE) {
        n = size - at < INLAY_BLOB_BLOCK ? size - at : INLAY_BLOB_BLOCK;
        if (!inlay_source_sound(source, &tables, begin + at, n, sum))
            return 0;
    }
    return 1;
}

/* Do n words stand at byte `at`? */
static inline int inlay_source_has(const inlay_source *source, size_t at,
                                   const uint64_t *word, size_t n)
{
    uint64_t there[INLAY_BLOB_WORDS];
    if (source->read(source->context, at, n * sizeof *word, there))
        return 0;
    return !memcmp(there, word, n * sizeof *word);
}

/* Do its weights, which begin at byte `begin`, end with that seal? */
static inline int inlay_source_sealed(const inlay_source *source, size_t begin,
                                      const uint64_t *seal)
{
    return inlay_source_has(source, begin + (size_t)seal[2], seal, 3);
}

/* Is it a blob whose weights begin at that byte and end with that seal, whole and undamaged? */
static inline int inlay_source_check(const inlay_source *source, size_t begin,
                                     const uint64_t *seal)
{
    uint64_t head[INLAY_BLOB_WORDS];
    inlay_blob_head(head, seal, begin);
    return inlay_source_has(source, 0, head, INLAY_BLOB_WORDS) &&
           inlay_source_sealed(source, begin, seal) &&
           inlay_source_whole(source, begin, (size_t)seal[2] + INLAY_SEAL_SIZE);
}

#ifdef __cplusplus
}
#endif
#endif
