/* SPDX-License-Identifier: Apache-2.0
 * Steps between numbers of 16 bits against doubles: no result is further from the exact one than
 * half a step and a thousandth; those at its bounds stay there. */
#include "steps.h"

#include "kernels/qshort_step.h"

enum { N = 300, ROUNDS_EACH = 60 };

/* A step of random numbers, whose factors stand for scales of the operands in steps of the
 * result. */
static inlay_qshort_step random_step(void)
{
    inlay_qshort_step q = {
        .flip_a = rnd(2) ? 0x8000 : 0,
        .flip_b = rnd(2) ? 0x8000 : 0,
        .flip_y = rnd(2) ? 0x8000 : 0,
        .za = (int32_t)rnd(65536) - 32768,
        .zb = (int32_t)rnd(65536) - 32768,
        .zy = (int32_t)rnd(65536) - 32768,
        .lo = rnd(3) ? -32768 : (int32_t)rnd(20000) - 32768,
        .hi = rnd(3) ? 32767 : 32767 - (int32_t)rnd(20000),
        .factor_a = (1 << 30) + (int32_t)rnd(1 << 30),
    };
    return q;
}

static void random_codes(uint16_t *code)
{
    for (int i = 0; i < N; i++)
        code[i] = (uint16_t)rnd(65536);
}

static double number(uint16_t code, int32_t flip, int32_t zero)
{
    return (int16_t)(code ^ flip) - zero;
}

static void check(const inlay_qshort_step *q, uint16_t code, double exact)
{
    const double want = fmin(fmax(exact + q->zy, q->lo), q->hi);
    const double got = (int16_t)(code ^ q->flip_y);
    assert_true(fabs(want - got) <= 0.501);
}

/* What a product by the factor and the places becomes. */
static double scaled(const inlay_qshort_step *q, double sum)
{
    const int right = q->places >> 8 & 63;
    const int left = q->places >> 16 & 31;
    return ldexp(sum * q->factor_a, left - right - 32 - (q->places & 31));
}

static const inlay_nd2_params pairs = {
    .rank = 1, .pixel = -1, .n = { N }, .a = { 1 }, .b = { 1 }
};

static void sums(void **state)
{
    (void)state;
    uint16_t a[N], b[N], y[N];
    for (int k = 0; k < ROUNDS_EACH; k++) {
        inlay_qshort_step q = random_step();
        q.places = 12 + (int32_t)rnd(5);
        q.factor_b = (int32_t)rnd(1u << 31) * (rnd(2) ? 1 : -1);
        random_codes(a);
        random_codes(b);
        assert_int_equal(RUN(inlay_qadd_short, &pairs, y, a, b, &q), 0);
        const double step = ldexp(1.0, INLAY_QSHORT_UP - 32 - q.places);
        for (int i = 0; i < N; i++) {
            const double of_a = number(a[i], q.flip_a, q.za) * q.factor_a;
            const double of_b = number(b[i], q.flip_b, q.zb) * q.factor_b;
            check(&q, y[i], (of_a + of_b) * step);
        }
    }
}

static void products(void **state)
{
    (void)state;
    uint16_t a[N], b[N], y[N];
    for (int k = 0; k < ROUNDS_EACH; k++) {
        inlay_qshort_step q = random_step();
        q.places = 11 | (int32_t)rnd(12) << 8;
        random_codes(a);
        random_codes(b);
        assert_int_equal(RUN(inlay_qmul_short, &pairs, y, a, b, &q), 0);
        for (int i = 0; i < N; i++) {
            const double of_a = number(a[i], q.flip_a, q.za);
            check(&q, y[i], scaled(&q, of_a * number(b[i], q.flip_b, q.zb)));
        }
    }
}

static void scales(void **state)
{
    (void)state;
    const inlay_flat_params p = { .n = N, .pixel = N };
    uint16_t a[N], y[N];
    int32_t x[N];
    for (int k = 0; k < ROUNDS_EACH; k++) {
        inlay_qshort_step q = random_step();
        random_codes(a);
        q.places = 11 | (9 + (int32_t)rnd(6)) << 16;
        assert_int_equal(RUN(inlay_qrescale_short, &p, y, a, &q), 0);
        for (int i = 0; i < N; i++)
            check(&q, y[i], scaled(&q, number(a[i], q.flip_a, q.za)));
        q.places = 11 | (int32_t)rnd(10) << 8;
        q.za = (int32_t)rnd(1u << 30);
        for (int i = 0; i < N; i++)
            x[i] = (int32_t)rnd(1u << 31);
        assert_int_equal(RUN(inlay_qscale_short, &p, y, x, &q), 0);
        for (int i = 0; i < N; i++)
            check(&q, y[i], scaled(&q, (double)x[i] - q.za));
    }
}

static void sums_of_pixels(void **state)
{
    (void)state;
    enum { CHANNELS = 6, WIDTH = N / CHANNELS };
    const inlay_globalpool_params p = { 1, WIDTH, CHANNELS };
    uint16_t x[N];
    int32_t y[CHANNELS], z[CHANNELS];
    const inlay_ref ref[] = {
        { .cap = 1, .pix = CHANNELS, .base = 0 },
        { .cap = 1, .pix = CHANNELS, .base = 1 },
    };
    const inlay_step of_signed = { inlay_qsum_i16, &p, ref, 1, 0 };
    const inlay_step of_others = { inlay_qsum_u16, &p, ref, 1, 0 };
    random_codes(x);
    inlay_qsum_i16((void *[]){ y, x }, &of_signed, 0, 1);
    inlay_qsum_u16((void *[]){ z, x }, &of_others, 0, 1);
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = c; i < N; i += CHANNELS) {
            y[c] -= (int16_t)x[i];
            z[c] -= x[i];
        }
        assert_int_equal(y[c], 0);
        assert_int_equal(z[c], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(products),
        cmocka_unit_test(scales),
        cmocka_unit_test(sums_of_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
