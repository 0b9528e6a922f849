/* SPDX-License-Identifier: Apache-2.0
 * Nodes: operands by name, made into tensors of the frame's graph. Each value is
 * made once. Only a Constant may be defined again, and the last one counts, as in
 * ONNX Runtime: there are tools that change a model's constants that way. */
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
    case NODE_INPUT:
        VEC_PUSH(r->arena, &d->in, reader_tensor(r, f->graph, e->at, e->length));
        break;
    case NODE_OUTPUT:
        VEC_PUSH(r->arena, &d->out, reader_tensor(r, f->graph, e->at, e->length));
        break;
    case NODE_NAME:
        d->name = reader_text(r, e);
        break;
    case NODE_OP_TYPE:
        d->op_type = reader_word(r, e);
        break;
    case NODE_DOMAIN:
        d->domain = reader_word(r, e);
        break;
    default:
        d->overload = e->length ? reader_word(r, e) : NULL;
    }
}

static Loc draft_loc(const Reader *r, const NodeDraft *d)
{
    return (Loc){
        .file = r->file->path, .byte = -1, .node = d->index, .name = d->name, .op = d->op_type
    };
}

static void check_outputs(const Reader *r, const NodeDraft *d)
{
    const Loc loc = draft_loc(r, d);
    for (size_t i = 0; i < d->out.n; i++) {
        const Tensor *t = d->out.at[i];
        if (!t)
            continue;
        if (t->storage)
            fail_at(STATUS_MALFORMED, loc, NULL, "output \"%s\" is already %s", t->name,
                    t->storage & MADE_BY_INPUT ? "a graph input" : "an initializer");
        if (t->producer)
            fail_at(STATUS_MALFORMED, loc, NULL,
                    "output \"%s\" is already made by node %d \"%s\" (%s)", t->name,
                    t->producer->index, t->producer->name, t->producer->op_type);
        for (size_t k = i + 1; k < d->out.n && k < i + MOST_ATTRIBUTES; k++)
            if (d->out.at[k] == t)
                fail_at(STATUS_MALFORMED, loc, NULL, "two outputs of the node are called \"%s\"",
                        t->name);
    }
}

static bool is_constant(const char *domain, const char *op_type)
{
    return !*domain && !strcmp(op_type, "Constant");
}

static void take_attributes(Reader *r, Node *n, const NodeDraft *d)
{
    n->n_attr = (int)d->attr.n;
    n->attr = d->attr.n ? arena_copy(r->arena, d->attr.at, d->attr.n * sizeof *d->attr.at) : NULL;
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].graph)
            n->attr[i].graph->holder = n;
}

/* Does the draft define the value of an earlier Constant anew? Then the earlier node takes it over.
 */
static bool redefine_constant(Reader *r, const NodeDraft *d)
{
    Node *before = d->out.n == 1 && d->out.at[0] ? d->out.at[0]->producer : NULL;
    if (!before || !is_constant(d->domain, d->op_type) ||
        !is_constant(before->domain, before->op_type))
        return false;
    if (!r->warned)
        warn_at(draft_loc(r, d), "the constant \"%s\" is defined again; the last definition counts",
                d->out.at[0]->name);
    r->warned = true;
    take_attributes(r, before, d);
    return true;
}

/* Operands left out at the end are as if not written. */
static int trimmed(Tensor *const *list, size_t n)
{
    while (n && !list[n - 1])
        n--;
    return (int)n;
}

static void add_node(Reader *r, Graph *g, const NodeDraft *d)
{
    Node *n = graph_add_node(g, d->domain, d->op_type, trimmed(d->in.at, d->in.n), d->in.at,
                             trimmed(d->out.at, d->out.n), d->out.at);
    n->index = d->index;
    n->name = d->name;
    n->overload = d->overload;
    take_attributes(r, n, d);
}

void node_leave(Reader *r, const WireEvent *e)
{
    Frame *f = reader_frame(r);
    NodeDraft *d = &f->node;
    if (!*d->op_type)
        fail_at(STATUS_MALFORMED, reader_loc(r, e->at, d->name), r->wire.help,
                "a node without an operator type");
    if (!strcmp(d->domain, "ai.onnx"))
        d->domain = "";
    if (!redefine_constant(r, d)) {
        check_outputs(r, d);
        add_node(r, f->graph, d);
    }
    d->index++;
}
