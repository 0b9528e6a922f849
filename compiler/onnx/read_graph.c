/* SPDX-License-Identifier: Apache-2.0
 * Graphs, their inputs and outputs, and the types that files declare. Fields may
 * come in any order, so a tensor exists from the first mention of its name on,
 * and what it is gets settled when the graph closes. */
#include "base/diag.h"
#include "base/limits.h"
#include "onnx/read.h"
#include "ops/ops.h"

Frame *frame_push(Reader *reader, Graph *g)
{
    Frame *f = reader->frame + reader->depth++;
    f->graph = g;
    f->function = NULL;
    f->node.index = 0;
    return f;
}

void graph_enter(Reader *reader, const WireEvent *event)
{
    if (event->parent == MSG_MODEL) {
        if (reader->has_graph)
            wire_fail(&reader->wire, event->at, "a second graph");
        reader->has_graph = true;
        frame_push(reader, reader->model);
        return;
    }
    Frame *frame = reader_frame(reader);
    if (event->field->offset != FIELD(AttributeProto, g))
        fail_at(STATUS_UNSUPPORTED,
                reader_loc(reader, event->at, frame->attr.attr.name), NULL,
                "attributes that are lists of graphs are not supported");
    Graph *g = graph_new(reader->arena, reader->store, reader->file->path,
                         frame->graph);
    g->name = g->producer = "";
    if (frame->attr.has_graph)
        wire_fail(&reader->wire, event->at, "an attribute with two graphs");
    frame->attr.has_graph = true;
    frame->attr.attr.graph = g;
    frame->attr.seen = ATTR_GRAPH;
    frame_push(reader, g);
}

void graph_field(Reader *reader, const WireEvent *event)
{
    if (event->field->offset == FIELD(GraphProto, name))
        reader_frame(reader)->graph->name = reader_text(reader, event);
}

static void check_interface(Reader *reader, const WireEvent *event,
                            const Graph *graph)
{
    const size_t most = LIMIT_INTERFACE + graph->node.n;
    if (graph->input.n > most || graph->output.n > most)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, graph->name),
                "the limit grows with the nodes of the graph",
                "the model has more than %zu inputs or results", most);
}

void graph_leave(Reader *reader, const WireEvent *event)
{
    Graph *graph = reader_frame(reader)->graph;
    graph_close(graph);
    if (event->parent == MSG_MODEL)
        check_interface(reader, event, graph);
    reader->depth--;
}

void graph_close(Graph *graph)
{
    size_t n = 0;
    for (size_t i = 0; i < graph->input.n; i++) {
        Tensor *tensor = graph->input.at[i];
        if (tensor->storage & MADE_BY_INITIALIZER)
            continue;
        tensor->dtype = tensor->declared_dtype;
        tensor->shape = *tensor->declared;
        graph->input.at[n++] = tensor;
    }
    graph->input.n = n;
}

void value_enter(Reader *reader, const WireEvent *event)
{
    (void)event;
    reader->value = (ValueDraft){ 0 };
}

void value_field(Reader *reader, const WireEvent *event)
{
    if (event->field->offset == FIELD(ValueInfoProto, name))
        reader->value.name = (Span){ event->at, event->length };
}

typedef enum ValueKind { VALUE_INPUT, VALUE_OUTPUT, VALUE_BETWEEN } ValueKind;

static ValueKind kind_of(const WireEvent *event)
{
    if (event->parent != MSG_GRAPH)
        return VALUE_BETWEEN;
    switch (event->field->offset) {
    case FIELD(GraphProto, input):
        return VALUE_INPUT;
    case FIELD(GraphProto, output):
        return VALUE_OUTPUT;
    default:
        return VALUE_BETWEEN;
    }
}

/* Types of graph inputs and outputs must be within our limits; of values in between only where they
 * matter. */
static bool within_limits(Reader *reader, const WireEvent *event,
                          const Tensor *tensor, const TypeInfo *info)
{
    for (int i = 0; i < info->shape.rank; i++) {
        if (info->shape.dim[i] <= INT32_MAX)
            continue;
        if (kind_of(event) == VALUE_BETWEEN)
            return false;
        fail_at(
            STATUS_UNSUPPORTED, reader_loc(reader, event->at, tensor->name),
            NULL,
            "dimension %d of the tensor is %lld; the greatest supported is %d",
            i, (long long)info->shape.dim[i], INT32_MAX);
    }
    return true;
}

static void declare(Reader *reader, const WireEvent *event, Tensor *tensor)
{
    if (!reader->value.type.length)
        return;
    TypeInfo info = leaf_type(reader, reader->value.type);
    if (!within_limits(reader, event, tensor, &info))
        return;
    tensor_declare(tensor, &info.shape);
    tensor->declared_dtype = info.dtype;
    if (kind_of(event) != VALUE_INPUT)
        return;
    const char **symbol = NEW_ARRAY(reader->arena, const char *, MAX_RANK);
    tensor->symbol = symbol;
    for (int i = 0; i < info.shape.rank; i++) {
        const char *s = info.symbol[i];
        symbol[i] = s && *s ? arena_printf(reader->arena, "%s", s) : NULL;
    }
}

static void add_input(Reader *reader, const WireEvent *event, Graph *graph,
                      Tensor *tensor)
{
    if (tensor->producer || (tensor->storage & MADE_BY_INPUT))
        fail_at(STATUS_MALFORMED, reader_loc(reader, event->at, tensor->name),
                NULL,
                tensor->producer ? "a graph input is also the output of a node"
                                 : "two graph inputs have this name");
    tensor->storage |= MADE_BY_INPUT;
    VEC_PUSH(reader->arena, &graph->input, tensor);
}

/* Exporters give a value twice where a network returns it twice: the second result is a copy. */
static Tensor *copied_output(Graph *graph, Tensor *tensor)
{
    Tensor *copy = graph_add_tensor(graph, NULL, DT_NONE, tensor->shape);
    graph_add_node(graph, "", "Identity", 1, &tensor, 1, &copy)->version =
        OPSET_NEWEST;
    copy->name = tensor->name;
    return copy;
}

static void add_output(const Reader *reader, Graph *graph, Tensor *tensor)
{
    if (!graph->parent && tensor->slot == 0)
        tensor = copied_output(graph, tensor);
    if (!graph->parent)
        tensor->slot = 0; /* reset by link_finish() */
    tensor->uses++;
    VEC_PUSH(reader->arena, &graph->output, tensor);
}

void value_leave(Reader *reader, const WireEvent *event)
{
    Graph *g = reader_frame(reader)->graph;
    const ValueKind kind = kind_of(event);
    Tensor *tensor = reader_tensor(reader, g, reader->value.name.offset,
                                   reader->value.name.length);
    if (!tensor) {
        if (kind == VALUE_BETWEEN)
            return;
        wire_fail(&reader->wire, event->at, "a graph %s without a name",
                  kind == VALUE_INPUT ? "input" : "output");
    }
    declare(reader, event, tensor);
    if (kind == VALUE_INPUT)
        add_input(reader, event, g, tensor);
    if (kind == VALUE_OUTPUT)
        add_output(reader, g, tensor);
}

void graph_initializer(Reader *reader, const char *name, uint64_t at,
                       DType dtype, Shape shape, Recipe *value)
{
    Graph *g = reader_frame(reader)->graph;
    Tensor *tensor = map_get(&g->by_name, name);
    if (!tensor)
        tensor = graph_add_tensor(g, name, DT_NONE, (Shape){ .rank = -1 });
    if (tensor->producer || (tensor->storage & MADE_BY_INITIALIZER))
        fail_at(STATUS_MALFORMED, reader_loc(reader, at, name), NULL,
                tensor->producer ? "an initializer is also the output of a node"
                                 : "two initializers have this name");
    tensor->storage |= MADE_BY_INITIALIZER;
    tensor->dtype = dtype;
    tensor->shape = shape;
    tensor->value = value;
}
