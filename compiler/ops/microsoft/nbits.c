/* SPDX-License-Identifier: Apache-2.0
 * MatMulNBits of com.microsoft as a composition: weights of 2, 4 or 8 bits in blocks along K, which
 * become numbers by DequantizeLinear. Zero points are numbers of the weights' type, or floats that
 * are taken off the product. */
#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

/* Weights [N][K], packed [N][blocks][bytes of a block]. */
typedef struct Packed {
    const Node *node;
    DType type; /* of the weights */
    int64_t bits;
    int64_t k;
    int64_t n;
    int64_t block;
    int64_t blocks;
    Tensor *scale; /* [N][blocks] */
    bool floats;   /* zero points are floats */
} Packed;

static DType packed_type(int64_t bits)
{
    switch (bits) {
    case 2:
        return DT_U2;
    case 4:
        return DT_U4;
    case 8:
        return DT_U8;
    default:
        return DT_NONE;
    }
}

static void check_packed(const Packed *packed)
{
    const Node *node = packed->node;
    const bool known = packed->type != DT_NONE;
    const bool sized = packed->k > 0 && packed->n > 0;
    if (!known || !sized || packed->block < 1)
        fail_node(node, STATUS_UNSUPPORTED, "2, 4 or 8 bits are supported",
                  "has %lld bits, a block of %lld", (long long)packed->bits,
                  (long long)packed->block);
}

static Packed packed_of(const Node *node)
{
    const int64_t bits = node_int(node, "bits", 4);
    Packed packed = {
        .node = node,
        .type = packed_type(bits),
        .bits = bits,
        .k = node_int(node, "K", 0),
        .n = node_int(node, "N", 0),
        .block = node_int(node, "block_size", 0),
    };
    check_packed(&packed);
    packed.blocks = i64_ceil_div(packed.k, packed.block);
    const int64_t row = i64_mul(packed.blocks, packed.block);
    const int64_t numbers = i64_mul(packed.n, row);
    const int64_t bytes = shape_count(infer_shape(node, 1));
    if (i64_mul(bytes, 8) != i64_mul(numbers, bits))
        fail_node(node, STATUS_MALFORMED, NULL, "its weights have %lld bytes",
                  (long long)bytes);
    return packed;
}

/* Constant operand i as numbers of the weights' type: [N][columns]. */
static Tensor *unpacked(const Packed *packed, int i, int64_t columns)
{
    const Node *node = packed->node;
    const DType type = packed->type;
    const Recipe *given = node->in[i]->value;
    if (!given)
        fail_node(node, STATUS_UNSUPPORTED, "make the weights constants",
                  "its packed weights are made at run time");
    const int64_t dims[] = { packed->n, columns };
    const Shape shape = shape_of(2, dims);
    const int64_t bytes = dtype_bytes(type, shape_count(&shape));
    if (bytes != recipe_bytes(given))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "operand %d has %lld bytes, not %lld", i,
                  (long long)recipe_bytes(given), (long long)bytes);
    Store *store = node->graph->store;
    Recipe *numbers = recipe_bits(store, given, type, 2, dims);
    return graph_add_constant(node->graph, NULL, numbers);
}

/* Zero points [N][blocks] that are all one number. */
static Tensor *same_zeros(const Packed *packed, uint8_t zero)
{
    Graph *graph = packed->node->graph;
    const int64_t dims[] = { packed->n, packed->blocks };
    Recipe *bytes = recipe_fill(graph->store, DT_U8, 2, dims, &zero);
    Recipe *recipe = recipe_cast(graph->store, bytes, packed->type);
    return graph_add_constant(graph, NULL, recipe);
}

/* Zero points [N][blocks] of the weights' type: the given ones, whose rows are filled up to bytes,
 * or the middle. Those that are floats are taken off afterwards. */
static Tensor *zero_points(const Packed *packed)
{
    const Node *node = packed->node;
    const int64_t bits = packed->blocks * packed->bits;
    const int64_t row = i64_ceil_div(bits, 8) * 8 / packed->bits;
    if (packed->floats)
        return same_zeros(packed, 0);
    if (!node_in(node, 3))
        return same_zeros(packed, (uint8_t)(1u << (packed->bits - 1)));
    Tensor *zeros = unpacked(packed, 3, row);
    return expand_slice(node, zeros, 1, 0, packed->blocks);
}

/* Weights, with scales and zero points, as numbers; so many columns share them. */
typedef struct Quantized {
    Tensor *values;
    Tensor *scale;
    Tensor *zero;
    int64_t block;
} Quantized;

static Tensor *dequantized_blocks(const Node *node, const Quantized *q)
{
    Node *made =
        expand_of(node, "DequantizeLinear", q->values, q->scale, q->zero);
    node_set_int(made, "axis", 1);
    node_set_int(made, "block_size", q->block);
    node_set_int(made, "output_dtype", DT_F32);
    return expand_done(made);
}

/* `a` with its last dimension filled up to whole blocks. */
static Tensor *filled_up(const Packed *packed, Tensor *a)
{
    const Node *node = packed->node;
    const int count = 2 * a->shape.rank;
    const int64_t columns = packed->blocks * packed->block;
    int64_t pads[2 * MAX_RANK] = { 0 };
    if (columns == packed->k)
        return a;
    pads[count - 1] = columns - packed->k;
    Tensor *around = expand_i64s(node, count, pads);
    return expand_binary(node, "Pad", a, around);
}

/* The sums of a over each block: [..][blocks]. */
static Tensor *block_sums(const Packed *packed, Tensor *a)
{
    const Node *node = packed->node;
    const int rank = a->shape.rank;
    Shape apart = a->shape;
    if (rank == MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its input has more than %d dimensions", MAX_RANK - 1);
    Tensor *whole = filled_up(packed, a);
    apart.dim[rank - 1] = packed->blocks;
    apart.dim[rank] = packed->block;
    Tensor *blocks = expand_reshape(node, whole, rank + 1, apart.dim);
    Tensor *last = expand_i64(node, rank);
    Node *sum = expand_of(node, "ReduceSum", blocks, last);
    node_set_int(sum, "keepdims", 0);
    return expand_done(sum);
}

/* What zero points that are floats take off: the sums of a over each block times zero point and
 * scale, [..][blocks] x [blocks][N]. */
static Tensor *float_zeros(const Packed *packed, Tensor *a)
{
    const Node *node = packed->node;
    const DType type = a->dtype;
    const int64_t dims[] = { packed->n, packed->blocks };
    Tensor *sums = block_sums(packed, a);
    Tensor *given = expand_cast(node, node->in[3], type);
    Tensor *zero = expand_reshape(node, given, 2, dims);
    Tensor *scale = expand_cast(node, packed->scale, type);
    Tensor *each = expand_mul(node, zero, scale);
    Tensor *taken = expand_turn(node, each);
    return expand_matmul(node, sums, taken);
}

/* Operand 4: the group of each of the K. */
static Tensor *groups_of(const Packed *packed)
{
    const Node *node = packed->node;
    Tensor *given = node->in[4];
    if (packed->floats || tensor_count(given) < packed->k)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its group index does not fit");
    Tensor *all = expand_cast(node, given, DT_I64);
    return expand_slice(node, all, 0, 0, packed->k);
}

/* The weights as numbers, [N][K], where each column names its group. */
static Tensor *grouped_weights(const Packed *packed, const Quantized *all)
{
    const Node *node = packed->node;
    Tensor *group = groups_of(packed);
    Quantized columns = { .block = 1 };
    columns.values = all->values;
    columns.scale = expand_gather(node, all->scale, group, 1);
    columns.zero = expand_gather(node, all->zero, group, 1);
    return dequantized_blocks(node, &columns);
}

/* The weights as numbers, [N][K]. */
static Tensor *nbits_weights(const Packed *packed)
{
    const Node *node = packed->node;
    const int64_t columns = i64_mul(packed->blocks, packed->block);
    Quantized all = {
        .scale = packed->scale,
        .block = packed->block,
    };
    Tensor *values = unpacked(packed, 1, columns);
    all.values = expand_slice(node, values, 1, 0, packed->k);
    all.zero = zero_points(packed);
    if (node_in(node, 4))
        return grouped_weights(packed, &all);
    return dequantized_blocks(node, &all);
}

/* The product of x and the weights, but for zero points that are floats. */
static Tensor *nbits_product(const Packed *packed, Tensor *x)
{
    const Node *node = packed->node;
    Tensor *weights = expand_turn(node, nbits_weights(packed));
    weights = expand_cast(node, weights, x->dtype);
    return expand_matmul(node, x, weights);
}

void expand_matmul_nbits(Node *node)
{
    Packed packed = packed_of(node);
    const Tensor *zeros = node_in(node, 3);
    const int64_t dims[] = { packed.n, packed.blocks };
    const DType type = node_type(node);
    infer_shape(node, 0);
    Tensor *x = node->in[0];
    if (dtype_is_small_float(type))
        x = expand_cast(node, x, DT_F32);
    packed.scale = expand_reshape(node, node->in[2], 2, dims);
    packed.floats = zeros && zeros->dtype != DT_U8;
    Tensor *y = nbits_product(&packed, x);
    if (packed.floats) {
        Tensor *taken = float_zeros(&packed, x);
        y = expand_sub(node, y, taken);
    }
    Tensor *bias = expand_cast(node, node_in(node, 5), x->dtype);
    if (bias)
        y = expand_add(node, y, bias);
    expand_finish_one(node, expand_cast(node, y, type));
}
