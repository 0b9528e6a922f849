/* SPDX-License-Identifier: Apache-2.0
 * Bounds of RNN, GRU and LSTM. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/recurrent_f64.h"

static int64_t to_fours(int64_t n)
{
    return sat_mul(sat_add(n, 3) / 4, 4);
}

static void check_sizes(Bounds *bounds, const inlay_recurrent_params *params)
{
    const bool known =
        params->kind == 1 || params->kind == 3 || params->kind == 4;
    bounds_refuse(bounds, !known, "it has no known gates");
    bounds_refuse(bounds, params->directions < 1 || params->directions > 2,
                  "it has no direction");
    bounds_narrow(bounds, product_of(bounds, 2, params->kind, params->hidden));
    bounds_narrow(bounds, product_of(bounds, params->batch, params->hidden));
    bounds_size(bounds, params->steps);
    bounds_size(bounds, params->input);
    bounds_positive(bounds, params->chunk);
}

/* A state of each direction and row of the batch. */
static void touch_state(Bounds *bounds, int k, const char *name)
{
    const inlay_recurrent_params *p = bounds->params;
    const Stretch stretch = span_times(span_of(p->hidden), p->batch, p->hs[1]);
    touch_span(bounds, k, name, span_times(stretch, p->directions, p->hs[0]));
}

static void touch_sequences(Bounds *bounds,
                            const inlay_recurrent_params *params)
{
    Stretch y =
        span_times(span_of(params->hidden), params->batch, params->ys[2]);
    Stretch x =
        span_times(span_of(params->input), params->batch, params->xs[1]);
    y = span_times(span_times(y, params->directions, params->ys[1]),
                   params->steps, params->ys[0]);
    x = span_times(x, params->steps, params->xs[0]);
    touch_span(bounds, 0, "result", y);
    touch_state(bounds, 1, "last state");
    touch_state(bounds, 2, "last cell");
    touch_span(bounds, 3, "input", x);
    touch(bounds, 8, "lengths", params->batch);
    touch_state(bounds, 9, "first state");
    touch_state(bounds, 10, "first cell");
}

static void touch_biases(Bounds *bounds, const inlay_recurrent_params *params)
{
    const int64_t all = sat_mul(params->directions, params->hidden);
    touch_box(bounds, 7, "bias", 2, params->kind, all);
    touch(bounds, 11, "peepholes", params->kind == 4 ? sat_mul(3, all) : 0);
}

void bounds_recurrent(Bounds *bounds)
{
    const inlay_recurrent_params *p = bounds->params;
    const int64_t hidden = p->hidden;
    const int64_t gates = sat_mul(p->kind, hidden);
    const int64_t padded = to_fours(gates);
    const int64_t states = sat_mul(p->batch, hidden);
    check_sizes(bounds, p);
    if (bounds->wrong)
        return;
    touch_sequences(bounds, p);
    touch_biases(bounds, p);
    touch_box(bounds, 4, "weights", p->directions, padded, p->input);
    touch_box(bounds, 5, "recurrent weights", p->directions,
              p->kind == 3 ? to_fours(2 * hidden) : padded, hidden);
    touch(bounds, 6, "recurrent weights of the new gate",
          p->kind == 3
              ? sat_mul(sat_mul(p->directions, to_fours(hidden)), hidden)
              : 0);
    if (p->kind == 3)
        touch_needs(bounds, 6);
    const int64_t chunk =
        sat_mul(i64_min(p->chunk, p->steps), sat_mul(p->batch, gates));
    touch(bounds, 12, "scratch",
          sat_add(sat_add(3 * padded, sat_mul(3, states)), chunk));
}

void bounds_recurrent_plain(Bounds *bounds)
{
    const inlay_recurrent_params *p = bounds->params;
    const int64_t gates = sat_mul(p->kind, p->hidden);
    check_sizes(bounds, p);
    if (bounds->wrong)
        return;
    touch_sequences(bounds, p);
    touch_biases(bounds, p);
    touch_box(bounds, 4, "weights", p->directions, gates, p->input);
    touch_box(bounds, 5, "recurrent weights", p->directions, gates, p->hidden);
    touch(bounds, 12, "scratch", sat_add(3 * (int64_t)p->hidden, gates));
}
