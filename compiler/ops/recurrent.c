/* SPDX-License-Identifier: Apache-2.0
 * RNN, GRU, LSTM. Weights are packed for the register-blocked tiles: constants as recipes, others
 * by moves before the step; float64 is plain. The kernel does everything else, both directions
 * included. */
#include "kernels/recurrent.h"

#include "base/size.h"
#include "ops/act.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pack.h"
#include "ops/typed.h"

enum { CHUNK = 6 }; /* time steps projected at once: fills the tiles, costs little scratch */

typedef struct Recurrent {
    int gates, directions;
    bool reverse, batch_first;
    int64_t steps, batch, input, hidden;
} Recurrent;

static int gates_of(const Node *node)
{
    return !strcasecmp(node->op_type, "LSTM") ? 4 : !strcasecmp(node->op_type, "GRU") ? 3 : 1;
}

static void check_shape(const Node *node, int i, int rank, const int64_t *dims)
{
    if (!node_in(node, i))
        return;
    const Shape want = shape_of(rank, dims);
    const Shape *have = infer_shape(node, i);
    if (!shape_equal(have, &want))
        fail_node(node, STATUS_MALFORMED, NULL, "input %d has shape %s, not %s", i,
                  shape_text(node->graph->arena, have), shape_text(node->graph->arena, &want));
}

static Recurrent recurrent_of(const Node *node)
{
    const char *direction = node_string(node, "direction", "forward");
    const Shape *x = infer_shape(node, 0);
    const Shape *w = infer_shape(node, 1);
    const Shape *r = infer_shape(node, 2);
    if (x->rank != 3 || w->rank != 3 || r->rank != 3)
        fail_node(node, STATUS_MALFORMED, NULL, "its operands X, W, R must have three dimensions");
    Recurrent f = { .gates = gates_of(node),
                    .directions = strcasecmp(direction, "bidirectional") ? 1 : 2,
                    .reverse = !strcasecmp(direction, "reverse"),
                    .batch_first = node_int(node, "layout", 0) != 0,
                    .input = x->dim[2],
                    .hidden = r->dim[2] };
    f.steps = x->dim[f.batch_first];
    f.batch = x->dim[!f.batch_first];
    const int64_t d = f.directions;
    const int64_t g = i64_mul(f.gates, f.hidden);
    check_shape(node, 1, 3, (const int64_t[]){ d, g, f.input });
    check_shape(node, 2, 3, (const int64_t[]){ d, g, f.hidden });
    check_shape(node, 3, 2, (const int64_t[]){ d, i64_mul(2, g) });
    check_shape(node, 4, 1, (const int64_t[]){ f.batch });
    for (int i = 5; i <= 6; i++)
        check_shape(node, i, 3,
                    f.batch_first ? (const int64_t[]){ f.batch, d, f.hidden }
                                  : (const int64_t[]){ d, f.batch, f.hidden });
    check_shape(node, 7, 2, (const int64_t[]){ d, i64_mul(3, f.hidden) });
    return f;
}

void infer_recurrent(Node *node)
{
    const Recurrent f = recurrent_of(node);
    const int64_t d = f.directions;
    const DType type = node->in[0]->dtype;
    infer_out(node, 0, type,
              shape_of(4, f.batch_first ? (const int64_t[]){ f.batch, f.steps, d, f.hidden }
                                        : (const int64_t[]){ f.steps, d, f.batch, f.hidden }));
    for (int i = 1; i < 3; i++)
        infer_out(node, i, type,
                  shape_of(3, f.batch_first ? (const int64_t[]){ f.batch, d, f.hidden }
                                            : (const int64_t[]){ d, f.batch, f.hidden }));
}

static const ActRow *gate_row(const Node *node, const char *name)
{
    const ActRow *row = act_row(name);
    if (!row || !(row->uses & INLAY_ACT_GATE))
        fail_node(node, STATUS_MALFORMED, NULL, "activation %s is not one of the standard", name);
    return row;
}

/* The k-th activation of a cell without the attribute. */
static const char *default_gate(int gates, int k)
{
    return gates == 1 || k ? "Tanh" : "Sigmoid";
}

/* alpha and beta are taken in order by the functions that have one. */
static void set_gates(const Node *node, const Recurrent *f, inlay_recurrent_params *params)
{
    const Attr *names = node_attr(node, "activations");
    const int each = f->gates == 1 ? 1 : f->gates == 3 ? 2 : 3;
    int64_t alphas;
    int64_t betas;
    int64_t a = 0;
    int64_t b = 0;
    const float *alpha = node_floats(node, "activation_alpha", &alphas);
    const float *beta = node_floats(node, "activation_beta", &betas);
    if (names && names->n && names->n != each && names->n != (int64_t)each * f->directions)
        fail_node(node, STATUS_MALFORMED, NULL, "has %lld activations for %d directions",
                  (long long)names->n, f->directions);
    for (int d = 0; d < f->directions; d++)
        for (int k = 0; k < each; k++) {
            const ActRow *r =
                gate_row(node, names && names->n ? names->strings[(d * each + k) % names->n]
                                                 : default_gate(f->gates, k));
            params->act[d * 3 + k] = r->act;
            params->alpha[d * 3 + k] = *r->a_name && a < alphas ? alpha[a++] : r->a;
            params->beta[d * 3 + k] = *r->b_name && b < betas ? beta[b++] : r->b;
        }
}

static inlay_recurrent_params params_of(const Lower *lower, const Node *node, const Recurrent *f)
{
    const int64_t d = f->directions;
    const int64_t b = f->batch;
    const int64_t h = f->hidden;
    inlay_recurrent_params params = { .kind = f->gates,
                                      .directions = f->directions,
                                      .reverse = f->directions == 2 ? 2 : f->reverse,
                                      .steps = i32_checked(f->steps),
                                      .batch = i32_checked(b),
                                      .input = i32_checked(f->input),
                                      .hidden = i32_checked(h),
                                      .width = lower->pack_width,
                                      .chunk = i32_checked(i64_min(f->steps, CHUNK)),
                                      .linear_first = node_int(node, "linear_before_reset", 0) != 0,
                                      .coupled = node_int(node, "input_forget", 0) != 0,
                                      .clip = node_float(node, "clip", 0.0f) };
    params.clipped = params.clip > 0.0f;
    params.rounded = *node->domain != 0; /* inlay.LSTM: the float form of DynamicQuantizeLSTM */
    set_gates(node, f, &params);
    params.xs[0] = f->batch_first ? f->input : i64_mul(b, f->input);
    params.xs[1] = f->batch_first ? i64_mul(f->steps, f->input) : f->input;
    params.ys[0] = f->batch_first ? i64_mul(d, h) : i64_mul(d, i64_mul(b, h));
    params.ys[1] = params.hs[0] = f->batch_first ? h : i64_mul(b, h);
    params.ys[2] = f->batch_first ? i64_mul(f->steps, i64_mul(d, h)) : h;
    params.hs[1] = f->batch_first ? i64_mul(d, h) : h;
    return params;
}

static int64_t up4(int64_t n)
{
    return i64_add(n, 3) / 4 * 4;
}

/* Rows [from, from + rows) of the matrices w [D][all][k], as moves into the blocks that
 * pack_conv_weights() makes. */
static Tensor *pack_moved(Lower *lower, Node *node, Tensor *w, int64_t from, int64_t rows)
{
    const int64_t d = w->shape.dim[0];
    const int64_t all = w->shape.dim[1];
    const int64_t k = w->shape.dim[2];
    const int64_t each = i64_mul(up4(rows), k);
    Tensor *y = lower_temp(lower, DT_F32, shape_vector(i64_mul(d, each)));
    int64_t at = 0;
    while (at < rows) {
        const int64_t left = up4(rows - at);
        const int64_t width = left >= lower->pack_width ? lower->pack_width : left >= 8 ? 8 : 4;
        const int64_t lanes = i64_min(width, rows - at);
        const int64_t blocks = width == lower->pack_width ? i64_max((rows - at) / width, 1) : 1;
        const Move move = { .rank = 4,
                            .n = { d, blocks, k, lanes },
                            .y = { each, width * k, width, 1 },
                            .x = { all * k, width * k, 1, k },
                            .y0 = at * k,
                            .x0 = (from + at) * k };
        Step *step = lower_move(lower, node, y, w, &move);
        if (at && step)
            step->operand[0].read = true; /* the blocks before are there */
        at += blocks * width;
    }
    return y;
}

static Tensor *pack_rows(Lower *lower, Node *node, Tensor *w, int64_t from, int64_t rows)
{
    if (!w->value)
        return pack_moved(lower, node, w, from, rows);
    Store *s = lower->graph->store;
    const int64_t d = w->shape.dim[0];
    const int64_t k = w->shape.dim[2];
    const int64_t dims[3] = { i64_mul(d, rows), k, 1 };
    return pack_conv_weights(
        lower, recipe_reshape(s, recipe_slice(s, w->value, 1, from, 1, rows), 3, dims), d);
}

/* Lengths that all equal the number of steps are none. */
static Tensor *lengths_of(Lower *lower, Node *node, const Recurrent *f)
{
    int64_t count;
    Tensor *tensor = node_in(node, 4);
    const int64_t *v = tensor_ints(lower->graph, tensor, &count);
    bool all = v != NULL;
    for (int64_t i = 0; v && i < count; i++)
        all &= v[i] == f->steps;
    return all ? NULL : lower_as(lower, node, tensor, DT_I32);
}

/* Scratch of the kernels, elements: biases and states of the whole batch and a chunk of gates, or
 * one row's states and gates. */
static int64_t scratch_of(const inlay_recurrent_params *params, bool plain)
{
    const int64_t h = params->hidden;
    const int64_t all = i64_mul(params->kind, h);
    const int64_t states = i64_mul(params->batch, h);
    if (plain)
        return i64_add(3 * h, all);
    return i64_add(3 * up4(all),
                   i64_add(3 * states, i64_mul(params->chunk, i64_mul(params->batch, all))));
}

void lower_recurrent(Lower *lower, Node *node)
{
    const Recurrent f = recurrent_of(node);
    const int64_t h = f.hidden;
    const int64_t all = i64_mul(f.gates, h);
    const bool plain = node->in[0]->dtype == DT_F64;
    inlay_recurrent_params params = params_of(lower, node, &f);
    if (f.steps < 1 || !i64_mul(f.batch, h))
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its sequence is empty");
    Tensor *w = node->in[1];
    Tensor *r = node->in[2];
    Tensor *rn = NULL;
    Tensor *lengths = lengths_of(lower, node, &f);
    if (!plain) {
        w = pack_rows(lower, node, node->in[1], 0, all);
        r = pack_rows(lower, node, node->in[2], 0, f.gates == 3 ? 2 * h : all);
        rn = f.gates == 3 ? pack_rows(lower, node, node->in[2], 2 * h, h) : NULL;
    }
    Step *step = lower_step(lower, node, plain ? "recurrent_f64" : "recurrent_f32", &params);
    for (int i = 0; i < 3; i++)
        step_out(step, node_out(node, i));
    step_in(step, node->in[0]);
    step_in(step, w);
    step_in(step, r);
    step_in(step, rn);
    step_in(step, node_in(node, 3));
    step_in(step, lengths);
    for (int i = 5; i <= 7; i++)
        step_in(step, node_in(node, i));
    step_scratch(lower, step, i64_mul(plain ? 8 : 4, scratch_of(&params, plain)));
    step->macs = i64_mul(i64_mul(f.directions, i64_mul(f.steps, f.batch)),
                         i64_mul(all, i64_add(f.input, h)));
}
