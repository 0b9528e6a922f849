/* SPDX-License-Identifier: 0BSD
 * Random numbers without a state: element i of a draw is a function of (seed, i), the same in every
 * run and on every machine. The mix of splitmix64 (Steele, Lea, Flood 2014), counted instead of
 * stepped. Not for cryptography. */
#ifndef INLAY_RANDOM_H
#define INLAY_RANDOM_H

#include <math.h>

#include "inlay.h"

/* y[i]: uniform in [a, b), or normal of mean a and deviation b. Operands: y (out). */
#define INLAY_random_FIELDS(F, N) \
    F(int64_t, n) /* elements */ \
    F(int64_t, seed) \
    F(int32_t, normal) \
    F(float, a) \
    F(float, b)
INLAY_PARAMS(random);

/* y[b][i]: a class drawn with the probabilities softmax(x[b]). Operands: y (out, int32 or int64)
 * [B][S], x [B][C]. */
#define INLAY_multinomial_FIELDS(F, N) \
    F(int64_t, batch) \
    F(int64_t, classes) \
    F(int64_t, samples) \
    F(int64_t, seed) \
    F(int32_t, wide) /* 1: y is int64 */
INLAY_PARAMS(multinomial);

static inline uint64_t inlay_random_bits(int64_t seed, int64_t i)
{
    uint64_t z = (uint64_t)seed + ((uint64_t)i + 1u) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#include "as_float.inc.h"
#define INLAY_UNIT(bits) ((float)((bits) >> 40) * 5.9604644775390625e-8f)
#include "random.inc.h"
#undef INLAY_UNIT

#include "as_double.inc.h"
#define INLAY_UNIT(bits) ((double)((bits) >> 11) * 1.1102230246251565e-16)
#include "random.inc.h"
#undef INLAY_UNIT

#endif
