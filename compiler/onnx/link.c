/* SPDX-License-Identifier: Apache-2.0
 * Names become values: what a subgraph does not make itself is the value of that
 * name around it; what nobody makes is an error. Afterwards only tensors that
 * exist are listed. */
#include "base/diag.h"
#include "onnx/read.h"

static bool is_made(const Tensor *tensor)
{
    return tensor->producer || tensor->storage;
}

/* What the name means around the graph, or NULL. */
static Tensor *outer_value(const Graph *graph, const Tensor *tensor)
{
    Tensor *outer =
        graph->parent ? graph_find(graph->parent, tensor->name) : NULL;
    return outer && is_made(outer) ? outer : NULL;
}

/* Outputs move before graph_replace() runs: it would search those of all graphs. */
static void capture_outputs(Graph *graph)
{
    for (size_t i = 0; i < graph->output.n; i++) {
        Tensor *tensor = graph->output.at[i];
        Tensor *outer = is_made(tensor) ? NULL : outer_value(graph, tensor);
        if (!outer)
            continue;
        graph->output.at[i] = outer;
        tensor->uses--;
        outer->uses++;
    }
}

/* The use that comes first in the file. */
static const Use *first_use(const Tensor *tensor)
{
    const Use *u = tensor->use;
    while (u && u->next)
        u = u->next;
    return u;
}

static void report(Reader *reader, const Graph *graph, const Tensor *tensor)
{
    static const char help[] = "the nodes or initializers it came from were "
                               "removed from the file, or renamed";
    const Use *use = first_use(tensor);
    if (use)
        error_at(STATUS_MALFORMED, node_loc(use->node), help,
                 "input %d, \"%s\", is made by no node, and is no graph input "
                 "and no initializer",
                 use->operand, tensor->name);
    else
        error_at(STATUS_MALFORMED,
                 (Loc){ .file = graph->file, .byte = -1, .node = -1 }, help,
                 "graph output \"%s\" is made by no node, and is no graph "
                 "input and no initializer",
                 tensor->name);
    if (++reader->errors == MOST_ERRORS)
        fail_now(STATUS_MALFORMED);
}

static void link_graph(Reader *reader, Graph *graph)
{
    capture_outputs(graph);
    for (size_t i = 0; i < graph->tensor.n; i++) {
        Tensor *t = graph->tensor.at[i];
        if (is_made(t))
            continue;
        Tensor *outer = outer_value(graph, t);
        if (!outer) {
            if (t->uses)
                report(reader, graph, t);
            continue;
        }
        graph_replace(graph, t, outer);
        map_put(&graph->by_name, t->name, outer);
    }
}

void link_names(Reader *reader, Graph *root)
{
    for (size_t i = 0; i < root->all.n; i++)
        link_graph(reader, root->all.at[i]); /* outer graphs come first */
}

void link_finish(Graph *root)
{
    root->next_id = 0;
    for (size_t k = 0; k < root->all.n; k++) {
        Graph *graph = root->all.at[k];
        size_t n = 0;
        for (size_t i = 0; i < graph->tensor.n; i++) {
            Tensor *t = graph->tensor.at[i];
            if (!is_made(t))
                continue;
            t->id = root->next_id++;
            graph->tensor.at[n++] = t;
        }
        graph->tensor.n = n;
    }
    for (size_t k = 0; k < root->all.n; k++)
        for (size_t i = 0; i < root->all.at[k]->tensor.n; i++) {
            root->all.at[k]->tensor.at[i]->storage = 0;
            root->all.at[k]->tensor.at[i]->slot = -1;
        }
}
