/* SPDX-License-Identifier: Apache-2.0
 * Weights of narrow types: each type widened as half.h says, and convolutions with such weights
 * against those of float with the same numbers widened beforehand: equal bits, whatever the
 * geometry, the grouping, the scales and the number of rows of a call; but for a pixel that is
 * alone, and channels of one scale where there are no vectors: their sums are scaled instead of
 * weights. */
#include "images.h"

#include "kernels/conv_narrow.h"
#include "kernels/pair_narrow.h"
#include "kernels/recurrent_narrow.h"

/* A bare core takes fewer rounds of each type, and nothing large. */
#ifdef ROUNDS
enum { EACH = 4, PIXELS = 20, INPUTS = 24, CHANNELS = 40 };
#else
enum { EACH = 12, PIXELS = 90, INPUTS = 90, CHANNELS = 150 };
#endif

typedef struct Type {
    const char *name;
    int bits, kind;
    inlay_widen_type *widen;
    inlay_kernel *conv, *conv_act, *conv1d, *conv1d_act, *deconv, *deconv_act;
    inlay_kernel *dwpw, *affine_conv, *affine_conv_act;
} Type;

static const Type types[] = {
    { "f16", 16, INLAY_NARROW_F16, inlay_widen_f16, inlay_conv_f16,
      inlay_conv_act_f16, inlay_conv1d_f16, inlay_conv1d_act_f16,
      inlay_deconv_f16, inlay_deconv_act_f16, inlay_dwpw_f16,
      inlay_affine_conv_f16, inlay_affine_conv_act_f16 },
    { "bf16", 16, INLAY_NARROW_BF16, inlay_widen_bf16, inlay_conv_bf16,
      inlay_conv_act_bf16, inlay_conv1d_bf16, inlay_conv1d_act_bf16,
      inlay_deconv_bf16, inlay_deconv_act_bf16, inlay_dwpw_bf16,
      inlay_affine_conv_bf16, inlay_affine_conv_act_bf16 },
    { "f8e4m3fn", 8, INLAY_NARROW_F8E4M3FN, inlay_widen_f8e4m3fn,
      inlay_conv_f8e4m3fn, inlay_conv_act_f8e4m3fn, inlay_conv1d_f8e4m3fn,
      inlay_conv1d_act_f8e4m3fn, inlay_deconv_f8e4m3fn,
      inlay_deconv_act_f8e4m3fn, inlay_dwpw_f8e4m3fn,
      inlay_affine_conv_f8e4m3fn, inlay_affine_conv_act_f8e4m3fn },
    { "f8e4m3fnuz", 8, INLAY_NARROW_F8E4M3FNUZ, inlay_widen_f8e4m3fnuz,
      inlay_conv_f8e4m3fnuz, inlay_conv_act_f8e4m3fnuz, inlay_conv1d_f8e4m3fnuz,
      inlay_conv1d_act_f8e4m3fnuz, inlay_deconv_f8e4m3fnuz,
      inlay_deconv_act_f8e4m3fnuz, inlay_dwpw_f8e4m3fnuz,
      inlay_affine_conv_f8e4m3fnuz, inlay_affine_conv_act_f8e4m3fnuz },
    { "f8e5m2", 8, INLAY_NARROW_F8E5M2, inlay_widen_f8e5m2, inlay_conv_f8e5m2,
      inlay_conv_act_f8e5m2, inlay_conv1d_f8e5m2, inlay_conv1d_act_f8e5m2,
      inlay_deconv_f8e5m2, inlay_deconv_act_f8e5m2, inlay_dwpw_f8e5m2,
      inlay_affine_conv_f8e5m2, inlay_affine_conv_act_f8e5m2 },
    { "f8e5m2fnuz", 8, INLAY_NARROW_F8E5M2FNUZ, inlay_widen_f8e5m2fnuz,
      inlay_conv_f8e5m2fnuz, inlay_conv_act_f8e5m2fnuz, inlay_conv1d_f8e5m2fnuz,
      inlay_conv1d_act_f8e5m2fnuz, inlay_deconv_f8e5m2fnuz,
      inlay_deconv_act_f8e5m2fnuz, inlay_dwpw_f8e5m2fnuz,
      inlay_affine_conv_f8e5m2fnuz, inlay_affine_conv_act_f8e5m2fnuz },
    { "i8", 8, INLAY_NARROW_SIGNED, inlay_widen_i8, inlay_conv_i8,
      inlay_conv_act_i8, inlay_conv1d_i8, inlay_conv1d_act_i8, inlay_deconv_i8,
      inlay_deconv_act_i8, inlay_dwpw_i8, inlay_affine_conv_i8,
      inlay_affine_conv_act_i8 },
    { "u8", 8, INLAY_NARROW_UNSIGNED, inlay_widen_u8, inlay_conv_u8,
      inlay_conv_act_u8, inlay_conv1d_u8, inlay_conv1d_act_u8, inlay_deconv_u8,
      inlay_deconv_act_u8, inlay_dwpw_u8, inlay_affine_conv_u8,
      inlay_affine_conv_act_u8 },
    { "i4", 4, INLAY_NARROW_SIGNED, inlay_widen_i4, inlay_conv_i4,
      inlay_conv_act_i4, inlay_conv1d_i4, inlay_conv1d_act_i4, inlay_deconv_i4,
      inlay_deconv_act_i4, inlay_dwpw_i4, inlay_affine_conv_i4,
      inlay_affine_conv_act_i4 },
    { "u4", 4, INLAY_NARROW_UNSIGNED, inlay_widen_u4, inlay_conv_u4,
      inlay_conv_act_u4, inlay_conv1d_u4, inlay_conv1d_act_u4, inlay_deconv_u4,
      inlay_deconv_act_u4, inlay_dwpw_u4, inlay_affine_conv_u4,
      inlay_affine_conv_act_u4 },
    { "i2", 2, INLAY_NARROW_SIGNED, inlay_widen_i2, inlay_conv_i2,
      inlay_conv_act_i2, inlay_conv1d_i2, inlay_conv1d_act_i2, inlay_deconv_i2,
      inlay_deconv_act_i2, inlay_dwpw_i2, inlay_affine_conv_i2,
      inlay_affine_conv_act_i2 },
    { "u2", 2, INLAY_NARROW_UNSIGNED, inlay_widen_u2, inlay_conv_u2,
      inlay_conv_act_u2, inlay_conv1d_u2, inlay_conv1d_act_u2, inlay_deconv_u2,
      inlay_deconv_act_u2, inlay_dwpw_u2, inlay_affine_conv_u2,
      inlay_affine_conv_act_u2 },
};
enum { TYPES = sizeof types / sizeof *types };

/* Sizes of the kernels of one case. */
typedef enum Form { CONV, SIGNAL, TRANSPOSED } Form;

typedef struct Case {
    inlay_conv_params p;
    int images, phases;
    bool residual, scaled, zeros;
    int block; /* taps of one scale */
} Case;

static void same_number(float got, float want)
{
    if (want != want)
        assert_true(got != got);
    else
        assert_memory_equal(&got, &want, sizeof got);
}

static float largest(const float *v, size_t n)
{
    float most = 1;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i]) && fabsf(v[i]) > most)
            most = fabsf(v[i]);
    return most;
}

/* Is the pixel alone, and its window one run? */
static bool is_alone(const Case *t)
{
    return t->images == 1 && t->p.oh == 1 && t->p.ow == 1;
}

/* Number i of the results: the same, but where float weights are summed up in another order
 * (tile_few.inc.h), of weights up to `large`, or scaled later. */
static void same_result(const Case *t, size_t i, float got, float want,
                        float large)
{
    const inlay_conv_params *p = &t->p;
    const int32_t rest = p->oc % 4;
    const int32_t channel = (int32_t)(i % (size_t)p->oc);
    const bool few = INLAY_VL > 1 && p->ic % INLAY_VL == 0 &&
                     (rest == 1 || rest == 2) && channel >= p->oc - rest;
    const float taps = (float)(p->kh * p->kw * p->ic);
    const bool whole = INLAY_VL == 1 && t->block >= p->kh * p->kw * p->ic;
    const bool later = t->scaled && (is_alone(t) || whole);
    if ((few || later) && isfinite(want))
        assert_true(fabsf(got - want) <= 3e-7f * large * taps);
    else
        same_number(got, want);
}

/* Every pattern of a type's bits, at every place of a vector. */
static void widens(void **state)
{
    enum { MOST = 65536, BYTES = 2 * MOST + 64 };
    unsigned char *bytes = malloc(BYTES);
    float *got = malloc(MOST * sizeof *got);
    (void)state;
    for (int k = 0; k < TYPES; k++) {
        const Type *t = types + k;
        const int n = t->bits == 16 ? MOST : 512;
        for (int i = 0; i < BYTES; i++)
            bytes[i] = (unsigned char)(t->bits < 16 ? i
                                       : i % 2      ? i / 512
                                                    : i / 2);
        for (int first = 0; first < 9; first++) {
            t->widen(got, bytes, first, n - first);
            for (int i = 0; i < n - first; i++)
                same_number(got[i], inlay_narrow_one(bytes, first + i, t->bits,
                                                     t->kind));
        }
    }
    free(bytes);
    free(got);
}

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The size of y along a dimension, for one phase of a transposed one. */
static int32_t out_size(const Case *t, Form form, int32_t in, int32_t k,
                        int32_t stride, int32_t pad)
{
    (void)t;
    if (form == TRANSPOSED)
        return (in - 1) * stride + k * stride - 2 * pad;
    return (in + 2 * pad - k) / stride + 1;
}

/* Windows may lie beside the image; those of transposed convolutions have results there. */
static int32_t random_pad(Form form, int32_t k)
{
    return (int32_t)rnd((uint32_t)(form == TRANSPOSED ? k : k + 2));
}

static Case random_case(Form form)
{
    const bool alone = form == CONV && rnd(3) == 0;
    Case t = { .images = alone ? 1 : 1 + (int)rnd(2) };
    inlay_conv_params *p = &t.p;
    const bool product = alone || (form == CONV && rnd(3) == 0);
    *p = (inlay_conv_params){ .id = 1, .od = 1, .kd = 1, .sd = 1, .dd = 1 };
    p->dh = p->dw = p->sh = p->sw = p->kh = p->kw = 1;
    if (!product) {
        p->kh = 1 + (int32_t)rnd(4);
        p->sh = 1 + (int32_t)rnd(2);
        p->ph = random_pad(form, p->kh);
    }
    if (!product && form != SIGNAL) {
        p->kw = 1 + (int32_t)rnd(4);
        p->sw = 1 + (int32_t)rnd(2);
        p->pw = random_pad(form, p->kw);
    }
    p->ih = most(p->kh, 1) + (int32_t)rnd(form == SIGNAL ? 40 : 5);
    p->iw = form == SIGNAL ? 1 : most(p->kw, 1) + (int32_t)rnd(PIXELS);
    if (alone)
        p->ih = p->iw = 1;
    p->oh = out_size(&t, form, p->ih, p->kh, p->sh, p->ph);
    p->ow = out_size(&t, form, p->iw, p->kw, p->sw, p->pw);
    p->groups = rnd(3) ? 1 : 1 + (int32_t)rnd(3);
    p->ic = 1 + (int32_t)rnd(rnd(2) ? INPUTS : 7);
    p->oc = 1 + (int32_t)rnd(rnd(2) ? CHANNELS : 20);
    p->width = rnd(2) ? 4 : 16;
    p->act = rnd(4) ? INLAY_ACT_NONE : INLAY_ACT_SWISH;
    p->a = -0.5f;
    p->b = 0.75f;
    p->clamp = p->act ? 0 : (int32_t)rnd(4);
    t.phases = form == TRANSPOSED ? p->sh * p->sw : 1;
    t.residual = rnd(3) == 0;
    return t;
}

/* Channel c of what is packed with `each` elements for each channel: where element k lies. */
static size_t packed_at(const inlay_conv_params *p, int c, int each, int k)
{
    const int padded = (p->oc + 3) / 4 * 4;
    const int group = c / padded * padded;
    int first = (c - group) / p->width * p->width;
    int width = p->width;
    if (padded - first < width) {
        const int left = padded - first;
        width = left >= 8 ? 8 : 4;
        if (c - group - first >= width) {
            first += width;
            width = 4;
        }
    }
    return (size_t)((group + first) * each + k * width + (c - group - first));
}

/* The weights as floats: what the narrow kernel is to make of them. */
static float *widened(const Case *t, const Type *type, const void *bytes,
                      size_t n, const float *scale, const void *zero,
                      const int32_t *how)
{
    const inlay_conv_params *p = &t->p;
    const int taps = p->kh * p->kw * p->ic;
    const int channels = p->groups * ((p->oc + 3) / 4 * 4);
    float *w = malloc(n * sizeof *w);
    for (size_t i = 0; i < n; i++)
        w[i] = inlay_narrow_one(bytes, (ptrdiff_t)i, type->bits, type->kind);
    for (int f = 0; t->scaled && f < t->phases; f++)
        for (int c = 0; c < channels; c++)
            for (int k = 0; k < taps; k++) {
                const int of = c % how[INLAY_HOW_CHANNELS];
                const size_t at =
                    packed_at(p, of, how[INLAY_HOW_BLOCKS], k / t->block);
                float *one = w + (size_t)f * (size_t)(channels * taps) +
                             packed_at(p, c, taps, k);
                float z = (float)how[INLAY_HOW_ZERO];
                if (zero)
                    z = inlay_narrow_one(zero, (ptrdiff_t)at, type->bits,
                                         type->kind);
                *one = (*one - z) * scale[at];
            }
    return w;
}

static unsigned char *random_bytes(size_t n)
{
    unsigned char *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)rnd(256);
    return bytes;
}

/* Values that make no infinities in sums: exponents near that of one. */
static void tame(const Type *type, unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (type->bits == 16 && i % 2)
            bytes[i] &= 0xbf; /* below 2 */
        if (type->bits == 8 && type->kind > INLAY_NARROW_SIGNED)
            bytes[i] &= 0xbf;
    }
}

static void scales_of(Case *t, const Type *type, int32_t *how)
{
    const inlay_conv_params *p = &t->p;
    const int taps = p->kh * p->kw * p->ic;
    const int blocks[] = { taps, 32, 16, 5, 1 };
    t->scaled = rnd(2);
    t->zeros = rnd(2);
    t->block = blocks[rnd(5)];
    how[INLAY_HOW_BLOCK] = t->block;
    how[INLAY_HOW_BLOCKS] = (taps + t->block - 1) / t->block;
    how[INLAY_HOW_CHANNELS] = p->groups * ((p->oc + 3) / 4 * 4);
    how[INLAY_HOW_SCALE] = INLAY_SCALE_F32;
    how[INLAY_HOW_ZERO] = type->bits < 8 ? 1 : 7;
}

static void run(const Case *t, inlay_kernel *kernel, const void *w,
                const float *bias, const float *x, const float *q, float *y,
                const int32_t *how, const float *scale, const void *zero)
{
    const inlay_conv_params *p = &t->p;
    const int32_t xc = p->groups * p->ic;
    const int32_t yc = p->groups * p->oc;
    const int32_t rows = t->images * p->oh;
    const void *at[] = { y, x, w, bias, q, how, scale, zero };
    void *base[8];
    inlay_ref ref[8] = { { 0 } };
    memcpy(base, at, sizeof base);
    for (int i = 0; i < 8; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = at[i] ? i : INLAY_NONE };
    for (int i = 0; i < 5; i += 4) {
        ref[i].cap = rows;
        ref[i].pix = yc;
        ref[i].row = (size_t)(p->ow * yc) * sizeof(float);
    }
    ref[1].cap = t->images * p->ih;
    ref[1].pix = xc;
    ref[1].row = (size_t)(p->iw * xc) * sizeof(float);
    const inlay_step s = { kernel, p, ref, rows, (int32_t)rnd(2) };
    const int32_t first = (int32_t)rnd((uint32_t)rows);
    if (s.backward) {
        assert_int_equal(kernel(base, &s, first, rows), 0);
        assert_int_equal(kernel(base, &s, 0, first), 0);
    } else {
        assert_int_equal(kernel(base, &s, 0, first), 0);
        assert_int_equal(kernel(base, &s, first, rows), 0);
    }
}

static void kernels_of(const Type *type, Form form, int act,
                       inlay_kernel **narrow, inlay_kernel **wide)
{
    *narrow = act ? type->conv_act : type->conv;
    *wide = act ? inlay_conv_act_f32 : inlay_conv_f32;
    if (form == SIGNAL) {
        *narrow = act ? type->conv1d_act : type->conv1d;
        *wide = act ? inlay_conv1d_act_f32 : inlay_conv1d_f32;
    }
    if (form == TRANSPOSED) {
        *narrow = act ? type->deconv_act : type->deconv;
        *wide = act ? inlay_deconv_act_f32 : inlay_deconv_f32;
    }
}

static void compare(const Case *t, const Type *type, Form form,
                    const int32_t *how)
{
    const inlay_conv_params *p = &t->p;
    const size_t channels = (size_t)(p->groups * ((p->oc + 3) / 4 * 4));
    const size_t n = channels * (size_t)(p->kh * p->kw * p->ic * t->phases);
    const size_t bytes = n * (size_t)type->bits / 8;
    const size_t scales = channels * (size_t)how[INLAY_HOW_BLOCKS];
    unsigned char *w = random_bytes(bytes);
    unsigned char *z = random_bytes(scales * (size_t)type->bits / 8);
    tame(type, w, bytes);
    tame(type, z, scales * (size_t)type->bits / 8);
    float *scale = rnd_floats(scales);
    const void *zero = t->zeros ? z : NULL;
    float *wide = widened(t, type, w, n, scale, zero, how);
    const size_t out = (size_t)(t->images * p->oh * p->ow * p->groups * p->oc);
    float *x =
        rnd_floats((size_t)(t->images * p->ih * p->iw * p->groups * p->ic));
    float *bias = rnd_floats(channels);
    float *q = rnd_floats(out);
    float *got = rnd_floats(out);
    float *want = rnd_floats(out);
    inlay_kernel *narrow_kernel, *wide_kernel;
    kernels_of(type, form, p->act, &narrow_kernel, &wide_kernel);
    const float *addend = t->residual ? q : NULL;
    run(t, wide_kernel, wide, bias, x, addend, want, NULL, NULL, NULL);
    if (t->scaled)
        run(t, narrow_kernel, w, bias, x, addend, got, how, scale, zero);
    else
        run(t, narrow_kernel, w, bias, x, addend, got, NULL, NULL, NULL);
    const float large = largest(wide, n);
    for (size_t i = 0; i < out; i++)
        same_result(t, i, got[i], want[i], large);
    free(w);
    free(z);
    free(scale);
    free(wide);
    free(x);
    free(bias);
    free(q);
    free(got);
    free(want);
}

static void compare_random(const Type *type, Form form)
{
    Case t = random_case(form);
    int32_t how[INLAY_HOW_COUNT];
    scales_of(&t, type, how);
    compare(&t, type, form, how);
}

/* Pairs: the sizes of a row, and the parameters of the second convolution as if it stood alone. */
typedef struct Pair {
    inlay_dwpw_params dwpw;
    inlay_affine_conv_params affine;
    Case second;
} Pair;

static Pair random_pair(void)
{
    Pair pair = { .second = random_case(CONV) };
    inlay_conv_params *p = &pair.second.p;
    p->kh = p->kw = p->sh = p->sw = p->groups = 1;
    p->ph = p->pw = 0;
    pair.second.images = 3;
    p->oh = p->ih = 3;
    p->ow = p->iw;
    const int32_t chunk = 1 + (int32_t)rnd((uint32_t)p->iw);
    pair.dwpw = (inlay_dwpw_params){
        .ih = 3,
        .iw = p->iw,
        .oh = 3,
        .ow = p->iw,
        .kh = 3,
        .kw = 3,
        .sh = 1,
        .sw = 1,
        .dh = 1,
        .dw = 1,
        .ph = 1,
        .pw = 1,
        .channels = p->ic,
        .oc = p->oc,
        .width = p->width,
        .chunk = chunk,
        .d_clamp = 3,
        .clamp = p->clamp,
        .d_a = -0.5f,
        .d_b = 1.5f,
        .a = p->a,
        .b = p->b,
    };
    pair.affine = (inlay_affine_conv_params){
        .pixels = p->iw,
        .ic = p->ic,
        .oc = p->oc,
        .width = p->width,
        .chunk = chunk,
        .x_clamp = 1,
        .clamp = p->clamp,
        .act = p->act,
        .x_a = -0.25f,
        .a = p->a,
        .b = p->b,
    };
    return pair;
}

/* Operands of a pair: y, x, two of the first step, w, bias, q, then of narrow weights three more;
 * scratch. */
static void run_pair(const Pair *pair, inlay_kernel *kernel, const void *params,
                     const void **at, int operands)
{
    const inlay_conv_params *p = &pair->second.p;
    void *base[11];
    inlay_ref ref[11] = { { 0 } };
    memcpy(base, at, sizeof base);
    for (int i = 0; i < operands; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = at[i] ? i : INLAY_NONE };
    for (int i = 0; i < 2; i++) {
        ref[i].cap = 3;
        ref[i].pix = i ? p->ic : p->oc;
        ref[i].row = (size_t)(p->iw * ref[i].pix) * sizeof(float);
    }
    ref[6].cap = 3;
    ref[6].pix = p->oc;
    ref[6].row = ref[0].row;
    const inlay_step s = { kernel, params, ref, 3, (int32_t)rnd(2) };
    assert_int_equal(kernel(base, &s, 0, 3), 0);
}

static void compare_pair(const Type *type, bool affine)
{
    Pair pair = random_pair();
    Case *t = &pair.second;
    const inlay_conv_params *p = &t->p;
    int32_t how[INLAY_HOW_COUNT];
    scales_of(t, type, how);
    const size_t channels = (size_t)how[INLAY_HOW_CHANNELS];
    const size_t n = channels * (size_t)p->ic;
    const size_t bytes = n * (size_t)type->bits / 8;
    const size_t out = (size_t)(3 * p->iw * p->oc);
    unsigned char *w = random_bytes(bytes);
    tame(type, w, bytes);
    float *scale = rnd_floats(channels * (size_t)how[INLAY_HOW_BLOCKS]);
    float *wide = widened(t, type, w, n, scale, NULL, how);
    float *x = rnd_floats((size_t)(3 * p->iw * p->ic));
    float *first = rnd_floats((size_t)(9 * p->ic));
    float *shift = rnd_floats((size_t)p->ic);
    float *bias = rnd_floats(channels);
    float *q = rnd_floats(out);
    float *scratch = rnd_floats((size_t)(p->iw * p->ic));
    float *got = rnd_floats(out);
    float *want = rnd_floats(out);
    const void *add = t->residual ? q : NULL;
    const void *plain[11] = { want, x, first, shift, wide, bias, add, scratch };
    const void *stored[11] = { got,
                               x,
                               first,
                               shift,
                               w,
                               bias,
                               add,
                               t->scaled ? how : NULL,
                               t->scaled ? scale : NULL,
                               NULL,
                               scratch };
    if (!affine) {
        run_pair(&pair, inlay_dwpw_f32, &pair.dwpw, plain, 8);
        run_pair(&pair, type->dwpw, &pair.dwpw, stored, 11);
    } else {
        run_pair(&pair,
                 p->act ? inlay_affine_conv_act_f32 : inlay_affine_conv_f32,
                 &pair.affine, plain, 8);
        run_pair(&pair, p->act ? type->affine_conv_act : type->affine_conv,
                 &pair.affine, stored, 11);
    }
    const float large = largest(wide, n);
    for (size_t i = 0; i < out; i++)
        same_result(t, i, got[i], want[i], large);
    free(w);
    free(scale);
    free(wide);
    free(x);
    free(first);
    free(shift);
    free(bias);
    free(q);
    free(scratch);
    free(got);
    free(want);
}

static void pairs(void **state)
{
    (void)state;
    for (int i = 0; i < EACH * TYPES; i++)
        compare_pair(types + i / 2 % TYPES, i % 2);
}

static void convolves(void **state)
{
    (void)state;
    for (int i = 0; i < EACH * TYPES; i++)
        compare_random(types + i % TYPES, CONV);
}

/* Small windows and many channels: Arm cores copy the windows. */
static void few_taps(Case *t)
{
    inlay_conv_params *p = &t->p;
    p->ic = 1 + (int32_t)rnd(2);
    p->oc = 70 + (int32_t)rnd(20);
    p->groups = 1;
    p->kh = 2 + (int32_t)rnd(3);
    p->kw = 1 + (int32_t)rnd(4);
    p->ph = (int32_t)rnd((uint32_t)p->kh);
    p->pw = (int32_t)rnd((uint32_t)p->kw);
    p->ih += p->kh;
    p->iw += p->kw;
    p->oh = out_size(t, CONV, p->ih, p->kh, p->sh, p->ph);
    p->ow = out_size(t, CONV, p->iw, p->kw, p->sw, p->pw);
    assert_true(inlay_conv_copies(p));
}

/* Signed bytes that Arm cores need no panels for: a scale for each channel, or four for all. */
enum { SIGNED_CASES = 96 };

static void signed_bytes(void **state)
{
    const Type *type = types;
    (void)state;
    while (type->bits != 8 || type->kind != INLAY_NARROW_SIGNED)
        type++;
    for (int i = 0; i < SIGNED_CASES; i++) {
        Case t = random_case(CONV);
        int32_t how[INLAY_HOW_COUNT];
        if (rnd(2))
            few_taps(&t);
        scales_of(&t, type, how);
        t.scaled = rnd(4) > 0;
        t.residual = rnd(4) == 0;
        t.block = t.p.kh * t.p.kw * t.p.ic;
        t.zeros = false;
        t.p.width = 4;
        t.p.clamp = t.p.act ? 0 : (int32_t)rnd(2);
        t.p.a = 0.0f;
        how[INLAY_HOW_BLOCK] = t.block;
        how[INLAY_HOW_BLOCKS] = 1;
        how[INLAY_HOW_ZERO] = 0;
        if (rnd(2))
            how[INLAY_HOW_CHANNELS] = 4;
        compare(&t, type, CONV, how);
    }
}

static void signals(void **state)
{
    (void)state;
    for (int i = 0; i < EACH * TYPES; i++)
        compare_random(types + i % TYPES, SIGNAL);
}

static void transposed(void **state)
{
    (void)state;
    for (int i = 0; i < EACH * TYPES; i++)
        compare_random(types + i % TYPES, TRANSPOSED);
}

/* The recurrent kernels, in the order of the types. */
static inlay_kernel *const recurrent[TYPES] = {
    inlay_recurrent_f16,      inlay_recurrent_bf16,
    inlay_recurrent_f8e4m3fn, inlay_recurrent_f8e4m3fnuz,
    inlay_recurrent_f8e5m2,   inlay_recurrent_f8e5m2fnuz,
    inlay_recurrent_i8,       inlay_recurrent_u8,
    inlay_recurrent_i4,       inlay_recurrent_u4,
    inlay_recurrent_i2,       inlay_recurrent_u2
};

/* An LSTM of both directions: packed weights are the same places of any type. */
enum { STEPS = 5, HEIGHT = 9, STATE = 12, GATES = 4 * STATE, REFS = 22 };

static void run_cells(inlay_kernel *kernel, const inlay_recurrent_params *p,
                      const void *w, const void *r, int scratch_at, float *y)
{
    float x[STEPS * HEIGHT], bias[4 * GATES], scratch[1024];
    void *base[REFS] = { y };
    inlay_ref ref[REFS];
    for (int i = 0; i < STEPS * HEIGHT; i++)
        x[i] = (float)(i % 7) / 8.0f - 0.4f;
    for (int i = 0; i < 4 * GATES; i++)
        bias[i] = (float)(i % 5) / 8.0f - 0.2f;
    base[3] = x;
    base[4] = (void *)w;
    base[5] = (void *)r;
    base[7] = bias;
    base[scratch_at] = scratch;
    for (int i = 0; i < REFS; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = base[i] ? i : INLAY_NONE };
    const inlay_step step = { kernel, p, ref, 1, 0 };
    assert_int_equal(kernel(base, &step, 0, 1), 0);
}

static void recurs(void **state)
{
    enum { W = 2 * GATES * HEIGHT, R = 2 * GATES * STATE };
    static unsigned char w[2 * W], r[2 * R];
    static float wide_w[W], wide_r[R];
    (void)state;
    inlay_recurrent_params p = {
        .kind = 4,
        .directions = 2,
        .reverse = 2,
        .steps = STEPS,
        .batch = 1,
        .input = HEIGHT,
        .hidden = STATE,
        .width = 16,
        .chunk = 3,
        .xs = { HEIGHT, HEIGHT },
        .ys = { 2 * STATE, STATE, STATE },
        .hs = { STATE, STATE },
    };
    for (int i = 0; i < 6; i++)
        p.act[i] = i % 3 ? INLAY_ACT_TANH : INLAY_ACT_SIGMOID;
    for (int k = 0; k < TYPES; k++) {
        float got[2 * STEPS * STATE], want[2 * STEPS * STATE];
        for (int i = 0; i < 2 * W; i++)
            w[i] = (unsigned char)rnd(64);
        for (int i = 0; i < 2 * R; i++)
            r[i] = (unsigned char)rnd(64);
        types[k].widen(wide_w, w, 0, W);
        types[k].widen(wide_r, r, 0, R);
        run_cells(recurrent[k], &p, w, r, 21, got);
        run_cells(inlay_recurrent_f32, &p, wide_w, wide_r, 12, want);
        for (int i = 0; i < 2 * STEPS * STATE; i++)
            same_number(got[i], want[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widens),       cmocka_unit_test(convolves),
        cmocka_unit_test(signals),      cmocka_unit_test(transposed),
        cmocka_unit_test(pairs),        cmocka_unit_test(recurs),
        cmocka_unit_test(signed_bytes),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
