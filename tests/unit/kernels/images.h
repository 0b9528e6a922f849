/* SPDX-License-Identifier: Apache-2.0
 * What the kernel tests share: random data, buffers with guards, images placed as rings with gaps
 * between pixels, packed weights written the plain way. */
#ifndef TEST_IMAGES_H
#define TEST_IMAGES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inlay.h"

/* Vectors that the test was compiled for, and this machine has not: the status is 77. */
static inline bool vectors_are_missing(void)
{
#ifdef __AVX512F__
    return !__builtin_cpu_supports("avx512f");
#elif defined __F16C__
    return !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c");
#elif defined __AVX2__
    return !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/* The same of vectors of integers. */
static inline bool integer_vectors_are_missing(void)
{
#ifdef __AVX512VNNI__
    return !__builtin_cpu_supports("avx512vnni");
#elif defined __AVX512BW__
    return !__builtin_cpu_supports("avx512bw") ||
           !__builtin_cpu_supports("avx512vl");
#elif defined __AVX2__
    return !__builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

static uint64_t seed_ = 88172645463325252u;

static inline uint32_t rnd(uint32_t n)
{
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return (uint32_t)(seed_ >> 33) % n;
}

static inline float rnd_float(void)
{
    return (float)rnd(2001) / 1000.0f - 1.0f;
}

static inline float *rnd_floats(size_t n)
{
    float *f = malloc((n ? n : 1) * sizeof *f);
    assert_true(f != NULL);
    for (size_t i = 0; i < n; i++)
        f[i] = rnd_float();
    return f;
}

static const float GUARD = 12345678.0f;
enum { GUARDS = 64 };

/* Rows of pixels as a ring: `cap` slots, `pix` floats a pixel of which `c` are the image's. */
typedef struct Ring {
    float *memory; /* guards, slots, guards */
    size_t floats;
    int rows, w, c, cap, pix, skip; /* skip: channel offset in the pixel */
} Ring;

static inline Ring ring_new(int rows, int w, int c, int cap, int pix, int skip)
{
    Ring r = {
        .rows = rows, .w = w, .c = c, .cap = cap, .pix = pix, .skip = skip
    };
    r.floats = (size_t)cap * (size_t)w * (size_t)pix + 2 * GUARDS;
    r.memory = malloc(r.floats * sizeof(float));
    for (size_t i = 0; i < r.floats; i++)
        r.memory[i] = GUARD;
    return r;
}

static inline float *ring_pixel(const Ring *r, int row, int x)
{
    return r->memory + GUARDS +
           ((size_t)(row % r->cap) * (size_t)r->w + (size_t)x) *
               (size_t)r->pix +
           r->skip;
}

static inline inlay_ref ring_ref(const Ring *r, int base)
{
    return (inlay_ref){ .off = (size_t)(GUARDS + r->skip) * sizeof(float),
                        .row = (size_t)r->w * (size_t)r->pix * sizeof(float),
                        .cap = r->cap,
                        .pix = r->pix,
                        .base = base };
}

static inline void ring_put(Ring *r, int row, const float *image)
{
    for (int x = 0; x < r->w; x++)
        memcpy(ring_pixel(r, row, x),
               image + ((size_t)row * (size_t)r->w + (size_t)x) * (size_t)r->c,
               (size_t)r->c * sizeof(float));
}

static inline void ring_get(const Ring *r, int row, float *image)
{
    for (int x = 0; x < r->w; x++)
        memcpy(image + ((size_t)row * (size_t)r->w + (size_t)x) * (size_t)r->c,
               ring_pixel(r, row, x), (size_t)r->c * sizeof(float));
}

/* All of the image's floats become NaN: whatever is read must have been put there. */
static inline void ring_poison(Ring *r)
{
    for (int s = 0; s < r->cap; s++)
        for (int x = 0; x < r->w; x++)
            for (int i = 0; i < r->c; i++)
                ring_pixel(r, s, x)[i] = NAN;
}

/* Everything that is not the image's must be untouched. */
static inline void ring_check_guards(const Ring *r)
{
    for (size_t i = 0; i < r->floats; i++) {
        const ptrdiff_t at = (ptrdiff_t)i - GUARDS,
                        in = (ptrdiff_t)r->cap * r->w * r->pix;
        const int channel =
            at >= 0 && at < in ? (int)(at % r->pix) - r->skip : -1;
        if (channel < 0 || channel >= r->c)
            assert_true(r->memory[i] == GUARD);
    }
}

/* OIHW (or O, taps, I with perm) weights into blocks; w(o, tap) by a function of the caller's is
 * not needed: `w` is [oc][taps], taps in the order kd, kh, kw, ic. */
static inline float *pack_blocks(const float *w, int oc, int taps, int width)
{
    const int padded = (oc + 3) / 4 * 4;
    float *out = calloc((size_t)padded * (size_t)taps + 1, sizeof *out),
          *at = out;
    for (int o = 0, b; o < padded; o += b) {
        const int left = padded - o;
        b = left >= width ? width : left >= 8 ? 8 : 4;
        for (int t = 0; t < taps; t++)
            for (int i = 0; i < b; i++)
                *at++ = o + i < oc
                            ? w[(size_t)(o + i) * (size_t)taps + (size_t)t]
                            : 0.0f;
    }
    return out;
}

static inline void check_close(const float *got, const float *want, size_t n,
                               double scale)
{
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i] && !(fabs((double)got[i] - (double)want[i]) <=
                                   1e-5 * scale + 1e-5 * fabs((double)want[i])))
            fail_msg("element %zu is %g, should be %g", i, (double)got[i],
                     (double)want[i]);
}

#endif
