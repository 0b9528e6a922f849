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

static bool captured(const Graph *body, const Tensor *tensor)
{
    for (const Graph *g = tensor->graph; g; g = g->parent)
        if (g == body)
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
static const Attr *resolve(const CloneScope *s, const char *name)
{
    const Attr *attr = s->caller ? node_attr(s->caller, name) : NULL;
    for (int i = 0; !attr && i < s->n_defaults; i++)
        if (!strcmp(s->defaults[i].name, name))
            attr = s->defaults + i;
    return attr;
}

static void clone_attrs(Cloner *cloner, Node *copy, const Node *node)
{
    copy->attr = NEW_ARRAY(cloner->root->arena, Attr, node->n_attr + 1);
    for (int i = 0; i < node->n_attr; i++) {
        Attr a = node->attr[i];
        if (a.ref) {
            const Attr *real = resolve(cloner->scope, a.ref);
            if (!real)
                continue;
            const char *name = a.name;
            a = *real;
            a.name = name;
        } else if (a.graph) {
            const Graph *body = a.graph;
            a.graph = graph_new(cloner->root->arena, cloner->root->store, cloner->root->file,
                                copy->graph);
            a.graph->holder = copy;
            a.graph->name = body->name;
            VEC_PUSH(cloner->root->arena, &cloner->todo, ((Job){ body, a.graph }));
        }
        copy->attr[copy->n_attr++] = a;
    }
}

static void clone_node(Cloner *cloner, Graph *to, const Node *node)
{
    Arena *a = to->arena;
    Tensor **in = NEW_ARRAY(a, Tensor *, node->n_in);
    Tensor **out = NEW_ARRAY(a, Tensor *, node->n_out);
    for (int i = 0; i < node->n_in; i++)
        in[i] = image(cloner, to, node->in[i]);
    for (int i = 0; i < node->n_out; i++)
        out[i] = image(cloner, to, node->out[i]);
    Node *copy = graph_add_node(to, node->domain, node->op_type, node->n_in, in, node->n_out, out);
    copy->name = node->name;
    copy->index = cloner->scope->caller ? cloner->scope->caller->index : node->index;
    copy->version = node->version || !cloner->scope->versions
                        ? node->version
                        : graph_opset(cloner->scope->versions, node->domain);
    copy->level = cloner->scope->caller ? cloner->scope->caller->level + 1 : node->level;
    clone_attrs(cloner, copy, node);
}

void graph_clone_into(Graph *to, const Graph *body, const CloneScope *scope)
{
    Cloner cloner = { .root = graph_root(to), .body = body, .scope = scope };
    VEC_PUSH(to->arena, &cloner.todo, ((Job){ body, to }));
    for (size_t k = 0; k < cloner.todo.n; k++) {
        const Job job = cloner.todo.at[k];
        for (size_t i = 0; k && i < job.from->input.n; i++)
            VEC_PUSH(to->arena, &job.to->input, image(&cloner, job.to, job.from->input.at[i]));
        for (size_t i = 0; i < job.from->node.n; i++)
            if (!job.from->node.at[i]->dead)
                clone_node(&cloner, job.to, job.from->node.at[i]);
        for (size_t i = 0; k && i < job.from->output.n; i++) {
            Tensor *o = image(&cloner, job.to, job.from->output.at[i]);
            VEC_PUSH(to->arena, &job.to->output, o);
            o->uses++;
        }
    }
}

Graph *graph_clone(Graph *parent, Node *holder, const Graph *body)
{
    Graph *graph = graph_new(parent->arena, parent->store, parent->file, parent);
    graph->holder = holder;
    graph->name = body->name;
    Arena *scratch = &parent->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const CloneScope scope = { .image = NEW_ARRAY(scratch, Tensor *, graph_root(parent)->next_id) };
    Cloner cloner = { .root = graph_root(graph), .body = body, .scope = &scope };
    for (size_t i = 0; i < body->input.n; i++)
        VEC_PUSH(graph->arena, &graph->input, image(&cloner, graph, body->input.at[i]));
    graph_clone_into(graph, body, &scope);
    for (size_t i = 0; i < body->output.n; i++) {
        Tensor *o = image(&cloner, graph, body->output.at[i]);
        VEC_PUSH(graph->arena, &graph->output, o);
        o->uses++;
    }
    arena_release(scratch, mark);
    return graph;
}
