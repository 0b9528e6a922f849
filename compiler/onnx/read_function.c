/* SPDX-License-Identifier: Apache-2.0
 * Model-local functions: a body whose operands are names, attributes that a
 * caller must give, and attributes with a default. Expanding them is a pass. */
#include <string.h>

#include "base/diag.h"
#include "onnx/read.h"

void function_enter(Reader *reader, const WireEvent *event)
{
    (void)event;
    Frame *frame = frame_push(reader, graph_new(reader->arena, reader->store,
                                                reader->file->path, NULL));
    frame->function = NEW(reader->arena, Function);
    *frame->function = (Function){
        .domain = "", .name = "", .overload = "", .body = frame->graph
    };
    frame->graph->name = frame->graph->producer = "";
    frame->names.n = frame->defaults.n = 0;
}

static void add_operand(Reader *reader, const WireEvent *event, Graph *graph)
{
    Tensor *tensor = reader_tensor(reader, graph, event->at, event->length);
    const bool input = event->field->offset == FIELD(FunctionProto, input);
    if (!tensor)
        wire_fail(&reader->wire, event->at, "a function's %s without a name",
                  input ? "input" : "output");
    if (!input) {
        tensor->uses++;
        VEC_PUSH(reader->arena, &graph->output, tensor);
        return;
    }
    if (tensor->producer || tensor->storage)
        fail_at(STATUS_MALFORMED, reader_loc(reader, event->at, tensor->name),
                NULL, "a function's input is given twice");
    tensor->storage = MADE_BY_INPUT;
    VEC_PUSH(reader->arena, &graph->input, tensor);
}

void function_field(Reader *reader, const WireEvent *event)
{
    Frame *frame = reader_frame(reader);
    switch (event->field->offset) {
    case FIELD(FunctionProto, name):
        frame->function->name = frame->graph->name = reader_text(reader, event);
        break;
    case FIELD(FunctionProto, domain):
        frame->function->domain = reader_word(reader, event);
        break;
    case FIELD(FunctionProto, overload):
        frame->function->overload = reader_word(reader, event);
        break;
    case FIELD(FunctionProto, attribute):
        VEC_PUSH(reader->arena, &frame->names, reader_word(reader, event));
        break;
    case FIELD(FunctionProto, input):
    case FIELD(FunctionProto, output):
        add_operand(reader, event, frame->graph);
        break;
    default:
        break;
    }
}

static void check_unique(Reader *reader, const WireEvent *event,
                         const Function *function)
{
    const char *key =
        arena_printf(reader->arena, "%s\n%s\n%s", function->domain,
                     function->name, function->overload);
    if (map_put(&reader->functions, key, (char *)key))
        fail_at(STATUS_MALFORMED, reader_loc(reader, event->at, function->name),
                NULL, "two functions have this name and domain");
}

void function_leave(Reader *reader, const WireEvent *event)
{
    Frame *frame = reader_frame(reader);
    Function *fn = frame->function;
    if (!*fn->name)
        wire_fail(&reader->wire, event->at, "a function without a name");
    if (!strcmp(fn->domain, "ai.onnx"))
        fn->domain = "";
    check_unique(reader, event, fn);
    fn->n_attr_names = (int)frame->names.n;
    fn->attr_names = arena_copy(reader->arena, frame->names.at,
                                frame->names.n * sizeof *frame->names.at);
    fn->n_attr_defaults = (int)frame->defaults.n;
    fn->attr_defaults =
        arena_copy(reader->arena, frame->defaults.at,
                   frame->defaults.n * sizeof *frame->defaults.at);
    graph_close(frame->graph);
    VEC_PUSH(reader->arena, &reader->model->function, fn);
    reader->depth--;
}
