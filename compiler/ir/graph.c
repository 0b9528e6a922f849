/* SPDX-License-Identifier: Apache-2.0
 * Tensors, nodes and the lists of uses that passes rewrite. Order is in sort.c, attributes in
 * node.c. */
#include "ir/graph.h"

#include <string.h>

Graph *graph_new(Arena *arena, Store *store, const char *file, Graph *parent)
{
    Graph *g = NEW(arena, Graph);
    *g = (Graph){
        .arena = arena, .store = store, .file = file, .parent = parent, .by_name = map_new(arena)
    };
    Graph *root = graph_root(g);
    VEC_PUSH(arena, &root->all, g);
    return g;
}

Graph *graph_root(Graph *g)
{
    while (g->parent)
        g = g->parent;
    return g;
}

/* What most tensors have none of is kept outside of them: there may be hundreds of thousands. */
static const Shape not_declared = { .rank = -1 };
static const char *const no_symbols[MAX_RANK];
static const int no_sizes[MAX_RANK];

void tensor_declare(Tensor *t, const Shape *s)
{
    t->declared = arena_copy(t->graph->arena, s, sizeof *s);
}

int *tensor_size_ids(Tensor *t)
{
    int *own = arena_copy(t->graph->arena, t->size_id, sizeof no_sizes);
    t->size_id = own;
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

Tensor *graph_find(Graph *g, const char *name)
{
    for (; g; g = g->parent) {
        Tensor *t = map_get(&g->by_name, name);
        if (t)
            return t;
    }
    return NULL;
}

Tensor *graph_add_constant(Graph *g, const char *name, Recipe *value)
{
    Tensor *t = graph_add_tensor(g, name, recipe_dtype(value),
                                 shape_of(recipe_rank(value), recipe_dims(value)));
    t->value = value;
    return t;
}

Tensor *graph_add_ints(Graph *g, const char *name, int64_t n, const int64_t *values)
{
    return graph_add_constant(g, name, recipe_memory(g->store, DT_I64, 1, &n, values));
}

static void add_use(Tensor *t, Use *u)
{
    u->before = NULL;
    u->next = t->use;
    if (t->use)
        t->use->before = u;
    t->use = u;
    t->uses++;
}

static void link_use(Node *n, int operand)
{
    n->use[operand] = (Use){ .node = n, .operand = operand };
    if (n->in[operand])
        add_use(n->in[operand], n->use + operand);
}

static void unlink_use(Node *n, int operand)
{
    Tensor *t = n->in[operand];
    Use *u = n->use + operand;
    if (!t || !u->node)
        return;
    if (u->before)
        u->before->next = u->next;
    else
        t->use = u->next;
    if (u->next)
        u->next->before = u->before;
    u->node = NULL;
    t->uses--;
}

static Node *make_node(Graph *g, const char *domain, const char *op_type, int n_in,
                       Tensor *const *in, int n_out, Tensor *const *out)
{
    Node *n = NEW(g->arena, Node);
    *n = (Node){ .index = -1,
                 .name = "",
                 .op_type = op_type,
                 .domain = domain,
                 .graph = g,
                 .n_in = n_in,
                 .n_out = n_out };
    n->in = arena_copy(g->arena, in, (size_t)n_in * sizeof *in);
    n->out = arena_copy(g->arena, out, (size_t)n_out * sizeof *out);
    n->use = NEW_ARRAY(g->arena, Use, n_in);
    for (int i = 0; i < n_in; i++)
        link_use(n, i);
    for (int i = 0; i < n_out; i++)
        if (n->out[i])
            n->out[i]->producer = n;
    return n;
}

Node *graph_add_node(Graph *g, const char *domain, const char *op_type, int n_in, Tensor *const *in,
                     int n_out, Tensor *const *out)
{
    Node *n = make_node(g, domain, op_type, n_in, in, n_out, out);
    VEC_PUSH(g->arena, &g->node, n);
    return n;
}

Node *graph_insert_node(Graph *g, const Node *anchor, const char *domain, const char *op_type,
                        int n_in, Tensor *const *in, int n_out, Tensor *const *out)
{
    Node *n = graph_add_node(g, domain, op_type, n_in, in, n_out, out);
    n->name = anchor->name;
    n->index = anchor->index;
    return n;
}

void node_set_inputs(Node *n, int count, Tensor *const *in)
{
    for (int i = 0; i < n->n_in; i++)
        unlink_use(n, i);
    if (count > n->n_in)
        n->use = NEW_ARRAY(n->graph->arena, Use, count);
    n->in = arena_copy(n->graph->arena, in, (size_t)count * sizeof *in);
    n->n_in = count;
    for (int i = 0; i < count; i++)
        link_use(n, i);
}

void graph_kill(Node *n)
{
    if (n->dead)
        return;
    for (int i = 0; i < n->n_in; i++)
        unlink_use(n, i);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->producer == n)
            n->out[i]->producer = NULL;
    n->dead = true;
}

bool graph_is_output(const Graph *g, const Tensor *t)
{
    for (size_t i = 0; i < g->output.n; i++)
        if (g->output.at[i] == t)
            return true;
    return false;
}

size_t graph_results(const Graph *g)
{
    return g->output.n - g->dims_outputs;
}

size_t graph_dims_place(const Graph *g, size_t i)
{
    size_t at = graph_results(g);
    for (size_t k = 0; k < i; k++)
        at += g->output.at[k]->dynamic != 0;
    return at;
}

IoForm graph_in_form(const Graph *g, size_t i)
{
    return g->in_form ? g->in_form[i] : IO_CALLER;
}

IoForm graph_out_form(const Graph *g, size_t i)
{
    return g->out_form && i < graph_results(g) ? g->out_form[i] : IO_CALLER;
}

Shape tensor_model_shape(const Tensor *t)
{
    Shape s = t->shape;
    for (int i = 0; t->perm && i < s.rank; i++)
        s.dim[t->perm[i]] = t->shape.dim[i];
    return s;
}

void graph_replace(Graph *g, Tensor *from, Tensor *to)
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
    Graph *root = graph_root(g);
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
    Node *n = made->producer;
    if (n && n->graph == g && !graph_is_output(g, made)) {
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i] == made)
                n->out[i] = old;
        old->producer = n;
        graph_replace(g, made, old);
    } else {
        graph_add_node(g, "", "Identity", 1, &made, 1, &old);
    }
}

bool graph_gone(const Graph *g)
{
    for (; g; g = g->parent)
        if (g->dead || (g->holder && g->holder->dead))
            return true;
    return false;
}

static void count_graph(Graph *g)
{
    for (size_t i = 0; i < g->node.n; i++)
        if (!g->node.at[i]->dead)
            for (int k = 0; k < g->node.at[i]->n_in; k++)
                link_use(g->node.at[i], k);
    for (size_t i = 0; i < g->output.n; i++)
        g->output.at[i]->uses++;
}

static void forget_uses(Graph *g)
{
    for (size_t i = 0; i < g->tensor.n; i++) {
        g->tensor.at[i]->use = NULL;
        g->tensor.at[i]->uses = 0;
    }
    for (size_t i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->n_in; k++)
            g->node.at[i]->use[k].node = NULL;
}

void graph_count_uses(Graph *g)
{
    Graph *root = graph_root(g);
    for (size_t k = 0; k < root->all.n; k++)
        forget_uses(root->all.at[k]);
    for (size_t k = 0; k < root->all.n; k++)
        if (!graph_gone(root->all.at[k]))
            count_graph(root->all.at[k]);
}

void graph_compact(Graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->node.n; i++)
        if (!g->node.at[i]->dead)
            g->node.at[n++] = g->node.at[i];
    g->node.n = n;
}

int64_t graph_opset(const Graph *g, const char *domain)
{
    while (g->parent)
        g = g->parent;
    for (size_t i = 0; i < g->opset.n; i++)
        if (!strcmp(g->opset.at[i].domain, domain))
            return g->opset.at[i].version;
    return 0;
}
