/* SPDX-License-Identifier: Apache-2.0
 * NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <string.h>

#include "kernels/loss.h"
#include "ops/families.h"

enum { REDUCTION_NONE, REDUCTION_SUM, REDUCTION_MEAN };

static int reduction_of(const Node *n)
{
    const char *r = node_string(n, "reduction", "mean");
    if (!strcmp(r, "none"))
        return REDUCTION_NONE;
    if (!strcmp(r, "sum"))
        return REDUCTION_SUM;
    if (!strcmp(r, "mean"))
        return REDUCTION_MEAN;
    fail_node(n, STATUS_MALFORMED, NULL, "unknown reduction \"%s\"", r);
}

void infer_loss(Node *n)
{
    const Shape *scores = infer_shape(n, 0), *labels = infer_shape(n, 1);
    if (scores->rank < 2 || labels->rank != scores->rank - 1)
        fail_node(n, STATUS_MALFORMED, NULL, "labels must have one dimension less than scores");
    if (n->in[1]->dtype != DT_I64 && n->in[1]->dtype != DT_I32)
        fail_node(n, STATUS_MALFORMED, NULL, "labels must be int32 or int64");
    if (node_in(n, 2) && tensor_count(n->in[2]) != scores->dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "there must be one weight a class");
    infer_out(n, 0, n->in[0]->dtype, reduction_of(n) ? shape_scalar() : *labels);
    infer_out(n, 1, n->in[0]->dtype, *scores);
}

static inlay_loss_params params_of(const Node *n)
{
    const Shape *s = &n->in[0]->shape;
    int64_t places = 1;
    for (int i = 2; i < s->rank; i++)
        places *= s->dim[i];
    return (inlay_loss_params){
        .n = s->dim[0],
        .c = s->dim[1],
        .d = places,
        .reduction = reduction_of(n),
        .wide = n->in[1]->dtype == DT_I64,
        .has_ignore = node_attr(n, "ignore_index") != NULL,
        .ignore = node_int(n, "ignore_index", 0),
    };
}

static void lower_likelihood(Lower *l, Node *n, Tensor *scores)
{
    const inlay_loss_params p = params_of(n);
    Step *s = lower_step(l, n, lower_kernel(l, "nll_loss", scores->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, scores);
    step_in(s, n->in[1]);
    step_in(s, node_in(n, 2));
}

void lower_nll_loss(Lower *l, Node *n)
{
    lower_likelihood(l, n, n->in[0]);
}

void lower_softmax_cross_entropy(Lower *l, Node *n)
{
    const inlay_loss_params p = params_of(n);
    Tensor *log = node_out(n, 1) ? n->out[1] : lower_temp(l, n->in[0]->dtype, n->in[0]->shape);
    Step *s = lower_step(l, n, lower_kernel(l, "log_softmax_classes", n->in[0]->dtype), &p);
    step_out(s, log);
    step_in(s, n->in[0]);
    lower_likelihood(l, n, log);
}
