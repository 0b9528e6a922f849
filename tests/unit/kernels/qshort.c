/* SPDX-License-Identifier: Apache-2.0
 * Products of numbers of 16 bits against plain sums: random windows, strides, dilations, groups,
 * signs, zero points, layouts of weights, rings, both directions. Sums are exact and their rounding
 * is that of integers; numbers beside every buffer stay as they are. */
#include "images.h"

#include "kernels/qdwconv_short.h"

#ifndef ROUNDS
#define ROUNDS 600
#endif

enum { AROUND = 32, MARK = 0x5a5a };

/* Numbers of 16 bits between marks. */
typedef struct Numbers {
    uint16_t *memory, *at;
    size_t n;
} Numbers;

static Numbers numbers_of(size_t n)
{
    Numbers numbers = { .n = n };
    numbers.memory = malloc((n + 2 * AROUND) * sizeof *numbers.memory);
    assert_true(numbers.memory != NULL);
    numbers.at = numbers.memory + AROUND;
    for (size_t i = 0; i < n + 2 * AROUND; i++)
        numbers.memory[i] = MARK;
    return numbers;
}

static void numbers_free(Numbers *numbers)
{
    for (size_t i = 0; i < AROUND; i++) {
        assert_int_equal(numbers->memory[i], MARK);
        assert_int_equal(numbers->at[numbers->n + i], MARK);
    }
    free(numbers->memory);
}

typedef enum Kind { BYTES, LONG, WIDE } Kind;

typedef struct Net {
    inlay_qshort_params p;
    Kind kind;
    bool depthwise, backward;
    int images, channels, padded;
    int x_pix, y_pix, cap;
    int32_t largest;          /* weight */
    Numbers x, y, scratch, w; /* w: [channels][IC][taps], as they are given */
    int64_t *bias;
    int32_t *scale;
    void *packed, *packed_bias;
} Net;

static int taps_of(const inlay_qshort_params *p)
{
    return p->kd * p->kh * p->kw;
}

static void set_axis(int32_t *in, int32_t *out, int32_t k, int32_t *stride,
                     int32_t *dilation, int32_t *pad)
{
    const int32_t extent = (k - 1) * (*dilation = 1 + (int32_t)rnd(2)) + 1;
    *stride = 1 + (int32_t)rnd(3);
    *pad = k > 1 ? (int32_t)rnd(3) : 0;
    *in = extent + (int32_t)rnd(6);
    *out = (*in + 2 * *pad - extent) / *stride + 1;
}

static void set_window(inlay_qshort_params *p)
{
    const bool one = rnd(3) == 0;
    p->kd = rnd(4) ? 1 : 2;
    p->kh = one ? 1 : 1 + (int32_t)rnd(3);
    p->kw = one ? 1 : 1 + (int32_t)rnd(4);
    set_axis(&p->id, &p->od, p->kd, &p->sd, &p->dd, &p->pd);
    set_axis(&p->ih, &p->oh, p->kh, &p->sh, &p->dh, &p->ph);
    set_axis(&p->iw, &p->ow, p->kw, &p->sw, &p->dw, &p->pw);
    p->gather = 1 + (int32_t)rnd(2);
}

/* A product of one pixel, which is read where it lies. */
static void set_line(inlay_qshort_params *p)
{
    p->id = p->ih = p->iw = p->od = p->oh = p->ow = 1;
    p->kd = p->kh = p->kw = p->sd = p->sh = p->sw = 1;
    p->dd = p->dh = p->dw = 1;
    p->pd = p->ph = p->pw = 0;
    p->ic = 4 * (1 + (int32_t)rnd(400));
    p->flip = 0;
    p->gather = 0;
}

static void set_channels(Net *n)
{
    inlay_qshort_params *p = &n->p;
    n->depthwise = rnd(3) == 0;
    p->width = rnd(2) ? 16 : 4;
    p->crossed = n->kind == WIDE ? 0 : (int32_t)rnd(2);
    p->groups = rnd(3) ? 1 : 1 + (int32_t)rnd(3);
    p->ic = 1 + (int32_t)rnd(20);
    p->oc = 1 + (int32_t)rnd(rnd(4) ? 12 : 90);
    if (n->depthwise) {
        p->groups = 2 + (int32_t)rnd(50);
        p->ic = p->oc = 1;
        n->kind = n->kind == LONG ? BYTES : n->kind;
    } else if (rnd(4) == 0) {
        set_line(p);
    }
    n->channels = p->groups * p->oc;
    n->padded = n->depthwise ? inlay_qdw_short_padded(p)
                             : p->groups * inlay_qshort_padded(p);
}

static void set_numbers(inlay_qshort_params *p)
{
    p->flip_y = rnd(2) ? 0x8000 : 0;
    p->zero = (int32_t)rnd(65536) - 32768;
    p->zy = (int32_t)rnd(65536) - 32768;
    p->lo = rnd(3) ? -32768 : (int32_t)rnd(30000) - 32768;
    p->hi = rnd(3) ? 32767 : 32767 - (int32_t)rnd(30000);
}

static Numbers random_numbers(size_t n)
{
    const Numbers numbers = numbers_of(n);
    for (size_t i = 0; i < n; i++)
        numbers.at[i] = (uint16_t)rnd(65536);
    return numbers;
}

/* Place of channel o among those filled up. */
static int place(const Net *n, int o)
{
    const inlay_qshort_params *p = &n->p;
    return n->depthwise ? o : o / p->oc * inlay_qshort_padded(p) + o % p->oc;
}

static int32_t weight(const Net *n, int o, int k, int i)
{
    const inlay_qshort_params *p = &n->p;
    return (int16_t)n->w.at[(o * p->ic + i) * taps_of(p) + k];
}

static void set_weights(Net *n)
{
    const int32_t k = taps_of(&n->p) * n->p.ic;
    /* sums of 32 bits have room for so much */
    const int32_t most = INT32_MAX / 4 / 32768 / k;
    n->largest = n->kind == WIDE ? 32768 : 128;
    if (n->kind == BYTES && most < n->largest)
        n->largest = most;
    n->w = numbers_of((size_t)(n->channels * k));
    for (size_t i = 0; i < n->w.n; i++) {
        const int32_t v = (int32_t)rnd(2 * (uint32_t)n->largest) - n->largest;
        n->w.at[i] = (uint16_t)v;
    }
    n->bias = calloc((size_t)n->padded, sizeof *n->bias);
    for (int o = 0; o < n->channels; o++)
        n->bias[place(n, o)] = (int64_t)rnd(1 << 30) - (1 << 29);
}

/* What is told of weights, packed: place `at`. */
static void put(Net *n, size_t at, int32_t v)
{
    if (n->kind == WIDE)
        ((int16_t *)n->packed)[at] = (int16_t)v;
    else
        ((int8_t *)n->packed)[at] = (int8_t)v;
}

static size_t packed_place(const Net *n, int o, int k)
{
    const inlay_qshort_params *p = &n->p;
    const int width = p->width;
    const int at = place(n, o);
    const size_t taps = 2 * (size_t)inlay_qshort_pairs(p);
    const int c = at % width;
    size_t within = (size_t)(c * 2 + k % 2);
    if (n->depthwise)
        return (size_t)(k * n->padded + o);
    if (p->crossed)
        within = (size_t)(c / 2 * 4 + k % 2 * 2 + c % 2);
    return (size_t)(at - c) * taps + (size_t)(k / 2 * 2 * width) + within;
}

static void pack(Net *n)
{
    const inlay_qshort_params *p = &n->p;
    const size_t taps =
        n->depthwise ? (size_t)taps_of(p) : 2 * (size_t)inlay_qshort_pairs(p);
    n->packed = calloc((size_t)n->padded * taps, 2);
    for (int o = 0; o < n->channels; o++)
        for (int k = 0; k < taps_of(p) * p->ic; k++)
            put(n, packed_place(n, o, k), weight(n, o, k / p->ic, k % p->ic));
    n->packed_bias = calloc((size_t)n->padded, sizeof(int64_t));
    for (int i = 0; i < n->padded; i++)
        if (n->kind == BYTES)
            ((int32_t *)n->packed_bias)[i] = (int32_t)n->bias[i];
        else
            ((int64_t *)n->packed_bias)[i] = n->bias[i];
}

/* Scales that make about 2^16 of the largest sums: short ones, or those of sums of 64 bits. */
static void set_scales(Net *n)
{
    inlay_qshort_params *p = &n->p;
    p->scales = rnd(2) ? 1 : n->padded;
    p->far = rnd(3) == 0;
    n->scale = malloc(2 * (size_t)p->scales * sizeof *n->scale);
    for (int i = 0; i < p->scales; i++) {
        const int32_t right = (int32_t)rnd(24);
        int32_t places = 1 + (int32_t)rnd(18);
        if (n->kind != BYTES || p->far)
            places = 11 | (rnd(4) ? right << 8 : (int32_t)rnd(5) << 16);
        n->scale[i] = rnd(4) ? (1 << 30) + (int32_t)rnd(1 << 30) : 1 << 30;
        n->scale[p->scales + i] = places;
    }
}

static void random_net(Net *n, Kind kind)
{
    inlay_qshort_params *p = &n->p;
    *n = (Net){ .kind = kind };
    set_window(p);
    p->flip = rnd(2) ? 0x8000 : 0;
    set_channels(n);
    set_numbers(p);
    n->images = 1 + (int)rnd(2);
    n->backward = rnd(2);
    n->x_pix = p->groups * p->ic + (int)rnd(4);
    n->y_pix = n->channels + (int)rnd(4);
    n->cap = n->images * p->id * p->ih;
    n->x = random_numbers((size_t)(n->cap * p->iw * n->x_pix));
    n->y = numbers_of((size_t)(n->images * p->od * p->oh * p->ow * n->y_pix));
    n->scratch = numbers_of((size_t)(2 * inlay_qshort_pairs(p) * p->gather));
    set_weights(n);
    pack(n);
    set_scales(n);
}

static void free_net(Net *n)
{
    numbers_free(&n->x);
    numbers_free(&n->y);
    numbers_free(&n->scratch);
    numbers_free(&n->w);
    free(n->bias);
    free(n->scale);
    free(n->packed);
    free(n->packed_bias);
}

static inlay_kernel *kernel_of(const Net *n)
{
    if (n->depthwise)
        return n->kind == WIDE ? inlay_qdwconv_short_wide : inlay_qdwconv_short;
    if (n->kind == WIDE)
        return inlay_qconv_short_wide;
    return n->kind == LONG ? inlay_qconv_short_long : inlay_qconv_short;
}

/* All rows in the walking direction, by one call or two. */
static void run(Net *n)
{
    const inlay_qshort_params *p = &n->p;
    const int32_t rows = n->images * p->od * p->oh;
    const int32_t middle = (int32_t)rnd((uint32_t)rows + 1);
    void *base[] = { n->y.at,        n->x.at,  n->packed,
                     n->packed_bias, n->scale, n->scratch.at };
    inlay_ref ref[6];
    for (int i = 0; i < 6; i++)
        ref[i] = (inlay_ref){ .cap = 1, .pix = 1, .base = i };
    ref[0].cap = rows;
    ref[0].pix = n->y_pix;
    ref[0].row = (size_t)(p->ow * n->y_pix) * 2;
    ref[1].cap = n->cap;
    ref[1].pix = n->x_pix;
    ref[1].row = (size_t)(p->iw * n->x_pix) * 2;
    const inlay_step s = { kernel_of(n), p, ref, rows, n->backward };
    if (n->backward)
        s.run(base, &s, middle, rows);
    s.run(base, &s, 0, middle);
    if (!n->backward)
        s.run(base, &s, middle, rows);
}

/* The sum of one element of y, as it is defined. */
static int64_t sum_of(const Net *n, int r, int c, int o)
{
    const inlay_qshort_params *p = &n->p;
    const int plane = r / p->oh;
    const int image = plane / p->od;
    const int group = o / p->oc;
    int64_t sum = n->bias[place(n, o)];
    for (int k = 0; k < taps_of(p); k++) {
        const int d = plane % p->od * p->sd - p->pd + k / p->kw / p->kh * p->dd;
        const int h = r % p->oh * p->sh - p->ph + k / p->kw % p->kh * p->dh;
        const int v = c * p->sw - p->pw + k % p->kw * p->dw;
        const bool outside =
            d < 0 || d >= p->id || h < 0 || h >= p->ih || v < 0 || v >= p->iw;
        const int row = (image * p->id + d) * p->ih + h;
        for (int i = 0; i < p->ic; i++) {
            int32_t x = p->zero;
            if (!outside)
                x = (int16_t)(n->x.at[(row * p->iw + v) * n->x_pix +
                                      group * p->ic + i] ^
                              p->flip);
            sum += (int64_t)x * weight(n, o, k, i);
        }
    }
    return sum;
}

/* The nearest integer to p / 2^places, ties to even. */
static int64_t nearest(int64_t p, int places)
{
    const int64_t one = (int64_t)1 << places;
    int64_t whole = p / one;
    int64_t rest = p % one;
    if (rest < 0) {
        rest += one;
        whole--;
    }
    if (rest > one / 2 || (rest == one / 2 && whole % 2 != 0))
        whole++;
    return whole;
}

static void check_element(const Net *n, int64_t sum, int o, uint16_t code)
{
    const inlay_qshort_params *p = &n->p;
    const int at = p->scales > 1 ? place(n, o) : 0;
    const int32_t factor = n->scale[at];
    const int32_t places = n->scale[p->scales + at];
    const int32_t got = (int16_t)(code ^ p->flip_y);
    const int left = (places >> 16 & 31) - (places >> 8 & 63);
    double want = ldexp((double)sum * factor, left - 32 - (places & 31));
    double most = 0.5 + 0.001;
    if (n->kind == BYTES && !p->far) {
        want = (double)nearest(sum * factor, 32 + (places & 31));
        most = 0.0;
    }
    want = fmin(fmax(want + p->zy, p->lo), p->hi);
    assert_true(fabs(want - got) <= most);
}

static void check(const Net *n)
{
    const inlay_qshort_params *p = &n->p;
    for (int r = 0; r < n->images * p->od * p->oh; r++)
        for (int c = 0; c < p->ow; c++) {
            const uint16_t *y = n->y.at + (r * p->ow + c) * n->y_pix;
            for (int o = 0; o < n->channels; o++)
                check_element(n, sum_of(n, r, c, o), o, y[o]);
            for (int o = n->channels; o < n->y_pix; o++)
                assert_int_equal(y[o], MARK);
        }
}

static void sums_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        Net n;
        random_net(&n, (Kind)rnd(3));
        run(&n);
        check(&n);
        free_net(&n);
    }
}

/* Numbers and weights as large as they can be, of both signs. */
static void ends_do_not_overflow(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 10; i++) {
        Net n;
        random_net(&n, rnd(2) ? LONG : WIDE);
        for (size_t k = 0; k < n.x.n; k++)
            n.x.at[k] = (uint16_t)((rnd(9) ? -32768 : 32767) ^ n.p.flip);
        for (size_t k = 0; k < n.w.n; k++)
            n.w.at[k] = (uint16_t)(rnd(9) ? -n.largest : n.largest - 1);
        free(n.packed);
        free(n.packed_bias);
        pack(&n);
        run(&n);
        check(&n);
        free_net(&n);
    }
}

/* Ties go to even numbers, of sums below 0 as well; beside them they do not. */
static void ties_go_to_even(void **state)
{
    (void)state;
    const inlay_qshort_scale half = { 1 << 30, 3 }; /* 2^-5 */
    for (int32_t sum = -4000; sum <= 4000; sum++) {
        const int32_t got = inlay_qshort_round(sum, &half);
        assert_int_equal(got, (int32_t)nearest(sum, 5));
    }
    /* of sums of 64 bits 2^-20: what is lost on the way still counts */
    const inlay_qshort_scale deep = { 1 << 30, 3 | 15 << 8 };
    for (int32_t k = -9; k <= 9; k++)
        for (int32_t by = -1; by <= 1; by++) {
            const int64_t sum = ((int64_t)2 * k + 1) * (1 << 19) + by;
            const int32_t some = inlay_qshort_narrow(sum, deep.places);
            assert_int_equal(inlay_qshort_round(some, &deep),
                             (int32_t)nearest(sum, 20));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(ends_do_not_overflow),
        cmocka_unit_test(ties_go_to_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
