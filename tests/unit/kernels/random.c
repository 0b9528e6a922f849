/* SPDX-License-Identifier: Apache-2.0
 * Random numbers: range, moments, how often a class is drawn, and that they are the same again. */
#include "steps.h"

#include "kernels/random.h"

enum { COUNT = 100000 };

static void moments(const double *y, double *mean, double *variance)
{
    *mean = *variance = 0.0;
    for (int i = 0; i < COUNT; i++)
        *mean += y[i] / COUNT;
    for (int i = 0; i < COUNT; i++)
        *variance += (y[i] - *mean) * (y[i] - *mean) / COUNT;
}

/* Both types, some seeds: means within five deviations of a mean, neighbours without correlation.
 */
static void values(void **state)
{
    (void)state;
    static double y[COUNT], again[COUNT];
    static float narrow[COUNT];
    for (int k = 0; k < 12; k++) {
        const inlay_random_params p = { .n = COUNT,
                                        .seed = k < 6
                                                    ? k
                                                    : INT64_C(0x40000000) << k,
                                        .normal = k & 1,
                                        .a = 3.0f,
                                        .b = 5.0f };
        double mean, variance, pairs = 0.0;
        const double wanted = p.normal ? 25.0 : 4.0 / 12.0;
        if (k & 2) {
            assert_int_equal(RUN(inlay_random_f32, &p, narrow), 0);
            for (int i = 0; i < COUNT; i++)
                y[i] = (double)narrow[i];
        } else {
            assert_int_equal(RUN(inlay_random_f64, &p, y), 0);
            assert_int_equal(RUN(inlay_random_f64, &p, again), 0);
            assert_memory_equal(y, again, sizeof y);
        }
        moments(y, &mean, &variance);
        assert_true(fabs(mean - (p.normal ? 3.0 : 4.0)) <
                    5.0 * sqrt(wanted / COUNT));
        assert_true(fabs(variance / wanted - 1.0) < 0.025);
        for (int i = 1; i < COUNT; i++)
            pairs += (y[i] - mean) * (y[i - 1] - mean) / variance / COUNT;
        assert_true(fabs(pairs) < 0.02);
        for (int i = 0; i < COUNT && !p.normal; i++)
            assert_true(y[i] >= 3.0 && y[i] < 5.0);
    }
}

static void classes(void **state)
{
    (void)state;
    static int32_t y[2][COUNT];
    static int64_t wide[2][COUNT];
    float x[2][3] = { { logf(1.0f), logf(2.0f), logf(5.0f) },
                      { -INFINITY, 0.0f, -INFINITY } };
    double x64[2][3];
    for (int i = 0; i < 6; i++)
        x64[i / 3][i % 3] = (double)x[i / 3][i % 3];
    inlay_multinomial_params p = {
        .batch = 2, .classes = 3, .samples = COUNT, .seed = 9
    };
    int seen[3] = { 0 }, other = 0;
    assert_int_equal(RUN(inlay_multinomial_f32, &p, y, x), 0);
    p.wide = 1;
    assert_int_equal(RUN(inlay_multinomial_f64, &p, wide, x64), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_true(y[0][i] >= 0 && y[0][i] < 3);
        seen[y[0][i]]++;
        other += wide[0][i] != y[0][i];
        assert_int_equal(y[1][i], 1);
        assert_int_equal(wide[1][i], 1);
    }
    assert_true(abs(seen[0] - COUNT / 8) < 600 &&
                abs(seen[1] - COUNT / 4) < 800 && other < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values),
                                        cmocka_unit_test(classes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
