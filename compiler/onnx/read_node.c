/* SPDX-License-Identifier: Apache-2.0
 * Nodes: operands by name, made into tensors of the frame's graph. */
#include "base/diag.h"

#include <string.h>

#include "onnx/read.h"

void node_enter(Reader *r, const WireEvent *e)
{
    NodeDraft *d = &reader_frame(r)->node;
    d->name = d->op_type = d->domain = "";
    d->overload = NULL;
    d->at = e->at;
    d->in.n = d->out.n = d->attr.n = 0;
}

void node_field(Reader *r, const WireEvent *e)
{
    Frame *f = reader_frame(r);
    NodeDraft *d = &f->node;
    switch (e->field) {
    case NODE_INPUT: VEC_PUSH(r->arena, &d->in, reader_tensor(r, f->graph, e->at, e->length)); break;
    case NODE_OUTPUT: VEC_PUSH(r->arena, &d->out, reader_tensor(r, f->graph, e->at, e->length)); break;
    case NODE_NAME: d->name = reader_text(r, e); break;
    case NODE_OP_TYPE: d->op_type = reader_word(r, e); break;
    case NODE_DOMAIN: d->domain = reader_word(r, e); break;
    default: d->overload = e->length ? reader_word(r, e) : NULL;
    }
}

/* Each value is made once. */
static void check_outputs(const Reader *r, const Frame *f)
{
    const NodeDraft *d = &f->node;
    const Loc loc = { .file = r->file->path, .byte = -1, .node = (int64_t)f->graph->node.n, .name = d->name, .op = d->op_type };
    for (size_t i = 0; i < d->out.n; i++) {
        const Tensor *t = d->out.at[i];
        if (!t) continue;
        if (t->storage)
            fail_at(STATUS_MALFORMED, loc, NULL, "output \"%s\" is already %s", t->name, t->storage & MADE_BY_INPUT ? "a graph input" : "an initializer");
        if (t->producer)
            fail_at(STATUS_MALFORMED, loc, NULL, "output \"%s\" is already made by node %d \"%s\" (%s)", t->name, t->producer->index, t->producer->name, t->producer->op_type);
        for (size_t k = i + 1; k < d->out.n && k < i + MOST_ATTRIBUTES; k++)
            if (d->out.at[k] == t) fail_at(STATUS_MALFORMED, loc, NULL, "two outputs of the node are called \"%s\"", t->name);
    }
}

/* Operands left out at the end are as if not written. */
static int trimmed(Tensor *const *list, size_t n)
{
    while (n && !list[n - 1]) n--;
    return (int)n;
}

static void own_graphs(Node *n)
{
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].graph) n->attr[i].graph->holder = n;
}

void node_leave(Reader *r, const WireEvent *e)
{
    Frame *f = reader_frame(r);
    NodeDraft *d = &f->node;
    if (!*d->op_type) fail_at(STATUS_MALFORMED, reader_loc(r, e->at, d->name), r->wire.help, "a node without an operator type");
    if (!strcmp(d->domain, "ai.onnx")) d->domain = "";
    check_outputs(r, f);
    Node *n = graph_add_node(f->graph, d->domain, d->op_type, trimmed(d->in.at, d->in.n), d->in.at, trimmed(d->out.at, d->out.n), d->out.at);
    n->index = (int)f->graph->node.n - 1;
    n->name = d->name;
    n->overload = d->overload;
    n->n_attr = (int)d->attr.n;
    n->attr = d->attr.n ? arena_copy(r->arena, d->attr.at, d->attr.n * sizeof *d->attr.at) : NULL;
    own_graphs(n);
}
