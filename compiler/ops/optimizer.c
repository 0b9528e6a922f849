/* SPDX-License-Identifier: Apache-2.0
 * ai.onnx.preview.training: Adagrad, Adam, Momentum as compositions. Operands are the rate R, the
 * count of updates T, then groups of as many tensors each: the values X, their gradients G, and
 * what is carried from update to update. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

static Tensor *scaled(const Node *n, Tensor *t, double factor)
{
    return expand_binary(n, "Mul", t, expand_number(n, factor, t->dtype));
}

static Tensor *add(const Node *n, Tensor *a, Tensor *b)
{
    return expand_binary(n, "Add", a, b);
}
static Tensor *multiply(const Node *n, Tensor *a, Tensor *b)
{
    return expand_binary(n, "Mul", a, b);
}
static Tensor *less(const Node *n, Tensor *a, Tensor *b)
{
    return expand_binary(n, "Sub", a, b);
}

static double attribute(const Node *n, const char *name, float otherwise)
{
    return (double)node_float(n, name, otherwise);
}

/* Tensors in a group, of which there are `groups`. */
static int group_size(const Node *n, int groups)
{
    for (int i = 0; i < n->n_in; i++)
        infer_shape(n, i);
    if ((n->n_in - 2) % groups || n->n_in == 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its operands are not %d groups of as many", groups);
    const int count = (n->n_in - 2) / groups;
    if (n->n_out != count * (groups - 1))
        fail_node(n, STATUS_MALFORMED, NULL, "has %d results, not %d", n->n_out,
                  count * (groups - 1));
    return count;
}

/* The gradient with the regularization. */
static Tensor *gradient(const Node *n, Tensor *x, Tensor *g)
{
    return add(n, scaled(n, x, attribute(n, "norm_coefficient", 0.0f)), g);
}

/* a where updates were made before, else b. */
static Tensor *if_updated(const Node *n, Tensor *a, Tensor *b)
{
    Tensor *in[] = { expand_binary(n, "Greater", n->in[1], expand_number(n, 0.0, n->in[1]->dtype)),
                     a, b };
    return expand_done(expand_node(n, "Where", 3, in, 1));
}

void expand_adagrad(Node *n)
{
    const int count = group_size(n, 3);
    Tensor **result = NEW_ARRAY(n->graph->arena, Tensor *, 2 * count);
    for (int i = 0; i < count; i++) {
        Tensor *x = n->in[2 + i], *g = gradient(n, x, n->in[2 + count + i]),
               *h = add(n, n->in[2 + 2 * count + i], multiply(n, g, g));
        Tensor *updates = expand_cast(n, n->in[1], x->dtype),
               *decay = scaled(n, updates, attribute(n, "decay_factor", 0.0f));
        Tensor *rate = expand_binary(n, "Div", expand_cast(n, n->in[0], x->dtype),
                                     add(n, decay, expand_number(n, 1.0, x->dtype)));
        Tensor *root = add(n, expand_unary(n, "Sqrt", h),
                           expand_number(n, attribute(n, "epsilon", 1e-6f), x->dtype));
        result[i] = less(n, x, expand_binary(n, "Div", multiply(n, rate, g), root));
        result[count + i] = h;
    }
    expand_finish(n, 2 * count, result);
}

/* 1 - base^T. */
static Tensor *rest_of_power(const Node *n, double base, DType t)
{
    Tensor *power = expand_binary(n, "Pow", expand_number(n, base, t), expand_cast(n, n->in[1], t));
    return less(n, expand_number(n, 1.0, t), power);
}

void expand_adam(Node *n)
{
    const int count = group_size(n, 4);
    const double alpha = attribute(n, "alpha", 0.9f), beta = attribute(n, "beta", 0.999f);
    Tensor **result = NEW_ARRAY(n->graph->arena, Tensor *, 3 * count);
    for (int i = 0; i < count; i++) {
        Tensor *x = n->in[2 + i], *g = gradient(n, x, n->in[2 + count + i]),
               *r = expand_cast(n, n->in[0], x->dtype);
        Tensor *v = add(n, scaled(n, n->in[2 + 2 * count + i], alpha), scaled(n, g, 1.0 - alpha));
        Tensor *h = add(n, scaled(n, n->in[2 + 3 * count + i], beta),
                        scaled(n, multiply(n, g, g), 1.0 - beta));
        Tensor *root = add(n, expand_unary(n, "Sqrt", h),
                           expand_number(n, attribute(n, "epsilon", 1e-6f), x->dtype));
        Tensor *late = multiply(
            n, r,
            expand_binary(n, "Div", expand_unary(n, "Sqrt", rest_of_power(n, beta, x->dtype)),
                          rest_of_power(n, alpha, x->dtype)));
        Tensor *next =
            less(n, x, expand_binary(n, "Div", multiply(n, if_updated(n, late, r), v), root));
        result[i] = scaled(n, next, 1.0 - attribute(n, "norm_coefficient_post", 0.0f));
        result[count + i] = v;
        result[2 * count + i] = h;
    }
    expand_finish(n, 3 * count, result);
}

void expand_momentum(Node *n)
{
    const int count = group_size(n, 3);
    const double alpha = attribute(n, "alpha", 0.0f);
    const bool nesterov = !strcmp(node_string(n, "mode", "standard"), "nesterov");
    Tensor **result = NEW_ARRAY(n->graph->arena, Tensor *, 2 * count);
    for (int i = 0; i < count; i++) {
        Tensor *x = n->in[2 + i], *g = gradient(n, x, n->in[2 + count + i]),
               *r = expand_cast(n, n->in[0], x->dtype);
        Tensor *share = if_updated(n, expand_number(n, attribute(n, "beta", 1.0f), x->dtype),
                                   expand_number(n, 1.0, x->dtype));
        Tensor *v = add(n, scaled(n, n->in[2 + 2 * count + i], alpha), multiply(n, share, g));
        result[i] = less(n, x, multiply(n, r, nesterov ? add(n, g, scaled(n, v, alpha)) : v));
        result[count + i] = v;
    }
    expand_finish(n, 2 * count, result);
}
