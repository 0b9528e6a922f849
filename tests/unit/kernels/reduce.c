/* SPDX-License-Identifier: Apache-2.0
 * Reductions over random axes against index arithmetic, axes as values, long sums, Softmax,
 * normalizations. */
#include "steps.h"

#include "kernels/norm.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"

typedef struct Axes {
    int rank;
    int32_t dim[4];
    bool gone[4];
    size_t in, out;
} Axes;

static Axes random_axes(int most)
{
    Axes a = { .rank = 1 + (int)rnd(4), .in = 1, .out = 1 };
    for (int i = 0; i < a.rank; i++) {
        a.dim[i] = 1 + (int32_t)rnd((uint32_t)(i == a.rank - 1 ? most : 5));
        a.gone[i] = rnd(2);
        a.in *= (size_t)a.dim[i];
        if (!a.gone[i])
            a.out *= (size_t)a.dim[i];
    }
    return a;
}

/* Place in the result of element i of the operand. */
static size_t place_of(const Axes *a, size_t i)
{
    size_t at = 0, step = 1;
    for (int d = a->rank - 1; d >= 0; d--) {
        const size_t k = i % (size_t)a->dim[d];
        i /= (size_t)a->dim[d];
        if (a->gone[d])
            continue;
        at += k * step;
        step *= (size_t)a->dim[d];
    }
    return at;
}

static inlay_reduce_params loops_of(const Axes *a)
{
    inlay_reduce_params p = { .columns = !a->gone[a->rank - 1],
                              .count = (int32_t)(a->in / a->out) };
    int32_t step = (int32_t)a->in;
    for (int i = 0; i < a->rank; i++) {
        step /= a->dim[i];
        if (a->gone[i]) {
            p.nr[p.reduced] = a->dim[i];
            p.sr[p.reduced++] = step;
        } else {
            p.nk[p.kept] = a->dim[i];
            p.sk[p.kept++] = step;
        }
    }
    if (!p.kept)
        p.nk[p.kept++] = 1;
    if (!p.reduced)
        p.nr[p.reduced++] = 1;
    return p;
}

static void random_reductions(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        const Axes a = random_axes(round % 10 ? 40 : 3000);
        const inlay_reduce_params p = loops_of(&a);
        float *x = rnd_floats(a.in), *y = rnd_floats(a.out),
              *top = rnd_floats(a.out);
        double *sum = calloc(a.out, sizeof *sum),
               *most = malloc(a.out * sizeof *most);
        for (size_t i = 0; i < a.out; i++)
            most[i] = -(double)INFINITY;
        for (size_t i = 0; i < a.in; i++) {
            const size_t k = place_of(&a, i);
            sum[k] += (double)x[i] * (double)x[i];
            if ((double)x[i] > most[k])
                most[k] = (double)x[i];
        }
        assert_int_equal(RUN(inlay_reduce_l2_f32, &p, y, x), 0);
        assert_int_equal(RUN(inlay_reduce_max_f32, &p, top, x), 0);
        for (size_t i = 0; i < a.out; i++) {
            assert_float_equal(y[i], (float)sqrt(sum[i]),
                               2e-6f * (1 + (float)sqrt(sum[i])));
            assert_true((double)top[i] == most[i]);
        }
        free(x);
        free(y);
        free(top);
        free(sum);
        free(most);
    }
}

/* NaN stays, wherever it is; so does an infinity that is beyond all else. */
static void not_a_number(void **state)
{
    (void)state;
    enum { N = 41 };
    const inlay_reduce_params line = { .kept = 1,
                                       .reduced = 1,
                                       .count = N,
                                       .nk = { 1 },
                                       .nr = { N },
                                       .sr = { 1 } };
    for (int at = 0; at < N; at++) {
        float x[N], y;
        for (int i = 0; i < N; i++)
            x[i] = (float)(i * 7 % 11);
        x[at] = INFINITY;
        RUN(inlay_reduce_max_f32, &line, &y, x);
        assert_true(y == INFINITY);
        x[at] = -INFINITY;
        RUN(inlay_reduce_min_f32, &line, &y, x);
        assert_true(y == -INFINITY);
        x[at] = NAN;
        RUN(inlay_reduce_max_f32, &line, &y, x);
        assert_true(isnan(y));
        RUN(inlay_reduce_min_f32, &line, &y, x);
        assert_true(isnan(y));
    }
}

/* Places of the largest and the smallest along the middle axis, of equals the first or last. */
static void random_places(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        const int line = round % 2;
        const inlay_arg_params p = { 1 + (int32_t)rnd(3),
                                     1 + (int32_t)rnd(line ? 60 : 9),
                                     line ? 1 : 1 + (int32_t)rnd(40),
                                     (int32_t)rnd(2) };
        const size_t n = (size_t)(p.outer * p.n * p.inner);
        float *x = rnd_floats(n);
        int64_t *most = calloc(n, sizeof *most),
                *least = calloc(n, sizeof *least);
        for (size_t i = 0; i < n; i++)
            x[i] = rnd(50) ? (float)rnd(5) : NAN;
        RUN(inlay_argmax_f32, &p, most, x);
        RUN(inlay_argmin_f32, &p, least, x);
        for (int i = 0; i < p.outer * p.inner; i++) {
            const float *from = x + i / p.inner * p.n * p.inner + i % p.inner;
            int high = 0, low = 0;
            for (int k = 1; k < p.n; k++) {
                const float v = from[k * p.inner];
                if (v > from[high * p.inner] ||
                    (p.last && v >= from[high * p.inner]))
                    high = k;
                if (v < from[low * p.inner] ||
                    (p.last && v <= from[low * p.inner]))
                    low = k;
            }
            assert_int_equal(most[i], high);
            assert_int_equal(least[i], low);
        }
        free(x);
        free(most);
        free(least);
    }
}

static void axes_as_values(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        const Axes a = random_axes(20);
        const inlay_reduce_params fixed = loops_of(&a);
        inlay_reduce_params p = { .values = 1, .kept = a.rank, .none = 1 };
        int64_t axes[4];
        for (int i = 0; i < a.rank; i++) {
            p.nk[i] = a.dim[i];
            if (a.gone[i])
                axes[p.axes++] = rnd(2) ? i : i - a.rank;
            else if (a.dim[i] != 1)
                p.nr[p.reduced++] = a.dim[i];
        }
        float *x = rnd_floats(a.in), *y = rnd_floats(a.out),
              *want = rnd_floats(a.out);
        assert_int_equal(RUN(inlay_reduce_sum_f32, &fixed, want, x), 0);
        assert_int_equal(RUN(inlay_reduce_sum_f32, &p, y, x, axes), 0);
        check_close(y, want, a.out, 20.0);
        assert_int_equal(RUN(inlay_reduce_log_sum_exp_f32, &p, y, x, axes), 0);
        for (size_t i = 0; i < a.in; i++)
            x[i] = expf(x[i]);
        assert_int_equal(RUN(inlay_reduce_log_sum_f32, &fixed, want, x), 0);
        check_close(y, want, a.out, 20.0);
        p.nr[0] = p.reduced ? p.nr[0] + 1 : 2;
        p.reduced += !p.reduced;
        assert_int_equal(RUN(inlay_reduce_sum_f32, &p, y, x, axes),
                         -INLAY_E_SHAPE);
        free(x);
        free(y);
        free(want);
    }
}

/* A million times 0.1: one accumulator would be wrong in the third digit. */
static void long_sums(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    float *x = malloc(N * sizeof *x), y;
    for (int i = 0; i < N; i++)
        x[i] = 0.1f;
    const inlay_reduce_params line = { .kept = 1,
                                       .reduced = 1,
                                       .count = N,
                                       .nk = { 1 },
                                       .nr = { N },
                                       .sr = { 1 } };
    RUN(inlay_reduce_sum_f32, &line, &y, x);
    assert_float_equal(y, 0.1f * N, 2.0f);
    float columns[16];
    const inlay_reduce_params column = { .kept = 1,
                                         .reduced = 1,
                                         .columns = 1,
                                         .count = N / 16,
                                         .nk = { 16 },
                                         .sk = { 1 },
                                         .nr = { N / 16 },
                                         .sr = { 16 } };
    RUN(inlay_reduce_sum_f32, &column, columns, x);
    for (int i = 0; i < 16; i++)
        assert_float_equal(columns[i], 0.1f * (N / 16), 0.2f);
    free(x);
}

static void empty_and_arg(void **state)
{
    (void)state;
    const inlay_reduce_params none = { .kept = 1, .reduced = 1, .nk = { 2 } };
    float y[2], *x = rnd_floats(16);
    int32_t z[2], v[] = { 3, 9, 9, 1, 1, 5 };
    RUN(inlay_reduce_max_f32, &none, y, x);
    free(x);
    assert_true(y[0] == -INFINITY && y[1] == -INFINITY);
    RUN(inlay_reduce_prod_i32, &none, z, v);
    assert_true(z[0] == 1 && z[1] == 1);
    int64_t at[2];
    const inlay_arg_params first = { 2, 3, 1, 0 }, last = { 2, 3, 1, 1 };
    RUN(inlay_argmax_i32, &first, at, v);
    assert_true(at[0] == 1 && at[1] == 2);
    RUN(inlay_argmax_i32, &last, at, v);
    assert_true(at[0] == 2 && at[1] == 2);
    RUN(inlay_argmin_i32, &last, at, v);
    assert_true(at[0] == 0 && at[1] == 1);
}

static void softmaxes(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        const bool is_long = !(round % 4);
        const inlay_softmax_params p = { 1 + (int32_t)rnd(4),
                                         1 + (int32_t)rnd(is_long ? 400 : 60),
                                         1 + (int32_t)rnd(is_long ? 40 : 3),
                                         0 };
        const size_t n = (size_t)(p.outer * p.n * p.inner);
        float *x = rnd_floats(n), *y = rnd_floats(n), *log_y = rnd_floats(n);
        for (size_t i = 0; i < n; i++)
            x[i] *= round & 1 ? 200.0f : 5.0f;
        RUN(inlay_softmax_f32, &p, y, x);
        RUN(inlay_log_softmax_f32, &p, log_y, x);
        for (int o = 0; o < p.outer; o++)
            for (int k = 0; k < p.inner; k++) {
                double sum = 0, most = -(double)INFINITY;
                for (int i = 0; i < p.n; i++)
                    most = fmax(most, (double)x[(o * p.n + i) * p.inner + k]);
                for (int i = 0; i < p.n; i++)
                    sum += exp((double)x[(o * p.n + i) * p.inner + k] - most);
                for (int i = 0; i < p.n; i++) {
                    const int at = (o * p.n + i) * p.inner + k;
                    assert_float_equal(
                        y[at], (float)(exp((double)x[at] - most) / sum), 1e-6f);
                    assert_float_equal(log_y[at],
                                       (float)((double)x[at] - most - log(sum)),
                                       1e-4f);
                }
            }
        free(x);
        free(y);
        free(log_y);
    }
}

/* What -infinity masks is 0, in lines of any length; so is what lies far below. */
static void masked_lines(void **state)
{
    (void)state;
    enum { MOST = 70 };
    float x[MOST], y[MOST];
    for (int n = 2; n < MOST; n++)
        for (int inner = 1; inner <= 2; inner++) {
            const inlay_softmax_params p = { 1, n / inner, inner, 0 };
            for (int i = 0; i < n; i++)
                x[i] = i & 1 ? -INFINITY : -1e30f;
            for (int i = 0; i < inner; i++)
                x[i] = 3.0f;
            RUN(inlay_softmax_f32, &p, y, x);
            for (int i = 0; i < n / inner * inner; i++)
                assert_true(y[i] == (i < inner ? 1.0f : 0.0f));
        }
}

/* One at the first maximum, zeros elsewhere, in lines of any length. A NaN is a line's maximum
 * where it is the first number, and nowhere else. */
static void hard_maxima(void **state)
{
    (void)state;
    enum { MOST = 140 };
    const float some[] = { -INFINITY, -1.0f, -0.0f, 0.0f, 2.0f, NAN };
    float x[MOST], y[MOST];
    for (int round = 0; round < 4 * MOST; round++) {
        const int inner = 1 + round % 2;
        const int n = 1 + (int)rnd(MOST / 2);
        const inlay_softmax_params p = { 1, n, inner, 0 };
        const uint32_t kinds = 1 + rnd(6);
        for (int i = 0; i < n * inner; i++)
            x[i] = some[rnd(kinds)];
        RUN(inlay_hardmax_f32, &p, y, x);
        for (int k = 0; k < inner; k++) {
            int at = k;
            for (int i = k; i < n * inner; i += inner)
                at = x[i] > x[at] ? i : at;
            for (int i = k; i < n * inner; i += inner)
                assert_true(y[i] == (i == at ? 1.0f : 0.0f));
        }
    }
}

/* InstanceNormalization in both layouts: the same numbers. */
static void norms(void **state)
{
    (void)state;
    enum { N = 2, C = 21, S = 1500 };
    float *x = rnd_floats(N * C * S), *planes = rnd_floats(N * C * S),
          *y = rnd_floats(N * C * S), *z = rnd_floats(N * C * S), scale[C],
          bias[C];
    for (int c = 0; c < C; c++) {
        scale[c] = rnd_float() + 2.0f;
        bias[c] = rnd_float();
    }
    for (int i = 0; i < N * C * S; i++)
        planes[i] = x[(i / (C * S)) * C * S + i % S * C + i / S % C] += 3.0f;
    const inlay_norm_params last = { N, S, C, 1, 1, 0, 1, S, 0, 1e-5 },
                            first = { N * C, S, 1, 1, C, 1, 0, S, 0, 1e-5 };
    RUN(inlay_norm_f32, &last, y, NULL, NULL, x, scale, bias);
    RUN(inlay_norm_f32, &first, z, NULL, NULL, planes, scale, bias);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++) {
            double mean = 0, var = 0;
            for (int i = 0; i < S; i++)
                mean += (double)planes[(n * C + c) * S + i] / S;
            for (int i = 0; i < S; i++)
                var += ((double)planes[(n * C + c) * S + i] - mean) *
                       ((double)planes[(n * C + c) * S + i] - mean) / S;
            for (int i = 0; i < S; i++) {
                const double want =
                    ((double)planes[(n * C + c) * S + i] - mean) /
                        sqrt(var + 1e-5) * (double)scale[c] +
                    (double)bias[c];
                assert_float_equal(z[(n * C + c) * S + i], (float)want, 1e-4f);
                assert_float_equal(y[(n * S + i) * C + c], (float)want, 1e-4f);
            }
        }
    free(x);
    free(planes);
    free(y);
    free(z);
}

/* LayerNormalization, and by the root mean square alone, of a line with or without a bias. */
static double norm_of(const float *x, int n, bool center, int i)
{
    double mean = 0;
    double square = 0;
    for (int k = 0; k < n && center; k++)
        mean += (double)x[k] / n;
    for (int k = 0; k < n; k++)
        square += ((double)x[k] - mean) * ((double)x[k] - mean) / n;
    return ((double)x[i] - mean) / sqrt(square + 1e-5);
}

static void lines(void **state)
{
    (void)state;
    for (int n = 1; n < 2100; n += n < 70 ? 1 : 311) {
        const bool center = rnd(2);
        float *x = rnd_floats((size_t)n);
        float *y = rnd_floats((size_t)n);
        float *scale = rnd_floats((size_t)n);
        float *bias = rnd(2) ? rnd_floats((size_t)n) : NULL;
        const inlay_norm_params p = { 1, n, 1, center, 1, 0, 0, 1, 1, 1e-5 };
        RUN(inlay_norm_f32, &p, y, NULL, NULL, x, scale, bias);
        for (int i = 0; i < n; i++) {
            const double want = norm_of(x, n, center, i) * (double)scale[i] +
                                (bias ? (double)bias[i] : 0.0);
            assert_float_equal(y[i], (float)want, 2e-5f);
        }
        free(x);
        free(y);
        free(scale);
        free(bias);
    }
}

/* Lines in one call have the bits of lines one by one, wherever y lies over x: apart, or up to a
 * line in front of it. */
static void lines_together(void **state)
{
    (void)state;
    enum { ROWS = 11, MOST = 1024 };
    float *one = rnd_floats(MOST);
    float *at = rnd_floats((ROWS + 1) * MOST);
    float *scale = rnd_floats(MOST);
    float *bias = rnd_floats(MOST);
    for (int n = 1; n <= MOST; n = n < 80 ? n + 1 : n + 236) {
        const inlay_norm_params p = {
            1, n, 1, (int)rnd(2), 1, 0, 0, 1, 1, 1e-5
        };
        const int units = 1 + (int)rnd(ROWS);
        const int ahead = (int)rnd((uint32_t)n + 1);
        float *b = rnd(2) ? bias : NULL;
        float *x = rnd_floats((size_t)(units * n));
        memcpy(at + ahead, x, (size_t)(units * n) * sizeof *x);
        void *base[] = { at, at + ahead, scale, b };
        const size_t row = (size_t)n * sizeof *x;
        const inlay_ref ref[] = {
            { .base = 0, .row = row, .cap = units },
            { .base = INLAY_NONE, .cap = 1 },
            { .base = INLAY_NONE, .cap = 1 },
            { .base = 1, .row = row, .cap = units },
            { .base = 2, .cap = 1 },
            { .base = b ? 3 : INLAY_NONE, .cap = 1 },
        };
        const inlay_step s = {
            .run = inlay_norm_f32, .params = &p, .ref = ref, .units = units
        };
        assert_int_equal(s.run(base, &s, 0, units), 0);
        for (int r = 0; r < units; r++) {
            RUN(inlay_norm_f32, &p, one, NULL, NULL, x + r * n, scale, b);
            assert_memory_equal(at + r * n, one, row);
        }
        free(x);
    }
    free(one);
    free(at);
    free(scale);
    free(bias);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_reductions),
        cmocka_unit_test(axes_as_values),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(random_places),
        cmocka_unit_test(long_sums),
        cmocka_unit_test(empty_and_arg),
        cmocka_unit_test(softmaxes),
        cmocka_unit_test(masked_lines),
        cmocka_unit_test(hard_maxima),
        cmocka_unit_test(norms),
        cmocka_unit_test(lines),
        cmocka_unit_test(lines_together),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
