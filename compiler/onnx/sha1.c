/* SPDX-License-Identifier: Apache-2.0
 * FIPS 180-4, section 6.1. */
#include "onnx/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

/* The function and the constant of round i. */
static uint32_t mix(int i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5A827999u;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ED9EBA1u;
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCu;
    return (b ^ c ^ d) + 0xCA62C1D6u;
}

static void add_block(Sha1 *s)
{
    uint32_t w[80], v[5];
    for (int i = 0; i < 16; i++) {
        const uint8_t *p = s->block + 4 * i;
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, s->state, sizeof v);
    for (int i = 0; i < 80; i++) {
        const uint32_t t = rotate(v[0], 5) + mix(i, v[1], v[2], v[3]) + v[4] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = t;
    }
    for (int i = 0; i < 5; i++)
        s->state[i] += v[i];
}

void sha1_begin(Sha1 *s)
{
    *s = (Sha1){ .state = { 0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u } };
}

void sha1_add(Sha1 *s, const uint8_t *p, size_t n)
{
    while (n) {
        const size_t used = (size_t)(s->length % 64), k = n < 64 - used ? n : 64 - used;
        memcpy(s->block + used, p, k);
        s->length += k;
        p += k;
        n -= k;
        if (s->length % 64 == 0)
            add_block(s);
    }
}

void sha1_end(Sha1 *s, char hex[41])
{
    static const char digit[] = "0123456789abcdef";
    const uint64_t bits = s->length * 8;
    uint8_t tail[72] = { 0x80 };
    const size_t padding =
        (size_t)((119 - s->length % 64) % 64) + 1; /* up to 8 bytes before the end of a block */
    for (int i = 0; i < 8; i++)
        tail[padding + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha1_add(s, tail, padding + 8);
    for (int i = 0; i < 40; i++)
        hex[i] = digit[s->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[40] = 0;
}
