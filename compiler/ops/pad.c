/* SPDX-License-Identifier: Apache-2.0
 * Pad: a margin around a tensor, or, where the amounts are negative, less of it. */
#include <string.h>

#include "base/size.h"
#include "ops/steps.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pick.h"
#include "ops/values.h"

typedef struct PadSpec {
    int64_t before[MAX_RANK], after[MAX_RANK];
} PadSpec;

/* By attribute (until opset 10) or by operand; NULL: known when the model runs. */
static const int64_t *pad_list(const Node *node, int64_t *count)
{
    if (node->op->since >= 11)
        return infer_ints(node, 1, count);
    const int64_t *pads = node_ints(node, "pads", count);
    if (!pads)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute pads is missing");
    return pads;
}

/* Amounts by attribute (opset 2) or by operands 1 and, for some axes, 3; false: not constant. */
static bool pad_spec(const Node *node, PadSpec *spec)
{
    const int rank = infer_shape(node, 0)->rank;
    int64_t count;
    int64_t axes_count = rank;
    const int64_t *pads = pad_list(node, &count);
    const int64_t *axes = NULL;
    if (node->op->since >= 11)
        axes = infer_ints(node, 3, &axes_count);
    if (!axes)
        axes_count = rank;
    memset(spec, 0, sizeof *spec);
    if (!pads || (node_in(node, 3) && !axes))
        return false;
    if (count != 2 * axes_count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "pads has %lld entries for %lld axes", (long long)count,
                  (long long)axes_count);
    for (int64_t i = 0; i < axes_count; i++) {
        const int axis = axes ? node_axis(node, axes[i], rank) : (int)i;
        spec->before[axis] = pads[i];
        spec->after[axis] = pads[axes_count + i];
    }
    return true;
}

bool pad_amounts(const Node *node, int64_t *before, int64_t *after)
{
    PadSpec spec;
    if (!pad_spec(node, &spec))
        return false;
    memcpy(before, spec.before, sizeof spec.before);
    memcpy(after, spec.after, sizeof spec.after);
    return true;
}

void infer_pad(Node *node)
{
    PadSpec p;
    Shape s = *infer_shape(node, 0);
    if (!pad_spec(node, &p)) {
        infer_declared(node, 0, node_type(node));
        infer_require(node, 0, node->out[0]->shape.rank == s.rank);
        return;
    }
    for (int i = 0; i < s.rank; i++) {
        s.dim[i] = i64_add(i64_add(s.dim[i], p.before[i]), p.after[i]);
        if (s.dim[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "pads remove more of axis %d than there is", i);
    }
    infer_out(node, 0, node_type(node), s);
}

static PickEdge pad_edge(const Node *node)
{
    const char *mode = node_string(node, "mode", "constant");
    if (!strcmp(mode, "constant"))
        return PICK_NONE;
    if (!strcmp(mode, "reflect"))
        return PICK_REFLECT;
    if (!strcmp(mode, "edge"))
        return PICK_EDGE;
    if (!strcmp(mode, "wrap"))
        return PICK_WRAP;
    fail_node(node, STATUS_MALFORMED, NULL, "pad mode \"%s\" is unknown", mode);
}

Recipe *constant_pad(Node *node)
{
    PadSpec p;
    Recipe *recipe = node->in[0]->value;
    if (!recipe || pad_edge(node) != PICK_NONE || node_in(node, 2) ||
        node_attr(node, "value") || !pad_spec(node, &p))
        return NULL;
    for (int i = 0; i < node->in[0]->shape.rank; i++) {
        if (p.before[i] < 0 || p.after[i] < 0)
            return NULL;
        if (p.before[i] || p.after[i])
            recipe = recipe_pad(node->graph->store, recipe, i, p.before[i],
                                p.after[i]);
    }
    return recipe;
}

/* The element that fills: operand 2, attribute `value` (opset 2) or zero. */
static Tensor *pad_value(Lower *lower, Node *node)
{
    const int64_t one = 1;
    const uint64_t zero[2] = { 0, 0 };
    const float value = node_float(node, "value", 0.0f);
    const DType type = node_type(node);
    Store *store = lower->store;
    if (node_in(node, 2))
        return node->in[2];
    if (!(value < 0.0f) && !(value > 0.0f)) {
        Recipe *zeros = recipe_fill(store, type, 1, &one, zero);
        return lower_constant(lower, zeros);
    }
    Recipe *number = recipe_memory(store, DT_F32, 1, &one, &value);
    Recipe *cast = recipe_cast(store, number, type);
    return lower_constant(lower, cast);
}

/* Where what stays of the operand lies; false: it is not all of the result. */
static bool pad_move(const Shape *in, const Shape *to, const PadSpec *pads,
                     Move *move)
{
    int64_t stride[MAX_RANK];
    bool covers = true;
    *move = (Move){ .rank = in->rank };
    shape_strides(in, stride);
    shape_strides(to, move->y);
    for (int i = 0; i < in->rank; i++) {
        const int64_t before = pads->before[i];
        const int64_t after = pads->after[i];
        const int64_t cut = i64_min(before, 0) + i64_min(after, 0);
        const int64_t stays = i64_max(0, in->dim[i] + cut);
        move->n[i] = stays;
        move->x[i] = stride[i];
        move->y0 += i64_max(before, 0) * move->y[i];
        move->x0 += i64_max(-before, 0) * stride[i];
        covers = covers && stays == to->dim[i];
    }
    return covers;
}

static void lower_pad_constant(Lower *lower, Node *node, const PadSpec *pads)
{
    Tensor *y = move_target(lower, node->out[0]);
    Move move;
    const bool covers =
        pad_move(node_shape(node, 0), result_shape(node, 0), pads, &move);
    if (!covers) {
        Tensor *value = pad_value(lower, node);
        lower_fill(lower, y, move_source(lower, value));
    }
    Tensor *x = move_source(lower, node->in[0]);
    Step *step = lower_move(lower, y, x, &move);
    if (step && !covers)
        step->operand[0].read = true; /* the margin is there already */
    move_finish(lower, node->out[0], y);
}

void lower_pad(Lower *lower, Node *node)
{
    PadSpec p;
    const PickEdge edge = pad_edge(node);
    const Shape *in = node_shape(node, 0);
    if (!tensor_count(node->out[0]))
        return;
    if (!pad_spec(node, &p)) {
        lower_pad_values(lower, node, pad_value(lower, node), (int)edge);
        return;
    }
    if (edge == PICK_NONE) {
        lower_pad_constant(lower, node, &p);
        return;
    }
    Pick pick = pick_new(lower, node, node->out[0], node->in[0]);
    for (int i = 0; i < in->rank; i++)
        pick_padded(&pick, i, p.before[i], in->dim[i], p.after[i], edge);
    lower_pick(&pick);
}
