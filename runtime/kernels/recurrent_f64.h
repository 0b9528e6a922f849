/* SPDX-License-Identifier: 0BSD
 * RNN, GRU and LSTM in float64, in their plain form: the equations, operands and parameters of
 * recurrent.h, but w and r as ONNX has them ([directions][G H][I] and [directions][G H][H]) and no
 * rn. */
#ifndef INLAY_RECURRENT_F64_H
#define INLAY_RECURRENT_F64_H

#include "kernels/act_f64.h"
#include "recurrent.h"

static inline double inlay_gate_one(const inlay_recurrent_params *p, int32_t d,
                                    int32_t k, double x)
{
    const int32_t own = d * 3 + k;
    const double clip = (double)p->clip;
    const double alpha = (double)p->alpha[own];
    const double beta = (double)p->beta[own];
    if (p->clipped && k < 2) {
        const double low = x < -clip ? -clip : x;
        x = x > clip ? clip : low;
    }
    return inlay_gate_act_f64(x, p->act[own], alpha, beta);
}

/* A direction's operands. */
typedef struct inlay_cell_f64 {
    const inlay_recurrent_params *p;
    int32_t d;
    const double *w;
    const double *r;
    const double *b; /* NULL where it is left out, as q */
    const double *q;
    double *h; /* [H] */
    double *c; /* [H] */
    double *g; /* [G H] */
    double *t; /* [H] */
} inlay_cell_f64;

/* sum + the sum of w[i] x[i], i < n. */
static inline double inlay_dot_f64(double sum, const double *w, const double *x,
                                   int32_t n)
{
    int32_t i;
    for (i = 0; i < n; i++)
        sum += w[i] * x[i];
    return sum;
}

/* b + rb + sum of w[row] x + sum of r[row] h; x or h NULL: without that part and its bias. */
static inline double inlay_row_f64(const inlay_cell_f64 *k, int32_t row,
                                   const double *x, const double *h)
{
    const int32_t inputs = k->p->input;
    const int32_t hidden = k->p->hidden;
    const int32_t all = k->p->kind * hidden;
    double sum = 0.0;
    if (x) {
        const double *w = k->w + (ptrdiff_t)row * inputs;
        if (k->b)
            sum += k->b[row];
        sum = inlay_dot_f64(sum, w, x, inputs);
    }
    if (h) {
        const double *r = k->r + (ptrdiff_t)row * hidden;
        if (k->b)
            sum += k->b[all + row];
        sum = inlay_dot_f64(sum, r, h, hidden);
    }
    return sum;
}

/* The input of n at place i. */
static inline double inlay_gru_new(const inlay_cell_f64 *k, const double *x,
                                   int32_t i)
{
    const int32_t n = k->p->hidden;
    const int32_t row = 2 * n + i;
    const double reset = k->g[n + i];
    if (!k->p->linear_first)
        return inlay_row_f64(k, row, x, k->t);
    return inlay_row_f64(k, row, x, NULL) +
           reset * inlay_row_f64(k, row, NULL, k->h);
}

static inline void inlay_gru_f64(const inlay_cell_f64 *k, const double *x)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t n = p->hidden;
    double *cell = k->g + 2 * n;
    int32_t i;
    for (i = 0; i < 2 * n; i++) {
        const double sum = inlay_row_f64(k, i, x, k->h);
        k->g[i] = inlay_gate_one(p, k->d, 0, sum);
    }
    for (i = 0; i < n; i++)
        k->t[i] = k->g[n + i] * k->h[i];
    for (i = 0; i < n; i++)
        cell[i] = inlay_gru_new(k, x, i);
    for (i = 0; i < n; i++) {
        const double z = k->g[i];
        const double made = inlay_gate_one(p, k->d, 1, cell[i]);
        k->h[i] = (1.0 - z) * made + z * k->h[i];
    }
}

/* Gate number g (i, o, f) of place i, with its peephole. */
static inline double inlay_lstm_gate(const inlay_cell_f64 *k, int32_t g,
                                     int32_t i)
{
    const int32_t at = g * k->p->hidden + i;
    const double peep = k->q ? k->q[at] * k->c[i] : 0.0;
    return inlay_gate_one(k->p, k->d, 0, k->g[at] + peep);
}

static inline void inlay_lstm_f64(const inlay_cell_f64 *k, const double *x)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t n = p->hidden;
    int32_t i;
    for (i = 0; i < 4 * n; i++)
        k->g[i] = inlay_row_f64(k, i, x, k->h);
    for (i = 0; i < n; i++) {
        const double in = inlay_lstm_gate(k, 0, i);
        const double forget = p->coupled ? 1.0 - in : inlay_lstm_gate(k, 2, i);
        const double made = inlay_gate_one(p, k->d, 1, k->g[3 * n + i]);
        k->c[i] = forget * k->c[i] + in * made;
        k->h[i] = inlay_lstm_gate(k, 1, i);
        k->h[i] *= inlay_gate_one(p, k->d, 2, k->c[i]);
    }
}

static inline void inlay_rnn_f64(const inlay_cell_f64 *k, const double *x)
{
    const int32_t n = k->p->hidden;
    int32_t i;
    for (i = 0; i < n; i++) {
        const double sum = inlay_row_f64(k, i, x, k->h);
        k->t[i] = inlay_gate_one(k->p, k->d, 0, sum);
    }
    memcpy(k->h, k->t, (size_t)n * sizeof *k->h);
}

static inline void inlay_step_f64(const inlay_cell_f64 *k, const double *x)
{
    if (k->p->kind == 3)
        inlay_gru_f64(k, x);
    else if (k->p->kind == 4)
        inlay_lstm_f64(k, x);
    else
        inlay_rnn_f64(k, x);
}

/* The first state of one row, of operand i: zeros where that is left out. */
static inline void inlay_state_from(void *const *base, const inlay_step *s,
                                    int i, int64_t at, double *to, size_t bytes)
{
    const double *from = (const double *)inlay_at(base, s, i);
    if (from)
        memcpy(to, from + at, bytes);
    else
        memset(to, 0, bytes);
}

/* The last state of one row, to operand i, which may be left out. */
static inline void inlay_state_to(void *const *base, const inlay_step *s, int i,
                                  int64_t at, const double *from, size_t bytes)
{
    double *to = (double *)inlay_at(base, s, i);
    if (to)
        memcpy(to + at, from, bytes);
}

/* A row of the batch at step i of the direction; x and y, which may be NULL, are at the row. */
static inline void inlay_place_f64(const inlay_cell_f64 *k, double *y,
                                   const double *x, int32_t i, int32_t steps)
{
    const inlay_recurrent_params *p = k->p;
    const size_t bytes = (size_t)p->hidden * sizeof *y;
    const int lives = i < steps;
    const int reversed = lives && (p->reverse >> k->d & 1);
    const int64_t at = reversed ? steps - 1 - i : i;
    if (lives)
        inlay_step_f64(k, x + at * p->xs[0]);
    if (!y)
        return;
    y += at * p->ys[0];
    if (lives)
        memcpy(y, k->h, bytes);
    else
        memset(y, 0, bytes);
}

/* One row of the batch in one direction. */
static inline void inlay_sequence_f64(void *const *base, const inlay_step *s,
                                      const inlay_cell_f64 *k, int32_t b,
                                      int32_t steps)
{
    const inlay_recurrent_params *p = k->p;
    const int64_t state = k->d * p->hs[0] + b * p->hs[1];
    const size_t bytes = (size_t)p->hidden * sizeof(double);
    const double *x = (const double *)inlay_at(base, s, 3);
    double *y = (double *)inlay_at(base, s, 0);
    int32_t i;
    x += b * p->xs[1];
    if (y)
        y += k->d * p->ys[1] + b * p->ys[2];
    inlay_state_from(base, s, 9, state, k->h, bytes);
    inlay_state_from(base, s, 10, state, k->c, bytes);
    for (i = 0; i < p->steps; i++)
        inlay_place_f64(k, y, x, i, steps);
    inlay_state_to(base, s, 1, state, k->h, bytes);
    inlay_state_to(base, s, 2, state, k->c, bytes);
}

/* The operands of direction k->d. */
static inline void inlay_direction_f64(void *const *base, const inlay_step *s,
                                       inlay_cell_f64 *k)
{
    const ptrdiff_t hidden = k->p->hidden;
    const ptrdiff_t gates = k->p->kind * hidden;
    const ptrdiff_t d = k->d;
    const double *w = (const double *)inlay_at(base, s, 4);
    const double *r = (const double *)inlay_at(base, s, 5);
    const double *b = (const double *)inlay_at(base, s, 7);
    const double *q = (const double *)inlay_at(base, s, 11);
    k->w = w + d * gates * k->p->input;
    k->r = r + d * gates * hidden;
    k->b = b ? b + d * 2 * gates : b;
    k->q = q ? q + d * 3 * hidden : q;
}

static inline int inlay_recurrent_f64(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_recurrent_params *p = (const inlay_recurrent_params *)s->params;
    const int32_t *length = (const int32_t *)inlay_at(base, s, 8);
    inlay_cell_f64 k;
    int32_t b;
    (void)r0;
    (void)r1;
    if (!inlay_lengths_fit(p, length))
        return -INLAY_E_INDEX;
    k.p = p;
    k.h = (double *)inlay_at(base, s, 12);
    k.c = k.h + p->hidden;
    k.t = k.c + p->hidden;
    k.g = k.t + p->hidden;
    for (k.d = 0; k.d < p->directions; k.d++) {
        inlay_direction_f64(base, s, &k);
        for (b = 0; b < p->batch; b++) {
            const int32_t steps = length ? length[b] : p->steps;
            inlay_sequence_f64(base, s, &k, b, steps);
        }
    }
    return 0;
}

#endif
