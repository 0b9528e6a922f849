/* SPDX-License-Identifier: Apache-2.0
 * Reductions over axes, ArgMax, ArgMin, Softmax, LogSoftmax, Hardmax. */
#include "ops/reduce.h"

#include <float.h>
#include <string.h>

#include "base/size.h"
#include "kernels/pool.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"
#include "ops/families.h"
#include "ops/qstep.h"
#include "ops/nest.h"
#include "ops/values.h"

bool reduced_axes(const Node *node, bool *gone)
{
    const Shape *shape = infer_shape(node, 0);
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    const bool all = !node_int(node, "noop_with_empty_axes", 0);
    if (node_in(node, 1) && tensor_count(node->in[1]) &&
        !(axes = infer_ints(node, 1, &count)))
        return false;
    if (!axes)
        count = 0;
    for (int i = 0; i < shape->rank; i++)
        gone[i] = count == 0 && all;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(node, axes[i], shape->rank)] = true;
    return true;
}

void infer_reduce(Node *node)
{
    bool gone[MAX_RANK];
    const bool keep = node_flag(node, "keepdims", true);
    const Shape *in = infer_shape(node, 0);
    Shape shape = { .rank = 0 };
    if (!reduced_axes(node, gone)) {
        infer_declared(node, 0, node_type(node));
        return;
    }
    for (int i = 0; i < in->rank; i++)
        if (!gone[i] || keep)
            shape.dim[shape.rank++] = gone[i] ? 1 : in->dim[i];
    infer_out(node, 0, node_type(node), shape);
}

/* Kept or reduced loops of x, sizes of 1 dropped and neighbours joined. */
typedef struct Loops {
    int count;
    int64_t n[MAX_RANK];
    int64_t stride[MAX_RANK];
} Loops;

static void add_loop(Loops *loops, int64_t n, int64_t stride)
{
    const int last = loops->count - 1;
    if (last >= 0 && loops->stride[last] == i64_mul(n, stride)) {
        loops->n[last] = i64_mul(loops->n[last], n);
        loops->stride[last] = stride;
        return;
    }
    loops->n[loops->count] = n;
    loops->stride[loops->count++] = stride;
}

static void set_loops(const Loops *from, int32_t *count, int32_t *n,
                      int32_t *stride)
{
    *count = from->count ? from->count : 1;
    n[0] = 1;
    for (int i = 0; i < from->count; i++) {
        n[i] = i32_checked(from->n[i]);
        stride[i] = i32_checked(from->stride[i]);
    }
}

/* The loops over a shape from axis `first` on, and how many elements become one; true: the
 * innermost one is kept. */
static bool split_loops(const Shape *shape, int first, const bool *gone,
                        Loops *kept, Loops *reduced, int64_t *count)
{
    int64_t stride[MAX_RANK];
    bool columns = false;
    shape_strides(shape, stride);
    for (int i = first; i < shape->rank; i++) {
        const int64_t size = shape->dim[i];
        if (gone[i])
            *count = i64_mul(*count, size);
        if (size == 1)
            continue;
        add_loop(gone[i] ? reduced : kept, size, stride[i]);
        columns = !gone[i];
    }
    return columns;
}

/* The first axis within a row, where all axes that go are within one; else 0. */
static int first_within(const Shape *shape, const bool *gone)
{
    if (!shape_has_rows(shape))
        return 0;
    const int first = shape_row_axis(shape);
    for (int i = 0; i < first; i++)
        if (gone[i] && shape->dim[i] != 1)
            return 0;
    return first;
}

/* Rows of the result are made of rows of operand 1, of which axis `first` is the first within. */
static void reduce_by_rows(Step *step, int first)
{
    Operand *y = step->operand;
    Operand *x = step->operand + 1;
    if (!first)
        return;
    operand_image(x);
    operand_image(y);
    if (y->rows != x->rows)
        operand_rows(y, x->rows, 1);
    x->rule = (RowRule){ .kind = ROWS_SAME };
    step->units = x->rows;
}

void lower_reduce_axes(Lower *lower, const char *kernel, Tensor *out,
                       Tensor *in, const bool *gone)
{
    Loops kept = { .count = 0 };
    Loops reduced = { .count = 0 };
    int64_t count = 1;
    if (!tensor_count(out))
        return;
    const int first = first_within(&in->shape, gone);
    inlay_reduce_params params = {
        .columns =
            split_loops(&in->shape, first, gone, &kept, &reduced, &count),
    };
    params.count = i32_checked(count);
    set_loops(&kept, &params.kept, params.nk, params.sk);
    set_loops(&reduced, &params.reduced, params.nr, params.sr);
    Step *step = lower_step(lower, kernel, &params);
    step_out(step, out);
    step_in(step, in);
    reduce_by_rows(step, first);
}

/* Axes that are values: the kernel makes its loops from them and checks the result's shape. */
static void lower_reduce_values(Lower *lower, Node *node, const char *kernel,
                                Tensor *out, Tensor *in)
{
    Tensor *axes = lower_index(lower, node->in[1]);
    inlay_reduce_params params = {
        .values = 1,
        .kept = in->shape.rank,
        .axes = i32_checked(tensor_count(axes)),
        .none = node_flag(node, "noop_with_empty_axes", false),
    };
    shape_to_i32(&in->shape, params.nk);
    for (int i = 0; i < out->shape.rank; i++)
        if (out->shape.dim[i] != 1)
            params.nr[params.reduced++] = i32_checked(out->shape.dim[i]);
    if (!tensor_count(out))
        return;
    Step *s = lower_step(lower, kernel, &params);
    step_out(s, out);
    step_in(s, in);
    step_in(s, axes);
}

static void reduce_by_node(Lower *lower, Node *node, Tensor *out, Tensor *in)
{
    bool gone[MAX_RANK];
    const char *kernel = lower_kernel(lower, node->op->kernel, in->dtype);
    if (reduced_axes(node, gone))
        lower_reduce_axes(lower, kernel, out, in, gone);
    else
        lower_reduce_values(lower, node, kernel, out, in);
}

void lower_reduce(Lower *lower, Node *node)
{
    reduce_by_node(lower, node, node->out[0], node->in[0]);
}

/* The axes that go, [first, end), where they lie side by side, in front of others that stay, and
 * are not within a row. */
static bool goes_by_rows(const Shape *shape, const bool *gone, int *first,
                         int *end)
{
    int i = 0;
    while (i < shape->rank && !gone[i])
        i++;
    *first = i;
    while (i < shape->rank && gone[i])
        i++;
    *end = i;
    while (i < shape->rank && !gone[i])
        i++;
    return i == shape->rank && *end < i && shape_has_rows(shape) &&
           *first < shape_row_axis(shape);
}

/* Row by row into an accumulator, so that there need not be a row but the one that was made last;
 * false: not so. */
static bool lower_by_rows(Lower *lower, const Node *node, const char *kernel)
{
    bool gone[MAX_RANK];
    int first, end;
    const Tensor *x = node->in[0];
    const Shape *shape = &x->shape;
    if (x->dtype != DT_F32 || x->dynamic || !tensor_count(x))
        return false;
    if (!reduced_axes(node, gone) || !goes_by_rows(shape, gone, &first, &end))
        return false;
    const int last = end - 1 > first ? end - 1 : end;
    const inlay_globalpool_params params = {
        .rows = i32_checked(shape_product(shape, first, last)),
        .width = i32_checked(shape_product(shape, last, end)),
        .channels = i32_checked(shape_product(shape, end, shape->rank)),
    };
    const int64_t images = shape_product(shape, 0, first);
    lower_global(lower, kernel, images, &params);
    return true;
}

void lower_reduce_sum(Lower *lower, Node *node)
{
    if (!lower_by_rows(lower, node, "sum_rows_f32"))
        lower_reduce(lower, node);
}

void lower_reduce_mean(Lower *lower, Node *node)
{
    if (!lower_by_rows(lower, node, "mean_rows_f32"))
        lower_reduce(lower, node);
}

void lower_reduce_max(Lower *lower, Node *node)
{
    if (!lower_by_rows(lower, node, "max_rows_f32"))
        lower_reduce(lower, node);
}

/* Integer roots and logarithms go through float64. */
static Tensor *as_float(Lower *lower, Tensor *tensor)
{
    if (dtype_is_float(tensor->dtype))
        return tensor;
    Tensor *y = lower_temp(lower, DT_F64, tensor->shape);
    lower_cast(lower, y, tensor);
    return y;
}

void lower_reduce_root(Lower *lower, Node *node)
{
    Tensor *out = node->out[0];
    Tensor *x = as_float(lower, node->in[0]);
    Tensor *y = out;
    if (x != node->in[0])
        y = lower_temp(lower, DT_F64, out->shape);
    reduce_by_node(lower, node, y, x);
    if (y != out)
        lower_cast(lower, out, y);
}

Tensor *lower_reduced(Lower *lower, const char *op, Tensor *in,
                      const bool *gone)
{
    Shape kept = in->shape;
    for (int i = 0; i < kept.rank; i++)
        if (gone[i])
            kept.dim[i] = 1;
    Tensor *out = lower_temp(lower, in->dtype, kept);
    const char *kernel = lower_kernel(lower, op, in->dtype);
    lower_reduce_axes(lower, kernel, out, in, gone);
    return out;
}

static void log_sum_exp(Lower *lower, Tensor *out, Tensor *x, const bool *gone)
{
    const DType type = x->dtype;
    const double most = type == DT_F64 ? DBL_MAX : (double)FLT_MAX;
    Tensor *top = lower_reduced(lower, "reduce_max", x, gone);
    Tensor *finite = lower_temp(lower, type, top->shape);
    const char *clip = lower_kernel(lower, "clip", type);
    lower_flat(lower, clip, finite, top, -most, most);
    Tensor *below = lower_temp_binary(lower, "sub", x, finite, x->shape);
    Tensor *power = lower_temp_unary(lower, "exp", below);
    Tensor *sum = lower_reduced(lower, "reduce_sum", power, gone);
    Tensor *log = lower_temp_unary(lower, "log", sum);
    Tensor *y = lower_temp_binary(lower, "add", log, finite, log->shape);
    lower_view(lower, out, y, 0);
}

/* log(sum e^(x - m)) + m with m the maximum, kept finite; in one go where the axes are values. */
void lower_reduce_log_sum_exp(Lower *lower, Node *node)
{
    bool gone[MAX_RANK];
    Tensor *result = node->out[0];
    Tensor *x = as_float(lower, node->in[0]);
    Tensor *out = result;
    if (x->dtype != result->dtype)
        out = lower_temp(lower, x->dtype, result->shape);
    if (reduced_axes(node, gone))
        log_sum_exp(lower, out, x, gone);
    else
        reduce_by_node(lower, node, out, x);
    if (out != result)
        lower_cast(lower, result, out);
}

/* ArgMax, ArgMin */

static int arg_axis(const Node *node)
{
    return infer_axis(node, 0, infer_shape(node, 0)->rank);
}

void infer_arg(Node *node)
{
    const Shape *in = infer_shape(node, 0);
    const int axis = arg_axis(node);
    const bool keep = node_flag(node, "keepdims", true);
    Shape shape = { .rank = 0 };
    if (!in->dim[axis])
        fail_node(node, STATUS_MALFORMED, NULL, "axis %d is empty", axis);
    for (int i = 0; i < in->rank; i++)
        if (i != axis || keep)
            shape.dim[shape.rank++] = i == axis ? 1 : in->dim[i];
    infer_out(node, 0, DT_I64, shape);
}

void lower_arg(Lower *lower, Node *node)
{
    const Shape *shape = node_shape(node, 0);
    const int axis = arg_axis(node);
    bool gone[MAX_RANK] = { false };
    gone[axis] = true;
    const int first = first_within(shape, gone);
    const int behind = axis < first ? first : axis + 1; /* an axis of 1 */
    const inlay_arg_params params = {
        .outer = i32_checked(shape_product(shape, first, axis)),
        .n = i32_checked(shape->dim[axis]),
        .inner = i32_checked(shape_product(shape, behind, shape->rank)),
        .last = node_flag(node, "select_last_index", false),
    };
    if (!tensor_count(node->out[0]))
        return;
    const char *kernel = lower_kernel_of(lower);
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
    step_operand(step, 0);
    reduce_by_rows(step, first);
}

/* Softmax and kin: along one axis, or, until opset 12, along all axes from `axis` on. */
static Lines softmax_lines(const Node *node, bool *by_row)
{
    const Shape *s = node_shape(node, 0);
    const bool flattens = node->op->since < 13;
    const int64_t given = node_int(node, "axis", flattens ? 1 : -1);
    *by_row = false;
    if (!s->rank)
        return (Lines){ 1, 1, 1 };
    /* Where all axes from `axis` on are taken, there may be none: axis == rank. */
    const int more = flattens && given >= 0;
    const int axis = node_axis(node, given, s->rank + more);
    Lines lines = { .inner = 1 };
    if (flattens) {
        lines.outer = i32_checked(shape_product(s, 0, axis));
        lines.n = i32_checked(shape_product(s, axis, s->rank));
    } else
        lines = lines_along(s, axis);
    *by_row = shape_has_rows(s) && axis == s->rank - 1;
    if (*by_row)
        lines.outer = i32_checked(shape_row_pixels(s));
    return lines;
}

Step *lower_softmax_lines(Lower *lower, Node *node, const char *kernel)
{
    bool by_row;
    if (!tensor_count(node->out[0]))
        return NULL;
    const Lines lines = softmax_lines(node, &by_row);
    const inlay_softmax_params params = {
        .outer = lines.outer,
        .n = lines.n,
        .inner = lines.inner,
        .by_pixel = by_row,
    };
    Step *step = lower_step(lower, kernel, &params);
    Operand *y = step_result(step, 0);
    if (by_row)
        operand_image(y);
    step->units = y->rows;
    Operand *x = step_operand(step, 0);
    if (*node->op_type != 'L')
        x->reuse = REUSE_ELEMENTWISE;
    if (!by_row)
        return step;
    operand_image(x);
    x->rule = (RowRule){ .kind = ROWS_SAME };
    return step;
}

void lower_softmax(Lower *lower, Node *node)
{
    lower_softmax_lines(lower, node, lower_kernel_of(lower));
}
