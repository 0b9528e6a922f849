/* SPDX-License-Identifier: Apache-2.0
 * Indices inside and outside their axis, scatters in order, TopK with ties, Unique, running sums,
 * contractions, resampling. */
#include "steps.h"

#include "kernels/cache.h"
#include "kernels/einsum.h"
#include "kernels/gather.h"
#include "kernels/order.h"
#include "kernels/resize.h"
#include "kernels/scatter.h"
#include "kernels/select.h"

static void gathers(void **state)
{
    (void)state;
    float x[2 * 4 * 3], y[2 * 3 * 3];
    int64_t index[] = { 3, -4, 1 };
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    const inlay_gather_params p = { 2, 4, 3, 3 * sizeof(float) };
    assert_int_equal(RUN(inlay_gather, &p, y, x, index), 0);
    for (int i = 0; i < 18; i++)
        assert_true(y[i] ==
                    x[(i / 9 * 4 + (index[i / 3 % 3] + 4) % 4) * 3 + i % 3]);
    index[2] = 4;
    assert_int_equal(RUN(inlay_gather, &p, y, x, index), -INLAY_E_INDEX);
    index[2] = -5;
    assert_int_equal(RUN(inlay_gather, &p, y, x, index), -INLAY_E_INDEX);
    inlay_gather_nd_params nd = {
        1, 2, 2, 3 * sizeof(float), { 2, 4 }, { 4, 1 }
    };
    int64_t at[] = { 1, -1, 0, 2 };
    assert_int_equal(RUN(inlay_gather_nd, &nd, y, x, at), 0);
    assert_true(y[0] == 21 && y[3] == 6);
    at[0] = 2;
    assert_int_equal(RUN(inlay_gather_nd, &nd, y, x, at), -INLAY_E_INDEX);
    /* the second axis lies in front of the first */
    at[0] = 1;
    nd.step[0] = 1;
    nd.step[1] = 2;
    assert_int_equal(RUN(inlay_gather_nd, &nd, y, x, at), 0);
    assert_true(y[0] == 21 && y[3] == 12);
}

/* Along either axis, of elements of any size; an index outside ends the run. */
static void gathered_elements(void **state)
{
    (void)state;
    enum { ROWS = 5, COLUMNS = 7, SIZES = 4, WIDEST = 8 };
    static const int32_t sizes[SIZES] = { 1, 2, 4, 8 };
    for (int round = 0; round < 2 * SIZES; round++) {
        const int32_t axis = round % 2, size = sizes[round / 2];
        const int32_t dims[2] = { ROWS, COLUMNS };
        const inlay_gather_elements_params p = { .rank = 2,
                                                 .axis = axis,
                                                 .size = size,
                                                 .x = { ROWS, COLUMNS },
                                                 .y = { ROWS, COLUMNS } };
        unsigned char x[ROWS * COLUMNS * WIDEST], y[sizeof x];
        int64_t index[ROWS * COLUMNS];
        for (size_t i = 0; i < sizeof x; i++)
            x[i] = (unsigned char)rnd(256);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            index[i] = (int64_t)rnd((uint32_t)(2 * dims[axis])) - dims[axis];
        assert_int_equal(RUN(inlay_gather_elements, &p, y, x, index), 0);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const int at = (int)(index[i] + dims[axis]) % dims[axis];
            const int from =
                axis ? i / COLUMNS * COLUMNS + at : at * COLUMNS + i % COLUMNS;
            assert_memory_equal(y + i * size, x + from * size, (size_t)size);
        }
        index[ROWS] = dims[axis];
        assert_int_equal(RUN(inlay_gather_elements, &p, y, x, index),
                         -INLAY_E_INDEX);
    }
}

static void scatters(void **state)
{
    (void)state;
    int32_t x[] = { 1, 2, 3, 4, 5 }, u[] = { 10, 20, 30 }, y[5];
    int64_t index[] = { 1, -4, 3 };
    inlay_scatter_params p = {
        .op = 1, .rank = 1, .bytes = sizeof x, .x = { 5 }, .y = { 3 }
    };
    assert_int_equal(RUN(inlay_scatter_elements_i32, &p, y, x, index, u), 0);
    assert_memory_equal(y, ((int32_t[]){ 1, 32, 3, 34, 5 }), sizeof y);
    p.op = 0;
    assert_int_equal(RUN(inlay_scatter_elements_i32, &p, y, x, index, u), 0);
    assert_memory_equal(y, ((int32_t[]){ 1, 20, 3, 30, 5 }), sizeof y);
    p = (inlay_scatter_params){
        .op = 3, .rank = 1, .k = 3, .run = 1, .bytes = sizeof x, .x = { 5 }
    };
    assert_int_equal(RUN(inlay_scatter_nd_i32, &p, x, x, index, u), 0);
    assert_memory_equal(x, ((int32_t[]){ 1, 20, 3, 30, 5 }), sizeof x);
    index[0] = 5;
    assert_int_equal(RUN(inlay_scatter_nd_i32, &p, y, x, index, u),
                     -INLAY_E_INDEX);
}

/* Rows of a cache go round, wherever the index lies; one that names no row writes nothing outside.
 */
static void caches(void **state)
{
    (void)state;
    const uint8_t x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, u[4] = { 10, 11, 12, 13 };
    uint8_t guarded[24], *y = guarded + 8;
    int64_t at[] = { 3, INT64_MAX };
    inlay_cache_params p = { 2, 1, 4, 2, 1, 1 };
    memset(guarded, 0xA5, sizeof guarded);
    assert_int_equal(RUN(inlay_cache_update, &p, y, (void *)x, (void *)u, at),
                     0);
    assert_memory_equal(y, ((uint8_t[]){ 11, 2, 3, 10, 13, 6, 7, 12 }), 8);
    p.circular = 0;
    at[0] = 2;
    at[1] = 0;
    assert_int_equal(RUN(inlay_cache_update, &p, y, (void *)x, (void *)u, at),
                     0);
    assert_memory_equal(y, ((uint8_t[]){ 1, 2, 10, 11, 12, 13, 7, 8 }), 8);
    static const int64_t outside[] = { -1, INT64_MIN, 3, INT64_MAX };
    for (int i = 0; i < 4; i++) {
        at[0] = outside[i];
        p.circular = i < 2;
        assert_int_equal(
            RUN(inlay_cache_update, &p, y, (void *)x, (void *)u, at),
            -INLAY_E_INDEX);
    }
    p.circular = 1;
    p.length = p.count = 0;
    assert_int_equal(RUN(inlay_cache_update, &p, y, (void *)x, (void *)u, at),
                     -INLAY_E_INDEX);
    for (int i = 0; i < 8; i++)
        assert_true(guarded[i] == 0xA5 && guarded[16 + i] == 0xA5);
}

static void top(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        const inlay_topk_params p = { 2, 1 + (int32_t)rnd(50),
                                      1 + (int32_t)rnd(3), 0, (int32_t)rnd(2) };
        inlay_topk_params q = p;
        q.k = 1 + (int32_t)rnd((uint32_t)p.n);
        const size_t n = (size_t)(2 * p.n * p.inner),
                     m = (size_t)(2 * q.k * p.inner);
        int16_t *x = malloc(n * sizeof *x), *y = malloc(m * sizeof *y);
        int64_t *at = malloc(m * sizeof *at);
        for (size_t i = 0; i < n; i++)
            x[i] = (int16_t)rnd(20);
        assert_int_equal(RUN(inlay_topk_i16, &q, y, at, x), 0);
        for (int o = 0; o < 2; o++)
            for (int c = 0; c < p.inner; c++)
                for (int k = 0; k < q.k; k++) {
                    const int64_t i = at[(o * q.k + k) * p.inner + c];
                    int before =
                        0; /* elements that come before it by value, then by place */
                    for (int j = 0; j < p.n; j++) {
                        const int d = x[(o * p.n + j) * p.inner + c] -
                                      x[(o * p.n + i) * p.inner + c];
                        before +=
                            (p.largest ? d > 0 : d < 0) || (d == 0 && j < i);
                    }
                    assert_int_equal(before, k);
                    assert_int_equal(y[(o * q.k + k) * p.inner + c],
                                     x[(o * p.n + i) * p.inner + c]);
                }
        free(x);
        free(y);
        free(at);
    }
}

static void uniques(void **state)
{
    (void)state;
    float x[] = { 2, 1, 1, 3, 4, 3 }, y[4];
    int64_t first[4], inverse[6], counts[4];
    int32_t scratch[12];
    inlay_unique_params p = { 1, 6, 1, 4, 1 };
    assert_int_equal(
        RUN(inlay_unique_f32, &p, y, NULL, first, inverse, counts, x, scratch),
        0);
    assert_memory_equal(y, ((float[]){ 1, 2, 3, 4 }), sizeof y);
    assert_memory_equal(first, ((int64_t[]){ 1, 0, 3, 4 }), sizeof first);
    assert_memory_equal(inverse, ((int64_t[]){ 1, 0, 0, 2, 3, 2 }),
                        sizeof inverse);
    assert_memory_equal(counts, ((int64_t[]){ 2, 1, 2, 1 }), sizeof counts);
    p.sorted = 0;
    assert_int_equal(
        RUN(inlay_unique_f32, &p, y, NULL, first, inverse, counts, x, scratch),
        0);
    assert_memory_equal(y, ((float[]){ 2, 1, 3, 4 }), sizeof y);
    assert_memory_equal(inverse, ((int64_t[]){ 0, 1, 1, 2, 3, 2 }),
                        sizeof inverse);
    p.found = 3;
    assert_int_equal(
        RUN(inlay_unique_f32, &p, y, NULL, first, inverse, counts, x, scratch),
        -INLAY_E_SHAPE);
}

/* What is no number is one kind, behind all numbers. */
static void unique_numbers(void **state)
{
    (void)state;
    float x[] = { NAN, 1, NAN, 0, 1, -NAN }, y[3];
    int64_t first[3], inverse[6], counts[3];
    int32_t scratch[12];
    const inlay_unique_params p = { 1, 6, 1, 3, 1 };
    assert_int_equal(
        RUN(inlay_unique_f32, &p, y, NULL, first, inverse, counts, x, scratch),
        0);
    assert_memory_equal(y, ((float[]){ 0, 1 }), 2 * sizeof *y);
    assert_true(isnan(y[2]));
    assert_memory_equal(first, ((int64_t[]){ 3, 1, 0 }), sizeof first);
    assert_memory_equal(inverse, ((int64_t[]){ 2, 1, 2, 0, 1, 2 }),
                        sizeof inverse);
    assert_memory_equal(counts, ((int64_t[]){ 1, 2, 3 }), sizeof counts);
}

static void sequences(void **state)
{
    (void)state;
    int32_t x[] = { 1, 2, 3, 4, 5, 6 }, y[6];
    int64_t axis = -1;
    inlay_cumulate_params p = {
        .rank = 2, .axis = -1, .exclusive = 1, .reverse = 1, .n = { 2, 3 }
    };
    assert_int_equal(RUN(inlay_cumsum_i32, &p, y, x, &axis), 0);
    assert_memory_equal(y, ((int32_t[]){ 5, 3, 0, 11, 6, 0 }), sizeof y);
    axis = 2;
    assert_int_equal(RUN(inlay_cumsum_i32, &p, y, x, &axis), -INLAY_E_INDEX);
    float start = 1, limit = 2, delta = 0.25f, r[4];
    inlay_range_params range = { 4 };
    assert_int_equal(RUN(inlay_range_f32, &range, r, &start, &limit, &delta),
                     0);
    assert_true(r[0] == 1 && r[3] == 1.75f);
    limit = 3;
    assert_int_equal(RUN(inlay_range_f32, &range, r, &start, &limit, &delta),
                     -INLAY_E_SHAPE);
    uint8_t c[] = { 1, 0, 1 };
    int32_t kept[4];
    const inlay_compress_params compress = { 2, 3, 3, 2, 4 };
    assert_int_equal(RUN(inlay_compress, &compress, kept, NULL, x, c), 0);
    assert_memory_equal(kept, ((int32_t[]){ 1, 3, 4, 6 }), sizeof kept);
    c[1] = 1;
    assert_int_equal(RUN(inlay_compress, &compress, kept, NULL, x, c),
                     -INLAY_E_SHAPE);
    int64_t count;
    c[0] = c[1] = 0;
    assert_int_equal(RUN(inlay_compress, &compress, kept, &count, x, c), 0);
    assert_int_equal(count, 1);
    assert_memory_equal(kept, ((int32_t[]){ 3, 0, 6, 0 }), sizeof kept);
}

/* A line of a running sum or product, member by member. */
static void check_line(const inlay_cumulate_params *p, const float *y,
                       const float *x, bool product)
{
    float all = product;
    for (int i = 0; i < p->n[1]; i++) {
        const int member = p->reverse ? p->n[1] - 1 - i : i;
        const int at = member * p->n[2];
        const float before = all;
        all = product ? all * x[at] : all + x[at];
        assert_true(y[at] == (p->exclusive ? before : all));
    }
}

/* Of lines side by side, some of which go together. */
static void random_sequences(void **state)
{
    (void)state;
    enum { OUTER = 2, MOST = 8, WIDEST = 150 };
    for (int round = 0; round < 300; round++) {
        const int32_t n = 1 + (int32_t)rnd(MOST);
        const int32_t inner = 1 + (int32_t)rnd(WIDEST);
        const bool product = round / 4 % 2;
        inlay_kernel *kernel = product ? inlay_cumprod_f32 : inlay_cumsum_f32;
        const inlay_cumulate_params p = { .rank = 3,
                                          .axis = 1,
                                          .exclusive = round % 2,
                                          .reverse = round / 2 % 2,
                                          .n = { OUTER, n, inner } };
        const size_t count = (size_t)(OUTER * n * inner);
        float *x = rnd_floats(count), *y = rnd_floats(count);
        assert_int_equal(RUN(kernel, &p, y, x, NULL), 0);
        for (int i = 0; i < OUTER * inner; i++) {
            const int at = i / inner * n * inner + i % inner;
            check_line(&p, y + at, x + at, product);
        }
        assert_int_equal(RUN(kernel, &p, x, x, NULL), 0);
        assert_memory_equal(x, y, count * sizeof *x);
        free(x);
        free(y);
    }
}

/* Batched products in three forms of strides. */
static void contractions(void **state)
{
    (void)state;
    enum { B = 2, I = 5, J = 9, K = 20 };
    float *a = rnd_floats(B * I * K), *b = rnd_floats(B * K * J),
          *bt = rnd_floats(B * K * J), y[B * I * J], z[B * I * J];
    for (int i = 0; i < B * K * J; i++)
        bt[(i / (K * J) * J + i % J) * K + i / J % K] = b[i];
    const inlay_einsum_params plain = {
        3, 1, { B, I, J }, { I * K, K, 0 }, { K * J, 0, 1 }, { K }, { 1 }, { J }
    };
    const inlay_einsum_params turned = {
        3, 1, { B, I, J }, { I * K, K, 0 }, { K * J, 0, K }, { K }, { 1 }, { 1 }
    };
    RUN(inlay_einsum_f32, &plain, y, a, b);
    RUN(inlay_einsum_f32, &turned, z, a, bt);
    for (int n = 0; n < B; n++)
        for (int i = 0; i < I; i++)
            for (int j = 0; j < J; j++) {
                double sum = 0;
                for (int k = 0; k < K; k++)
                    sum += (double)a[(n * I + i) * K + k] *
                           (double)b[(n * K + k) * J + j];
                assert_float_equal(y[(n * I + i) * J + j], (float)sum, 1e-5f);
                assert_float_equal(z[(n * I + i) * J + j], (float)sum, 1e-5f);
            }
    float m[] = { 0, 2, 1, 3, 1, 1, 1, 0, 2 }, d, scratch[9];
    const inlay_det_params det = { 1, 3 };
    RUN(inlay_det_f32, &det, &d, m, scratch);
    assert_float_equal(d, -11.0f, 1e-5f);
    free(a);
    free(b);
    free(bt);
}

static void resampling(void **state)
{
    (void)state;
    int32_t index[8];
    float weight[12], x[] = { 1, 2, 4 }, y[6];
    inlay_resize_table_params p = { .n_in = 3,
                                    .n_out = 6,
                                    .mode = INLAY_LINEAR,
                                    .coordinate = INLAY_HALF_PIXEL,
                                    .taps = 2,
                                    .stride = 1,
                                    .entries = 1 };
    int32_t tables[12];
    float weights[18];
    inlay_resize_axis(&p, 2.0, 0, 1, tables, weights);
    const inlay_resample_params q = { .along = INLAY_ALONG_ANY,
                                      .outer = 1,
                                      .n_in = 3,
                                      .n_out = 6,
                                      .inner = 1,
                                      .taps = 2 };
    RUN(inlay_resample_f32, &q, y, x, tables, weights);
    check_close(y, (float[]){ 1, 1.25f, 1.75f, 2.5f, 3.5f, 4 }, 6, 1.0);
    p.mode = INLAY_NEAREST;
    p.taps = 1;
    p.n_out = 4;
    p.coordinate = INLAY_ASYMMETRIC;
    p.nearest = INLAY_FLOOR;
    p.stride = 10;
    float scale = 1.5f;
    assert_int_equal(
        RUN(inlay_resize_table, &p, index, weight, &scale, NULL, NULL), 0);
    assert_memory_equal(index, ((int32_t[]){ 0, 0, 10, 20 }), 16);
    scale = 2.0f;
    assert_int_equal(
        RUN(inlay_resize_table, &p, index, weight, &scale, NULL, NULL),
        -INLAY_E_SHAPE);
}

/* Pixels of any number of elements, by any tables of two taps. */
static void random_resampling(void **state)
{
    (void)state;
    enum { IN = 9, MOST = 12 };
    for (int round = 0; round < 100; round++) {
        const int32_t inner = 1 + (int32_t)rnd(40) % (round % 2 ? 40 : 4);
        const int32_t out = 1 + (int32_t)rnd(MOST);
        const inlay_resample_params p = { .along = INLAY_ALONG_ANY,
                                          .outer = 2,
                                          .n_in = IN,
                                          .n_out = out,
                                          .inner = inner,
                                          .taps = 2 };
        int32_t index[2 * MOST];
        float *x = rnd_floats((size_t)(2 * IN * inner));
        float *y = rnd_floats((size_t)(2 * out * inner));
        float *weight = rnd_floats(3 * MOST);
        for (int i = 0; i < 2 * MOST; i++)
            index[i] = (int32_t)rnd(IN);
        RUN(inlay_resample_f32, &p, y, x, index, weight);
        for (int i = 0; i < 2 * out * inner; i++) {
            const int k = i / inner % out;
            const float *from = x + i / (out * inner) * IN * inner + i % inner;
            const float want =
                from[index[2 * k] * inner] * weight[3 * k] +
                from[index[2 * k + 1] * inner] * weight[3 * k + 1] +
                weight[3 * k + 2];
            assert_float_equal(y[i], want, 1e-5f);
        }
        free(x);
        free(y);
        free(weight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers),
        cmocka_unit_test(scatters),
        cmocka_unit_test(caches),
        cmocka_unit_test(top),
        cmocka_unit_test(uniques),
        cmocka_unit_test(unique_numbers),
        cmocka_unit_test(sequences),
        cmocka_unit_test(contractions),
        cmocka_unit_test(resampling),
        cmocka_unit_test(random_sequences),
        cmocka_unit_test(random_resampling),
        cmocka_unit_test(gathered_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
