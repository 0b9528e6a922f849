/* SPDX-License-Identifier: Apache-2.0
 * What If, Loop and Scan share. */
#ifndef INLAY_OPS_CONTROL_H
#define INLAY_OPS_CONTROL_H

#include "ops/lower.h"

/* The graph that is attribute `name`, which must be there; and another one. */
Graph *control_body(Node *node, const char *name);
void control_set_body(Node *node, const char *name,
                      Graph *graph);           /* in its place */
void control_set_input(Graph *graph, size_t i, /* of the body's inputs */
                       DType type, Shape shape);
/* Types and shapes of a body whose inputs have theirs. */
void control_infer(Graph *graph);
/* Puts the nodes of body into the node's graph. */
void control_expand(Node *node, const Graph *body,
                    Tensor *const *in, /* its inputs */
                    Tensor **out);     /* gets its outputs */
/* The steps of a body. */
void control_lower(Lower *lower, Graph *graph);
/* A step that may go on elsewhere. */
Step *control_step(Lower *lower, const char *kernel, const void *params);
/* The number that the next step gets. */
int32_t control_next(const Lower *lower);
/* All steps get the next number: so do those that this one goes on with. */
void control_move(Step *step);
/* Is it a constant, and true? */
bool control_is_true(const Tensor *tensor, Graph *graph);
/* `out`, which no node makes, becomes what `made` is. */
void control_become(const Node *node, /* beside which */
                    Tensor *out, Tensor *made);
/* Makes the node's outputs what `made` says and takes the node out. */
void control_retire_into(Node *node, Tensor *const *made);
/* Infers a body, a Graph, for protect(): whether it can be is an answer. */
void control_infer_body(void *body);
/* A node that joins the parts. */
Tensor *control_concat(Node *node, Tensor *const *part,
                       int count, /* of parts */
                       int axis);

#endif
