/* SPDX-License-Identifier: Apache-2.0
 * Calls of model-local functions become their bodies.
 * Requires: names resolved. Ensures: no node calls a function; sorted. */
#include <string.h>

#include "ir/clone.h"
#include "passes/passes.h"

enum { MOST_LEVELS = 64 };

static const Function *find_function(const Graph *root, const Node *node)
{
    for (size_t i = 0; i < root->function.n; i++) {
        const Function *f = root->function.at[i];
        if (!strcmp(f->name, node->op_type) &&
            !strcmp(f->domain, node->domain) &&
            !strcmp(f->overload, node->overload ? node->overload : ""))
            return f;
    }
    return NULL;
}

static Tensor *left_out(Tensor *tensor)
{
    return tensor ? tensor : CLONE_LEFT_OUT;
}

static void check_call(const Node *node, const Function *function)
{
    if (node->level > MOST_LEVELS)
        fail_at(STATUS_MALFORMED, node_loc(node), NULL,
                "function %s calls itself, or functions nest too deep",
                function->name);
    if ((size_t)node->n_in > function->body->input.n ||
        (size_t)node->n_out > function->body->output.n)
        fail_at(STATUS_MALFORMED, node_loc(node), NULL,
                "has more operands than function %s", function->name);
}

/* By id of a tensor of the body, what it is in the caller's graph: so far its inputs. */
static Tensor **bind_inputs(Arena *arena, const Node *call, const Graph *body)
{
    Tensor **image = NEW_ARRAY(arena, Tensor *, body->next_id + 1);
    for (size_t i = 0; i < body->input.n; i++)
        image[body->input.at[i]->id] = left_out(node_in(call, (int)i));
    return image;
}

/* The results of the body take the place of those of the call. */
static void take_results(Graph *graph, const Graph *body, Tensor *const *image,
                         Tensor *const *result, int results)
{
    for (int i = 0; i < results; i++) {
        Tensor *made = image[body->output.at[i]->id];
        if (result[i] && made && made != CLONE_LEFT_OUT)
            graph_take_name(graph, result[i], made);
    }
}

/* The nodes of a function instead of its call. */
static void expand(Node *call, const Function *function)
{
    Graph *graph = call->graph;
    const Graph *body = function->body;
    check_call(call, function);
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Tensor **image = bind_inputs(scratch, call, body);
    const CloneScope scope = {
        .image = image,
        .caller = call,
        .defaults = function->attr_defaults,
        .n_defaults = function->n_attr_defaults,
        .versions = body,
    };
    const int results = call->n_out;
    Tensor **result =
        arena_copy(graph->arena, call->out, (size_t)results * sizeof *result);
    graph_clone_into(graph, body, &scope);
    graph_kill(call);
    take_results(graph, body, image, result, results);
    arena_release(scratch, mark);
}

static void expand_graph(const Graph *root, Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *n = graph->node.at[i];
        const Function *function = n->dead ? NULL : find_function(root, n);
        if (function)
            expand(n, function);
    }
}

void pass_inline(Graph *root)
{
    if (!root->function.n)
        return;
    for (size_t k = 0; k < root->all.n; k++)
        expand_graph(root, root->all.at[k]);
    graph_count_uses(root);
    for (size_t k = root->all.n; k-- > 0;)
        graph_sort(root->all.at[k]);
}
