/* SPDX-License-Identifier: Apache-2.0
 * Conversions between element types: every code of the small formats there and back,
 * rounding against an exhaustive search for the nearest value, and the corners of ONNX's Cast. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/convert.h"

static float bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

typedef struct Format {
    DType t;
    int exponent, mantissa, bias;
} Format;

static const Format formats[] = {
    { DT_F16, 5, 10, 15 },    { DT_BF16, 8, 7, 127 },
    { DT_F8E4M3FN, 4, 3, 7 }, { DT_F8E4M3FNUZ, 4, 3, 8 },
    { DT_F8E5M2, 5, 2, 15 },  { DT_F8E5M2FNUZ, 5, 2, 16 },
    { DT_F4E2M1, 2, 1, 1 },
};
enum { FORMATS = sizeof formats / sizeof *formats };

static uint32_t codes(const Format *f)
{
    return 2u << (f->exponent + f->mantissa);
}

/* The value by the definition of the format, specials left aside. */
static double defined(const Format *f, uint32_t code)
{
    const uint32_t a = code & (codes(f) / 2 - 1);
    const int e = (int)(a >> f->mantissa);
    const double m =
        (double)(a & ((1u << f->mantissa) - 1)) / (double)(1u << f->mantissa);
    const double x = e ? ldexp(1 + m, e - f->bias) : ldexp(m, 1 - f->bias);
    return code & (codes(f) / 2) ? -x : x;
}

static void codes_decode_and_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const Format *f = formats + i;
        for (uint32_t c = 0; c < codes(f); c++) {
            const float x = small_to_float(f->t, c);
            if (isnan(x)) {
                assert_true(
                    isnan(small_to_float(f->t, small_from_float(f->t, x))) &&
                    f->t != DT_F4E2M1);
            } else {
                if (isfinite(x))
                    assert_true((double)x == defined(f, c));
                if (isfinite(x) || f->t == DT_F16 || f->t == DT_BF16)
                    assert_int_equal(small_from_float(f->t, x), c);
            }
        }
    }
}

/* Nearest of all finite codes, ties to the even one. */
static uint32_t nearest(const Format *f, double x)
{
    uint32_t best = 0;
    double least = (double)INFINITY;
    for (uint32_t c = 0; c < codes(f) / 2; c++) {
        const float v = small_to_float(f->t, c);
        if (!isfinite(v))
            continue;
        const double d = fabs((double)v - fabs(x));
        if (d < least || (d == least && c % 2 == 0)) {
            best = c;
            least = d;
        }
    }
    return best;
}

static void rounding_finds_the_nearest(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < FORMATS; i++) {
        const Format *f = formats + i;
        const double top = f->t == DT_F16 ? 65504
                           : f->t == DT_BF16
                               ? 1e30
                               : (double)small_to_float(f->t, nearest(f, 1e9));
        for (int k = 0; k < (f->mantissa > 3 ? 40 : 3000); k++) {
            random = random * UINT64_C(6364136223846793005) +
                     UINT64_C(1442695040888963407);
            const uint32_t a = (uint32_t)(random >> 33) % (codes(f) / 2),
                           b = a + 1;
            const double x = defined(f, a), y = defined(f, b),
                         cut[] = { x, (x + y) / 2, x + (y - x) * 0.499,
                                   x + (y - x) * 0.501 };
            if (y > top)
                continue;
            for (int j = 0; j < 4; j++)
                assert_int_equal(small_from_float(f->t, (float)cut[j]),
                                 nearest(f, (double)(float)cut[j]));
        }
    }
}

/* A double between two halves, a hair above the middle: rounding through float would go the wrong
 * way. */
static void doubles_round_once(void **state)
{
    (void)state;
    const double x[] = { 1 + 0x1p-11 + 0x1p-40,
                         1 + 0x1p-11,
                         1 + 0x1p-11 - 0x1p-40,
                         -(1 + 3 * 0x1p-11 - 0x1p-40),
                         1e-300,
                         -1e300,
                         65519.999999 };
    uint16_t h[7];
    convert_run(DT_F64, x, DT_F16, h, 7);
    const uint16_t want[] = {
        0x3c01, 0x3c00, 0x3c00, 0xbc01, 0, 0xfc00, 0x7bff
    };
    assert_memory_equal(h, want, sizeof h);
}

static uint32_t from_float(DType t, float x)
{
    return small_from_float(t, x);
}

static void corners_of_small_floats(void **state)
{
    (void)state;
    const float nan = bits(0x7fc00000), inf = bits(0x7f800000);
    assert_int_equal(from_float(DT_F8E4M3FN, 1e6f), 0x7e);
    assert_int_equal(from_float(DT_F8E4M3FN, -inf), 0xfe);
    assert_int_equal(from_float(DT_F8E4M3FN, nan), 0x7f);
    assert_int_equal(from_float(DT_F8E4M3FNUZ, inf), 0x7f);
    assert_int_equal(from_float(DT_F8E4M3FNUZ, -1e6f), 0xff);
    assert_int_equal(from_float(DT_F8E4M3FNUZ, nan), 0x80);
    assert_int_equal(from_float(DT_F8E4M3FNUZ, -1e-7f), 0);
    assert_int_equal(from_float(DT_F8E5M2, inf), 0x7b);
    assert_int_equal(from_float(DT_F8E5M2, nan), 0x7e);
    assert_int_equal(from_float(DT_F8E5M2FNUZ, nan), 0x80);
    assert_int_equal(from_float(DT_F4E2M1, -8.0f), 0xf);
    assert_int_equal(from_float(DT_F4E2M1, 0.25f), 0);
    assert_int_equal(from_float(DT_F4E2M1, nan), 8);
    assert_int_equal(from_float(DT_F16, 65520.0f), 0x7c00);
    assert_int_equal(from_float(DT_BF16, nan) & 0x7fff, 0x7fc0);
    assert_int_equal(from_float(DT_BF16, bits(0x7f7fffff)), 0x7f80);
    assert_int_equal(from_float(DT_BF16, bits(1)), 0);
    assert_int_equal(from_float(DT_F8E8M0, 1.0f), 127);
    assert_int_equal(from_float(DT_F8E8M0, -1.5f), 128);
    assert_int_equal(from_float(DT_F8E8M0, 0), 0);
    assert_int_equal(from_float(DT_F8E8M0, inf), 255);
    assert_true(small_to_float(DT_F8E8M0, 0) == 0x1p-127f &&
                small_to_float(DT_F8E8M0, 254) == 0x1p127f);
}

static int64_t as_int(DType t, const uint8_t *p)
{
    int64_t v = 0;
    memcpy(&v, p, dtype_bits(t) < 8 ? 1 : (size_t)dtype_bits(t) / 8);
    return v;
}

static void floats_become_integers_towards_zero(void **state)
{
    (void)state;
    const float x[] = { 2.9f, -2.9f, -9, 15, 0.5f };
    static const struct {
        DType t;
        int64_t want[5];
    } row[] = {
        { DT_I8, { 2, 0xfe, 0xf7, 15, 0 } },
        { DT_U4, { 2, 14, 7, 15, 0 } },
        { DT_I2, { 2, 2, 3, 3, 0 } },
        { DT_I32, { 2, 0xfffffffe, 0xfffffff7, 15, 0 } },
        { DT_I64, { 2, -2, -9, 15, 0 } },
        { DT_BOOL, { 1, 1, 1, 1, 1 } },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t out[5 * 8];
        convert_run(DT_F32, x, row[i].t, out, 5);
        const int size =
            dtype_bits(row[i].t) < 8 ? 1 : dtype_bits(row[i].t) / 8;
        for (int k = 0; k < 5; k++)
            assert_int_equal(as_int(row[i].t, out + k * size), row[i].want[k]);
    }
    const double big[] = { 0x1p63, -0x1p63, (double)bits(0x7fc00000), 1.8e19 };
    int64_t wide[4];
    uint64_t uwide[4];
    convert_run(DT_F64, big, DT_I64, wide, 4);
    convert_run(DT_F64, big, DT_U64, uwide, 4);
    for (int k = 0; k < 4; k++)
        assert_true(wide[k] == INT64_MIN);
    assert_true(uwide[0] == UINT64_C(1) << 63 &&
                uwide[3] == UINT64_C(18000000000000000000));
}

static void integers_become_others(void **state)
{
    (void)state;
    const int64_t x[] = { -1, 300, INT64_MIN, (INT64_C(1) << 53) + 1 };
    uint8_t b[4];
    uint64_t u[4];
    double d[4];
    float f[4];
    convert_run(DT_I64, x, DT_U8, b, 4);
    assert_memory_equal(b, "\xff\x2c\x00\x01", 4);
    convert_run(DT_I64, x, DT_U64, u, 4);
    assert_true(u[0] == UINT64_MAX);
    convert_run(DT_U64, u, DT_F64, d, 4);
    assert_true(d[0] == 0x1p64 && d[2] == 0x1p63);
    convert_run(DT_I64, x, DT_F32, f, 4);
    assert_true(f[0] == -1 && f[2] == -0x1p63f);
    const uint8_t four[] = { 0, 7, 8, 15 };
    convert_run(DT_I4, four, DT_F32, f, 4);
    assert_true(f[0] == 0 && f[1] == 7 && f[2] == -8 && f[3] == -1);
    convert_run(DT_U4, four, DT_F32, f, 4);
    assert_true(f[2] == 8 && f[3] == 15);
    const uint8_t flag[] = { 0, 1, 2, 255 };
    convert_run(DT_BOOL, flag, DT_F32, f, 4);
    assert_true(f[0] == 0 && f[1] == 1 && f[2] == 1 && f[3] == 1);
}

/* Each pair of types agrees with going through double, on values both hold. */
static void all_pairs_hold_small_numbers(void **state)
{
    (void)state;
    const double x[] = { 0, 1 };
    for (DType a = DT_NONE + 1; a < DT_COUNT; a++) {
        for (DType b = DT_NONE + 1; b < DT_COUNT; b++) {
            uint8_t in[16], out[16];
            double back[2];
            if (!convert_possible(a, b))
                continue;
            const double low = a == DT_F8E8M0 || b == DT_F8E8M0 ? 1 : 0,
                         v[] = { low, x[1] };
            if (a == DT_F8E8M0 && b == DT_F8E8M0)
                continue;
            convert_run(DT_F64, v, a, in, 2);
            convert_run(a, in, b, out, 2);
            convert_run(b, out, DT_F64, back, 2);
            assert_true(back[0] == low && fabs(back[1]) == 1);
        }
    }
    assert_false(convert_possible(DT_C64, DT_F32));
    assert_false(convert_possible(DT_F32, DT_STRING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_decode_and_come_back),
        cmocka_unit_test(rounding_finds_the_nearest),
        cmocka_unit_test(doubles_round_once),
        cmocka_unit_test(corners_of_small_floats),
        cmocka_unit_test(floats_become_integers_towards_zero),
        cmocka_unit_test(integers_become_others),
        cmocka_unit_test(all_pairs_hold_small_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
