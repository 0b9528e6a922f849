/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/moved.h"

#include "ops/infer.h"
#include "ops/nest.h"
#include "ops/values.h"

Moved moved_new(Lower *lower, Node *node)
{
    Moved moved;
    moved.y = move_target(lower, node->out[0]);
    moved.x = move_source(lower, node->in[0]);
    moved.index = lower_index(lower, node_in(node, 1));
    moved.size = dtype_bits(moved.x->dtype) / 8;
    return moved;
}

Step *moved_step(Lower *lower, Node *node, const Moved *moved,
                 const char *kernel, const void *params)
{
    Step *step = lower_step(lower, kernel, params);
    step_out(step, moved->y);
    step_in(step, moved->x);
    step_in(step, moved->index);
    move_finish(lower, node->out[0], moved->y);
    return step;
}
