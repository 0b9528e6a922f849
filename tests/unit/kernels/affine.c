/* SPDX-License-Identifier: Apache-2.0
 * Scale, shift and activation by channel, alone and in front of a 1x1 convolution: against the
 * formula, and the two forms against one another bit for bit. */
#include "images.h"
#include "pointwise.h"

#include "kernels/affine_f32.h"

typedef struct Case {
    int rows, w, ic, oc, clamp, act;
    float *x, *scale, *shift, *weights, *bias, *q;
} Case;

static Case random_case(void)
{
    Case t = { .rows = 1 + (int)rnd(4),
               .w = 1 + (int)rnd(100),
               .ic = 1 + (int)rnd(40),
               .oc = 1 + (int)rnd(rnd(2) ? 8 : 90),
               .clamp = (int)rnd(4),
               .act = (int)rnd(INLAY_ACT_COUNT) };
    const size_t padded = (size_t)(t.oc + 3) / 4 * 4;
    t.x = rnd_floats((size_t)(t.rows * t.w * t.ic));
    t.scale = rnd_floats((size_t)t.ic);
    t.shift = rnd_floats((size_t)t.ic);
    float *w = rnd_floats((size_t)(t.oc * t.ic));
    t.weights = pack_blocks(w, t.oc, t.ic, 16);
    t.bias = calloc(padded, sizeof *t.bias);
    for (int i = 0; i < t.oc; i++)
        t.bias[i] = rnd_float();
    t.q = rnd(2) ? rnd_floats((size_t)(t.rows * t.w * t.oc)) : NULL;
    free(w);
    return t;
}

static void case_free(Case *t)
{
    free(t->x);
    free(t->scale);
    free(t->shift);
    free(t->weights);
    free(t->bias);
    free(t->q);
}

static Ring filled(const float *data, int rows, int w, int c, int pix)
{
    Ring r = ring_new(rows, w, c, rows, pix, pix - c);
    for (int i = 0; i < rows; i++)
        ring_put(&r, i, data);
    return r;
}

static void formula(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        Case t = random_case();
        Ring x = filled(t.x, t.rows, t.w, t.ic, t.ic + (int)rnd(3)),
             y = ring_new(t.rows, t.w, t.ic, t.rows, t.ic + 2, 1);
        const inlay_affine_params p = { t.w,   t.ic, t.clamp, INLAY_ACT_NONE,
                                        -0.3f, 0.4f };
        void *base[] = { y.memory, x.memory, t.scale, t.shift };
        const inlay_ref ref[] = { ring_ref(&y, 0),
                                  ring_ref(&x, 1),
                                  { .cap = 1, .base = 2 },
                                  { .cap = 1, .base = 3 } };
        const inlay_step s = { inlay_affine_f32, &p, ref, t.rows,
                               (int32_t)rnd(2) };
        assert_int_equal(s.run(base, &s, 0, t.rows), 0);
        for (int r = 0; r < t.rows; r++)
            for (int i = 0; i < t.w * t.ic; i++) {
                float want = t.x[r * t.w * t.ic + i] * t.scale[i % t.ic] +
                             t.shift[i % t.ic];
                if (t.clamp & 1)
                    want = want < -0.3f ? -0.3f : want;
                if (t.clamp & 2)
                    want = want > 0.4f ? 0.4f : want;
                assert_float_equal(ring_pixel(&y, r, i / t.ic)[i % t.ic], want,
                                   1e-6f);
            }
        ring_check_guards(&y);
        free(x.memory);
        free(y.memory);
        case_free(&t);
    }
}

/* Plane by plane, in place. */
static void planes(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        const inlay_affine_planes_params p = { 1 + (int32_t)rnd(2),
                                               1 + (int32_t)rnd(5),
                                               1 + (int32_t)rnd(50),
                                               (int32_t)rnd(4),
                                               -0.3f,
                                               0.4f };
        const int n = p.images * p.channels * p.n;
        float *x = rnd_floats((size_t)n), *y = rnd_floats((size_t)n + 1);
        float *scale = rnd_floats(5), *shift = rnd_floats(5);
        memcpy(y, x, (size_t)n * sizeof *x);
        const float guard = y[n];
        void *base[] = { y, scale, shift };
        const inlay_ref ref[] = { { .cap = 1 },
                                  { .cap = 1 },
                                  { .cap = 1, .base = 1 },
                                  { .cap = 1, .base = 2 } };
        const inlay_step s = { inlay_affine_planes_f32, &p, ref, 1, 0 };
        assert_int_equal(s.run(base, &s, 0, 1), 0);
        for (int i = 0; i < n; i++) {
            const int c = i / p.n % p.channels;
            float want = x[i] * scale[c] + shift[c];
            if (p.clamp & 1)
                want = want < -0.3f ? -0.3f : want;
            if (p.clamp & 2)
                want = want > 0.4f ? 0.4f : want;
            assert_float_equal(y[i], want, 1e-6f);
        }
        assert_true(y[n] == guard);
        free(x);
        free(y);
        free(scale);
        free(shift);
    }
}

/* Through scratch, and through a whole tensor. */
static void in_front(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        Case t = random_case();
        const bool act = rnd(2);
        const size_t n = (size_t)(t.rows * t.w * t.oc);
        Ring x = filled(t.x, t.rows, t.w, t.ic, t.ic + (int)rnd(3)),
             m = ring_new(t.rows, t.w, t.ic, t.rows, t.ic, 0);
        Ring y = ring_new(t.rows, t.w, t.oc, t.rows, t.oc + 3, 2),
             z = ring_new(t.rows, t.w, t.oc, 1 + (int)rnd(2), t.oc, 0);
        const inlay_affine_params a = { t.w, t.ic, t.clamp, 0, -0.3f, 0.4f };
        inlay_conv_params c = pointwise_params(t.rows, t.w, 1, t.ic, t.oc);
        c.clamp = act ? 0 : 1;
        c.act = act ? t.act : 0;
        c.a = 0.1f;
        c.b = 0.2f;
        const inlay_affine_conv_params p = { .pixels = t.w,
                                             .ic = t.ic,
                                             .oc = t.oc,
                                             .width = 16,
                                             .chunk = 1 + (int32_t)rnd(
                                                              (uint32_t)t.w),
                                             .x_clamp = t.clamp,
                                             .clamp = c.clamp,
                                             .act = c.act,
                                             .x_a = -0.3f,
                                             .x_b = 0.4f,
                                             .a = 0.1f,
                                             .b = 0.2f };
        float *scratch = rnd_floats((size_t)(p.chunk * t.ic)),
              *want = rnd_floats(n), *got = rnd_floats(n);
        Ring q = filled(t.q ? t.q : want, t.rows, t.w, t.oc, t.oc);
        void *base[] = { y.memory, x.memory, t.scale, t.shift,  t.weights,
                         t.bias,   q.memory, scratch, m.memory, z.memory };
        const inlay_ref none = { .cap = 1, .base = INLAY_NONE },
                        plus = t.q ? ring_ref(&q, 6) : none;
        const inlay_ref scale = { .cap = 1, .base = 2 },
                        shift = { .cap = 1, .base = 3 },
                        w = { .cap = 1, .base = 4 },
                        b = { .cap = 1, .base = 5 };
        const inlay_ref first[] = { ring_ref(&m, 8), ring_ref(&x, 1), scale,
                                    shift },
                        then[] = { ring_ref(&y, 0), ring_ref(&m, 8), w, b,
                                   plus };
        const inlay_ref both[] = { ring_ref(&z, 9),
                                   ring_ref(&x, 1),
                                   scale,
                                   shift,
                                   w,
                                   b,
                                   plus,
                                   { .cap = 1, .pix = 1, .base = 7 } };
        const inlay_step s1 = { inlay_affine_f32, &a, first, t.rows, 0 },
                         s2 = { act ? inlay_conv_act_f32 : inlay_conv_f32, &c,
                                then, t.rows, 0 };
        const inlay_step s3 = { act ? inlay_affine_conv_act_f32
                                    : inlay_affine_conv_f32,
                                &p, both, t.rows, (int32_t)rnd(2) };
        assert_int_equal(s1.run(base, &s1, 0, t.rows), 0);
        assert_int_equal(s2.run(base, &s2, 0, t.rows), 0);
        for (int r = 0; r < t.rows; r++) {
            assert_int_equal(s3.run(base, &s3, r, r + 1), 0);
            ring_get(&z, r, got);
            ring_get(&y, r, want);
        }
        assert_memory_equal(got, want, n * sizeof *got);
        ring_check_guards(&y);
        ring_check_guards(&z);
        free(scratch);
        free(want);
        free(got);
        free(x.memory);
        free(m.memory);
        free(y.memory);
        free(z.memory);
        free(q.memory);
        case_free(&t);
    }
}

/* The activations that are a pass of their own. */
static void activations(void **state)
{
    (void)state;
    enum { W = 7, C = 19 };
    for (int act = 1; act < INLAY_ACT_COUNT; act++) {
        float x[W * C], y[W * C], scale[C], shift[C];
        for (int i = 0; i < C; i++) {
            scale[i] = rnd_float();
            shift[i] = rnd_float();
        }
        for (int i = 0; i < W * C; i++)
            x[i] = 4.0f * rnd_float();
        const inlay_affine_params p = { W, C, 0, act, 0.25f, 0.5f },
                                  plain = { W, C, 0, 0, 0, 0 };
        void *base[] = { y, x, scale, shift };
        const inlay_ref ref[] = { { .cap = 1, .pix = C, .base = 0 },
                                  { .cap = 1, .pix = C, .base = 1 },
                                  { .cap = 1, .base = 2 },
                                  { .cap = 1, .base = 3 } };
        const inlay_step s = { inlay_affine_act_f32, &p, ref, 1, 0 },
                         t = { inlay_affine_f32, &plain, ref, 1, 0 };
        float want[W * C];
        assert_int_equal(t.run(base, &t, 0, 1), 0);
        memcpy(want, y, sizeof want);
        inlay_act_f32(want, W * C, act, 0.25f, 0.5f);
        assert_int_equal(s.run(base, &s, 0, 1), 0);
        assert_memory_equal(want, y, sizeof want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(formula),
                                        cmocka_unit_test(planes),
                                        cmocka_unit_test(in_front),
                                        cmocka_unit_test(activations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
