/* SPDX-License-Identifier: Apache-2.0
 * Types and shapes, in execution order; nodes with constant operands are computed on the way, so
 * that shape subgraphs have vanished when their results are needed. Requires: a sorted graph with
 * unique names. Ensures: every live value has a type and a known shape. */
#include <string.h>

#include "eval/fold.h"
#include "ops/dynamic.h"
#include "ops/ops.h"
#include "passes/passes.h"

static int64_t version_of(const Node *n)
{
    const int64_t v = n->version ? n->version : graph_opset(n->graph, n->domain);
    return v ? v : !strcmp(n->domain, "inlay") || !strcmp(n->domain, "com.microsoft") ? 1 : 0;
}

static bool resolve(Node *n)
{
    if (!strcmp(n->domain, "ai.onnx"))
        n->domain = "";
    n->op = op_find(n->domain, n->op_type, version_of(n));
    return op_check(n);
}

/* All unsupported nodes and attributes are reported at once, before anything is computed. */
static void resolve_all(Graph *g)
{
    for (size_t i = 0; i < g->node.n; i++)
        if (resolve(g->node.at[i]))
            op_check_attributes(g->node.at[i]);
}

static bool constant_inputs(const Node *n)
{
    if (n->op->flags & OP_SHAPE_ONLY)
        return true;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !n->in[i]->value)
            return false;
    return true;
}

/* A node whose results are constants now leaves the graph. */
static void retire(Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && !n->out[i]->value)
            return;
    graph_kill(n);
}

static void fold(Node *n)
{
    if (n->op->flags & (OP_NOT_CONSTANT | OP_CONTROL) || !constant_inputs(n))
        return;
    Recipe *r = n->n_out == 1 ? n->op->constant(n) : NULL;
    if (r)
        n->out[0]->value = r;
    else if (!fold_node(n))
        return;
    retire(n);
}

/* Sizes known at run time only travel with the shapes while these are inferred. */
static void infer_one(Node *n)
{
    const bool first = graph_root(n->graph)->infer != NULL;
    if (first && dynamic_shape(n))
        return;
    n->op->infer(n);
    if (first && !n->dead)
        dynamic_results(n);
    if (!n->dead)
        fold(n);
}

void infer_node(Node *n)
{
    if (!resolve(n))
        fail_if_errors();
    infer_one(n);
}

void infer_graph(Graph *g)
{
    const size_t count = g->node.n; /* nodes that an infer function adds it infers itself */
    for (size_t i = 0; i < count; i++) {
        Node *n = g->node.at[i];
        if (!n->op && !resolve(n))
            fail_if_errors();
        infer_one(n);
    }
    graph_compact(g);
}

void pass_infer(Graph *g)
{
    g->infer = infer_graph;
    g->infer_node = infer_node;
    for (size_t k = 0; k < g->all.n; k++)
        if (!graph_gone(g->all.at[k]))
            resolve_all(g->all.at[k]);
    fail_if_errors();
    declare_backwards(g);
    infer_graph(g);
    declare_check(g);
    dynamic_outputs(g);
    g->infer = NULL;
    graph_count_uses(g);
    for (size_t k = g->all.n; k-- > 0;)
        if (!graph_gone(g->all.at[k]))
            graph_sort(g->all.at[k]);
}
