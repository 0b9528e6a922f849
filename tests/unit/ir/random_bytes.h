/* SPDX-License-Identifier: Apache-2.0
 * Bytes for tests of codes. */
#ifndef TEST_RANDOM_BYTES_H
#define TEST_RANDOM_BYTES_H

#include <stddef.h>
#include <stdint.h>

static uint32_t state = 1;

static inline uint32_t next(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * below >> 32);
}

/* Sums of some numbers: the more, the narrower around the middle. */
static inline void fill_bytes(uint8_t *value, size_t n, uint32_t width,
                              int sums, uint32_t middle)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < sums; k++)
            sum += next(width);
        value[i] = (uint8_t)(middle + sum - (uint32_t)sums * width / 2);
    }
}

#endif
