/* SPDX-License-Identifier: Apache-2.0
 * A Split whose parts add up to a size says that its operand has this size, as torch writes where
 * the elements that a mask selects were taken apart one by one when it was traced (experts that are
 * hit). Checked when the model runs. */
#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/steps.h"

/* What the parts add up to; -1: they are not known. */
static int64_t sum_of_parts(const Node *node)
{
    int64_t count;
    int64_t sum = 0;
    const int64_t *part = split_parts(node, &count);
    for (int64_t i = 0; part && i < count; i++)
        sum = i64_add(sum, part[i]);
    return part ? sum : -1;
}

void dynamic_split(Node *node)
{
    if (!node_is(node, "Split"))
        return;
    Tensor *x = node->in[0];
    if (!x->dynamic)
        return;
    const int axis = infer_axis(node, 0, x->shape.rank);
    const int64_t size = sum_of_parts(node);
    if (x->dynamic != 1u << axis)
        return;
    if (size < 0 || size > x->shape.dim[axis])
        return;
    Tensor *all = dynamic_settled(node, "ClearRest", x);
    Tensor *some = expand_slice(node, all, axis, 0, size);
    Tensor *real = dynamic_size(node, x, axis);
    dynamic_cut(node, 1, &some, axis, real);
    node_set_input(node, 0, dynamic_settled(node, "FixedSize", some));
}
