/* SPDX-License-Identifier: Apache-2.0
 * Products, sums and differences of float32 constants as recipes: they are made
 * while the weights are copied. Small ones are folded by value. */
#include "ops/families.h"

enum { BY_VALUE = 64 * 1024 }; /* bytes */

typedef Recipe *EachFn(Store *store, const Recipe *recipe, const Recipe *v);

static bool is_large(const Node *node)
{
    const Tensor *out = node->out[0];
    if (out->dtype != DT_F32 || !shape_known(&out->shape))
        return false;
    if (!node->in[0]->value || !node->in[1]->value)
        return false;
    return tensor_bytes(out) > BY_VALUE;
}

/* An operand's values; of one number in memory, where recipes have it at hand. */
static Recipe *value_of(const Node *node, int k)
{
    Store *store = node->graph->store;
    const Tensor *tensor = node->in[k];
    if (tensor_count(tensor) > 1)
        return tensor->value;
    const float *x = recipe_values(store, store->arena, tensor->value);
    return recipe_number(store, *x);
}

/* The operand that has the shape of the result, the other one being broadcast to it; -1: none. */
static int whole_operand(const Node *node)
{
    const Shape *shape = result_shape(node, 0);
    for (int k = 0; k < 2; k++)
        if (shape_equal(node_shape(node, k), shape))
            return k;
    return -1;
}

static Recipe *with_each(const Node *node, EachFn *each)
{
    const int whole = is_large(node) ? whole_operand(node) : -1;
    if (whole < 0)
        return NULL;
    Recipe *other = value_of(node, 1 - whole);
    return each(node->graph->store, value_of(node, whole), other);
}

Recipe *constant_mul(Node *node)
{
    return with_each(node, recipe_mul);
}

Recipe *constant_add(Node *node)
{
    return with_each(node, recipe_add);
}

/* a - b is a + -b, bit for bit. */
Recipe *constant_sub(Node *node)
{
    Store *store = node->graph->store;
    const int whole = is_large(node) ? whole_operand(node) : -1;
    if (whole < 0)
        return NULL;
    Recipe *minus = recipe_number(store, -1);
    Recipe *first = value_of(node, 0);
    Recipe *second = recipe_mul(store, value_of(node, 1), minus);
    if (whole == 0)
        return recipe_add(store, first, second);
    return recipe_add(store, second, first);
}
