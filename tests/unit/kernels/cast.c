/* SPDX-License-Identifier: Apache-2.0
 * Conversions: every code of the 16-bit and smaller floats there and back, roundings against the
 * nearest neighbours found by search, packed types, the way of floats to integers. */
#include "steps.h"

#include "kernels/cast.h"

static const inlay_flat_params *flat(int32_t n, double a, double b)
{
    static inlay_flat_params p;
    p = (inlay_flat_params){ n, n, a, b };
    return &p;
}

/* The value of a code by the definition of its format. */
static double by_definition(uint32_t code, int exponent, int mantissa, int bias)
{
    const int e = (int)(code >> mantissa & ((1u << exponent) - 1)),
              m = (int)(code & ((1u << mantissa) - 1));
    const double x = e ? ldexp(1.0 + ldexp(m, -mantissa), e - bias)
                       : ldexp(m, 1 - bias - mantissa);
    return code >> (exponent + mantissa) & 1 ? -x : x;
}

static void half_codes(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 65536; c++) {
        const float x = inlay_from_f16((uint16_t)c);
        const uint32_t a = c & 0x7fff;
        if (a > 0x7c00) {
            assert_true(isnan(x) && isnan(inlay_from_f16(inlay_to_f16(x))));
            continue;
        }
        if (a == 0x7c00)
            assert_true(isinf(x) && (x < 0) == (c != a));
        else
            assert_true((double)x == by_definition(c, 5, 10, 15));
        assert_int_equal(inlay_to_f16(x), c);
        const float y = inlay_from_bf16((uint16_t)c);
        if (!isnan(y))
            assert_int_equal(inlay_to_bf16(y), c);
    }
}

/* Between two neighbouring codes: the nearer; in the middle the even one. */
static void half_rounding(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x7bff; c++) {
        const double lo = (double)inlay_from_f16((uint16_t)c),
                     hi = (double)inlay_from_f16((uint16_t)(c + 1)),
                     mid = (lo + hi) / 2;
        assert_int_equal(inlay_to_f16((float)mid), c & 1 ? c + 1 : c);
        assert_int_equal(inlay_to_f16(nextafterf((float)mid, 0.0f)), c);
        assert_int_equal(inlay_to_f16(nextafterf((float)mid, INFINITY)), c + 1);
        assert_int_equal(inlay_to_f16(-(float)mid),
                         0x8000 | (c & 1 ? c + 1 : c));
    }
    assert_int_equal(inlay_to_f16(65519.0f), 0x7bff);
    assert_int_equal(inlay_to_f16(65520.0f), 0x7c00);
    assert_int_equal(inlay_to_bf16(inlay_half_float(0x3f808000)), 0x3f80);
    assert_int_equal(inlay_to_bf16(inlay_half_float(0x3f818000)), 0x3f82);
    assert_int_equal(inlay_to_bf16(3.4e38f), 0x7f80);
}

/* The cast of many at a time has the bits of the cast of one: of every 19 upper bits of a float, on
 * both sides of each rounding, of NaNs, and of rows of any length that begin where their floats
 * do. */
static void half_rows(void **state)
{
    (void)state;
#ifdef ROUNDS
    enum { MOST = 67, STEP = 41 };
#else
    enum { MOST = 67, STEP = 1 };
#endif
    static const uint32_t low[] = { 0, 1, 0xfff, 0x1000, 0x1001, 0x1fff };
    uint32_t upper = 0, k = 0;
    for (int32_t n = 1; upper < 1u << 19; n = n % MOST + 1) {
        float x[MOST];
        uint16_t expected[MOST];
        for (int32_t i = 0; i < n; i++) {
            x[i] = inlay_half_float((upper & 0x7ffffu) << 13 | low[k]);
            expected[i] = inlay_to_f16(x[i]);
            k = (k + 1) % (sizeof low / sizeof *low);
            upper += k ? 0 : STEP;
        }
        RUN(inlay_cast_f32_f16, flat(n, 0, 0), x, x);
        assert_memory_equal(x, expected, (size_t)n * sizeof *expected);
    }
}

/* Of float16: all numbers; of a NaN only that it is one. */
static void rows_of_halves(void **state)
{
    (void)state;
    enum { MOST = 67 };
    uint32_t code = 0;
    for (int32_t n = 1; code <= UINT16_MAX; n = n % MOST + 1) {
        uint16_t x[MOST];
        float y[MOST];
        for (int32_t i = 0; i < n; i++)
            x[i] = (uint16_t)code++;
        RUN(inlay_cast_f16_f32, flat(n, 0, 0), y, x);
        for (int32_t i = 0; i < n; i++) {
            const float want = inlay_from_f16(x[i]);
            if (isnan(want))
                assert_true(isnan(y[i]) && !signbit(y[i]) == !signbit(want));
            else
                assert_memory_equal(y + i, &want, sizeof want);
        }
    }
}

/* A row is what its elements are, one by one: `from` and `to` are bytes of an element. */
static void check_row(inlay_kernel *kernel, int32_t n, unsigned char *x,
                      size_t from, size_t to)
{
    unsigned char y[70 * sizeof(int64_t)], one[sizeof(int64_t)];
    RUN(kernel, flat(n, 0, 0), y, x);
    for (int32_t i = 0; i < n; i++) {
        RUN(kernel, flat(1, 0, 0), one, x + (size_t)i * from);
        assert_memory_equal(y + (size_t)i * to, one, to);
    }
}

static void rows_of_integers(void **state)
{
    (void)state;
    static const float far[] = { NAN,          INFINITY, -INFINITY,
                                 1e20f,        -3e9f,    4294967040.0f,
                                 3e9f,         -1e15f,   -2147483648.0f,
                                 2147483648.0f };
    static const struct {
        inlay_kernel *kernel;
        size_t size;
    } all[] = {
        { inlay_cast_f32_i8, 1 },  { inlay_cast_f32_u8, 1 },
        { inlay_cast_f32_i16, 2 }, { inlay_cast_f32_u16, 2 },
        { inlay_cast_f32_i32, 4 }, { inlay_cast_f32_u32, 4 },
        { inlay_cast_f32_i64, 8 },
    };
    for (int32_t n = 1; n <= 70; n++) {
        float x[70];
        unsigned char bytes[70];
        for (int32_t i = 0; i < n; i++) {
            x[i] = ((float)rnd(2001) - 1000) * (rnd(2) ? 0.3f : 1234567.0f);
            if (n % 3 && rnd(20) == 0)
                x[i] = far[rnd(sizeof far / sizeof *far)];
            bytes[i] = (unsigned char)rnd(256);
        }
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            check_row(all[k].kernel, n, (unsigned char *)x, sizeof *x,
                      all[k].size);
        check_row(inlay_cast_i8_f32, n, bytes, 1, sizeof(float));
        check_row(inlay_cast_u8_f32, n, bytes, 1, sizeof(float));
        check_row(inlay_cast_bool_f32, n, bytes, 1, sizeof(float));
    }
}

typedef struct Small {
    float (*from)(uint8_t);
    uint8_t (*to)(float, int);
    int exponent, mantissa, bias;
    uint8_t largest, beyond, nan; /* beyond: without saturation */
    bool fnuz;
} Small;

static const Small smalls[] = {
    { inlay_from_f8e4m3fn, inlay_to_f8e4m3fn, 4, 3, 7, 0x7e, 0x7f, 0x7f,
      false },
    { inlay_from_f8e4m3fnuz, inlay_to_f8e4m3fnuz, 4, 3, 8, 0x7f, 0x80, 0x80,
      true },
    { inlay_from_f8e5m2, inlay_to_f8e5m2, 5, 2, 15, 0x7b, 0x7c, 0x7e, false },
    { inlay_from_f8e5m2fnuz, inlay_to_f8e5m2fnuz, 5, 2, 16, 0x7f, 0x80, 0x80,
      true },
};

static void eight_bits(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof smalls / sizeof *smalls; k++) {
        const Small *s = smalls + k;
        for (int c = 0; c <= s->largest; c++) {
            const double x = (double)s->from((uint8_t)c);
            assert_true(x == by_definition((uint32_t)c, s->exponent,
                                           s->mantissa, s->bias));
            assert_int_equal(s->to((float)x, 1), c);
            assert_int_equal(s->to(-(float)x, 0), s->fnuz && !c ? 0 : c | 0x80);
            if (c == s->largest)
                break;
            const float mid =
                (float)((x + (double)s->from((uint8_t)(c + 1))) / 2);
            assert_int_equal(s->to(mid, 1), c & 1 ? c + 1 : c);
            assert_int_equal(s->to(nextafterf(mid, 0.0f), 1), c);
        }
        const float most = s->from(s->largest);
        assert_int_equal(s->to(2.0f * most, 1), s->largest);
        assert_int_equal(s->to(2.0f * most, 0), s->beyond);
        assert_int_equal(s->to(-INFINITY, 1), s->largest | 0x80);
        assert_int_equal(s->to(INFINITY, 0), s->beyond);
        assert_int_equal(s->to(NAN, 1), s->nan);
        assert_true(isnan(s->from(s->nan)));
    }
}

static void scales_and_fours(void **state)
{
    (void)state;
    static const float fours[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    for (uint8_t c = 0; c < 8; c++) {
        assert_true(inlay_from_f4e2m1(c) == fours[c] &&
                    inlay_from_f4e2m1(c | 8) == -fours[c]);
        assert_int_equal(inlay_to_f4e2m1(fours[c]), c);
        if (c < 7)
            assert_int_equal(inlay_to_f4e2m1((fours[c] + fours[c + 1]) / 2),
                             c & 1 ? c + 1 : c);
    }
    assert_int_equal(inlay_to_f4e2m1(-100.0f), 15);
    for (int c = 0; c < 255; c++)
        assert_true((double)inlay_from_f8e8m0((uint8_t)c) ==
                    ldexp(1.0, c - 127));
    assert_int_equal(inlay_to_f8e8m0(3.0f, 1, 0), 129);
    assert_int_equal(inlay_to_f8e8m0(3.0f, 1, 1), 128);
    assert_int_equal(inlay_to_f8e8m0(3.0f, 1, 2), 129);
    assert_int_equal(inlay_to_f8e8m0(2.9f, 1, 2), 128);
    assert_int_equal(inlay_to_f8e8m0(NAN, 1, 0), 255);
}

/* double to float16 in two steps must be one rounding. */
static void odd_rounding(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x7bff; c++) {
        const double lo = (double)inlay_from_f16((uint16_t)c),
                     hi = (double)inlay_from_f16((uint16_t)(c + 1)),
                     mid = (lo + hi) / 2;
        assert_int_equal(inlay_to_f16(inlay_round_odd(nextafter(mid, 0.0))), c);
        assert_int_equal(
            inlay_to_f16(inlay_round_odd(nextafter(mid, (double)INFINITY))),
            c + 1);
        assert_int_equal(inlay_to_f16(inlay_round_odd(mid)), c & 1 ? c + 1 : c);
    }
    assert_true(inlay_round_odd(1e300) < INFINITY &&
                inlay_round_odd(-(double)INFINITY) == -INFINITY);
}

static void to_integers(void **state)
{
    (void)state;
    float x[] = { 2.9f, -2.9f, 300.0f, -129.0f, 1e20f, NAN };
    int8_t b[6];
    int64_t q[6];
    uint8_t t[6];
    RUN(inlay_cast_f32_i8, flat(6, 0, 0), b, x);
    assert_true(b[0] == 2 && b[1] == -2 && b[2] == 44 && b[3] == 127 &&
                b[4] == 0 && b[5] == 0);
    RUN(inlay_cast_f32_i64, flat(6, 0, 0), q, x);
    assert_true(q[0] == 2 && q[1] == -2 && q[2] == 300 && q[4] == INT64_MIN &&
                q[5] == INT64_MIN);
    RUN(inlay_cast_f32_bool, flat(6, 0, 0), t, x);
    assert_true(t[0] == 1 && t[5] == 1);
    double big[] = { 1.8e19, 9e18 };
    uint64_t u[2];
    RUN(inlay_cast_f64_u64, flat(2, 0, 0), u, big);
    assert_true(u[0] == UINT64_C(18000000000000000000) &&
                u[1] == UINT64_C(9000000000000000000));
}

static void packed(void **state)
{
    (void)state;
    int8_t x[] = { -8, 7, -1, 3, 5 }, back[5];
    uint8_t y[4] = { 0, 0, 0, 0xee }, two[] = { 3, 1, 2, 0, 3 }, again[5];
    RUN(inlay_cast_i8_i4, flat(5, 0, 0), y, x);
    assert_true(y[0] == 0x78 && y[1] == 0x3f && y[2] == 0x05 && y[3] == 0xee);
    RUN(inlay_cast_i4_i8, flat(5, 0, 0), back, y);
    assert_memory_equal(back, x, 5);
    RUN(inlay_cast_u8_u2, flat(5, 0, 0), y, two);
    assert_true(y[0] == 0x27 && y[1] == 3);
    RUN(inlay_cast_u2_u8, flat(5, 0, 0), again, y);
    assert_memory_equal(again, two, 5);
    RUN(inlay_cast_i2_i8, flat(5, 0, 0), back, y);
    assert_true(back[0] == -1 && back[1] == 1 && back[2] == -2 &&
                back[3] == 0 && back[4] == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_codes),     cmocka_unit_test(half_rounding),
        cmocka_unit_test(eight_bits),     cmocka_unit_test(scales_and_fours),
        cmocka_unit_test(odd_rounding),   cmocka_unit_test(to_integers),
        cmocka_unit_test(packed),         cmocka_unit_test(half_rows),
        cmocka_unit_test(rows_of_halves), cmocka_unit_test(rows_of_integers),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
