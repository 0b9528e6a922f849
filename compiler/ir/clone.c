/* SPDX-License-Identifier: Apache-2.0
 * Copies of nodes with their subgraphs: function bodies, loop bodies that are unrolled. */
#include <string.h>

#include "base/limits.h"
#include "base/size.h"
#include "ir/clone.h"

typedef struct Job {
    const Graph *from;
    Graph *to;
} Job;

typedef struct Cloner {
    Graph *root; /* of the copy */
    const Graph *body;
    const CloneScope *scope;
    VEC(Job) todo;
} Cloner;

/* Of a graph and those in it. */
static int64_t count_nodes(const Graph *graph)
{
    int64_t n = 0;
    for (size_t i = 0; i < graph->all.n; i++)
        n += (int64_t)graph->all.at[i]->node.n;
    return n;
}

/* Before the first copy `root` holds what the file does. */
static int64_t most_copied(const Graph *root)
{
    int64_t n = count_nodes(root);
    for (size_t i = 0; i < root->function.n; i++)
        n += count_nodes(root->function.at[i]->body);
    return i64_add(LIMIT_EXPANDED, i64_mul(LIMIT_EXPANDED_OF_NODE, n));
}

/* Of a node, or of a graph in one, which counts as several. Bodies within bodies multiply. */
static void count_copy(Graph *root, const Node *node, int64_t nodes)
{
    if (!root->most_copied)
        root->most_copied = most_copied(root);
    root->copied += nodes;
    if (root->copied > root->most_copied)
        fail_at(STATUS_UNSUPPORTED, node_loc(node),
                "the limit grows with the nodes of the file",
                "functions, loops and bodies for each item expand to more than "
                "%lld nodes",
                (long long)root->most_copied);
}

static bool captured(const Graph *body, const Tensor *tensor)
{
    for (const Graph *graph = tensor->graph; graph; graph = graph->parent)
        if (graph == body)
            return false;
    return true;
}

static Tensor *image(Cloner *cloner, Graph *to, Tensor *tensor)
{
    if (!tensor || captured(cloner->body, tensor))
        return tensor;
    Tensor **slot = cloner->scope->image + tensor->id;
    if (*slot)
        return *slot == CLONE_LEFT_OUT ? NULL : *slot;
    Tensor *copy = graph_add_tensor(to, NULL, tensor->dtype, tensor->shape);
    copy->value = tensor->value;
    copy->declared = tensor->declared;
    copy->assumed = tensor->assumed;
    copy->declared_dtype = tensor->declared_dtype;
    copy->symbol = tensor->symbol;
    return *slot = copy;
}

/* The attribute a reference stands for: the caller's, or the function's default; NULL: none. */
static const Attr *resolve(const CloneScope *scope, const char *name)
{
    const Attr *given = scope->caller ? node_attr(scope->caller, name) : NULL;
    if (given)
        return given;
    for (int i = 0; i < scope->n_defaults; i++) {
        const Attr *known = scope->defaults + i;
        if (!strcmp(known->name, name))
            return known;
    }
    return NULL;
}

/* The subgraph of an attribute; its nodes are copied later. */
static Graph *clone_body(Cloner *cloner, Node *holder, const Graph *body)
{
    Graph *root = cloner->root;
    count_copy(root, holder, EXPANDED_BODY);
    Graph *copy =
        graph_new(root->arena, root->store, root->file, holder->graph);
    copy->holder = holder;
    copy->name = body->name;
    const Job job = { .from = body, .to = copy };
    VEC_PUSH(root->arena, &cloner->todo, job);
    return copy;
}

static void clone_attrs(Cloner *cloner, Node *copy, const Node *node)
{
    copy->attr = NEW_ARRAY(cloner->root->arena, Attr, node->n_attr + 1);
    for (int i = 0; i < node->n_attr; i++) {
        Attr attr = node->attr[i];
        if (attr.ref) {
            const Attr *real = resolve(cloner->scope, attr.ref);
            if (!real)
                continue;
            const char *name = attr.name;
            attr = *real;
            attr.name = name;
        } else if (attr.graph) {
            attr.graph = clone_body(cloner, copy, attr.graph);
        }
        copy->attr[copy->n_attr++] = attr;
    }
}

static Tensor **images(Cloner *cloner, Graph *to, int n, Tensor *const *tensors)
{
    Tensor **copies = NEW_ARRAY(to->arena, Tensor *, n);
    for (int i = 0; i < n; i++)
        copies[i] = image(cloner, to, tensors[i]);
    return copies;
}

static void clone_node(Cloner *cloner, Graph *to, const Node *node)
{
    const CloneScope *scope = cloner->scope;
    count_copy(cloner->root, scope->caller ? scope->caller : node, 1);
    Tensor **in = images(cloner, to, node->n_in, node->in);
    Tensor **out = images(cloner, to, node->n_out, node->out);
    Node *copy = graph_add_node(to, node->domain, node->op_type, node->n_in, in,
                                node->n_out, out);
    copy->name = node->name;
    copy->index = node->index;
    copy->level = node->level;
    copy->version = node->version;
    if (scope->caller) {
        copy->index = scope->caller->index;
        copy->level = scope->caller->level + 1;
    }
    if (!copy->version && scope->versions)
        copy->version = graph_opset(scope->versions, node->domain);
    clone_attrs(cloner, copy, node);
}

static void clone_inputs(Cloner *cloner, Graph *to, const Graph *from)
{
    for (size_t i = 0; i < from->input.n; i++) {
        Tensor *input = image(cloner, to, from->input.at[i]);
        VEC_PUSH(to->arena, &to->input, input);
    }
}

static void clone_outputs(Cloner *cloner, Graph *to, const Graph *from)
{
    for (size_t i = 0; i < from->output.n; i++) {
        Tensor *output = image(cloner, to, from->output.at[i]);
        VEC_PUSH(to->arena, &to->output, output);
        output->uses++;
    }
}

void graph_clone_into(Graph *to, const Graph *body, const CloneScope *scope)
{
    Cloner cloner = { .root = graph_root(to), .body = body, .scope = scope };
    const Job first = { .from = body, .to = to };
    VEC_PUSH(to->arena, &cloner.todo, first);
    for (size_t k = 0; k < cloner.todo.n; k++) {
        const Job job = cloner.todo.at[k];
        if (k)
            clone_inputs(&cloner, job.to, job.from);
        for (size_t i = 0; i < job.from->node.n; i++) {
            const Node *node = job.from->node.at[i];
            if (!node->dead)
                clone_node(&cloner, job.to, node);
        }
        if (k)
            clone_outputs(&cloner, job.to, job.from);
    }
}

Graph *graph_clone(Graph *parent, Node *holder, const Graph *body)
{
    count_copy(graph_root(parent), holder, EXPANDED_BODY);
    Graph *graph =
        graph_new(parent->arena, parent->store, parent->file, parent);
    graph->holder = holder;
    graph->name = body->name;
    Arena *scratch = &parent->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const CloneScope scope = {
        .image = NEW_ARRAY(scratch, Tensor *, graph_root(parent)->next_id)
    };
    Cloner cloner = { .root = graph_root(graph),
                      .body = body,
                      .scope = &scope };
    clone_inputs(&cloner, graph, body);
    graph_clone_into(graph, body, &scope);
    clone_outputs(&cloner, graph, body);
    arena_release(scratch, mark);
    return graph;
}
