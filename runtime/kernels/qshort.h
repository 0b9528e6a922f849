/* SPDX-License-Identifier: 0BSD
 * Numbers of 16 bits that stand for others: what sums become such numbers by, in integers alone.
 *
 *   number(sum) = clamp(round(sum * scale) + zero, lo, hi)       ties to even
 *
 * Codes of int16 are their numbers; those of uint16 are found by a flip of their highest bit, 32768
 * below what they are. A scale is a factor of 31 bits and places that the product moves down:
 * factor / 2^(32 + down). So it is that of the file but for 2^-31 of it, which is less than 2^-14
 * of a step of any number: a result is another than that of exact arithmetic only where that lies
 * so near to the middle between two numbers. The same bits on every machine. */
#ifndef INLAY_QSHORT_H
#define INLAY_QSHORT_H

#include "kernels/qvec.h"

/* Places of a scale, in one word: `down`, and how many a sum of 64 bits is moved before it is
 * multiplied, right or left. */
#define INLAY_QSHORT_DOWN(word) ((word)&31u)
#define INLAY_QSHORT_RIGHT(word) ((word) >> 8 & 63u)
#define INLAY_QSHORT_LEFT(word) ((word) >> 16 & 31u)

/* What sums become numbers by. */
typedef struct inlay_qshort_result {
    const int32_t *factor; /* of channel 0 */
    const int32_t *places;
    int32_t each; /* 1: every channel has a scale, 0: all have the first */
    int32_t zero, lo, hi;
    int32_t flip; /* 0x8000: codes without a sign */
    int32_t far;  /* 1: scales move sums of 32 bits, too */
} inlay_qshort_result;

/* The scale of a channel. */
typedef struct inlay_qshort_scale {
    int32_t factor;
    uint32_t places;
} inlay_qshort_scale;

INLAY_INLINE inlay_qshort_scale
inlay_qshort_scale_of(const inlay_qshort_result *result, int32_t channel)
{
    const int32_t at = result->each ? channel : 0;
    inlay_qshort_scale scale;
    scale.factor = result->factor[at];
    scale.places = (uint32_t)result->places[at];
    return scale;
}

/* What is seldom so: its code stands aside. */
#if defined __GNUC__
#define INLAY_QSHORT_RARE(what) __builtin_expect(what, 0)
#else
#define INLAY_QSHORT_RARE(what) (what)
#endif

/* product / 2^(32 + down), ties to even. */
INLAY_INLINE int32_t inlay_qshort_down(int64_t product, uint32_t down)
{
    const uint32_t half = (UINT32_C(1) << down) >> 1;
    uint32_t high = (uint32_t)(int32_t)(product >> 32);
    if (INLAY_QSHORT_RARE((uint32_t)product == 0))
        high -= ~(uint32_t)((int32_t)high >> down) & 1u; /* it is even */
    return (int32_t)(high + half) >> down;
}

/* sum * scale, ties to even. */
INLAY_INLINE int32_t inlay_qshort_round(int32_t sum,
                                        const inlay_qshort_scale *scale)
{
    return inlay_qshort_down((int64_t)sum * scale->factor,
                             INLAY_QSHORT_DOWN(scale->places));
}

/* Sums of 64 bits wrap: weights and biases may be any. */
INLAY_INLINE int64_t inlay_qshort_add(int64_t sum, int32_t product)
{
    return (int64_t)((uint64_t)sum + (uint64_t)(int64_t)product);
}

/* A sum of 64 bits as one of 32, of which no more is lost than the result can do without. Bits that
 * leave it stay as its lowest one: what lies beside the middle does so still. */
static inline int32_t inlay_qshort_narrow(int64_t sum, uint32_t places)
{
    const uint32_t right = INLAY_QSHORT_RIGHT(places);
    const uint32_t left = INLAY_QSHORT_LEFT(places);
    const int64_t most = INT32_MAX >> left;
    const int64_t lost = sum & ((INT64_C(1) << right) - 1);
    int64_t v = sum >> right | (lost != 0);
    v = v < most ? v : most;
    v = v > -most ? v : -most;
    return (int32_t)(v * (INT64_C(1) << left));
}

/* v, and the zero point, within 16 bits. */
INLAY_INLINE int32_t inlay_qshort_saturate(int32_t v, int32_t zero)
{
    v = (int32_t)((uint32_t)v + (uint32_t)zero);
#if defined __GNUC__ && defined __thumb2__
    __asm__("ssat %0, #16, %1" : "=r"(v) : "r"(v));
    return v;
#else
    v = v > INT16_MIN ? v : INT16_MIN;
    return v < INT16_MAX ? v : INT16_MAX;
#endif
}

INLAY_INLINE int32_t inlay_qshort_clamp(const inlay_qshort_result *result,
                                        int32_t v)
{
    v = inlay_qshort_saturate(v, result->zero);
    v = v > result->lo ? v : result->lo;
    v = v < result->hi ? v : result->hi;
    return v ^ result->flip;
}

/* The code of a sum of 32 bits, and of 64. */
INLAY_INLINE uint16_t inlay_qshort_code(const inlay_qshort_result *result,
                                        const inlay_qshort_scale *scale,
                                        int32_t sum)
{
    const int32_t v = inlay_qshort_round(sum, scale);
    return (uint16_t)inlay_qshort_clamp(result, v);
}
INLAY_INLINE uint16_t inlay_qshort_code_long(const inlay_qshort_result *result,
                                             const inlay_qshort_scale *scale,
                                             int64_t sum)
{
    const int32_t some = inlay_qshort_narrow(sum, scale->places);
    return inlay_qshort_code(result, scale, some);
}

enum {
    INLAY_QSHORT_FOUR = 4,  /* channels summed at a time */
    INLAY_QSHORT_BATCH = 32 /* channels whose codes are made at a time */
};

/* Codes of n channels of a pixel, whose sums lie in fours, `pitch` from four to four; `plain`, a
 * constant of the callers: bounds are those of 16 bits, and scales move no sums. */
INLAY_INLINE void inlay_qshort_codes(const inlay_qshort_result *result,
                                     int32_t channel, int32_t n,
                                     const int32_t *sum, int32_t pitch,
                                     const int plain, uint16_t *y)
{
    const int32_t first = result->each ? channel : 0;
    const int32_t *factor = result->factor + first;
    const int32_t *places = result->places + first;
    const int32_t each = result->each;
    const int32_t zero = result->zero;
    const int32_t flip = result->flip;
    int32_t c;
    for (; n > 0; n -= INLAY_QSHORT_FOUR, sum += pitch)
        for (c = 0; c < INLAY_QSHORT_FOUR && c < n; c++) {
            inlay_qshort_scale scale;
            int32_t v;
            scale.factor = *factor;
            scale.places = (uint32_t)*places;
            factor += each;
            places += each;
            if (!plain) {
                *y++ = inlay_qshort_code_long(result, &scale, sum[c]);
                continue;
            }
            v = inlay_qshort_round(sum[c], &scale);
            *y++ = (uint16_t)(inlay_qshort_saturate(v, zero) ^ flip);
        }
}

INLAY_APART void inlay_qshort_store(const inlay_qshort_result *result,
                                    int32_t channel, int32_t n,
                                    const int32_t *sum, int32_t pitch,
                                    uint16_t *y)
{
    if (result->hi - result->lo == UINT16_MAX && !result->far)
        inlay_qshort_codes(result, channel, n, sum, pitch, 1, y);
    else
        inlay_qshort_codes(result, channel, n, sum, pitch, 0, y);
}

/* Operand i: `scales` factors, then as many words of places. */
static inline void inlay_qshort_scales(void *const *base,
                                       const inlay_step *step, int i,
                                       int32_t scales,
                                       inlay_qshort_result *result)
{
    result->factor = (const int32_t *)inlay_at(base, step, i);
    result->places = result->factor + scales;
    result->each = scales > 1;
}

#endif
