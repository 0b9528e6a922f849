/* SPDX-License-Identifier: Apache-2.0
 * MatMulBnb4 of com.microsoft as a composition: weights of 4 bits that stand for entries of a
 * table, times the largest magnitude of their block. They lie one behind the other, whatever the
 * rows. */
#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

enum { ENTRIES = 16 };

/* quant_type 0: three bits of a float and its sign. */
static const float float_entries[ENTRIES] = {
    0.0f,         1.0f / 192.0f,  2.0f / 3.0f,  1.0f,
    1.0f / 3.0f,  0.5f,           1.0f / 6.0f,  0.25f,
    -0.0f,        -1.0f / 192.0f, -2.0f / 3.0f, -1.0f,
    -1.0f / 3.0f, -0.5f,          -1.0f / 6.0f, -0.25f,
};

/* quant_type 1: quantiles of a normal distribution, and 0. */
static const float normal_entries[ENTRIES] = {
    -1.0f,        -0.6961928f,  -0.52507305f,  -0.3949175f,
    -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
    0.0795803f,   0.1609302f,   0.2461123f,    0.33791524f,
    0.44070983f,  0.562617f,    0.72295684f,   1.0f,
};

static Tensor *entries_of(const Node *node)
{
    switch (node_int(node, "quant_type", -1)) {
    case 0:
        return expand_floats(node, ENTRIES, float_entries);
    case 1:
        return expand_floats(node, ENTRIES, normal_entries);
    default:
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its quant_type is neither 0 nor 1");
    }
}

/* What MatMulBnb4 is told: weights [n][k] in blocks of so many. */
typedef struct Blocked {
    int64_t k;
    int64_t n;
    int64_t block;
    int64_t weights;
    int64_t bytes; /* two weights each */
    int64_t blocks;
} Blocked;

static Blocked blocked_of(const Node *node)
{
    Blocked of = {
        .k = node_int(node, "K", 0),
        .n = node_int(node, "N", 0),
        .block = node_int(node, "block_size", 0),
    };
    if (of.k < 1 || of.n < 1 || of.block < 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "K, N or block_size is missing");
    of.weights = i64_mul(of.k, of.n);
    of.bytes = i64_ceil_div(of.weights, 2);
    of.blocks = i64_ceil_div(of.weights, of.block);
    const int64_t bytes = shape_count(infer_shape(node, 1));
    const int64_t blocks = shape_count(infer_shape(node, 2));
    if (bytes != of.bytes || blocks != of.blocks)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "weights or magnitudes do not fit K and N");
    return of;
}

/* The entries that stand in the bytes, [bytes * 2]: the higher four bits of a byte come first. */
static Tensor *looked_up(const Node *node, const Blocked *of)
{
    Graph *graph = node->graph;
    const int64_t pairs[] = { of->bytes, 2 };
    const int64_t higher_first[] = { 1, 0 };
    const Recipe *given = node->in[1]->value;
    if (!given)
        fail_node(node, STATUS_UNSUPPORTED, "make the weights constants",
                  "its packed weights are made at run time");
    Recipe *numbers = recipe_bits(graph->store, given, DT_U4, 2, pairs);
    Tensor *packed = graph_add_constant(graph, NULL, numbers);
    Tensor *index = expand_cast(node, packed, DT_I64);
    Tensor *order = expand_i64s(node, 2, higher_first);
    index = expand_gather(node, index, order, 1);
    const int64_t all = i64_mul(of->bytes, 2);
    Tensor *entries = entries_of(node);
    index = expand_reshape(node, index, 1, &all);
    return expand_gather(node, entries, index, 0);
}

/* One magnitude for each of the bytes' entries. */
static Tensor *magnitudes(const Node *node, const Blocked *of)
{
    const int64_t column[] = { of->blocks, 1 };
    const int64_t rows[] = { of->blocks, of->block };
    const int64_t all = i64_mul(of->blocks, of->block);
    Tensor *given = expand_cast(node, node->in[2], DT_F32);
    given = expand_reshape(node, given, 2, column);
    Tensor *wide = expand_op(node, "Expand", given, expand_i64s(node, 2, rows));
    wide = expand_reshape(node, wide, 1, &all);
    return expand_slice(node, wide, 0, 0, i64_mul(of->k, of->n));
}

/* [n][k] */
static Tensor *weights_of(const Node *node, const Blocked *of)
{
    const int64_t dims[] = { of->n, of->k };
    Tensor *entries = looked_up(node, of);
    Tensor *factors = magnitudes(node, of);
    entries = expand_slice(node, entries, 0, 0, of->weights);
    Tensor *weights = expand_mul(node, entries, factors);
    return expand_reshape(node, weights, 2, dims);
}

void expand_matmul_bnb4(Node *node)
{
    const Blocked of = blocked_of(node);
    const DType type = node_type(node);
    infer_shape(node, 0);
    expand_operand(node, 0, DT_F32);
    Tensor *weights = weights_of(node, &of);
    if (node_int(node, "transB", 1))
        weights = expand_turn(node, weights);
    Tensor *y = expand_matmul(node, node->in[0], weights);
    y = expand_cast(node, y, type);
    expand_finish_one(node, y);
}
