/* SPDX-License-Identifier: Apache-2.0
 * Convolution kernels against a naive one: random geometries, whole tensors and rings that hold
 * only the rows of the windows of a call, both directions, gaps between pixels, residual in place,
 * activations. */
#include "images.h"
#include "pointwise.h"

#include "kernels/conv1d_f32.h"
#include "kernels/conv_f32.h"
#include "kernels/dwconv_f32.h"
#include "kernels/dwmany_f32.h"

/* A bare core takes fewer rounds, and nothing large. */
#ifndef ROUNDS
#define ROUNDS 400
#endif

typedef struct Case {
    inlay_conv_params p;
    int n;
    float *x, *w, *b, *q, *want; /* dense; w [groups * oc][kd][kh][kw][ic] */
    int xc, yc, x_rows, y_rows, taps;
    bool residual;
} Case;

static float naive_at(const Case *t, int n, int z, int r, int c, int o)
{
    const inlay_conv_params *p = &t->p;
    const int g = o / p->oc;
    double sum = (double)t->b[o];
    for (int kd = 0; kd < p->kd; kd++)
        for (int kh = 0; kh < p->kh; kh++)
            for (int kw = 0; kw < p->kw; kw++) {
                const int d = z * p->sd - p->pd + kd * p->dd,
                          h = r * p->sh - p->ph + kh * p->dh,
                          w = c * p->sw - p->pw + kw * p->dw;
                if (d < 0 || d >= p->id || h < 0 || h >= p->ih || w < 0 ||
                    w >= p->iw)
                    continue;
                const float *x =
                    t->x +
                    ((((size_t)n * (size_t)p->id + (size_t)d) * (size_t)p->ih +
                      (size_t)h) *
                         (size_t)p->iw +
                     (size_t)w) *
                        (size_t)t->xc +
                    g * p->ic;
                const float *k = t->w + (size_t)o * (size_t)t->taps +
                                 ((kd * p->kh + kh) * p->kw + kw) * p->ic;
                for (int i = 0; i < p->ic; i++)
                    sum += (double)x[i] * (double)k[i];
            }
    return (float)sum;
}

static void naive(Case *t)
{
    const inlay_conv_params *p = &t->p;
    size_t i = 0;
    for (int n = 0; n < t->n; n++)
        for (int z = 0; z < p->od; z++)
            for (int r = 0; r < p->oh; r++)
                for (int c = 0; c < p->ow; c++)
                    for (int o = 0; o < t->yc; o++, i++) {
                        float v = naive_at(t, n, z, r, c, o) +
                                  (t->residual ? t->q[i] : 0.0f);
                        if (p->clamp & 1)
                            v = v < p->a ? p->a : v;
                        if (p->clamp & 2)
                            v = v > p->b ? p->b : v;
                        if (p->act == INLAY_ACT_SWISH)
                            v = v / (1.0f + expf(-p->a * v));
                        t->want[i] = v;
                    }
}

static int out_size(int in, int k, int s, int d, int before, int after)
{
    return (in + before + after - (k - 1) * d - 1) / s + 1;
}

/* One dimension: taps, stride, dilation, padding; then a size that leaves at least one output. */
static int32_t dimension(int32_t *in, int32_t *k, int32_t *s, int32_t *d,
                         int32_t *pad, int most_k, int room)
{
    *k = 1 + (int32_t)rnd((uint32_t)most_k);
    *s = 1 + (int32_t)rnd(3);
    *d = rnd(3) ? 1 : 1 + (int32_t)rnd(3);
    *pad = (int32_t)rnd((uint32_t)*k + 1);
    const int32_t after = (int32_t)rnd((uint32_t)*k + 1),
                  least = (*k - 1) * *d + 1 - *pad - after;
    *in = (least > 1 ? least : 1) + (int32_t)rnd((uint32_t)room);
    return out_size(*in, *k, *s, *d, *pad, after);
}

static void fill(Case *t)
{
    inlay_conv_params *p = &t->p;
    t->xc = p->groups * p->ic;
    t->yc = p->groups * p->oc;
    t->x_rows = t->n * p->id * p->ih;
    t->y_rows = t->n * p->od * p->oh;
    t->taps = p->kd * p->kh * p->kw * p->ic;
    t->x = rnd_floats((size_t)t->x_rows * (size_t)p->iw * (size_t)t->xc);
    t->w = rnd_floats((size_t)t->yc * (size_t)t->taps);
    t->b = rnd_floats((size_t)t->yc);
    const size_t out = (size_t)t->y_rows * (size_t)p->ow * (size_t)t->yc;
    t->q = rnd_floats(out);
    t->want = rnd_floats(out);
    p->a = -0.5f;
    p->b = 0.75f;
    p->clamp = p->act == INLAY_ACT_SWISH ? 0 : (int32_t)rnd(4);
    t->residual = rnd(3) == 0;
    naive(t);
}

static void drop(Case *t)
{
    free(t->x);
    free(t->w);
    free(t->b);
    free(t->q);
    free(t->want);
}

typedef enum Kind { PLAIN, DEPTHWISE, MULTIPLIED, SIGNAL } Kind;

/* Three, five or seven columns with padding at either end, which have code of their own; where
 * there are columns enough it may be less than half of a window. */
static void adjacent_columns(inlay_conv_params *p)
{
    const int pad = rnd(2) ? 1 : 2 + (int)rnd(2);
    int after = pad;
    p->kw = 2 * pad + 1;
    p->sw = 1 + (int32_t)rnd(2);
    p->dw = 1;
    p->pw = pad;
    if (p->iw >= p->kw && rnd(2)) {
        p->pw = (int32_t)rnd((uint32_t)pad + 1);
        after = (int)rnd((uint32_t)pad + 1);
    }
    p->ow = out_size(p->iw, p->kw, p->sw, p->dw, p->pw, after);
}

/* Whole vectors of channels, of which one to three are made behind whole blocks: tile_few.inc.h. */
static void few_channels(inlay_conv_params *p)
{
    p->ic = 16;
    p->oc = 16 * (int32_t)rnd(2) + 1 + (int32_t)rnd(3);
}

static Case random_case(Kind kind)
{
    const bool depthwise = kind == DEPTHWISE || kind == MULTIPLIED;
    Case t = { .n = 1 + (int)rnd(2) };
    inlay_conv_params *p = &t.p;
    p->od = dimension(&p->id, &p->kd, &p->sd, &p->dd, &p->pd, 3, 3);
    if (kind != PLAIN || rnd(3)) {
        p->od = p->id = p->kd = p->sd = p->dd = 1;
        p->pd = 0;
    }
    const int taps = kind == MULTIPLIED ? 7 : 4;
    const int rows = kind == SIGNAL ? 30 : 6;
    p->oh = dimension(&p->ih, &p->kh, &p->sh, &p->dh, &p->ph, taps, rows);
    p->ow = dimension(&p->iw, &p->kw, &p->sw, &p->dw, &p->pw, 4, 20);
    if (kind == SIGNAL || (depthwise && rnd(4) == 0)) {
        p->ow = p->iw = p->kw = p->sw = p->dw = 1;
        p->pw = 0;
    } else if (depthwise && rnd(2))
        adjacent_columns(p);
    if (rnd(4) == 0) { /* 1x1 */
        p->kd = p->kh = p->kw = p->sd = p->sh = p->sw = 1;
        p->pd = p->ph = p->pw = 0;
        p->od = p->id;
        p->oh = p->ih;
        p->ow = p->iw;
    }
    p->groups = depthwise ? 1 + (int32_t)rnd(45)
                : rnd(3)  ? 1
                          : 1 + (int32_t)rnd(3);
    p->ic = depthwise ? 1 : 1 + (int32_t)rnd(9);
    p->oc = depthwise ? 1 : 1 + (int32_t)rnd(rnd(2) ? 150 : 20);
    if (kind == MULTIPLIED)
        p->oc = 2 + (int32_t)rnd(rnd(4) ? 3 : 20);
    if (!depthwise && rnd(3) == 0)
        few_channels(p);
    p->width = rnd(2) ? 4 : 16;
    p->act = rnd(4) ? INLAY_ACT_NONE : INLAY_ACT_SWISH;
    fill(&t);
    return t;
}

/* Weights as the kernel wants them; *bias gets the bias. */
static float *packed(const Case *t, Kind kind, float **bias)
{
    const inlay_conv_params *p = &t->p;
    if (kind == DEPTHWISE || kind == MULTIPLIED) { /* [kh][kw][c] */
        float *w = malloc((size_t)t->yc * (size_t)t->taps * sizeof *w);
        for (int c = 0; c < t->yc; c++)
            for (int k = 0; k < t->taps; k++)
                w[k * t->yc + c] = t->w[c * t->taps + k];
        *bias = malloc((size_t)t->yc * sizeof(float));
        memcpy(*bias, t->b, (size_t)t->yc * sizeof(float));
        return w;
    }
    const size_t padded = (size_t)(p->oc + 3) / 4 * 4,
                 each = padded * (size_t)t->taps;
    float *w = malloc((size_t)p->groups * each * sizeof *w);
    *bias = calloc((size_t)p->groups * padded, sizeof(float));
    for (int g = 0; g < p->groups; g++) {
        float *one = pack_blocks(t->w + (size_t)(g * p->oc * t->taps), p->oc,
                                 t->taps, p->width);
        memcpy(w + (size_t)g * each, one, each * sizeof *w);
        memcpy(*bias + (size_t)g * padded, t->b + g * p->oc,
               (size_t)p->oc * sizeof(float));
        free(one);
    }
    return w;
}

static inlay_kernel *kernel_of(const Case *t, Kind kind)
{
    if (kind == SIGNAL)
        return t->p.act ? inlay_conv1d_act_f32 : inlay_conv1d_f32;
    if (kind == DEPTHWISE)
        return t->p.act ? inlay_dwconv_act_f32 : inlay_dwconv_f32;
    if (kind == MULTIPLIED)
        return t->p.act ? inlay_dwmany_act_f32 : inlay_dwmany_f32;
    return t->p.act ? inlay_conv_act_f32 : inlay_conv_f32;
}

/* The rows of x that unit u may read; all where there are planes. */
static void put_window(const Case *t, Ring *x, int u)
{
    const inlay_conv_params *p = &t->p;
    const int n = u / (p->od * p->oh), top = u % p->oh * p->sh - p->ph;
    for (int h = 0; h < (p->kh - 1) * p->dh + 1; h++)
        if (top + h >= 0 && top + h < p->ih)
            ring_put(x, n * p->ih + top + h, t->x);
}

/* Units of one call from u on, in the direction of the step: those of one image. */
static int burst_at(const Case *t, int u, int backward, int most)
{
    const int row = u % t->p.oh, left = backward ? row + 1 : t->p.oh - row;
    return most < left ? most : left;
}

/* Unit after unit, or some in a call, of x and q nothing but the rows that these need being there.
 */
static void run_rings(const Case *t, const inlay_step *s, void *const *base,
                      Ring *x, Ring *y, Ring *q, int burst, float *got)
{
    for (int done = 0, n; done < t->y_rows; done += n) {
        const int u = s->backward ? t->y_rows - 1 - done : done;
        n = burst_at(t, u, s->backward, burst);
        const int from = s->backward ? u - n + 1 : u;
        ring_poison(x);
        ring_poison(q);
        for (int k = from; k < from + n; k++) {
            put_window(t, x, k);
            ring_put(q, k, t->q);
        }
        assert_int_equal(s->run(base, s, from, from + n), 0);
        for (int k = from; k < from + n; k++)
            ring_get(y, k, got);
    }
}

static void run_case(const Case *t, Kind kind, bool rings)
{
    const inlay_conv_params *p = &t->p;
    const bool in_place = t->residual && rnd(2);
    float *bias,
        *w = packed(t, kind, &bias),
        *got = malloc((size_t)(t->y_rows * p->ow * t->yc) * sizeof *got);
    const int burst = rings ? 1 + (int)rnd(rnd(2) ? 9 : 1) : 1,
              extent = (p->kh - 1) * p->dh + 1 + (burst - 1) * p->sh,
              cap = extent < t->x_rows ? extent : t->x_rows;
    const int gap = rnd(2) ? (int)rnd(7) : 0,
              some = burst < t->y_rows ? burst : t->y_rows;
    Ring x = ring_new(t->x_rows, p->iw, t->xc, rings ? cap : t->x_rows,
                      t->xc + gap, gap / 2);
    Ring y = ring_new(t->y_rows, p->ow, t->yc,
                      rings ? some + (int)rnd((uint32_t)(t->y_rows - some) + 1)
                            : t->y_rows,
                      t->yc + gap, gap / 3);
    Ring q = ring_new(t->y_rows, p->ow, t->yc, rings ? some : t->y_rows, t->yc,
                      0),
         *sum = in_place ? &y : &q;
    void *base[5] = { x.memory, y.memory, q.memory, w, bias };
    inlay_ref ref[5] = { ring_ref(&y, 1),
                         ring_ref(&x, 0),
                         { .cap = 1, .base = 3 },
                         { .cap = 1, .base = 4 },
                         in_place ? ring_ref(&y, 1) : ring_ref(&q, 2) };
    if (!t->residual)
        ref[4].base = INLAY_NONE;
    inlay_step s = { kernel_of(t, kind), p, ref, t->y_rows, (int32_t)rnd(2) };
    if (rings) {
        run_rings(t, &s, base, &x, &y, sum, burst, got);
    } else {
        for (int r = 0; r < t->x_rows; r++)
            ring_put(&x, r, t->x);
        for (int r = 0; r < t->y_rows; r++)
            ring_put(sum, r, t->q);
        assert_int_equal(s.run(base, &s, 0, t->y_rows), 0);
        for (int r = 0; r < t->y_rows; r++)
            ring_get(&y, r, got);
    }
    check_close(got, t->want, (size_t)(t->y_rows * p->ow * t->yc),
                sqrt((double)t->taps));
    ring_check_guards(&x);
    ring_check_guards(&y);
    ring_check_guards(&q);
    free(w);
    free(bias);
    free(got);
    free(x.memory);
    free(y.memory);
    free(q.memory);
}

static void random_geometries(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Case t = random_case(PLAIN);
        run_case(&t, PLAIN, false);
        if (t.p.kd == 1 && t.p.id == 1)
            run_case(&t, PLAIN, true);
        drop(&t);
    }
}

static void random_depthwise(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Case t = random_case(DEPTHWISE);
        run_case(&t, DEPTHWISE, false);
        run_case(&t, DEPTHWISE, true);
        drop(&t);
    }
}

/* Several results of each channel. */
static void random_multiplied(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Case t = random_case(MULTIPLIED);
        run_case(&t, MULTIPLIED, false);
        run_case(&t, MULTIPLIED, true);
        drop(&t);
    }
}

/* Rows of one pixel. */
static void random_signals(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Case t = random_case(SIGNAL);
        run_case(&t, SIGNAL, false);
        run_case(&t, SIGNAL, true);
        drop(&t);
    }
}

/* Weights beyond INLAY_WEIGHT_BYTES are walked in parts; long joined rows. */
static void large_weights(void **state)
{
    (void)state;
    if (ROUNDS < 400)
        return;
    Case t = { .n = 1, .p = pointwise_params(3, 5, 1, 97, 205) };
    t.p.kh = 3;
    t.p.kw = 3;
    t.p.ph = 1;
    t.p.pw = 1;
    fill(&t);
    run_case(&t, PLAIN, false);
    run_case(&t, PLAIN, true);
    drop(&t);
    Case u = { .n = 1, .p = pointwise_params(23, 1, 1, 301, 205) };
    u.p.kh = 3;
    u.p.ph = 1;
    fill(&u);
    run_case(&u, SIGNAL, false);
    run_case(&u, SIGNAL, true);
    drop(&u);
}

/* Rows that are joined to long lines, which go in blocks of tiles, of many groups of channels. */
static void long_lines(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 10; i++) {
        const int32_t rows = 1 + (int32_t)rnd(9);
        const int32_t pixels = 1 + (int32_t)rnd(30);
        const int32_t ic = 1 + (int32_t)rnd(40);
        const int32_t oc = 30 + (int32_t)rnd(120);
        Case t = { .n = 1, .p = pointwise_params(rows, pixels, 1, ic, oc) };
        fill(&t);
        run_case(&t, PLAIN, false);
        drop(&t);
    }
}

/* y below x in one block of memory, a row of y never reaching the rows of x still needed. */
static void diagonal_overlap(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        Case t = { .n = 1, .p = pointwise_params(9, 11, 1, 24, 24) };
        fill(&t);
        t.residual = false;
        naive(&t);
        const size_t row = 11 * 24, all = 9 * row;
        float *memory = malloc((all + row) * sizeof *memory), *bias,
              *w = packed(&t, PLAIN, &bias);
        float *x = backward ? memory : memory + row,
              *y = backward ? memory + row : memory;
        memcpy(x, t.x, all * sizeof *x);
        void *base[3] = { memory, w, bias };
        const inlay_ref at_x = { .off = backward ? 0 : row * sizeof *x,
                                 .row = row * sizeof *x,
                                 .cap = 9,
                                 .pix = 24 };
        const inlay_ref at_y = { .off = backward ? row * sizeof *x : 0,
                                 .row = row * sizeof *x,
                                 .cap = 9,
                                 .pix = 24 };
        const inlay_ref ref[5] = { at_y,
                                   at_x,
                                   { .cap = 1, .base = 1 },
                                   { .cap = 1, .base = 2 },
                                   { .cap = 1, .base = INLAY_NONE } };
        const inlay_step s = { inlay_conv_f32, &t.p, ref, 9, backward };
        inlay_conv_f32(base, &s, 0, 9);
        check_close(y, t.want, all, 5.0);
        free(memory);
        free(w);
        free(bias);
        drop(&t);
    }
}

/* The step with x and y in one buffer, at these elements, so far apart that nothing is read after
 * it is written. */
static void check_over(const Case *t, Kind kind, size_t x, size_t y,
                       int backward)
{
    const inlay_conv_params *p = &t->p;
    const int32_t pixel_x = p->groups * p->ic, pixel_y = p->groups * p->oc;
    const size_t row_x = (size_t)(p->iw * pixel_x);
    const size_t row_y = (size_t)(p->ow * pixel_y);
    const size_t all_x = (size_t)p->ih * row_x, all_y = (size_t)p->oh * row_y;
    const size_t end = x + all_x > y + all_y ? x + all_x : y + all_y;
    float *memory = malloc(end * sizeof *memory), *bias,
          *w = packed(t, kind, &bias);
    memcpy(memory + x, t->x, all_x * sizeof *memory);
    void *base[3] = { memory, w, bias };
    const inlay_ref ref[5] = { { .off = y * sizeof *memory,
                                 .row = row_y * sizeof *memory,
                                 .cap = p->oh,
                                 .pix = pixel_y },
                               { .off = x * sizeof *memory,
                                 .row = row_x * sizeof *memory,
                                 .cap = p->ih,
                                 .pix = pixel_x },
                               { .cap = 1, .base = 1 },
                               { .cap = 1, .base = 2 },
                               { .cap = 1, .base = INLAY_NONE } };
    const inlay_step s = { kernel_of(t, kind), p, ref, p->oh, backward };
    s.run(base, &s, 0, p->oh);
    check_close(memory + y, t->want, all_y, 5.0);
    free(memory);
    free(w);
    free(bias);
}

/* A signal of single pixels, y over x, so many rows off that no row is read after it is written.
 */
static void signal_overlap(void **state)
{
    (void)state;
    for (int round = 0; round < 80; round++) {
        const int backward = (int)rnd(2);
        const int32_t h = 1 + (int32_t)rnd(40), c = 1 + (int32_t)rnd(40),
                      k = 1 + (int32_t)rnd(7),
                      before = (int32_t)rnd((uint32_t)k);
        Case t = { .n = 1, .p = pointwise_params(h, 1, c, 1, 1) };
        t.p.kh = k;
        t.p.ph = before;
        fill(&t);
        t.residual = false;
        naive(&t);
        const size_t off = (size_t)(c * (backward ? k - before - 1 : before));
        if (backward)
            check_over(&t, DEPTHWISE, 0, off, 1);
        else
            check_over(&t, DEPTHWISE, off, 0, 0);
        drop(&t);
    }
}

/* Groups, y of half as many channels over x but for the tile of pixels that is made at a time. */
static void groups_overlap(void **state)
{
    (void)state;
    enum {
        W = 19,
        H = 5,
        X = 24,
        Y = 12,
        APART = INLAY_TILE_MOST * X,
        ALL_X = H * W * X,
        ALL_Y = H * W * Y
    };
    for (int backward = 0; backward < 2; backward++) {
        Case t = { .n = 1, .p = pointwise_params(H, W, 4, X / 4, Y / 4) };
        fill(&t);
        t.residual = false;
        naive(&t);
        if (backward)
            check_over(&t, PLAIN, 0, ALL_X + APART - ALL_Y, 1);
        else
            check_over(&t, PLAIN, APART, 0, 0);
        drop(&t);
    }
}

/* The same of twice as many channels. */
static void multiplied_overlap(void **state)
{
    (void)state;
    enum {
        W = 19,
        H = 5,
        X = 12,
        Y = 24,
        APART = INLAY_DW_TILE_MOST * X,
        MORE = H * W * (Y - X)
    };
    for (int backward = 0; backward < 2; backward++) {
        Case t = { .n = 1, .p = pointwise_params(H, W, X, 1, Y / X) };
        fill(&t);
        t.residual = false;
        naive(&t);
        if (backward)
            check_over(&t, MULTIPLIED, 0, APART, 1);
        else
            check_over(&t, MULTIPLIED, MORE + APART, 0, 0);
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_geometries),
        cmocka_unit_test(random_depthwise),
        cmocka_unit_test(random_signals),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(large_weights),
        cmocka_unit_test(diagonal_overlap),
        cmocka_unit_test(signal_overlap),
        cmocka_unit_test(groups_overlap),
        cmocka_unit_test(multiplied_overlap),
        cmocka_unit_test(random_multiplied),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
