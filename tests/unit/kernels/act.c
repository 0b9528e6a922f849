/* SPDX-License-Identifier: Apache-2.0
 * The fused activations against their formulas in double, with infinities and NaN. */
#include "images.h"

#include "kernels/act.h"
#include "kernels/eltwise_float.h"

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}
static double limit01(double x)
{
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}
static double softplus(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* To 16 bits and back; the quotient is that of floats. */
static double faked(double x, double a, double b)
{
    const float steps = (float)x / (float)a;
    const double code = nearbyint((double)steps) + b;
    return a * (fmin(fmax(code, -32768.0), 32767.0) - b);
}

static double exact(int act, double x, double a, double b)
{
    switch (act) {
    case INLAY_ACT_CLAMP:
        return x < a ? a : x > b ? b : x;
    case INLAY_ACT_LEAKY_RELU:
        return x < 0.0 ? a * x : x;
    case INLAY_ACT_SIGMOID:
        return sigmoid(x);
    case INLAY_ACT_TANH:
        return tanh(x);
    case INLAY_ACT_HARD_SIGMOID:
        return limit01(a * x + b);
    case INLAY_ACT_HARD_SWISH:
        return x * limit01(x / 6.0 + 0.5);
    case INLAY_ACT_SWISH:
        return x * sigmoid(a * x);
    case INLAY_ACT_GELU:
        return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
    case INLAY_ACT_GELU_TANH:
        return 0.5 * x *
               (1.0 +
                tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case INLAY_ACT_ELU:
        return x < 0.0 ? a * expm1(x) : x;
    case INLAY_ACT_SOFTPLUS:
        return softplus(x);
    case INLAY_ACT_MISH:
        return x * tanh(softplus(x));
    case INLAY_ACT_SELU:
        return b * (x < 0.0 ? a * expm1(x) : x);
    case INLAY_ACT_FAKE_QUANTIZE:
        return faked(x, a, b);
    case INLAY_ACT_SOFTSIGN:
        return x / (1.0 + fabs(x));
    default:
        return x;
    }
}

static void formulas(void **state)
{
    (void)state;
    enum { N = 4001 };
    static float x[N], y[N];
    for (int act = 0; act < INLAY_ACT_COUNT; act++) {
        const float a = act == INLAY_ACT_CLAMP ? -1.5f : 0.7f;
        const float b = act == INLAY_ACT_FAKE_QUANTIZE ? 32750.0f : 0.5f;
        for (int i = 0; i < N; i++)
            y[i] = x[i] = (float)(i - N / 2) * 0.01f;
        inlay_act_f32(y, N, act, a, b);
        for (int i = 0; i < N; i++) {
            const double want = exact(act, (double)x[i], (double)a, (double)b);
            if (!(fabs((double)y[i] - want) <= 1e-6 + 1e-6 * fabs(want)))
                fail_msg("act %d of %g is %g, should be %g", act, (double)x[i],
                         (double)y[i], want);
        }
    }
}

static void ends(void **state)
{
    (void)state;
    for (int act = 0; act < INLAY_ACT_COUNT; act++) {
        float y[2] = { NAN, 300.0f };
        inlay_act_f32(y, 2, act, 0.25f, 0.5f);
        assert_true(y[0] != y[0]);
        assert_true(isfinite(y[1]));
    }
    float relu[2] = { -1.0f, INFINITY };
    inlay_act_f32(relu, 2, INLAY_ACT_CLAMP, 0.0f, INFINITY);
    assert_true(relu[0] == 0.0f && relu[1] == INFINITY);
}

/* GELU is a number near x for large x and near 0 below: errors are held to both, for numbers one by
 * one and for vectors. */
static void gelu(void **state)
{
    (void)state;
    enum { N = 8001 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++)
        y[i] = x[i] = (float)(i - N / 2) * 5e-3f;
    inlay_act_f32(y, N, INLAY_ACT_GELU, 0.0f, 0.0f);
    for (int i = 0; i < N; i++) {
        const double at = (double)x[i];
        const double want = 0.5 * at * erfc(-at / sqrt(2.0));
        const double one = (double)inlay_act_gelu_f32(x[i], 0.0f, 0.0f);
        const double most = 1.2e-7 * fmax(1.0, fabs(at));
        assert_true(fabs((double)y[i] - want) <= most);
        assert_true(fabs(one - want) <= most);
    }
    float end[4] = { INFINITY, -INFINITY, -0.0f, NAN };
    assert_true(inlay_act_gelu_f32(end[0], 0.0f, 0.0f) == INFINITY);
    assert_true(fabsf(inlay_act_gelu_f32(end[1], 0.0f, 0.0f)) < 1e-30f);
    assert_true(signbit(inlay_act_gelu_f32(end[2], 0.0f, 0.0f)));
    assert_true(isnan(inlay_act_gelu_f32(end[3], 0.0f, 0.0f)));
    inlay_act_f32(end, 4, INLAY_ACT_GELU, 0.0f, 0.0f);
    assert_true(end[0] == INFINITY && fabsf(end[1]) < 1e-30f);
    assert_true(end[2] == 0.0f && signbit(end[2]) && end[3] != end[3]);
}

/* Steps, halves of steps and what is beyond the codes. */
static void codes(void **state)
{
    (void)state;
    enum { N = 300001 };
    static float x[N], y[N];
    const float zeros[] = { 0.0f, -300.0f, 32767.0f };
    for (int k = 0; k < 3; k++) {
        const inlay_flat_params p = { N, 1, 0.0625, (double)zeros[k] };
        const inlay_ref ref[] = { { .cap = 1, .pix = 1 },
                                  { .cap = 1, .pix = 1, .base = 1 } };
        const inlay_step s = { inlay_fake_quantize_f32, &p, ref, 1, 0 };
        void *base[] = { y, x };
        for (int i = 0; i < N; i++)
            x[i] = (float)(i - N / 2) * 0.03125f;
        assert_int_equal(s.run(base, &s, 0, 1), 0);
        for (int i = 0; i < N; i++) {
            const double a = p.a;
            assert_true((double)y[i] == faked((double)x[i], a, p.b));
            assert_false(y[i] == 0.0f && signbit(y[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(formulas),
                                        cmocka_unit_test(gelu),
                                        cmocka_unit_test(ends),
                                        cmocka_unit_test(codes) };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
