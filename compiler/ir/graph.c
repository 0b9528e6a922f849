/* SPDX-License-Identifier: Apache-2.0
 * Tensors, nodes and the lists of uses that passes rewrite. Order is in sort.c, attributes in
 * node.c. */
#include "ir/graph.h"

#include <string.h>

Graph *graph_new(Arena *arena, Store *store, const char *file, Graph *parent)
{
    Graph *graph = NEW(arena, Graph);
    *graph = (Graph){ .arena = arena,
                      .store = store,
                      .file = file,
                      .parent = parent,
                      .by_name = map_new(arena) };
    Graph *root = graph_root(graph);
    VEC_PUSH(arena, &root->all, graph);
    return graph;
}

Graph *graph_root(Graph *graph)
{
    while (graph->parent)
        graph = graph->parent;
    return graph;
}

/* What most tensors have none of is kept outside of them: there may be hundreds of thousands. */
static const Shape not_declared = { .rank = -1 };
static const char *const no_symbols[MAX_RANK];
static const int no_sizes[MAX_RANK];

void tensor_declare(Tensor *tensor, const Shape *shape)
{
    tensor->declared = arena_copy(tensor->graph->arena, shape, sizeof *shape);
}

int *tensor_size_ids(Tensor *tensor)
{
    int *own =
        arena_copy(tensor->graph->arena, tensor->size_id, sizeof no_sizes);
    tensor->size_id = own;
    return own;
}

Tensor *graph_add_tensor(Graph *g, const char *name, DType dtype, Shape shape)
{
    Graph *root = graph_root(g);
    Tensor *t = NEW(g->arena, Tensor);
    *t = (Tensor){ .id = root->next_id++,
                   .graph = g,
                   .dtype = dtype,
                   .shape = shape,
                   .declared = &not_declared,
                   .symbol = no_symbols,
                   .size_id = no_sizes,
                   .slot = -1 };
    t->name = name ? name : arena_printf(g->arena, "_%d", t->id);
    VEC_PUSH(g->arena, &g->tensor, t);
    if (name && *name)
        map_put(&g->by_name, name, t);
    return t;
}

Tensor *graph_find(Graph *graph, const char *name)
{
    for (; graph; graph = graph->parent) {
        Tensor *tensor = map_get(&graph->by_name, name);
        if (tensor)
            return tensor;
    }
    return NULL;
}

Tensor *graph_add_constant(Graph *graph, const char *name, Recipe *value)
{
    Tensor *tensor =
        graph_add_tensor(graph, name, recipe_dtype(value),
                         shape_of(recipe_rank(value), recipe_dims(value)));
    tensor->value = value;
    return tensor;
}

Tensor *graph_add_ints(Graph *graph, const char *name, int64_t n,
                       const int64_t *values)
{
    return graph_add_constant(
        graph, name, recipe_memory(graph->store, DT_I64, 1, &n, values));
}

static void add_use(Tensor *tensor, Use *u)
{
    u->before = NULL;
    u->next = tensor->use;
    if (tensor->use)
        tensor->use->before = u;
    tensor->use = u;
    tensor->uses++;
}

static void link_use(Node *n, int operand)
{
    n->use[operand] = (Use){ .node = n, .operand = operand };
    if (n->in[operand])
        add_use(n->in[operand], n->use + operand);
}

static void unlink_use(Node *n, int operand)
{
    Tensor *tensor = n->in[operand];
    Use *u = n->use + operand;
    if (!tensor || !u->node)
        return;
    if (u->before)
        u->before->next = u->next;
    else
        tensor->use = u->next;
    if (u->next)
        u->next->before = u->before;
    u->node = NULL;
    tensor->uses--;
}

static Node *make_node(Graph *g, const char *domain, const char *op_type,
                       int n_in, Tensor *const *in, int n_out,
                       Tensor *const *out)
{
    Node *node = NEW(g->arena, Node);
    *node = (Node){ .index = -1,
                    .name = "",
                    .op_type = op_type,
                    .domain = domain,
                    .graph = g,
                    .n_in = n_in,
                    .n_out = n_out };
    node->in = arena_copy(g->arena, in, (size_t)n_in * sizeof *in);
    node->out = arena_copy(g->arena, out, (size_t)n_out * sizeof *out);
    node->use = NEW_ARRAY(g->arena, Use, n_in);
    for (int i = 0; i < n_in; i++)
        link_use(node, i);
    for (int i = 0; i < n_out; i++)
        if (node->out[i])
            node->out[i]->producer = node;
    return node;
}

Node *graph_add_node(Graph *graph, const char *domain, const char *op_type,
                     int n_in, Tensor *const *in, int n_out, Tensor *const *out)
{
    Node *n = make_node(graph, domain, op_type, n_in, in, n_out, out);
    VEC_PUSH(graph->arena, &graph->node, n);
    return n;
}

Node *graph_insert_node(Graph *graph, const Node *anchor, const char *domain,
                        const char *op_type, int n_in, Tensor *const *in,
                        int n_out, Tensor *const *out)
{
    Node *node = graph_add_node(graph, domain, op_type, n_in, in, n_out, out);
    node->name = anchor->name;
    node->index = anchor->index;
    return node;
}

void node_set_inputs(Node *node, int count, Tensor *const *in)
{
    for (int i = 0; i < node->n_in; i++)
        unlink_use(node, i);
    if (count > node->n_in)
        node->use = NEW_ARRAY(node->graph->arena, Use, count);
    node->in = arena_copy(node->graph->arena, in, (size_t)count * sizeof *in);
    node->n_in = count;
    for (int i = 0; i < count; i++)
        link_use(node, i);
}

Tensor **node_copy_inputs(const Node *node)
{
    return arena_copy(node->graph->arena, node->in,
                      (size_t)node->n_in * sizeof *node->in);
}

void node_set_input(Node *node, int i, Tensor *tensor)
{
    Tensor **in = node_copy_inputs(node);
    in[i] = tensor;
    node_set_inputs(node, node->n_in, in);
}

void graph_kill(Node *node)
{
    if (node->dead)
        return;
    for (int i = 0; i < node->n_in; i++)
        unlink_use(node, i);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->producer == node)
            node->out[i]->producer = NULL;
    node->dead = true;
}

bool graph_is_output(const Graph *graph, const Tensor *tensor)
{
    for (size_t i = 0; i < graph->output.n; i++)
        if (graph->output.at[i] == tensor)
            return true;
    return false;
}

size_t graph_results(const Graph *graph)
{
    return graph->output.n - graph->dims_outputs;
}

size_t graph_dims_place(const Graph *graph, size_t i)
{
    size_t at = graph_results(graph);
    for (size_t k = 0; k < i; k++)
        at += graph->output.at[k]->dynamic != 0;
    return at;
}

static size_t streamed_states(const Graph *graph)
{
    size_t found = 0;
    for (size_t i = 0; i < graph->state.n; i++)
        found += graph->state.at[i].streamed;
    return found;
}

size_t graph_own_inputs(const Graph *graph)
{
    return graph->input.n - streamed_states(graph);
}

size_t graph_own_results(const Graph *graph)
{
    return graph_results(graph) - streamed_states(graph);
}

const Signal *graph_signal(const Graph *graph, size_t i)
{
    for (size_t k = 0; k < graph->signal.n; k++)
        if (graph->signal.at[k].in == i)
            return graph->signal.at + k;
    return NULL;
}

IoForm graph_in_form(const Graph *graph, size_t i)
{
    return graph->in_form ? graph->in_form[i] : IO_CALLER;
}

IoForm graph_out_form(const Graph *graph, size_t i)
{
    return graph->out_form && i < graph_results(graph) ? graph->out_form[i]
                                                       : IO_CALLER;
}

Shape tensor_model_shape(const Tensor *tensor)
{
    Shape s = tensor->shape;
    for (int i = 0; tensor->perm && i < s.rank; i++)
        s.dim[tensor->perm[i]] = tensor->shape.dim[i];
    return s;
}

void graph_replace(Graph *graph, Tensor *from, Tensor *to)
{
    if (from == to)
        return;
    while (from->use) {
        Use *u = from->use;
        from->use = u->next;
        from->uses--;
        u->node->in[u->operand] = to;
        add_use(to, u);
    }
    if (!from->uses)
        return; /* what is left are graph outputs, of any graph */
    Graph *root = graph_root(graph);
    for (size_t k = 0; k < root->all.n; k++)
        for (size_t i = 0; i < root->all.at[k]->output.n; i++)
            if (root->all.at[k]->output.at[i] == from) {
                root->all.at[k]->output.at[i] = to;
                from->uses--;
                to->uses++;
            }
}

void graph_take_name(Graph *g, Tensor *old, Tensor *made)
{
    Node *node = made->producer;
    if (node && node->graph == g && !graph_is_output(g, made)) {
        for (int i = 0; i < node->n_out; i++)
            if (node->out[i] == made)
                node->out[i] = old;
        old->producer = node;
        graph_replace(g, made, old);
    } else {
        graph_add_node(g, "", "Identity", 1, &made, 1, &old);
    }
}

bool graph_gone(const Graph *graph)
{
    for (; graph; graph = graph->parent)
        if (graph->dead || (graph->holder && graph->holder->dead))
            return true;
    return false;
}

static void count_graph(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++)
        if (!graph->node.at[i]->dead)
            for (int k = 0; k < graph->node.at[i]->n_in; k++)
                link_use(graph->node.at[i], k);
    for (size_t i = 0; i < graph->output.n; i++)
        graph->output.at[i]->uses++;
}

static void forget_uses(Graph *graph)
{
    for (size_t i = 0; i < graph->tensor.n; i++) {
        graph->tensor.at[i]->use = NULL;
        graph->tensor.at[i]->uses = 0;
    }
    for (size_t i = 0; i < graph->node.n; i++)
        for (int k = 0; k < graph->node.at[i]->n_in; k++)
            graph->node.at[i]->use[k].node = NULL;
}

void graph_count_uses(Graph *graph)
{
    Graph *root = graph_root(graph);
    for (size_t k = 0; k < root->all.n; k++)
        forget_uses(root->all.at[k]);
    for (size_t k = 0; k < root->all.n; k++)
        if (!graph_gone(root->all.at[k]))
            count_graph(root->all.at[k]);
}

void graph_compact(Graph *graph)
{
    size_t n = 0;
    for (size_t i = 0; i < graph->node.n; i++)
        if (!graph->node.at[i]->dead)
            graph->node.at[n++] = graph->node.at[i];
    graph->node.n = n;
}

int64_t graph_opset(const Graph *graph, const char *domain)
{
    while (graph->parent)
        graph = graph->parent;
    for (size_t i = 0; i < graph->opset.n; i++)
        if (!strcmp(graph->opset.at[i].domain, domain))
            return graph->opset.at[i].version;
    return 0;
}
