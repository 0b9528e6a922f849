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

/* One of each group, the gradient with its regularization, and the rate in their type. An update
 * changes the value and what is carried for it. */
typedef struct Update {
    const Node *node;
    DType type;
    Tensor *rate;
    Tensor *value;
    Tensor *gradient;
    Tensor *carried;
    Tensor *carried_too; /* of Adam */
} Update;

typedef void UpdateFn(Update *update);

static double attribute(const Update *update, const char *name, float otherwise)
{
    return node_double(update->node, name, otherwise);
}

static Tensor *number_of(const Update *update, double number)
{
    return expand_number(update->node, number, update->type);
}

/* How many updates there were. */
static Tensor *updates_of(const Update *update)
{
    const Node *node = update->node;
    return expand_cast(node, node->in[1], update->type);
}

static void regularize(Update *update)
{
    const Node *node = update->node;
    const double norm = attribute(update, "norm_coefficient", 0.0f);
    Tensor *more = expand_scaled(node, update->value, norm);
    update->gradient = expand_add(node, more, update->gradient);
}

/* Update i of `count` that each group has. */
static Update update_of(const Node *node, int i, int count, int groups)
{
    Tensor *const *operand = node->in + 2 + i;
    Update update = {
        .node = node,
        .type = operand[0]->dtype,
        .value = operand[0],
        .gradient = operand[count],
        .carried = operand[2 * count],
    };
    if (groups > 3)
        update.carried_too = operand[3 * count];
    regularize(&update);
    update.rate = expand_cast(node, node->in[0], update.type);
    return update;
}

/* All values; the results are what the updates have made of them, group by group. */
static void expand_updates(Node *node, int groups, UpdateFn *run)
{
    const int count = group_size(node, groups);
    const int results = count * (groups - 1);
    Tensor **result = NEW_ARRAY(node->graph->arena, Tensor *, results);
    for (int i = 0; i < count; i++) {
        Update update = update_of(node, i, count, groups);
        run(&update);
        result[i] = update.value;
        result[count + i] = update.carried;
        if (groups > 3)
            result[2 * count + i] = update.carried_too;
    }
    expand_finish(node, results, result);
}

/* The value goes down by `way`. */
static void descend(Update *update, Tensor *way)
{
    update->value = expand_sub(update->node, update->value, way);
}

/* a where updates were made before, else b. */
static Tensor *if_updated(const Node *node, Tensor *a, Tensor *b)
{
    Tensor *updates = node->in[1];
    Tensor *none = expand_number(node, 0.0, updates->dtype);
    Tensor *later = expand_binary(node, "Greater", updates, none);
    return expand_where(node, later, a, b);
}

/* The rate by the number of updates so far. */
static Tensor *decayed(const Update *update)
{
    const Node *node = update->node;
    const double factor = attribute(update, "decay_factor", 0.0f);
    Tensor *decay = expand_scaled(node, updates_of(update), factor);
    Tensor *one = number_of(update, 1.0);
    Tensor *divisor = expand_add(node, decay, one);
    return expand_div(node, update->rate, divisor);
}

static void update_adagrad(Update *update)
{
    const Node *node = update->node;
    Tensor *slope = update->gradient;
    Tensor *square = expand_square(node, slope);
    update->carried = expand_add(node, update->carried, square);
    Tensor *rate = decayed(update);
    Tensor *root = root_of(node, update->carried);
    Tensor *way = expand_mul(node, rate, slope);
    descend(update, expand_div(node, way, root));
}

void expand_adagrad(Node *node)
{
    expand_updates(node, 3, update_adagrad);
}

/* 1 - base^T. */
static Tensor *rest_of_power(const Update *update, double base)
{
    const Node *node = update->node;
    Tensor *number = number_of(update, base);
    Tensor *updates = updates_of(update);
    Tensor *power = expand_binary(node, "Pow", number, updates);
    Tensor *one = number_of(update, 1.0);
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
static Tensor *corrected_rate(const Update *update, double alpha, double beta)
{
    const Node *node = update->node;
    Tensor *second = rest_of_power(update, beta);
    Tensor *first = rest_of_power(update, alpha);
    Tensor *root = expand_unary(node, "Sqrt", second);
    Tensor *correction = expand_div(node, root, first);
    Tensor *corrected = expand_mul(node, update->rate, correction);
    return if_updated(node, corrected, update->rate);
}

/* The means of gradients and of their squares. */
static void update_adam(Update *update)
{
    const Node *node = update->node;
    const double alpha = attribute(update, "alpha", 0.9f);
    const double beta = attribute(update, "beta", 0.999f);
    const double post = attribute(update, "norm_coefficient_post", 0.0f);
    Tensor *slope = update->gradient;
    Tensor *square = expand_square(node, slope);
    Tensor *mean = mixed(node, alpha, update->carried, slope);
    Tensor *squares = mixed(node, beta, update->carried_too, square);
    Tensor *root = root_of(node, squares);
    Tensor *rate = corrected_rate(update, alpha, beta);
    Tensor *way = expand_mul(node, rate, mean);
    descend(update, expand_div(node, way, root));
    update->value = expand_scaled(node, update->value, 1.0 - post);
    update->carried = mean;
    update->carried_too = squares;
}

void expand_adam(Node *node)
{
    expand_updates(node, 4, update_adam);
}

/* The share of the gradient in the momentum: 1 at first, then beta. */
static Tensor *gradient_share(const Update *update)
{
    const double beta = attribute(update, "beta", 1.0f);
    Tensor *later = number_of(update, beta);
    Tensor *first = number_of(update, 1.0);
    return if_updated(update->node, later, first);
}

static bool is_nesterov(const Node *node)
{
    const char *mode = node_string(node, "mode", "standard");
    return !strcmp(mode, "nesterov");
}

static void update_momentum(Update *update)
{
    const Node *node = update->node;
    const double alpha = attribute(update, "alpha", 0.0f);
    Tensor *slope = update->gradient;
    Tensor *share = gradient_share(update);
    Tensor *before = expand_scaled(node, update->carried, alpha);
    Tensor *now = expand_mul(node, share, slope);
    Tensor *way = expand_add(node, before, now);
    update->carried = way;
    if (is_nesterov(node)) {
        Tensor *ahead = expand_scaled(node, way, alpha);
        way = expand_add(node, slope, ahead);
    }
    descend(update, expand_mul(node, update->rate, way));
}

void expand_momentum(Node *node)
{
    expand_updates(node, 3, update_momentum);
}
