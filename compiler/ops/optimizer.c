/* SPDX-License-Identifier: Apache-2.0
 * ai.onnx.preview.training: Adagrad, Adam, Momentum as compositions. Operands are the rate R, the
 * count of updates T, then groups of as many tensors each: the values X, their gradients G, and
 * what is carried from update to update. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

static Tensor *scaled(const Node *node, Tensor *tensor, double factor)
{
    return expand_binary(node, "Mul", tensor, expand_number(node, factor, tensor->dtype));
}

static Tensor *add(const Node *node, Tensor *a, Tensor *b)
{
    return expand_binary(node, "Add", a, b);
}
static Tensor *multiply(const Node *node, Tensor *a, Tensor *b)
{
    return expand_binary(node, "Mul", a, b);
}
static Tensor *less(const Node *node, Tensor *a, Tensor *b)
{
    return expand_binary(node, "Sub", a, b);
}

static double attribute(const Node *node, const char *name, float otherwise)
{
    return (double)node_float(node, name, otherwise);
}

/* Tensors in a group, of which there are `groups`. */
static int group_size(const Node *node, int groups)
{
    for (int i = 0; i < node->n_in; i++)
        infer_shape(node, i);
    if ((node->n_in - 2) % groups || node->n_in == 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its operands are not %d groups of as many",
                  groups);
    const int count = (node->n_in - 2) / groups;
    if (node->n_out != count * (groups - 1))
        fail_node(node, STATUS_MALFORMED, NULL, "has %d results, not %d", node->n_out,
                  count * (groups - 1));
    return count;
}

/* The gradient with the regularization. */
static Tensor *gradient(const Node *node, Tensor *x, Tensor *g)
{
    return add(node, scaled(node, x, attribute(node, "norm_coefficient", 0.0f)), g);
}

/* a where updates were made before, else b. */
static Tensor *if_updated(const Node *node, Tensor *a, Tensor *b)
{
    Tensor *in[] = { expand_binary(node, "Greater", node->in[1],
                                   expand_number(node, 0.0, node->in[1]->dtype)),
                     a, b };
    return expand_done(expand_node(node, "Where", 3, in, 1));
}

void expand_adagrad(Node *node)
{
    const int count = group_size(node, 3);
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, 2 * count);
    for (int i = 0; i < count; i++) {
        Tensor *x = node->in[2 + i];
        Tensor *g = gradient(node, x, node->in[2 + count + i]);
        Tensor *h = add(node, node->in[2 + 2 * count + i], multiply(node, g, g));
        Tensor *updates = expand_cast(node, node->in[1], x->dtype);
        Tensor *decay = scaled(node, updates, attribute(node, "decay_factor", 0.0f));
        Tensor *rate = expand_binary(node, "Div", expand_cast(node, node->in[0], x->dtype),
                                     add(node, decay, expand_number(node, 1.0, x->dtype)));
        Tensor *root = add(node, expand_unary(node, "Sqrt", h),
                           expand_number(node, attribute(node, "epsilon", 1e-6f), x->dtype));
        result[i] = less(node, x, expand_binary(node, "Div", multiply(node, rate, g), root));
        result[count + i] = h;
    }
    expand_finish(node, 2 * count, result);
}

/* 1 - base^T. */
static Tensor *rest_of_power(const Node *node, double base, DType type)
{
    Tensor *power = expand_binary(node, "Pow", expand_number(node, base, type),
                                  expand_cast(node, node->in[1], type));
    return less(node, expand_number(node, 1.0, type), power);
}

void expand_adam(Node *node)
{
    const int count = group_size(node, 4);
    const double alpha = attribute(node, "alpha", 0.9f);
    const double beta = attribute(node, "beta", 0.999f);
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, 3 * count);
    for (int i = 0; i < count; i++) {
        Tensor *x = node->in[2 + i];
        Tensor *g = gradient(node, x, node->in[2 + count + i]);
        Tensor *r = expand_cast(node, node->in[0], x->dtype);
        Tensor *tensor = add(node, scaled(node, node->in[2 + 2 * count + i], alpha),
                             scaled(node, g, 1.0 - alpha));
        Tensor *h = add(node, scaled(node, node->in[2 + 3 * count + i], beta),
                        scaled(node, multiply(node, g, g), 1.0 - beta));
        Tensor *root = add(node, expand_unary(node, "Sqrt", h),
                           expand_number(node, attribute(node, "epsilon", 1e-6f), x->dtype));
        Tensor *late =
            multiply(node, r,
                     expand_binary(node, "Div",
                                   expand_unary(node, "Sqrt", rest_of_power(node, beta, x->dtype)),
                                   rest_of_power(node, alpha, x->dtype)));
        Tensor *next = less(
            node, x,
            expand_binary(node, "Div", multiply(node, if_updated(node, late, r), tensor), root));
        result[i] = scaled(node, next, 1.0 - attribute(node, "norm_coefficient_post", 0.0f));
        result[count + i] = tensor;
        result[2 * count + i] = h;
    }
    expand_finish(node, 3 * count, result);
}

void expand_momentum(Node *node)
{
    const int count = group_size(node, 3);
    const double alpha = attribute(node, "alpha", 0.0f);
    const bool nesterov = !strcmp(node_string(node, "mode", "standard"), "nesterov");
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, 2 * count);
    for (int i = 0; i < count; i++) {
        Tensor *x = node->in[2 + i];
        Tensor *g = gradient(node, x, node->in[2 + count + i]);
        Tensor *r = expand_cast(node, node->in[0], x->dtype);
        Tensor *share =
            if_updated(node, expand_number(node, attribute(node, "beta", 1.0f), x->dtype),
                       expand_number(node, 1.0, x->dtype));
        Tensor *tensor =
            add(node, scaled(node, node->in[2 + 2 * count + i], alpha), multiply(node, share, g));
        result[i] =
            less(node, x,
                 multiply(node, r, nesterov ? add(node, g, scaled(node, tensor, alpha)) : tensor));
        result[count + i] = tensor;
    }
    expand_finish(node, 2 * count, result);
}
