/* SPDX-License-Identifier: Apache-2.0
 * Matrix products against a naive one: all stride forms, batches with broadcasting, C, and packed
 * weights (the 1x1 convolution that Gemm and MatMul become). */
#include "images.h"
#include "pointwise.h"

#include "kernels/conv_f32.h"
#include "kernels/matmul.h"

/* A bare core takes fewer rounds, and nothing large. */
#ifndef ROUNDS
#define ROUNDS 400
#endif
enum {
    TALLEST = ROUNDS < 400 ? 6 : 20,
    WIDEST = ROUNDS < 400 ? 22 : 150,
    DEEPEST = ROUNDS < 400 ? 300 : 700
};

static void naive(const inlay_matmul_params *p, float *y, const float *a,
                  const float *b, const float *c)
{
    for (int g = 0; g < p->batch[4]; g++)
        for (int h = 0; h < p->batch[5]; h++)
            for (int i = 0; i < p->m; i++)
                for (int j = 0; j < p->n; j++) {
                    double sum = 0.0;
                    for (int k = 0; k < p->k; k++)
                        sum += (double)a[g * p->a_batch[4] + h * p->a_batch[5] +
                                         i * p->am + k * p->ak] *
                               (double)b[g * p->b_batch[4] + h * p->b_batch[5] +
                                         k * p->bk + j * p->bn];
                    sum *= (double)p->alpha;
                    if (c)
                        sum += (double)p->beta *
                               (double)c[g * p->c_batch[4] + h * p->c_batch[5] +
                                         i * p->cm + j * p->cn];
                    *y++ = (float)sum;
                }
}

static inlay_matmul_params random_params(void)
{
    inlay_matmul_params p = { .m = 1 + (int32_t)rnd(rnd(2) ? TALLEST : 2),
                              .n = 1 + (int32_t)rnd(rnd(2) ? WIDEST : 20),
                              .k = 1 + (int32_t)rnd(70),
                              .batch = { 1, 1, 1, 1, 1 + (int32_t)rnd(3),
                                         1 + (int32_t)rnd(3) },
                              .alpha = rnd(2) ? 1.0f : 0.5f,
                              .beta = 2.0f };
    const bool ta = rnd(4) == 0, tb = rnd(3) == 0;
    const int64_t one[3] = { (int64_t)p.m * p.k, (int64_t)p.k * p.n,
                             (int64_t)p.m * p.n };
    int64_t *batch[3] = { p.a_batch, p.b_batch, p.c_batch };
    p.am = ta ? 1 : p.k;
    p.ak = ta ? p.m : 1;
    p.bk = tb ? 1 : p.n;
    p.bn = tb ? p.k : 1;
    p.cm = rnd(2) ? p.n : 0;
    p.cn = p.cm || rnd(2) ? 1 : 0;
    p.lines = p.m * p.batch[4] * p.batch[5];
    for (int i = 0; i < 3; i++) {
        batch[i][5] = rnd(3) ? one[i] : 0;
        batch[i][4] = rnd(3) ? one[i] * p.batch[5] : 0;
    }
    return p;
}

static void random_products(void **state)
{
    (void)state;
    const inlay_ref all[4] = { { .cap = 1, .base = 0 },
                               { .cap = 1, .base = 1 },
                               { .cap = 1, .base = 2 },
                               { .cap = 1, .base = 3 } };
    for (int i = 0; i < ROUNDS; i++) {
        const inlay_matmul_params p = random_params();
        const size_t batches = (size_t)(p.batch[4] * p.batch[5]),
                     out = batches * (size_t)(p.m * p.n);
        float *a = rnd_floats(batches * (size_t)(p.m * p.k)),
              *b = rnd_floats(batches * (size_t)(p.k * p.n)),
              *c = rnd_floats(out);
        float *y = rnd_floats(out), *want = rnd_floats(out);
        void *base[4] = { y, a, b, c };
        inlay_ref ref[4];
        memcpy(ref, all, sizeof ref);
        if (rnd(2))
            ref[3].base = INLAY_NONE;
        const inlay_step s = { inlay_matmul_f32, &p, ref, 1, 0 };
        naive(&p, want, a, b, ref[3].base < 0 ? NULL : c);
        assert_int_equal(inlay_matmul_f32(base, &s, 0, 1), 0);
        check_close(y, want, out, sqrt((double)p.k));
        free(a);
        free(b);
        free(c);
        free(y);
        free(want);
    }
}

/* A product whose first factor lies row by row, and rings for it. */
typedef struct Rings {
    inlay_matmul_params whole, by_row;
    int32_t units, most; /* of a call */
    inlay_ref ref[4];
    float *a, *b, *c, *want, *ring_a, *ring_y;
} Rings;

static Rings random_rings(void)
{
    Rings t = { .whole = random_params() };
    inlay_matmul_params *p = &t.whole;
    p->am = p->k;
    p->ak = 1;
    p->a_batch[5] = (int64_t)p->m * p->k;
    p->a_batch[4] = p->a_batch[5] * p->batch[5];
    t.by_row = *p;
    t.by_row.lines = 1;
    t.by_row.by_row = 1;
    t.units = p->lines;
    t.most = 1 + (int32_t)rnd((uint32_t)t.units);
    for (int i = 0; i < 4; i++)
        t.ref[i] = (inlay_ref){ .cap = 1, .base = i };
    const size_t rows = (size_t)t.units;
    t.a = rnd_floats(rows * (size_t)p->k);
    t.b = rnd_floats(rows * (size_t)(p->k * p->n));
    t.c = rnd_floats(rows * (size_t)p->n);
    t.want = rnd_floats(rows * (size_t)p->n);
    t.ring_a = rnd_floats(rows * (size_t)p->k);
    t.ring_y = rnd_floats(rows * (size_t)p->n);
    return t;
}

/* Rows [r, end) in one call: the same bits. */
static void check_call(const Rings *t, int32_t r, int32_t end)
{
    const size_t a_row = (size_t)t->by_row.k;
    const size_t y_row = (size_t)t->by_row.n;
    void *base[4] = { t->ring_y, t->ring_a, t->b, t->c };
    const inlay_step step = { inlay_matmul_f32, &t->by_row, t->ref, t->units,
                              0 };
    for (int32_t k = r; k < end; k++)
        memcpy(t->ring_a + (size_t)(k % t->ref[1].cap) * a_row,
               t->a + (size_t)k * a_row, 4 * a_row);
    assert_int_equal(inlay_matmul_f32(base, &step, r, end), 0);
    for (int32_t k = r; k < end; k++)
        assert_memory_equal(t->ring_y + (size_t)(k % t->ref[0].cap) * y_row,
                            t->want + (size_t)k * y_row, 4 * y_row);
}

static void check_rings(Rings *t)
{
    void *base[4] = { t->want, t->a, t->b, t->c };
    const inlay_step all = { inlay_matmul_f32, &t->whole, t->ref, 1, 0 };
    assert_int_equal(inlay_matmul_f32(base, &all, 0, 1), 0);
    for (int i = 0; i < 2; i++)
        t->ref[i].cap =
            t->most + (int32_t)rnd((uint32_t)(t->units - t->most + 1));
    t->ref[0].row = 4 * (size_t)t->by_row.n;
    t->ref[1].row = 4 * (size_t)t->by_row.k;
    int32_t end = 0;
    for (int32_t r = 0; r < t->units; r = end) {
        const int32_t left = t->units - r;
        const int32_t most = left < t->most ? left : t->most;
        end = r + 1 + (int32_t)rnd((uint32_t)most);
        check_call(t, r, end);
    }
}

/* Units of one row, in rings, in calls of any size. */
static void rows_in_rings(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Rings t = random_rings();
        check_rings(&t);
        free(t.a);
        free(t.b);
        free(t.c);
        free(t.want);
        free(t.ring_a);
        free(t.ring_y);
    }
}

static void whole_numbers(void **state)
{
    (void)state;
    const uint64_t a[6] = { 1, 2, 3, UINT64_MAX, 5, 6 },
                   b[6] = { 7, 8, 9, 10, 11, 12 };
    uint64_t y[4];
    const inlay_matmul_params p = { .m = 2,
                                    .n = 2,
                                    .k = 3,
                                    .batch = { 1, 1, 1, 1, 1, 1 },
                                    .am = 3,
                                    .ak = 1,
                                    .bk = 2,
                                    .bn = 1,
                                    .lines = 2,
                                    .alpha = 1.0f };
    void *base[3] = { y, (void *)(uintptr_t)a, (void *)(uintptr_t)b };
    const inlay_ref ref[4] = { { .cap = 1, .base = 0 },
                               { .cap = 1, .base = 1 },
                               { .cap = 1, .base = 2 },
                               { .cap = 1, .base = INLAY_NONE } };
    const inlay_step s = { inlay_matmul_u64, &p, ref, 1, 0 };
    inlay_matmul_u64(base, &s, 0, 1);
    assert_int_equal(y[0], 58);
    assert_int_equal(y[1], 64);
    assert_int_equal(y[2], 104); /* -7 + 45 + 66 */
    assert_int_equal(y[3], 114);
}

/* Gemm as a 1x1 convolution of one row: many pixels, weights walked in parts, a residual in place.
 */
static void packed(void **state)
{
    (void)state;
    static const int sizes[][3] = {
        { 1, 300, 200 }, { 3, 17, 77 }, { 20, DEEPEST, 210 }, { 64, 33, 13 }
    };
    for (int i = 0; i < 4; i++) {
        const int m = sizes[i][0], k = sizes[i][1], n = sizes[i][2],
                  padded = (n + 3) / 4 * 4;
        float *a = rnd_floats((size_t)(m * k)),
              *w = rnd_floats((size_t)(k * n)),
              *bias = rnd_floats((size_t)padded),
              *y = rnd_floats((size_t)(m * n)),
              *want = rnd_floats((size_t)(m * n));
        float *blocks = pack_blocks(w, n, k, 16);
        const inlay_matmul_params plain = { .m = m,
                                            .n = n,
                                            .k = k,
                                            .batch = { 1, 1, 1, 1, 1, 1 },
                                            .am = k,
                                            .ak = 1,
                                            .bk = 1,
                                            .bn = k,
                                            .cn = 1,
                                            .alpha = 1.0f,
                                            .beta = 1.0f };
        naive(&plain, want, a, w, bias);
        for (int j = 0; j < m * n; j++)
            want[j] += y[j];
        const inlay_conv_params p = pointwise_params(1, m, 1, k, n);
        void *base[4] = { y, a, blocks, bias };
        const inlay_ref out = {
            .row = (size_t)(m * n) * 4, .cap = 1, .pix = n, .base = 0
        };
        const inlay_ref ref[5] = {
            out,
            { .row = (size_t)(m * k) * 4, .cap = 1, .pix = k, .base = 1 },
            { .cap = 1, .base = 2 },
            { .cap = 1, .base = 3 },
            out
        };
        const inlay_step s = { inlay_conv_f32, &p, ref, 1, 0 };
        inlay_conv_f32(base, &s, 0, 1);
        check_close(y, want, (size_t)(m * n), sqrt((double)k));
        free(a);
        free(w);
        free(bias);
        free(y);
        free(want);
        free(blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_products),
                                        cmocka_unit_test(rows_in_rings),
                                        cmocka_unit_test(whole_numbers),
                                        cmocka_unit_test(packed) };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
