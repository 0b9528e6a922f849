/* SPDX-License-Identifier: Apache-2.0
 * RNN, GRU and LSTM against the standard's equations in double precision: directions, lengths,
 * layouts, states, peepholes, clip, coupled gates, and every activation. */
#include "images.h"

#include "kernels/recurrent.h"
#include "kernels/recurrent_f64.h"

typedef struct Case {
    inlay_recurrent_params p;
    float *x, *w, *r, *bias, *h0, *c0,
        *peephole; /* w [D][G H][I], r [D][G H][H]; NULL: left out */
    int32_t *length;
    float *y, *y_h, *y_c; /* wanted */
    size_t y_count, h_count;
} Case;

static double act_of(const inlay_recurrent_params *p, int d, int k, double x)
{
    const double a = (double)p->alpha[d * 3 + k],
                 b = (double)p->beta[d * 3 + k], clip = (double)p->clip;
    if (p->clipped && k < 2)
        x = x > clip ? clip : x < -clip ? -clip : x;
    switch (p->act[d * 3 + k]) {
    case INLAY_ACT_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case INLAY_ACT_TANH:
        return tanh(x);
    case INLAY_ACT_RELU:
        return x > 0.0 ? x : 0.0;
    case INLAY_ACT_AFFINE:
        return a * x + b;
    case INLAY_ACT_LEAKY_RELU:
        return x < 0.0 ? a * x : x;
    case INLAY_ACT_THRESHOLDED_RELU:
        return x > a ? x : 0.0;
    case INLAY_ACT_SCALED_TANH:
        return a * tanh(b * x);
    case INLAY_ACT_HARD_SIGMOID:
        return fmax(0.0, fmin(1.0, a * x + b));
    case INLAY_ACT_ELU:
        return x < 0.0 ? a * expm1(x) : x;
    case INLAY_ACT_SOFTSIGN:
        return x / (1.0 + fabs(x));
    case INLAY_ACT_SOFTPLUS:
        return log1p(exp(x));
    default:
        return (double)NAN;
    }
}

/* Sum of gate row `row` of direction d: what = 1 the input's part, 2 the state's, 4 and 8 their
 * biases. */
static double sum_of(const Case *t, int d, int row, const float *x,
                     const double *h, int what)
{
    const inlay_recurrent_params *p = &t->p;
    const int all = p->kind * p->hidden;
    const float *w = t->w + (size_t)(d * all + row) * (size_t)p->input,
                *r = t->r + (size_t)(d * all + row) * (size_t)p->hidden;
    double sum = 0.0;
    if (what & 1)
        for (int i = 0; i < p->input; i++)
            sum += (double)w[i] * (double)x[i];
    if (what & 2)
        for (int i = 0; i < p->hidden; i++)
            sum += (double)r[i] * h[i];
    if ((what & 4) && t->bias)
        sum += (double)t->bias[d * 2 * all + row];
    if ((what & 8) && t->bias)
        sum += (double)t->bias[d * 2 * all + all + row];
    return sum;
}

static void naive_gru(const Case *t, int d, const float *x, const double *h,
                      double *next)
{
    const inlay_recurrent_params *p = &t->p;
    const int H = p->hidden;
    double reset[64], gated[64];
    for (int i = 0; i < H; i++) {
        reset[i] = act_of(p, d, 0, sum_of(t, d, H + i, x, h, 15));
        gated[i] = reset[i] * h[i];
    }
    for (int i = 0; i < H; i++) {
        const double z = act_of(p, d, 0, sum_of(t, d, i, x, h, 15));
        const double n = p->linear_first
                             ? sum_of(t, d, 2 * H + i, x, h, 5) +
                                   reset[i] * sum_of(t, d, 2 * H + i, x, h, 10)
                             : sum_of(t, d, 2 * H + i, x, gated, 15);
        next[i] = (1.0 - z) * act_of(p, d, 1, n) + z * h[i];
    }
}

static void naive_lstm(const Case *t, int d, const float *x, const double *h,
                       double *next, double *c)
{
    const inlay_recurrent_params *p = &t->p;
    const int H = p->hidden;
    const float *q = t->peephole ? t->peephole + d * 3 * H : NULL;
    for (int i = 0; i < H; i++) {
        const double in =
            act_of(p, d, 0,
                   sum_of(t, d, i, x, h, 15) + (q ? (double)q[i] * c[i] : 0.0));
        const double forget =
            p->coupled ? 1.0 - in
                       : act_of(p, d, 0,
                                sum_of(t, d, 2 * H + i, x, h, 15) +
                                    (q ? (double)q[2 * H + i] * c[i] : 0.0));
        c[i] = forget * c[i] +
               in * act_of(p, d, 1, sum_of(t, d, 3 * H + i, x, h, 15));
        const double out = act_of(p, d, 0,
                                  sum_of(t, d, H + i, x, h, 15) +
                                      (q ? (double)q[H + i] * c[i] : 0.0));
        next[i] = out * act_of(p, d, 2, c[i]);
    }
}

/* Rows without a step have zeros as their last state, whatever the first one is. */
static void naive(Case *t)
{
    const inlay_recurrent_params *p = &t->p;
    const int H = p->hidden;
    memset(t->y, 0, t->y_count * sizeof *t->y);
    for (int d = 0; d < p->directions; d++)
        for (int b = 0; b < p->batch; b++) {
            const int64_t state = d * p->hs[0] + b * p->hs[1];
            const int steps = t->length ? t->length[b] : p->steps;
            double h[64], c[64], next[64];
            for (int i = 0; i < H; i++) {
                h[i] = t->h0 && steps ? (double)t->h0[state + i] : 0.0;
                c[i] = t->c0 && steps ? (double)t->c0[state + i] : 0.0;
            }
            for (int s = 0; s < steps; s++) {
                const int at = p->reverse >> d & 1 ? steps - 1 - s : s;
                const float *x = t->x + at * p->xs[0] + b * p->xs[1];
                if (p->kind == 3)
                    naive_gru(t, d, x, h, next);
                else if (p->kind == 4)
                    naive_lstm(t, d, x, h, next, c);
                else
                    for (int i = 0; i < H; i++)
                        next[i] = act_of(p, d, 0, sum_of(t, d, i, x, h, 15));
                memcpy(h, next, sizeof h);
                for (int i = 0; i < H; i++)
                    t->y[at * p->ys[0] + d * p->ys[1] + b * p->ys[2] + i] =
                        (float)h[i];
            }
            for (int i = 0; i < H; i++) {
                t->y_h[state + i] = (float)h[i];
                t->y_c[state + i] = (float)c[i];
            }
        }
}

static void scale(float *f, size_t n, float by)
{
    for (size_t i = 0; i < n; i++)
        f[i] *= by;
}

static int32_t random_gate(void)
{
    static const int32_t gates[] = {
#define INLAY_ACT(uses, id, ...) \
    ((uses)&INLAY_ACT_GATE) ? INLAY_ACT_##id : INLAY_ACT_SIGMOID,
#include "kernels/act.def"
#undef INLAY_ACT
    };
    return gates[rnd(sizeof gates / sizeof *gates)];
}

static Case random_case(int kind)
{
    Case t = { 0 };
    inlay_recurrent_params *p = &t.p;
    const bool batch_first = rnd(2);
    *p = (inlay_recurrent_params){ .kind = kind,
                                   .directions = 1 + (int32_t)rnd(2),
                                   .steps = 1 + (int32_t)rnd(16),
                                   .batch = 1 + (int32_t)rnd(9),
                                   .input = 1 + (int32_t)rnd(12),
                                   .hidden = 1 + (int32_t)rnd(40),
                                   .chunk = 1 + (int32_t)rnd(9),
                                   .width = INLAY_VL == 1 && rnd(2) ? 4 : 16,
                                   .linear_first = (int32_t)rnd(2),
                                   .coupled = (int32_t)rnd(2),
                                   .clipped = rnd(3) == 0,
                                   .clip = 0.4f };
    p->reverse = p->directions == 2 ? 2 : (int32_t)rnd(2);
    const int64_t T = p->steps, B = p->batch, I = p->input, H = p->hidden,
                  D = p->directions;
    p->xs[0] = batch_first ? I : B * I;
    p->xs[1] = batch_first ? T * I : I;
    p->ys[0] = batch_first ? D * H : D * B * H;
    p->ys[1] = batch_first ? H : B * H;
    p->ys[2] = batch_first ? T * D * H : H;
    p->hs[0] = p->ys[1];
    p->hs[1] = batch_first ? D * H : H;
    for (int i = 0; i < 6; i++) {
        p->act[i] = random_gate();
        p->alpha[i] = 0.3f;
        p->beta[i] = 0.6f;
    }
    if (rnd(2))
        for (int i = 0; i < 6; i++)
            p->act[i] = i % 3 == 0 ? INLAY_ACT_SIGMOID : INLAY_ACT_TANH;
    if (kind > 1)
        for (int i = 0; i < 6; i += 3)
            p->act[i] = rnd(2) ? INLAY_ACT_SIGMOID
                               : INLAY_ACT_HARD_SIGMOID; /* shares: no growth */
    t.y_count = (size_t)(T * D * B * H);
    t.h_count = (size_t)(D * B * H);
    t.x = rnd_floats((size_t)(T * B * I));
    t.w = rnd_floats((size_t)(D * kind * H * I));
    t.r = rnd_floats((size_t)(D * kind * H * H));
    scale(t.r, (size_t)(D * kind * H * H),
          1.0f / (float)H); /* no growth from step to step */
    scale(t.w, (size_t)(D * kind * H * I), 0.3f);
    t.bias = rnd(3) ? rnd_floats((size_t)(D * 2 * kind * H)) : NULL;
    t.h0 = rnd(2) ? rnd_floats(t.h_count) : NULL;
    t.c0 = rnd(2) ? rnd_floats(t.h_count) : NULL;
    t.peephole = kind == 4 && rnd(2) ? rnd_floats((size_t)(D * 3 * H)) : NULL;
    t.length = rnd(2) ? malloc((size_t)B * sizeof *t.length) : NULL;
    for (int i = 0; t.length && i < B; i++)
        t.length[i] = (int32_t)rnd((uint32_t)T + 1);
    t.y = rnd_floats(t.y_count);
    t.y_h = rnd_floats(t.h_count);
    t.y_c = rnd_floats(t.h_count);
    naive(&t);
    return t;
}

/* Rows [from, from + rows) of each direction's matrix [all][k], packed one direction after the
 * other. */
static float *packed(const float *w, int directions, int all, int from,
                     int rows, int k, int width)
{
    const size_t each = (size_t)((rows + 3) / 4 * 4) * (size_t)k;
    float *out = malloc((each * (size_t)directions + 1) * sizeof *out);
    for (int d = 0; d < directions; d++) {
        float *one = pack_blocks(w + (size_t)(d * all + from) * (size_t)k, rows,
                                 k, width);
        memcpy(out + (size_t)d * each, one, each * sizeof *out);
        free(one);
    }
    return out;
}

/* The biases of w, of r and of rn, each filled up to fours; zeros where there are none. */
static float *packed_biases(const Case *t)
{
    const inlay_recurrent_params *p = &t->p;
    const int H = p->hidden, all = p->kind * H;
    const bool gru = p->kind == 3;
    const int size[] = { all, gru ? 2 * H : all, gru ? H : 0 };
    float *out = calloc((size_t)p->directions * (size_t)(2 * all + 9), 4);
    float *to = out;
    const float *from = t->bias;
    for (int i = 0; from && i < 3 * p->directions; i++) {
        const int n = size[i % 3];
        memcpy(to, from, (size_t)n * sizeof *to);
        from += n;
        to += (n + 3) / 4 * 4;
    }
    return out;
}

static void run_case(const Case *t)
{
    const inlay_recurrent_params *p = &t->p;
    const int H = p->hidden, all = p->kind * H, D = p->directions;
    float *bias = packed_biases(t);
    float *w = packed(t->w, D, all, 0, all, p->input, p->width),
          *r = packed(t->r, D, all, 0, p->kind == 3 ? 2 * H : all, H, p->width);
    float *rn =
        p->kind == 3 ? packed(t->r, D, all, 2 * H, H, H, p->width) : NULL;
    /* h, c of an LSTM, h as a GRU resets it or as it is rounded. */
    const int states = 1 + (p->kind == 4) + (p->kind == 3 || p->rounded);
    const size_t scratch = (size_t)states * (size_t)(p->batch * H) +
                           (size_t)p->chunk * (size_t)p->batch * (size_t)all;
    float *s = malloc((scratch + 1) * sizeof *s);
    s[scratch] = GUARD;
    float *y = malloc(t->y_count * sizeof *y),
          *y_h = malloc(t->h_count * sizeof *y_h),
          *y_c = malloc(t->h_count * sizeof *y_c);
    void *base[13] = { y,    y_h,       y_c,   t->x,  w,           r, rn,
                       bias, t->length, t->h0, t->c0, t->peephole, s };
    inlay_ref ref[13];
    for (int i = 0; i < 13; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = base[i] ? i : INLAY_NONE };
    const inlay_step step = { inlay_recurrent_f32, p, ref, 1, 0 };
    assert_int_equal(inlay_recurrent_f32(base, &step, 0, 1), 0);
    check_close(y, t->y, t->y_count, 5.0);
    check_close(y_h, t->y_h, t->h_count, 5.0);
    if (p->kind == 4)
        check_close(y_c, t->y_c, t->h_count, 5.0);
    assert_true(s[scratch] == GUARD);
    free(w);
    free(r);
    free(rn);
    free(s);
    free(y);
    free(y_h);
    free(y_c);
    free(bias);
}

static double *wide(const float *f, size_t n)
{
    double *d = f ? malloc((n ? n : 1) * sizeof *d) : NULL;
    for (size_t i = 0; d && i < n; i++)
        d[i] = (double)f[i];
    return d;
}

/* The plain kernel in float64; its results as floats. */
static void run_wide(const Case *t)
{
    const inlay_recurrent_params *p = &t->p;
    const size_t H = (size_t)p->hidden, all = (size_t)p->kind * H,
                 D = (size_t)p->directions, I = (size_t)p->input;
    double *y = malloc(t->y_count * sizeof *y),
           *y_h = malloc(t->h_count * sizeof *y_h),
           *y_c = malloc(t->h_count * sizeof *y_c),
           *s = malloc((3 * H + all) * sizeof *s);
    void *base[13] = { y,
                       y_h,
                       y_c,
                       wide(t->x, (size_t)(p->steps * p->batch) * I),
                       wide(t->w, D * all * I),
                       wide(t->r, D * all * H),
                       NULL,
                       wide(t->bias, D * 2 * all),
                       t->length,
                       wide(t->h0, t->h_count),
                       wide(t->c0, t->h_count),
                       wide(t->peephole, D * 3 * H),
                       s };
    inlay_ref ref[13];
    for (int i = 0; i < 13; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = base[i] ? i : INLAY_NONE };
    const inlay_step step = { inlay_recurrent_f64, p, ref, 1, 0 };
    assert_int_equal(inlay_recurrent_f64(base, &step, 0, 1), 0);
    for (size_t i = 0; i < t->y_count; i++)
        assert_true(fabs(y[i] - (double)t->y[i]) <= 1e-6 * (1.0 + fabs(y[i])));
    for (size_t i = 0; i < t->h_count; i++)
        assert_true(fabs(y_h[i] - (double)t->y_h[i]) <=
                    1e-6 * (1.0 + fabs(y_h[i])));
    for (size_t i = 0; p->kind == 4 && i < t->h_count; i++)
        assert_true(fabs(y_c[i] - (double)t->y_c[i]) <=
                    1e-6 * (1.0 + fabs(y_c[i])));
    for (int i = 0; i < 13; i++)
        if (i != 8)
            free(base[i]);
}

static void drop(Case *t)
{
    free(t->x);
    free(t->w);
    free(t->r);
    free(t->bias);
    free(t->h0);
    free(t->c0);
    free(t->peephole);
    free(t->length);
    free(t->y);
    free(t->y_h);
    free(t->y_c);
}

static void random_cells(int kind)
{
    for (int i = 0; i < 150; i++) {
        Case t = random_case(kind);
        run_case(&t);
        run_wide(&t);
        drop(&t);
    }
}

static void rnn(void **state)
{
    (void)state;
    random_cells(1);
}
static void gru(void **state)
{
    (void)state;
    random_cells(3);
}
static void lstm(void **state)
{
    (void)state;
    random_cells(4);
}

/* A length beyond the sequence is refused. */
static void bad_length(void **state)
{
    (void)state;
    Case t = random_case(1);
    free(t.length);
    t.length = calloc((size_t)t.p.batch, sizeof *t.length);
    t.length[t.p.batch - 1] = t.p.steps + 1;
    void *base[13] = { NULL };
    inlay_ref ref[13];
    base[8] = t.length;
    for (int i = 0; i < 13; i++)
        ref[i] = (inlay_ref){ .cap = 1, .base = i == 8 ? i : INLAY_NONE };
    const inlay_step step = { inlay_recurrent_f32, &t.p, ref, 1, 0 };
    assert_int_equal(inlay_recurrent_f32(base, &step, 0, 1), -INLAY_E_INDEX);
    drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rnn),
        cmocka_unit_test(gru),
        cmocka_unit_test(lstm),
        cmocka_unit_test(bad_length),
    };
    if (vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
