/* SPDX-License-Identifier: 0BSD
 * RNN, GRU and LSTM in float64, in their plain form: the equations, operands and parameters of
 * recurrent.h, but w and r as ONNX has them ([directions][G H][I] and [directions][G H][H]) and no
 * rn. */
#ifndef INLAY_RECURRENT_F64_H
#define INLAY_RECURRENT_F64_H

#include "kernels/act_f64.h"
#include "recurrent.h"

/* A direction's operands, where it has its own; NULL: left out. */
typedef struct inlay_cell_f64 {
    const inlay_recurrent_params *p;
    int32_t d;
    double *y;
    double *y_h;
    double *y_c;
    const double *x;
    const double *w;
    const double *r;
    const double *b;
    const double *h0;
    const double *c0;
    const double *q;
    /* in the scratch operand */
    double *h; /* [H] */
    double *c; /* [H] */
    double *t; /* [H] */
    double *g; /* [G H] */
} inlay_cell_f64;

/* Activation number `which` (0 f, 1 g, 2 h) of x. */
static inline double inlay_gate_f64(const inlay_cell_f64 *k, int32_t which,
                                    double x)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t own = k->d * 3 + which;
    const double clip = (double)p->clip;
    const double alpha = (double)p->alpha[own];
    const double beta = (double)p->beta[own];
    if (p->clipped && which < 2) {
        const double low = x < -clip ? -clip : x;
        x = x > clip ? clip : low;
    }
    return inlay_gate_act_f64(x, p->act[own], alpha, beta);
}

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
    const int32_t n = k->p->hidden;
    double *gate = k->g;
    double *reset = gate + n;
    double *cell = gate + 2 * n;
    double *h = k->h;
    int32_t i;
    for (i = 0; i < 2 * n; i++) {
        const double sum = inlay_row_f64(k, i, x, h);
        gate[i] = inlay_gate_f64(k, 0, sum);
    }
    for (i = 0; i < n; i++)
        k->t[i] = reset[i] * h[i];
    for (i = 0; i < n; i++)
        cell[i] = inlay_gru_new(k, x, i);
    for (i = 0; i < n; i++) {
        const double z = gate[i];
        const double made = inlay_gate_f64(k, 1, cell[i]);
        h[i] = (1.0 - z) * made + z * h[i];
    }
}

/* Gate number g (i, o, f) of place i, with its peephole. */
static inline double inlay_lstm_gate(const inlay_cell_f64 *k, int32_t g,
                                     int32_t i)
{
    const int32_t at = g * k->p->hidden + i;
    double peep = 0.0;
    if (k->q)
        peep = k->q[at] * k->c[i];
    return inlay_gate_f64(k, 0, k->g[at] + peep);
}

static inline void inlay_lstm_f64(const inlay_cell_f64 *k, const double *x)
{
    const int32_t n = k->p->hidden;
    double *gate = k->g;
    double *cell = gate + 3 * n;
    double *h = k->h;
    double *c = k->c;
    int32_t i;
    for (i = 0; i < 4 * n; i++)
        gate[i] = inlay_row_f64(k, i, x, h);
    for (i = 0; i < n; i++) {
        const double in = inlay_lstm_gate(k, 0, i);
        const double made = inlay_gate_f64(k, 1, cell[i]);
        double forget = 1.0 - in;
        if (!k->p->coupled)
            forget = inlay_lstm_gate(k, 2, i);
        c[i] = forget * c[i] + in * made;
        h[i] = inlay_lstm_gate(k, 1, i);
        h[i] *= inlay_gate_f64(k, 2, c[i]);
    }
}

static inline void inlay_rnn_f64(const inlay_cell_f64 *k, const double *x)
{
    const int32_t n = k->p->hidden;
    int32_t i;
    for (i = 0; i < n; i++) {
        const double sum = inlay_row_f64(k, i, x, k->h);
        k->t[i] = inlay_gate_f64(k, 0, sum);
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

/* Bytes of a state. */
static inline size_t inlay_state_bytes(const inlay_cell_f64 *k)
{
    return (size_t)k->p->hidden * sizeof(double);
}

/* A first state: zeros where it is left out. */
static inline void inlay_state_from(const inlay_cell_f64 *k, double *to,
                                    const double *from, int64_t at)
{
    const size_t bytes = inlay_state_bytes(k);
    if (from)
        memcpy(to, from + at, bytes);
    else
        memset(to, 0, bytes);
}

/* A last state. */
static inline void inlay_state_to(const inlay_cell_f64 *k, double *to,
                                  const double *from, int64_t at)
{
    if (to)
        memcpy(to + at, from, inlay_state_bytes(k));
}

/* A row of the batch at step i of the direction; x and y, which may be NULL, are at the row. */
static inline void inlay_place_f64(const inlay_cell_f64 *k, double *y,
                                   const double *x, int32_t i, int32_t steps)
{
    const inlay_recurrent_params *p = k->p;
    const size_t bytes = inlay_state_bytes(k);
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

/* Row b of the batch in one direction. */
static inline void inlay_sequence_f64(const inlay_cell_f64 *k, int32_t b,
                                      int32_t steps)
{
    const inlay_recurrent_params *p = k->p;
    const int64_t state = b * p->hs[1];
    const double *x = k->x + b * p->xs[1];
    double *y = k->y;
    int32_t i;
    if (y)
        y += b * p->ys[2];
    inlay_state_from(k, k->h, k->h0, state);
    inlay_state_from(k, k->c, k->c0, state);
    for (i = 0; i < p->steps; i++)
        inlay_place_f64(k, y, x, i, steps);
    if (steps == 0) {
        memset(k->h, 0, inlay_state_bytes(k));
        memset(k->c, 0, inlay_state_bytes(k));
    }
    inlay_state_to(k, k->y_h, k->h, state);
    inlay_state_to(k, k->y_c, k->c, state);
}

/* Operand i of direction d, `apart` numbers behind that of the one before; NULL: left out. */
static inline double *inlay_of_direction(void *const *base, const inlay_step *s,
                                         int i, int32_t d, ptrdiff_t apart)
{
    double *first = (double *)inlay_at(base, s, i);
    return first ? first + d * apart : first;
}

/* The results and states of direction k->d. */
static inline void inlay_direction_states(void *const *base,
                                          const inlay_step *s,
                                          inlay_cell_f64 *k)
{
    const ptrdiff_t line = (ptrdiff_t)k->p->ys[1];
    const ptrdiff_t state = (ptrdiff_t)k->p->hs[0];
    const int32_t d = k->d;
    k->y = inlay_of_direction(base, s, 0, d, line);
    k->y_h = inlay_of_direction(base, s, 1, d, state);
    k->y_c = inlay_of_direction(base, s, 2, d, state);
    k->h0 = inlay_of_direction(base, s, 9, d, state);
    k->c0 = inlay_of_direction(base, s, 10, d, state);
}

/* Its weights. */
static inline void inlay_direction_weights(void *const *base,
                                           const inlay_step *s,
                                           inlay_cell_f64 *k)
{
    const ptrdiff_t hidden = k->p->hidden;
    const ptrdiff_t gates = k->p->kind * hidden;
    const int32_t d = k->d;
    k->w = inlay_of_direction(base, s, 4, d, gates * k->p->input);
    k->r = inlay_of_direction(base, s, 5, d, gates * hidden);
    k->b = inlay_of_direction(base, s, 7, d, 2 * gates);
    k->q = inlay_of_direction(base, s, 11, d, 3 * hidden);
}

/* The parts of the scratch operand. */
static inline void inlay_scratch_f64(inlay_cell_f64 *k, double *scratch)
{
    const int32_t hidden = k->p->hidden;
    k->h = scratch;
    k->c = k->h + hidden;
    k->t = k->c + hidden;
    k->g = k->t + hidden;
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
    k.x = (const double *)inlay_at(base, s, 3);
    inlay_scratch_f64(&k, (double *)inlay_at(base, s, 12));
    for (k.d = 0; k.d < p->directions; k.d++) {
        inlay_direction_states(base, s, &k);
        inlay_direction_weights(base, s, &k);
        for (b = 0; b < p->batch; b++)
            inlay_sequence_f64(&k, b, length ? length[b] : p->steps);
    }
    return 0;
}

#endif
