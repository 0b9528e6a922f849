/* SPDX-License-Identifier: Apache-2.0
 * Bounds of RNN, GRU and LSTM. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/recurrent_f64.h"

static int64_t to_fours(int64_t n)
{
    return sat_mul(sat_add(n, 3) / 4, 4);
}

static void check_sizes(Bounds *b, const inlay_recurrent_params *p)
{
    const bool known = p->kind == 1 || p->kind == 3 || p->kind == 4;
    bounds_refuse(b, !known, "it has no known gates");
    bounds_refuse(b, p->directions < 1 || p->directions > 2, "it has no direction");
    bounds_narrow(b, sat_mul(sat_mul(2, p->kind), bounds_size(b, p->hidden)));
    bounds_narrow(b, sat_mul(bounds_size(b, p->batch), p->hidden));
    bounds_size(b, p->steps);
    bounds_size(b, p->input);
    bounds_positive(b, p->chunk);
}

/* A state of each direction and row of the batch. */
static void touch_state(Bounds *b, int k, const char *name)
{
    const inlay_recurrent_params *p = b->params;
    const Stretch s = span_times(span_of(p->hidden), p->batch, p->hs[1]);
    touch_span(b, k, name, span_times(s, p->directions, p->hs[0]));
}

static void touch_sequences(Bounds *b, const inlay_recurrent_params *p)
{
    Stretch y = span_times(span_of(p->hidden), p->batch, p->ys[2]);
    Stretch x = span_times(span_of(p->input), p->batch, p->xs[1]);
    y = span_times(span_times(y, p->directions, p->ys[1]), p->steps, p->ys[0]);
    x = span_times(x, p->steps, p->xs[0]);
    touch_span(b, 0, "result", y);
    touch_state(b, 1, "last state");
    touch_state(b, 2, "last cell");
    touch_span(b, 3, "input", x);
    touch(b, 8, "lengths", p->batch);
    touch_state(b, 9, "first state");
    touch_state(b, 10, "first cell");
}

static void touch_biases(Bounds *b, const inlay_recurrent_params *p)
{
    const int64_t all = sat_mul(p->directions, p->hidden);
    touch(b, 7, "bias", sat_mul(sat_mul(2, p->kind), all));
    touch(b, 11, "peepholes", p->kind == 4 ? sat_mul(3, all) : 0);
}

void bounds_recurrent(Bounds *b)
{
    const inlay_recurrent_params *p = b->params;
    const int64_t hidden = p->hidden, gates = sat_mul(p->kind, hidden), padded = to_fours(gates);
    const int64_t states = sat_mul(p->batch, hidden);
    check_sizes(b, p);
    if (b->wrong)
        return;
    touch_sequences(b, p);
    touch_biases(b, p);
    touch(b, 4, "weights", sat_mul(sat_mul(p->directions, padded), p->input));
    touch(b, 5, "recurrent weights",
          sat_mul(sat_mul(p->directions, p->kind == 3 ? to_fours(2 * hidden) : padded), hidden));
    touch(b, 6, "recurrent weights of the new gate",
          p->kind == 3 ? sat_mul(sat_mul(p->directions, to_fours(hidden)), hidden) : 0);
    if (p->kind == 3)
        touch_needs(b, 6);
    const int64_t chunk = sat_mul(i64_min(p->chunk, p->steps), sat_mul(p->batch, gates));
    touch(b, 12, "scratch", sat_add(sat_add(3 * padded, sat_mul(3, states)), chunk));
}

void bounds_recurrent_plain(Bounds *b)
{
    const inlay_recurrent_params *p = b->params;
    const int64_t gates = sat_mul(p->kind, p->hidden);
    check_sizes(b, p);
    if (b->wrong)
        return;
    touch_sequences(b, p);
    touch_biases(b, p);
    touch(b, 4, "weights", sat_mul(sat_mul(p->directions, gates), p->input));
    touch(b, 5, "recurrent weights", sat_mul(sat_mul(p->directions, gates), p->hidden));
    touch(b, 12, "scratch", sat_add(3 * (int64_t)p->hidden, gates));
}
