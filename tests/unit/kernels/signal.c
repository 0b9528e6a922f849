/* SPDX-License-Identifier: Apache-2.0
 * Fourier transforms, windows and n-gram counts against their naive forms. */
#include "steps.h"

#include "kernels/fft.h"
#include "kernels/signal.h"

static const double TURN = 6.283185307179586476925;

/* y [outer][bins][inner][2] of x [outer][length][inner][parts]. */
static void naive_dft(const inlay_dft_params *p, const double *x, double *y)
{
    for (int64_t o = 0; o < p->outer; o++)
        for (int64_t k = 0; k < p->bins; k++)
            for (int64_t i = 0; i < p->inner; i++, y += 2) {
                y[0] = y[1] = 0.0;
                for (int64_t t = 0; t < p->n && t < p->length; t++) {
                    const double *v = x + ((o * p->length + t) * p->inner + i) *
                                              p->parts,
                                 im = p->parts == 2 ? v[1] : 0.0;
                    const double angle = (p->inverse ? TURN : -TURN) *
                                         (double)(k * t % p->n) / (double)p->n,
                                 c = cos(angle), s = sin(angle);
                    y[0] +=
                        (v[0] * c - im * s) / (p->inverse ? (double)p->n : 1.0);
                    y[1] +=
                        (v[0] * s + im * c) / (p->inverse ? (double)p->n : 1.0);
                }
            }
}

/* All lengths to 70, as constants with a table and as values without. */
static void transforms(void **state)
{
    (void)state;
    static double x[3 * 90 * 2 * 2], y[3 * 70 * 2 * 2], want[3 * 70 * 2 * 2],
        table[2 * 70], scratch[6 * 70];
    for (int64_t n = 1; n <= 70; n++) {
        inlay_dft_params p = { .outer = 1 + rnd(3),
                               .length = 1 + rnd((uint32_t)n + 20),
                               .inner = 1 + rnd(2),
                               .n = n,
                               .parts = 1 + (int32_t)rnd(2),
                               .inverse = (int32_t)rnd(2),
                               .onesided = (int32_t)rnd(2) };
        p.bins = p.onesided ? n / 2 + 1 : n;
        for (size_t i = 0; i < sizeof x / sizeof *x; i++)
            x[i] = (double)rnd_float();
        for (int64_t k = 0; k < n; k++) {
            table[2 * k] = cos(-TURN * (double)k / (double)n);
            table[2 * k + 1] = sin(-TURN * (double)k / (double)n);
        }
        naive_dft(&p, x, want);
        for (int by_value = 0; by_value < 2; by_value++) {
            int64_t length = n;
            p.n = by_value && n < 70 ? n + p.onesided * (n % 2 == 0) : n;
            assert_int_equal(RUN(inlay_dft_f64, &p, y, x, NULL,
                                 by_value ? NULL : table,
                                 by_value ? &length : NULL, scratch),
                             0);
            for (int64_t i = 0; i < 2 * p.outer * p.bins * p.inner; i++)
                assert_true(fabs(y[i] - want[i]) < 1e-11 * (double)n);
        }
        int64_t other = n + 2;
        assert_int_equal(
            RUN(inlay_dft_f64, &p, y, x, NULL, NULL, &other, scratch),
            -INLAY_E_SHAPE);
    }
}

/* The axis as a value gives what it gives as a constant; another one does not fit. */
static void axis_as_value(void **state)
{
    (void)state;
    double x[2 * 6 * 5], y[2 * 4 * 5 * 2], want[2 * 4 * 5 * 2], scratch[6 * 6];
    const inlay_dft_params known = { .outer = 2,
                                     .length = 6,
                                     .inner = 5,
                                     .bins = 4,
                                     .n = 6,
                                     .parts = 1,
                                     .onesided = 1 };
    const inlay_dft_params p = { .n = 7,
                                 .parts = 1,
                                 .onesided = 1,
                                 .rank = 3,
                                 .nx = { 2, 6, 5 },
                                 .ny = { 2, 4, 5 } };
    int64_t length = 6, axes[] = { 1, -3, 0, 2, 3, -1 };
    for (int i = 0; i < 60; i++)
        x[i] = (double)rnd_float();
    assert_int_equal(
        RUN(inlay_dft_f64, &known, want, x, NULL, NULL, &length, scratch), 0);
    for (int i = 0; i < 6; i++) {
        double wide[6 * 7];
        assert_int_equal(
            RUN(inlay_dft_f64, &p, y, x, &axes[i], NULL, NULL, wide),
            i < 2 ? 0 : -INLAY_E_SHAPE);
        if (i < 2)
            assert_memory_equal(y, want, sizeof y);
    }
}

/* A real signal comes back from half of its spectrum. */
static void halves(void **state)
{
    (void)state;
    float x[40], spectrum[42], back[40], scratch[6 * 40];
    for (int64_t n = 2; n <= 40; n++) {
        const inlay_dft_params there = { .outer = 1,
                                         .length = n,
                                         .inner = 1,
                                         .bins = n / 2 + 1,
                                         .n = n,
                                         .parts = 1,
                                         .onesided = 1 };
        const inlay_dft_params home = { .outer = 1,
                                        .length = n / 2 + 1,
                                        .inner = 1,
                                        .bins = n,
                                        .n = n,
                                        .parts = 2,
                                        .inverse = 1,
                                        .half = 1 };
        int64_t length = n;
        for (int64_t i = 0; i < n; i++)
            x[i] = rnd_float();
        assert_int_equal(RUN(inlay_dft_f32, &there, spectrum, x, NULL, NULL,
                             &length, scratch),
                         0);
        assert_int_equal(RUN(inlay_dft_f32, &home, back, spectrum, NULL, NULL,
                             &length, scratch),
                         0);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabsf(back[i] - x[i]) < 1e-5f);
    }
}

/* Each frame is the transform of its part of the signal. */
static void frames(void **state)
{
    (void)state;
    double x[60], window[12], y[7 * 7 * 2], part[12], want[7 * 2],
        scratch[6 * 12];
    int64_t step = 8, length = 12;
    const inlay_stft_params p = { .batch = 1,
                                  .length = 60,
                                  .frames = 7,
                                  .bins = 7,
                                  .n = 12,
                                  .window = 12,
                                  .parts = 1,
                                  .onesided = 1 };
    const inlay_dft_params one = { .outer = 1,
                                   .length = 12,
                                   .inner = 1,
                                   .bins = 7,
                                   .n = 12,
                                   .parts = 1,
                                   .onesided = 1 };
    for (int i = 0; i < 60; i++)
        x[i] = (double)rnd_float();
    for (int i = 0; i < 12; i++)
        window[i] = (double)rnd_float();
    void *const buffer[] = { y, x, &step, window, &length, NULL, scratch };
    assert_int_equal(
        run_rows(inlay_stft_f64, &p, 7, buffer, 7, 7 * 2 * sizeof *y), 0);
    for (int f = 0; f < 7; f++) {
        for (int i = 0; i < 12; i++)
            part[i] = x[f * 8 + i] * window[i];
        naive_dft(&one, part, want);
        for (int i = 0; i < 14; i++)
            assert_true(fabs(y[f * 14 + i] - want[i]) < 1e-12);
    }
    step = 5;
    assert_int_equal(
        RUN(inlay_stft_f64, &p, y, x, &step, window, &length, NULL, scratch),
        -INLAY_E_SHAPE);
}

static void windows(void **state)
{
    (void)state;
    float y[9];
    int64_t n = 9;
    const inlay_taper_params hann = { 9, 0, 0.5, 0.5, 0.0 };
    assert_int_equal(RUN(inlay_taper_f32, &hann, y, &n), 0);
    for (int i = 0; i < 9; i++)
        assert_true(fabs((double)y[i] - pow(sin(TURN / 2.0 * i / 8.0), 2.0)) <
                    1e-7);
    n = 8;
    assert_int_equal(RUN(inlay_taper_f32, &hann, y, &n), -INLAY_E_SHAPE);
}

/* Triangles over 9 bins of a transform of 16 at 8192 Hz. */
static void mels(void **state)
{
    (void)state;
    double y[9 * 8], low = 0.0, high = 4096.0;
    int64_t count = 8, length = 16, rate = 8192;
    const inlay_mel_params p = { 9, 8 };
    assert_int_equal(
        RUN(inlay_mel_f64, &p, y, &count, &length, &rate, &low, &high), 0);
    for (int i = 0; i < 8; i++) {
        double most = 0.0;
        for (int j = 0; j < 9; j++)
            most = y[j * 8 + i] > most ? y[j * 8 + i] : most;
        assert_true(most > 0.999 && most < 1.001);
    }
    high = 90000.0;
    assert_int_equal(
        RUN(inlay_mel_f64, &p, y, &count, &length, &rate, &low, &high),
        -INLAY_E_INDEX);
}

/* The pool: 2 and 5 alone, "5 4" and "7 8". */
static void grams(void **state)
{
    (void)state;
    int32_t x[12] = { 1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8 };
    int64_t pool[6] = { 2, 5, 5, 6, 7, 8 };
    int32_t gram[12] = { 0, 1, 0, 1, 1, 1, 2, 2, 2, 4, 2, 3 };
    float weight[4] = { 1.0f, 2.0f, 3.0f, 4.0f }, y[4];
    inlay_tfidf_params p = { 1, 12, 4, 4, 0, 0, 0 };
    const float plain[4] = { 0, 1, 1, 1 }, skipping[4] = { 0, 2, 3, 12 };
    assert_int_equal(RUN(inlay_tfidf, &p, y, x, pool, gram, weight), 0);
    assert_memory_equal(y, plain, sizeof y);
    p.skips = 5;
    p.mode = 2; /* "7 8" at distances 1, 3 and 6 */
    assert_int_equal(RUN(inlay_tfidf, &p, y, x, pool, gram, weight), 0);
    assert_memory_equal(y, skipping, sizeof y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms), cmocka_unit_test(axis_as_value),
        cmocka_unit_test(halves),     cmocka_unit_test(frames),
        cmocka_unit_test(windows),    cmocka_unit_test(mels),
        cmocka_unit_test(grams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
