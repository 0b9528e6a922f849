/* SPDX-License-Identifier: Apache-2.0
 * Quantized operators of com.microsoft, as compositions: an elementwise operator becomes
 * DequantizeLinear, the operator, QuantizeLinear; a product becomes the standard's integer product
 * and a scale. */
#include <string.h>

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

/* Operand i with the scale and zero point that follow it, as float. */
static Tensor *real(const Node *n, int i)
{
    infer_shape(n, i);
    infer_shape(n, i + 1);
    Tensor *in[] = { n->in[i], n->in[i + 1], node_in(n, i + 2) };
    return expand_done(expand_node(n, "DequantizeLinear", in[2] ? 3 : 2, in, 1));
}

/* y quantized with the scale at operand i and the zero point after it, to type t where there is
 * none. */
static Tensor *quantized(const Node *n, Tensor *y, int i, DType t)
{
    infer_shape(n, i);
    Tensor *in[] = { y, n->in[i], node_in(n, i + 1) };
    Node *q = expand_node(n, "QuantizeLinear", in[2] ? 3 : 2, in, 1);
    if (!in[2])
        node_set_int(q, "output_dtype", t);
    return expand_done(q);
}

static void finish(Node *n, Tensor *y)
{
    expand_finish(n, 1, &y);
}

/* The same operator of the standard. */
void expand_same_operator(Node *n)
{
    Node *made = expand_node(n, n->op_type, n->n_in, n->in, n->n_out);
    expand_copy_attrs(made, n);
    expand_done(made);
    Tensor **result = arena_copy(n->graph->arena, made->out, (size_t)made->n_out * sizeof *result);
    expand_finish(n, n->n_out, result);
}

static void expand_quantized_binary(Node *n, const char *op)
{
    Tensor *a = real(n, 0);
    finish(n, quantized(n, expand_binary(n, op, a, real(n, 3)), 6, n->in[0]->dtype));
}

void expand_qlinear_add(Node *n)
{
    expand_quantized_binary(n, "Add");
}
void expand_qlinear_mul(Node *n)
{
    expand_quantized_binary(n, "Mul");
}

void expand_qlinear_sigmoid(Node *n)
{
    finish(n, quantized(n, expand_unary(n, "Sigmoid", real(n, 0)), 3, n->in[0]->dtype));
}

void expand_qlinear_leaky_relu(Node *n)
{
    Tensor *x = real(n, 0);
    Node *made = expand_node(n, "LeakyRelu", 1, &x, 1);
    node_set_float(made, "alpha", node_float(n, "alpha", 0.01f));
    finish(n, quantized(n, expand_done(made), 3, n->in[0]->dtype));
}

/* Until opset 12 a softmax runs over all dimensions from the axis on. */
void expand_qlinear_softmax(Node *n)
{
    const Shape s = *infer_shape(n, 0);
    const int axis = node_axis(n, node_int(n, "axis", -1), s.rank);
    const bool flat = node_int(n, "opset", 13) < 13;
    Tensor *x = real(n, 0);
    if (flat) {
        int64_t dims[2] = { 1, 1 };
        for (int i = 0; i < s.rank; i++)
            dims[i >= axis] = i64_mul(dims[i >= axis], s.dim[i]);
        x = expand_reshape(n, x, 2, dims);
    }
    Node *made = expand_node(n, "Softmax", 1, &x, 1);
    node_set_int(made, "axis", flat ? 1 : axis);
    finish(n,
           quantized(n, expand_reshape(n, expand_done(made), s.rank, s.dim), 3, n->in[0]->dtype));
}

void expand_qlinear_reduce_mean(Node *n)
{
    int64_t count;
    const int64_t *axes = node_ints(n, "axes", &count);
    Tensor *in[] = { real(n, 0), count ? expand_i64s(n, count, axes) : NULL };
    Node *made = expand_node(n, "ReduceMean", count ? 2 : 1, in, 1);
    node_set_int(made, "keepdims", node_int(n, "keepdims", 1));
    finish(n, quantized(n, expand_done(made), 3, n->in[0]->dtype));
}

void expand_qlinear_where(Node *n)
{
    Tensor *in[] = { n->in[0], real(n, 1), real(n, 4) };
    finish(n, quantized(n, expand_done(expand_node(n, "Where", 3, in, 1)), 7, n->in[1]->dtype));
}

void expand_qlinear_concat(Node *n)
{
    const int parts = (n->n_in - 2) / 3;
    Tensor **in = NEW_ARRAY(n->graph->arena, Tensor *, parts);
    if (n->n_in < 5 || (n->n_in - 2) % 3)
        fail_node(n, STATUS_MALFORMED, NULL, "has %d inputs", n->n_in);
    for (int i = 0; i < parts; i++)
        in[i] = real(n, 2 + 3 * i);
    Node *made = expand_node(n, "Concat", parts, in, 1);
    node_set_int(made, "axis", node_int(n, "axis", 0));
    finish(n, quantized(n, expand_done(made), 0, n->in[2]->dtype));
}

/* Images with channels last become those of the standard, and back. */
static Tensor *channels(const Node *n, Tensor *x, bool last, bool back)
{
    const int rank = x->shape.rank;
    int64_t perm[MAX_RANK] = { 0 };
    if (!last || rank < 3)
        return x;
    for (int i = 1; i < rank; i++)
        perm[i] = back ? (i == rank - 1 ? 1 : i + 1) : i == 1 ? rank - 1 : i - 1;
    return expand_transpose(n, x, perm);
}

/* op on the image x, with n's attributes. */
static Tensor *on_image(const Node *n, const char *op, Tensor *x, bool last)
{
    x = channels(n, x, last, false);
    Node *made = expand_node(n, op, 1, &x, 1);
    expand_copy_attrs(made, n);
    return channels(n, expand_done(made), last, true);
}

static bool is_last(const Node *n)
{
    return node_int(n, "channels_last", 0) != 0;
}

/* Its zero point is added before it rounds, unlike QuantizeLinear's: ties fall another way. */
void expand_qlinear_average_pool(Node *n)
{
    Tensor *y = on_image(n, "AveragePool", real(n, 0), is_last(n)), *zero = node_in(n, 4);
    const DType t = n->in[0]->dtype;
    infer_shape(n, 3);
    y = expand_binary(n, "Div", y, n->in[3]);
    if (zero)
        y = expand_binary(n, "Add", y, expand_cast(n, zero, DT_F32));
    Tensor *in[] = { y, expand_number(n, 1.0, DT_F32), expand_number(n, 0.0, t) };
    finish(n, expand_done(expand_node(n, "QuantizeLinear", 3, in, 1)));
}

void expand_qlinear_global_average_pool(Node *n)
{
    finish(n, quantized(n, on_image(n, "GlobalAveragePool", real(n, 0), is_last(n)), 3,
                        n->in[0]->dtype));
}

void expand_nhwc_max_pool(Node *n)
{
    infer_shape(n, 0);
    finish(n, on_image(n, "MaxPool", n->in[0], true));
}

void expand_nhwc_conv(Node *n)
{
    infer_shape(n, 0);
    Tensor *in[] = { channels(n, n->in[0], true, false), n->in[1], node_in(n, 2) };
    Node *made = expand_node(n, "Conv", in[2] ? 3 : 2, in, 1);
    expand_copy_attrs(made, n);
    finish(n, channels(n, expand_done(made), true, true));
}

void expand_ms_qlinear_conv(Node *n)
{
    infer_shape(n, 0);
    Tensor **in = arena_copy(n->graph->arena, n->in, (size_t)n->n_in * sizeof *in);
    in[0] = channels(n, in[0], is_last(n), false);
    Node *made = expand_node(n, "QLinearConv", n->n_in, in, 1);
    expand_copy_attrs(made, n);
    finish(n, channels(n, expand_done(made), is_last(n), true));
}

/* Products. */

static Tensor *turned(const Node *n, Tensor *t, bool turn)
{
    return turn ? expand_transpose(n, t, (const int64_t[]){ 1, 0 }) : t;
}

static Tensor *integer_product(const Node *n, Tensor *a, Tensor *b, Tensor *za, Tensor *zb)
{
    Tensor *in[] = { a, b, za, zb };
    return expand_done(expand_node(n, "MatMulInteger", zb ? 4 : za ? 3 : 2, in, 1));
}

/* Sums times the scales of both factors and alpha; plus a bias. */
static Tensor *scaled(const Node *n, Tensor *sums, Tensor *sa, Tensor *sb, float alpha,
                      Tensor *bias)
{
    Tensor *scale = expand_binary(n, "Mul", sa, sb);
    if (alpha < 1.0f || alpha > 1.0f)
        scale = expand_binary(n, "Mul", scale, expand_number(n, (double)alpha, DT_F32));
    Tensor *y = expand_binary(n, "Mul", expand_cast(n, sums, DT_F32), scale);
    return bias ? expand_binary(n, "Add", y, bias) : y;
}

void expand_qgemm(Node *n)
{
    for (int i = 0; i < 2; i++)
        if (infer_shape(n, 3 * i)->rank != 2)
            fail_node(n, STATUS_MALFORMED, NULL, "multiplies matrices, not %d dimensions",
                      n->in[3 * i]->shape.rank);
    Tensor *a = turned(n, n->in[0], node_int(n, "transA", 0) != 0),
           *b = turned(n, n->in[3], node_int(n, "transB", 0) != 0);
    Tensor *sums = integer_product(n, a, b, n->in[2], n->in[5]);
    if (node_in(n, 6))
        sums = expand_binary(n, "Add", sums, n->in[6]);
    Tensor *y = scaled(n, sums, n->in[1], n->in[4], node_float(n, "alpha", 1.0f), NULL);
    finish(n, node_in(n, 7) ? quantized(n, y, 7, n->in[0]->dtype) : y);
}

void expand_dynamic_quantize_matmul(Node *n)
{
    infer_shape(n, 0);
    Node *q = expand_node(n, "DynamicQuantizeLinear", 1, n->in, 3);
    Tensor *a = expand_done(q), *sums = integer_product(n, a, n->in[1], q->out[2], node_in(n, 3));
    finish(n, scaled(n, sums, q->out[1], n->in[2], 1.0f, node_in(n, 4)));
}

/* Weights [D][inputs][4 H] of 8 bits as the standard's LSTM has them: float, [D][4 H][inputs].
 * Scale and zero point, operands `at` and at + 1, are for each direction or for each column. */
static Tensor *lstm_weights(const Node *n, int i, int at)
{
    const Shape *s = infer_shape(n, i);
    const int64_t perm[] = { 0, 2, 1 };
    if (s->rank != 3)
        fail_node(n, STATUS_MALFORMED, NULL, "its weights have %d dimensions, not 3", s->rank);
    Tensor *w = expand_cast(n, n->in[i], DT_F32);
    for (int k = 1; k >= 0; k--) {
        Tensor *t = node_in(n, at + k);
        if (!t)
            continue;
        const int64_t count = shape_count(infer_shape(n, at + k)),
                      dims[] = { s->dim[0], 1, count == s->dim[0] ? 1 : s->dim[2] };
        if (count != dims[0] * dims[2])
            fail_node(n, STATUS_MALFORMED, NULL, "operand %d has %lld numbers", at + k,
                      (long long)count);
        w = expand_binary(n, k ? "Sub" : "Mul", w,
                          expand_reshape(n, expand_cast(n, t, DT_F32), 3, dims));
    }
    return expand_transpose(n, w, perm);
}

/* x and the state are rounded to 8 bits when it runs, x as a whole, the state at each step. */
void expand_dynamic_quantize_lstm(Node *n)
{
    infer_shape(n, 0);
    Node *q = expand_node(n, "DynamicQuantizeLinear", 1, n->in, 3);
    expand_done(q);
    Tensor *x = expand_done(
        expand_node(n, "DequantizeLinear", 3, (Tensor *[]){ q->out[0], q->out[1], q->out[2] }, 1));
    Tensor *in[8] = { x, lstm_weights(n, 1, 8), lstm_weights(n, 2, 10) };
    for (int i = 3; i < 8; i++)
        in[i] = node_in(n, i);
    Node *made = expand_inlay_node(n, "LSTM", 8, in, 3);
    expand_copy_attrs(made, n);
    expand_done(made);
    expand_finish(n, n->n_out, (Tensor *[]){ made->out[0], made->out[1], made->out[2] });
}

void expand_matmul_integer_to_float(Node *n)
{
    infer_shape(n, 0);
    Tensor *sums = integer_product(n, n->in[0], n->in[1], node_in(n, 4), node_in(n, 5));
    finish(n, scaled(n, sums, n->in[2], n->in[3], 1.0f, node_in(n, 6)));
}

/* Weights of 2, 4 or 8 bits in blocks along K, packed [N][blocks][bytes of a block]. */
static Tensor *unpacked(const Node *n, int i, DType t, int rank, const int64_t *dims)
{
    Store *s = n->graph->store;
    const Tensor *b = n->in[i];
    if (!b->value)
        fail_node(n, STATUS_UNSUPPORTED, "make the weights constants",
                  "its packed weights are made at run time");
    const Shape as = shape_of(rank, dims);
    if (dtype_bytes(t, shape_count(&as)) != recipe_bytes(b->value))
        fail_node(n, STATUS_MALFORMED, NULL, "operand %d has %lld bytes, not %lld", i,
                  (long long)recipe_bytes(b->value), (long long)dtype_bytes(t, shape_count(&as)));
    return graph_add_constant(n->graph, NULL, recipe_bits(s, b->value, t, rank, dims));
}

typedef struct Packed {
    int64_t bits, k, n, block, blocks;
    DType t;
} Packed;

static Packed packed_of(const Node *n)
{
    Packed p = { .bits = node_int(n, "bits", 4),
                 .k = node_int(n, "K", 0),
                 .n = node_int(n, "N", 0),
                 .block = node_int(n, "block_size", 0) };
    p.t = p.bits == 2 ? DT_U2 : p.bits == 4 ? DT_U4 : p.bits == 8 ? DT_U8 : DT_NONE;
    if (p.t == DT_NONE || p.k < 1 || p.n < 1 || p.block < 1)
        fail_node(n, STATUS_UNSUPPORTED, "2, 4 or 8 bits are supported",
                  "has %lld bits, a block of %lld", (long long)p.bits, (long long)p.block);
    p.blocks = i64_ceil_div(p.k, p.block);
    if (shape_count(infer_shape(n, 1)) * 8 != p.n * p.blocks * p.block * p.bits)
        fail_node(n, STATUS_MALFORMED, NULL, "its weights have %lld bytes",
                  (long long)tensor_count(n->in[1]));
    return p;
}

/* Zero points [N][blocks] of the weights' type: the given ones, whose rows are filled up to bytes,
 * or the middle. */
static Tensor *zero_points(const Node *n, const Packed *p)
{
    const int64_t row = i64_ceil_div(p->blocks * p->bits, 8) * 8 / p->bits,
                  stored[] = { p->n, row }, dims[] = { p->n, p->blocks };
    if (node_in(n, 3) && n->in[3]->dtype == DT_U8)
        return expand_slice(n, unpacked(n, 3, p->t, 2, stored), 1, 0, p->blocks);
    const uint8_t middle = (uint8_t)(node_in(n, 3) ? 0 : 1u << (p->bits - 1));
    Recipe *r =
        recipe_cast(n->graph->store, recipe_fill(n->graph->store, DT_U8, 2, dims, &middle), p->t);
    return graph_add_constant(n->graph, NULL, r);
}

static Tensor *gathered(const Node *n, Tensor *t, Tensor *index)
{
    Tensor *in[] = { t, index };
    Node *made = expand_node(n, "Gather", 2, in, 1);
    node_set_int(made, "axis", 1);
    return expand_done(made);
}

static Tensor *dequantized_blocks(const Node *n, Tensor *w, Tensor *scale, Tensor *zero,
                                  int64_t block)
{
    Tensor *in[] = { w, scale, zero };
    Node *q = expand_node(n, "DequantizeLinear", 3, in, 1);
    node_set_int(q, "axis", 1);
    node_set_int(q, "block_size", block);
    return expand_done(q);
}

/* What zero points that are floats take off: the sums of a over each block times zero point and
 * scale, [..][blocks] x [blocks][N]. */
static Tensor *float_zeros(const Node *n, const Packed *p, Tensor *a, Tensor *scale)
{
    const DType t = a->dtype;
    const int64_t last = a->shape.rank, more = p->blocks * p->block - p->k;
    Shape apart = a->shape;
    if (more) {
        int64_t pads[2 * MAX_RANK] = { 0 };
        pads[2 * last - 1] = more;
        a = expand_binary(n, "Pad", a, expand_i64s(n, 2 * last, pads));
    }
    apart.dim[last - 1] = p->blocks;
    apart.dim[apart.rank++] = p->block;
    Tensor *in[] = { expand_reshape(n, a, apart.rank, apart.dim), expand_i64s(n, 1, &last) };
    Node *sum = expand_node(n, "ReduceSum", 2, in, 1);
    node_set_int(sum, "keepdims", 0);
    Tensor *zero =
        expand_reshape(n, expand_cast(n, n->in[3], t), 2, (const int64_t[]){ p->n, p->blocks });
    return expand_binary(n, "MatMul", expand_done(sum),
                         turned(n, expand_binary(n, "Mul", zero, expand_cast(n, scale, t)), true));
}

void expand_matmul_nbits(Node *n)
{
    const Packed p = packed_of(n);
    const int64_t dims[] = { p.n, i64_mul(p.blocks, p.block) };
    const bool floats = node_in(n, 3) && n->in[3]->dtype != DT_U8;
    Tensor *weights = unpacked(n, 1, p.t, 2, dims),
           *scale = expand_reshape(n, n->in[2], 2, (const int64_t[]){ p.n, p.blocks }),
           *zero = zero_points(n, &p), *w;
    infer_shape(n, 0);
    if (node_in(n, 4)) { /* the group of each of the K */
        if (floats || tensor_count(n->in[4]) < p.k)
            fail_node(n, STATUS_UNSUPPORTED, NULL, "its group index does not fit");
        Tensor *group = expand_slice(n, expand_cast(n, n->in[4], DT_I64), 0, 0, p.k);
        w = dequantized_blocks(n, expand_slice(n, weights, 1, 0, p.k), gathered(n, scale, group),
                               gathered(n, zero, group), 1);
    } else
        w = expand_slice(n, dequantized_blocks(n, weights, scale, zero, p.block), 1, 0, p.k);
    Tensor *y =
        expand_binary(n, "MatMul", n->in[0], expand_cast(n, turned(n, w, true), n->in[0]->dtype));
    if (floats)
        y = expand_binary(n, "Sub", y, float_zeros(n, &p, n->in[0], scale));
    finish(n, node_in(n, 5) ? expand_binary(n, "Add", y, n->in[5]) : y);
}
