/* SPDX-License-Identifier: Apache-2.0
 * Names become values: what a subgraph does not make itself is the value of that
 * name around it; what nobody makes is an error. Afterwards only tensors that
 * exist are listed. */
#include "base/diag.h"
#include "onnx/read.h"

static bool is_made(const Tensor *t)
{
    return t->producer || t->storage;
}

/* What the name means around the graph, or NULL. */
static Tensor *outer_value(const Graph *g, const Tensor *t)
{
    Tensor *outer = g->parent ? graph_find(g->parent, t->name) : NULL;
    return outer && is_made(outer) ? outer : NULL;
}

/* Outputs move before graph_replace() runs: it would search those of all graphs. */
static void capture_outputs(Graph *g)
{
    for (size_t i = 0; i < g->output.n; i++) {
        Tensor *t = g->output.at[i], *outer = is_made(t) ? NULL : outer_value(g, t);
        if (!outer)
            continue;
        g->output.at[i] = outer;
        t->uses--;
        outer->uses++;
    }
}

/* The use that comes first in the file. */
static const Use *first_use(const Tensor *t)
{
    const Use *u = t->use;
    while (u && u->next)
        u = u->next;
    return u;
}

static void report(Reader *r, const Graph *g, const Tensor *t)
{
    static const char help[] =
        "the nodes or initializers it came from were removed from the file, or renamed";
    const Use *u = first_use(t);
    if (u)
        error_at(STATUS_MALFORMED, node_loc(u->node), help,
                 "input %d, \"%s\", is made by no node, and is no graph input and no initializer",
                 u->operand, t->name);
    else
        error_at(STATUS_MALFORMED, (Loc){ .file = g->file, .byte = -1, .node = -1 }, help,
                 "graph output \"%s\" is made by no node, and is no graph input and no initializer",
                 t->name);
    if (++r->errors == MOST_ERRORS)
        fail_now(STATUS_MALFORMED);
}

static void link_graph(Reader *r, Graph *g)
{
    capture_outputs(g);
    for (size_t i = 0; i < g->tensor.n; i++) {
        Tensor *t = g->tensor.at[i];
        if (is_made(t))
            continue;
        Tensor *outer = outer_value(g, t);
        if (!outer) {
            if (t->uses)
                report(r, g, t);
            continue;
        }
        graph_replace(g, t, outer);
        map_put(&g->by_name, t->name, outer);
    }
}

void link_names(Reader *r, Graph *root)
{
    for (size_t i = 0; i < root->all.n; i++)
        link_graph(r, root->all.at[i]); /* outer graphs come first */
}

void link_finish(Graph *root)
{
    root->next_id = 0;
    for (size_t k = 0; k < root->all.n; k++) {
        Graph *g = root->all.at[k];
        size_t n = 0;
        for (size_t i = 0; i < g->tensor.n; i++) {
            Tensor *t = g->tensor.at[i];
            if (!is_made(t))
                continue;
            t->id = root->next_id++;
            g->tensor.at[n++] = t;
        }
        g->tensor.n = n;
    }
    for (size_t k = 0; k < root->all.n; k++)
        for (size_t i = 0; i < root->all.at[k]->tensor.n; i++) {
            root->all.at[k]->tensor.at[i]->storage = 0;
            root->all.at[k]->tensor.at[i]->slot = -1;
        }
}
