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
#include "ops/nest.h"
#include "ops/values.h"

/* OneHot: inputs indices, depth, values. */
static int onehot_axis(const Node *n)
{
    return node_axis(n, node_int(n, "axis", -1), infer_shape(n, 0)->rank + 1);
}

void infer_onehot(Node *n)
{
    const Shape *k = infer_shape(n, 0);
    const int axis = onehot_axis(n);
    int64_t count;
    const double *depth = tensor_doubles(n->graph, n->in[1], &count);
    if (k->rank == MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    Shape s = { .rank = k->rank + 1 };
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < axis ? k->dim[i] : i == axis ? -1 : k->dim[i - 1];
    if (!depth || count != 1) {
        infer_declared_as(n, 0, n->in[2]->dtype, s);
        return;
    }
    if (!(depth[0] >= 0 && depth[0] < 0x1p31))
        fail_node(n, STATUS_MALFORMED, NULL, "depth is %g", depth[0]);
    s.dim[axis] = (int64_t)depth[0];
    infer_out(n, 0, n->in[2]->dtype, s);
}

void lower_onehot(Lower *l, Node *n)
{
    const Shape *k = &n->in[0]->shape;
    const int axis = onehot_axis(n);
    Tensor *y = move_target(l, n->out[0]);
    if (!tensor_count(y))
        return;
    lower_check_dims(l, n, 1, y->shape.dim + axis);
    Tensor *index = lower_index(l, n, n->in[0]), *values = move_source(l, n, n->in[2]);
    const inlay_onehot_params p = { .outer = i32_checked(shape_product(k, 0, axis)),
                                    .depth = i32_checked(y->shape.dim[axis]),
                                    .inner = i32_checked(shape_product(k, axis, k->rank)),
                                    .size = dtype_bits(y->dtype) / 8 };
    Step *s = lower_step(l, n, "onehot", &p);
    step_out(s, y);
    step_in(s, index);
    step_in(s, values);
    move_finish(l, n, n->out[0], y);
}

/* EyeLike: the shape of its input, attribute dtype or the input's type. */
void infer_eyelike(Node *n)
{
    const Attr *a = node_attr(n, "dtype");
    const Shape *s = infer_shape(n, 0);
    const DType t = a ? dtype_of_code(a->i) : n->in[0]->dtype;
    if (s->rank != 2 || t == DT_NONE || t == DT_STRING)
        fail_node(n, STATUS_MALFORMED, NULL, "needs a matrix and a numeric type");
    infer_out(n, 0, t, *s);
}

static Tensor *number(Lower *l, DType t, float v)
{
    const int64_t one = 1;
    return lower_constant(
        l, recipe_cast(l->graph->store, recipe_memory(l->graph->store, DT_F32, 1, &one, &v), t));
}

void lower_eyelike(Lower *l, Node *n)
{
    Tensor *y = move_target(l, n->out[0]);
    const int64_t h = y->shape.dim[0], w = y->shape.dim[1],
                  k = i64_max(-h, i64_min(node_int(n, "k", 0), w));
    const int64_t top = i64_max(0, -k), left = i64_max(0, k),
                  length = i64_max(0, i64_min(h - top, w - left));
    const Move m = { .rank = 1,
                     .n = { length },
                     .y = { w + 1 },
                     .x = { 0 },
                     .y0 = length ? i64_add(i64_mul(top, w), left) : 0 };
    lower_fill(l, n, y, move_source(l, n, number(l, n->out[0]->dtype, 0.0f)));
    Step *s = lower_move(l, n, y, move_source(l, n, number(l, n->out[0]->dtype, 1.0f)), &m);
    if (s)
        s->operand[0].read = true;
    move_finish(l, n, n->out[0], y);
}

/* Compress: inputs data, condition. Without an axis the data is flat. */
static int64_t compress_axis(const Node *n, int64_t *outer, int64_t *size, int64_t *inner)
{
    const Shape *s = infer_shape(n, 0);
    *outer = 1;
    *size = shape_count(s);
    *inner = 1;
    if (!node_attr(n, "axis"))
        return -1;
    const int axis = node_axis(n, node_int(n, "axis", 0), s->rank);
    *outer = shape_product(s, 0, axis);
    *size = s->dim[axis];
    *inner = shape_product(s, axis + 1, s->rank);
    return axis;
}

void infer_compress(Node *n)
{
    int64_t outer, size, inner, count, kept = 0;
    const int64_t axis = compress_axis(n, &outer, &size, &inner);
    const double *c = tensor_doubles(n->graph, n->in[1], &count);
    if (!c) {
        Shape most = axis < 0 ? shape_vector(0) : n->in[0]->shape;
        most.dim[axis < 0 ? 0 : axis] = i64_min(size, tensor_count(n->in[1]));
        infer_out(n, 0, n->in[0]->dtype, dynamic_bound(n, 0, most));
        dynamic_out(n, 0, axis < 0 ? 0 : (int)axis);
        return;
    }
    for (int64_t i = 0; i < i64_min(count, size); i++)
        kept += c[i] > 0;
    Shape s = axis < 0 ? shape_vector(kept) : n->in[0]->shape;
    if (axis >= 0)
        s.dim[axis] = kept;
    infer_out(n, 0, n->in[0]->dtype, s);
}

void lower_compress(Lower *l, Node *n)
{
    int64_t outer, size, inner;
    const int64_t axis = compress_axis(n, &outer, &size, &inner);
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]);
    if (!tensor_count(y) && !n->counts)
        return;
    const inlay_compress_params p = { .outer = i32_checked(outer),
                                      .n = i32_checked(size),
                                      .given = i32_checked(i64_min(size, tensor_count(n->in[1]))),
                                      .kept = i32_checked(y->shape.dim[axis < 0 ? 0 : axis]),
                                      .run = i64_mul(inner, dtype_bits(x->dtype) / 8) };
    Step *s = lower_step(l, n, "compress", &p);
    step_out(s, y);
    step_out(s, node_count(n));
    step_in(s, x);
    step_in(s, n->in[1]);
    move_finish(l, n, n->out[0], y);
}

void infer_nonzero(Node *n)
{
    const Shape *s = infer_shape(n, 0);
    int64_t count, found = 0;
    const double *v = tensor_doubles(n->graph, n->in[0], &count);
    if (!v) {
        const int64_t axes = s->rank ? s->rank : 1, most[] = { axes, shape_count(s) };
        const Shape bound = dynamic_bound(n, 0, shape_of(2, most));
        if (bound.dim[0] != axes)
            fail_node(n, STATUS_MALFORMED, NULL,
                      "its result is declared with %lld rows, its input has %lld axes",
                      (long long)bound.dim[0], (long long)axes);
        infer_out(n, 0, DT_I64, bound);
        dynamic_out(n, 0, 1);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        found += v[i] < 0 || v[i] > 0 || v[i] != v[i];
    infer_out(n, 0, DT_I64, shape_of(2, (const int64_t[]){ s->rank ? s->rank : 1, found }));
}

/* Integers and bool are looked at as unsigned of their width. */
static const char *nonzero_kernel(Lower *l, DType t)
{
    if (dtype_is_float(t))
        return lower_kernel(l, "nonzero", t);
    return arena_printf(l->arena, "nonzero_u%d", dtype_bits(t));
}

void lower_nonzero(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    inlay_nonzero_params p = { .rank = s->rank ? s->rank : 1, .n = { 1 } };
    if (!tensor_count(n->out[0]) && !n->counts)
        return;
    if (!tensor_count(n->in[0])) {
        lower_clear(l, n, node_count(n));
        return;
    }
    p.room = i32_checked(n->out[0]->shape.dim[1]);
    for (int i = 0; i < s->rank; i++)
        p.n[i] = i32_checked(s->dim[i]);
    Step *step = lower_step(l, n, nonzero_kernel(l, n->in[0]->dtype), &p);
    step_out(step, n->out[0]);
    step_out(step, node_count(n));
    step_in(step, n->in[0]);
}

void lower_trilu(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    if (s->rank < 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its input is of rank %d", s->rank);
    if (!tensor_count(n->out[0]))
        return;
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *k = lower_index(l, n, node_in(n, 1));
    const inlay_trilu_params p = { .outer = i32_checked(shape_product(s, 0, s->rank - 2)),
                                   .h = i32_checked(s->dim[s->rank - 2]),
                                   .w = i32_checked(s->dim[s->rank - 1]),
                                   .size = dtype_bits(x->dtype) / 8,
                                   .upper = node_int(n, "upper", 1) != 0 };
    Step *step = lower_step(l, n, "trilu", &p);
    step_out(step, y);
    step_in(step, x)->reuse = REUSE_ELEMENTWISE;
    step_in(step, k);
    move_finish(l, n, n->out[0], y);
}

void lower_reverse_sequence(Lower *l, Node *n)
{
    const Shape *s = infer_shape(n, 0);
    const int64_t time = node_int(n, "time_axis", 0), batch = node_int(n, "batch_axis", 1);
    if (s->rank < 2 || time + batch != 1 || time < 0 || batch < 0)
        fail_node(n, STATUS_MALFORMED, NULL, "time_axis %lld, batch_axis %lld", (long long)time,
                  (long long)batch);
    if (tensor_count(n->in[1]) != s->dim[batch])
        fail_node(n, STATUS_MALFORMED, NULL, "%lld lengths for a batch of %lld",
                  (long long)tensor_count(n->in[1]), (long long)s->dim[batch]);
    if (!tensor_count(n->out[0]))
        return;
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *lengths = lower_index(l, n, n->in[1]);
    const inlay_reverse_sequence_params p = { .a = i32_checked(s->dim[0]),
                                              .b = i32_checked(s->dim[1]),
                                              .time_first = time == 0,
                                              .run = i64_mul(shape_product(s, 2, s->rank),
                                                             dtype_bits(x->dtype) / 8) };
    Step *step = lower_step(l, n, "reverse_sequence", &p);
    step_out(step, y);
    step_in(step, x);
    step_in(step, lengths);
    move_finish(l, n, n->out[0], y);
}

/* TopK: k is an attribute until opset 9, then operand 1. */
static int topk_axis(const Node *n)
{
    return node_axis(n, node_int(n, "axis", -1), infer_shape(n, 0)->rank);
}

/* k is a value: all are put in order, of which the first k count. */
static void expand_topk(Node *n, int axis)
{
    const int64_t none = 0, size = n->in[0]->shape.dim[axis], one = 1;
    Tensor *k = expand_reshape(n, expand_cast(n, n->in[1], DT_I64), 1, &one),
           *in[] = { n->in[0], expand_i64s(n, 1, &size) };
    k = expand_binary(n, "Max", k, expand_i64s(n, 1, &none));
    k = expand_binary(n, "Min", k, expand_i64s(n, 1, &size));
    Node *all = expand_node(n, "TopK", 2, in, 2);
    expand_copy_attrs(all, n);
    expand_done(all);
    dynamic_cut(n, 2, all->out, axis, k);
    expand_finish(n, 2, all->out);
}

void infer_topk(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int axis = topk_axis(n);
    int64_t count = 1, attr = node_int(n, "k", -1);
    const int64_t *k = n->op->since < 10 ? &attr : infer_ints(n, 1, &count);
    if (!k) {
        const int64_t size = s.dim[axis];
        if (!shape_known(n->out[0]->declared)) {
            expand_topk(n, axis);
            return;
        }
        s.dim[axis] = -1;
        infer_declared_as(n, 0, n->in[0]->dtype, s);
        infer_require(n, 0, n->out[0]->shape.dim[axis] <= size);
        infer_out(n, 1, DT_I64, n->out[0]->shape);
        return;
    }
    if (count != 1 || *k < 0 || *k > s.dim[axis])
        fail_node(n, STATUS_MALFORMED, NULL, "k is %lld of %lld", (long long)*k,
                  (long long)s.dim[axis]);
    s.dim[axis] = *k;
    infer_out(n, 0, n->in[0]->dtype, s);
    infer_out(n, 1, DT_I64, s);
}

void lower_topk(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape, *to = &n->out[0]->shape;
    const int axis = topk_axis(n);
    if (!tensor_count(n->out[0]))
        return;
    if (n->op->since >= 10)
        lower_check_dims(l, n, 1, to->dim + axis);
    Tensor *index = node_out(n, 1) ? n->out[1] : lower_temp(l, DT_I64, *to);
    const inlay_topk_params p = { .outer = i32_checked(shape_product(s, 0, axis)),
                                  .n = i32_checked(s->dim[axis]),
                                  .inner = i32_checked(shape_product(s, axis + 1, s->rank)),
                                  .k = i32_checked(to->dim[axis]),
                                  .largest = node_int(n, "largest", 1) != 0 };
    Step *step = lower_step(l, n, lower_kernel(l, "topk", n->in[0]->dtype), &p);
    step_out(step, n->out[0]);
    step_out(step, index);
    step_in(step, n->in[0]);
}

void infer_unique(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const Attr *a = node_attr(n, "axis");
    const int axis = a ? node_axis(n, a->i, x->rank) : 0;
    const Shape y = dynamic_bound(n, 0, a ? *x : shape_vector(shape_count(x)));
    infer_out(n, 0, n->in[0]->dtype, y);
    infer_out(n, 1, DT_I64, shape_vector(y.dim[axis]));
    infer_out(n, 2, DT_I64, shape_vector(a ? x->dim[axis] : shape_count(x)));
    infer_out(n, 3, DT_I64, shape_vector(y.dim[axis]));
    dynamic_out(n, 0, axis);
    for (int i = 1; i < n->n_out - 1; i += 2)
        dynamic_like(n, i, 0, 0);
}

void lower_unique(Lower *l, Node *n)
{
    const Attr *a = node_attr(n, "axis");
    const Shape *s = &n->in[0]->shape;
    const int axis = a ? node_axis(n, a->i, s->rank) : 0;
    inlay_unique_params p = { .outer = 1,
                              .n = i32_checked(shape_count(s)),
                              .inner = 1,
                              .found = i32_checked(n->out[0]->shape.dim[axis]),
                              .sorted = node_int(n, "sorted", 1) != 0 };
    if (a) {
        p.outer = i32_checked(shape_product(s, 0, axis));
        p.n = i32_checked(s->dim[axis]);
        p.inner = i32_checked(shape_product(s, axis + 1, s->rank));
    }
    Step *step = lower_step(l, n, lower_kernel(l, "unique", n->in[0]->dtype), &p);
    step_out(step, n->out[0]);
    step_out(step, node_count(n));
    for (int i = 1; i < 4; i++)
        step_out(step, i < n->n_out - n->counts ? n->out[i] : NULL);
    step_in(step, n->in[0]);
    step_scratch(l, step, i64_mul(p.n, 2 * (int64_t)sizeof(int32_t)));
}

void lower_cumulate(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    int64_t count;
    const int64_t *axis = infer_ints(n, 1, &count);
    if (axis && count != 1)
        fail_node(n, STATUS_MALFORMED, NULL, "its axis has %lld elements", (long long)count);
    inlay_cumulate_params p = { .rank = s->rank,
                                .axis = axis ? node_axis(n, axis[0], s->rank) : -1,
                                .exclusive = node_int(n, "exclusive", 0) != 0,
                                .reverse = node_int(n, "reverse", 0) != 0 };
    if (!tensor_count(n->out[0]))
        return;
    for (int i = 0; i < s->rank; i++)
        p.n[i] = i32_checked(s->dim[i]);
    Tensor *value = axis ? NULL : lower_index(l, n, n->in[1]);
    Step *step = lower_step(
        l, n, lower_kernel(l, n->op_type[3] == 'S' ? "cumsum" : "cumprod", n->in[0]->dtype), &p);
    step_out(step, n->out[0]);
    step_in(step, n->in[0])->reuse = REUSE_ELEMENTWISE;
    step_in(step, value);
}

void infer_range(Node *n)
{
    double v[3];
    for (int i = 0; i < 3; i++) {
        int64_t count;
        const double *d = tensor_doubles(n->graph, n->in[i], &count);
        if (!d || count != 1) {
            infer_declared_as(n, 0, n->in[0]->dtype, shape_vector(-1));
            return;
        }
        v[i] = *d;
    }
    const double count = ceil((v[1] - v[0]) / v[2]);
    if (!(fabs(v[2]) > 0) || !(count < 0x1p31))
        fail_node(n, STATUS_MALFORMED, NULL, "from %g to %g by %g", v[0], v[1], v[2]);
    infer_out(n, 0, n->in[0]->dtype, shape_vector(count > 0 ? (int64_t)count : 0));
}

void lower_range(Lower *l, Node *n)
{
    const inlay_range_params p = { .n = i32_checked(tensor_count(n->out[0])) };
    if (!p.n)
        return;
    Step *s = lower_step(l, n, lower_kernel(l, "range", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    for (int i = 0; i < 3; i++)
        step_in(s, n->in[i]);
}

/* Det, and Inverse of com.microsoft: square matrices [...][n][n]. */
static const Shape *square_shape(const Node *n)
{
    const Shape *s = infer_shape(n, 0);
    if (s->rank < 2 || s->dim[s->rank - 1] != s->dim[s->rank - 2])
        fail_node(n, STATUS_MALFORMED, NULL, "its input is no square matrix");
    return s;
}

void infer_inverse(Node *n)
{
    infer_out(n, 0, n->in[0]->dtype, *square_shape(n));
}

void infer_det(Node *n)
{
    const Shape *s = square_shape(n);
    infer_out(n, 0, n->in[0]->dtype, shape_of(s->rank - 2, s->dim));
}

static void lower_matrices(Lower *l, Node *n, const char *kernel)
{
    const Shape *s = &n->in[0]->shape;
    const int64_t size = s->dim[s->rank - 1];
    const inlay_det_params p = { .batch = i32_checked(shape_product(s, 0, s->rank - 2)),
                                 .n = i32_checked(size) };
    if (!tensor_count(n->out[0]))
        return;
    Step *step = lower_step(l, n, lower_kernel(l, kernel, n->in[0]->dtype), &p);
    step_out(step, n->out[0]);
    step_in(step, n->in[0]);
    step_scratch(l, step, i64_max(8, dtype_bytes(n->in[0]->dtype, i64_mul(size, size))));
}

void lower_det(Lower *l, Node *n)
{
    lower_matrices(l, n, "det");
}
void lower_inverse(Lower *l, Node *n)
{
    lower_matrices(l, n, "inverse");
}
