/* SPDX-License-Identifier: Apache-2.0
 * Bounds of RNN, GRU and LSTM. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/recurrent_f64.h"

static void check_sizes(Bounds *bounds, const inlay_recurrent_params *params)
{
    const int32_t gates = params->kind;
    const int64_t hidden = params->hidden;
    const bool known = gates == 1 || gates == 3 || gates == 4;
    bounds_refuse(bounds, !known, "it has no known gates");
    bounds_refuse(bounds, params->directions < 1 || params->directions > 2,
                  "it has no direction");
    const int64_t biases = product_of(bounds, 2, gates, hidden);
    const int64_t states = product_of(bounds, params->batch, hidden);
    bounds_narrow(bounds, biases);
    bounds_narrow(bounds, states);
    bounds_size(bounds, params->steps);
    bounds_size(bounds, params->input);
    bounds_positive(bounds, params->chunk);
}

/* A state of each direction and row of the batch. */
static void touch_state(Bounds *bounds, int k, const char *name)
{
    const inlay_recurrent_params *p = bounds->params;
    Stretch state = span_of(p->hidden);
    state = span_times(state, p->batch, p->hs[1]);
    state = span_times(state, p->directions, p->hs[0]);
    touch_span(bounds, k, name, state);
}

static void touch_sequences(Bounds *bounds,
                            const inlay_recurrent_params *params)
{
    const int64_t batch = params->batch;
    const int64_t steps = params->steps;
    Stretch y = span_of(params->hidden);
    Stretch x = span_of(params->input);
    y = span_times(y, batch, params->ys[2]);
    y = span_times(y, params->directions, params->ys[1]);
    y = span_times(y, steps, params->ys[0]);
    x = span_times(x, batch, params->xs[1]);
    x = span_times(x, steps, params->xs[0]);
    touch_span(bounds, 0, "result", y);
    touch_state(bounds, 1, "last state");
    touch_state(bounds, 2, "last cell");
    touch_span(bounds, 3, "input", x);
    touch(bounds, 8, "lengths", batch);
    touch_state(bounds, 9, "first state");
    touch_state(bounds, 10, "first cell");
    touch_any(bounds, 9, 11);
}

/* `biases` floats for each direction. */
static void touch_biases(Bounds *bounds, const inlay_recurrent_params *params,
                         int64_t biases)
{
    const int64_t all = sat_mul(params->directions, params->hidden);
    const int64_t peeped = params->kind == 4 ? 3 : 0; /* gates */
    touch_box(bounds, 7, "bias", params->directions, biases);
    touch_box(bounds, 11, "peepholes", peeped, all);
    touch_any(bounds, 7, 8);
    touch_any(bounds, 11, 12);
}

/* The new gate of a GRU has its weights apart: they meet the state that was reset. */
static void touch_state_weights(Bounds *bounds,
                                const inlay_recurrent_params *params,
                                int64_t padded)
{
    const int64_t hidden = params->hidden;
    const int64_t columns = sat_mul(params->directions, hidden);
    int64_t together = padded;
    int64_t new_gate = 0;
    if (params->kind == 3) {
        together = up_to_four(2 * hidden);
        new_gate = up_to_four(hidden);
        touch_needs(bounds, 6);
    }
    touch_box(bounds, 5, "recurrent weights", columns, together);
    touch_box(bounds, 6, "recurrent weights of the new gate", columns,
              new_gate);
}

/* States and the gates of a chunk: operand k. */
static void touch_scratch(Bounds *bounds, const inlay_recurrent_params *p,
                          int k)
{
    const int64_t steps = i64_min(p->chunk, p->steps);
    const int64_t rows = sat_mul(steps, p->batch);
    const int64_t gates = sat_mul(p->kind, p->hidden);
    const int64_t states = sat_mul(p->batch, p->hidden);
    const int32_t copies = inlay_cell_copies(p);
    int64_t floats = sat_mul(rows, gates);
    floats = sat_add(floats, sat_mul(copies, states));
    touch(bounds, k, "scratch", floats);
}

/* Of any weights; false: its parameters are wrong. */
static bool touch_packed(Bounds *bounds, const inlay_recurrent_params *p,
                         int scratch)
{
    const int64_t hidden = p->hidden;
    const int64_t gates = sat_mul(p->kind, hidden);
    const int64_t padded = up_to_four(gates);
    check_sizes(bounds, p);
    if (bounds->wrong)
        return false;
    touch_sequences(bounds, p);
    touch_biases(bounds, p, inlay_cell_biases(p));
    touch_needs(bounds, 7);
    touch_box(bounds, 4, "weights", p->directions, padded, p->input);
    touch_state_weights(bounds, p, padded);
    touch_any(bounds, 4, 7);
    touch_scratch(bounds, p, scratch);
    return true;
}

void bounds_recurrent(Bounds *bounds)
{
    touch_packed(bounds, bounds->params, 12);
}

void bounds_recurrent_narrow(Bounds *bounds)
{
    const inlay_recurrent_params *p = bounds->params;
    if (!touch_packed(bounds, p, 21))
        return;
    narrow_weights(bounds, 12, p->input);
    narrow_weights(bounds, 15, p->hidden);
    narrow_weights(bounds, 18, p->hidden);
}

void bounds_recurrent_plain(Bounds *bounds)
{
    const inlay_recurrent_params *p = bounds->params;
    const int64_t gates = sat_mul(p->kind, p->hidden);
    check_sizes(bounds, p);
    if (bounds->wrong)
        return;
    touch_sequences(bounds, p);
    touch_biases(bounds, p, sat_mul(2, gates));
    touch_box(bounds, 4, "weights", p->directions, gates, p->input);
    touch_box(bounds, 5, "recurrent weights", p->directions, gates, p->hidden);
    touch_any(bounds, 4, 6);
    touch(bounds, 12, "scratch", sat_add(3 * (int64_t)p->hidden, gates));
}
