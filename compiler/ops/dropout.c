/* SPDX-License-Identifier: Apache-2.0
 * Dropout: what it is when nobody trains. */
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

/* At inference Dropout is the identity; its mask is all true (its type: bool since opset 10). */
void infer_dropout(Node *node)
{
    infer_same(node);
    infer_out(node, 1, node->op->since >= 10 ? DT_BOOL : node_type(node),
              *infer_shape(node, 0));
}

static Tensor *one_of(Lower *lower, DType type)
{
    const float one = 1.0f;
    const int64_t scalar = 1;
    return lower_constant(lower, recipe_cast(lower->store,
                                             recipe_memory(lower->store, DT_F32,
                                                           1, &scalar, &one),
                                             type));
}

static void require_number(const Node *node, const Tensor *tensor)
{
    if (tensor && tensor_count(tensor) != 1)
        fail_node(node, STATUS_MALFORMED, NULL, "\"%s\" is no single value",
                  tensor->name);
}

/* Training with a ratio that is not 0 draws random numbers: refused, or, where both are values,
 * checked when it runs. */
static void check_dropout(Lower *lower, Node *node)
{
    int64_t count;
    Tensor *training = node_in(node, 2);
    Tensor *ratio = node_in(node, 1);
    require_number(node, training);
    require_number(node, ratio);
    const double *t = tensor_doubles(lower->graph, training, &count);
    const double *r = tensor_doubles(lower->graph, ratio, &count);
    if (!training || (t && !(t[0] > 0)))
        return;
    if (r && !(r[0] > 0))
        return;
    if (!ratio || (t && r))
        fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                  "Dropout in training mode draws random numbers");
    static const int64_t never[] = { 0 };
    Tensor *some = lower_temp(lower, DT_BOOL, ratio->shape);
    Tensor *both = lower_temp(lower, DT_BOOL, ratio->shape);
    lower_cast(lower, some, ratio);
    lower_nd2(lower, "logical_and", both, some, training);
    lower_check(lower, both, 1, (const int64_t *const[]){ never });
}

void lower_dropout(Lower *lower, Node *node)
{
    check_dropout(lower, node);
    lower_view(lower, node->out[0], node->in[0], 0);
    if (node_out(node, 1) && node->out[1]->uses)
        lower_fill(lower, node->out[1], one_of(lower, node->out[1]->dtype));
}
