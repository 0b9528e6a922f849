/* SPDX-License-Identifier: Apache-2.0
 * Graphs, their inputs and outputs, and the types that files declare. Fields may
 * come in any order, so a tensor exists from the first mention of its name on,
 * and what it is gets settled when the graph closes. */
#include "base/diag.h"
#include "onnx/read.h"

Frame *frame_push(Reader *r, Graph *g)
{
    Frame *f = r->frame + r->depth++;
    f->graph = g;
    f->function = NULL;
    f->node.index = 0;
    return f;
}

void graph_enter(Reader *r, const WireEvent *e)
{
    if (e->parent == MSG_MODEL) {
        if (r->has_graph)
            wire_fail(&r->wire, e->at, "a second graph");
        r->has_graph = true;
        frame_push(r, r->model);
        return;
    }
    Frame *f = reader_frame(r);
    Graph *g = graph_new(r->arena, r->store, r->file->path, f->graph);
    g->name = g->producer = "";
    if (e->field == ATTRIBUTE_G) {
        if (f->attr.has_graph)
            wire_fail(&r->wire, e->at, "an attribute with two graphs");
        f->attr.has_graph = true;
        f->attr.attr.graph = g;
        f->attr.seen = ATTR_GRAPH;
    } else {
        f->attr.others++;
        f->attr.seen = ATTR_GRAPHS;
    }
    frame_push(r, g);
}

void graph_field(Reader *r, const WireEvent *e)
{
    if (e->field == GRAPH_NAME)
        reader_frame(r)->graph->name = reader_text(r, e);
}

void graph_leave(Reader *r, const WireEvent *e)
{
    (void)e;
    graph_close(reader_frame(r)->graph);
    r->depth--;
}

void graph_close(Graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->input.n; i++) {
        Tensor *t = g->input.at[i];
        if (t->storage & MADE_BY_INITIALIZER)
            continue;
        t->dtype = t->declared_dtype;
        t->shape = *t->declared;
        g->input.at[n++] = t;
    }
    g->input.n = n;
}

void value_enter(Reader *r, const WireEvent *e)
{
    (void)e;
    r->value = (ValueDraft){ 0 };
}

void value_field(Reader *r, const WireEvent *e)
{
    if (e->field == VALUE_INFO_NAME)
        r->value.name = (Span){ e->at, e->length };
}

/* Types of graph inputs and outputs must be within our limits; of values in between only where they
 * matter. */
static bool within_limits(Reader *r, const WireEvent *e, const Tensor *t, const TypeInfo *info)
{
    for (int i = 0; i < info->shape.rank; i++) {
        if (info->shape.dim[i] <= INT32_MAX)
            continue;
        if (e->field == GRAPH_VALUE_INFO)
            return false;
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, e->at, t->name), NULL,
                "dimension %d of the tensor is %lld; the greatest supported is %d", i,
                (long long)info->shape.dim[i], INT32_MAX);
    }
    return true;
}

static void declare(Reader *r, const WireEvent *e, Tensor *t)
{
    if (!r->value.type.length)
        return;
    TypeInfo info = leaf_type(r, r->value.type);
    if (!within_limits(r, e, t, &info))
        return;
    tensor_declare(t, &info.shape);
    t->declared_dtype = info.dtype;
    if (e->field != GRAPH_INPUT)
        return;
    const char **symbol = NEW_ARRAY(r->arena, const char *, MAX_RANK);
    t->symbol = symbol;
    for (int i = 0; i < info.shape.rank; i++) {
        const char *s = info.symbol[i];
        symbol[i] = s && *s ? arena_printf(r->arena, "%s", s) : NULL;
    }
}

static void add_input(Reader *r, const WireEvent *e, Graph *g, Tensor *t)
{
    if (t->producer || (t->storage & MADE_BY_INPUT))
        fail_at(STATUS_MALFORMED, reader_loc(r, e->at, t->name), NULL,
                t->producer ? "a graph input is also the output of a node"
                            : "two graph inputs have this name");
    t->storage |= MADE_BY_INPUT;
    VEC_PUSH(r->arena, &g->input, t);
}

static void add_output(Reader *r, const WireEvent *e, Graph *g, Tensor *t)
{
    if (!g->parent && t->slot == 0)
        fail_at(STATUS_MALFORMED, reader_loc(r, e->at, t->name), NULL,
                "two graph outputs have this name");
    if (!g->parent)
        t->slot = 0; /* reset by link_finish() */
    t->uses++;
    VEC_PUSH(r->arena, &g->output, t);
}

void value_leave(Reader *r, const WireEvent *e)
{
    Graph *g = reader_frame(r)->graph;
    const int field = e->parent == MSG_FUNCTION ? GRAPH_VALUE_INFO : e->field;
    Tensor *t = reader_tensor(r, g, r->value.name.offset, r->value.name.length);
    if (!t) {
        if (field == GRAPH_VALUE_INFO)
            return;
        wire_fail(&r->wire, e->at, "a graph %s without a name",
                  field == GRAPH_INPUT ? "input" : "output");
    }
    const WireEvent as = { .at = e->at, .field = field };
    declare(r, &as, t);
    if (field == GRAPH_INPUT)
        add_input(r, e, g, t);
    if (field == GRAPH_OUTPUT)
        add_output(r, e, g, t);
}

void graph_initializer(Reader *r, const char *name, uint64_t at, DType dtype, Shape shape,
                       Recipe *value)
{
    Graph *g = reader_frame(r)->graph;
    Tensor *t = map_get(&g->by_name, name);
    if (!t)
        t = graph_add_tensor(g, name, DT_NONE, (Shape){ .rank = -1 });
    if (t->producer || (t->storage & MADE_BY_INITIALIZER))
        fail_at(STATUS_MALFORMED, reader_loc(r, at, name), NULL,
                t->producer ? "an initializer is also the output of a node"
                            : "two initializers have this name");
    t->storage |= MADE_BY_INITIALIZER;
    t->dtype = dtype;
    t->shape = shape;
    t->value = value;
}
