/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <string.h>

#if defined __x86_64__ || defined __i386__
#include <immintrin.h>
#elif defined __ARM_FEATURE_SHA2
#include <arm_neon.h>
#endif

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void expand_block(uint32_t w[64], const uint8_t *data)
{
    for (int i = 0; i < 16; i++)
        w[i] = big_endian(data + 4 * i);
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void blocks_plain(uint32_t state[8], const uint8_t *data, size_t blocks)
{
    for (; blocks--; data += 64) {
        uint32_t w[64], s[8];
        expand_block(w, data);
        memcpy(s, state, sizeof s);
        for (int i = 0; i < 64; i++) {
            const uint32_t e = s[4], a = s[0];
            const uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                                ((e & s[5]) ^ (~e & s[6])) + round_constant[i] + w[i];
            const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                                ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            memmove(s + 1, s, 7 * sizeof *s);
            s[4] += t1;
            s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++)
            state[i] += s[i];
    }
}

#if defined __x86_64__ || defined __i386__

/* The instructions want the state as {a, b, e, f} and {c, d, g, h}, highest first; four rounds a
 * step. */
__attribute__((target("sha,ssse3,sse4.1"))) static void
blocks_x86(uint32_t state[8], const uint8_t *data, size_t blocks)
{
    const __m128i bytes = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (; blocks--; data += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)),
                                    bytes);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            const __m128i sum = _mm_add_epi32(
                w[i % 4], _mm_loadu_si128((const __m128i *)(const void *)(round_constant + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            if (i >= 12)
                continue;
            const __m128i seven_back = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
            const __m128i next =
                _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), seven_back);
            w[i % 4] = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    uint32_t x[4], y[4];
    _mm_storeu_si128((__m128i *)(void *)x, abef);
    _mm_storeu_si128((__m128i *)(void *)y, cdgh);
    for (int i = 0; i < 2; i++) {
        state[i] = x[3 - i];
        state[i + 2] = y[3 - i];
        state[i + 4] = x[1 - i];
        state[i + 6] = y[1 - i];
    }
}

static Sha256Blocks *hardware(void)
{
    __builtin_cpu_init();
    unsigned a, b, c, d;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(0), "2"(0));
    if (a < 7 || !__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("ssse3"))
        return NULL;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(7), "2"(0));
    return b >> 29 & 1 ? blocks_x86 : NULL;
}
#define HARDWARE_NAME "x86"

#elif defined __ARM_FEATURE_SHA2

static void blocks_arm(uint32_t state[8], const uint8_t *data, size_t blocks)
{
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; blocks--; data += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 4; i++)
            w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
        for (int i = 0; i < 16; i++) {
            const uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(round_constant + 4 * i)),
                             old = abcd;
            abcd = vsha256hq_u32(abcd, efgh, sum);
            efgh = vsha256h2q_u32(efgh, old, sum);
            if (i < 12)
                w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]),
                                           w[(i + 2) % 4], w[(i + 3) % 4]);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

static Sha256Blocks *hardware(void)
{
    return blocks_arm;
}
#define HARDWARE_NAME "arm"

#else

static Sha256Blocks *hardware(void)
{
    return NULL;
}
#define HARDWARE_NAME "none"

#endif

Sha256Blocks *sha256_form(const char *name)
{
    if (!strcmp(name, "plain"))
        return blocks_plain;
    return strcmp(name, HARDWARE_NAME) ? NULL : hardware();
}

/* Found once: asking the processor leaves a virtual machine, which takes longer than hashing
 * kilobytes. */
static Sha256Blocks *best_form(void)
{
    static Sha256Blocks *_Atomic best;
    Sha256Blocks *form = best;
    if (form)
        return form;
    form = hardware();
    return best = form ? form : blocks_plain;
}

static void run_blocks(Sha256 *h, const uint8_t *data, size_t blocks)
{
    best_form()(h->state, data, blocks);
}

void sha256_begin(Sha256 *h)
{
    *h = (Sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(Sha256 *h, const void *data, size_t n)
{
    const uint8_t *p = data;
    const size_t held = h->length % 64;
    if (!n)
        return;
    h->length += n;
    if (held) {
        const size_t k = n < 64 - held ? n : 64 - held;
        memcpy(h->block + held, p, k);
        p += k;
        n -= k;
        if (held + k < 64)
            return;
        run_blocks(h, h->block, 1);
    }
    if (n >= 64)
        run_blocks(h, p, n / 64);
    memcpy(h->block, p + n / 64 * 64, n % 64);
}

void sha256_end(Sha256 *h, char hex[65])
{
    uint8_t tail[72] = { 0x80 };
    const uint64_t bits = h->length * 8;
    const size_t pad = (55 - h->length % 64 + 64) % 64 + 1;
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(h, tail, pad + 8);
    for (int i = 0; i < 64; i++)
        hex[i] = "0123456789abcdef"[h->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = 0;
}

void sha256_add_file(Sha256 *h, File *f, uint64_t at, uint64_t n)
{
    uint8_t buffer[64 * 1024];
    while (n) {
        const size_t k = n < sizeof buffer ? (size_t)n : sizeof buffer;
        file_read(f, at, buffer, k);
        sha256_add(h, buffer, k);
        at += k;
        n -= k;
    }
}
