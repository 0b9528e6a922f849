/* SPDX-License-Identifier: Apache-2.0
 * Writing by index: ScatterElements, Scatter, ScatterND. */
#include <string.h>

#include "base/size.h"
#include "kernels/scatter.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"
#include "ops/values.h"

static int reduction_of(const Node *n)
{
    static const char *const names[] = { "none", "add", "mul", "max", "min" };
    const char *v = node_string(n, "reduction", "none");
    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], v))
            return i;
    fail_node(n, STATUS_UNSUPPORTED, NULL, "reduction \"%s\" is unknown", v);
}

static int axis_of(const Node *n)
{
    return node_axis(n, node_int(n, "axis", 0), infer_shape(n, 0)->rank);
}

static void check_operands(const Node *n)
{
    if (n->in[1]->dtype != DT_I32 && n->in[1]->dtype != DT_I64)
        fail_node(n, STATUS_MALFORMED, NULL, "indices are of type %s", dtype_name(n->in[1]->dtype));
    if (n->in[2]->dtype != n->in[0]->dtype)
        fail_node(n, STATUS_MALFORMED, NULL, "data of type %s, updates of type %s",
                  dtype_name(n->in[0]->dtype), dtype_name(n->in[2]->dtype));
}

void infer_scatter_elements(Node *n)
{
    const Shape *x = infer_shape(n, 0), *k = infer_shape(n, 1);
    const int axis = axis_of(n);
    check_operands(n);
    bool fits = x->rank == k->rank && shape_equal(k, infer_shape(n, 2));
    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis || k->dim[i] <= x->dim[i];
    if (!fits)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "indices of shape %s and updates of shape %s do not fit",
                  shape_text(n->graph->arena, k), shape_text(n->graph->arena, &n->in[2]->shape));
    infer_same(n);
}

/* Indices [..., depth], updates [..., rest]. */
void infer_scatter_nd(Node *n)
{
    const Shape *x = infer_shape(n, 0), *k = infer_shape(n, 1), *u = infer_shape(n, 2);
    const int64_t depth = k->rank ? k->dim[k->rank - 1] : -1;
    check_operands(n);
    bool fits = depth >= 0 && depth <= x->rank && u->rank == k->rank - 1 + x->rank - (int)depth;
    for (int i = 0; fits && i < u->rank; i++)
        fits = u->dim[i] == (i < k->rank - 1 ? k->dim[i] : x->dim[i - (k->rank - 1) + depth]);
    if (!fits)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "indices of shape %s and updates of shape %s do not fit",
                  shape_text(n->graph->arena, k), shape_text(n->graph->arena, u));
    infer_same(n);
}

/* The kernel's type: assignments move bits. */
static const char *scatter_kernel(Lower *l, const Node *n, const char *form, const Tensor *x,
                                  int op)
{
    static const char *const by_bytes[] = { 0, "u8", "u16", 0, "u32", 0, 0, 0, "u64" };
    const int bytes = dtype_bits(x->dtype) / 8;
    if (bytes > 8 || (op && !((T_NUMBER | T_BOOL) & DTYPE_BIT(x->dtype))))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "element type %s", dtype_name(x->dtype));
    return arena_printf(l->arena, "%s_%s", form, op ? dtype_suffix(x->dtype) : by_bytes[bytes]);
}

/* What is reduced is computed: small floats in float32. */
static bool computes_wide(const Node *n)
{
    return reduction_of(n) && dtype_is_small_float(n->in[0]->dtype);
}

static void scatter_step(Lower *l, Node *n, const char *form, inlay_scatter_params *p)
{
    const bool wide = computes_wide(n);
    Tensor *y = wide ? lower_temp(l, DT_F32, n->out[0]->shape) : move_target(l, n->out[0]),
           *index = lower_index(l, n, n->in[1]);
    Tensor *x = wide ? lower_as(l, n, n->in[0], DT_F32) : move_source(l, n, n->in[0]),
           *u = wide ? lower_as(l, n, n->in[2], DT_F32) : move_source(l, n, n->in[2]);
    p->op = reduction_of(n);
    p->bytes = tensor_bytes(x);
    Step *s = lower_step(l, n, scatter_kernel(l, n, form, x, p->op), p);
    step_out(s, y);
    step_in(s, x)->reuse = REUSE_ELEMENTWISE;
    step_in(s, index);
    step_in(s, u);
    if (wide)
        lower_cast(l, n, n->out[0], y, true, 0);
    else
        move_finish(l, n, n->out[0], y);
}

void lower_scatter_elements(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape, *k = &n->in[1]->shape;
    if (!tensor_count(n->out[0]))
        return;
    if (!tensor_count(n->in[1])) {
        lower_view(l, n, n->out[0], n->in[0], 0);
        return;
    }
    inlay_scatter_params p = { .rank = x->rank, .axis = axis_of(n) };
    for (int i = 0; i < x->rank; i++) {
        p.x[i] = i32_checked(x->dim[i]);
        p.y[i] = i32_checked(k->dim[i]);
    }
    scatter_step(l, n, "scatter_elements", &p);
}

void lower_scatter_nd(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape, *k = &n->in[1]->shape;
    if (!tensor_count(n->out[0]))
        return;
    const int depth = (int)k->dim[k->rank - 1];
    inlay_scatter_params p = { .rank = depth,
                               .k = i32_checked(shape_product(k, 0, k->rank - 1)),
                               .run = i32_checked(shape_product(x, depth, x->rank)) };
    for (int i = 0; i < depth; i++)
        p.x[i] = i32_checked(x->dim[i]);
    scatter_step(l, n, "scatter_nd", &p);
}
