/* SPDX-License-Identifier: Apache-2.0
 * Selections and sequences: OneHot, EyeLike, Compress, NonZero, Trilu, ReverseSequence, TopK,
 * Unique, CumSum, CumProd, Range, Det. The sizes of Compress, NonZero and Unique are known when the
 * model runs (ops/dynamic.h); elsewhere the shape the file declares is taken and checked then. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/einsum.h"
#include "kernels/order.h"
#include "kernels/select.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/moved.h"
#include "ops/nest.h"
#include "ops/values.h"

/* OneHot: inputs indices, depth, values. */
static int onehot_axis(const Node *node)
{
    return infer_axis(node, -1, infer_shape(node, 0)->rank + 1);
}

void infer_onehot(Node *node)
{
    const Shape *k = infer_shape(node, 0);
    const int axis = onehot_axis(node);
    int64_t count;
    const double *depth = tensor_doubles(node->graph, node->in[1], &count);
    infer_rank(node, k->rank + 1);
    const DType type = node->in[2]->dtype;
    Shape shape = { .rank = k->rank + 1 };
    for (int i = 0; i < k->rank; i++)
        shape.dim[i < axis ? i : i + 1] = k->dim[i];
    shape.dim[axis] = -1;
    if (!depth || count != 1) {
        infer_declared_as(node, 0, type, shape);
        return;
    }
    if (!(*depth >= 0 && *depth < 0x1p31))
        fail_node(node, STATUS_MALFORMED, NULL, "depth is %g", *depth);
    shape.dim[axis] = (int64_t)*depth;
    infer_out(node, 0, type, shape);
}

void lower_onehot(Lower *lower, Node *node)
{
    const Shape *k = node_shape(node, 0);
    const int axis = onehot_axis(node);
    Tensor *y = move_target(lower, node->out[0]);
    if (!tensor_count(y))
        return;
    lower_check_dims(lower, node, 1, 1, y->shape.dim + axis);
    Tensor *index = lower_index(lower, node->in[0]);
    Tensor *values = move_source(lower, node->in[2]);
    const inlay_onehot_params params = {
        .outer = i32_checked(shape_product(k, 0, axis)),
        .depth = i32_checked(y->shape.dim[axis]),
        .inner = i32_checked(shape_product(k, axis, k->rank)),
        .size = dtype_bits(y->dtype) / 8,
    };
    Step *s = lower_step(lower, "onehot", &params);
    step_out(s, y);
    step_in(s, index);
    step_in(s, values);
    move_finish(lower, node->out[0], y);
}

/* EyeLike: the shape of its input, attribute dtype or the input's type. */
void infer_eyelike(Node *node)
{
    const Attr *a = node_attr(node, "dtype");
    const Shape *shape = infer_shape(node, 0);
    const DType type = a ? dtype_of_code(a->i) : node_type(node);
    if (shape->rank != 2 || type == DT_NONE || type == DT_STRING)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "needs a matrix and a numeric type");
    infer_out(node, 0, type, *shape);
}

/* Where the ones of a matrix with k as its diagonal lie. */
static Move diagonal(int64_t rows, int64_t columns, int64_t k)
{
    const int64_t at = i64_max(-rows, i64_min(k, columns));
    const int64_t top = i64_max(0, -at);
    const int64_t left = i64_max(0, at);
    const int64_t length = i64_max(0, i64_min(rows - top, columns - left));
    return (Move){
        .rank = 1,
        .n = { length },
        .y = { columns + 1 },
        .x = { 0 },
        .y0 = length ? i64_add(i64_mul(top, columns), left) : 0,
    };
}

void lower_eyelike(Lower *lower, Node *node)
{
    const DType type = node->out[0]->dtype;
    Tensor *y = move_target(lower, node->out[0]);
    const Move move =
        diagonal(y->shape.dim[0], y->shape.dim[1], node_int(node, "k", 0));
    Tensor *zero = lower_number(lower, type, 0.0);
    lower_fill(lower, y, move_source(lower, zero));
    Tensor *one = lower_number(lower, type, 1.0);
    one = move_source(lower, one);
    Step *step = lower_move(lower, y, one, &move);
    if (step)
        step->operand[0].read = true;
    move_finish(lower, node->out[0], y);
}

/* Operand 0 along the attribute `axis`; without one it is flat. */
typedef struct Along {
    Shape shape;
    int axis;
} Along;

static Along along_axis(const Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    if (!node_attr(node, "axis"))
        return (Along){ .shape = shape_vector(shape_count(shape)) };
    return (Along){
        .shape = *shape,
        .axis = infer_axis(node, 0, shape->rank),
    };
}

/* Compress: inputs data, condition. */
void infer_compress(Node *node)
{
    Along along = along_axis(node);
    int64_t *size = along.shape.dim + along.axis;
    int64_t count;
    const double *given = tensor_doubles(node->graph, node->in[1], &count);
    if (!given) {
        *size = i64_min(*size, tensor_count(node->in[1]));
        const Shape bound = dynamic_bound(node, 0, along.shape);
        infer_out(node, 0, node_type(node), bound);
        dynamic_out(node, 0, along.axis);
        return;
    }
    const int64_t most = i64_min(count, *size);
    *size = 0;
    for (int64_t i = 0; i < most; i++)
        *size += given[i] > 0;
    infer_out(node, 0, node_type(node), along.shape);
}

/* Of elements of so many bytes. */
static inlay_compress_params compress_params(const Node *node, int bytes)
{
    const Along along = along_axis(node);
    const Shape *shape = &along.shape;
    const int axis = along.axis;
    const int64_t outer = shape_product(shape, 0, axis);
    const int64_t inner = shape_product(shape, axis + 1, shape->rank);
    const int64_t size = shape->dim[axis];
    const int64_t given = i64_min(size, tensor_count(node->in[1]));
    return (inlay_compress_params){
        .outer = i32_checked(outer),
        .n = i32_checked(size),
        .given = i32_checked(given),
        .kept = i32_checked(node->out[0]->shape.dim[axis]),
        .run = i64_mul(inner, bytes),
    };
}

void lower_compress(Lower *lower, Node *node)
{
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    if (!tensor_count(y) && !node->counts)
        return;
    const int bytes = dtype_bits(x->dtype) / 8;
    const inlay_compress_params params = compress_params(node, bytes);
    Step *s = lower_step(lower, "compress", &params);
    step_out(s, y);
    step_out(s, node_count(node));
    step_in(s, x);
    step_operand(s, 1);
    move_finish(lower, node->out[0], y);
}

/* The values come when the model runs. */
static void infer_nonzero_value(Node *node, int64_t axes, int64_t elements)
{
    const int64_t most[] = { axes, elements };
    const Shape bound = dynamic_bound(node, 0, shape_of(2, most));
    if (bound.dim[0] != axes)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with %lld rows, its input has "
                  "%lld axes",
                  (long long)bound.dim[0], (long long)axes);
    infer_out(node, 0, DT_I64, bound);
    dynamic_out(node, 0, 1);
}

static int64_t count_nonzero(const double *value, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool zero = value[i] >= 0 && value[i] <= 0;
        count += !zero;
    }
    return count;
}

void infer_nonzero(Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    const int64_t axes = shape->rank ? shape->rank : 1;
    int64_t count;
    const double *value = tensor_doubles(node->graph, node->in[0], &count);
    if (!value) {
        infer_nonzero_value(node, axes, shape_count(shape));
        return;
    }
    const int64_t dims[] = { axes, count_nonzero(value, count) };
    infer_out(node, 0, DT_I64, shape_of(2, dims));
}

/* Integers and bool are looked at as unsigned of their width. */
static const char *nonzero_kernel(Lower *lower, DType type)
{
    if (dtype_is_float(type))
        return lower_kernel(lower, "nonzero", type);
    return arena_printf(lower->arena, "nonzero_u%d", dtype_bits(type));
}

void lower_nonzero(Lower *lower, Node *node)
{
    const Shape *s = node_shape(node, 0);
    inlay_nonzero_params params = {
        .rank = s->rank ? s->rank : 1,
        .n = { 1 },
    };
    if (!tensor_count(node->out[0]) && !node->counts)
        return;
    if (!tensor_count(node->in[0])) {
        lower_clear(lower, node_count(node));
        return;
    }
    params.room = i32_checked(node->out[0]->shape.dim[1]);
    shape_to_i32(s, params.n);
    Step *step =
        lower_step(lower, nonzero_kernel(lower, node_type(node)), &params);
    step_result(step, 0);
    step_out(step, node_count(node));
    step_operand(step, 0);
}

void lower_trilu(Lower *lower, Node *node)
{
    const Shape *shape = node_shape(node, 0);
    const int rank = shape->rank;
    if (rank < 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its input is of rank %d",
                  rank);
    if (!tensor_count(node->out[0]))
        return;
    const Moved moved = moved_new(lower, node);
    const inlay_trilu_params params = {
        .outer = i32_checked(shape_product(shape, 0, rank - 2)),
        .h = i32_checked(shape->dim[rank - 2]),
        .w = i32_checked(shape->dim[rank - 1]),
        .size = (int32_t)moved.size,
        .upper = node_flag(node, "upper", true),
    };
    Step *step = lower_step(lower, "trilu", &params);
    step_out(step, moved.y);
    step_in(step, moved.x)->reuse = REUSE_ELEMENTWISE;
    step_in(step, moved.index);
    move_finish(lower, node->out[0], moved.y);
}

static void check_reverse_sequence(const Node *node, const Shape *shape)
{
    const int64_t time = node_int(node, "time_axis", 0);
    const int64_t batch = node_int(node, "batch_axis", 1);
    const int64_t lengths = tensor_count(node->in[1]);
    if (shape->rank < 2 || time + batch != 1 || time < 0 || batch < 0)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "time_axis %lld, batch_axis %lld", (long long)time,
                  (long long)batch);
    if (lengths != shape->dim[batch])
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld lengths for a batch of %lld", (long long)lengths,
                  (long long)shape->dim[batch]);
}

void lower_reverse_sequence(Lower *lower, Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    check_reverse_sequence(node, shape);
    if (!tensor_count(node->out[0]))
        return;
    const Moved moved = moved_new(lower, node);
    const int64_t inner = shape_product(shape, 2, shape->rank);
    const inlay_reverse_sequence_params params = {
        .a = i32_checked(shape->dim[0]),
        .b = i32_checked(shape->dim[1]),
        .time_first = node_int(node, "time_axis", 0) == 0,
        .run = i64_mul(inner, moved.size),
    };
    moved_step(lower, node, &moved, "reverse_sequence", &params);
}

/* TopK: k is an attribute until opset 9, then operand 1. */
static int topk_axis(const Node *node)
{
    return infer_axis(node, -1, infer_shape(node, 0)->rank);
}

/* Does the axis have a size that is known only when the model runs, and can it be filled up? */
static bool is_open(const Tensor *tensor, int axis)
{
    return tensor->dynamic == 1u << axis && dtype_is_float(tensor->dtype);
}

/* The operand k of a node, between 0 and the size of the axis. */
static Tensor *clamped_k(Node *node, Tensor *size)
{
    const int64_t one = 1;
    Tensor *k = expand_cast(node, node->in[1], DT_I64);
    k = expand_reshape(node, k, 1, &one);
    k = expand_binary(node, "Max", k, expand_i64(node, 0));
    return expand_binary(node, "Min", k, size);
}

/* k or the size of the axis is a value: all are put in order, of which the first k count. What lies
 * beyond the real size comes last. */
static void expand_topk(Node *node, int axis)
{
    const bool largest = node_flag(node, "largest", true);
    const double last = largest ? -(double)INFINITY : (double)INFINITY;
    Tensor *x = node->in[0];
    Tensor *bound = expand_i64(node, x->shape.dim[axis]);
    Tensor *size = bound;
    if (is_open(x, axis)) {
        size = dynamic_size(node, x, axis);
        x = dynamic_filled(node, x, axis, last);
    }
    Tensor *k = clamped_k(node, size);
    Tensor *in[] = { x, bound };
    Node *all = expand_node(node, "TopK", 2, in, 2);
    expand_copy_attrs(all, node);
    expand_done(all);
    dynamic_cut(node, 2, all->out, axis, k);
    expand_finish(node, 2, all->out);
}

/* k is a value, and so are the sizes of the results. */
static void infer_topk_value(Node *node, Shape shape, int axis)
{
    const Tensor *values = node->out[0];
    const int64_t size = shape.dim[axis];
    if (!shape_known(values->declared)) {
        expand_topk(node, axis);
        return;
    }
    shape.dim[axis] = -1;
    infer_declared_as(node, 0, node_type(node), shape);
    infer_require(node, 0, values->shape.dim[axis] <= size);
    infer_out(node, 1, DT_I64, values->shape);
}

void infer_topk(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int axis = topk_axis(node);
    const int64_t attribute = node_int(node, "k", -1);
    const bool by_input = node->op->since >= 10;
    if (by_input && is_open(node->in[0], axis)) {
        expand_topk(node, axis);
        return;
    }
    const int64_t *k = by_input ? infer_number(node, 1) : &attribute;
    if (!k) {
        infer_topk_value(node, shape, axis);
        return;
    }
    if (*k < 0 || *k > shape.dim[axis])
        fail_node(node, STATUS_MALFORMED, NULL, "k is %lld of %lld",
                  (long long)*k, (long long)shape.dim[axis]);
    shape.dim[axis] = *k;
    infer_out(node, 0, node_type(node), shape);
    infer_out(node, 1, DT_I64, shape);
}

void lower_topk(Lower *lower, Node *node)
{
    const Shape *to = result_shape(node, 0);
    const int axis = topk_axis(node);
    if (!tensor_count(node->out[0]))
        return;
    if (node->op->since >= 10)
        lower_check_dims(lower, node, 1, 1, to->dim + axis);
    Tensor *index = node_out(node, 1);
    if (!index)
        index = lower_temp(lower, DT_I64, *to);
    const Lines lines = lines_along(node_shape(node, 0), axis);
    const inlay_topk_params params = {
        .outer = lines.outer,
        .n = lines.n,
        .inner = lines.inner,
        .k = i32_checked(to->dim[axis]),
        .largest = node_flag(node, "largest", true),
    };
    Step *step = lower_typed_step(lower, "topk", &params);
    step_result(step, 0);
    step_out(step, index);
    step_operand(step, 0);
}

void infer_unique(Node *node)
{
    const Along along = along_axis(node);
    const int axis = along.axis;
    const Shape y = dynamic_bound(node, 0, along.shape);
    const Shape found = shape_vector(y.dim[axis]);
    const Shape given = shape_vector(along.shape.dim[axis]);
    infer_out(node, 0, node_type(node), y);
    infer_out(node, 1, DT_I64, found);
    infer_out(node, 2, DT_I64, given);
    infer_out(node, 3, DT_I64, found);
    dynamic_out(node, 0, axis);
    for (int i = 1; i < node->n_out - 1; i += 2)
        dynamic_like(node, i, 0, 0);
}

static inlay_unique_params unique_params(const Node *node)
{
    const Along along = along_axis(node);
    const Lines lines = lines_along(&along.shape, along.axis);
    const Shape *to = result_shape(node, 0);
    return (inlay_unique_params){
        .outer = lines.outer,
        .n = lines.n,
        .inner = lines.inner,
        .sorted = node_flag(node, "sorted", true),
        .found = i32_checked(to->dim[along.axis]),
    };
}

void lower_unique(Lower *lower, Node *node)
{
    const inlay_unique_params params = unique_params(node);
    const int results = node->n_out - node->counts;
    const int64_t each = 2 * (int64_t)sizeof(int32_t);
    Step *step = lower_typed_step(lower, "unique", &params);
    step_result(step, 0);
    step_out(step, node_count(node));
    for (int i = 1; i < 4; i++)
        step_out(step, i < results ? node->out[i] : NULL);
    step_operand(step, 0);
    step_scratch(lower, step, i64_mul(params.n, each));
}

void lower_cumulate(Lower *lower, Node *node)
{
    const Shape *shape = node_shape(node, 0);
    int64_t count;
    const int64_t *axis = infer_ints(node, 1, &count);
    if (axis && count != 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its axis has %lld elements",
                  (long long)count);
    inlay_cumulate_params params = {
        .rank = shape->rank,
        .axis = axis ? node_axis(node, axis[0], shape->rank) : -1,
        .exclusive = node_flag(node, "exclusive", false),
        .reverse = node_flag(node, "reverse", false),
    };
    if (!tensor_count(node->out[0]))
        return;
    shape_to_i32(shape, params.n);
    Tensor *value = axis ? NULL : lower_index(lower, node->in[1]);
    const char *kernel = lower_kernel_of(lower);
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
    step_operand(step, 0)->reuse = REUSE_ELEMENTWISE;
    step_in(step, value);
}

/* The one number that operand i is; false: it is known only when the model runs. */
static bool constant_number(const Node *node, int i, double *number)
{
    int64_t count;
    const double *value = tensor_doubles(node->graph, node->in[i], &count);
    if (!value || count != 1)
        return false;
    *number = *value;
    return true;
}

void infer_range(Node *node)
{
    const DType type = node_type(node);
    double start;
    double end;
    double step;
    if (!constant_number(node, 0, &start) || !constant_number(node, 1, &end) ||
        !constant_number(node, 2, &step)) {
        infer_declared_as(node, 0, type, shape_vector(-1));
        return;
    }
    const double count = ceil((end - start) / step);
    if (!(fabs(step) > 0) || !(count < 0x1p31))
        fail_node(node, STATUS_MALFORMED, NULL, "from %g to %g by %g", start,
                  end, step);
    const int64_t numbers = count > 0 ? (int64_t)count : 0;
    infer_out(node, 0, type, shape_vector(numbers));
}

void lower_range(Lower *lower, Node *node)
{
    const int64_t numbers = tensor_count(node->out[0]);
    const inlay_range_params params = { .n = i32_checked(numbers) };
    if (!numbers)
        return;
    Step *step = lower_typed_step(lower, "range", &params);
    step_result(step, 0);
    for (int i = 0; i < 3; i++)
        step_operand(step, i);
}

/* Det, and Inverse of com.microsoft: square matrices [...][n][n]. */
static const Shape *square_shape(const Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    const int64_t *end = shape->dim + shape->rank;
    if (shape->rank < 2 || end[-1] != end[-2])
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its input is no square matrix");
    return shape;
}

void infer_inverse(Node *node)
{
    infer_out(node, 0, node_type(node), *square_shape(node));
}

void infer_det(Node *node)
{
    const Shape *shape = square_shape(node);
    infer_out(node, 0, node_type(node), shape_of(shape->rank - 2, shape->dim));
}

static void lower_matrices(Lower *lower, Node *node, const char *kernel)
{
    const Shape *shape = node_shape(node, 0);
    const int batch = shape->rank - 2;
    const int64_t size = shape->dim[batch];
    const int64_t elements = i64_mul(size, size);
    const int64_t bytes = dtype_bytes(node_type(node), elements);
    const inlay_det_params params = {
        .batch = i32_checked(shape_product(shape, 0, batch)),
        .n = i32_checked(size),
    };
    if (!tensor_count(node->out[0]))
        return;
    Step *step = lower_typed_step(lower, kernel, &params);
    step_result(step, 0);
    step_operand(step, 0);
    step_scratch(lower, step, i64_max(8, bytes));
}

void lower_det(Lower *lower, Node *node)
{
    lower_matrices(lower, node, "det");
}
void lower_inverse(Lower *lower, Node *node)
{
    lower_matrices(lower, node, "inverse");
}
