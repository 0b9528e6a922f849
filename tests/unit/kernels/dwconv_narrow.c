/* SPDX-License-Identifier: Apache-2.0
 * Depthwise convolutions with weights of narrow types against those of float with the same numbers
 * widened beforehand: equal bits, row by row or all rows at once, where the result lies over the
 * image too, as far behind it as plans put it. */
#include "images.h"

#include "kernels/dwconv_narrow.h"

/* A bare core takes fewer rounds of each type, and nothing large. */
#ifdef ROUNDS
enum { EACH = 4, MOST_CHANNELS = 90, MOST_PIXELS = 40 };
#else
enum { EACH = 24, MOST_CHANNELS = 700, MOST_PIXELS = 70 };
#endif

typedef struct Type {
    int bits, kind;
    inlay_kernel *kernel, *with_act;
} Type;

static const Type types[] = {
    { 16, INLAY_NARROW_F16, inlay_dwconv_f16, inlay_dwconv_act_f16 },
    { 16, INLAY_NARROW_BF16, inlay_dwconv_bf16, inlay_dwconv_act_bf16 },
    { 8, INLAY_NARROW_F8E4M3FN, inlay_dwconv_f8e4m3fn,
      inlay_dwconv_act_f8e4m3fn },
    { 8, INLAY_NARROW_F8E4M3FNUZ, inlay_dwconv_f8e4m3fnuz,
      inlay_dwconv_act_f8e4m3fnuz },
    { 8, INLAY_NARROW_F8E5M2, inlay_dwconv_f8e5m2, inlay_dwconv_act_f8e5m2 },
    { 8, INLAY_NARROW_F8E5M2FNUZ, inlay_dwconv_f8e5m2fnuz,
      inlay_dwconv_act_f8e5m2fnuz },
    { 8, INLAY_NARROW_SIGNED, inlay_dwconv_i8, inlay_dwconv_act_i8 },
    { 8, INLAY_NARROW_UNSIGNED, inlay_dwconv_u8, inlay_dwconv_act_u8 },
    { 4, INLAY_NARROW_SIGNED, inlay_dwconv_i4, inlay_dwconv_act_i4 },
    { 4, INLAY_NARROW_UNSIGNED, inlay_dwconv_u4, inlay_dwconv_act_u4 },
    { 2, INLAY_NARROW_SIGNED, inlay_dwconv_i2, inlay_dwconv_act_i2 },
    { 2, INLAY_NARROW_UNSIGNED, inlay_dwconv_u2, inlay_dwconv_act_u2 },
};
enum { TYPES = sizeof types / sizeof *types };

/* Weights as they are stored and as floats, with what makes these. */
typedef struct Stored {
    unsigned char *values, *zero;
    float *scale, *wide;
    int32_t how[INLAY_HOW_COUNT];
    bool scaled, zeros;
} Stored;

typedef struct Case {
    inlay_conv_params p;
    Stored stored;
    float *x, *q, *bias;
    size_t x_floats, y_floats;
} Case;

/* y over x: one row, whose windows are no higher. */
static void random_sizes(inlay_conv_params *p, bool over)
{
    *p = (inlay_conv_params){ .id = 1, .od = 1, .kd = 1, .sd = 1, .dd = 1 };
    p->ic = p->oc = p->dh = p->dw = p->sh = p->sw = p->kh = 1;
    p->kw = 1 + (int32_t)rnd(8);
    p->pw = (int32_t)rnd((uint32_t)p->kw + 2);
    p->iw = p->kw + (int32_t)rnd(MOST_PIXELS);
    p->ih = p->oh = 1;
    if (!over) {
        p->kh = 1 + (int32_t)rnd(4);
        p->ph = (int32_t)rnd((uint32_t)p->kh + 2);
        p->ih = p->kh + (int32_t)rnd(4);
        p->sh = 1 + (int32_t)rnd(2);
        p->sw = 1 + (int32_t)rnd(2);
        p->oh = (p->ih + 2 * p->ph - p->kh) / p->sh + 1;
    }
    p->ow = (p->iw + 2 * p->pw - p->kw) / p->sw + 1;
    if (over && p->ow > p->iw)
        p->ow = p->iw;
    p->groups = 1 + (int32_t)rnd(rnd(3) ? 40 : MOST_CHANNELS);
    p->act = !over && rnd(4) == 0 ? INLAY_ACT_SWISH : INLAY_ACT_NONE;
    p->a = -0.5f;
    p->b = 0.75f;
    p->clamp = p->act ? 0 : (int32_t)rnd(4);
}

/* Exponents of floats near that of one. */
static unsigned char *random_bytes(const Type *type, size_t n)
{
    const bool floats = type->kind > INLAY_NARROW_SIGNED;
    const size_t bytes = n * (size_t)type->bits / 8 + 1;
    unsigned char *to = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)rnd(256);
        if (floats && (type->bits == 8 || i % 2))
            to[i] &= 0xbf;
    }
    return to;
}

static void store(Stored *w, const Type *type, const inlay_conv_params *p)
{
    const int channels = p->groups;
    const int taps = p->kh * p->kw;
    w->scaled = rnd(2);
    w->zeros = rnd(2);
    w->values = random_bytes(type, (size_t)(channels * taps));
    w->zero = random_bytes(type, (size_t)channels);
    w->scale = rnd_floats((size_t)channels);
    w->wide = rnd_floats((size_t)(channels * taps));
    w->how[INLAY_HOW_BLOCK] = taps;
    w->how[INLAY_HOW_BLOCKS] = 1;
    w->how[INLAY_HOW_CHANNELS] = channels;
    w->how[INLAY_HOW_SCALE] = INLAY_SCALE_F32;
    w->how[INLAY_HOW_ZERO] = type->bits < 8 ? 1 : 7;
    for (int i = 0; i < channels * taps; i++) {
        const int c = i % channels;
        float z = (float)w->how[INLAY_HOW_ZERO];
        float v = inlay_narrow_one(w->values, i, type->bits, type->kind);
        if (w->zeros)
            z = inlay_narrow_one(w->zero, c, type->bits, type->kind);
        if (w->scaled)
            v = (v - z) * w->scale[c];
        w->wide[i] = v;
    }
}

static Case random_case(const Type *type, bool over)
{
    Case t;
    inlay_conv_params *p = &t.p;
    random_sizes(p, over);
    store(&t.stored, type, p);
    t.x_floats = (size_t)(p->ih * p->iw * p->groups);
    t.y_floats = (size_t)(p->oh * p->ow * p->groups);
    t.x = rnd_floats(t.x_floats);
    t.q = !over && rnd(3) == 0 ? rnd_floats(t.y_floats) : NULL;
    t.bias = rnd_floats((size_t)p->groups);
    return t;
}

static void drop(Case *t)
{
    free(t->stored.values);
    free(t->stored.zero);
    free(t->stored.scale);
    free(t->stored.wide);
    free(t->x);
    free(t->q);
    free(t->bias);
}

/* All rows, in two calls. */
static void run(const Case *t, inlay_kernel *kernel, bool narrow, bool backward,
                const float *x, float *y)
{
    const inlay_conv_params *p = &t->p;
    const Stored *w = &t->stored;
    const bool scaled = narrow && w->scaled;
    const void *at[] = { y,
                         x,
                         narrow ? (const void *)w->values : w->wide,
                         t->bias,
                         t->q,
                         scaled ? w->how : NULL,
                         scaled ? w->scale : NULL,
                         scaled && w->zeros ? w->zero : NULL };
    void *base[8];
    inlay_ref ref[8] = { { 0 } };
    memcpy(base, at, sizeof base);
    for (int i = 0; i < 8; i++) {
        const int32_t width = i == 1 ? p->iw : p->ow;
        ref[i] = (inlay_ref){ .cap = 1, .base = at[i] ? i : INLAY_NONE };
        if (i > 1 && i != 4)
            continue;
        ref[i].cap = i == 1 ? p->ih : p->oh;
        ref[i].pix = p->groups;
        ref[i].row = (size_t)(width * p->groups) * sizeof(float);
    }
    const inlay_step s = { kernel, p, ref, p->oh, backward };
    const int32_t cut = (int32_t)rnd((uint32_t)p->oh);
    if (backward) {
        assert_int_equal(kernel(base, &s, cut, p->oh), 0);
        assert_int_equal(kernel(base, &s, 0, cut), 0);
    } else {
        assert_int_equal(kernel(base, &s, 0, cut), 0);
        assert_int_equal(kernel(base, &s, cut, p->oh), 0);
    }
}

static void check(const Case *t, const float *got, const float *want)
{
    const size_t bytes = t->y_floats * sizeof *got;
    assert_memory_equal(got, want, bytes);
}

static void apart(void **state)
{
    (void)state;
    for (int i = 0; i < EACH * TYPES; i++) {
        const Type *type = types + i % TYPES;
        Case t = random_case(type, false);
        float *want = rnd_floats(t.y_floats);
        float *got = rnd_floats(t.y_floats);
        const bool backward = rnd(2);
        run(&t, t.p.act ? inlay_dwconv_act_f32 : inlay_dwconv_f32, false,
            backward, t.x, want);
        run(&t, t.p.act ? type->with_act : type->kernel, true, backward, t.x,
            got);
        check(&t, got, want);
        free(want);
        free(got);
        drop(&t);
    }
}

/* Pixel c of y lies INLAY_DW_STRETCH - 1 pixels before the first that the window of pixel c reads,
 * or, backwards, as many behind the last one. */
static void over_the_image(void **state)
{
    (void)state;
    for (int i = 0; i < EACH * TYPES; i++) {
        const Type *type = types + i % TYPES;
        Case t = random_case(type, true);
        const inlay_conv_params *p = &t.p;
        const bool backward = rnd(2);
        const int32_t back = backward ? p->kw - p->pw : p->pw + 1;
        const size_t far = (size_t)((back + INLAY_DW_STRETCH - 1) * p->groups);
        float *both = rnd_floats(far + t.x_floats + t.y_floats);
        float *x = backward ? both : both + far;
        float *y = backward ? both + far : both;
        float *want = rnd_floats(t.y_floats);
        memcpy(x, t.x, t.x_floats * sizeof *x);
        run(&t, inlay_dwconv_f32, false, backward, t.x, want);
        run(&t, type->kernel, true, backward, x, y);
        check(&t, y, want);
        free(both);
        free(want);
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apart),
        cmocka_unit_test(over_the_image),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
