/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: is a blob of weights the one that the code was made for, and is it whole?
 *
 * The last 32 bytes of a blob are its seal, four little-endian words: magic and form, a hash of the
 * layout (what the code takes for granted of the bytes before), their number, and in the upper half
 * of the last one the CRC-32 of all before it. Words 0 to 2 are constants of the code too. */
#ifndef INLAY_WEIGHTS_H
#define INLAY_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "inlay_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INLAY_SEAL_SIZE 32u
#define INLAY_SEAL_MAGIC \
    UINT64_C(0x01005759414c4e49) /* "INLAYW", then 0 and its form, 1 */
#define INLAY_SEAL_CRC_SIZE 4u

/* Is it a blob of that layout and size? Nothing is said of the values. */
static inline int inlay_sealed(const void *weights, size_t size,
                               const uint64_t *seal)
{
    uint64_t end[3];
    memcpy(end, (const unsigned char *)weights + size - INLAY_SEAL_SIZE,
           sizeof end);
    return end[0] == seal[0] && end[1] == seal[1] && end[2] == seal[2];
}

/* CRC-32 of IEEE 802.3, as zlib and the units of microcontrollers have it, continued from `crc`;
 * begin with 0. Half a byte at a time: 64 bytes of table. */
static inline uint32_t inlay_crc_small(uint32_t crc, const unsigned char *p,
                                       size_t n)
{
    static const uint32_t table[16] = { 0x00000000u, 0x1db71064u, 0x3b6e20c8u,
                                        0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                        0x4db26158u, 0x5005713cu, 0xedb88320u,
                                        0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u,
                                        0xbdbdf21cu };
    size_t i;
    crc = ~crc;
    for (i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/* The same eight bytes at a time, with tables that are made first: for hosts and their gigabytes.
 */
typedef struct inlay_crc_tables {
    uint32_t of[8][256];
} inlay_crc_tables;

static inline void inlay_crc_prepare(inlay_crc_tables *t)
{
    unsigned i, k;
    for (i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        t->of[0][i] = crc;
    }
    for (i = 0; i < 256; i++)
        for (k = 1; k < 8; k++)
            t->of[k][i] =
                t->of[k - 1][i] >> 8 ^ t->of[0][t->of[k - 1][i] & 255];
}

/* Four bytes, the first one lowest. */
static inline uint32_t inlay_crc_word(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint32_t inlay_crc_wide(const inlay_crc_tables *t, uint32_t crc,
                                      const unsigned char *p, size_t n)
{
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        const uint32_t low = inlay_crc_word(p) ^ crc;
        const uint32_t high = inlay_crc_word(p + 4);
        crc = t->of[7][low & 255] ^ t->of[6][low >> 8 & 255] ^
              t->of[5][low >> 16 & 255] ^ t->of[4][low >> 24] ^
              t->of[3][high & 255] ^ t->of[2][high >> 8 & 255] ^
              t->of[1][high >> 16 & 255] ^ t->of[0][high >> 24];
    }
    for (; n; n--, p++)
        crc = crc >> 8 ^ t->of[0][(crc ^ *p) & 255];
    return ~crc;
}

static inline uint32_t inlay_crc(const unsigned char *p, size_t n)
{
#if UINTPTR_MAX > 0xffffffffu && !defined INLAY_CRC_SMALL
    inlay_crc_tables tables;
    inlay_crc_prepare(&tables);
    return inlay_crc_wide(&tables, 0, p, n);
#else
    return inlay_crc_small(0, p, n);
#endif
}

/* Does the blob, of `size` bytes and of this layout, hold what was put into it? */
static inline int inlay_weights_whole(const void *weights, size_t size)
{
    const size_t n = size - INLAY_SEAL_CRC_SIZE;
    uint32_t crc;
    memcpy(&crc, (const unsigned char *)weights + n, sizeof crc);
    return inlay_crc((const unsigned char *)weights, n) == crc;
}

#ifdef __cplusplus
}
#endif
#endif
