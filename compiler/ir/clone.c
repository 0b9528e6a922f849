/* SPDX-License-Identifier: Apache-2.0
 * Copies of nodes with their subgraphs: function bodies, loop bodies that are unrolled. */
#include <string.h>

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

static bool captured(const Graph *body, const Tensor *t)
{
    for (const Graph *g = t->graph; g; g = g->parent)
        if (g == body)
            return false;
    return true;
}

static Tensor *image(Cloner *c, Graph *to, Tensor *t)
{
    if (!t || captured(c->body, t))
        return t;
    Tensor **slot = c->scope->image + t->id;
    if (*slot)
        return *slot == CLONE_LEFT_OUT ? NULL : *slot;
    Tensor *copy = graph_add_tensor(to, NULL, t->dtype, t->shape);
    copy->value = t->value;
    copy->declared = t->declared;
    copy->assumed = t->assumed;
    copy->declared_dtype = t->declared_dtype;
    copy->symbol = t->symbol;
    return *slot = copy;
}

/* The attribute a reference stands for: the caller's, or the function's default; NULL: none. */
static const Attr *resolve(const CloneScope *s, const char *name)
{
    const Attr *a = s->caller ? node_attr(s->caller, name) : NULL;
    for (int i = 0; !a && i < s->n_defaults; i++)
        if (!strcmp(s->defaults[i].name, name))
            a = s->defaults + i;
    return a;
}

static void clone_attrs(Cloner *c, Node *copy, const Node *n)
{
    copy->attr = NEW_ARRAY(c->root->arena, Attr, n->n_attr + 1);
    for (int i = 0; i < n->n_attr; i++) {
        Attr a = n->attr[i];
        if (a.ref) {
            const Attr *real = resolve(c->scope, a.ref);
            if (!real)
                continue;
            const char *name = a.name;
            a = *real;
            a.name = name;
        } else if (a.graph) {
            const Graph *body = a.graph;
            a.graph = graph_new(c->root->arena, c->root->store, c->root->file, copy->graph);
            a.graph->holder = copy;
            a.graph->name = body->name;
            VEC_PUSH(c->root->arena, &c->todo, ((Job){ body, a.graph }));
        }
        copy->attr[copy->n_attr++] = a;
    }
}

static void clone_node(Cloner *c, Graph *to, const Node *n)
{
    Arena *a = to->arena;
    Tensor **in = NEW_ARRAY(a, Tensor *, n->n_in), **out = NEW_ARRAY(a, Tensor *, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        in[i] = image(c, to, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        out[i] = image(c, to, n->out[i]);
    Node *copy = graph_add_node(to, n->domain, n->op_type, n->n_in, in, n->n_out, out);
    copy->name = n->name;
    copy->index = c->scope->caller ? c->scope->caller->index : n->index;
    copy->version =
        n->version || !c->scope->versions ? n->version : graph_opset(c->scope->versions, n->domain);
    copy->level = c->scope->caller ? c->scope->caller->level + 1 : n->level;
    clone_attrs(c, copy, n);
}

void graph_clone_into(Graph *to, const Graph *body, const CloneScope *scope)
{
    Cloner c = { .root = graph_root(to), .body = body, .scope = scope };
    VEC_PUSH(to->arena, &c.todo, ((Job){ body, to }));
    for (size_t k = 0; k < c.todo.n; k++) {
        const Job j = c.todo.at[k];
        for (size_t i = 0; k && i < j.from->input.n; i++)
            VEC_PUSH(to->arena, &j.to->input, image(&c, j.to, j.from->input.at[i]));
        for (size_t i = 0; i < j.from->node.n; i++)
            if (!j.from->node.at[i]->dead)
                clone_node(&c, j.to, j.from->node.at[i]);
        for (size_t i = 0; k && i < j.from->output.n; i++) {
            Tensor *o = image(&c, j.to, j.from->output.at[i]);
            VEC_PUSH(to->arena, &j.to->output, o);
            o->uses++;
        }
    }
}

Graph *graph_clone(Graph *parent, Node *holder, const Graph *body)
{
    Graph *g = graph_new(parent->arena, parent->store, parent->file, parent);
    g->holder = holder;
    g->name = body->name;
    Arena *scratch = &parent->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const CloneScope scope = { .image = NEW_ARRAY(scratch, Tensor *, graph_root(parent)->next_id) };
    Cloner c = { .root = graph_root(g), .body = body, .scope = &scope };
    for (size_t i = 0; i < body->input.n; i++)
        VEC_PUSH(g->arena, &g->input, image(&c, g, body->input.at[i]));
    graph_clone_into(g, body, &scope);
    for (size_t i = 0; i < body->output.n; i++) {
        Tensor *o = image(&c, g, body->output.at[i]);
        VEC_PUSH(g->arena, &g->output, o);
        o->uses++;
    }
    arena_release(scratch, mark);
    return g;
}
