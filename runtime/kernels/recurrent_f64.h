/* SPDX-License-Identifier: 0BSD
 * RNN, GRU and LSTM in float64, in their plain form: the equations, operands and parameters of
 * recurrent.h, but w and r as ONNX has them ([directions][G H][I] and [directions][G H][H]) and no
 * rn. */
#ifndef INLAY_RECURRENT_F64_H
#define INLAY_RECURRENT_F64_H

#include "kernels/act_f64.h"
#include "recurrent.h"

static inline double inlay_gate_one(const inlay_recurrent_params *p, int32_t d, int32_t k, double x)
{
    const double a = (double)p->alpha[d * 3 + k];
    const double b = (double)p->beta[d * 3 + k];
    const double clip = (double)p->clip;
    if (p->clipped && k < 2)
        x = x > clip ? clip : x < -clip ? -clip : x;
    return inlay_gate_act_f64(x, p->act[d * 3 + k], a, b);
}

/* A direction's operands. */
typedef struct inlay_cell_f64 {
    const inlay_recurrent_params *p;
    int32_t d;
    const double *w, *r, *b, *q; /* b, q: NULL where left out */
    double *h, *c, *g, *t;       /* [H], [H], [G H], [H] */
} inlay_cell_f64;

/* b + rb + sum of w[row] x + sum of r[row] h; x or h NULL: without that part and its bias. */
static inline double inlay_row_f64(const inlay_cell_f64 *k, int32_t row, const double *x,
                                   const double *h)
{
    const int32_t I = k->p->input;
    const int32_t H = k->p->hidden;
    const int32_t all = k->p->kind * H;
    double sum = 0.0;
    int32_t i;
    if (x) {
        if (k->b)
            sum += k->b[row];
        for (i = 0; i < I; i++)
            sum += k->w[(ptrdiff_t)row * I + i] * x[i];
    }
    if (h) {
        if (k->b)
            sum += k->b[all + row];
        for (i = 0; i < H; i++)
            sum += k->r[(ptrdiff_t)row * H + i] * h[i];
    }
    return sum;
}

static inline void inlay_gru_f64(const inlay_cell_f64 *k, const double *x)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t H = p->hidden;
    double *z = k->g;
    double *r = k->g + H;
    double *n = k->g + 2 * H;
    int32_t i;
    for (i = 0; i < 2 * H; i++)
        k->g[i] = inlay_gate_one(p, k->d, 0, inlay_row_f64(k, i, x, k->h));
    for (i = 0; i < H; i++)
        k->t[i] = r[i] * k->h[i];
    for (i = 0; i < H; i++)
        n[i] = p->linear_first ? inlay_row_f64(k, 2 * H + i, x, NULL) +
                                     r[i] * inlay_row_f64(k, 2 * H + i, NULL, k->h)
                               : inlay_row_f64(k, 2 * H + i, x, k->t);
    for (i = 0; i < H; i++)
        k->h[i] = (1.0 - z[i]) * inlay_gate_one(p, k->d, 1, n[i]) + z[i] * k->h[i];
}

static inline void inlay_lstm_f64(const inlay_cell_f64 *k, const double *x)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t H = p->hidden;
    int32_t i;
    for (i = 0; i < 4 * H; i++)
        k->g[i] = inlay_row_f64(k, i, x, k->h);
    for (i = 0; i < H; i++) {
        const double was = k->c[i];
        const double in = inlay_gate_one(p, k->d, 0, k->g[i] + (k->q ? k->q[i] * was : 0.0));
        const double forget =
            p->coupled ? 1.0 - in
                       : inlay_gate_one(p, k->d, 0,
                                        k->g[2 * H + i] + (k->q ? k->q[2 * H + i] * was : 0.0));
        k->c[i] = forget * was + in * inlay_gate_one(p, k->d, 1, k->g[3 * H + i]);
        k->h[i] = inlay_gate_one(p, k->d, 0, k->g[H + i] + (k->q ? k->q[H + i] * k->c[i] : 0.0)) *
                  inlay_gate_one(p, k->d, 2, k->c[i]);
    }
}

static inline void inlay_step_f64(const inlay_cell_f64 *k, const double *x)
{
    int32_t i;
    if (k->p->kind == 3)
        inlay_gru_f64(k, x);
    else if (k->p->kind == 4)
        inlay_lstm_f64(k, x);
    else {
        for (i = 0; i < k->p->hidden; i++)
            k->t[i] = inlay_gate_one(k->p, k->d, 0, inlay_row_f64(k, i, x, k->h));
        memcpy(k->h, k->t, (size_t)k->p->hidden * sizeof *k->h);
    }
}

/* One row of the batch in one direction. */
static inline void inlay_sequence_f64(void *const *base, const inlay_step *s,
                                      const inlay_cell_f64 *k, int32_t b, int32_t steps)
{
    const inlay_recurrent_params *p = k->p;
    const int64_t state = k->d * p->hs[0] + b * p->hs[1];
    const size_t bytes = (size_t)p->hidden * sizeof(double);
    const double *x = (const double *)inlay_at(base, s, 3);
    const double *h0 = (const double *)inlay_at(base, s, 9);
    const double *c0 = (const double *)inlay_at(base, s, 10);
    double *y = (double *)inlay_at(base, s, 0);
    double *yh = (double *)inlay_at(base, s, 1);
    double *yc = (double *)inlay_at(base, s, 2);
    int32_t i;
    memset(k->h, 0, bytes);
    memset(k->c, 0, bytes);
    if (h0)
        memcpy(k->h, h0 + state, bytes);
    if (c0)
        memcpy(k->c, c0 + state, bytes);
    for (i = 0; i < p->steps; i++) {
        const int64_t at = i < steps && (p->reverse >> k->d & 1) ? steps - 1 - i : i;
        double *to = y ? y + at * p->ys[0] + k->d * p->ys[1] + b * p->ys[2] : y;
        if (i < steps)
            inlay_step_f64(k, x + at * p->xs[0] + b * p->xs[1]);
        if (to && i < steps)
            memcpy(to, k->h, bytes);
        else if (to)
            memset(to, 0, bytes);
    }
    if (yh)
        memcpy(yh + state, k->h, bytes);
    if (yc)
        memcpy(yc + state, k->c, bytes);
}

static inline int inlay_recurrent_f64(void *const *base, const inlay_step *s, int32_t r0,
                                      int32_t r1)
{
    const inlay_recurrent_params *p = (const inlay_recurrent_params *)s->params;
    const ptrdiff_t H = p->hidden;
    const ptrdiff_t all = p->kind * H;
    const double *bias = (const double *)inlay_at(base, s, 7);
    const double *q = (const double *)inlay_at(base, s, 11);
    const int32_t *length = (const int32_t *)inlay_at(base, s, 8);
    inlay_cell_f64 k;
    int32_t b;
    (void)r0, (void)r1;
    for (b = 0; length && b < p->batch; b++)
        if (length[b] < 0 || length[b] > p->steps)
            return -INLAY_E_INDEX;
    k.p = p;
    k.h = (double *)inlay_at(base, s, 12), k.c = k.h + H, k.t = k.c + H, k.g = k.t + H;
    for (k.d = 0; k.d < p->directions; k.d++) {
        k.w = (const double *)inlay_at(base, s, 4) + k.d * all * p->input;
        k.r = (const double *)inlay_at(base, s, 5) + k.d * all * H;
        k.b = bias ? bias + k.d * 2 * all : bias;
        k.q = q ? q + k.d * 3 * H : q;
        for (b = 0; b < p->batch; b++)
            inlay_sequence_f64(base, s, &k, b, length ? length[b] : p->steps);
    }
    return 0;
}

#endif
