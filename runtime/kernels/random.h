/* SPDX-License-Identifier: 0BSD
 * Random numbers without a state: element i of a draw is a function of (seed, i), the same in every
 * run and on every machine. The mix of splitmix64 (Steele, Lea, Flood 2014), counted instead of
 * stepped. Not for cryptography. */
#ifndef INLAY_RANDOM_H
#define INLAY_RANDOM_H

#include "inlay.h"
#include "kernels/libm.h"

/* y[i]: uniform in [a, b), or normal of mean a and deviation b. Operands: y (out). */
typedef struct inlay_random_params {
    int64_t n; /* elements */
    int64_t seed;
    int32_t normal;
    float a;
    float b;
} inlay_random_params;

/* y[b][i]: a class drawn with the probabilities softmax(x[b]). Operands: y (out, int32 or int64)
 * [B][S], x [B][C]. */
typedef struct inlay_multinomial_params {
    int64_t batch;
    int64_t classes;
    int64_t samples;
    int64_t seed;
    int32_t wide; /* 1: y is int64 */
} inlay_multinomial_params;

static inline uint64_t inlay_random_bits(int64_t seed, int64_t i)
{
    uint64_t z =
        (uint64_t)seed + ((uint64_t)i + 1u) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number in [0, 1) of 64 random bits. */
static inline float inlay_unit_f32(uint64_t bits)
{
    return (float)(bits >> 40) * 5.9604644775390625e-8f;
}

static inline double inlay_unit_f64(uint64_t bits)
{
    return (double)(bits >> 11) * 1.1102230246251565e-16;
}

#define INLAY_FAMILY "random.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
