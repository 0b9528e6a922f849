/* SPDX-License-Identifier: Apache-2.0
 * Pooling kernels, and the plain windows, against naive ones: random geometries, rings, both
 * directions. */
#include "images.h"

#include "kernels/pool.h"
#include "kernels/window_plain.h"

#ifndef ROUNDS
#define ROUNDS 200
#endif
enum { MOST_CHANNELS = ROUNDS < 200 ? 20 : 100 };

typedef struct Case {
    /* channels last; describes the case for the row kernels as well */
    inlay_window_params p;
    float *x, *want_max, *want_mean;
    int64_t *want_index;
    int x_rows, y_rows, c;
} Case;

static void dimension(inlay_window_params *p, int i, bool used)
{
    p->kernel[i] = used ? 1 + (int32_t)rnd(4) : 1;
    p->stride[i] = used ? 1 + (int32_t)rnd(3) : 1;
    p->dilation[i] = used && !rnd(3) ? 1 + (int32_t)rnd(2) : 1;
    p->pad[i] = used ? (int32_t)rnd((uint32_t)p->kernel[i]) : 0;
    p->end[i] = used ? (int32_t)rnd((uint32_t)p->kernel[i]) : 0;
    const int32_t extent = (p->kernel[i] - 1) * p->dilation[i] + 1,
                  least = extent - p->pad[i] - p->end[i];
    p->in[i] = used ? (least > 1 ? least : 1) + (int32_t)rnd(7) : 1;
    p->out[i] = (p->in[i] + p->pad[i] + p->end[i] - extent) / p->stride[i] + 1;
}

static size_t place(const Case *t, const int32_t *size, int n, int d, int h,
                    int w, int c)
{
    return ((((size_t)n * (size_t)size[0] + (size_t)d) * (size_t)size[1] +
             (size_t)h) *
                (size_t)size[2] +
            (size_t)w) *
               (size_t)t->c +
           (size_t)c;
}

/* One output of the naive pools. */
static void naive_at(Case *t, int n, int z, int r, int c, int i)
{
    const inlay_window_params *p = &t->p;
    const size_t out = place(t, p->out, n, z, r, c, i);
    double sum = 0.0;
    int count = 0, padded = 0;
    t->want_max[out] = -INFINITY;
    t->want_index[out] = 0;
    for (int a = 0; a < p->kernel[0]; a++)
        for (int b = 0; b < p->kernel[1]; b++)
            for (int e = 0; e < p->kernel[2]; e++) {
                const int d = z * p->stride[0] - p->pad[0] + a * p->dilation[0],
                          h = r * p->stride[1] - p->pad[1] + b * p->dilation[1];
                const int w = c * p->stride[2] - p->pad[2] + e * p->dilation[2];
                padded += d < p->in[0] + p->end[0] &&
                          h < p->in[1] + p->end[1] && w < p->in[2] + p->end[2];
                if (d < 0 || d >= p->in[0] || h < 0 || h >= p->in[1] || w < 0 ||
                    w >= p->in[2])
                    continue;
                const float v = t->x[place(t, p->in, n, d, h, w, i)];
                if (!count++ || v > t->want_max[out]) {
                    t->want_max[out] = v;
                    t->want_index[out] =
                        (((n * t->c + i) * p->in[0] + d) * (int64_t)p->in[1] +
                         h) *
                            p->in[2] +
                        w;
                }
                sum += (double)v;
            }
    const int by = p->count_pad ? padded : count;
    t->want_mean[out] = by ? (float)(sum / by) : 0.0f;
}

static Case random_case(bool planes)
{
    Case t = { .c = 1 + (int)rnd(MOST_CHANNELS) };
    inlay_window_params *p = &t.p;
    p->images = 1 + (int32_t)rnd(2);
    p->groups = 1;
    p->ic = p->oc = t.c;
    p->count_pad = (int32_t)rnd(2);
    dimension(p, 0, planes);
    dimension(p, 1, true);
    dimension(p, 2, true);
    const int32_t *size[2] = { p->in, p->out };
    for (int i = 0; i < 2; i++) {
        int64_t *s = i ? p->ys : p->xs;
        s[1] = 1;
        s[4] = t.c;
        s[3] = s[4] * size[i][2];
        s[2] = s[3] * size[i][1];
        s[0] = s[2] * size[i][0];
    }
    t.x_rows = p->images * p->in[0] * p->in[1];
    t.y_rows = p->images * p->out[0] * p->out[1];
    const size_t out = (size_t)(t.y_rows * p->out[2] * t.c);
    t.x = rnd_floats((size_t)(t.x_rows * p->in[2] * t.c));
    t.want_max = rnd_floats(out);
    t.want_mean = rnd_floats(out);
    t.want_index = malloc(out * sizeof *t.want_index);
    for (int n = 0; n < p->images; n++)
        for (int z = 0; z < p->out[0]; z++)
            for (int r = 0; r < p->out[1]; r++)
                for (int c = 0; c < p->out[2]; c++)
                    for (int i = 0; i < t.c; i++)
                        naive_at(&t, n, z, r, c, i);
    return t;
}

static void drop(Case *t)
{
    free(t->x);
    free(t->want_max);
    free(t->want_mean);
    free(t->want_index);
}

static inlay_pool_params row_params(const Case *t)
{
    const inlay_window_params *p = &t->p;
    return (inlay_pool_params){ p->in[0],       p->in[1],       p->in[2],
                                p->out[0],      p->out[1],      p->out[2],
                                p->kernel[0],   p->kernel[1],   p->kernel[2],
                                p->stride[0],   p->stride[1],   p->stride[2],
                                p->dilation[0], p->dilation[1], p->dilation[2],
                                p->pad[0],      p->pad[1],      p->pad[2],
                                p->end[0],      p->end[1],      p->end[2],
                                t->c,           p->count_pad,   0 };
}

static void run_rows(const Case *t, inlay_kernel *kernel, const float *want,
                     bool rings)
{
    const inlay_pool_params p = row_params(t);
    const int gap = (int)rnd(5), extent = (p.kh - 1) * p.dh + 1,
              cap = rings && extent < t->x_rows ? extent : t->x_rows;
    Ring x = ring_new(t->x_rows, p.iw, t->c, cap, t->c + gap, gap / 2),
         y = ring_new(t->y_rows, p.ow, t->c, rings ? 1 : t->y_rows, t->c + gap,
                      gap);
    float *got = rnd_floats((size_t)(t->y_rows * p.ow * t->c));
    void *base[2] = { x.memory, y.memory };
    const inlay_ref ref[2] = { ring_ref(&y, 1), ring_ref(&x, 0) };
    const inlay_step s = { kernel, &p, ref, t->y_rows, (int32_t)rnd(2) };
    if (!rings) {
        for (int r = 0; r < t->x_rows; r++)
            ring_put(&x, r, t->x);
        assert_int_equal(kernel(base, &s, 0, t->y_rows), 0);
    }
    for (int i = 0; i < t->y_rows; i++) {
        const int u = s.backward ? t->y_rows - 1 - i : i,
                  top = u % p.oh * p.sh - p.ph;
        if (rings) {
            ring_poison(&x);
            for (int h = 0; h < extent; h++)
                if (top + h >= 0 && top + h < p.ih)
                    ring_put(&x, u / p.oh * p.ih + top + h, t->x);
            assert_int_equal(kernel(base, &s, u, u + 1), 0);
        }
        ring_get(&y, u, got);
    }
    check_close(got, want, (size_t)(t->y_rows * p.ow * t->c), 1.0);
    ring_check_guards(&x);
    ring_check_guards(&y);
    free(got);
    free(x.memory);
    free(y.memory);
}

static void random_pools(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS * 3 / 2; i++) {
        Case t = random_case(rnd(3) == 0);
        run_rows(&t, inlay_maxpool_f32, t.want_max, false);
        run_rows(&t, inlay_avgpool_f32, t.want_mean, false);
        if (t.p.in[0] * t.p.kernel[0] == 1) {
            run_rows(&t, inlay_maxpool_f32, t.want_max, true);
            run_rows(&t, inlay_avgpool_f32, t.want_mean, true);
        }
        drop(&t);
    }
}

static void plain_pools(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Case t = random_case(rnd(2));
        const size_t out = (size_t)(t.y_rows * t.p.out[2] * t.c);
        float *y = rnd_floats(out);
        int64_t *index = malloc(out * sizeof *index);
        void *base[3] = { y, index, t.x };
        const inlay_ref ref[3] = { { .cap = 1, .base = 0 },
                                   { .cap = 1, .base = 1 },
                                   { .cap = 1, .base = 2 } };
        const inlay_step s = { inlay_maxpool_plain_f32, &t.p, ref, 1, 0 };
        inlay_maxpool_plain_f32(base, &s, 0, 1);
        check_close(y, t.want_max, out, 1.0);
        assert_memory_equal(index, t.want_index, out * sizeof *index);
        base[1] = t.x;
        inlay_avgpool_plain_f32(base, &s, 0, 1);
        check_close(y, t.want_mean, out, 1.0);
        free(y);
        free(index);
        drop(&t);
    }
}

static void bytes(void **state)
{
    (void)state;
    int8_t x[3 * 3 * 2], y[2 * 2 * 2];
    for (int i = 0; i < 18; i++)
        x[i] = (int8_t)(i * 7 % 19 - 100);
    const inlay_pool_params p = { 1, 3, 3, 1, 2, 2, 1, 2, 2, 1, 1, 1,
                                  1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0 };
    void *base[2] = { x, y };
    const inlay_ref ref[2] = { { .row = 4, .cap = 2, .pix = 2, .base = 1 },
                               { .row = 6, .cap = 3, .pix = 2, .base = 0 } };
    const inlay_step s = { inlay_maxpool_i8, &p, ref, 2, 0 };
    inlay_maxpool_i8(base, &s, 0, 2);
    for (int r = 0; r < 2; r++)
        for (int w = 0; w < 2; w++)
            for (int c = 0; c < 2; c++) {
                int best = -128;
                for (int k = 0; k < 4; k++) {
                    const int v = x[((r + k / 2) * 3 + w + k % 2) * 2 + c];
                    best = v > best ? v : best;
                }
                assert_int_equal(y[(r * 2 + w) * 2 + c], best);
            }
}

enum {
    GLOBAL_ROWS = 5,
    GLOBAL_C = 23,
    GLOBAL_IMAGES = 2,
    GLOBAL_OUT = GLOBAL_IMAGES * GLOBAL_C,
    GLOBALS = 5
};

static inlay_kernel *const globals[GLOBALS] = {
    inlay_globalavg_f32, inlay_mean_rows_f32, inlay_sum_rows_f32,
    inlay_globalmax_f32, inlay_max_rows_f32,
};

static void compare_globals(const float *image, int width,
                            float (*got)[GLOBAL_OUT])
{
    const int pixels = GLOBAL_ROWS * width;
    for (int y = 0; y < GLOBAL_OUT; y++) {
        const float *x = image + y / GLOBAL_C * pixels * GLOBAL_C;
        double sum = 0.0, most = -9.0;
        for (int i = 0; i < pixels; i++) {
            const double v = (double)x[i * GLOBAL_C + y % GLOBAL_C];
            sum += v;
            most = v > most ? v : most;
        }
        assert_float_equal(got[0][y], (float)(sum / pixels), 1e-5);
        assert_float_equal(got[1][y], (float)(sum / pixels), 1e-5);
        assert_float_equal(got[2][y], (float)sum, 1e-5);
        assert_float_equal(got[3][y], (float)most, 0.0);
        assert_float_equal(got[4][y], (float)most, 0.0);
    }
}

/* Two images, so many rows in a call, through a ring of so many. */
static void run_globals(int width, int rows, int cap)
{
    enum { ALL = GLOBAL_IMAGES * GLOBAL_ROWS };
    float *image = rnd_floats((size_t)(ALL * width * GLOBAL_C));
    float y[GLOBALS][GLOBAL_OUT];
    Ring x = ring_new(ALL, width, GLOBAL_C, cap, GLOBAL_C + 2, 1);
    const inlay_globalpool_params p = { GLOBAL_ROWS, width, GLOBAL_C };
    for (int k = 0; k < GLOBALS; k++) {
        void *base[2] = { x.memory, y[k] };
        const inlay_ref ref[2] = { { .row = GLOBAL_C * sizeof(float),
                                     .cap = GLOBAL_IMAGES,
                                     .pix = GLOBAL_C,
                                     .base = 1 },
                                   ring_ref(&x, 0) };
        const inlay_step s = { globals[k], &p, ref, ALL, 0 };
        for (int r = 0; r < ALL; r++) {
            ring_put(&x, r, image);
            if ((r + 1) % rows == 0)
                s.run(base, &s, r + 1 - rows, r + 1);
        }
    }
    compare_globals(image, width, y);
    ring_check_guards(&x);
    free(image);
    free(x.memory);
}

/* Rows of one pixel go together where they lie one behind the other. */
static void global_pools(void **state)
{
    (void)state;
    run_globals(3, 1, 1);
    run_globals(3, 2, 4);
    run_globals(1, 1, 1);
    run_globals(1, 2, 3);
    run_globals(1, 5, 7);
    run_globals(1, 10, 10);
}

/* The maximum is NaN where a number is; a pool drops it. */
static void nan_stays(void **state)
{
    (void)state;
    enum { ROWS = 3, C = 5 };
    const float image[ROWS][C] = {
        { 1, NAN, 2, 3, -INFINITY },
        { 4, 5, NAN, 1, -INFINITY },
        { 2, 8, 9, NAN, -INFINITY },
    };
    for (int width = 1; width <= ROWS; width += ROWS - 1) {
        float y[C];
        const inlay_globalpool_params p = { ROWS / width, width, C };
        void *base[2] = { (void *)(uintptr_t)image, y };
        const inlay_ref ref[2] = {
            { .row = sizeof y, .cap = 1, .pix = C, .base = 1 },
            { .row = (size_t)width * sizeof y, .cap = ROWS, .pix = C },
        };
        const inlay_step s = { inlay_max_rows_f32, &p, ref, p.rows, 0 };
        s.run(base, &s, 0, p.rows);
        assert_float_equal(y[0], 4, 0.0);
        assert_true(isnan(y[1]) && isnan(y[2]) && isnan(y[3]));
        assert_true(isinf(y[4]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pools), cmocka_unit_test(plain_pools),
        cmocka_unit_test(bytes),        cmocka_unit_test(global_pools),
        cmocka_unit_test(nan_stays),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
