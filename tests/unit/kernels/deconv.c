/* SPDX-License-Identifier: Apache-2.0
 * Transposed convolution: the phases against scattering every input pixel by hand, as does the
 * plain kernel. */
#include "images.h"

#include "kernels/deconv_f32.h"
#include "kernels/window_plain.h"

/* A bare core takes fewer rounds, and nothing large. */
#ifndef ROUNDS
#define ROUNDS 300
#endif
enum { WIDEST = ROUNDS < 300 ? 7 : 20 };
enum { MOST = ROUNDS < 300 ? 20 : 70 };

typedef struct Case {
    inlay_conv_params p;     /* kh, kw: taps of a phase */
    int n, kh, kw;           /* taps of the window */
    float *x, *w, *b, *want; /* w [groups * ic][oc][kh][kw] */
    int xc, yc, x_rows, y_rows;
} Case;

static void scatter(Case *t)
{
    const inlay_conv_params *p = &t->p;
    for (int i = 0; i < t->y_rows * p->ow * t->yc; i++)
        t->want[i] = t->b[i % t->yc];
    for (int r = 0; r < t->x_rows; r++)
        for (int c = 0; c < p->iw; c++)
            for (int i = 0; i < t->xc; i++)
                for (int k = 0; k < t->kh * t->kw; k++) {
                    const int h = r % p->ih * p->sh - p->ph + k / t->kw,
                              w = c * p->sw - p->pw + k % t->kw, g = i / p->ic;
                    if (h < 0 || h >= p->oh || w < 0 || w >= p->ow)
                        continue;
                    float *y =
                        t->want +
                        (((size_t)(r / p->ih * p->oh + h) * (size_t)p->ow +
                          (size_t)w) *
                         (size_t)t->yc) +
                        g * p->oc;
                    for (int o = 0; o < p->oc; o++)
                        y[o] += t->x[((size_t)r * (size_t)p->iw + (size_t)c) *
                                         (size_t)t->xc +
                                     (size_t)i] *
                                t->w[(i * p->oc + o) * t->kh * t->kw + k];
                }
}

static Case random_case(void)
{
    Case t = { .n = 1 + (int)rnd(2),
               .kh = 1 + (int)rnd(5),
               .kw = 1 + (int)rnd(5) };
    inlay_conv_params *p = &t.p;
    *p = (inlay_conv_params){ .id = 1,
                              .od = 1,
                              .kd = 1,
                              .sd = 1,
                              .dd = 1,
                              .dh = 1,
                              .dw = 1,
                              .width = 16,
                              .groups = 1 + (int32_t)rnd(2) };
    p->ih = 1 + (int32_t)rnd(5);
    p->iw = 1 + (int32_t)rnd(WIDEST);
    p->sh = 1 + (int32_t)rnd(3);
    p->sw = 1 + (int32_t)rnd(3);
    p->kh = (t.kh + p->sh - 1) / p->sh;
    p->kw = (t.kw + p->sw - 1) / p->sw;
    p->ph = (int32_t)rnd((uint32_t)t.kh);
    p->pw = (int32_t)rnd((uint32_t)t.kw);
    p->oh = (p->ih - 1) * p->sh + t.kh - p->ph + (int32_t)rnd(3);
    p->ow = (p->iw - 1) * p->sw + t.kw - p->pw + (int32_t)rnd(3);
    p->ic = 1 + (int32_t)rnd(6);
    p->oc = 1 + (int32_t)rnd(rnd(2) ? MOST : 9);
    t.xc = p->groups * p->ic;
    t.yc = p->groups * p->oc;
    t.x_rows = t.n * p->ih;
    t.y_rows = t.n * p->oh;
    t.x = rnd_floats((size_t)(t.x_rows * p->iw * t.xc));
    t.w = rnd_floats((size_t)(t.xc * p->oc * t.kh * t.kw));
    t.b = rnd_floats((size_t)t.yc);
    t.want = rnd_floats((size_t)(t.y_rows * p->ow * t.yc));
    scatter(&t);
    return t;
}

/* The taps of a phase, last first, of group g: [oc][kh][kw][ic] into blocks. */
static void pack_phase(const Case *t, int ph, int pw, int g, float *to)
{
    const inlay_conv_params *p = &t->p;
    const int taps = p->kh * p->kw * p->ic;
    float *w = malloc((size_t)(p->oc * taps) * sizeof *w), *at = w;
    for (int o = 0; o < p->oc; o++)
        for (int a = p->kh - 1; a >= 0; a--)
            for (int b = p->kw - 1; b >= 0; b--)
                for (int i = 0; i < p->ic; i++) {
                    const int kh = a * p->sh + ph, kw = b * p->sw + pw;
                    *at++ = kh < t->kh && kw < t->kw
                                ? t->w[(((g * p->ic + i) * p->oc + o) * t->kh +
                                        kh) *
                                           t->kw +
                                       kw]
                                : 0.0f;
                }
    float *blocks = pack_blocks(w, p->oc, taps, 16);
    memcpy(to, blocks, (size_t)((p->oc + 3) / 4 * 4 * taps) * sizeof *to);
    free(w);
    free(blocks);
}

static void random_phases(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Case t = random_case();
        const inlay_conv_params *p = &t.p;
        const size_t padded = (size_t)(p->oc + 3) / 4 * 4,
                     each = padded * (size_t)(p->kh * p->kw * p->ic);
        float *w = malloc(each * (size_t)(p->sh * p->sw * p->groups) *
                          sizeof *w),
              *at = w, *bias = calloc(padded * (size_t)p->groups, sizeof *bias);
        for (int k = 0; k < p->sh * p->sw * p->groups; k++, at += each)
            pack_phase(&t, k / p->groups / p->sw, k / p->groups % p->sw,
                       k % p->groups, at);
        for (int g = 0; g < p->groups; g++)
            memcpy(bias + (size_t)g * padded, t.b + g * p->oc,
                   (size_t)p->oc * sizeof *bias);
        Ring x = ring_new(t.x_rows, p->iw, t.xc, t.x_rows, t.xc + 1, 1),
             y = ring_new(t.y_rows, p->ow, t.yc, t.y_rows, t.yc + 2, 1);
        for (int r = 0; r < t.x_rows; r++)
            ring_put(&x, r, t.x);
        void *base[4] = { x.memory, y.memory, w, bias };
        const inlay_ref ref[5] = { ring_ref(&y, 1),
                                   ring_ref(&x, 0),
                                   { .cap = 1, .base = 2 },
                                   { .cap = 1, .base = 3 },
                                   { .cap = 1, .base = INLAY_NONE } };
        const inlay_step s = { inlay_deconv_f32, p, ref, t.y_rows,
                               (int32_t)rnd(2) };
        assert_int_equal(inlay_deconv_f32(base, &s, 0, t.y_rows), 0);
        float *got = rnd_floats((size_t)(t.y_rows * p->ow * t.yc));
        for (int r = 0; r < t.y_rows; r++)
            ring_get(&y, r, got);
        check_close(got, t.want, (size_t)(t.y_rows * p->ow * t.yc), 5.0);
        ring_check_guards(&x);
        ring_check_guards(&y);
        free(w);
        free(bias);
        free(got);
        free(x.memory);
        free(y.memory);
        free(t.x);
        free(t.w);
        free(t.b);
        free(t.want);
    }
}

static void plain_form(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 3; i++) {
        Case t = random_case();
        const inlay_conv_params *p = &t.p;
        const int64_t row = (int64_t)p->iw * t.xc, line = (int64_t)p->ow * t.yc;
        const inlay_window_params q = {
            .images = t.n,
            .groups = p->groups,
            .ic = p->ic,
            .oc = p->oc,
            .in = { 1, p->ih, p->iw },
            .out = { 1, p->oh, p->ow },
            .kernel = { 1, t.kh, t.kw },
            .stride = { 1, p->sh, p->sw },
            .dilation = { 1, 1, 1 },
            .pad = { 0, p->ph, p->pw },
            .xs = { row * p->ih, 1, row * p->ih, row, t.xc },
            .ys = { line * p->oh, 1, line * p->oh, line, t.yc }
        };
        float *y = rnd_floats((size_t)(t.y_rows * p->ow * t.yc));
        void *base[4] = { y, t.x, t.w, t.b };
        const inlay_ref ref[4] = { { .cap = 1, .base = 0 },
                                   { .cap = 1, .base = 1 },
                                   { .cap = 1, .base = 2 },
                                   { .cap = 1, .base = 3 } };
        const inlay_step s = { inlay_deconv_plain_f32, &q, ref, 1, 0 };
        assert_int_equal(inlay_deconv_plain_f32(base, &s, 0, 1), 0);
        check_close(y, t.want, (size_t)(t.y_rows * p->ow * t.yc), 5.0);
        free(y);
        free(t.x);
        free(t.w);
        free(t.b);
        free(t.want);
    }
}

/* A dimension of random sizes, also large ones. */
static void rnd_dimension(inlay_window_params *p, int i)
{
    const uint32_t most = rnd(4) ? 7 : 40;
    p->in[i] = 1 + (int32_t)rnd(most);
    p->kernel[i] = 1 + (int32_t)rnd(most);
    p->stride[i] = 1 + (int32_t)rnd(most);
    p->dilation[i] = 1 + (int32_t)rnd(most);
    p->pad[i] = (int32_t)rnd(most);
}

/* Is k one of the taps of dimension i? */
static bool is_tap(const inlay_taps *taps, int i, int32_t k)
{
    const int32_t more = k - taps->from[i];
    return more >= 0 && k < taps->end[i] && more % taps->by[i] == 0;
}

/* The taps that meet the input are those that each by itself is seen to meet it. */
static void taps_met(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        inlay_window_params p;
        int32_t z[3];
        for (int i = 0; i < 3; i++) {
            rnd_dimension(&p, i);
            z[i] = (int32_t)rnd(100);
        }
        const inlay_taps taps = inlay_taps_of(&p, z);
        const inlay_taps back = inlay_taps_back(&p, z);
        for (int i = 0; i < 3; i++)
            for (int32_t k = 0; k < p.kernel[i]; k++) {
                const int32_t far = k * p.dilation[i];
                const int32_t at = z[i] * p.stride[i] - p.pad[i] + far;
                const int32_t from = z[i] + p.pad[i] - far;
                const bool meets = from >= 0 && from % p.stride[i] == 0 &&
                                   from / p.stride[i] < p.in[i];
                assert_int_equal(is_tap(&taps, i, k), at >= 0 && at < p.in[i]);
                assert_int_equal(is_tap(&back, i, k), meets);
            }
    }
}

/* What would not fit 32 bits on the way. */
static void large_strides(void **state)
{
    (void)state;
    const int32_t stride = 1 << 20;
    assert_int_equal(inlay_first_tap(5 * stride + 7, stride, 1), 7);
    assert_int_equal(inlay_first_tap(stride - 1, stride, stride - 1), 1);
    assert_int_equal(inlay_first_tap(1, stride, stride - 1), stride - 1);
    assert_int_equal(inlay_first_tap(7, stride, 6), -1);
    assert_int_equal(inlay_tap_place(1, stride - 1, stride, stride - 1),
                     2 - stride);
}

/* A million taps, of which no result meets more than eight: the others cost nothing. */
static void far_more_taps(void **state)
{
    enum { TAPS = 100, OUT = TAPS + 1 };
    (void)state;
    if (ROUNDS < 300)
        return;
    const inlay_window_params p = {
        .images = 1,
        .groups = 1,
        .ic = 1,
        .oc = 1,
        .in = { 2, 2, 2 },
        .out = { OUT, OUT, OUT },
        .kernel = { TAPS, TAPS, TAPS },
        .stride = { 1, 1, 1 },
        .dilation = { 1, 1, 1 },
        .xs = { 8, 8, 4, 2, 1 },
        .ys = { OUT * OUT * OUT, OUT * OUT * OUT, OUT * OUT, OUT, 1 },
    };
    float x[8];
    float *w = malloc(TAPS * TAPS * TAPS * sizeof *w);
    float *y = malloc(OUT * OUT * OUT * sizeof *y);
    for (int i = 0; i < 8; i++)
        x[i] = 1.0f;
    for (int i = 0; i < TAPS * TAPS * TAPS; i++)
        w[i] = 1.0f;
    void *base[3] = { y, x, w };
    const inlay_ref ref[4] = { { .cap = 1, .base = 0 },
                               { .cap = 1, .base = 1 },
                               { .cap = 1, .base = 2 },
                               { .cap = 1, .base = INLAY_NONE } };
    const inlay_step s = { inlay_deconv_plain_f32, &p, ref, 1, 0 };
    assert_int_equal(inlay_deconv_plain_f32(base, &s, 0, 1), 0);
    for (int i = 0; i < OUT * OUT * OUT; i++) {
        float want = 1.0f;
        for (int place = i, k = 0; k < 3; k++, place /= OUT)
            if (place % OUT && place % OUT != TAPS)
                want *= 2.0f;
        assert_true(y[i] == want);
    }
    free(w);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_phases),
                                        cmocka_unit_test(plain_form),
                                        cmocka_unit_test(taps_met),
                                        cmocka_unit_test(large_strides),
                                        cmocka_unit_test(far_more_taps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
