/* SPDX-License-Identifier: Apache-2.0
 * ai.onnx.preview.training: Adagrad, Adam, Momentum as compositions. Operands are the rate R, the
 * count of updates T, then groups of as many tensors each: the values X, their gradients G, and
 * what is carried from update to update. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

/* The square root of `tensor`, and the attribute epsilon. */
static Tensor *root_of(const Node *node, Tensor *tensor)
{
    const double epsilon = node_double(node, "epsilon", 1e-6f);
    Tensor *smallest = expand_number(node, epsilon, tensor->dtype);
    Tensor *root = expand_unary(node, "Sqrt", tensor);
    return expand_add(node, root, smallest);
}

static double attribute(const Node *node, const char *name, float otherwise)
{
    return node_double(node, name, otherwise);
}

/* Tensors in a group, of which there are `groups`. */
static int group_size(const Node *node, int groups)
{
    const int operands = node->n_in - 2;
    for (int i = 0; i < node->n_in; i++)
        infer_shape(node, i);
    if (operands % groups || !operands)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands are not %d groups of as many", groups);
    const int count = operands / groups;
    const int results = count * (groups - 1);
    if (node->n_out != results)
        fail_node(node, STATUS_MALFORMED, NULL, "has %d results, not %d",
                  node->n_out, results);
    return count;
}

/* Value i, its gradient, and what is carried for it, each of its group; the rate in their type. */
typedef struct Update {
    Tensor *value, *gradient, *carried, *carried_too, *rate;
} Update;

/* The gradient with the regularization. */
static Tensor *regularized(const Node *node, Tensor *value, Tensor *gradient)
{
    const double norm = attribute(node, "norm_coefficient", 0.0f);
    return expand_add(node, expand_scaled(node, value, norm), gradient);
}

static Update update_of(const Node *node, int i, int count, int groups)
{
    Tensor *const *operand = node->in + 2 + i;
    Update update = { .value = operand[0] };
    update.gradient = regularized(node, operand[0], operand[count]);
    update.carried = operand[2 * count];
    if (groups > 3)
        update.carried_too = operand[3 * count];
    update.rate = expand_cast(node, node->in[0], update.value->dtype);
    return update;
}

/* a where updates were made before, else b. */
static Tensor *if_updated(const Node *node, Tensor *a, Tensor *b)
{
    Tensor *updates = node->in[1];
    Tensor *none = expand_number(node, 0.0, updates->dtype);
    Tensor *later = expand_binary(node, "Greater", updates, none);
    return expand_done(expand_of(node, "Where", later, a, b));
}

/* The rate by the number of updates so far. */
static Tensor *decayed(const Node *node, const Update *update)
{
    const DType type = update->value->dtype;
    const double factor = attribute(node, "decay_factor", 0.0f);
    Tensor *updates = expand_cast(node, node->in[1], type);
    Tensor *decay = expand_scaled(node, updates, factor);
    Tensor *one = expand_number(node, 1.0, type);
    return expand_div(node, update->rate, expand_add(node, decay, one));
}

void expand_adagrad(Node *node)
{
    const int count = group_size(node, 3);
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, 2 * count);
    for (int i = 0; i < count; i++) {
        const Update update = update_of(node, i, count, 3);
        Tensor *slope = update.gradient;
        Tensor *square = expand_mul(node, slope, slope);
        Tensor *squares = expand_add(node, update.carried, square);
        Tensor *rate = decayed(node, &update);
        Tensor *root = root_of(node, squares);
        Tensor *way = expand_div(node, expand_mul(node, rate, slope), root);
        result[i] = expand_sub(node, update.value, way);
        result[count + i] = squares;
    }
    expand_finish(node, 2 * count, result);
}

/* 1 - base^T. */
static Tensor *rest_of_power(const Node *node, double base, DType type)
{
    Tensor *number = expand_number(node, base, type);
    Tensor *updates = expand_cast(node, node->in[1], type);
    Tensor *power = expand_binary(node, "Pow", number, updates);
    Tensor *one = expand_number(node, 1.0, type);
    return expand_sub(node, one, power);
}

/* share a + (1 - share) b. */
static Tensor *mixed(const Node *node, double share, Tensor *a, Tensor *b)
{
    Tensor *before = expand_scaled(node, a, share);
    Tensor *now = expand_scaled(node, b, 1.0 - share);
    return expand_add(node, before, now);
}

/* The rate of Adam: as given at first, then corrected for the averages' bias towards 0. */
static Tensor *corrected_rate(const Node *node, Tensor *rate, double alpha,
                              double beta)
{
    Tensor *second = rest_of_power(node, beta, rate->dtype);
    Tensor *first = rest_of_power(node, alpha, rate->dtype);
    Tensor *root = expand_unary(node, "Sqrt", second);
    Tensor *correction = expand_div(node, root, first);
    Tensor *corrected = expand_mul(node, rate, correction);
    return if_updated(node, corrected, rate);
}

static void adam_update(const Node *node, const Update *update, Tensor **result,
                        int count)
{
    const double alpha = attribute(node, "alpha", 0.9f);
    const double beta = attribute(node, "beta", 0.999f);
    const double post = attribute(node, "norm_coefficient_post", 0.0f);
    Tensor *gradient = update->gradient;
    Tensor *square = expand_mul(node, gradient, gradient);
    Tensor *mean = mixed(node, alpha, update->carried, gradient);
    Tensor *squares = mixed(node, beta, update->carried_too, square);
    Tensor *root = root_of(node, squares);
    Tensor *rate = corrected_rate(node, update->rate, alpha, beta);
    Tensor *change = expand_div(node, expand_mul(node, rate, mean), root);
    Tensor *next = expand_sub(node, update->value, change);
    result[0] = expand_scaled(node, next, 1.0 - post);
    result[count] = mean;
    result[2 * count] = squares;
}

void expand_adam(Node *node)
{
    const int count = group_size(node, 4);
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, 3 * count);
    for (int i = 0; i < count; i++) {
        const Update update = update_of(node, i, count, 4);
        adam_update(node, &update, result + i, count);
    }
    expand_finish(node, 3 * count, result);
}

/* The share of the gradient in the momentum: 1 at first, then beta. */
static Tensor *gradient_share(const Node *node, DType type)
{
    const double beta = attribute(node, "beta", 1.0f);
    Tensor *later = expand_number(node, beta, type);
    Tensor *first = expand_number(node, 1.0, type);
    return if_updated(node, later, first);
}

void expand_momentum(Node *node)
{
    const int count = group_size(node, 3);
    const double alpha = attribute(node, "alpha", 0.0f);
    const char *mode = node_string(node, "mode", "standard");
    const bool nesterov = !strcmp(mode, "nesterov");
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, 2 * count);
    for (int i = 0; i < count; i++) {
        const Update update = update_of(node, i, count, 3);
        Tensor *slope = update.gradient;
        Tensor *share = gradient_share(node, update.value->dtype);
        Tensor *before = expand_scaled(node, update.carried, alpha);
        Tensor *momentum =
            expand_add(node, before, expand_mul(node, share, slope));
        Tensor *way = momentum;
        if (nesterov)
            way = expand_add(node, slope, expand_scaled(node, momentum, alpha));
        way = expand_mul(node, update.rate, way);
        result[i] = expand_sub(node, update.value, way);
        result[count + i] = momentum;
    }
    expand_finish(node, 2 * count, result);
}
