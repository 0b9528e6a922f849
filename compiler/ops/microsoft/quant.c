/* SPDX-License-Identifier: Apache-2.0
 * Quantized operators of com.microsoft, as compositions: an elementwise operator becomes
 * DequantizeLinear, the operator, QuantizeLinear; a product becomes the standard's integer product
 * and a scale. */
#include <string.h>

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/window.h"

/* Operand i with the scale and zero point that follow it, as float. */
static Tensor *real(const Node *node, int i)
{
    Tensor *const *in = node->in + i;
    Tensor *zero = node_in(node, i + 2);
    infer_shape(node, i);
    infer_shape(node, i + 1);
    return expand_op(node, "DequantizeLinear", in[0], in[1], zero);
}

/* y quantized with the scale and the zero point, to type where there is none, is the result. */
static void finish_with(Node *node, Tensor *y, Tensor *scale, Tensor *zero,
                        DType type)
{
    Node *made = expand_of(node, "QuantizeLinear", y, scale, zero);
    if (!zero)
        node_set_int(made, "output_dtype", type);
    expand_finish_one(node, expand_done(made));
}

/* The same with the scale at operand i and the zero point after it. */
static void finish_as(Node *node, Tensor *y, int i, DType type)
{
    Tensor *scale = node->in[i];
    Tensor *zero = node_in(node, i + 1);
    infer_shape(node, i);
    finish_with(node, y, scale, zero, type);
}

/* The same of the type of operand 0. */
static void finish_quantized(Node *node, Tensor *y, int i)
{
    finish_as(node, y, i, node_type(node));
}

/* The same operator of the standard. */
void expand_same_operator(Node *node)
{
    Node *made =
        expand_node(node, node->op_type, node->n_in, node->in, node->n_out);
    expand_copy_attrs(made, node);
    expand_done(made);
    expand_finish(node, made->n_out, made->out);
}

static void expand_quantized_binary(Node *node, const char *op)
{
    Tensor *a = real(node, 0);
    Tensor *b = real(node, 3);
    Tensor *y = expand_binary(node, op, a, b);
    finish_quantized(node, y, 6);
}

/* Operand i, whose scale is a constant, in steps of `by`. */
static Tensor *in_steps(const Node *node, int i, Tensor *by)
{
    Tensor *const *in = node->in + i;
    Tensor *zero = node_in(node, i + 2);
    Tensor *ratio = expand_binary(node, "Div", in[1], by);
    infer_shape(node, i);
    return expand_op(node, "DequantizeLinear", in[0], ratio, zero);
}

/* ONNX Runtime adds in steps of the result: where one of the scales is half of that, as for
 * erf(x) + 1, the middle between two codes is exact. */
void expand_qlinear_add(Node *node)
{
    Tensor *by = node->in[6];
    if (!node->in[1]->value || !node->in[4]->value || !by->value) {
        expand_quantized_binary(node, "Add");
        return;
    }
    Tensor *a = in_steps(node, 0, by);
    Tensor *b = in_steps(node, 3, by);
    Tensor *one = expand_number(node, 1.0, by->dtype);
    Tensor *y = expand_binary(node, "Add", a, b);
    finish_with(node, y, one, node_in(node, 7), node_type(node));
}

void expand_qlinear_mul(Node *node)
{
    expand_quantized_binary(node, "Mul");
}

void expand_qlinear_sigmoid(Node *node)
{
    Tensor *x = real(node, 0);
    Tensor *y = expand_unary(node, "Sigmoid", x);
    finish_quantized(node, y, 3);
}

void expand_qlinear_leaky_relu(Node *node)
{
    const float alpha = node_float(node, "alpha", 0.01f);
    Tensor *x = real(node, 0);
    Node *made = expand_of(node, "LeakyRelu", x);
    node_set_float(made, "alpha", alpha);
    finish_quantized(node, expand_done(made), 3);
}

/* Bytes of a softmax are multiples of 1 / floor(1 / scale), as ONNX Runtime makes them, whose
 * operator this is: a scale a little above 1 / 256 counts as 1 / 255. */
static Tensor *softmax_scale(Node *node, Tensor *scale)
{
    Tensor *steps = expand_unary(node, "Reciprocal", scale);
    Tensor *whole = expand_unary(node, "Floor", steps);
    return expand_unary(node, "Reciprocal", whole);
}

/* Until opset 12 a softmax runs over all dimensions from the axis on. */
void expand_qlinear_softmax(Node *node)
{
    const int rank = infer_shape(node, 0)->rank;
    const int axis = infer_axis(node, -1, rank);
    const DType type = node_type(node);
    const bool flat = node_int(node, "opset", 13) < 13;
    Tensor *x = real(node, 0);
    Tensor *y = flat ? expand_flat_softmax(node, x, axis)
                     : expand_softmax_along(node, x, axis);
    Tensor *zero = node_in(node, 4);
    Tensor *scale = node->in[3];
    infer_shape(node, 3);
    scale = softmax_scale(node, scale);
    finish_with(node, y, scale, zero, type);
}

void expand_qlinear_reduce_mean(Node *node)
{
    int64_t count;
    const int64_t *axis = node_ints(node, "axes", &count);
    Tensor *x = real(node, 0);
    Tensor *axes = NULL;
    if (count)
        axes = expand_i64s(node, count, axis);
    Node *made = expand_of(node, "ReduceMean", x, axes);
    node_set_int(made, "keepdims", node_int(node, "keepdims", 1));
    finish_quantized(node, expand_done(made), 3);
}

void expand_qlinear_where(Node *node)
{
    const DType type = node->in[1]->dtype;
    Tensor *a = real(node, 1);
    Tensor *b = real(node, 4);
    Tensor *y = expand_where(node, node->in[0], a, b);
    finish_as(node, y, 7, type);
}

void expand_qlinear_concat(Node *node)
{
    const int operands = node->n_in - 2;
    const int parts = operands / 3;
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, parts);
    if (operands < 3 || operands % 3)
        fail_node(node, STATUS_MALFORMED, NULL, "has %d inputs", node->n_in);
    for (int i = 0; i < parts; i++)
        in[i] = real(node, 2 + 3 * i);
    Node *made = expand_node(node, "Concat", parts, in, 1);
    node_set_int(made, "axis", node_int(node, "axis", 0));
    finish_as(node, expand_done(made), 0, node->in[2]->dtype);
}

/* An image with channels last becomes one of the standard. */
static Tensor *channels_first(const Node *node, Tensor *x, bool last)
{
    const int rank = x->shape.rank;
    int64_t perm[MAX_RANK] = { 0 };
    if (!last || rank < 3)
        return x;
    perm[1] = rank - 1;
    for (int i = 2; i < rank; i++)
        perm[i] = i - 1;
    return expand_transpose(node, x, perm);
}

/* The way back. */
static Tensor *channels_back(const Node *node, Tensor *x, bool last)
{
    const int rank = x->shape.rank;
    int64_t perm[MAX_RANK] = { 0 };
    if (!last || rank < 3)
        return x;
    for (int i = 1; i < rank - 1; i++)
        perm[i] = i + 1;
    perm[rank - 1] = 1;
    return expand_transpose(node, x, perm);
}

/* What `made`, with the attributes of `node`, makes of an image of the standard. */
static Tensor *of_image(const Node *node, Node *made, bool last)
{
    expand_copy_attrs(made, node);
    Tensor *y = expand_done(made);
    return channels_back(node, y, last);
}

/* op on the image x. */
static Tensor *on_image(const Node *node, const char *op, Tensor *x, bool last)
{
    Tensor *image = channels_first(node, x, last);
    Node *made = expand_of(node, op, image);
    return of_image(node, made, last);
}

static bool is_last(const Node *node)
{
    return node_flag(node, "channels_last", false);
}

/* Where padding counts, the sums are divided by all of the kernel, also those of windows that
 * rounding up lets reach beyond the padding, as AveragePool does not: more padding takes these in.
 */
static void pad_whole_windows(Node *pool)
{
    int64_t pads[2 * WINDOW_DIMS];
    int64_t count;
    const int64_t *taps = window_kernel_shape(pool, &count);
    const Window window = window_of(pool, taps);
    const int first = WINDOW_DIMS - window.spatial;
    for (int i = 0; i < window.spatial && first + i < WINDOW_DIMS; i++) {
        const WindowAxis *axis = window.axis + first + i;
        const int64_t begin = (axis->out - 1) * axis->stride - axis->pad;
        const int64_t end = begin + axis->kernel - axis->in;
        pads[i] = axis->pad;
        pads[window.spatial + i] = i64_max(end, 0);
    }
    node_set_string(pool, "auto_pad", "NOTSET");
    node_set_ints(pool, "pads", 2 * window.spatial, pads);
    node_set_int(pool, "ceil_mode", 0);
}

static Tensor *average(const Node *node, Tensor *x)
{
    const bool last = is_last(node);
    Tensor *image = channels_first(node, x, last);
    Node *pool = expand_of(node, "AveragePool", image);
    expand_copy_attrs(pool, node);
    if (node_int(node, "ceil_mode", 0) &&
        node_int(node, "count_include_pad", 0))
        pad_whole_windows(pool);
    return channels_back(node, expand_done(pool), last);
}

/* Its zero point is added before it rounds, unlike QuantizeLinear's: ties fall another way. */
void expand_qlinear_average_pool(Node *node)
{
    Tensor *x = real(node, 0);
    Tensor *y = average(node, x);
    Tensor *zero = node_in(node, 4);
    infer_shape(node, 3);
    y = expand_div(node, y, node->in[3]);
    if (zero) {
        Tensor *more = expand_cast(node, zero, DT_F32);
        y = expand_add(node, y, more);
    }
    Tensor *scale = expand_number(node, 1.0, DT_F32);
    Tensor *none = expand_number(node, 0.0, node_type(node));
    y = expand_op(node, "QuantizeLinear", y, scale, none);
    expand_finish_one(node, y);
}

void expand_qlinear_global_average_pool(Node *node)
{
    Tensor *x = real(node, 0);
    Tensor *y = on_image(node, "GlobalAveragePool", x, is_last(node));
    finish_quantized(node, y, 3);
}

void expand_nhwc_max_pool(Node *node)
{
    infer_shape(node, 0);
    Tensor *y = on_image(node, "MaxPool", node->in[0], true);
    expand_finish_one(node, y);
}

void expand_nhwc_conv(Node *node)
{
    infer_shape(node, 0);
    Tensor *x = channels_first(node, node->in[0], true);
    Tensor *bias = node_in(node, 2);
    Node *made = expand_of(node, "Conv", x, node->in[1], bias);
    Tensor *y = of_image(node, made, true);
    expand_finish_one(node, y);
}

void expand_ms_qlinear_conv(Node *node)
{
    const bool last = is_last(node);
    infer_shape(node, 0);
    Tensor **in = arena_copy(node->graph->arena, node->in,
                             (size_t)node->n_in * sizeof *in);
    in[0] = channels_first(node, in[0], last);
    Node *made = expand_node(node, "QLinearConv", node->n_in, in, 1);
    Tensor *y = of_image(node, made, last);
    expand_finish_one(node, y);
}

/* Products. */

/* Sums of integers times their scale. */
static Tensor *scaled(const Node *node, Tensor *sums, Tensor *scale)
{
    Tensor *wide = expand_cast(node, sums, DT_F32);
    return expand_mul(node, wide, scale);
}

/* With operand i, where it is given. */
static Tensor *biased(const Node *node, Tensor *y, int i)
{
    Tensor *bias = node_in(node, i);
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
    Node *made = expand_of(node, "DequantizeLinear", x, scale, zero);
    if (scale->shape.rank)
        node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* The bias, which has the steps of the sums, as numbers. */
static Tensor *gemm_bias(const Node *node, Tensor *scale)
{
    Tensor *bias = node_in(node, 6);
    if (!bias)
        return NULL;
    Tensor *steps = expand_mul(node, node->in[1], scale);
    const int last = bias->shape.rank - 1;
    return dequantized(node, bias, steps, NULL, last);
}

/* As the product of the numbers: the pass `quantize` makes an integer one of it. */
static Tensor *static_gemm(const Node *node)
{
    const bool turned = node_flag(node, "transB", false);
    Tensor *zero = node_in(node, 5);
    Tensor *scale = expand_times_alpha(node, node->in[4]);
    Tensor *x = real(node, 0);
    Tensor *w = dequantized(node, node->in[3], scale, zero, !turned);
    Tensor *bias = gemm_bias(node, scale);
    Node *made = expand_of(node, "Gemm", x, w, bias);
    node_set_int(made, "transA", node_int(node, "transA", 0));
    node_set_int(made, "transB", turned);
    return expand_done(made);
}

/* Operand i, turned where the attribute says so. */
static Tensor *gemm_factor(const Node *node, int i, const char *attribute)
{
    Tensor *factor = node->in[i];
    if (node_flag(node, attribute, false))
        return expand_turn(node, factor);
    return factor;
}

/* As sums of integers, times scales that may be made when it runs. */
static Tensor *integer_gemm(const Node *node)
{
    Tensor *const *in = node->in;
    Tensor *a = gemm_factor(node, 0, "transA");
    Tensor *b = gemm_factor(node, 3, "transB");
    Tensor *sums = expand_op(node, "MatMulInteger", a, b, in[2], in[5]);
    sums = biased(node, sums, 6);
    Tensor *scale = expand_mul(node, in[1], in[4]);
    scale = expand_times_alpha(node, scale);
    return scaled(node, sums, scale);
}

static void require_matrix(const Node *node, int i)
{
    const int rank = infer_shape(node, i)->rank;
    if (rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "multiplies matrices, not %d dimensions", rank);
}

void expand_qgemm(Node *node)
{
    require_matrix(node, 0);
    require_matrix(node, 3);
    Tensor *y = is_static_gemm(node) ? static_gemm(node) : integer_gemm(node);
    if (node_in(node, 7))
        finish_quantized(node, y, 7);
    else
        expand_finish_one(node, y);
}

/* Operand 0 as bytes, their scale and their zero point. */
static Tensor *const *bytes_of(const Node *node)
{
    infer_shape(node, 0);
    Node *made = expand_node(node, "DynamicQuantizeLinear", 1, node->in, 3);
    expand_done(made);
    return made->out;
}

void expand_dynamic_quantize_matmul(Node *node)
{
    Tensor *const *x = bytes_of(node);
    Tensor *w = node->in[1];
    Tensor *zero = node_in(node, 3);
    Tensor *sums = expand_op(node, "MatMulInteger", x[0], w, x[2], zero);
    Tensor *scale = expand_mul(node, x[1], node->in[2]);
    Tensor *y = scaled(node, sums, scale);
    y = biased(node, y, 4);
    expand_finish_one(node, y);
}

void expand_matmul_integer_to_float(Node *node)
{
    Tensor *const *in = node->in;
    Tensor *a_zero = node_in(node, 4);
    Tensor *b_zero = node_in(node, 5);
    infer_shape(node, 0);
    Tensor *sums =
        expand_op(node, "MatMulInteger", in[0], in[1], a_zero, b_zero);
    Tensor *scale = expand_mul(node, in[2], in[3]);
    Tensor *y = scaled(node, sums, scale);
    y = biased(node, y, 6);
    expand_finish_one(node, y);
}
