/* SPDX-License-Identifier: Apache-2.0
 * MoE and QMoE of com.microsoft as compositions: for each row the mean of some experts' answers,
 * those that a router likes best, weighted by how much. Each expert answers for all rows, so that
 * its weights are read in their place; what the router does not choose counts 0 times. */
#include <string.h>

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

/* The product of one layer of each expert, with [n][k] weights. */
typedef struct Layer {
    int weights; /* operands */
    int bias;
    int scale; /* of packed weights; -1: they are floats */
    int zero;
    const char *bits; /* the attribute that says how many bits a weight has */
    int64_t n;
    int64_t k;
} Layer;

/* First what makes the gate and the values in one, then what goes back, then the values apart. */
enum { UP, DOWN, VALUES, LAYERS };

typedef struct Experts {
    const Node *node;
    int64_t rows;
    int64_t hidden;
    int64_t inner;
    int64_t count;
    int64_t chosen; /* of each row */
    bool packed;
    bool columns; /* older files: weights are [k][n] */
    Layer layer[LAYERS];
} Experts;

static const Layer float_layers[LAYERS] = {
    {
        .weights = 2,
        .bias = 3,
        .scale = -1,
        .zero = -1,
    },
    {
        .weights = 4,
        .bias = 5,
        .scale = -1,
        .zero = -1,
    },
    {
        .weights = 6,
        .bias = 7,
        .scale = -1,
        .zero = -1,
    },
};

static const Layer packed_layers[LAYERS] = {
    {
        .weights = 2,
        .bias = 4,
        .scale = 3,
        .zero = 11,
        .bits = "fc1_expert_weight_bits",
    },
    {
        .weights = 5,
        .bias = 7,
        .scale = 6,
        .zero = 12,
        .bits = "fc2_expert_weight_bits",
    },
    {
        .weights = 8,
        .bias = 10,
        .scale = 9,
        .zero = 13,
        .bits = "fc3_expert_weight_bits",
    },
};

static const char *activation_of(const Node *node)
{
    return node_string(node, "activation_type", "relu");
}

/* Do two products go into one, the gate's and the values'? */
static bool is_fused(const Node *node)
{
    const char *name = activation_of(node);
    if (!strcmp(name, "geglu"))
        return true;
    return !strcmp(name, "swiglu") && node_int(node, "swiglu_fusion", 0);
}

static void check_count(const Experts *of, int operand, int64_t count)
{
    const Tensor *tensor = node_in(of->node, operand);
    if (!tensor)
        return;
    const Shape *shape = infer_shape(of->node, operand);
    if (shape_count(shape) != count)
        fail_node(of->node, STATUS_MALFORMED, NULL,
                  "operand %d does not fit its experts", operand);
}

/* How many bits a weight has. */
static int64_t bits_of(const Experts *of, const Layer *layer)
{
    if (!of->packed)
        return 8;
    const int64_t given = node_int(of->node, "expert_weight_bits", 4);
    const int64_t bits = node_int(of->node, layer->bits, given);
    if (bits != 2 && bits != 4 && bits != 8)
        fail_node(of->node, STATUS_UNSUPPORTED, "2, 4 or 8 bits are supported",
                  "its weights have %lld bits", (long long)bits);
    return bits;
}

static void check_layer(const Experts *of, const Layer *layer)
{
    const int64_t weights = i64_mul(layer->n, layer->k);
    const int64_t each = i64_mul(weights, bits_of(of, layer)) / 8;
    check_count(of, layer->weights, i64_mul(of->count, each));
    check_count(of, layer->bias, i64_mul(of->count, layer->n));
}

/* Older files have weights [k][n], which their sizes tell, and floats alone. */
static bool is_turned(const Experts *of, const Shape *up, const Shape *down)
{
    if (of->packed)
        return false;
    if (of->hidden != of->inner)
        return down->dim[1] == of->inner;
    return is_fused(of->node) && up->dim[1] == of->hidden;
}

/* What one operand of weights tells: [experts][hidden][inner], packed or not. */
static void read_sizes(Experts *of)
{
    const Node *node = of->node;
    const Shape *down = infer_shape(node, of->layer[DOWN].weights);
    const Shape *up = infer_shape(node, of->layer[UP].weights);
    const Shape *router = infer_shape(node, 1);
    const bool weights_fit = down->rank == 3 && up->rank == 3;
    if (!weights_fit || router->rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands are no experts and no router");
    const int64_t bits = bits_of(of, of->layer + DOWN);
    const int64_t weights = i64_mul(down->dim[1], down->dim[2]);
    of->rows = router->dim[0];
    of->count = router->dim[1];
    of->inner = i64_mul(weights, 8) / bits / of->hidden;
    if (of->inner < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its experts have no weights");
    of->columns = is_turned(of, up, down);
}

static void check_choice(const Experts *of)
{
    enum { MOST_EXPERTS = 4096 }; /* each becomes nodes of its own */
    const Node *node = of->node;
    const char *type = node_string(node, "quant_type", "int");
    if (of->chosen < 1 || of->chosen > of->count)
        fail_node(node, STATUS_MALFORMED, NULL, "k is %lld of %lld experts",
                  (long long)of->chosen, (long long)of->count);
    if (of->count > MOST_EXPERTS)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "has %lld experts, more than %d", (long long)of->count,
                  MOST_EXPERTS);
    if (node_int(node, "use_sparse_mixer", 0))
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "use_sparse_mixer is not supported");
    if (strcmp(type, "int"))
        fail_node(node, STATUS_UNSUPPORTED, "quant_type=int is supported",
                  "its quant_type is \"%s\"", type);
}

static void check_operands(const Node *node, const Layer *layers)
{
    const Shape *x = infer_shape(node, 0);
    const int down = layers[DOWN].weights;
    if (!node_in(node, down))
        fail_node(node, STATUS_MALFORMED, NULL, "input %d is left out", down);
    if (x->rank < 2 || x->dim[x->rank - 1] < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its input has no rows");
}

static void size_layers(Experts *of)
{
    Layer *layer = of->layer;
    const int64_t parts = is_fused(of->node) ? 2 : 1;
    layer[UP].n = i64_mul(of->inner, parts);
    layer[UP].k = of->hidden;
    layer[DOWN].n = of->hidden;
    layer[DOWN].k = of->inner;
    layer[VALUES].n = of->inner;
    layer[VALUES].k = of->hidden;
    for (int i = 0; i < LAYERS; i++)
        check_layer(of, layer + i);
}

static Experts experts_of(const Node *node, const Layer *layers, bool packed)
{
    Experts of = {
        .node = node,
        .packed = packed,
        .chosen = node_int(node, "k", 1),
    };
    check_operands(node, layers);
    const Shape *x = infer_shape(node, 0);
    memcpy(of.layer, layers, sizeof of.layer);
    of.hidden = x->dim[x->rank - 1];
    read_sizes(&of);
    check_choice(&of);
    check_count(&of, 0, i64_mul(of.rows, of.hidden));
    size_layers(&of);
    return of;
}

/* --- the router --- */

/* Columns from the last to the first: of two that are equal, ONNX Runtime takes the later one,
 * TopK the earlier one. */
static Tensor *backwards(const Experts *of, Tensor *tensor)
{
    const Node *node = of->node;
    int64_t *order = NEW_ARRAY(node->graph->arena, int64_t, of->count);
    for (int64_t i = 0; i < of->count; i++)
        order[i] = of->count - 1 - i;
    Tensor *index = expand_i64s(node, of->count, order);
    return expand_gather(node, tensor, index, 1);
}

static Tensor *row_sums(const Node *node, Tensor *tensor)
{
    Tensor *last = expand_i64(node, 1);
    return expand_done(expand_of(node, "ReduceSum", tensor, last));
}

/* Are the shares of the chosen experts to come to 1? Those of QMoE always do in ONNX Runtime, but
 * for weights of their own. */
static bool is_normalized(const Experts *of, const Tensor *weights)
{
    if (of->packed && !weights)
        return true;
    return node_int(of->node, "normalize_routing_weights", 0);
}

/* Elements of the rows by index. */
static Tensor *picked(const Node *node, Tensor *rows, Tensor *index)
{
    Node *taken = expand_of(node, "GatherElements", rows, index);
    node_set_int(taken, "axis", 1);
    return expand_done(taken);
}

/* For each row and expert its share, 0 where it is not chosen. */
static Tensor *spread(const Experts *of, Tensor *share, Tensor *index)
{
    const Node *node = of->node;
    const int64_t dims[] = { of->rows, of->count };
    Tensor *shape = expand_i64s(node, 2, dims);
    Tensor *zero = expand_number(node, 0.0, DT_F32);
    Tensor *none = expand_op(node, "Expand", zero, shape);
    Node *made = expand_of(node, "ScatterElements", none, index, share);
    node_set_int(made, "axis", 1);
    return expand_done(made);
}

/* Of each row what the chosen experts count; weights NULL: what softmax gives. */
static Tensor *shares_of(const Experts *of, Tensor *weights)
{
    const Node *node = of->node;
    Tensor *router = expand_cast(node, node->in[1], DT_F32);
    Tensor *likes = expand_softmax(node, router);
    Tensor *in[] = {
        backwards(of, likes),
        expand_i64(node, of->chosen),
    };
    Node *best = expand_node(node, "TopK", 2, in, 2);
    Tensor *share = expand_done(best);
    Tensor *index = best->out[1];
    if (weights) {
        weights = expand_cast(node, weights, DT_F32);
        share = picked(node, backwards(of, weights), index);
    }
    if (is_normalized(of, weights)) {
        Tensor *sums = row_sums(node, share);
        share = expand_div(node, share, sums);
    }
    return backwards(of, spread(of, share, index));
}

/* --- weights --- */

static Tensor *float_weights(const Experts *of, const Layer *layer, int64_t i)
{
    const Node *node = of->node;
    const int64_t rows[] = { layer->n, layer->k };
    const int64_t columns[] = { layer->k, layer->n };
    Tensor *all = node->in[layer->weights];
    Tensor *own = expand_slice(node, all, 0, i, i + 1);
    own = expand_reshape(node, own, 2, of->columns ? columns : rows);
    if (!of->columns)
        own = expand_turn(node, own);
    return expand_cast(node, own, DT_F32);
}

/* Constant operand `operand` as numbers of so many bits, [rows][columns]. */
static Tensor *unpacked(const Experts *of, int operand, DType type,
                        int64_t rows, int64_t columns)
{
    const Node *node = of->node;
    const Recipe *given = node->in[operand]->value;
    const int64_t dims[] = { rows, columns };
    if (!given)
        fail_node(node, STATUS_UNSUPPORTED, "make the weights constants",
                  "its packed weights are made at run time");
    const int64_t bytes = dtype_bytes(type, i64_mul(rows, columns));
    if (bytes != recipe_bytes(given))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "operand %d does not fit its experts", operand);
    Store *store = node->graph->store;
    Recipe *numbers = recipe_bits(store, given, type, 2, dims);
    return graph_add_constant(node->graph, NULL, numbers);
}

static DType weights_type(const Experts *of, const Layer *layer)
{
    switch (bits_of(of, layer)) {
    case 2:
        return DT_U2;
    case 4:
        return DT_U4;
    default:
        return DT_U8;
    }
}

/* Weights of a layer share scales in blocks along k. */
static int64_t block_of(const Experts *of, const Layer *layer)
{
    const int64_t block = node_int(of->node, "block_size", 0);
    if (block > 0 && layer->k % block)
        fail_node(of->node, STATUS_MALFORMED, NULL,
                  "its block_size does not divide %lld", (long long)layer->k);
    return block > 0 ? block : layer->k;
}

/* Rows of one expert. */
static Tensor *own_rows(const Experts *of, Tensor *all, int64_t n, int64_t i)
{
    return expand_slice(of->node, all, 0, i * n, (i + 1) * n);
}

/* Zero points [n][blocks] where none are given: the middle. */
static Tensor *middles(const Experts *of, const Layer *layer, int64_t blocks)
{
    Graph *graph = of->node->graph;
    const DType type = weights_type(of, layer);
    const int64_t bits = bits_of(of, layer);
    const int64_t dims[] = { layer->n, blocks };
    const uint8_t middle = (uint8_t)(1u << (bits - 1));
    Recipe *bytes = recipe_fill(graph->store, DT_U8, 2, dims, &middle);
    Recipe *zeros = recipe_cast(graph->store, bytes, type);
    return graph_add_constant(graph, NULL, zeros);
}

/* Zero points of one expert, [n][blocks]: the given ones, whose lines are filled up to bytes; a
 * line is a row's, or where rows are not in blocks all of an expert. */
static Tensor *zeros_of(const Experts *of, const Layer *layer, int64_t blocks,
                        int64_t i)
{
    const Node *node = of->node;
    const int64_t dims[] = { layer->n, blocks };
    if (!node_in(node, layer->zero))
        return middles(of, layer, blocks);
    const DType type = weights_type(of, layer);
    const int64_t bits = bits_of(of, layer);
    const bool by_row = infer_shape(node, layer->zero)->rank == 3;
    const int64_t line = by_row ? blocks : layer->n;
    const int64_t lines = by_row ? layer->n : 1;
    const int64_t bytes = i64_ceil_div(line * bits, 8);
    const int64_t filled = bytes * 8 / bits;
    const int64_t rows = i64_mul(of->count, lines);
    Tensor *all = unpacked(of, layer->zero, type, rows, filled);
    Tensor *own = own_rows(of, all, lines, i);
    own = expand_slice(node, own, 1, 0, line);
    return expand_reshape(node, own, 2, dims);
}

/* Scales of one expert, [n][blocks]. */
static Tensor *scales_of(const Experts *of, const Layer *layer, int64_t blocks,
                         int64_t i)
{
    const Node *node = of->node;
    const int64_t rows = i64_mul(of->count, layer->n);
    const int64_t dims[] = { rows, blocks };
    if (!node_in(node, layer->scale))
        fail_node(node, STATUS_MALFORMED, NULL, "its scales are missing");
    check_count(of, layer->scale, i64_mul(rows, blocks));
    Tensor *scale = node->in[layer->scale];
    scale = expand_cast(node, scale, DT_F32);
    scale = expand_reshape(node, scale, 2, dims);
    return own_rows(of, scale, layer->n, i);
}

static Tensor *packed_weights(const Experts *of, const Layer *layer, int64_t i)
{
    const Node *node = of->node;
    const DType type = weights_type(of, layer);
    const int64_t block = block_of(of, layer);
    const int64_t blocks = layer->k / block;
    const int64_t rows = i64_mul(of->count, layer->n);
    Tensor *values = unpacked(of, layer->weights, type, rows, layer->k);
    values = own_rows(of, values, layer->n, i);
    Tensor *scale = scales_of(of, layer, blocks, i);
    Tensor *zero = zeros_of(of, layer, blocks, i);
    Node *made = expand_of(node, "DequantizeLinear", values, scale, zero);
    node_set_int(made, "axis", 1);
    node_set_int(made, "block_size", block);
    node_set_int(made, "output_dtype", DT_F32);
    return expand_turn(node, expand_done(made));
}

/* [k][n] of expert i. */
static Tensor *weights_of(const Experts *of, const Layer *layer, int64_t i)
{
    if (of->packed)
        return packed_weights(of, layer, i);
    return float_weights(of, layer, i);
}

/* --- experts --- */

/* x times the weights of expert i, and its bias. */
static Tensor *product(const Experts *of, int which, Tensor *x, int64_t i)
{
    const Node *node = of->node;
    const Layer *layer = of->layer + which;
    Tensor *bias = node_in(node, layer->bias);
    Tensor *weights = weights_of(of, layer, i);
    Tensor *y = expand_matmul(node, x, weights);
    if (!bias)
        return y;
    bias = expand_slice(node, bias, 0, i, i + 1);
    bias = expand_reshape(node, bias, 1, &layer->n);
    bias = expand_cast(node, bias, DT_F32);
    return expand_add(node, y, bias);
}

/* Gate or value of each of the two products in one: every second element, or one half. */
static Tensor *half(const Experts *of, Tensor *both, int which)
{
    const Node *node = of->node;
    const int64_t at = which;
    const int64_t pairs[] = { of->rows, of->inner, 2 };
    const int64_t dims[] = { of->rows, of->inner };
    if (node_int(node, "swiglu_fusion", 0) == 2) {
        const int64_t from = at * of->inner;
        return expand_slice(node, both, 1, from, from + of->inner);
    }
    Tensor *apart = expand_reshape(node, both, 3, pairs);
    Tensor *one = expand_slice(node, apart, 2, at, at + 1);
    return expand_reshape(node, one, 2, dims);
}

static Tensor *limited(const Experts *of, Tensor *x, bool below)
{
    const Node *node = of->node;
    const float limit = node_float(node, "swiglu_limit", 0.0f);
    if (!node_attr(node, "swiglu_limit"))
        return x;
    Tensor *most = expand_number(node, (double)limit, DT_F32);
    x = expand_binary(node, "Min", x, most);
    if (!below)
        return x;
    Tensor *least = expand_number(node, -(double)limit, DT_F32);
    return expand_binary(node, "Max", x, least);
}

static Tensor *gelu(const Node *node, Tensor *x)
{
    Node *made = expand_of(node, "Gelu", x);
    node_set_string(made, "approximate", "tanh");
    return expand_done(made);
}

/* x * sigmoid(factor * x) */
static Tensor *swish(const Node *node, Tensor *x, double factor)
{
    Tensor *inner = factor == 1.0 ? x : expand_scaled(node, x, factor);
    Tensor *gate = expand_unary(node, "Sigmoid", inner);
    return expand_mul(node, x, gate);
}

static Tensor *swiglu(const Experts *of, Tensor *gate, Tensor *value)
{
    const Node *node = of->node;
    const double alpha = (double)node_float(node, "activation_alpha", 1.0f);
    const double beta = (double)node_float(node, "activation_beta", 0.0f);
    if (node_int(node, "swiglu_limit_after_activation", 0)) {
        gate = limited(of, swish(node, gate, alpha), false);
    } else {
        gate = swish(node, limited(of, gate, false), alpha);
    }
    value = limited(of, value, true);
    if (beta != 0.0) {
        Tensor *more = expand_number(node, beta, DT_F32);
        value = expand_add(node, value, more);
    }
    return expand_mul(node, gate, value);
}

static Tensor *activated(const Node *node, Tensor *x)
{
    const char *name = activation_of(node);
    if (!strcmp(name, "relu"))
        return expand_unary(node, "Relu", x);
    if (!strcmp(name, "relu2"))
        return expand_square(node, expand_unary(node, "Relu", x));
    if (!strcmp(name, "gelu"))
        return gelu(node, x);
    if (!strcmp(name, "silu"))
        return swish(node, x, 1.0);
    if (strcmp(name, "identity"))
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its activation \"%s\" is unknown", name);
    return x;
}

/* What expert i makes of the rows between its two products. */
static Tensor *between(const Experts *of, Tensor *x, int64_t i)
{
    const Node *node = of->node;
    const char *name = activation_of(node);
    const bool apart = node_in(node, of->layer[VALUES].weights) != NULL;
    Tensor *up = product(of, UP, x, i);
    if (is_fused(node)) {
        Tensor *gate = half(of, up, 0);
        Tensor *value = half(of, up, 1);
        if (!strcmp(name, "swiglu"))
            return swiglu(of, gate, value);
        return expand_mul(node, gelu(node, gate), value);
    }
    if (!strcmp(name, "swiglu") && !apart)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "swiglu needs operand fc3_experts_weights");
    if (!strcmp(name, "swiglu"))
        return swiglu(of, up, product(of, VALUES, x, i));
    Tensor *y = activated(node, up);
    if (!apart)
        return y;
    return expand_mul(node, y, product(of, VALUES, x, i));
}

static void finish_experts(Node *node, const Experts *of, Tensor *share)
{
    const int64_t rows[] = { of->rows, of->hidden };
    const DType type = node_type(node);
    const Shape shape = *infer_shape(node, 0);
    Tensor *x = expand_cast(node, node->in[0], DT_F32);
    x = expand_reshape(node, x, 2, rows);
    Tensor *sum = NULL;
    for (int64_t i = 0; i < of->count; i++) {
        Tensor *y = product(of, DOWN, between(of, x, i), i);
        Tensor *part = expand_slice(node, share, 1, i, i + 1);
        y = expand_mul(node, y, part);
        sum = sum ? expand_add(node, sum, y) : y;
    }
    sum = expand_reshape(node, sum, shape.rank, shape.dim);
    expand_finish_one(node, expand_cast(node, sum, type));
}

void expand_moe(Node *node)
{
    const Experts of = experts_of(node, float_layers, false);
    finish_experts(node, &of, shares_of(&of, NULL));
}

void expand_qmoe(Node *node)
{
    enum { ROUTER_WEIGHTS = 14 };
    const Experts of = experts_of(node, packed_layers, true);
    check_count(&of, ROUTER_WEIGHTS, i64_mul(of.rows, of.count));
    Tensor *weights = node_in(node, ROUTER_WEIGHTS);
    finish_experts(node, &of, shares_of(&of, weights));
}
