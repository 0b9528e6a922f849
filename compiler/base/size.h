/* SPDX-License-Identifier: Apache-2.0
 * Checked arithmetic: sizes and dimensions come from files that may lie.
 * Each function ends in fail_overflow() where the result does not fit. */
#ifndef INLAY_BASE_SIZE_H
#define INLAY_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

static inline size_t size_add(size_t a, size_t b)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        fail_overflow();
    return r;
}

static inline size_t size_mul(size_t a, size_t b)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        fail_overflow();
    return r;
}

/* The next multiple of align, a power of two. */
static inline size_t size_align(size_t n, size_t align)
{
    return size_add(n, align - 1) & ~(align - 1);
}

static inline int64_t i64_add(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        fail_overflow();
    return r;
}

static inline int64_t i64_sub(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r))
        fail_overflow();
    return r;
}

static inline int64_t i64_mul(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        fail_overflow();
    return r;
}

static inline int64_t i64_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static inline int64_t i64_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The same where the furthest number stands for all beyond it. */
static inline int64_t sat_add(int64_t a, int64_t b)
{
    int64_t r;
    if (!__builtin_add_overflow(a, b, &r))
        return r;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    if (!__builtin_mul_overflow(a, b, &r))
        return r;
    return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

/* Division rounded up and down; b > 0. */
static inline int64_t i64_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}
static inline int64_t i64_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* A value that must fit the 32-bit fields of the runtime's structures. */
static inline int32_t i32_checked(int64_t v)
{
    if (v < INT32_MIN || v > INT32_MAX)
        fail_overflow();
    return (int32_t)v;
}

#endif
