/* SPDX-License-Identifier: Apache-2.0
 * Writing by index: ScatterElements, Scatter, ScatterND. */
#include <string.h>

#include "base/size.h"
#include "kernels/scatter.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"
#include "ops/values.h"

static int reduction_of(const Node *node)
{
    static const char *const names[] = { "none", "add", "mul", "max", "min" };
    const char *v = node_string(node, "reduction", "none");
    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], v))
            return i;
    fail_node(node, STATUS_UNSUPPORTED, NULL, "reduction \"%s\" is unknown", v);
}

static bool is_index(DType type)
{
    return type == DT_I32 || type == DT_I64;
}

static int axis_of(const Node *node)
{
    return infer_axis(node, 0, infer_shape(node, 0)->rank);
}

static void check_operands(const Node *node)
{
    if (!is_index(node->in[1]->dtype))
        fail_node(node, STATUS_MALFORMED, NULL, "indices are of type %s",
                  dtype_name(node->in[1]->dtype));
    if (node->in[2]->dtype != node_type(node))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "data of type %s, updates of type %s",
                  dtype_name(node_type(node)), dtype_name(node->in[2]->dtype));
}

/* Shapes of indices and updates that do not. */
static void check_fit(const Node *node, bool fits)
{
    Arena *arena = node->graph->arena;
    if (!fits)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "indices of shape %s and updates of shape %s do not fit",
                  shape_text(arena, node_shape(node, 1)),
                  shape_text(arena, node_shape(node, 2)));
}

void infer_scatter_elements(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *k = infer_shape(node, 1);
    const int axis = axis_of(node);
    check_operands(node);
    bool fits = x->rank == k->rank && shape_equal(k, infer_shape(node, 2));
    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis || k->dim[i] <= x->dim[i];
    check_fit(node, fits);
    infer_same(node);
}

/* Indices [..., depth], updates [..., rest]. */
void infer_scatter_nd(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *k = infer_shape(node, 1);
    const Shape *updates = infer_shape(node, 2);
    const int before = k->rank - 1;
    const int64_t depth = k->rank ? k->dim[before] : -1;
    check_operands(node);
    bool fits = depth >= 0 && depth <= x->rank;
    fits = fits && updates->rank == before + x->rank - (int)depth;
    for (int i = 0; fits && i < updates->rank; i++)
        fits = updates->dim[i] ==
               (i < before ? k->dim[i] : x->dim[i - before + depth]);
    check_fit(node, fits);
    infer_same(node);
}

/* The kernel's type: assignments move bits. */
static const char *scatter_kernel(Lower *lower, const char *form,
                                  const Tensor *x, int op)
{
    static const char *const by_bytes[] = { 0, "u8", "u16", 0,    "u32",
                                            0, 0,    0,     "u64" };
    const int bytes = dtype_bits(x->dtype) / 8;
    if (bytes > 8 || (op && !((T_NUMBER | T_BOOL) & DTYPE_BIT(x->dtype))))
        fail_node(lower->node, STATUS_UNSUPPORTED, NULL, "element type %s",
                  dtype_name(x->dtype));
    return arena_printf(lower->arena, "%s_%s", form,
                        op ? dtype_suffix(x->dtype) : by_bytes[bytes]);
}

/* What is reduced is computed: small floats in float32. */
static bool computes_wide(const Node *node)
{
    return reduction_of(node) && dtype_is_small_float(node_type(node));
}

/* Operand i as the kernel takes it. */
static Tensor *scattered(Lower *lower, Node *node, int i)
{
    if (computes_wide(node))
        return lower_as(lower, node->in[i], DT_F32);
    return move_source(lower, node->in[i]);
}

static void scatter_step(Lower *lower, Node *node, const char *form,
                         inlay_scatter_params *params)
{
    Tensor *out = node->out[0];
    const bool wide = computes_wide(node);
    Tensor *y =
        wide ? lower_temp(lower, DT_F32, out->shape) : move_target(lower, out);
    Tensor *index = lower_index(lower, node->in[1]);
    Tensor *x = scattered(lower, node, 0);
    Tensor *updates = scattered(lower, node, 2);
    params->op = reduction_of(node);
    params->bytes = tensor_bytes(x);
    const char *kernel = scatter_kernel(lower, form, x, params->op);
    Step *step = lower_step(lower, kernel, params);
    step_out(step, y);
    step_in(step, x)->reuse = REUSE_ELEMENTWISE;
    step_in(step, index);
    step_in(step, updates);
    if (wide)
        lower_cast(lower, out, y);
    else
        move_finish(lower, out, y);
}

void lower_scatter_elements(Lower *lower, Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Shape *k = node_shape(node, 1);
    if (!tensor_count(node->out[0]))
        return;
    if (!tensor_count(node->in[1])) {
        lower_view(lower, node->out[0], node->in[0], 0);
        return;
    }
    inlay_scatter_params params = {
        .rank = x->rank,
        .axis = axis_of(node),
    };
    shape_to_i32(x, params.x);
    shape_to_i32(k, params.y);
    scatter_step(lower, node, "scatter_elements", &params);
}

void lower_scatter_nd(Lower *lower, Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Shape *k = node_shape(node, 1);
    if (!tensor_count(node->out[0]))
        return;
    const int depth = (int)k->dim[k->rank - 1];
    inlay_scatter_params params = {
        .rank = depth,
        .k = i32_checked(shape_product(k, 0, k->rank - 1)),
        .run = i32_checked(shape_product(x, depth, x->rank)),
    };
    for (int i = 0; i < depth; i++)
        params.x[i] = i32_checked(x->dim[i]);
    scatter_step(lower, node, "scatter_nd", &params);
}
