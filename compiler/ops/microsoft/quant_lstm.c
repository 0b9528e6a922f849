/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft's DynamicQuantizeLSTM: the standard's LSTM of dequantized weights, whose input and
 * states are rounded to 8 bits. */
#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

/* Weights [directions][inputs][columns], and where their scale and zero point stand. */
typedef struct LstmWeights {
    int64_t directions;
    int64_t inputs;
    int64_t columns;
    int scale;
    int zero;
} LstmWeights;

static LstmWeights weights_of(const Node *node, int i, int scale)
{
    const Shape *shape = infer_shape(node, i);
    const int64_t *dim = shape->dim;
    if (shape->rank != 3)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights have %d dimensions, not 3", shape->rank);
    return (LstmWeights){
        .directions = dim[0],
        .inputs = dim[1],
        .columns = dim[2],
        .scale = scale,
        .zero = scale + 1,
    };
}

/* Has operand i a number for each column of w, instead of one for each direction? */
static bool has_columns(const Node *node, int i, const LstmWeights *w)
{
    if (!node_in(node, i))
        return false;
    const int64_t count = shape_count(infer_shape(node, i));
    const int64_t all = i64_mul(w->directions, w->columns);
    if (count == w->directions)
        return false;
    if (count != all)
        fail_node(node, STATUS_MALFORMED, NULL, "operand %d has %lld numbers",
                  i, (long long)count);
    return true;
}

/* Operand i as a number for each column; NULL: left out. */
static Tensor *of_columns(const Node *node, int i, const LstmWeights *w)
{
    Tensor *given = node_in(node, i);
    if (!given)
        return NULL;
    const bool columns = has_columns(node, i, w);
    const int64_t each = columns ? w->columns : 1;
    const int64_t dims[] = { w->directions, 1, each };
    const int64_t all[] = { w->directions, 1, w->columns };
    Tensor *numbers = expand_reshape(node, given, 3, dims);
    Tensor *shape = expand_i64s(node, 3, all);
    return expand_op(node, "Expand", numbers, shape);
}

/* Operand i as a number for each direction; NULL: left out. */
static Tensor *of_directions(const Node *node, int i, const LstmWeights *w)
{
    Tensor *given = node_in(node, i);
    if (!given)
        return NULL;
    return expand_reshape(node, given, 1, &w->directions);
}

static Tensor *by_columns(const Node *node, int i, const LstmWeights *w)
{
    Tensor *scale = of_columns(node, w->scale, w);
    Tensor *zero = of_columns(node, w->zero, w);
    Node *made = expand_of(node, "DequantizeLinear", node->in[i], scale, zero);
    node_set_int(made, "axis", 1);
    node_set_int(made, "block_size", w->inputs);
    return expand_done(made);
}

static Tensor *by_directions(const Node *node, int i, const LstmWeights *w)
{
    Tensor *scale = of_directions(node, w->scale, w);
    Tensor *zero = of_directions(node, w->zero, w);
    Node *made = expand_of(node, "DequantizeLinear", node->in[i], scale, zero);
    node_set_int(made, "axis", 0);
    return expand_done(made);
}

/* The weights as the standard's LSTM has them: float, [directions][columns][inputs]. */
static Tensor *lstm_weights(const Node *node, int i, int at)
{
    static const int64_t perm[] = { 0, 2, 1 };
    const LstmWeights w = weights_of(node, i, at);
    const bool scaled = has_columns(node, w.scale, &w);
    const bool shifted = has_columns(node, w.zero, &w);
    Tensor *real;
    if (!node_in(node, w.scale))
        fail_node(node, STATUS_MALFORMED, NULL, "operand %d is missing",
                  w.scale);
    if (scaled || shifted)
        real = by_columns(node, i, &w);
    else
        real = by_directions(node, i, &w);
    return expand_transpose(node, real, perm);
}

/* x and the state are rounded to 8 bits when it runs, x as a whole, the state at each step. */
void expand_dynamic_quantize_lstm(Node *node)
{
    infer_shape(node, 0);
    Node *bytes = expand_node(node, "DynamicQuantizeLinear", 1, node->in, 3);
    expand_done(bytes);
    Node *real_x = expand_node(node, "DequantizeLinear", 3, bytes->out, 1);
    Tensor *in[8] = { NULL };
    in[0] = expand_done(real_x);
    in[1] = lstm_weights(node, 1, 8);
    in[2] = lstm_weights(node, 2, 10);
    for (int i = 3; i < 8; i++)
        in[i] = node_in(node, i);
    Node *made = expand_inlay_node(node, "LSTM", 8, in, 3);
    expand_copy_attrs(made, node);
    expand_done(made);
    expand_finish(node, made->n_out, made->out);
}
