/* SPDX-License-Identifier: Apache-2.0
 * OptionalHasElement and OptionalGetElement on tensors: whether there is one is known here. */
#include "ops/expand.h"
#include "ops/families.h"

void infer_has_element(Node *n)
{
    infer_out(n, 0, DT_BOOL, shape_scalar());
}

Recipe *constant_has_element(Node *n)
{
    const uint8_t has = node_in(n, 0) != NULL;
    return recipe_memory(n->graph->store, DT_BOOL, 0, NULL, &has);
}

void expand_get_element(Node *n)
{
    infer_shape(n, 0);
    Tensor *element = expand_unary(n, "Identity", n->in[0]);
    expand_finish(n, 1, &element);
}
