/* SPDX-License-Identifier: Apache-2.0
 * Nodes: operands by name, made into tensors of the frame's graph. Each value is
 * made once. Only a Constant may be defined again, and the last one counts, as in
 * ONNX Runtime: there are tools that change a model's constants that way. */
#include <string.h>

#include "base/diag.h"
#include "base/limits.h"
#include "onnx/read.h"

void node_enter(Reader *reader, const WireEvent *event)
{
    NodeDraft *draft = &reader_frame(reader)->node;
    draft->name = draft->op_type = draft->domain = "";
    draft->overload = NULL;
    draft->at = event->at;
    draft->in.n = draft->out.n = draft->attr.n = 0;
}

void node_field(Reader *reader, const WireEvent *event)
{
    Frame *frame = reader_frame(reader);
    NodeDraft *draft = &frame->node;
    switch (event->field->offset) {
    case FIELD(NodeProto, input):
        VEC_PUSH(reader->arena, &draft->in,
                 reader_tensor(reader, frame->graph, event->at, event->length));
        break;
    case FIELD(NodeProto, output):
        VEC_PUSH(reader->arena, &draft->out,
                 reader_tensor(reader, frame->graph, event->at, event->length));
        break;
    case FIELD(NodeProto, name):
        draft->name = reader_text(reader, event);
        break;
    case FIELD(NodeProto, op_type):
        draft->op_type = reader_word(reader, event);
        break;
    case FIELD(NodeProto, domain):
        draft->domain = reader_word(reader, event);
        break;
    case FIELD(NodeProto, overload):
        draft->overload = event->length ? reader_word(reader, event) : NULL;
        break;
    default:
        break;
    }
}

static Loc draft_loc(const Reader *reader, const NodeDraft *draft)
{
    return (Loc){ .file = reader->file->path,
                  .byte = -1,
                  .node = draft->index,
                  .name = draft->name,
                  .op = draft->op_type };
}

static void check_outputs(const Reader *reader, const NodeDraft *draft)
{
    const Loc loc = draft_loc(reader, draft);
    for (size_t i = 0; i < draft->out.n; i++) {
        const Tensor *tensor = draft->out.at[i];
        if (!tensor)
            continue;
        if (tensor->storage)
            fail_at(STATUS_MALFORMED, loc, NULL, "output \"%s\" is already %s",
                    tensor->name,
                    tensor->storage & MADE_BY_INPUT ? "a graph input"
                                                    : "an initializer");
        if (tensor->producer)
            fail_at(STATUS_MALFORMED, loc, NULL,
                    "output \"%s\" is already made by node %d \"%s\" (%s)",
                    tensor->name, tensor->producer->index,
                    tensor->producer->name, tensor->producer->op_type);
        for (size_t k = i + 1; k < draft->out.n && k < i + MOST_ATTRIBUTES; k++)
            if (draft->out.at[k] == tensor)
                fail_at(STATUS_MALFORMED, loc, NULL,
                        "two outputs of the node are called \"%s\"",
                        tensor->name);
    }
}

static bool is_constant(const char *domain, const char *op_type)
{
    return !*domain && !strcmp(op_type, "Constant");
}

static void take_attributes(Reader *reader, Node *node, const NodeDraft *draft)
{
    node->n_attr = (int)draft->attr.n;
    node->attr = draft->attr.n
                     ? arena_copy(reader->arena, draft->attr.at,
                                  draft->attr.n * sizeof *draft->attr.at)
                     : NULL;
    for (int i = 0; i < node->n_attr; i++)
        if (node->attr[i].graph)
            node->attr[i].graph->holder = node;
}

/* Does the draft define the value of an earlier Constant anew? Then the earlier node takes it over.
 */
static bool redefine_constant(Reader *reader, const NodeDraft *draft)
{
    Node *before = draft->out.n == 1 && draft->out.at[0]
                       ? draft->out.at[0]->producer
                       : NULL;
    if (!before || !is_constant(draft->domain, draft->op_type) ||
        !is_constant(before->domain, before->op_type))
        return false;
    if (!reader->warned)
        warn_at(
            draft_loc(reader, draft),
            "the constant \"%s\" is defined again; the last definition counts",
            draft->out.at[0]->name);
    reader->warned = true;
    take_attributes(reader, before, draft);
    return true;
}

/* Operands left out at the end are as if not written. */
static int trimmed(Tensor *const *list, size_t n)
{
    while (n && !list[n - 1])
        n--;
    return (int)n;
}

static void add_node(Reader *reader, Graph *graph, const NodeDraft *draft)
{
    Node *node =
        graph_add_node(graph, draft->domain, draft->op_type,
                       trimmed(draft->in.at, draft->in.n), draft->in.at,
                       trimmed(draft->out.at, draft->out.n), draft->out.at);
    node->index = draft->index;
    node->name = draft->name;
    node->overload = draft->overload;
    take_attributes(reader, node, draft);
}

void node_leave(Reader *reader, const WireEvent *event)
{
    Frame *frame = reader_frame(reader);
    NodeDraft *draft = &frame->node;
    if (!*draft->op_type)
        fail_at(STATUS_MALFORMED, reader_loc(reader, event->at, draft->name),
                reader->wire.help, "a node without an operator type");
    if (!strcmp(draft->domain, "ai.onnx"))
        draft->domain = "";
    if (draft->in.n > LIMIT_OPERANDS || draft->out.n > LIMIT_OPERANDS)
        fail_at(STATUS_UNSUPPORTED, draft_loc(reader, draft), NULL,
                "has more than %d inputs or outputs", LIMIT_OPERANDS);
    if (!redefine_constant(reader, draft)) {
        check_outputs(reader, draft);
        add_node(reader, frame->graph, draft);
    }
    draft->index++;
}
