/* SPDX-License-Identifier: Apache-2.0
 * Quantized operators of com.microsoft, as compositions: an elementwise operator becomes
 * DequantizeLinear, the operator, QuantizeLinear; a product becomes the standard's integer product
 * and a scale. */
#include <string.h>

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

/* Operand i with the scale and zero point that follow it, as float. */
static Tensor *real(const Node *node, int i)
{
    infer_shape(node, i);
    infer_shape(node, i + 1);
    Tensor *in[] = { node->in[i], node->in[i + 1], node_in(node, i + 2) };
    return expand_done(
        expand_node(node, "DequantizeLinear", in[2] ? 3 : 2, in, 1));
}

/* y quantized with the scale at operand i and the zero point after it, to type where there is
 * none. */
static Tensor *quantized(const Node *node, Tensor *y, int i, DType type)
{
    infer_shape(node, i);
    Tensor *in[] = { y, node->in[i], node_in(node, i + 1) };
    Node *q = expand_node(node, "QuantizeLinear", in[2] ? 3 : 2, in, 1);
    if (!in[2])
        node_set_int(q, "output_dtype", type);
    return expand_done(q);
}

/* The same operator of the standard. */
void expand_same_operator(Node *node)
{
    Node *made =
        expand_node(node, node->op_type, node->n_in, node->in, node->n_out);
    expand_copy_attrs(made, node);
    expand_done(made);
    Tensor **result = arena_copy(node->graph->arena, made->out,
                                 (size_t)made->n_out * sizeof *result);
    expand_finish(node, node->n_out, result);
}

static void expand_quantized_binary(Node *node, const char *op)
{
    const DType type = node_type(node);
    Tensor *a = real(node, 0);
    Tensor *b = real(node, 3);
    Tensor *y = expand_binary(node, op, a, b);
    expand_finish_one(node, quantized(node, y, 6, type));
}

void expand_qlinear_add(Node *node)
{
    expand_quantized_binary(node, "Add");
}
void expand_qlinear_mul(Node *node)
{
    expand_quantized_binary(node, "Mul");
}

void expand_qlinear_sigmoid(Node *node)
{
    expand_finish_one(
        node, quantized(node, expand_unary(node, "Sigmoid", real(node, 0)), 3,
                        node_type(node)));
}

void expand_qlinear_leaky_relu(Node *node)
{
    Tensor *x = real(node, 0);
    Node *made = expand_of(node, "LeakyRelu", x);
    node_set_float(made, "alpha", node_float(node, "alpha", 0.01f));
    expand_finish_one(node,
                      quantized(node, expand_done(made), 3, node_type(node)));
}

/* Until opset 12 a softmax runs over all dimensions from the axis on. */
void expand_qlinear_softmax(Node *node)
{
    const Shape shape = *infer_shape(node, 0);
    const int axis = infer_axis(node, -1, shape.rank);
    const bool flat = node_int(node, "opset", 13) < 13;
    Tensor *x = real(node, 0);
    if (flat) {
        int64_t dims[2] = { 1, 1 };
        for (int i = 0; i < shape.rank; i++)
            dims[i >= axis] = i64_mul(dims[i >= axis], shape.dim[i]);
        x = expand_reshape(node, x, 2, dims);
    }
    Node *made = expand_of(node, "Softmax", x);
    node_set_int(made, "axis", flat ? 1 : axis);
    expand_finish_one(node, quantized(node,
                                      expand_reshape(node, expand_done(made),
                                                     shape.rank, shape.dim),
                                      3, node_type(node)));
}

void expand_qlinear_reduce_mean(Node *node)
{
    const DType type = node_type(node);
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    Tensor *in[2] = { real(node, 0) };
    if (count)
        in[1] = expand_i64s(node, count, axes);
    Node *made = expand_node(node, "ReduceMean", count ? 2 : 1, in, 1);
    node_set_int(made, "keepdims", node_int(node, "keepdims", 1));
    expand_finish_one(node, quantized(node, expand_done(made), 3, type));
}

void expand_qlinear_where(Node *node)
{
    const DType type = node->in[1]->dtype;
    Tensor *a = real(node, 1);
    Tensor *b = real(node, 4);
    Tensor *y = expand_where(node, node->in[0], a, b);
    expand_finish_one(node, quantized(node, y, 7, type));
}

void expand_qlinear_concat(Node *node)
{
    const int parts = (node->n_in - 2) / 3;
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, parts);
    if (node->n_in < 5 || (node->n_in - 2) % 3)
        fail_node(node, STATUS_MALFORMED, NULL, "has %d inputs", node->n_in);
    for (int i = 0; i < parts; i++)
        in[i] = real(node, 2 + 3 * i);
    Node *made = expand_node(node, "Concat", parts, in, 1);
    node_set_int(made, "axis", node_int(node, "axis", 0));
    expand_finish_one(
        node, quantized(node, expand_done(made), 0, node->in[2]->dtype));
}

/* Images with channels last become those of the standard, and back. */
static Tensor *channels(const Node *node, Tensor *x, bool last, bool back)
{
    const int rank = x->shape.rank;
    int64_t perm[MAX_RANK] = { 0 };
    if (!last || rank < 3)
        return x;
    for (int i = 1; i < rank; i++)
        perm[i] = back ? i + 1 : i - 1;
    perm[back ? rank - 1 : 1] = back ? 1 : rank - 1;
    return expand_transpose(node, x, perm);
}

/* op on the image x, with n's attributes. */
static Tensor *on_image(const Node *node, const char *op, Tensor *x, bool last)
{
    x = channels(node, x, last, false);
    Node *made = expand_of(node, op, x);
    expand_copy_attrs(made, node);
    return channels(node, expand_done(made), last, true);
}

static bool is_last(const Node *node)
{
    return node_flag(node, "channels_last", false);
}

/* Its zero point is added before it rounds, unlike QuantizeLinear's: ties fall another way. */
void expand_qlinear_average_pool(Node *node)
{
    Tensor *y = on_image(node, "AveragePool", real(node, 0), is_last(node));
    Tensor *zero = node_in(node, 4);
    const DType type = node_type(node);
    infer_shape(node, 3);
    y = expand_div(node, y, node->in[3]);
    if (zero)
        y = expand_add(node, y, expand_cast(node, zero, DT_F32));
    Tensor *scale = expand_number(node, 1.0, DT_F32);
    Tensor *none = expand_number(node, 0.0, type);
    expand_finish_one(
        node, expand_done(expand_of(node, "QuantizeLinear", y, scale, none)));
}

void expand_qlinear_global_average_pool(Node *node)
{
    expand_finish_one(node, quantized(node,
                                      on_image(node, "GlobalAveragePool",
                                               real(node, 0), is_last(node)),
                                      3, node_type(node)));
}

void expand_nhwc_max_pool(Node *node)
{
    infer_shape(node, 0);
    expand_finish_one(node, on_image(node, "MaxPool", node->in[0], true));
}

void expand_nhwc_conv(Node *node)
{
    infer_shape(node, 0);
    Node *made =
        expand_of(node, "Conv", channels(node, node->in[0], true, false),
                  node->in[1], node_in(node, 2));
    expand_copy_attrs(made, node);
    expand_finish_one(node, channels(node, expand_done(made), true, true));
}

void expand_ms_qlinear_conv(Node *node)
{
    infer_shape(node, 0);
    Tensor **in = arena_copy(node->graph->arena, node->in,
                             (size_t)node->n_in * sizeof *in);
    in[0] = channels(node, in[0], is_last(node), false);
    Node *made = expand_node(node, "QLinearConv", node->n_in, in, 1);
    expand_copy_attrs(made, node);
    expand_finish_one(node,
                      channels(node, expand_done(made), is_last(node), true));
}

/* Products. */

static Tensor *turned(const Node *node, Tensor *tensor, bool turn)
{
    static const int64_t perm[] = { 1, 0 };
    return turn ? expand_transpose(node, tensor, perm) : tensor;
}

static Tensor *integer_product(const Node *node, Tensor *a, Tensor *b,
                               Tensor *za, Tensor *zb)
{
    Tensor *in[] = { a, b, za, zb };
    int count = za ? 3 : 2;
    if (zb)
        count = 4;
    return expand_done(expand_node(node, "MatMulInteger", count, in, 1));
}

/* Sums times the scales of both factors and alpha; plus a bias. */
static Tensor *scaled(const Node *node, Tensor *sums, Tensor *sa, Tensor *sb,
                      float alpha, Tensor *bias)
{
    Tensor *scale = expand_mul(node, sa, sb);
    if (alpha < 1.0f || alpha > 1.0f)
        scale = expand_scaled(node, scale, (double)alpha);
    Tensor *wide = expand_cast(node, sums, DT_F32);
    Tensor *y = expand_mul(node, wide, scale);
    return bias ? expand_add(node, y, bias) : y;
}

/* Is all constant but the first factor, and the result quantized? */
static bool is_static_gemm(const Node *node)
{
    for (int i = 1; i < node->n_in; i++)
        if (node_in(node, i) && !node->in[i]->value)
            return false;
    return node_in(node, 7) && node->in[4]->shape.rank < 2;
}

static Tensor *dequantized(const Node *node, Tensor *x, Tensor *scale,
                           Tensor *zero, int axis)
{
    Tensor *in[] = { x, scale, zero };
    Node *made = expand_node(node, "DequantizeLinear", zero ? 3 : 2, in, 1);
    if (scale->shape.rank)
        node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* As the product of the numbers: the pass `quantize` makes an integer one of it. */
static Tensor *static_gemm(const Node *node)
{
    const float alpha = node_float(node, "alpha", 1.0f);
    const bool turned = node_flag(node, "transB", false);
    Tensor *scale = node->in[4];
    if (alpha < 1.0f || alpha > 1.0f)
        scale = expand_scaled(node, scale, (double)alpha);
    Tensor *in[] = { real(node, 0), NULL, node_in(node, 6) };
    in[1] = dequantized(node, node->in[3], scale, node_in(node, 5), !turned);
    if (in[2]) {
        Tensor *steps = expand_mul(node, node->in[1], scale);
        in[2] = dequantized(node, in[2], steps, NULL, in[2]->shape.rank - 1);
    }
    Node *made = expand_node(node, "Gemm", in[2] ? 3 : 2, in, 1);
    node_set_int(made, "transA", node_int(node, "transA", 0));
    node_set_int(made, "transB", turned);
    return expand_done(made);
}

/* As sums of integers, times scales that may be made when it runs. */
static Tensor *integer_gemm(const Node *node)
{
    Tensor *a = turned(node, node->in[0], node_flag(node, "transA", false));
    Tensor *b = turned(node, node->in[3], node_flag(node, "transB", false));
    Tensor *sums = integer_product(node, a, b, node->in[2], node->in[5]);
    const float alpha = node_float(node, "alpha", 1.0f);
    if (node_in(node, 6))
        sums = expand_add(node, sums, node->in[6]);
    return scaled(node, sums, node->in[1], node->in[4], alpha, NULL);
}

void expand_qgemm(Node *node)
{
    for (int i = 0; i < 2; i++)
        if (infer_shape(node, 3 * i)->rank != 2)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "multiplies matrices, not %d dimensions",
                      node->in[3 * i]->shape.rank);
    Tensor *y = is_static_gemm(node) ? static_gemm(node) : integer_gemm(node);
    if (node_in(node, 7))
        y = quantized(node, y, 7, node_type(node));
    expand_finish_one(node, y);
}

void expand_dynamic_quantize_matmul(Node *node)
{
    infer_shape(node, 0);
    Node *q = expand_node(node, "DynamicQuantizeLinear", 1, node->in, 3);
    Tensor *a = expand_done(q);
    Tensor *sums =
        integer_product(node, a, node->in[1], q->out[2], node_in(node, 3));
    expand_finish_one(node, scaled(node, sums, q->out[1], node->in[2], 1.0f,
                                   node_in(node, 4)));
}

/* Weights [D][inputs][4 H] of 8 bits as the standard's LSTM has them: float, [D][4 H][inputs].
 * Scale and zero point, operands `at` and at + 1, are for each direction or for each column. */
static Tensor *lstm_weights(const Node *node, int i, int at)
{
    const Shape *shape = infer_shape(node, i);
    const int64_t perm[] = { 0, 2, 1 };
    if (shape->rank != 3)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights have %d dimensions, not 3", shape->rank);
    Tensor *w = expand_cast(node, node->in[i], DT_F32);
    for (int k = 1; k >= 0; k--) {
        Tensor *tensor = node_in(node, at + k);
        if (!tensor)
            continue;
        const int64_t count = shape_count(infer_shape(node, at + k));
        const int64_t dims[] = { shape->dim[0], 1,
                                 count == shape->dim[0] ? 1 : shape->dim[2] };
        if (count != dims[0] * dims[2])
            fail_node(node, STATUS_MALFORMED, NULL,
                      "operand %d has %lld numbers", at + k, (long long)count);
        w = expand_binary(
            node, k ? "Sub" : "Mul", w,
            expand_reshape(node, expand_cast(node, tensor, DT_F32), 3, dims));
    }
    return expand_transpose(node, w, perm);
}

/* x and the state are rounded to 8 bits when it runs, x as a whole, the state at each step. */
void expand_dynamic_quantize_lstm(Node *node)
{
    infer_shape(node, 0);
    Node *q = expand_node(node, "DynamicQuantizeLinear", 1, node->in, 3);
    expand_done(q);
    Tensor *x = expand_done(
        expand_node(node, "DequantizeLinear", 3,
                    (Tensor *[]){ q->out[0], q->out[1], q->out[2] }, 1));
    Tensor *in[8] = { x, lstm_weights(node, 1, 8), lstm_weights(node, 2, 10) };
    for (int i = 3; i < 8; i++)
        in[i] = node_in(node, i);
    Node *made = expand_inlay_node(node, "LSTM", 8, in, 3);
    expand_copy_attrs(made, node);
    expand_done(made);
    expand_finish(node, node->n_out,
                  (Tensor *[]){ made->out[0], made->out[1], made->out[2] });
}

void expand_matmul_integer_to_float(Node *node)
{
    infer_shape(node, 0);
    Tensor *sums = integer_product(node, node->in[0], node->in[1],
                                   node_in(node, 4), node_in(node, 5));
    expand_finish_one(node, scaled(node, sums, node->in[2], node->in[3], 1.0f,
                                   node_in(node, 6)));
}

/* Weights of 2, 4 or 8 bits in blocks along K, packed [N][blocks][bytes of a block]. */
static Tensor *unpacked(const Node *node, int i, DType type, int rank,
                        const int64_t *dims)
{
    Store *s = node->graph->store;
    const Tensor *b = node->in[i];
    if (!b->value)
        fail_node(node, STATUS_UNSUPPORTED, "make the weights constants",
                  "its packed weights are made at run time");
    const Shape as = shape_of(rank, dims);
    if (dtype_bytes(type, shape_count(&as)) != recipe_bytes(b->value))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "operand %d has %lld bytes, not %lld", i,
                  (long long)recipe_bytes(b->value),
                  (long long)dtype_bytes(type, shape_count(&as)));
    return graph_add_constant(node->graph, NULL,
                              recipe_bits(s, b->value, type, rank, dims));
}

typedef struct Packed {
    int64_t bits, k, n, block, blocks;
    DType t;
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

static Packed packed_of(const Node *node)
{
    Packed packed = {
        .bits = node_int(node, "bits", 4),
        .k = node_int(node, "K", 0),
        .n = node_int(node, "N", 0),
        .block = node_int(node, "block_size", 0),
    };
    packed.t = packed_type(packed.bits);
    if (packed.t == DT_NONE || packed.k < 1 || packed.n < 1 || packed.block < 1)
        fail_node(node, STATUS_UNSUPPORTED, "2, 4 or 8 bits are supported",
                  "has %lld bits, a block of %lld", (long long)packed.bits,
                  (long long)packed.block);
    packed.blocks = i64_ceil_div(packed.k, packed.block);
    if (shape_count(infer_shape(node, 1)) * 8 !=
        packed.n * packed.blocks * packed.block * packed.bits)
        fail_node(node, STATUS_MALFORMED, NULL, "its weights have %lld bytes",
                  (long long)tensor_count(node->in[1]));
    return packed;
}

/* Zero points [N][blocks] of the weights' type: the given ones, whose rows are filled up to bytes,
 * or the middle. */
static Tensor *zero_points(const Node *node, const Packed *packed)
{
    const int64_t row =
        i64_ceil_div(packed->blocks * packed->bits, 8) * 8 / packed->bits;
    const int64_t stored[] = { packed->n, row };
    const int64_t dims[] = { packed->n, packed->blocks };
    if (node_in(node, 3) && node->in[3]->dtype == DT_U8)
        return expand_slice(node, unpacked(node, 3, packed->t, 2, stored), 1, 0,
                            packed->blocks);
    const uint8_t middle =
        (uint8_t)(node_in(node, 3) ? 0 : 1u << (packed->bits - 1));
    Recipe *recipe = recipe_cast(
        node->graph->store,
        recipe_fill(node->graph->store, DT_U8, 2, dims, &middle), packed->t);
    return graph_add_constant(node->graph, NULL, recipe);
}

static Tensor *gathered(const Node *node, Tensor *tensor, Tensor *index)
{
    Node *made = expand_of(node, "Gather", tensor, index);
    node_set_int(made, "axis", 1);
    return expand_done(made);
}

static Tensor *dequantized_blocks(const Node *node, Tensor *w, Tensor *scale,
                                  Tensor *zero, int64_t block)
{
    Node *q = expand_of(node, "DequantizeLinear", w, scale, zero);
    node_set_int(q, "axis", 1);
    node_set_int(q, "block_size", block);
    node_set_int(q, "output_dtype", DT_F32);
    return expand_done(q);
}

/* What zero points that are floats take off: the sums of a over each block times zero point and
 * scale, [..][blocks] x [blocks][N]. */
/* The sums of a over each block: [..][blocks]. */
static Tensor *block_sums(const Node *node, const Packed *packed, Tensor *a)
{
    const int64_t rank = a->shape.rank;
    const int64_t more = packed->blocks * packed->block - packed->k;
    Shape apart = a->shape;
    if (more) {
        int64_t pads[2 * MAX_RANK] = { 0 };
        pads[2 * rank - 1] = more;
        a = expand_binary(node, "Pad", a, expand_i64s(node, 2 * rank, pads));
    }
    apart.dim[rank - 1] = packed->blocks;
    apart.dim[apart.rank++] = packed->block;
    Tensor *blocks = expand_reshape(node, a, apart.rank, apart.dim);
    Node *sum = expand_of(node, "ReduceSum", blocks, expand_i64(node, rank));
    node_set_int(sum, "keepdims", 0);
    return expand_done(sum);
}

static Tensor *float_zeros(const Node *node, const Packed *packed, Tensor *a,
                           Tensor *scale)
{
    const DType type = a->dtype;
    const int64_t dims[] = { packed->n, packed->blocks };
    Tensor *sums = block_sums(node, packed, a);
    Tensor *given = expand_cast(node, node->in[3], type);
    Tensor *zero = expand_reshape(node, given, 2, dims);
    Tensor *wide = expand_cast(node, scale, type);
    Tensor *taken = expand_mul(node, zero, wide);
    return expand_matmul(node, sums, turned(node, taken, true));
}

/* Operand 4: the group of each of the K. */
static Tensor *groups_of(const Node *node, const Packed *packed, bool floats)
{
    if (floats || tensor_count(node->in[4]) < packed->k)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its group index does not fit");
    Tensor *all = expand_cast(node, node->in[4], DT_I64);
    return expand_slice(node, all, 0, 0, packed->k);
}

/* The weights as numbers, [N][K]. */
static Tensor *nbits_weights(const Node *node, const Packed *packed,
                             Tensor *scale, bool floats)
{
    const int64_t k = packed->k;
    const int64_t columns = i64_mul(packed->blocks, packed->block);
    const int64_t dims[] = { packed->n, columns };
    Tensor *weights = unpacked(node, 1, packed->t, 2, dims);
    Tensor *zero = zero_points(node, packed);
    if (!node_in(node, 4)) {
        Tensor *all =
            dequantized_blocks(node, weights, scale, zero, packed->block);
        return expand_slice(node, all, 1, 0, k);
    }
    Tensor *group = groups_of(node, packed, floats);
    Tensor *part = expand_slice(node, weights, 1, 0, k);
    Tensor *scales = gathered(node, scale, group);
    Tensor *zeros = gathered(node, zero, group);
    return dequantized_blocks(node, part, scales, zeros, 1);
}

/* The product of x and the weights, but for zero points that are floats. */
static Tensor *nbits_product(const Node *node, const Packed *packed, Tensor *x,
                             Tensor *scale, bool floats)
{
    Tensor *weights = nbits_weights(node, packed, scale, floats);
    weights = expand_cast(node, turned(node, weights, true), x->dtype);
    return expand_matmul(node, x, weights);
}

void expand_matmul_nbits(Node *node)
{
    const Packed packed = packed_of(node);
    const int64_t dims[] = { packed.n, packed.blocks };
    const bool floats = node_in(node, 3) && node->in[3]->dtype != DT_U8;
    const DType type = node_type(node);
    infer_shape(node, 0);
    Tensor *x = node->in[0];
    if (dtype_is_small_float(type))
        x = expand_cast(node, x, DT_F32);
    Tensor *scale = expand_reshape(node, node->in[2], 2, dims);
    Tensor *y = nbits_product(node, &packed, x, scale, floats);
    if (floats) {
        Tensor *zeros = float_zeros(node, &packed, x, scale);
        y = expand_sub(node, y, zeros);
    }
    if (node_in(node, 5)) {
        Tensor *bias = expand_cast(node, node->in[5], x->dtype);
        y = expand_add(node, y, bias);
    }
    expand_finish_one(node, expand_cast(node, y, type));
}
