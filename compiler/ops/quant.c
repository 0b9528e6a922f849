/* SPDX-License-Identifier: Apache-2.0
 * QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: per tensor, per axis and in blocks.
 * Types below 8 bits and the small floats pass through int8, uint8 or float32. */
#include "kernels/quant.h"

#include "base/size.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"

static DType scale_type(const Node *n)
{
    return n->in[1]->dtype;
}

void infer_quantize(Node *n)
{
    const DType said = dtype_of_code(node_int(n, "output_dtype", 0));
    const DType t = node_in(n, 2) ? n->in[2]->dtype : said != DT_NONE ? said : DT_U8;
    infer_out(n, 0, t, *infer_shape(n, 0));
}

void infer_dequantize(Node *n)
{
    const DType said = dtype_of_code(node_int(n, "output_dtype", 0));
    infer_out(n, 0, said != DT_NONE ? said : scale_type(n), *infer_shape(n, 0));
}

/* The axis that scales run along, -1: one scale for all. */
static int scale_axis(const Node *n)
{
    const Shape *x = infer_shape(n, 0), *s = infer_shape(n, 1);
    if (shape_count(s) == 1 && (s->rank == 0 || !node_int(n, "block_size", 0)))
        return -1;
    const int64_t axis = node_int(n, "axis", 1);
    return node_axis(n, x->rank == 1 && axis == 1 ? 0 : axis, x->rank);
}

static void fail_scales(const Node *n)
{
    Arena *a = n->graph->arena;
    fail_node(n, STATUS_MALFORMED, NULL, "scales %s do not fit an input of shape %s",
              shape_text(a, infer_shape(n, 1)), shape_text(a, infer_shape(n, 0)));
}

static void set_blocked(const Node *n, int axis, int64_t block, inlay_quant_params *p)
{
    const Shape *x = infer_shape(n, 0), *s = infer_shape(n, 1);
    if (s->rank != x->rank || s->dim[axis] != i64_ceil_div(x->dim[axis], block))
        fail_scales(n);
    for (int i = 0; i < x->rank; i++)
        if (i != axis && s->dim[i] != x->dim[i])
            fail_scales(n);
    p->block = i32_checked(block);
    p->si = p->inner > 1;
    p->sa = p->inner;
    p->so = i32_checked(i64_mul(p->inner, s->dim[axis]));
}

static inlay_quant_params geometry(const Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const int axis = scale_axis(n), last = x->rank - 1;
    const int64_t block = axis < 0 ? 0 : node_int(n, "block_size", 0);
    inlay_quant_params p = { .outer = 1, .axis = 1, .inner = 1, .block = 1 };
    if (axis >= 0 && !block && shape_count(infer_shape(n, 1)) != x->dim[axis])
        fail_scales(n);
    p.rows = shape_has_rows(x) && !block && (axis < 0 || axis == last);
    if (p.rows) {
        p.outer = i32_checked(shape_row_pixels(x));
        if (axis < 0)
            p.inner = i32_checked(x->dim[last]);
        else
            p.axis = i32_checked(x->dim[last]);
    } else if (axis < 0) {
        p.inner = i32_checked(shape_count(x));
    } else {
        p.outer = i32_checked(shape_product(x, 0, axis));
        p.axis = i32_checked(x->dim[axis]);
        p.inner = i32_checked(shape_product(x, axis + 1, x->rank));
    }
    if (block > 0)
        set_blocked(n, axis, block, &p);
    else if (axis >= 0)
        p.sa = 1;
    return p;
}

static void rows_of(Operand *o, const inlay_quant_params *p)
{
    if (!p->rows)
        return;
    operand_image(o);
    o->strided = true;
    o->rule.kind = ROWS_SAME;
}

static void quant_step(Lower *l, Node *n, const char *kernel, const inlay_quant_params *p,
                       Tensor *y, Tensor *x, Tensor *zero)
{
    if (!tensor_count(y))
        return;
    Tensor *scale = lower_as(l, n, n->in[1], DT_F32);
    Step *s = lower_step(l, n, kernel, p);
    Operand *out = step_out(s, y);
    rows_of(out, p);
    s->units = out->rows;
    Operand *in = step_in(s, x);
    rows_of(in, p);
    if (dtype_bits(x->dtype) >= dtype_bits(y->dtype))
        in->reuse = REUSE_ELEMENTWISE;
    step_in(s, scale);
    step_in(s, zero);
}

/* The type that values of t are computed in: whole bytes, or float32. */
static DType working_type(DType t)
{
    switch (t) {
    case DT_U4:
    case DT_U2:
        return DT_U8;
    case DT_I4:
    case DT_I2:
        return DT_I8;
    default:
        return dtype_is_small_float(t) ? DT_F32 : t;
    }
}

static void integer_range(const Node *n, DType t, inlay_quant_params *p)
{
    const bool is_signed = t == DT_I8 || t == DT_I16 || t == DT_I4 || t == DT_I2;
    const int bits = dtype_bits(t);
    if (bits > 16)
        fail_node(n, STATUS_UNSUPPORTED, "quantize to 16 bits or fewer", "its result is of type %s",
                  dtype_name(t));
    p->lo = is_signed ? -(1 << (bits - 1)) : 0;
    p->hi = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

/* The type in which x / scale is rounded before it becomes an integer. */
static int32_t quotient_kind(const Node *n)
{
    const DType said = dtype_of_code(node_int(n, "precision", 0)),
                t = said != DT_NONE ? said : scale_type(n);
    return t == DT_F16 ? 1 : t == DT_BF16 ? 2 : 0;
}

void lower_quantize(Lower *l, Node *n)
{
    Tensor *out = n->out[0];
    const DType to = out->dtype, work = working_type(to);
    inlay_quant_params p = geometry(n);
    p.quotient = quotient_kind(n);
    if (dtype_is_integer(to))
        integer_range(n, to, &p);
    else if (!dtype_is_small_float(to))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "cannot quantize to %s", dtype_name(to));
    Tensor *y = work == to ? out : lower_temp(l, work, out->shape);
    quant_step(l, n, lower_kernel(l, "quantize", work), &p, y, lower_as(l, n, n->in[0], DT_F32),
               lower_as(l, n, node_in(n, 2), work));
    if (y != out)
        lower_cast(l, n, out, y, node_int(n, "saturate", 1) != 0, 0);
}

void lower_dequantize(Lower *l, Node *n)
{
    Tensor *out = n->out[0];
    const DType work = working_type(n->in[0]->dtype);
    const inlay_quant_params p = geometry(n);
    Tensor *y = out->dtype == DT_F32 ? out : lower_temp(l, DT_F32, out->shape);
    quant_step(l, n, lower_kernel(l, "dequantize", work), &p, y, lower_as(l, n, n->in[0], work),
               lower_as(l, n, node_in(n, 2), work));
    if (y != out)
        lower_cast(l, n, out, y, true, 0);
}

/* (r - zero) * scale, both broadcast from these dims. */
static Recipe *affine(Store *s, Recipe *r, const Tensor *scale, const Tensor *zero, int rank,
                      const int64_t *dims)
{
    if (zero) {
        Recipe *z = recipe_cast(s, recipe_reshape(s, zero->value, rank, dims), DT_F32);
        r = recipe_add(s, r, recipe_mul(s, z, recipe_number(s, -1.0f)));
    }
    return recipe_mul(s, r, recipe_cast(s, recipe_reshape(s, scale->value, rank, dims), DT_F32));
}

/* With one number for each block of an axis, which becomes two. NULL: blocks do not fill it. */
static Recipe *blocked_affine(Graph *g, Recipe *r, const Tensor *scale, const Tensor *zero,
                              int axis, int64_t block)
{
    Store *s = g->store;
    const int rank = recipe_rank(r);
    const Shape all = shape_of(rank, recipe_dims(r));
    if (all.dim[axis] % block)
        return NULL;
    const int64_t outer = shape_product(&all, 0, axis), inner = shape_product(&all, axis + 1, rank),
                  blocks = all.dim[axis] / block, cut[4] = { outer, blocks, block, inner },
                  each[4] = { outer, blocks, 1, inner };
    r = affine(s, recipe_reshape(s, r, 4, cut), scale, zero, 4, each);
    return recipe_reshape(s, r, rank, all.dim);
}

static Recipe *axis_affine(Graph *g, Recipe *r, const Tensor *scale, const Tensor *zero, int axis)
{
    int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (axis >= 0)
        dims[axis] = recipe_dims(r)[axis];
    return affine(g->store, r, scale, zero, axis < 0 ? 0 : recipe_rank(r), dims);
}

/* A constant stays a recipe: cast, minus zero point, times scale. */
Recipe *constant_dequantize(Node *n)
{
    Graph *g = n->graph;
    const Tensor *x = n->in[0], *zero = node_in(n, 2);
    if (!x->value || !n->in[1]->value || (zero && !zero->value))
        return NULL;
    const int axis = scale_axis(n);
    const int64_t block = axis < 0 ? 0 : node_int(n, "block_size", 0);
    geometry(n); /* fails where the scales do not fit */
    if (zero && tensor_count(zero) != tensor_count(n->in[1]))
        fail_node(n, STATUS_MALFORMED, NULL, "has %lld scales and %lld zero points",
                  (long long)tensor_count(n->in[1]), (long long)tensor_count(zero));
    Recipe *r = recipe_cast(g->store, x->value, DT_F32);
    r = block ? blocked_affine(g, r, n->in[1], zero, axis, block)
              : axis_affine(g, r, n->in[1], zero, axis);
    return !r || n->out[0]->dtype == DT_F32 ? r : recipe_cast(g->store, r, n->out[0]->dtype);
}

void infer_dynamic_quantize(Node *n)
{
    infer_out(n, 0, DT_U8, *infer_shape(n, 0));
    infer_out(n, 1, DT_F32, shape_scalar());
    infer_out(n, 2, DT_U8, shape_scalar());
}

void lower_dynamic_quantize(Lower *l, Node *n)
{
    const inlay_dynamic_quantize_params p = { .n = i32_checked(tensor_count(n->in[0])) };
    Step *s = lower_step(l, n, "dynamic_quantize", &p);
    step_out(s, n->out[0]);
    step_out(s, node_out(n, 1) ? n->out[1] : lower_temp(l, DT_F32, shape_scalar()));
    step_out(s, node_out(n, 2) ? n->out[2] : lower_temp(l, DT_U8, shape_scalar()));
    step_in(s, n->in[0]);
}
