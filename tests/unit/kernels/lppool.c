/* SPDX-License-Identifier: Apache-2.0
 * p-norms over windows against the formula, forward and backward, unit by unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/lppool.h"

enum { HIGH = 7, WIDE = 9, CHANNELS = 3, CASES = 24 };

static float x[HIGH][WIDE][CHANNELS];
static float y[(HIGH + 1) * (WIDE + 1) * CHANNELS];

static inlay_pool_params params_of(int number)
{
    const int32_t taps = 1 + number % 4;
    const int32_t stride = 1 + number / 4 % 2;
    const int32_t pad = taps / 2;
    return (inlay_pool_params){
        .id = 1,
        .ih = HIGH,
        .iw = WIDE,
        .od = 1,
        .oh = (HIGH + 2 * pad - taps) / stride + 1,
        .ow = (WIDE + 2 * pad - taps) / stride + 1,
        .kd = 1,
        .kh = taps,
        .kw = taps,
        .sd = 1,
        .sh = stride,
        .sw = stride,
        .dd = 1,
        .dh = 1,
        .dw = 1,
        .ph = pad,
        .pw = pad,
        .channels = CHANNELS,
        .exponent = 1 + number / 8,
    };
}

static double norm_at(const inlay_pool_params *p, int32_t r, int32_t col,
                      int32_t c)
{
    double sum = 0;
    for (int32_t i = r * p->sh - p->ph; i < r * p->sh - p->ph + p->kh; i++)
        for (int32_t k = col * p->sw - p->pw; k < col * p->sw - p->pw + p->kw;
             k++)
            if (i >= 0 && i < HIGH && k >= 0 && k < WIDE)
                sum += pow(fabs((double)x[i][k][c]), p->exponent);
    return pow(sum, 1.0 / p->exponent);
}

static void run(const inlay_pool_params *p, bool backward)
{
    void *const base[] = { y, x };
    const size_t pixel = CHANNELS * sizeof(float);
    const inlay_ref ref[] = {
        { .row = (size_t)p->ow * pixel,
          .cap = p->oh,
          .pix = CHANNELS,
          .base = 0 },
        { .row = WIDE * pixel, .cap = HIGH, .pix = CHANNELS, .base = 1 },
    };
    const inlay_step step = { inlay_lppool_f32, p, ref, p->oh, backward };
    memset(y, 0, sizeof y);
    for (int32_t r = 0; r < p->oh; r++)
        assert_int_equal(inlay_lppool_f32(base, &step, r, r + 1), 0);
}

static void norms(void **state)
{
    (void)state;
    for (int i = 0; i < HIGH; i++)
        for (int k = 0; k < WIDE; k++)
            for (int c = 0; c < CHANNELS; c++)
                x[i][k][c] = (float)((i * 37 + k * 11 + c * 5) % 23 - 11) / 8;
    for (int number = 0; number < 2 * CASES; number++) {
        const inlay_pool_params p = params_of(number % CASES);
        run(&p, number >= CASES);
        const float *got = y;
        for (int32_t r = 0; r < p.oh; r++)
            for (int32_t col = 0; col < p.ow; col++)
                for (int32_t c = 0; c < CHANNELS; c++, got++)
                    assert_float_equal((double)*got, norm_at(&p, r, col, c),
                                       1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(norms) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
