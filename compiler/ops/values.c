/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/values.h"

#include <string.h>

#include "base/size.h"
#include "kernels/values.h"
#include "ops/infer.h"
#include "ops/nest.h"

Tensor *lower_index(Lower *l, Node *n, Tensor *t)
{
    if (!t || t->dtype == DT_I64)
        return t;
    if (t->value)
        return lower_constant(l, recipe_cast(l->graph->store, t->value, DT_I64));
    Tensor *wide = lower_temp(l, DT_I64, t->shape);
    lower_cast(l, n, wide, t, true, 0);
    return wide;
}

void lower_check(Lower *l, Node *n, Tensor *values, int lists, const int64_t *const *allowed)
{
    const int64_t count = tensor_count(values);
    const inlay_check_params p = { .n = i32_checked(count), .tables = lists };
    int64_t *table = NEW_ARRAY(l->arena, int64_t, count * lists + 1);
    if (!count)
        return;
    for (int i = 0; i < lists; i++)
        memcpy(table + i * count, allowed[i], (size_t)count * sizeof *table);
    values = lower_index(l, n, values);
    Step *s = lower_step(l, n, "check_values", &p);
    step_in(s, values);
    step_in(s, lower_i64s(l, table, count * lists));
}

void lower_check_dims(Lower *l, Node *n, int operand, const int64_t *dims)
{
    Tensor *t = node_in(n, operand);
    if (t && !t->value)
        lower_check(l, n, t, 1, &dims);
}

static inlay_window_nd_params window_params(const Node *n, const Tensor *x, const Tensor *list,
                                            int per_axis)
{
    const Shape *in = &x->shape, *to = &n->out[0]->shape;
    inlay_window_nd_params p = { .rank = in->rank,
                                 .size = dtype_bits(x->dtype) / 8,
                                 .count = i32_checked(tensor_count(list) / per_axis) };
    if (in->rank != to->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "its result is declared with another rank");
    for (int i = 0; i < in->rank; i++) {
        p.x[i] = i32_checked(in->dim[i]);
        p.y[i] = i32_checked(to->dim[i]);
    }
    return p;
}

void lower_slice_values(Lower *l, Node *n)
{
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]), *list[4];
    for (int i = 0; i < 4; i++)
        list[i] = lower_index(l, n, node_in(n, i + 1));
    const inlay_window_nd_params p = window_params(n, x, n->in[1], 1);
    Step *s = lower_step(l, n, "slice_values", &p);
    step_out(s, y);
    step_in(s, x);
    for (int i = 0; i < 4; i++)
        step_in(s, list[i]);
    move_finish(l, n, n->out[0], y);
}

void lower_pad_values(Lower *l, Node *n, Tensor *fill, int mode)
{
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]), *list[3];
    list[0] = lower_index(l, n, n->in[1]);
    list[1] = move_source(l, n, fill);
    list[2] = lower_index(l, n, node_in(n, 3));
    inlay_window_nd_params p = window_params(n, x, n->in[1], 2);
    p.mode = mode;
    Step *s = lower_step(l, n, "pad_values", &p);
    step_out(s, y);
    step_in(s, x);
    for (int i = 0; i < 3; i++)
        step_in(s, list[i]);
    move_finish(l, n, n->out[0], y);
}
