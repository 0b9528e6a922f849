/* SPDX-License-Identifier: Apache-2.0
 * Keys of what is compared by them alone: equal for equal numbers in their order, and for others
 * about once in 2^64. */
#ifndef INLAY_BASE_MIX_H
#define INLAY_BASE_MIX_H

#include <stdint.h>

/* The key of what there is so far and one number more: splitmix64. */
static inline uint64_t mix_number(uint64_t key, int64_t number)
{
    uint64_t x = key + 0x9e3779b97f4a7c15u + (uint64_t)number;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
