/* SPDX-License-Identifier: Apache-2.0
 * Reads the fused activation and residual of a node. */
#include "ops/epilogue.h"

#include "kernels/window_plain.h"

Epilogue epilogue_of(const Node *n)
{
    Epilogue e = { .act = (int)node_int(n, "act", INLAY_ACT_NONE),
                   .a = node_float(n, "act_a", 0.0f),
                   .b = node_float(n, "act_b", 0.0f) };
    const int64_t residual = node_int(n, "residual", -1);
    if (residual >= 0)
        e.residual = node_in(n, (int)residual);
    return e;
}

int epilogue_clamp(const Epilogue *e)
{
    if (e->act != INLAY_ACT_CLAMP)
        return 0;
    return (e->a > -INFINITY ? 1 : 0) | (e->b < INFINITY ? 2 : 0);
}

bool epilogue_needs_pass(const Epilogue *e)
{
    return e->act != INLAY_ACT_NONE && e->act != INLAY_ACT_CLAMP;
}

void lower_epilogue(Lower *l, Node *n, const Epilogue *e, Tensor *y)
{
    const inlay_act_params p = {
        .n = tensor_count(n->out[0]), .act = e->act, .a = e->a, .b = e->b
    };
    Step *s = lower_step(l, n, lower_kernel(l, "act_whole", n->out[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, y)->reuse = REUSE_ELEMENTWISE;
    step_in(s, e->residual)->reuse = REUSE_ELEMENTWISE;
}
