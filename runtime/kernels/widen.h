/* SPDX-License-Identifier: 0BSD
 * Numbers of narrow types as floats: weights stay in flash as the model's file has them.
 *
 *   inlay_widen_<type>(to, from, first, n)      to[i] = element first + i of `from`, i < n
 *   inlay_scaled_<type>(to, from, first, step, taps, scale, zero)      of INLAY_SCALED numbers
 *       for each tap, `step` elements from tap to tap; where there are neither vectors nor floats
 *       of an Arm core, scale may be NULL: numbers as they are
 *   inlay_line_<type>(line)      products of one row with numbers that no memory holds as floats
 *   inlay_widening_<type>      all of them, for callers that know no type
 *
 * The bits are those of half.h (of integers: the number), but for the payload of a NaN. Several at
 * a time where there are vectors; by the machine's own instruction where it has one. */
#ifndef INLAY_WIDEN_H
#define INLAY_WIDEN_H

#include <stddef.h>
#include <stdint.h>

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/half.h"
#include "kernels/vec.h"

typedef void inlay_widen_type(float *to, const void *from, ptrdiff_t first,
                              int32_t n);
typedef void inlay_scaled_type(float *to, const void *from, ptrdiff_t first,
                               ptrdiff_t step, int32_t taps, const float *scale,
                               const float *zero);

/* Most channels of a group. */
#if INLAY_VL == 16
enum { INLAY_LINE_MOST = 64 };
#elif INLAY_VL == 8
enum { INLAY_LINE_MOST = 32 };
#elif INLAY_VL > 1
enum { INLAY_LINE_MOST = 16 };
#else
enum { INLAY_LINE_MOST = 4 };
#endif

/* A row of floats times the weights of a group of channels, which become floats in registers. The
 * scales of a block of taps are multiplied once, behind its last tap:
 *
 *   sum[c] += scale[c] (sum over k: x[k] (w[k][c] - zero[c]))
 *
 * and behind the last block y[c] = sum[c] + bias[c] + q[c], no less than lo, no more than hi. */
typedef struct inlay_line {
    const float *x;
    int32_t taps;
    int32_t channels;          /* of the group */
    const unsigned char *from; /* the weights of the first tap */
    ptrdiff_t step;            /* bytes from tap to tap */
    ptrdiff_t block;           /* bytes from 16 channels to the next 16 */
    int32_t begins;            /* the first block */
    int32_t scaled;            /* 0: no scales, no zero points */
    int32_t moved;             /* 0: all zero points are 0 */
    float *y;                  /* NULL: the sums are left in `sum` */
    const float *bias;
    const float *q; /* NULL: none */
    float lo, hi;
    float sum[INLAY_LINE_MOST];
    float scale[INLAY_LINE_MOST];
    float zero[INLAY_LINE_MOST];
} inlay_line;

typedef void inlay_line_type(inlay_line *line);

/* What is constant where vectors make the products of one row. */
typedef struct inlay_line_shape {
    int moved, vectors, bits, kind;
} inlay_line_shape;

/* Channels that are scaled together: a whole group of them where there are no vectors. */
#if INLAY_VL == 1
enum { INLAY_SCALED = 4 };
#else
enum { INLAY_SCALED = 16 };
#endif

/* All that is known of a type. */
typedef struct inlay_widening {
    inlay_widen_type *widen;
    inlay_scaled_type *scaled;
    inlay_line_type *line;
    int bits; /* of an element */
    int kind; /* INLAY_NARROW_... */
} inlay_widening;

/* What the bits of an element mean. */
enum {
    INLAY_NARROW_UNSIGNED,
    INLAY_NARROW_SIGNED,
    INLAY_NARROW_F16,
    INLAY_NARROW_BF16,
    INLAY_NARROW_F8E4M3FN,
    INLAY_NARROW_F8E4M3FNUZ,
    INLAY_NARROW_F8E5M2,
    INLAY_NARROW_F8E5M2FNUZ
};

/* The integer of so many bits that v ends with. */
INLAY_INLINE float inlay_lowest(uint32_t v, const int bits, const int kind)
{
    const uint32_t sign = kind == INLAY_NARROW_SIGNED ? 1u << (bits - 1) : 0;
    v &= (1u << bits) - 1;
    return (float)((int32_t)(v ^ sign) - (int32_t)sign);
}

/* Element i. */
INLAY_INLINE float inlay_narrow_one(const unsigned char *from, ptrdiff_t i,
                                    const int bits, const int kind)
{
    uint16_t half = 0;
    if (bits == 16)
        memcpy(&half, from + i * 2, sizeof half);
    switch (kind) {
    case INLAY_NARROW_F16:
        return inlay_from_f16(half);
    case INLAY_NARROW_BF16:
        return inlay_from_bf16(half);
    case INLAY_NARROW_F8E4M3FN:
        return inlay_from_f8e4m3fn(from[i]);
    case INLAY_NARROW_F8E4M3FNUZ:
        return inlay_from_f8e4m3fnuz(from[i]);
    case INLAY_NARROW_F8E5M2:
        return inlay_from_f8e5m2(from[i]);
    case INLAY_NARROW_F8E5M2FNUZ:
        return inlay_from_f8e5m2fnuz(from[i]);
    default:
        break;
    }
    return inlay_lowest((uint32_t)from[i * bits / 8] >> i * bits % 8, bits,
                        kind);
}

#if INLAY_VL > 4
typedef char inlay_chars __attribute__((vector_size(16)));
typedef uint64_t inlay_words __attribute__((vector_size(16)));

/* Numbers of 4 or 2 bits in a word: where each of them begins. */
static const uint32_t inlay_fours_at[16] = { 0, 4, 8, 12, 16, 20, 24, 28,
                                             0, 4, 8, 12, 16, 20, 24, 28 };
static const uint32_t inlay_twos_at[16] = { 0,  2,  4,  6,  8,  10, 12, 14,
                                            16, 18, 20, 22, 24, 26, 28, 30 };
#endif

#if INLAY_VL >= 4
#define INLAY_L 4
#include "kernels/widen_vec.inc.h"
#include "kernels/line_vec.inc.h"
#undef INLAY_L
#endif

#if INLAY_VL >= 8
#define INLAY_L 8
#include "kernels/widen_vec.inc.h"
#include "kernels/line_vec.inc.h"
#undef INLAY_L
#endif

#if INLAY_VL >= 16
#define INLAY_L 16
#include "kernels/widen_vec.inc.h"
#include "kernels/line_vec.inc.h"
#undef INLAY_L
#endif

#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
#include "kernels/widen_arm.inc.h"
#include "kernels/line_arm.inc.h"
#endif

#if INLAY_VL == 1
/* What follows the sums of a block. */
static inline void inlay_line_end(inlay_line *line, const float *sum)
{
    float *to = line->y ? line->y : line->sum;
    int i;
    INLAY_UNROLL
    for (i = 0; i < INLAY_LINE_MOST; i++) {
        float v = sum[i];
        if (line->scaled)
            v *= line->scale[i];
        if (!line->begins)
            v += line->sum[i];
        if (line->y) {
            v += line->bias[i];
            if (line->q)
                v += line->q[i];
            v = inlay_min1(line->hi, inlay_max1(line->lo, v));
        }
        to[i] = v;
    }
}
#endif

#define INLAY_FAMILY "widen.inc.h"
#include "each_narrow.inc.h"
#undef INLAY_FAMILY

#endif
