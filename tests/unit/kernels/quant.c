/* SPDX-License-Identifier: Apache-2.0
 * Quantization against nearbyint() and long sums: scales per tensor, per axis and in blocks, rows
 * with gaps, ties, saturation; integer products and convolutions. Results must be equal. */
#include "images.h"

#include "kernels/qdot.h"

static uint8_t *rnd_bytes(size_t n)
{
    uint8_t *b = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        b[i] = (uint8_t)rnd(256);
    return b;
}

static int value_of(uint8_t b, int is_signed)
{
    return is_signed ? (int8_t)b : b;
}

/* The reference: everything in double, but for the division, which is the operator's own float32
 * one. */
static int quantized(float x, float s, int z, int lo, int hi)
{
    const double q = nearbyint((double)(x / s)) + z;
    return (int)(q < lo ? lo : q > hi ? hi : q);
}

static int run(inlay_kernel *k, const void *params, int operands, void **base,
               int32_t units)
{
    inlay_ref ref[12];
    for (int i = 0; i < operands; i++)
        ref[i] =
            (inlay_ref){ .cap = 1, .pix = 1, .base = base[i] ? i : INLAY_NONE };
    const inlay_step s = { k, params, ref, units, 0 };
    return k(base, &s, 0, units);
}

/* Element (o, a, i) of [outer][axis][inner] and its scale. */
static size_t scale_at(const inlay_quant_params *p, int o, int a, int i)
{
    return (size_t)(o * p->so + a / p->block * p->sa + i * p->si);
}

static inlay_quant_params random_quant(size_t *scales)
{
    inlay_quant_params p = { .outer = 1 + (int32_t)rnd(4),
                             .axis = 1 + (int32_t)rnd(9),
                             .inner = 1 + (int32_t)rnd(40),
                             .block = 1,
                             .lo = -128,
                             .hi = 127 };
    switch (rnd(3)) {
    case 0:
        *scales = 1;
        break;
    case 1:
        p.sa = 1;
        *scales = (size_t)p.axis;
        break;
    default:
        p.block = 1 + (int32_t)rnd(4);
        p.sa = p.inner;
        p.si = p.inner > 1;
        p.so = (p.axis + p.block - 1) / p.block * p.inner;
        *scales = (size_t)(p.outer * p.so);
    }
    return p;
}

static void quantize(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        size_t scales;
        const inlay_quant_params p = random_quant(&scales);
        const size_t n = (size_t)(p.outer * p.axis * p.inner);
        float *x = rnd_floats(n), *s = rnd_floats(scales),
              *back = malloc(n * sizeof *back);
        int8_t *y = malloc(n), *z = (int8_t *)rnd_bytes(scales);
        for (size_t i = 0; i < scales; i++)
            s[i] = rnd(2) ? 0.0078125f
                          : fabsf(s[i]) * 0.01f +
                                1e-4f; /* powers of two make ties */
        void *base[4] = { y, x, s, rnd(3) ? z : NULL };
        if (!base[3])
            memset(z, 0, scales);
        assert_int_equal(run(inlay_quantize_i8, &p, 4, base, 1), 0);
        void *again[4] = { back, y, s, base[3] };
        run(inlay_dequantize_i8, &p, 4, again, 1);
        size_t at = 0;
        for (int o = 0; o < p.outer; o++)
            for (int a = 0; a < p.axis; a++)
                for (int i = 0; i < p.inner; i++, at++) {
                    const size_t k = scale_at(&p, o, a, i);
                    assert_int_equal(y[at],
                                     quantized(x[at], s[k], z[k], -128, 127));
                    assert_true(back[at] == (float)(y[at] - z[k]) * s[k]);
                }
        free(x);
        free(s);
        free(y);
        free(z);
        free(back);
    }
}

/* Rows of pixels with gaps between them, one scale for each channel; uint16. */
static void quantize_rows(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        const int w = 1 + (int)rnd(9), c = 1 + (int)rnd(20),
                  rows = 1 + (int)rnd(4), gap = (int)rnd(5);
        const bool per_channel = rnd(2);
        const inlay_quant_params p = { .outer = w,
                                       .axis = per_channel ? c : 1,
                                       .inner = per_channel ? 1 : c,
                                       .block = 1,
                                       .sa = per_channel,
                                       .rows = 1,
                                       .lo = 0,
                                       .hi = 65535 };
        float *x = rnd_floats((size_t)(rows * w * c)),
              *s = rnd_floats((size_t)c);
        uint16_t *y = malloc((size_t)(rows * w * (c + gap)) * sizeof *y),
                 *z = calloc((size_t)c, sizeof *z);
        memset(y, 0xee, (size_t)(rows * w * (c + gap)) * sizeof *y);
        for (int i = 0; i < c; i++) {
            s[i] = fabsf(s[i]) * 1e-4f + 1e-6f;
            z[i] = (uint16_t)rnd(65536);
        }
        void *base[4] = { y, x, s, z };
        const inlay_ref ref[4] = { { .row = (size_t)(w * (c + gap)) * sizeof *y,
                                     .cap = rows,
                                     .pix = c + gap,
                                     .base = 0 },
                                   { .row = (size_t)(w * c) * sizeof *x,
                                     .cap = rows,
                                     .pix = c,
                                     .base = 1 },
                                   { .cap = 1, .base = 2 },
                                   { .cap = 1, .base = 3 } };
        const inlay_step step = { inlay_quantize_u16, &p, ref, rows, 0 };
        inlay_quantize_u16(base, &step, 0, rows);
        for (int r = 0; r < rows * w; r++)
            for (int i = 0; i < c + gap; i++) {
                const int want =
                    i < c ? quantized(x[r * c + i], s[per_channel ? i : 0],
                                      z[per_channel ? i : 0], 0, 65535)
                          : 0xeeee;
                assert_int_equal(y[r * (c + gap) + i], want);
            }
        free(x);
        free(s);
        free(y);
        free(z);
    }
}

static void special_values(void **state)
{
    (void)state;
    const inlay_quant_params p = {
        .outer = 1, .axis = 1, .inner = 8, .block = 1, .lo = 0, .hi = 255
    };
    float
        x[8] = { INFINITY, -INFINITY, 0.5f, 1.5f, 2.5f, -0.5f, 1e30f, 254.5f },
        s = 1.0f;
    uint8_t y[8], z = 0;
    static const uint8_t want[8] = { 255, 0, 0, 2, 2, 0, 255, 254 };
    void *base[4] = { y, x, &s, &z };
    run(inlay_quantize_u8, &p, 4, base, 1);
    assert_memory_equal(y, want, 8);
}

static void dynamic(void **state)
{
    (void)state;
    float x[6] = { 0.0f, 2.0f, -3.0f, -2.5f, 1.34f, 0.5f }, s;
    uint8_t y[6], z;
    static const uint8_t want[6] = {
        153, 255, 0, 26, 221, 179
    }; /* the standard's example */
    const inlay_dynamic_quantize_params p = { .n = 6 };
    void *base[4] = { y, &s, &z, x };
    run(inlay_dynamic_quantize, &p, 4, base, 1);
    assert_memory_equal(y, want, 6);
    assert_int_equal(z, 153);
    assert_true(fabsf(s - 0.0196078438f) < 1e-8f);
}

/* The result of a sum: as it is, or scaled and saturated. */
static int finished(const void *y, size_t at, int out)
{
    return out == INLAY_QOUT_I32
               ? ((const int32_t *)y)[at]
               : value_of(((const uint8_t *)y)[at], out == INLAY_QOUT_I8);
}

/* Bounds of a result's bytes: all of its type, or less. */
static void set_bounds(int out, int32_t *lo, int32_t *hi)
{
    const int least = out == INLAY_QOUT_I8 ? -128 : 0;
    const bool tight = rnd(2) != 0;
    *lo = least + (tight ? (int32_t)rnd(128) : 0);
    *hi = least + (tight ? 128 + (int32_t)rnd(128) : 255);
}

static int expected(int64_t sum, int out, float sa, float sb, float sy, int zy,
                    int lo, int hi)
{
    if (out == INLAY_QOUT_I32)
        return (int)sum;
    const double q = nearbyint((double)((float)sum * (sa * sb / sy))) + zy;
    return (int)(q < lo ? lo : q > hi ? hi : q);
}

static void products(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        inlay_qmatmul_params p = { .m = 1 + (int32_t)rnd(6),
                                   .n = 1 + (int32_t)rnd(150),
                                   .k = 1 + (int32_t)rnd(60),
                                   .signs = (int32_t)rnd(4),
                                   .out = (int32_t)rnd(3),
                                   .za = 1,
                                   .zb = 1,
                                   .sa = 1,
                                   .sb = 1,
                                   .rank = 1,
                                   .dims = { 1 + (int32_t)rnd(3) },
                                   .as = { 1 },
                                   .bs = { 0 } };
        set_bounds(p.out, &p.lo, &p.hi);
        const int batch = p.dims[0], sa = p.signs & 1, sb = p.signs >> 1;
        if (rnd(2)) {
            p.zb = p.n;
            p.sb = p.n;
        }
        if (rnd(3) == 0)
            p.za = p.m;
        p.bs[0] = (int32_t)rnd(2);
        p.lines = batch * p.m;
        uint8_t *a = rnd_bytes((size_t)(batch * p.m * p.k)),
                *b = rnd_bytes((size_t)(batch * p.k * p.n)),
                *za = rnd_bytes((size_t)p.m), *zb = rnd_bytes((size_t)p.n),
                zy = (uint8_t)rnd(256);
        float one = 0.02f, *scale = rnd_floats((size_t)p.n), sy = 1.7f;
        for (int i = 0; i < p.n; i++)
            scale[i] = fabsf(scale[i]) * 0.1f + 0.001f;
        void *y = malloc((size_t)(batch * p.m * p.n) * 4);
        const bool scaled = p.out != INLAY_QOUT_I32;
        void *base[9] = { y,
                          a,
                          b,
                          za,
                          zb,
                          scaled ? &one : NULL,
                          scaled ? scale : NULL,
                          scaled ? &sy : NULL,
                          scaled ? &zy : NULL };
        run(inlay_qmatmul, &p, 9, base, 1);
        for (int i = 0; i < batch * p.m; i++)
            for (int j = 0; j < p.n; j++) {
                int64_t sum = 0;
                for (int k = 0; k < p.k; k++)
                    sum +=
                        (int64_t)(value_of(a[i * p.k + k], sa) -
                                  value_of(za[p.za > 1 ? i % p.m : 0], sa)) *
                        (value_of(b[(p.bs[0] * (i / p.m) * p.k + k) * p.n + j],
                                  sb) -
                         value_of(zb[p.zb > 1 ? j : 0], sb));
                assert_int_equal(
                    finished(y, (size_t)(i * p.n + j), p.out),
                    expected(sum, p.out, one, scale[p.sb > 1 ? j : 0], sy,
                             value_of(zy, p.out == INLAY_QOUT_I8), p.lo, p.hi));
            }
        free(a);
        free(b);
        free(za);
        free(zb);
        free(scale);
        free(y);
    }
}

/* One image [H][W][C]; weights [groups][taps][ic][oc]. */
typedef struct Conv {
    inlay_qconv_params p;
    int32_t ci, co, taps; /* channels of all groups, taps of a window */
    uint8_t *x, *w, *zw;
    uint8_t zx, zy;
    const int32_t *bias; /* NULL: none */
    float *scale;
} Conv;

static inlay_qconv_params conv_params(bool depthwise)
{
    inlay_qconv_params p = {
        .id = 1,
        .od = 1,
        .kd = 1,
        .sd = 1,
        .dd = 1,
        .ih = 3 + (int32_t)rnd(5),
        .iw = 3 + (int32_t)rnd(5),
        .kh = 1 + (int32_t)rnd(3),
        .kw = 1 + (int32_t)rnd(3),
        .sh = 1 + (int32_t)rnd(2),
        .sw = 1 + (int32_t)rnd(2),
        .dh = 1,
        .dw = 1,
        .ph = (int32_t)rnd(2),
        .pw = (int32_t)rnd(2),
        .groups = depthwise ? 1 + (int32_t)rnd(80) : 1 + (int32_t)rnd(2),
        .ic = depthwise ? 1 : 1 + (int32_t)rnd(5),
        .oc = depthwise ? 1 : 1 + (int32_t)rnd(70),
        .signs = (int32_t)rnd(4),
        .out = (int32_t)rnd(3),
    };
    set_bounds(p.out, &p.lo, &p.hi);
    p.oh = (p.ih + 2 * p.ph - p.kh) / p.sh + 1;
    p.ow = (p.iw + 2 * p.pw - p.kw) / p.sw + 1;
    p.zw = rnd(2) ? p.groups * p.oc : 1;
    p.sw_count = p.zw;
    return p;
}

static Conv random_conv(void)
{
    Conv conv = { .p = conv_params(rnd(3) == 0) };
    const inlay_qconv_params *p = &conv.p;
    conv.ci = p->groups * p->ic;
    conv.co = p->groups * p->oc;
    conv.taps = p->kh * p->kw;
    conv.x = rnd_bytes((size_t)(p->ih * p->iw * conv.ci));
    conv.w = rnd_bytes((size_t)(conv.taps * p->ic * conv.co));
    conv.zw = rnd_bytes((size_t)conv.co);
    conv.zx = (uint8_t)rnd(256);
    conv.zy = (uint8_t)rnd(256);
    conv.scale = rnd_floats((size_t)conv.co);
    for (int i = 0; i < conv.co; i++)
        conv.scale[i] = fabsf(conv.scale[i]) * 0.1f + 0.001f;
    return conv;
}

/* The products of tap t, at pixel v of row h, for channel o of the result. */
static int64_t tap_sum(const Conv *conv, int t, int h, int v, int o)
{
    const inlay_qconv_params *p = &conv->p;
    const bool depthwise = p->ic == 1 && p->oc == 1;
    const int sx = p->signs & 1, sw = p->signs >> 1, g = o / p->oc;
    const int zero = value_of(conv->zw[p->zw > 1 ? o : 0], sw);
    int64_t sum = 0;
    for (int i = 0; i < p->ic; i++) {
        const int inner = (g * conv->taps + t) * p->ic + i;
        const int at = depthwise ? t * conv->co + o : inner * p->oc + o % p->oc;
        const uint8_t x = conv->x[(h * p->iw + v) * conv->ci + g * p->ic + i];
        sum += (int64_t)(value_of(x, sx) - value_of(conv->zx, sx)) *
               (value_of(conv->w[at], sw) - zero);
    }
    return sum;
}

/* The sum of element `at` of the result. */
static int64_t conv_sum(const Conv *conv, int at)
{
    const inlay_qconv_params *p = &conv->p;
    const int o = at % conv->co, pixel = at / conv->co;
    int64_t sum = conv->bias ? conv->bias[o] : 0;
    for (int t = 0; t < conv->taps; t++) {
        const int h = pixel / p->ow * p->sh - p->ph + t / p->kw;
        const int v = pixel % p->ow * p->sw - p->pw + t % p->kw;
        if (h >= 0 && h < p->ih && v >= 0 && v < p->iw)
            sum += tap_sum(conv, t, h, v, o);
    }
    return sum;
}

static void check_conv(Conv *conv, uint8_t *y, int32_t *bias)
{
    const inlay_qconv_params *p = &conv->p;
    const bool scaled = p->out != INLAY_QOUT_I32;
    float one = 0.02f, sy = 2.3f;
    void *base[10] = { y, conv->x, conv->w, &conv->zx, conv->zw };
    inlay_ref ref[10];
    if (scaled) {
        base[5] = &one;
        base[6] = conv->scale;
        base[7] = &sy;
        base[8] = &conv->zy;
    }
    base[9] = bias;
    conv->bias = bias;
    for (int i = 0; i < 10; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = base[i] ? i : INLAY_NONE };
    ref[0].cap = p->oh;
    ref[0].pix = conv->co;
    ref[0].row = (size_t)(p->ow * conv->co) * (scaled ? 1 : 4);
    ref[1].cap = p->ih;
    ref[1].pix = conv->ci;
    ref[1].row = (size_t)(p->iw * conv->ci);
    const inlay_step step = { inlay_qconv, p, ref, p->oh, 0 };
    inlay_qconv(base, &step, 0, p->oh);
    for (int at = 0; at < p->oh * p->ow * conv->co; at++) {
        const float scale = conv->scale[p->sw_count > 1 ? at % conv->co : 0];
        const int zero = value_of(conv->zy, p->out == INLAY_QOUT_I8);
        assert_int_equal(finished(y, (size_t)at, p->out),
                         expected(conv_sum(conv, at), p->out, one, scale, sy,
                                  zero, p->lo, p->hi));
    }
}

static void convolutions(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        Conv conv = random_conv();
        const inlay_qconv_params *p = &conv.p;
        int32_t *bias = malloc((size_t)conv.co * sizeof *bias);
        uint8_t *y = malloc((size_t)(p->oh * p->ow * conv.co) * 4);
        for (int i = 0; i < conv.co; i++)
            bias[i] = (int32_t)rnd(2000) - 1000;
        check_conv(&conv, y, rnd(2) ? bias : NULL);
        free(conv.x);
        free(conv.w);
        free(conv.zw);
        free(conv.scale);
        free(bias);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantize),       cmocka_unit_test(quantize_rows),
        cmocka_unit_test(special_values), cmocka_unit_test(dynamic),
        cmocka_unit_test(products),       cmocka_unit_test(convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
