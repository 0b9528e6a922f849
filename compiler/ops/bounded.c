/* SPDX-License-Identifier: Apache-2.0
 * Min and Max of integers whose result is known although an operand is not: Min(10, Max(10, n)) is
 * 10. TensorFlow and Keras (CategoryEncoding, bincount) say so how many bins there are. */
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/partly.h"

static bool is_single(const Tensor *tensor)
{
    return tensor && shape_known(&tensor->shape) && tensor_count(tensor) == 1;
}

/* Is the bound the result, whatever `other` is? */
static bool is_beyond(const Node *node, const Tensor *other, int64_t bound)
{
    const bool least = node_is(node, "Min");
    const Node *inner = partly_origin(other, 0).tensor->producer;
    if (!inner || !node_is(inner, least ? "Max" : "Min"))
        return false;
    for (int i = 0; i < inner->n_in; i++) {
        int64_t limit;
        if (!is_single(inner->in[i]))
            return false;
        if (!partly_known(node->graph, inner->in[i], 0, &limit))
            continue;
        if (least ? limit >= bound : limit <= bound)
            return true;
    }
    return false;
}

/* Of two numbers, one of them known. */
static bool is_known(const Node *node, int64_t *bound)
{
    for (int k = 0; k < 2; k++)
        if (partly_known(node->graph, node->in[k], 0, bound) &&
            is_beyond(node, node->in[1 - k], *bound))
            return true;
    return false;
}

void infer_bounded(Node *node)
{
    const DType type = node_type(node);
    const bool whole = type == DT_I64 || type == DT_I32;
    int64_t bound;
    infer_elementwise(node);
    if (!whole || node->n_in != 2)
        return;
    if (!is_single(node->in[0]) || !is_single(node->in[1]))
        return;
    if (!is_known(node, &bound))
        return;
    const Shape *shape = &node->out[0]->shape;
    Tensor *number = expand_cast(node, expand_i64(node, bound), type);
    number = expand_reshape(node, number, shape->rank, shape->dim);
    expand_finish_one(node, number);
}
