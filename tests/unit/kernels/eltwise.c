/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels: random broadcasts against index arithmetic, rings with gaps between pixels,
 * results on their own operands, the float functions against libm over their whole range, integer
 * edge cases. */
#ifndef INLAY_ROW_SLOTS
#define INLAY_ROW_SLOTS /* emulated cores have no build that defines it */
#endif
#include "steps.h"

#include "kernels/eltwise_float.h"
#include "kernels/eltwise_integer.h"
#include "kernels/logical.h"
#include "kernels/math_vec.h"

/* A random result shape and operands that broadcast into it. */
static void random_nest(inlay_nd2_params *p, size_t *size)
{
    int32_t step[2] = { 1, 1 };
    *p = (inlay_nd2_params){ .rank = 1 + (int32_t)rnd(5), .pixel = -1 };
    for (int d = p->rank - 1; d >= 0; d--) {
        p->n[d] = 1 + (int32_t)rnd(d == p->rank - 1 ? 40 : 4);
        for (int k = 0; k < 2; k++) {
            int32_t *stride = k ? p->b : p->a;
            const bool repeats = rnd(3) == 0;
            stride[d] = repeats ? 0 : step[k];
            if (!repeats)
                step[k] *= p->n[d];
        }
    }
    size[0] = 1;
    size[1] = (size_t)step[0];
    size[2] = (size_t)step[1];
    for (int d = 0; d < p->rank; d++)
        size[0] *= (size_t)p->n[d];
}

static void broadcasts(void **state)
{
    (void)state;
    for (int round = 0; round < 400; round++) {
        inlay_nd2_params p;
        size_t size[3];
        random_nest(&p, size);
        float *a = rnd_floats(size[1]), *b = rnd_floats(size[2]),
              *y = rnd_floats(size[0] + 1);
        const float guard = y[size[0]];
        assert_int_equal(RUN(inlay_sub_f32, &p, y, a, b), 0);
        for (size_t i = 0; i < size[0]; i++) {
            size_t rest = i;
            ptrdiff_t ia = 0, ib = 0;
            for (int d = p.rank - 1; d >= 0; d--) {
                const ptrdiff_t at = (ptrdiff_t)(rest % (size_t)p.n[d]);
                rest /= (size_t)p.n[d];
                ia += at * p.a[d];
                ib += at * p.b[d];
            }
            assert_true(y[i] == a[ia] - b[ib]);
        }
        assert_true(y[size[0]] == guard);
        free(a);
        free(b);
        free(y);
    }
}

/* An image with gaps between its pixels, plus a bias per channel, row by row. */
static void rows_and_pixels(void **state)
{
    (void)state;
    enum { ROWS = 5, WIDTH = 7, C = 21 };
    float *image = rnd_floats(ROWS * WIDTH * C), *bias = rnd_floats(C),
          got[ROWS * WIDTH * C];
    for (int gap = 0; gap < 2; gap++) {
        Ring x = ring_new(ROWS, WIDTH, C, ROWS, C + gap * 3, gap),
             y = ring_new(ROWS, WIDTH, C, ROWS, C + gap * 5, gap);
        const inlay_nd2_params p = { .rank = 2,
                                     .rows = 3,
                                     .pixel = 0,
                                     .n = { WIDTH, C },
                                     .a = { C, 1 },
                                     .b = { 0, 1 } };
        const inlay_ref ref[] = { ring_ref(&y, 0),
                                  ring_ref(&x, 1),
                                  { .cap = 1, .pix = 1, .base = 2 } };
        const inlay_step s = { inlay_add_f32, &p, ref, ROWS, 0 };
        void *base[] = { y.memory, x.memory, bias };
        for (int r = 0; r < ROWS; r++)
            ring_put(&x, r, image);
        assert_int_equal(s.run(base, &s, 0, 2), 0);
        assert_int_equal(s.run(base, &s, 2, ROWS), 0);
        for (int r = 0; r < ROWS; r++)
            ring_get(&y, r, got);
        for (int i = 0; i < ROWS * WIDTH * C; i++)
            assert_true(got[i] == image[i] + bias[i % C]);
        ring_check_guards(&y);
        free(x.memory);
        free(y.memory);
    }
    free(image);
    free(bias);
}

/* An operand of 2 rows, each for 3 units, and then again; its rows one after the other, or where a
 * table says, the last one first. */
static void check_rows_again(const uint16_t *slot)
{
    enum { ROWS = 10, WIDTH = 3, C = 5, OWN = 2, EVERY = 3 };
    float *image = rnd_floats(ROWS * WIDTH * C);
    float *other = rnd_floats(OWN * WIDTH);
    float y[ROWS * WIDTH * C];
    const inlay_nd2_params p = { .rank = 2,
                                 .rows = 3,
                                 .pixel = 0,
                                 .n = { WIDTH, C },
                                 .a = { C, 1 },
                                 .b = { 1, 0 },
                                 .every = { 0, 0, EVERY } };
    const size_t row = WIDTH * C * sizeof(float);
    inlay_ref ref[] = {
        { .row = row, .cap = ROWS, .pix = C, .base = 0 },
        { .row = row, .cap = ROWS, .pix = C, .base = 1 },
        { .row = WIDTH * sizeof(float), .cap = OWN, .pix = 1, .base = 2 }
    };
    ref[2].slot = slot;
    ref[2].unit = WIDTH * sizeof(float);
    const inlay_step s = { inlay_mul_f32, &p, ref, ROWS, 0 };
    void *base[] = { y, image, other };
    assert_int_equal(s.run(base, &s, 7, ROWS), 0);
    assert_int_equal(s.run(base, &s, 0, 7), 0);
    for (int i = 0; i < ROWS * WIDTH * C; i++) {
        const int r = i / (WIDTH * C) / EVERY % OWN;
        const int at = slot ? slot[r] : r;
        assert_true(y[i] == image[i] * other[at * WIDTH + i / C % WIDTH]);
    }
    free(image);
    free(other);
}

static void rows_that_come_again(void **state)
{
    (void)state;
    const uint16_t last_first[] = { 1, 0 };
    check_rows_again(NULL);
    check_rows_again(last_first);
}

static void unary_rows(void **state)
{
    (void)state;
    enum { ROWS = 4, WIDTH = 5, C = 19 };
    float *image = rnd_floats(ROWS * WIDTH * C), got[ROWS * WIDTH * C];
    for (int kind = 0; kind < 4; kind++) {
        const int gap = kind & 1, cap = kind & 2 ? 3 : ROWS;
        Ring x = ring_new(ROWS, WIDTH, C, cap, C + gap, 0),
             y = ring_new(ROWS, WIDTH, C, ROWS, C + 2 * gap, gap);
        const inlay_flat_params p = { WIDTH * C, C, 0.25, 0 };
        const inlay_ref ref[] = { ring_ref(&y, 0), ring_ref(&x, 1) };
        const inlay_step s = { inlay_leaky_relu_f32, &p, ref, ROWS, 0 };
        void *base[] = { y.memory, x.memory };
        for (int r = 0; r < ROWS; r++) {
            ring_put(&x, r, image);
            if (cap < ROWS || r == ROWS - 1)
                assert_int_equal(s.run(base, &s, cap < ROWS ? r : 0, r + 1), 0);
        }
        for (int r = 0; r < ROWS; r++)
            ring_get(&y, r, got);
        for (int i = 0; i < ROWS * WIDTH * C; i++)
            assert_true(got[i] == (image[i] < 0 ? 0.25f * image[i] : image[i]));
        ring_check_guards(&y);
        free(x.memory);
        free(y.memory);
    }
    free(image);
}

static void on_its_own_operand(void **state)
{
    (void)state;
    for (int n = 1; n < 70; n++) {
        float *a = rnd_floats((size_t)n), *b = rnd_floats((size_t)n),
              *want = malloc((size_t)n * sizeof *want);
        const inlay_nd2_params p = {
            .rank = 1, .pixel = -1, .n = { n }, .a = { 1 }, .b = { 1 }
        };
        for (int i = 0; i < n; i++)
            want[i] = a[i] * b[i];
        if (n & 1)
            RUN(inlay_mul_f32, &p, a, a, b);
        else
            RUN(inlay_mul_f32, &p, b, a, b);
        assert_memory_equal(n & 1 ? a : b, want, (size_t)n * sizeof *want);
        free(a);
        free(b);
        free(want);
    }
}

/* The roots of vectors are those of single numbers, of negative ones too, over the operand. */
static void roots(void **state)
{
    (void)state;
    for (int n = 1; n < 70; n++) {
        float *x = rnd_floats((size_t)n);
        float *want = malloc((size_t)n * sizeof *want);
        for (int i = 0; i < n; i++)
            want[i] = sqrtf(x[i]);
        inlay_roots_f32(x, x, n);
        for (int i = 0; i < n; i++)
            assert_true(x[i] == want[i] || (isnan(x[i]) && isnan(want[i])));
        free(x);
        free(want);
    }
}

/* Greatest error over a range, in units of the last place of the exact value. */
static double worst_ulp(float (*f)(float), double (*exact)(double), float from,
                        float to)
{
    double worst = 0.0;
    for (int i = 0; i <= 200000; i++) {
        const float x = from + (to - from) * (float)i / 200000.0f;
        const double want = exact((double)x);
        const float near = (float)want;
        const double unit = fabs((double)(nextafterf(near, INFINITY) - near));
        const double error = fabs((double)f(x) - want) / unit;
        if (error > worst)
            worst = error;
    }
    return worst;
}

static float fast_sigmoid(float x)
{
    return inlay_act_sigmoid_f32(x, 0.0f, 0.0f);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void functions(void **state)
{
    (void)state;
    assert_true(worst_ulp(inlay_exp_f, exp, -87.0f, 88.7f) < 1.6);
    assert_true(worst_ulp(inlay_exp_f, exp, -1.0f, 1.0f) < 1.6);
    assert_true(worst_ulp(inlay_expm1_f, expm1, -2.0f, 2.0f) < 3.0);
    assert_true(worst_ulp(inlay_tanh_f, tanh, -1.0f, 1.0f) < 3.0);
    assert_true(worst_ulp(inlay_tanh_f, tanh, -12.0f, 12.0f) < 3.0);
    assert_true(worst_ulp(inlay_erf_f, erf, -1.0f, 1.0f) < 2.5);
    assert_true(worst_ulp(inlay_erf_f, erf, -5.0f, 5.0f) < 2.5);
    assert_true(worst_ulp(fast_sigmoid, sigmoid, -80.0f, 20.0f) < 3.0);
    assert_true(inlay_exp_f(INFINITY) == INFINITY &&
                inlay_exp_f(-INFINITY) == 0.0f && isnan(inlay_exp_f(NAN)));
    assert_true(inlay_exp_f(100.0f) == INFINITY && inlay_exp_f(0.0f) == 1.0f);
    assert_true(fabs((double)inlay_exp_f(-100.0f) - exp(-100.0)) < 3e-45);
    assert_true(inlay_tanh_f(INFINITY) == 1.0f &&
                inlay_tanh_f(-50.0f) == -1.0f && isnan(inlay_tanh_f(NAN)));
    assert_true(inlay_erf_f(INFINITY) == 1.0f && inlay_erf_f(-9.0f) == -1.0f &&
                isnan(inlay_erf_f(NAN)));
    assert_true(signbit(inlay_tanh_f(-0.0f)) && signbit(inlay_erf_f(-0.0f)));
}

#if INLAY_VL > 1

/* A function of vectors at one number, in the last lane. */
static float last_lane(inlay_vf (*f)(inlay_vf), float x)
{
    float lane[INLAY_VL] = { 0 };
    lane[INLAY_VL - 1] = x;
    INLAY_V(store)(lane, f(INLAY_V(load)(lane)));
    return lane[INLAY_VL - 1];
}

static float vector_exp(float x)
{
    return last_lane(inlay_exp_v, x);
}

static float vector_expm1(float x)
{
    return last_lane(inlay_expm1_v, x);
}

static float vector_tanh(float x)
{
    return last_lane(inlay_tanh_v, x);
}

static float vector_erf(float x)
{
    return last_lane(inlay_erf_v, x);
}

static inlay_vf sigmoids(inlay_vf x)
{
    return inlay_act_sigmoid_v(x, inlay_all(0.0f), inlay_all(0.0f));
}

static float vector_sigmoid(float x)
{
    return last_lane(sigmoids, x);
}

static float vector_exp_normal(float x)
{
    return last_lane(inlay_exp_normal_v, x);
}

static float vector_log1p(float x)
{
    return last_lane(inlay_log1p_v, x);
}

static float vector_log(float x)
{
    return last_lane(inlay_log_v, x);
}

static float vector_sin(float x)
{
    return last_lane(inlay_sin_v, x);
}

static float vector_cos(float x)
{
    return last_lane(inlay_cos_v, x);
}

static float vector_asin(float x)
{
    return last_lane(inlay_asin_v, x);
}

static float vector_acos(float x)
{
    return last_lane(inlay_acos_v, x);
}

static float vector_atan(float x)
{
    return last_lane(inlay_atan_v, x);
}

static float vector_floor(float x)
{
    return last_lane(inlay_floor_v, x);
}

static float vector_ceil(float x)
{
    return last_lane(inlay_ceil_v, x);
}

#else
#define vector_log logf
#define vector_sin sinf
#define vector_cos cosf
#define vector_asin asinf
#define vector_acos acosf
#define vector_atan atanf
#define vector_floor floorf
#define vector_ceil ceilf
#define vector_exp inlay_exp_f
#define vector_expm1 inlay_expm1_f
#define vector_tanh inlay_tanh_f
#define vector_erf inlay_erf_f
#define vector_sigmoid fast_sigmoid
#define vector_exp_normal inlay_exp_f
#define vector_log1p log1pf
#endif

/* Floats of all sizes and signs, infinities and NaN among them. */
enum { FLOAT_STRIDE = 6007 };

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double error_ulp(float got, double want)
{
    const float near = (float)want;
    const float size = fabsf(near);
    if (isnan(want))
        return isnan(got) ? 0.0 : HUGE_VAL;
    if (isinf(near))
        return got == near ? 0.0 : HUGE_VAL;
    return fabs((double)got - want) /
           (double)(nextafterf(size, INFINITY) - size);
}

static void check_everywhere(const char *name, float (*f)(float),
                             double (*exact)(double), double most)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += FLOAT_STRIDE) {
        const float x = float_of((uint32_t)bits);
        const double error = error_ulp(f(x), exact((double)x));
        if (!(error <= most))
            fail_msg("%s(%.9g) is %.9g, %g units off", name, (double)x,
                     (double)f(x), error);
    }
}

static void everywhere(void **state)
{
    (void)state;
    check_everywhere("log", vector_log, log, 1.5);
    check_everywhere("sin", vector_sin, sin, 2.0);
    check_everywhere("cos", vector_cos, cos, 2.0);
    check_everywhere("asin", vector_asin, asin, 2.0);
    check_everywhere("acos", vector_acos, acos, 2.0);
    check_everywhere("atan", vector_atan, atan, 2.0);
    check_everywhere("tanh", vector_tanh, tanh, 2.5);
    check_everywhere("erf", vector_erf, erf, 2.5);
    check_everywhere("floor", vector_floor, floor, 0.0);
    check_everywhere("ceil", vector_ceil, ceil, 0.0);
    assert_true(worst_ulp(vector_log, log, 0.3f, 3.0f) < 1.5);
    assert_true(worst_ulp(vector_sin, sin, -4096.0f, 4096.0f) < 2.0);
    assert_true(worst_ulp(vector_cos, cos, -4096.0f, 4096.0f) < 2.0);
    assert_true(worst_ulp(vector_asin, asin, -1.0f, 1.0f) < 2.0);
    assert_true(worst_ulp(vector_acos, acos, -1.0f, 0.999f) < 2.0);
    assert_true(worst_ulp(vector_atan, atan, -9.0f, 9.0f) < 2.0);
    assert_true(worst_ulp(vector_floor, floor, -9.0f, 9.0f) <= 0.0);
    assert_true(worst_ulp(vector_ceil, ceil, -9.0f, 9.0f) <= 0.0);
    assert_true(signbit(vector_sin(-0.0f)) && signbit(vector_ceil(-0.5f)));
    assert_true(signbit(vector_asin(-0.0f)) && signbit(vector_atan(-0.0f)));
}

static void functions_of_vectors(void **state)
{
    (void)state;
    assert_true(worst_ulp(vector_exp, exp, -87.0f, 88.7f) < 1.6);
    assert_true(worst_ulp(vector_exp, exp, -1.0f, 1.0f) < 1.6);
    assert_true(worst_ulp(vector_expm1, expm1, -2.0f, 2.0f) < 3.0);
    assert_true(worst_ulp(vector_tanh, tanh, -1.0f, 1.0f) < 3.0);
    assert_true(worst_ulp(vector_tanh, tanh, -12.0f, 12.0f) < 3.0);
    assert_true(worst_ulp(vector_erf, erf, -1.0f, 1.0f) < 2.5);
    assert_true(worst_ulp(vector_erf, erf, -5.0f, 5.0f) < 2.5);
    assert_true(worst_ulp(vector_sigmoid, sigmoid, -80.0f, 20.0f) < 2.5);
    assert_true(worst_ulp(vector_exp_normal, exp, -87.0f, 88.3f) < 1.6);
    assert_true(worst_ulp(vector_log1p, log1p, 0.0f, 1.0f) < 2.0);
    assert_true(vector_sigmoid(-INFINITY) == 0.0f);
    assert_true(vector_sigmoid(INFINITY) == 1.0f && isnan(vector_sigmoid(NAN)));
    assert_true(fabsf(vector_exp_normal(-INFINITY)) < 1.2e-38f);
    assert_true(vector_exp(INFINITY) == INFINITY && isnan(vector_exp(NAN)));
    assert_true(vector_exp(-INFINITY) == 0.0f && vector_exp(0.0f) == 1.0f);
    assert_true(vector_exp(100.0f) == INFINITY);
    assert_true(fabs((double)vector_exp(-100.0f) - exp(-100.0)) < 3e-45);
    assert_true(vector_tanh(INFINITY) == 1.0f && isnan(vector_tanh(NAN)));
    assert_true(vector_tanh(-50.0f) == -1.0f && signbit(vector_tanh(-0.0f)));
    assert_true(vector_erf(INFINITY) == 1.0f && isnan(vector_erf(NAN)));
    assert_true(vector_erf(-9.0f) == -1.0f && signbit(vector_erf(-0.0f)));
}

/* One exponent for all, some of which need no pow. */
static void powers(void **state)
{
    (void)state;
    enum { MOST = 67 };
    const float exponents[] = { 3.0f, 0.5f, 2.5f };
    for (int round = 0; round < 3000; round++) {
        const int32_t n = 1 + round % MOST;
        const inlay_nd2_params p = {
            .rank = 1, .pixel = -1, .n = { n }, .a = { 1 }, .b = { 0 }
        };
        float exponent = exponents[round % 3];
        float x[MOST] = { -0.0f, -INFINITY, INFINITY, NAN, -1.0f }, y[MOST];
        for (int32_t i = round % 2 ? 0 : 5; i < n; i++)
            x[i] = float_of(rnd(UINT32_MAX) << 1);
        RUN(inlay_pow_f32, &p, y, x, &exponent);
        for (int32_t i = 0; i < n; i++) {
            const double want = pow((double)x[i], (double)exponent);
            if (fabs(want) > 1e-37 || want == 0.0 || isnan(want))
                assert_true(error_ulp(y[i], want) < 1.5);
            if (want == 0.0)
                assert_true(!signbit(y[i]) == !signbit(want));
        }
    }
}

/* Every pair of bytes. */
static void bytes(void **state)
{
    (void)state;
    static int8_t a[65536], b[65536], y[65536];
    const inlay_nd2_params p = {
        .rank = 1, .pixel = -1, .n = { 65536 }, .a = { 1 }, .b = { 1 }
    };
    for (int i = 0; i < 65536; i++) {
        a[i] = (int8_t)(i & 255);
        b[i] = (int8_t)(i >> 8);
    }
    RUN(inlay_add_i8, &p, y, a, b);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(y[i], (int8_t)(a[i] + b[i]));
    RUN(inlay_mul_i8, &p, y, a, b);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(y[i], (int8_t)(a[i] * b[i]));
    RUN(inlay_div_i8, &p, y, a, b);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(y[i], b[i] ? (int8_t)(a[i] / b[i]) : 0);
    RUN(inlay_mod_i8, &p, y, a, b);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(y[i], b[i] ? ((a[i] % b[i]) + b[i]) % b[i] : 0);
    RUN(inlay_max_i8, &p, y, a, b);
    for (int i = 0; i < 65536; i++)
        assert_int_equal(y[i], a[i] > b[i] ? a[i] : b[i]);
}

static void edges(void **state)
{
    (void)state;
    const inlay_nd2_params p = {
        .rank = 1, .pixel = -1, .n = { 4 }, .a = { 1 }, .b = { 1 }
    };
    int64_t a[] = { INT64_MIN, INT64_MAX, -7, 3 }, b[] = { -1, 2, 2, 40 }, y[4];
    RUN(inlay_div_i64, &p, y, a, b);
    assert_true(y[0] == INT64_MIN && y[1] == INT64_MAX / 2 && y[2] == -3 &&
                y[3] == 0);
    RUN(inlay_mod_i64, &p, y, a, b);
    assert_true(y[0] == 0 && y[1] == 1 && y[2] == 1 && y[3] == 3);
    RUN(inlay_pow_i64, &p, y, a, b);
    assert_true(y[0] == 0 && y[2] == 49 &&
                y[3] == INT64_C(-6289078614652622815));
    uint16_t c[] = { 65535, 65535, 1, 8 }, d[] = { 65535, 1, 16, 3 }, z[4];
    RUN(inlay_mul_u16, &p, z, c, d);
    assert_true(z[0] == 1 && z[1] == 65535 && z[2] == 16 && z[3] == 24);
    RUN(inlay_shl_u16, &p, z, c, d);
    assert_true(z[0] == 0 && z[1] == 65534 && z[2] == 0 && z[3] == 64);
    float e[] = { NAN, 1, -0.0f, INFINITY }, f[] = { 1, NAN, 2, -INFINITY },
          g[4];
    RUN(inlay_max_f32, &p, g, e, f);
    assert_true(isnan(g[0]) && isnan(g[1]) && g[2] == 2 && g[3] == INFINITY);
    RUN(inlay_min_f32, &p, g, e, f);
    assert_true(isnan(g[0]) && isnan(g[1]) && g[2] == 0 && g[3] == -INFINITY);
    float h[] = { 4, -4, 4, -0.0f }, k[] = { -2, 2, 2, 3 };
    RUN(inlay_mod_f32, &p, g, h, k);
    for (int i = 0; i < 4; i++)
        assert_true(g[i] == 0 && !signbit(g[i]) == (k[i] > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasts),
        cmocka_unit_test(rows_and_pixels),
        cmocka_unit_test(rows_that_come_again),
        cmocka_unit_test(unary_rows),
        cmocka_unit_test(on_its_own_operand),
        cmocka_unit_test(roots),
        cmocka_unit_test(functions),
        cmocka_unit_test(functions_of_vectors),
        cmocka_unit_test(everywhere),
        cmocka_unit_test(powers),
        cmocka_unit_test(bytes),
        cmocka_unit_test(edges),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
