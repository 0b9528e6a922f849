/* SPDX-License-Identifier: Apache-2.0
 * Bytes of sums by integers are those by floats, bit for bit: for scales of all sizes, many of them
 * with few bits, so that results lie at and next to halves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

/* Integers alone, as where floats are computed by calls. */
#define INLAY_QSOFT 1
#include "kernels/qout.h"

typedef struct Random {
    uint64_t state;
} Random;

static uint32_t next(Random *random)
{
    random->state = random->state * UINT64_C(6364136223846793005) +
                    UINT64_C(1442695040888963407);
    return (uint32_t)(random->state >> 32);
}

static float some_scale(Random *random)
{
    static const uint32_t kept[] = { 0x7fffff, 0x7ff000, 0x400000, 0x600000 };
    const uint32_t exponent =
        next(random) % 8 ? 90 + next(random) % 70 : 15 + next(random) % 80;
    const uint32_t bits =
        exponent << 23 | (next(random) & kept[next(random) % 4]);
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

static inlay_qresult some_result(Random *random)
{
    const bool is_signed = next(random) & 1;
    inlay_qresult result = { .kind = INLAY_QOUT_U8 };
    const int32_t least = is_signed ? -128 : 0;
    result.lo = least;
    result.hi = least + 255;
    result.zero = least + (int32_t)(next(random) % 256);
    if (next(random) & 1) {
        result.lo += (int32_t)(next(random) % 256);
        result.hi -=
            (int32_t)(next(random) % (uint32_t)(result.hi - result.lo + 1));
    }
    return result;
}

static void same_bits(void **state)
{
    enum { CASES = 4000000 };
    Random random = { 1 };
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const inlay_qresult result = some_result(&random);
        const int32_t sum = (int32_t)next(&random) >> next(&random) % 32;
        const float scale = some_scale(&random);
        if (inlay_qinteger_byte(&result, sum, scale) !=
            inlay_qfloat_byte(&result, sum, scale))
            fail_msg("sum %d, scale %a", (int)sum, (double)scale);
    }
}

/* Factors of four channels for sums of some taps. */
static inlay_qfixed some_factors(Random *random, float *scale)
{
    inlay_qfixed fixed = { .n = 1 + (int32_t)(next(random) % 4),
                           .scale = scale };
    for (int i = 0; i < 4; i++)
        scale[i] = some_scale(random);
    return fixed;
}

/* The largest sums, sums whose results lie next to halves, and any. */
static int32_t some_sum(Random *random, int32_t most, float scale)
{
    const uint32_t kind = next(random) % 4;
    const int32_t any = (int32_t)(next(random) % 1024) - 512;
    const int32_t halves = any >> next(random) % 9;
    const float near = ((float)halves + 0.5f) / scale;
    if (kind == 0)
        return next(random) & 1 ? most : -most;
    if (kind == 1 && near < (float)most && near > -(float)most)
        return (int32_t)near;
    return (int32_t)(next(random) % (uint32_t)most) - most / 2;
}

static void same_fixed(void **state)
{
    enum { CASES = 2000000 };
    Random random = { 2 };
    int suiting = 0;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const inlay_qresult result = some_result(&random);
        const int32_t taps = 1 + (int32_t)(next(&random) >> next(&random) % 32);
        const int32_t start[4] = { (int32_t)next(&random) >>
                                   next(&random) % 32 };
        float scale[4];
        int32_t sum[8];
        uint8_t y[2][4];
        inlay_qfixed fixed = some_factors(&random, scale);
        if (taps <= 0 || !inlay_qfixed_set(&fixed, &result, taps, start))
            continue;
        suiting++;
        for (int k = 0; k < 8; k++)
            sum[k] = some_sum(&random, taps << 15, scale[k % 4]);
        /* as sums wrap */
        for (int k = 0; k < 8; k += 4)
            sum[k] = inlay_wrap_add(start[0], sum[k]);
        inlay_qfixed_bytes(&result, &fixed, sum, y[0], i % 2 ? y[1] : NULL);
        for (int p = 0; p <= i % 2; p++)
            for (int k = 0; k < fixed.n; k++)
                if (y[p][k] != (uint8_t)inlay_qfloat_byte(
                                   &result, sum[4 * p + k], scale[k]))
                    fail_msg("sum %d, scale %a", (int)sum[4 * p + k],
                             (double)scale[k]);
    }
    assert_true(suiting > CASES / 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(same_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
