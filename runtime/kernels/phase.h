/* SPDX-License-Identifier: 0BSD
 * One dimension of a transposed convolution: which taps k meet a place `at` of the result (padding
 * added), at - k * dilation being a multiple of the stride. They are every (stride / gcd)-th one,
 * gcd that of stride and dilation. */
#ifndef INLAY_PHASE_H
#define INLAY_PHASE_H

#include <stdint.h>

static inline int32_t inlay_gcd(int32_t a, int32_t b)
{
    while (b) {
        const int32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* x with a x = 1 modulo m, which have no common factor: Euclid's way. */
static inline int32_t inlay_inverse(int32_t a, int32_t m)
{
    int32_t high = m;
    int32_t low = a % m;
    int32_t of_high = 0;
    int32_t of_low = 1;
    while (low) {
        const int32_t times = high / low;
        const int32_t rest = high % low;
        const int32_t of_rest = of_high - times * of_low;
        high = low;
        low = rest;
        of_high = of_low;
        of_low = of_rest;
    }
    return of_high < 0 ? of_high + m : of_high;
}

/* The first tap that meets the place; -1: none does. */
static inline int32_t inlay_first_tap(int32_t at, int32_t stride,
                                      int32_t dilation)
{
    const int32_t g = inlay_gcd(stride, dilation);
    const int32_t phases = stride / g;
    int64_t inverse;
    if (at % g)
        return -1;
    if (dilation == g) /* as it nearly always is */
        return at / g % phases;
    inverse = inlay_inverse(dilation / g, phases);
    return (int32_t)(at / g % phases * inverse % phases);
}

/* Where that tap lies in the input; less than 0: before it. */
static inline int32_t inlay_tap_place(int32_t at, int32_t tap, int32_t stride,
                                      int32_t dilation)
{
    if (dilation == 1)
        return (at - tap) / stride;
    return (int32_t)((at - (int64_t)tap * dilation) / stride);
}

#endif
