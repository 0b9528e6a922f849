/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/parted.h"

#include "ops/ops.h"

Node *insert_like(Graph *graph, const Node *node, int n_in, Tensor *const *in,
                  Tensor *out)
{
    const size_t bytes = (size_t)node->n_attr * sizeof *node->attr;
    Node *made = graph_insert_node(graph, node, node->domain, node->op_type,
                                   n_in, in, 1, &out);
    made->attr = arena_copy(graph->arena, node->attr, bytes);
    made->n_attr = node->n_attr;
    made->version = node->version;
    made->op = node->op;
    return made;
}

Tensor *part_of_constant(Graph *graph, const Tensor *whole, int axis,
                         int64_t from, int64_t count)
{
    Recipe *part = recipe_part(graph->store, whole->value, axis, from, count);
    return graph_add_constant(graph, NULL, part);
}

void join_parts(Graph *graph, const Node *anchor, int parts,
                Tensor *const *part, Tensor *out)
{
    Node *all =
        graph_insert_node(graph, anchor, "", "Concat", parts, part, 1, &out);
    node_set_int(all, "axis", out->shape.rank - 1);
    all->version = OPSET_NEWEST;
    all->op = op_find("", "Concat", OPSET_NEWEST);
    out->producer = all;
}
