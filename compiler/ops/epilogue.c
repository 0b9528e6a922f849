/* SPDX-License-Identifier: Apache-2.0
 * Reads the fused activation and residual of a node. */
#include "ops/epilogue.h"

#include "kernels/conv_f32.h"
#include "kernels/window_plain.h"
#include "ops/act.h"
#include "ops/nest.h"

Epilogue epilogue_of(const Node *node)
{
    Epilogue epilogue = {
        .act = (int)node_int(node, "act", INLAY_ACT_NONE),
        .a = node_float(node, "act_a", 0.0f),
        .b = node_float(node, "act_b", 0.0f),
    };
    const int64_t residual = node_int(node, "residual", -1);
    if (residual >= 0)
        epilogue.residual = node_in(node, (int)residual);
    return epilogue;
}

int epilogue_clamp(const Epilogue *epilogue)
{
    if (epilogue->act != INLAY_ACT_CLAMP)
        return 0;
    return (epilogue->a > -INFINITY ? 1 : 0) | (epilogue->b < INFINITY ? 2 : 0);
}

bool epilogue_needs_pass(const Epilogue *epilogue)
{
    return epilogue->act != INLAY_ACT_NONE && epilogue->act != INLAY_ACT_CLAMP;
}

void epilogue_params(const Epilogue *epilogue, inlay_conv_params *params)
{
    params->clamp = epilogue_clamp(epilogue);
    params->act = INLAY_ACT_NONE;
    if (epilogue_needs_pass(epilogue))
        params->act = epilogue->act;
    if (params->act || params->clamp & 1)
        params->a = epilogue->a;
    if (params->act || params->clamp & 2)
        params->b = epilogue->b;
}

Tensor *epilogue_bias(const Node *node, const Epilogue *epilogue)
{
    Tensor *tensor = node_in(node, 2);
    return tensor == epilogue->residual ? NULL : tensor;
}

void lower_epilogue(Lower *lower, Node *node, const Epilogue *epilogue,
                    Tensor *y)
{
    Tensor *out = node->out[0];
    Tensor *sum = out;
    if (epilogue->residual && epilogue->act)
        sum = lower_temp(lower, out->dtype, out->shape);
    if (epilogue->residual)
        lower_binary_to(lower, "add", sum, y, epilogue->residual);
    else
        sum = y;
    if (!epilogue->act)
        return;
    int rows;
    const ActRow *act = act_rows(&rows) + (epilogue->act - 1);
    lower_flat(lower, lower_kernel(lower, act->kernel, out->dtype), out, sum,
               (double)epilogue->a, (double)epilogue->b);
}
