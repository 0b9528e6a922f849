/* SPDX-License-Identifier: 0BSD
 * Template of widen.h for vectors of INLAY_L numbers. */

typedef uint8_t INLAY_W(byte) __attribute__((vector_size(INLAY_L)));
typedef int8_t INLAY_W(small) __attribute__((vector_size(INLAY_L)));

INLAY_INLINE INLAY_W(word) INLAY_W(splat_word)(uint32_t v)
{
    const INLAY_W(word) none = { 0 };
    return none + v;
}

/* The bits of floats of which v are the bits in a small type of m bits of mantissa; special values
 * are the caller's. */
INLAY_INLINE INLAY_W(word)
    INLAY_W(magnitude)(INLAY_W(word) v, const int m, const int bias)
{
    const uint32_t least = (uint32_t)(128 - bias) << 23;
    const INLAY_W(word) at = v << (23 - m);
    const INLAY_W(word) normal = at + ((uint32_t)(127 - bias) << 23);
    const INLAY_FLOATS smallest = (INLAY_FLOATS)INLAY_W(splat_word)(least);
    const INLAY_FLOATS below = (INLAY_FLOATS)(at | least) - smallest;
    const INLAY_W(i) is_below = v < (1u << m);
    return (INLAY_W(word))INLAY_W(select)(is_below, below,
                                          (INLAY_FLOATS)normal);
}

/* `special` where the mask has bits, else v. */
INLAY_INLINE INLAY_W(word)
    INLAY_W(unless)(INLAY_W(i) mask, INLAY_W(word) v, INLAY_W(word) special)
{
    return (INLAY_W(word))INLAY_W(select)(mask, (INLAY_FLOATS)special,
                                          (INLAY_FLOATS)v);
}

/* float16 by shifts, as any machine has them. */
INLAY_INLINE INLAY_FLOATS INLAY_W(shifted_f16)(const unsigned char *from)
{
    INLAY_W(half) half;
    INLAY_W(word) v, u, special;
    memcpy(&half, from, sizeof half);
    v = __builtin_convertvector(half, INLAY_W(word));
    u = v & 0x7fffu;
    special = (u & 0x3ffu) << 13 | 0x7f800000u;
    u = INLAY_W(unless)(u >= 0x7c00u, INLAY_W(magnitude)(u, 10, 15), special);
    return (INLAY_FLOATS)(u | (v & 0x8000u) << 16);
}

/* By the machine's own instruction, where it has one. */
#if INLAY_L == 16 && defined __AVX512F__
INLAY_INLINE INLAY_FLOATS INLAY_W(from_f16)(const unsigned char *from)
{
    const INLAY_FLOATS none = { 0.0f };
    INLAY_W(short) half;
    memcpy(&half, from, sizeof half);
#if defined __clang__
    return __builtin_ia32_vcvtph2ps512_mask(half, none, 0xffffu, 4);
#else
    return __builtin_ia32_vcvtph2ps512_mask(half, none, -1, 4);
#endif
}
#elif INLAY_L == 8 && defined __F16C__
INLAY_INLINE INLAY_FLOATS INLAY_W(from_f16)(const unsigned char *from)
{
    INLAY_W(short) half;
    memcpy(&half, from, sizeof half);
    return __builtin_ia32_vcvtph2ps256(half);
}
#elif defined __aarch64__ && defined __ARM_FP16_FORMAT_IEEE
INLAY_INLINE INLAY_FLOATS INLAY_W(from_f16)(const unsigned char *from)
{
    __fp16 half __attribute__((vector_size(INLAY_L * 2)));
    memcpy(&half, from, sizeof half);
    return __builtin_convertvector(half, INLAY_FLOATS);
}
#else
INLAY_INLINE INLAY_FLOATS INLAY_W(from_f16)(const unsigned char *from)
{
    return INLAY_W(shifted_f16)(from);
}
#endif

/* INLAY_L bytes as integers. gcc 12 widens to four times the size by one instruction only where it
 * is named, and to twice the size everywhere. */
#if INLAY_L == 16 && defined __AVX512F__ && !defined __clang__
INLAY_INLINE INLAY_W(i)
    INLAY_W(integers)(const unsigned char *from, const int is_signed)
{
    const INLAY_W(i) none = { 0 };
    inlay_chars byte;
    memcpy(&byte, from, sizeof byte);
    if (is_signed)
        return __builtin_ia32_pmovsxbd512_mask(byte, none, 0xffffu);
    return __builtin_ia32_pmovzxbd512_mask(byte, none, 0xffffu);
}
#elif INLAY_L == 8 && defined __AVX2__ && !defined __clang__
INLAY_INLINE INLAY_W(i)
    INLAY_W(integers)(const unsigned char *from, const int is_signed)
{
    inlay_words word = { 0, 0 };
    uint64_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    word[0] = bytes;
    if (is_signed)
        return __builtin_ia32_pmovsxbd256((inlay_chars)word);
    return __builtin_ia32_pmovzxbd256((inlay_chars)word);
}
#else
INLAY_INLINE INLAY_W(i)
    INLAY_W(integers)(const unsigned char *from, const int is_signed)
{
    INLAY_W(byte) byte;
    INLAY_W(half) half;
    memcpy(&byte, from, sizeof byte);
    half = __builtin_convertvector(byte, INLAY_W(half));
    if (is_signed) {
        const INLAY_W(short) wide = (INLAY_W(short))(half << 8) >> 8;
        return __builtin_convertvector(wide, INLAY_W(i));
    }
    return __builtin_convertvector(half, INLAY_W(i));
}
#endif

/* bfloat16: the upper halves of floats. */
INLAY_INLINE INLAY_FLOATS INLAY_W(from_bf16)(const unsigned char *from)
{
#if INLAY_L == 16 && defined __AVX512F__ && !defined __clang__
    const INLAY_W(i) none = { 0 };
    INLAY_W(short) half;
    memcpy(&half, from, sizeof half);
    return (INLAY_FLOATS)(__builtin_ia32_pmovzxwd512_mask(half, none, 0xffffu)
                          << 16);
#elif INLAY_L == 8 && defined __AVX2__ && !defined __clang__
    INLAY_W(short) half;
    memcpy(&half, from, sizeof half);
    return (INLAY_FLOATS)(__builtin_ia32_pmovzxwd256(half) << 16);
#else
    INLAY_W(half) half;
    memcpy(&half, from, sizeof half);
    return (INLAY_FLOATS)(__builtin_convertvector(half, INLAY_W(word)) << 16);
#endif
}

/* float8 without its sign: u. Those that have no code for it make a NaN of 0x80. */
INLAY_INLINE INLAY_W(word) INLAY_W(unsigned_f8)(INLAY_W(word) u, const int kind)
{
    const INLAY_W(word) none = INLAY_W(splat_word)(0x7fc00000u);
    INLAY_W(word) n;
    if (kind == INLAY_NARROW_F8E4M3FNUZ)
        return INLAY_W(magnitude)(u, 3, 8);
    if (kind == INLAY_NARROW_F8E5M2FNUZ)
        return INLAY_W(magnitude)(u, 2, 16);
    if (kind == INLAY_NARROW_F8E4M3FN) {
        n = INLAY_W(magnitude)(u, 3, 7);
        return INLAY_W(unless)(u == 0x7fu, n, none);
    }
    n = INLAY_W(magnitude)(u, 2, 15);
    n = INLAY_W(unless)(u == 0x7cu, n, INLAY_W(splat_word)(0x7f800000u));
    return INLAY_W(unless)(u > 0x7cu, n, none);
}

INLAY_INLINE INLAY_FLOATS INLAY_W(from_f8)(const unsigned char *from,
                                           const int kind)
{
    const INLAY_W(word) none = INLAY_W(splat_word)(0x7fc00000u);
    const INLAY_W(word) v = (INLAY_W(word))INLAY_W(integers)(from, 0);
    INLAY_W(word) n;
    n = INLAY_W(unsigned_f8)(v & 0x7fu, kind) | (v & 0x80u) << 24;
    if (kind == INLAY_NARROW_F8E4M3FNUZ || kind == INLAY_NARROW_F8E5M2FNUZ)
        n = INLAY_W(unless)(v == 0x80u, n, none);
    return (INLAY_FLOATS)n;
}

INLAY_INLINE INLAY_FLOATS INLAY_W(from_bytes)(const unsigned char *from,
                                              const int kind)
{
    const int is_signed = kind == INLAY_NARROW_SIGNED;
    return __builtin_convertvector(INLAY_W(integers)(from, is_signed),
                                   INLAY_FLOATS);
}

#if INLAY_L == 4

/* Numbers of 4 or 2 bits: left where they are in a word, and scaled; not every machine shifts each
 * lane by itself. */
INLAY_INLINE inlay_f4 inlay_from_bits4(const unsigned char *from,
                                       const int bits, const int kind)
{
    const uint32_t sign = 1u << (bits - 1);
    const float part = 1.0f / (float)(1 << bits);
    const inlay_word4 one = { 1u, 1u << bits, 1u << 2 * bits, 1u << 3 * bits };
    const inlay_f4 scale = { 1.0f, part, part * part, part * part * part };
    uint32_t word = 0;
    inlay_word4 v;
    memcpy(&word, from, (size_t)(bits / 2));
    v = inlay_splat_word4(word) & one * ((1u << bits) - 1);
    if (kind == INLAY_NARROW_SIGNED)
        v = (v ^ one * sign) - one * sign;
    return __builtin_convertvector((inlay_i4)v, inlay_f4) * scale;
}

#else

/* The bits of INLAY_L numbers of 4 or 2 bits, in each lane those of a word. */
INLAY_INLINE INLAY_W(word)
    INLAY_W(bits)(const unsigned char *from, const int bits)
{
    uint32_t word = 0;
    memcpy(&word, from, INLAY_L * bits < 32 ? 2 : 4);
#if INLAY_L == 16
    if (bits == 4) {
        const uint32_t all = ~(uint32_t)0;
        const inlay_word16 high = { 0,   0,   0,   0,   0,   0,   0,   0,
                                    all, all, all, all, all, all, all, all };
        uint32_t next;
        memcpy(&next, from + 4, sizeof next);
        return (inlay_splat_word16(word) & ~high) |
               (inlay_splat_word16(next) & high);
    }
#endif
    return INLAY_W(splat_word)(word);
}

/* The numbers, each shifted to its place; those with a sign by way of the top. */
INLAY_INLINE INLAY_FLOATS INLAY_W(from_bits)(const unsigned char *from,
                                             const int bits, const int kind)
{
    const INLAY_W(word) word = INLAY_W(bits)(from, bits);
    INLAY_W(word) at;
    INLAY_W(i) v;
    memcpy(&at, bits == 4 ? inlay_fours_at : inlay_twos_at, sizeof at);
    if (kind == INLAY_NARROW_SIGNED)
        v = (INLAY_W(i))(word << (32 - bits - at)) >> (32 - bits);
    else
        v = (INLAY_W(i))(word >> at & ((1u << bits) - 1));
    return __builtin_convertvector(v, INLAY_FLOATS);
}

#endif

/* INLAY_L numbers, the first of which begins a byte. */
INLAY_INLINE INLAY_FLOATS INLAY_W(widened)(const unsigned char *from,
                                           const int bits, const int kind)
{
    if (kind == INLAY_NARROW_F16)
        return INLAY_W(from_f16)(from);
    if (kind == INLAY_NARROW_BF16)
        return INLAY_W(from_bf16)(from);
    if (kind > INLAY_NARROW_BF16)
        return INLAY_W(from_f8)(from, kind);
    if (bits == 8)
        return INLAY_W(from_bytes)(from, kind);
    return INLAY_W(from_bits)(from, bits, kind);
}
