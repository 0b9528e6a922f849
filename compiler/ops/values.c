/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/values.h"

#include <string.h>

#include "base/size.h"
#include "kernels/values.h"
#include "ops/infer.h"
#include "ops/nest.h"

Tensor *lower_index(Lower *lower, Tensor *tensor)
{
    if (!tensor || tensor->dtype == DT_I64)
        return tensor;
    if (tensor->value)
        return lower_constant(lower,
                              recipe_cast(lower->store, tensor->value, DT_I64));
    Tensor *wide = lower_temp(lower, DT_I64, tensor->shape);
    lower_cast(lower, wide, tensor);
    return wide;
}

void lower_check(Lower *lower, Tensor *values, int lists,
                 const AllowedValues *allowed)
{
    const int64_t count = tensor_count(values);
    const inlay_check_params params = {
        .n = i32_checked(count),
        .tables = lists,
    };
    const int64_t all = count * lists;
    const size_t bytes = (size_t)count * sizeof **allowed;
    if (!count)
        return;
    int64_t *table = NEW_ARRAY(lower->arena, int64_t, all);
    for (int i = 0; i < lists; i++)
        memcpy(table + i * count, allowed[i], bytes);
    values = lower_index(lower, values);
    Step *step = lower_step(lower, "check_values", &params);
    step_in(step, values);
    step_in(step, lower_i64s(lower, table, all));
}

void lower_check_dims(Lower *lower, Node *node, int operand, int64_t count,
                      AllowedValues dims)
{
    Tensor *tensor = node_in(node, operand);
    if (!tensor || tensor->value)
        return;
    if (tensor_count(tensor) != count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "input %d has %lld elements, not %lld", operand,
                  (long long)tensor_count(tensor), (long long)count);
    lower_check(lower, tensor, 1, &dims);
}

static inlay_window_nd_params window_params(const Node *node, const Tensor *x,
                                            const Tensor *list, int per_axis)
{
    const Shape *in = &x->shape;
    const Shape *to = result_shape(node, 0);
    inlay_window_nd_params params = {
        .rank = in->rank,
        .size = dtype_bits(x->dtype) / 8,
        .count = i32_checked(tensor_count(list) / per_axis),
    };
    if (in->rank != to->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with another rank");
    shape_to_i32(in, params.x);
    shape_to_i32(to, params.y);
    return params;
}

void lower_slice_values(Lower *lower, Node *node)
{
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    Tensor *list[4];
    for (int i = 0; i < 4; i++)
        list[i] = lower_index(lower, node_in(node, i + 1));
    const inlay_window_nd_params params =
        window_params(node, x, node->in[1], 1);
    Step *step = lower_step(lower, "slice_values", &params);
    step_out(step, y);
    step_in(step, x);
    for (int i = 0; i < 4; i++)
        step_in(step, list[i]);
    move_finish(lower, node->out[0], y);
}

void lower_pad_values(Lower *lower, Node *node, Tensor *fill, int mode)
{
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    Tensor *list[3];
    list[0] = lower_index(lower, node->in[1]);
    list[1] = move_source(lower, fill);
    list[2] = lower_index(lower, node_in(node, 3));
    inlay_window_nd_params params = window_params(node, x, node->in[1], 2);
    params.mode = mode;
    Step *step = lower_step(lower, "pad_values", &params);
    step_out(step, y);
    step_in(step, x);
    for (int i = 0; i < 3; i++)
        step_in(step, list[i]);
    move_finish(lower, node->out[0], y);
}
