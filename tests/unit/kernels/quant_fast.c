/* SPDX-License-Identifier: Apache-2.0
 * Lines of floats become bytes in the machine's own way as one by one by the formula, bit for bit:
 * at and next to halves, of scales of all sizes, of what is no number or has no bound. */
#include "images.h"

#include "kernels/quant.h"

#ifndef ROUNDS
#define ROUNDS 20000
#endif

enum { MOST = 40 };

static float of_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Mostly of a size that occurs, some of them powers of two: these make ties. */
static float some_scale(void)
{
    const uint32_t exponent = rnd(8) ? 107 + rnd(25) : 1 + rnd(253);
    const uint32_t digits = rnd(3) ? rnd(1 << 23) : 0;
    return of_bits(exponent << 23 | digits);
}

static float some_number(float scale)
{
    static const uint32_t special[] = { 0,          0x80000000, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0xffc00001,
                                        1,          0x7f7fffff, 0x807fffff };
    const float halves = (float)((int32_t)rnd(1200) - 600) * 0.5f * scale;
    switch (rnd(16)) {
    case 0:
        return of_bits(special[rnd(sizeof special / sizeof *special)]);
    case 1:
        return of_bits(rnd(1u << 31) << 1 | rnd(2));
    case 2:
    case 3:
        return nextafterf(halves, rnd(2) ? INFINITY : -INFINITY);
    case 4:
    case 5:
        return halves;
    default:
        return rnd_float() * scale * (float)(1 + rnd(300));
    }
}

static void bytes_of_floats(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const int32_t n = (int32_t)rnd(MOST + 1);
        const bool is_signed = rnd(2) != 0;
        const int32_t least = is_signed ? -128 : 0;
        const int32_t zero = least + (int32_t)rnd(256);
        const float scale = some_scale();
        int32_t lo = least;
        int32_t hi = least + 255;
        float x[MOST];
        uint8_t y[MOST + 1];
        if (rnd(3) == 0) {
            lo += (int32_t)rnd(256);
            hi -= (int32_t)rnd((uint32_t)(hi - lo + 1));
        }
        for (int i = 0; i < n; i++)
            x[i] = some_number(scale);
        memset(y, 0x5a, sizeof y);
        const int32_t done = inlay_quantize_fast(y, x, n, scale, zero, lo, hi);
        assert_in_range(done, 0, n);
        for (int i = 0; i < done; i++)
            if (y[i] != (uint8_t)inlay_saturate(x[i] / scale, zero, lo, hi))
                fail_msg("%a by %a, zero %d, from %d to %d: %d", (double)x[i],
                         (double)scale, (int)zero, (int)lo, (int)hi, y[i]);
        for (int i = done; i <= MOST; i++)
            assert_int_equal(y[i], 0x5a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bytes_of_floats) };
    if (integer_vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
