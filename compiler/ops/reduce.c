/* SPDX-License-Identifier: Apache-2.0
 * Reductions over axes, ArgMax, ArgMin, Softmax, LogSoftmax, Hardmax. */
#include "ops/reduce.h"

#include <float.h>
#include <string.h>

#include "base/size.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

/* Which axes go, by attribute or operand 1; none named: all, or none where noop_with_empty_axes
 * says so. False: the list is a value at run time. */
static bool reduced_axes(const Node *n, bool *gone)
{
    const Shape *s = infer_shape(n, 0);
    int64_t count;
    const int64_t *axes = node_ints(n, "axes", &count);
    const bool all = !node_int(n, "noop_with_empty_axes", 0);
    if (node_in(n, 1) && tensor_count(n->in[1]) && !(axes = infer_ints(n, 1, &count)))
        return false;
    if (!axes)
        count = 0;
    for (int i = 0; i < s->rank; i++)
        gone[i] = count == 0 && all;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(n, axes[i], s->rank)] = true;
    return true;
}

void infer_reduce(Node *n)
{
    bool gone[MAX_RANK];
    const bool keep = node_int(n, "keepdims", 1) != 0;
    const Shape *in = infer_shape(n, 0);
    Shape s = { .rank = 0 };
    if (!reduced_axes(n, gone)) {
        infer_declared(n, 0, n->in[0]->dtype);
        return;
    }
    for (int i = 0; i < in->rank; i++)
        if (!gone[i] || keep)
            s.dim[s.rank++] = gone[i] ? 1 : in->dim[i];
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* Kept and reduced loops of x, sizes of 1 dropped and neighbours joined. */
typedef struct Loops {
    int count;
    int64_t n[MAX_RANK], stride[MAX_RANK];
} Loops;

static void add_loop(Loops *l, int64_t n, int64_t stride)
{
    Loops *const last = l;
    const int k = l->count - 1;
    if (k >= 0 && last->stride[k] == i64_mul(n, stride)) {
        last->n[k] = i64_mul(last->n[k], n);
        last->stride[k] = stride;
        return;
    }
    l->n[l->count] = n;
    l->stride[l->count++] = stride;
}

static void set_loops(const Loops *from, int32_t *count, int32_t *n, int32_t *stride)
{
    *count = from->count ? from->count : 1;
    n[0] = 1;
    for (int i = 0; i < from->count; i++) {
        n[i] = i32_checked(from->n[i]);
        stride[i] = i32_checked(from->stride[i]);
    }
}

void lower_reduce_axes(Lower *l, Node *n, const char *kernel, Tensor *out, Tensor *in,
                       const bool *gone)
{
    const Shape *s = &in->shape;
    int64_t stride[MAX_RANK], count = 1;
    Loops kept = { .count = 0 }, reduced = { .count = 0 };
    bool columns = false;
    if (!tensor_count(out))
        return;
    shape_strides(s, stride);
    for (int i = 0; i < s->rank; i++) {
        if (gone[i])
            count = i64_mul(count, s->dim[i]);
        if (s->dim[i] == 1)
            continue;
        add_loop(gone[i] ? &reduced : &kept, s->dim[i], stride[i]);
        columns = !gone[i];
    }
    inlay_reduce_params p = { .columns = columns, .count = i32_checked(count) };
    set_loops(&kept, &p.kept, p.nk, p.sk);
    set_loops(&reduced, &p.reduced, p.nr, p.sr);
    Step *step = lower_step(l, n, kernel, &p);
    step_out(step, out);
    step_in(step, in);
}

/* ReduceSum is reduce_sum, ReduceLogSumExp is reduce_log_sum_exp. */
static const struct {
    const char *op, *kernel;
} reduce_rows[] = {
    { "ReduceL1", "reduce_l1" },          { "ReduceL2", "reduce_l2" },
    { "ReduceLogSum", "reduce_log_sum" }, { "ReduceLogSumExp", "reduce_log_sum_exp" },
    { "ReduceMax", "reduce_max" },        { "ReduceMean", "reduce_mean" },
    { "ReduceMin", "reduce_min" },        { "ReduceProd", "reduce_prod" },
    { "ReduceSum", "reduce_sum" },        { "ReduceSumSquare", "reduce_sum_square" },
};

static const char *reduce_kernel(const Node *n)
{
    for (size_t i = 0; i < sizeof reduce_rows / sizeof *reduce_rows; i++)
        if (!strcmp(reduce_rows[i].op, n->op_type))
            return reduce_rows[i].kernel;
    fail_node(n, STATUS_INTERNAL, NULL, "no row in the table of reductions");
}

/* Axes that are values: the kernel makes its loops from them and checks the result's shape. */
static void lower_reduce_values(Lower *l, Node *n, const char *kernel, Tensor *out, Tensor *in)
{
    Tensor *axes = lower_index(l, n, n->in[1]);
    inlay_reduce_params p = { .values = 1,
                              .kept = in->shape.rank,
                              .axes = i32_checked(tensor_count(axes)),
                              .none = node_int(n, "noop_with_empty_axes", 0) != 0 };
    for (int i = 0; i < in->shape.rank; i++)
        p.nk[i] = i32_checked(in->shape.dim[i]);
    for (int i = 0; i < out->shape.rank; i++)
        if (out->shape.dim[i] != 1)
            p.nr[p.reduced++] = i32_checked(out->shape.dim[i]);
    if (!tensor_count(out))
        return;
    Step *s = lower_step(l, n, kernel, &p);
    step_out(s, out);
    step_in(s, in);
    step_in(s, axes);
}

static void reduce_by_node(Lower *l, Node *n, Tensor *out, Tensor *in)
{
    bool gone[MAX_RANK];
    const char *kernel = lower_kernel(l, reduce_kernel(n), in->dtype);
    if (reduced_axes(n, gone))
        lower_reduce_axes(l, n, kernel, out, in, gone);
    else
        lower_reduce_values(l, n, kernel, out, in);
}

void lower_reduce(Lower *l, Node *n)
{
    reduce_by_node(l, n, n->out[0], n->in[0]);
}

/* Integer roots and logarithms go through float64. */
static Tensor *as_float(Lower *l, Node *n, Tensor *t)
{
    if (dtype_is_float(t->dtype))
        return t;
    Tensor *y = lower_temp(l, DT_F64, t->shape);
    lower_cast(l, n, y, t, true, 0);
    return y;
}

void lower_reduce_root(Lower *l, Node *n)
{
    Tensor *x = as_float(l, n, n->in[0]),
           *y = x == n->in[0] ? n->out[0] : lower_temp(l, DT_F64, n->out[0]->shape);
    reduce_by_node(l, n, y, x);
    if (y != n->out[0])
        lower_cast(l, n, n->out[0], y, true, 0);
}

/* log(sum e^(x - m)) + m with m the maximum, kept finite; in one go where the axes are values. */
void lower_reduce_log_sum_exp(Lower *l, Node *n)
{
    bool gone[MAX_RANK];
    Tensor *x = as_float(l, n, n->in[0]);
    const DType t = x->dtype;
    Shape keep = x->shape;
    Tensor *out = t == n->out[0]->dtype ? n->out[0] : lower_temp(l, t, n->out[0]->shape);
    if (!reduced_axes(n, gone)) {
        reduce_by_node(l, n, out, x);
        if (out != n->out[0])
            lower_cast(l, n, n->out[0], out, true, 0);
        return;
    }
    for (int i = 0; i < keep.rank; i++)
        if (gone[i])
            keep.dim[i] = 1;
    Tensor *top = lower_temp(l, t, keep), *m = lower_temp(l, t, keep),
           *d = lower_temp(l, t, x->shape), *e = lower_temp(l, t, x->shape);
    Tensor *sum = lower_temp(l, t, keep), *log = lower_temp(l, t, keep),
           *y = lower_temp(l, t, keep);
    lower_reduce_axes(l, n, lower_kernel(l, "reduce_max", t), top, x, gone);
    lower_flat(l, n, lower_kernel(l, "clip", t), m, top, t == DT_F64 ? -DBL_MAX : (double)-FLT_MAX,
               t == DT_F64 ? DBL_MAX : (double)FLT_MAX);
    lower_nd2(l, n, lower_kernel(l, "sub", t), d, x, m);
    lower_flat(l, n, lower_kernel(l, "exp", t), e, d, 0, 0);
    lower_reduce_axes(l, n, lower_kernel(l, "reduce_sum", t), sum, e, gone);
    lower_flat(l, n, lower_kernel(l, "log", t), log, sum, 0, 0);
    lower_nd2(l, n, lower_kernel(l, "add", t), y, log, m);
    lower_view(l, n, out, y, 0);
    if (out != n->out[0])
        lower_cast(l, n, n->out[0], out, true, 0);
}

/* ArgMax, ArgMin */

static int arg_axis(const Node *n)
{
    return node_axis(n, node_int(n, "axis", 0), infer_shape(n, 0)->rank);
}

void infer_arg(Node *n)
{
    const Shape *in = infer_shape(n, 0);
    const int axis = arg_axis(n);
    const bool keep = node_int(n, "keepdims", 1) != 0;
    Shape s = { .rank = 0 };
    if (!in->dim[axis])
        fail_node(n, STATUS_MALFORMED, NULL, "axis %d is empty", axis);
    for (int i = 0; i < in->rank; i++)
        if (i != axis || keep)
            s.dim[s.rank++] = i == axis ? 1 : in->dim[i];
    infer_out(n, 0, DT_I64, s);
}

void lower_arg(Lower *l, Node *n)
{
    const int axis = arg_axis(n);
    const Shape *s = &n->in[0]->shape;
    const inlay_arg_params p = { .outer = i32_checked(shape_product(s, 0, axis)),
                                 .n = i32_checked(s->dim[axis]),
                                 .inner = i32_checked(shape_product(s, axis + 1, s->rank)),
                                 .last = node_int(n, "select_last_index", 0) != 0 };
    if (!tensor_count(n->out[0]))
        return;
    Step *step = lower_step(
        l, n,
        lower_kernel(l, n->op_type[3] == 'M' && n->op_type[4] == 'a' ? "argmax" : "argmin",
                     n->in[0]->dtype),
        &p);
    step_out(step, n->out[0]);
    step_in(step, n->in[0]);
}

/* Softmax and kin: along one axis, or, until opset 12, along all axes from `axis` on. */
static void softmax_lines(const Node *n, inlay_softmax_params *p, bool *by_row)
{
    const Shape *s = &n->in[0]->shape;
    const bool flattens = n->op->since < 13;
    const int64_t given = node_int(n, "axis", flattens ? 1 : -1);
    /* Where all axes from `axis` on are taken, there may be none: axis == rank. */
    const int axis = s->rank ? node_axis(n, given, s->rank + (flattens && given >= 0)) : 0;
    *by_row = shape_has_rows(s) && axis == s->rank - 1;
    *p = (inlay_softmax_params){ .outer = 1, .n = 1, .inner = 1, .by_pixel = *by_row };
    if (!s->rank)
        return;
    p->outer = i32_checked(*by_row ? shape_row_pixels(s) : shape_product(s, 0, axis));
    p->n = i32_checked(flattens ? shape_product(s, axis, s->rank) : s->dim[axis]);
    p->inner = flattens ? 1 : i32_checked(shape_product(s, axis + 1, s->rank));
}

void lower_softmax(Lower *l, Node *n)
{
    inlay_softmax_params p;
    bool by_row;
    if (!tensor_count(n->out[0]))
        return;
    softmax_lines(n, &p, &by_row);
    const char *kernel = *n->op_type == 'S'   ? "softmax"
                         : *n->op_type == 'L' ? "log_softmax"
                                              : "hardmax";
    Step *step = lower_step(l, n, lower_kernel(l, kernel, n->in[0]->dtype), &p);
    Operand *y = step_out(step, n->out[0]);
    if (by_row)
        operand_image(y);
    step->units = y->rows;
    Operand *x = step_in(step, n->in[0]);
    if (*n->op_type != 'L')
        x->reuse = REUSE_ELEMENTWISE;
    if (!by_row)
        return;
    operand_image(x);
    x->rule = (RowRule){ .kind = ROWS_SAME };
}
