/* SPDX-License-Identifier: Apache-2.0
 * OptionalHasElement and OptionalGetElement on tensors: whether there is one is known here. */
#include "ops/expand.h"
#include "ops/families.h"

void infer_has_element(Node *node)
{
    infer_out(node, 0, DT_BOOL, shape_scalar());
}

Recipe *constant_has_element(Node *node)
{
    const uint8_t has = node_in(node, 0) != NULL;
    return recipe_memory(node->graph->store, DT_BOOL, 0, NULL, &has);
}

void expand_get_element(Node *node)
{
    infer_shape(node, 0);
    Tensor *element = expand_unary(node, "Identity", node->in[0]);
    expand_finish_one(node, element);
}
