/* SPDX-License-Identifier: Apache-2.0
 * Reductions, ArgMax and Softmax along an axis of which only the first elements count: the rest of
 * the bound is filled with what changes nothing. */
#include <math.h>

#include "ops/dynamic.h"
#include "ops/expand.h"

/* The one dynamic axis; -1: there are several. */
static int the_axis(const Tensor *tensor)
{
    int axis = 0;
    while (!(tensor->dynamic >> axis & 1u))
        axis++;
    return tensor->dynamic == 1u << axis ? axis : -1;
}

bool dynamic_keeps(const Node *node)
{
    return node_is(node, "Softmax") || node_is(node, "LogSoftmax");
}

/* Does it take each axis by itself? Until opset 12 all from `axis` on are one. */
static bool is_softmax(const Node *node)
{
    return dynamic_keeps(node) && node->op->since >= 13;
}

/* What changes nothing among integers. The greatest int64 is no double. */
static bool neutral_integer(const Node *node, DType type, double *neutral)
{
    const bool is_long = type == DT_I64;
    *neutral = 0.0;
    if (!is_long && type != DT_I32)
        return false;
    if (node_is(node, "ReduceProd"))
        *neutral = 1.0;
    else if (node_is(node, "ReduceMax"))
        *neutral = is_long ? (double)INT64_MIN : (double)INT32_MIN;
    else if (node_is(node, "ReduceMin") && !is_long)
        *neutral = (double)INT32_MAX;
    else
        return node_is(node, "ReduceSum");
    return true;
}

/* Does it find the first element of its kind? */
static bool finds_first(const Node *node, const char *op)
{
    return node_is(node, op) && !node_int(node, "select_last_index", 0);
}

/* What changes nothing where node takes elements of that type together. false: there is no such
 * number. */
static bool neutral_of(const Node *node, DType type, double *neutral)
{
    if (type != DT_F32)
        return neutral_integer(node, type, neutral);
    *neutral = 0.0;
    if (node_is(node, "ReduceProd"))
        *neutral = 1.0;
    else if (node_is(node, "ReduceMax") || is_softmax(node) ||
             finds_first(node, "ArgMax"))
        *neutral = -(double)INFINITY;
    else if (node_is(node, "ReduceMin") || finds_first(node, "ArgMin"))
        *neutral = (double)INFINITY;
    else
        return node_is(node, "ReduceSum") || node_is(node, "ReduceMean");
    return true;
}

/* A mean over the bound divides by too many: the elements are as much greater before. */
static Tensor *as_bound(const Node *node, Tensor *filled, const Tensor *tensor,
                        int axis)
{
    Tensor *size = dynamic_size(node, tensor, axis);
    Tensor *count = expand_cast(node, size, DT_F32);
    const double bound = (double)tensor->shape.dim[axis];
    Tensor *all = expand_number(node, bound, DT_F32);
    return expand_mul(node, filled, expand_div(node, all, count));
}

bool dynamic_neutral(Node *node, Tensor *tensor)
{
    const int axis = the_axis(tensor);
    double neutral;
    if (axis < 0 || !neutral_of(node, tensor->dtype, &neutral))
        return false;
    Tensor *filled = dynamic_filled(node, tensor, axis, neutral);
    if (node_is(node, "ReduceMean"))
        filled = as_bound(node, filled, tensor, axis);
    node_set_input(node, 0, filled);
    return true;
}
