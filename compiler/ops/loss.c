/* SPDX-License-Identifier: Apache-2.0
 * NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <string.h>

#include "kernels/loss.h"
#include "ops/families.h"

enum { REDUCTION_NONE, REDUCTION_SUM, REDUCTION_MEAN };

static int reduction_of(const Node *node)
{
    const char *r = node_string(node, "reduction", "mean");
    if (!strcmp(r, "none"))
        return REDUCTION_NONE;
    if (!strcmp(r, "sum"))
        return REDUCTION_SUM;
    if (!strcmp(r, "mean"))
        return REDUCTION_MEAN;
    fail_node(node, STATUS_MALFORMED, NULL, "unknown reduction \"%s\"", r);
}

void infer_loss(Node *node)
{
    const Shape *scores = infer_shape(node, 0);
    const Shape *labels = infer_shape(node, 1);
    if (scores->rank < 2 || labels->rank != scores->rank - 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "labels must have one dimension less than scores");
    if (node->in[1]->dtype != DT_I64 && node->in[1]->dtype != DT_I32)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "labels must be int32 or int64");
    if (node_in(node, 2) && tensor_count(node->in[2]) != scores->dim[1])
        fail_node(node, STATUS_MALFORMED, NULL,
                  "there must be one weight a class");
    infer_out(node, 0, node_type(node),
              reduction_of(node) ? shape_scalar() : *labels);
    infer_out(node, 1, node_type(node), *scores);
}

static inlay_loss_params params_of(const Node *node)
{
    const Shape *s = node_shape(node, 0);
    int64_t places = 1;
    for (int i = 2; i < s->rank; i++)
        places *= s->dim[i];
    return (inlay_loss_params){
        .n = s->dim[0],
        .c = s->dim[1],
        .d = places,
        .reduction = reduction_of(node),
        .wide = node->in[1]->dtype == DT_I64,
        .has_ignore = node_attr(node, "ignore_index") != NULL,
        .ignore = node_int(node, "ignore_index", 0),
    };
}

static void lower_likelihood(Lower *lower, Node *node, Tensor *scores)
{
    const inlay_loss_params params = params_of(node);
    Step *step = lower_step(
        lower, lower_kernel(lower, "nll_loss", scores->dtype), &params);
    step_result(step, 0);
    step_in(step, scores);
    step_operand(step, 1);
    step_operand(step, 2);
}

void lower_nll_loss(Lower *lower, Node *node)
{
    lower_likelihood(lower, node, node->in[0]);
}

void lower_softmax_cross_entropy(Lower *lower, Node *node)
{
    const inlay_loss_params params = params_of(node);
    Tensor *log = node_out(node, 1)
                      ? node->out[1]
                      : lower_temp(lower, node_type(node), node->in[0]->shape);
    Step *step = lower_typed_step(lower, "log_softmax_classes", &params);
    step_out(step, log);
    step_operand(step, 0);
    lower_likelihood(lower, node, log);
}
