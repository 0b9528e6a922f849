/* SPDX-License-Identifier: Apache-2.0
 * Further operators of com.microsoft as compositions: what its optimizer writes for diffusion
 * models, its quantizer for embeddings, and what converters of classical models write. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"

static void finish(Node *n, Tensor *y)
{
    expand_finish(n, 1, &y);
}

static bool read(const Node *n, int i)
{
    return node_out(n, i) && n->out[i]->uses;
}

/* Unique in the order of first appearance: values, places of the elements among them, counts. */
void expand_ms_unique(Node *n)
{
    infer_shape(n, 0);
    Node *made = expand_node(n, "Unique", 1, n->in, 4);
    node_set_int(made, "sorted", 0);
    expand_done(made);
    Tensor *result[] = { made->out[0], made->out[2], made->out[3] };
    expand_finish(n, 3, result);
}

/* Distances of the rows of a [M][N] from those of b [K][N]: [M][K]. */
void expand_cdist(Node *n)
{
    const int64_t axis = 2;
    const char *metric = node_string(n, "metric", "sqeuclidean");
    if (infer_shape(n, 0)->rank != 2 || infer_shape(n, 1)->rank != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its operands must be matrices");
    if (strcmp(metric, "sqeuclidean") && strcmp(metric, "euclidean"))
        fail_node(n, STATUS_UNSUPPORTED, "use euclidean or sqeuclidean", "metric \"%s\"", metric);
    Tensor *d =
        expand_binary(n, "Sub", expand_unsqueeze(n, n->in[0], 1), expand_unsqueeze(n, n->in[1], 0));
    Tensor *in[] = { expand_binary(n, "Mul", d, d), expand_i64s(n, 1, &axis) };
    Node *sum = expand_node(n, "ReduceSum", 2, in, 1);
    node_set_int(sum, "keepdims", 0);
    Tensor *y = expand_done(sum);
    finish(n, *metric == 'e' ? expand_unary(n, "Sqrt", y) : y);
}

/* --- diffusion models --- */

static Tensor *swish(const Node *n, Tensor *x)
{
    return expand_unary(n, "Swish", x);
}

/* GroupNormalization of an image in either layout, and activation 1: x sigmoid(x). */
static Tensor *group_norm(const Node *n, Tensor *x)
{
    const int rank = x->shape.rank;
    const bool last = node_int(n, "channels_last", 1) != 0;
    int64_t to[MAX_RANK] = { 0 }, back[MAX_RANK] = { 0 };
    if (rank < 3)
        fail_node(n, STATUS_MALFORMED, NULL, "its image has %d dimensions", rank);
    for (int i = 1; i < rank; i++) {
        to[i] = i == 1 ? rank - 1 : i - 1;
        back[i] = i == rank - 1 ? 1 : i + 1;
    }
    Tensor *in[] = { last ? expand_transpose(n, x, to) : x, n->in[1], n->in[2] };
    Node *made = expand_node(n, "GroupNormalization", 3, in, 1);
    node_set_int(made, "num_groups", node_int(n, "groups", 1));
    node_set_float(made, "epsilon", node_float(n, "epsilon", 1e-5f));
    Tensor *y = expand_done(made);
    if (node_int(n, "activation", 0))
        y = swish(n, y);
    return last ? expand_transpose(n, y, back) : y;
}

void expand_ms_group_norm(Node *n)
{
    infer_shape(n, 0);
    finish(n, group_norm(n, n->in[0]));
}

/* The same of x + skip + bias; skip may be [N][C]. */
void expand_skip_group_norm(Node *n)
{
    const Shape x = *infer_shape(n, 0), skip = *infer_shape(n, 3);
    const bool last = node_int(n, "channels_last", 1) != 0;
    int64_t vector[MAX_RANK];
    for (int i = 0; i < x.rank; i++)
        vector[i] = i == (last ? x.rank - 1 : 1) ? x.dim[i] : 1;
    Tensor *sum = n->in[3];
    if (skip.rank == 2) {
        int64_t dims[MAX_RANK];
        memcpy(dims, vector, sizeof dims);
        dims[0] = skip.dim[0];
        sum = expand_reshape(n, sum, x.rank, dims);
    }
    sum = expand_binary(n, "Add", n->in[0], sum);
    if (node_in(n, 4))
        sum = expand_binary(n, "Add", sum, expand_reshape(n, n->in[4], x.rank, vector));
    Tensor *result[] = { group_norm(n, sum), read(n, 1) ? sum : NULL };
    expand_finish(n, 2, result);
}

void expand_bias_add(Node *n)
{
    infer_shape(n, 0);
    finish(n, expand_binary(n, "Add", expand_binary(n, "Add", n->in[0], n->in[1]), n->in[2]));
}

/* The left half of x + bias times gelu of the right one. */
void expand_bias_split_gelu(Node *n)
{
    infer_shape(n, 0);
    Tensor *x = expand_binary(n, "Add", n->in[0], n->in[1]);
    const int axis = x->shape.rank - 1;
    const int64_t all = x->shape.dim[axis];
    finish(n, expand_binary(n, "Mul", expand_slice(n, x, axis, 0, all / 2),
                            expand_unary(n, "Gelu", expand_slice(n, x, axis, all / 2, all))));
}

void expand_gemm_fast_gelu(Node *n)
{
    Tensor *y = expand_binary(n, "MatMul", n->in[0], n->in[1]);
    if (node_in(n, 2))
        y = expand_binary(n, "Add", y, n->in[2]);
    Node *made = expand_node(n, "Gelu", 1, &y, 1);
    node_set_string(made, "approximate", "tanh");
    finish(n, expand_done(made));
}

/* --- quantized --- */

static Tensor *dequantized(const Node *n, Tensor *x, Tensor *scale, Tensor *zero, int64_t axis,
                           int64_t block)
{
    Tensor *in[] = { x, scale, zero };
    Node *made = expand_node(n, "DequantizeLinear", zero ? 3 : 2, in, 1);
    if (scale->shape.rank)
        node_set_int(made, "axis", axis);
    if (block)
        node_set_int(made, "block_size", block);
    return expand_done(made);
}

static Tensor *gathered(const Node *n, Tensor *table, Tensor *index, int64_t axis)
{
    Tensor *in[] = { table, index };
    Node *made = expand_node(n, "Gather", 2, in, 1);
    node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* The bytes of a constant as numbers of fewer bits, `per` to a byte. */
static Tensor *unpacked(const Node *n, const Tensor *x, DType t, int64_t per)
{
    Shape wide = x->shape;
    wide.dim[wide.rank - 1] = i64_mul(wide.dim[wide.rank - 1], per);
    return graph_add_constant(n->graph, NULL,
                              recipe_bits(n->graph->store, x->value, t, wide.rank, wide.dim));
}

/* Rows are gathered with their scales and zero points, then brought to numbers. Bytes may hold 2 or
 * 4 bits each number. */
void expand_gather_block_quantized(Node *n)
{
    const Shape x = *infer_shape(n, 0), scales = *infer_shape(n, 2);
    const int64_t bits = node_int(n, "bits", 4), block = node_int(n, "block_size", 128),
                  per = n->in[0]->dtype == DT_U8 && bits < 8 ? 8 / i64_max(bits, 1) : 1;
    const int rows = node_axis(n, node_int(n, "gather_axis", 0), x.rank),
              along = node_axis(n, node_int(n, "quantize_axis", 1), x.rank);
    if (n->in[0]->dtype == DT_U8 && bits != 2 && bits != 4 && bits != 8)
        fail_node(n, STATUS_MALFORMED, NULL, "has %lld bits", (long long)bits);
    if (rows == along || !block)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "gathers along the axis of its blocks, or has none");
    if (per > 1 && (!n->in[0]->value || (node_in(n, 3) && !n->in[3]->value)))
        fail_node(n, STATUS_UNSUPPORTED, "make the table a constant",
                  "its packed table is made at run time");
    Store *s = n->graph->store;
    Tensor *table = n->in[0], *zero = node_in(n, 3);
    const DType t = per == 1 ? table->dtype : bits == 2 ? DT_U2 : DT_U4;
    if (per > 1) {
        table = unpacked(n, table, t, per);
        if (zero && infer_shape(n, 3)->rank != scales.rank)
            fail_node(n, STATUS_MALFORMED, NULL, "its zero points and scales differ in rank");
        if (zero)
            zero = expand_slice(n, unpacked(n, zero, t, per), scales.rank - 1, 0,
                                scales.dim[scales.rank - 1]);
    }
    if (!zero && n->in[0]->dtype == DT_U8) {
        const uint8_t middle = (uint8_t)(1u << (bits - 1));
        zero = graph_add_constant(
            n->graph, NULL,
            recipe_cast(s, recipe_fill(s, DT_U8, scales.rank, scales.dim, &middle), t));
    }
    Tensor *y = gathered(n, table, n->in[1], rows), *scale = gathered(n, n->in[2], n->in[1], rows);
    finish(n, dequantized(n, y, scale, zero ? gathered(n, zero, n->in[1], rows) : NULL,
                          along > rows ? along + y->shape.rank - x.rank : along, block));
}

/* EmbedLayerNormalization of quantized tables: operands 2 to 6 have their scales from 8 on, their
 * zero points from 13 on. */
void expand_qembed_layer_norm(Node *n)
{
    Tensor *in[9] = { n->in[0], node_in(n, 1) };
    for (int i = 2; i < 7; i++) {
        if (i == 4 && !node_in(n, i))
            continue;
        infer_shape(n, i);
        infer_shape(n, i + 6);
        in[i] = dequantized(n, n->in[i], n->in[i + 6], node_in(n, i + 11), 0, 0);
    }
    in[7] = node_in(n, 7);
    expand_embeddings(n, in);
}
