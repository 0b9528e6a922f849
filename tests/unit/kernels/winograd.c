/* SPDX-License-Identifier: Apache-2.0
 * Convolution by Winograd's algorithm against a naive one: random images and paddings, tiles of
 * both sizes, blocks of any number of them, gaps between pixels, residual in place, activations;
 * and some rows at a time, to the same bits. */
#include "images.h"

#include "kernels/winograd_f32.h"

typedef struct Case {
    inlay_winograd_params p;
    int n, x_rows, y_rows;
    float *x, *w, *b, *q, *want; /* w [oc][3][3][ic] */
    bool residual;
} Case;

static float naive_at(const Case *t, int row, int c, int o)
{
    const inlay_winograd_params *p = &t->p;
    const int top = row % p->oh - p->ph;
    const int left = c - p->pw;
    double sum = (double)t->b[o];
    for (int k = 0; k < 9; k++) {
        const int r = top + k / 3;
        const int x = left + k % 3;
        if (r < 0 || r >= p->ih || x < 0 || x >= p->iw)
            continue;
        const int pixel = (row / p->oh * p->ih + r) * p->iw + x;
        for (int i = 0; i < p->ic; i++)
            sum += (double)t->x[pixel * p->ic + i] *
                   (double)t->w[(o * 9 + k) * p->ic + i];
    }
    return (float)sum;
}

static void naive(Case *t)
{
    const inlay_winograd_params *p = &t->p;
    for (int i = 0; i < t->y_rows * p->ow * p->oc; i++) {
        const int pixel = i / p->oc;
        float v = naive_at(t, pixel / p->ow, pixel % p->ow, i % p->oc);
        v += t->residual ? t->q[i] : 0.0f;
        if (p->clamp & 1)
            v = v < p->a ? p->a : v;
        if (p->clamp & 2)
            v = v > p->b ? p->b : v;
        if (p->act == INLAY_ACT_SWISH)
            v = v / (1.0f + expf(-p->a * v));
        t->want[i] = v;
    }
}

/* x of at least one pixel, and padding behind it too. */
static int32_t axis(int32_t *in, int32_t *pad)
{
    *pad = (int32_t)rnd(3);
    const int32_t behind = (int32_t)rnd(3);
    const int32_t least = 3 - *pad - behind;
    *in = (least > 1 ? least : 1) + (int32_t)rnd(18);
    return *in + *pad + behind - 2;
}

static Case random_case(void)
{
    Case t = { .n = 1 + (int)rnd(2), .residual = rnd(3) == 0 };
    inlay_winograd_params *p = &t.p;
    p->oh = axis(&p->ih, &p->ph);
    p->ow = axis(&p->iw, &p->pw);
    p->ic = 16 + (int32_t)rnd(65);
    p->oc = 1 + (int32_t)rnd(160);
    p->width = rnd(2) && INLAY_VL == 1 ? 4 : 16;
    p->tile = rnd(2) ? 4 : 2;
    p->block = 1 + (int32_t)rnd(40);
    p->act = rnd(4) ? INLAY_ACT_NONE : INLAY_ACT_SWISH;
    p->clamp = p->act ? 0 : (int32_t)rnd(4);
    p->a = -0.5f;
    p->b = 0.75f;
    t.x_rows = t.n * p->ih;
    t.y_rows = t.n * p->oh;
    const size_t out = (size_t)(t.y_rows * p->ow * p->oc);
    t.x = rnd_floats((size_t)(t.x_rows * p->iw * p->ic));
    t.w = rnd_floats((size_t)(p->oc * 9 * p->ic));
    t.b = rnd_floats((size_t)p->oc);
    t.q = rnd_floats(out);
    t.want = rnd_floats(out);
    naive(&t);
    return t;
}

static void drop(Case *t)
{
    free(t->x);
    free(t->w);
    free(t->b);
    free(t->q);
    free(t->want);
}

/* Element (i, k) of G w G', of one pair of channels: taps are `apart` floats from each other. */
static float transformed(const float *w, int apart, int tile, int i, int k)
{
    static const double small[4][3] = {
        { 1, 0, 0 }, { 0.5, 0.5, 0.5 }, { 0.5, -0.5, 0.5 }, { 0, 0, 1 }
    };
    static const double large[6][3] = {
        { 6, 0, 0 }, { -4, -4, -4 }, { -4, 4, -4 },
        { 1, 2, 4 }, { 1, -2, 4 },   { 0, 0, 24 },
    };
    const double *row = tile == 4 ? large[i] : small[i];
    const double *column = tile == 4 ? large[k] : small[k];
    double sum = 0.0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            sum += row[r] * column[c] * (double)w[(r * 3 + c) * apart];
    return (float)(tile == 4 ? sum / 24.0 / 24.0 : sum);
}

static float *transformed_weights(const Case *t)
{
    const inlay_winograd_params *p = &t->p;
    const int side = p->tile + 2;
    const size_t filled = (size_t)(p->oc + 3) / 4 * 4;
    const size_t each = filled * (size_t)p->ic;
    float *all = malloc((size_t)(side * side) * each * sizeof *all);
    float *one = malloc(each * sizeof *one);
    for (int k = 0; k < side * side; k++) {
        for (int o = 0; o < p->oc; o++)
            for (int i = 0; i < p->ic; i++)
                one[o * p->ic + i] =
                    transformed(t->w + o * 9 * p->ic + i, p->ic, p->tile,
                                k / side, k % side);
        float *blocks = pack_blocks(one, p->oc, p->ic, p->width);
        memcpy(all + (size_t)k * each, blocks, each * sizeof *all);
        free(blocks);
    }
    free(one);
    return all;
}

static size_t scratch_floats(const inlay_winograd_params *p)
{
    const int side = p->tile + 2;
    const int filled = (p->oc + 15) / 16 * 16;
    const int some =
        filled < INLAY_WINOGRAD_CHANNELS ? filled : INLAY_WINOGRAD_CHANNELS;
    return (size_t)(inlay_winograd_zeros(p) +
                    side * side * p->block * (p->ic + some));
}

/* All rows in one call, or `most` in each. */
static void run_rows(const inlay_step *s, void *const *base, int rows, int most)
{
    for (int done = 0; done < rows; done += most) {
        const int end = done + most < rows ? done + most : rows;
        assert_int_equal(s->run(base, s, done, end), 0);
    }
}

static void run_case(const Case *t, int most, float *got)
{
    const inlay_winograd_params *p = &t->p;
    const int gap = rnd(2) ? (int)rnd(7) : 0;
    const bool in_place = t->residual && rnd(2);
    float *w = transformed_weights(t);
    Ring x = ring_new(t->x_rows, p->iw, p->ic, t->x_rows, p->ic + gap, gap / 2);
    Ring y = ring_new(t->y_rows, p->ow, p->oc, t->y_rows, p->oc + gap, gap / 3);
    Ring q = ring_new(t->y_rows, p->ow, p->oc, t->y_rows, p->oc, 0);
    const size_t floats = scratch_floats(p);
    float *scratch = malloc((floats + 1) * sizeof *scratch);
    scratch[floats] = GUARD;
    void *base[] = { y.memory, x.memory, q.memory, w, t->b, scratch };
    const inlay_ref none = { .cap = 1, .base = INLAY_NONE };
    const inlay_ref sum = in_place ? ring_ref(&y, 0) : ring_ref(&q, 2);
    const inlay_ref ref[] = {
        ring_ref(&y, 0),          ring_ref(&x, 1),
        { .cap = 1, .base = 3 },  { .cap = 1, .base = 4 },
        t->residual ? sum : none, { .cap = 1, .base = 5 }
    };
    const inlay_step s = { p->act ? inlay_winograd_act_f32 : inlay_winograd_f32,
                           p, ref, t->y_rows, 0 };
    for (int r = 0; r < t->x_rows; r++)
        ring_put(&x, r, t->x);
    for (int r = 0; r < t->y_rows; r++)
        ring_put(in_place ? &y : &q, r, t->q);
    run_rows(&s, base, t->y_rows, most);
    for (int r = 0; r < t->y_rows; r++)
        ring_get(&y, r, got);
    assert_true(scratch[floats] == GUARD);
    ring_check_guards(&x);
    ring_check_guards(&y);
    ring_check_guards(&q);
    free(w);
    free(scratch);
    free(x.memory);
    free(y.memory);
    free(q.memory);
}

static void random_images(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        Case t = random_case();
        const size_t n = (size_t)(t.y_rows * t.p.ow * t.p.oc);
        float *whole = malloc(n * sizeof *whole);
        float *parts = malloc(n * sizeof *parts);
        run_case(&t, t.y_rows, whole);
        check_close(whole, t.want, n, 1.5 * sqrt(9.0 * t.p.ic));
        run_case(&t, 1 + (int)rnd(7), parts);
        assert_memory_equal(whole, parts, n * sizeof *whole);
        free(whole);
        free(parts);
        drop(&t);
    }
}

/* The largest error over the largest result, of many channels: what the header states. */
static void error_is_as_stated(void **state)
{
    static const double stated[] = { [2] = 1.5e-6, [4] = 1e-5 };
    (void)state;
    for (int tile = 2; tile <= 4; tile += 2) {
        Case t = random_case();
        double error = 0.0;
        double most = 0.0;
        drop(&t);
        do {
            t = random_case();
            if (t.p.ic < 64 || t.p.act || t.p.clamp)
                drop(&t);
        } while (t.p.ic < 64 || t.p.act || t.p.clamp);
        t.p.tile = tile;
        const int n = t.y_rows * t.p.ow * t.p.oc;
        float *got = malloc((size_t)n * sizeof *got);
        run_case(&t, t.y_rows, got);
        for (int i = 0; i < n; i++) {
            error = fmax(error, fabs((double)got[i] - (double)t.want[i]));
            most = fmax(most, fabs((double)t.want[i]));
        }
        if (error > stated[tile] * most)
            fail_msg("tiles of %d: %g of the largest result", tile,
                     error / most);
        free(got);
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_images),
        cmocka_unit_test(error_is_as_stated),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
