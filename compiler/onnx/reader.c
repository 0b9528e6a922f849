/* SPDX-License-Identifier: Apache-2.0
 * The loop over the scanner's events, the model message itself, and what all
 * parts of the reader share. */
#include "onnx/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/io_calls.h"
#include "onnx/read.h"
#include "ops/ops.h"

enum {
    IR_OLDEST = INLAY_ONNX__VERSION__IR_VERSION_2017_11_3,
    IR_NEWEST = INLAY_ONNX__VERSION__IR_VERSION,
    IR_ABSURD = 100,
};

static const char help_file[] = "the file is damaged, or is not an ONNX model";

Frame *reader_frame(Reader *reader)
{
    return reader->frame + reader->depth - 1;
}

Loc reader_loc(const Reader *reader, uint64_t at, const char *name)
{
    return (Loc){ .file = reader->file->path,
                  .byte = (int64_t)at,
                  .node = -1,
                  .name = name };
}

/* The bytes, copied to reader->name and ended with NUL. */
static const char *name_at(Reader *reader, uint64_t at, uint64_t length)
{
    if (length > WIRE_VIEW)
        wire_fail(&reader->wire, at,
                  "a name of %" PRIu64 " bytes; at most %d are allowed", length,
                  WIRE_VIEW);
    const uint8_t *p = wire_view(&reader->wire, at, length);
    if (memchr(p, 0, (size_t)length))
        wire_fail(&reader->wire, at, "a name contains a NUL byte");
    memcpy(reader->name, p, (size_t)length);
    reader->name[length] = 0;
    return reader->name;
}

const char *reader_text(Reader *reader, const WireEvent *event)
{
    if (!event->length)
        return "";
    return arena_text(reader->arena, name_at(reader, event->at, event->length),
                      (size_t)event->length);
}

const char *reader_word(Reader *reader, const WireEvent *event)
{
    if (!event->length)
        return "";
    return reader_keep(reader, name_at(reader, event->at, event->length));
}

const char *reader_keep(Reader *reader, const char *text)
{
    if (!text || !*text)
        return "";
    const char *known = map_get(&reader->texts, text);
    if (known)
        return known;
    char *kept = arena_text(reader->arena, text, strlen(text));
    map_put(&reader->texts, kept, kept);
    return kept;
}

Tensor *reader_tensor(Reader *reader, Graph *graph, uint64_t at,
                      uint64_t length)
{
    if (!length)
        return NULL;
    Tensor *tensor = map_get(&graph->by_name, name_at(reader, at, length));
    if (tensor)
        return tensor;
    return graph_add_tensor(
        graph, arena_text(reader->arena, reader->name, (size_t)length), DT_NONE,
        (Shape){ .rank = -1 });
}

void reader_dims(Reader *reader, const WireEvent *event, int *rank,
                 int64_t *dims, const char *name)
{
    uint64_t at = event->at;
    const uint64_t end = event->at + event->length;
    const bool packed = event->type == WIRE_RANGE;
    while (!packed || at < end) {
        if (*rank == MAX_RANK)
            fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, name),
                    NULL, "a tensor of more than %d dimensions", MAX_RANK);
        dims[(*rank)++] =
            (int64_t)(packed ? wire_varint(&reader->wire, &at, end)
                             : event->value);
        if (!packed)
            return;
    }
}

static void model_field(Reader *reader, const WireEvent *event)
{
    if (event->field->offset == FIELD(ModelProto, ir_version))
        reader->model->ir_version = (int64_t)event->value;
    else if (event->field->offset == FIELD(ModelProto, producer_name))
        reader->model->producer = reader_text(reader, event);
}

typedef void Handler(Reader *reader, const WireEvent *event);

typedef struct HandlerRow {
    Handler *enter, *field, *leave;
} HandlerRow;

static const HandlerRow handlers[MSG_COUNT] = {
    [MSG_MODEL] = { NULL, model_field, NULL },
    [MSG_GRAPH] = { graph_enter, graph_field, graph_leave },
    [MSG_NODE] = { node_enter, node_field, node_leave },
    [MSG_ATTRIBUTE] = { attribute_enter, attribute_field, attribute_leave },
    [MSG_TENSOR] = { tensor_enter, tensor_field, tensor_leave },
    [MSG_SPARSE] = { sparse_enter, sparse_field, sparse_leave },
    [MSG_FUNCTION] = { function_enter, function_field, function_leave },
    [MSG_VALUE_INFO] = { value_enter, value_field, value_leave },
    [MSG_OPSET] = { NULL, leaf_field, opset_leave },
    [MSG_ENTRY] = { NULL, leaf_field, entry_leave },
    [MSG_TYPE] = { type_enter, leaf_field, NULL },
    [MSG_DIMENSION] = { type_enter, leaf_field, NULL },
};

static Handler *handler_of(const WireEvent *event)
{
    const HandlerRow *row = handlers + event->message;
    if (event->type == WIRE_ENTER)
        return row->enter;
    return event->type == WIRE_LEAVE ? row->leave : row->field;
}

static void read_events(Reader *reader)
{
    for (;;) {
        const WireEvent event = wire_next(&reader->wire);
        if (event.type == WIRE_END)
            return;
        Handler *handler = handler_of(&event);
        if (handler)
            handler(reader, &event);
    }
}

/* What people feed us instead of a model. */
static const char *guess(Reader *reader)
{
    static const struct {
        const char *magic, *help;
    } other[] = {
        { "version https://git-lfs",
          "this is a Git LFS pointer: fetch the model with git lfs pull" },
        { "\x1f\x8b", "this is a gzip archive: unpack it first" },
        { "PK\x03\x04", "this is a ZIP archive (PyTorch and Keras files are): "
                        "export the model to ONNX" },
        { "\x89HDF", "this is an HDF5 file: export the model to ONNX" },
        { "<",
          "this is markup, perhaps a web page saved under the model's name" },
        { "{", "this is JSON: Inlay reads ONNX models" },
    };
    const uint8_t *p = wire_view(
        &reader->wire, 0, reader->file->size < 64 ? reader->file->size : 64);
    if (reader->file->size >= 8 && !memcmp(p + 4, "ORTM", 4))
        return "this is an ORT model: compile the ONNX model it was made from";
    if (reader->file->size >= 8 && !memcmp(p + 4, "TFL3", 4))
        return "this is a TensorFlow Lite model: convert it to ONNX, with "
               "tf2onnx for example";
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        const size_t n = strlen(other[i].magic);
        if (reader->file->size >= n && !memcmp(p, other[i].magic, n))
            return other[i].help;
    }
    return help_file;
}

/* Pipes cannot be read at positions: their bytes go to a temporary file first. */
static File *spool_stdin(Arena *arena)
{
    File *file = file_temporary(arena);
    unsigned char block[16384];
    for (;;) {
        const ssize_t n = io_calls()->read(STDIN_FILENO, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail_at(STATUS_IO, LOC_NONE, NULL, "cannot read standard input");
        if (n == 0)
            break;
        io_count_read((uint64_t)n);
        file_write(file, file->size, block, (size_t)n);
    }
    file->path = "standard input";
    return file;
}

/* "-" is standard input; any other file is noted by the store. */
static File *open_model(Arena *arena, Store *store, const char *path)
{
    const bool named = strcmp(path, "-") != 0;
    if (named)
        VEC_PUSH(arena, &store->input, path);
    File *file =
        named ? file_open(arena, path, store->mode) : spool_stdin(arena);
    store->input_bytes += file->size;
    return file;
}

static Reader *reader_open(Arena *arena, Store *store, const char *path,
                           const ReadOptions *opt, int root)
{
    Reader *reader = NEW(arena, Reader);
    reader->arena = arena;
    reader->store = store;
    reader->file = open_model(arena, store, path);
    reader->external =
        external_new(arena, store, strcmp(path, "-") ? path : NULL);
    if (opt && opt->external_dir)
        reader->external.folder = opt->external_dir;
    reader->external.refused = opt && opt->no_external;
    reader->texts = map_new(arena);
    reader->functions = map_new(arena);
    reader->leaf = arena_alloc(arena, LEAF_MEMORY);
    if (!reader->file->size)
        fail_at(STATUS_MALFORMED,
                (Loc){ .file = reader->file->path, .byte = 0, .node = -1 },
                help_file, "the file is empty");
    wire_open(&reader->wire, reader->file, &onnx_schema, root, help_file);
    reader->wire.help = guess(reader);
    return reader;
}

static int64_t opset_version(const Graph *graph, const char *domain)
{
    for (size_t i = 0; i < graph->opset.n; i++)
        if (!strcmp(graph->opset.at[i].domain, domain))
            return graph->opset.at[i].version;
    return 0;
}

/* The operator set of ai.onnx must be there, where its operators are used, and none that came after
 * us. Old ones are not refused here: many operators mean the same today. */
static void check_opset(const Reader *reader, const Graph *imports,
                        const char *what)
{
    const int64_t version = opset_version(imports, "");
    Loc loc = { .file = reader->file->path, .byte = -1, .node = -1 };
    if (!version) {
        for (size_t k = 0; k < imports->all.n; k++) {
            const Graph *graph = imports->all.at[k];
            for (size_t i = 0; i < graph->node.n; i++)
                if (!*graph->node.at[i]->domain)
                    fail_at(STATUS_MALFORMED, node_loc(graph->node.at[i]), NULL,
                            "the %s uses operators of ai.onnx but imports no "
                            "version of them",
                            what);
        }
        return;
    }
    if (version > OPSET_NEWEST)
        fail_at(STATUS_UNSUPPORTED, loc,
                "export the model again with an older opset_version",
                "the %s uses operator set %" PRId64
                "; the newest supported is %d",
                what, version, OPSET_NEWEST);
}

static void check_model(Reader *reader)
{
    const Graph *graph = reader->model;
    Loc loc = { .file = reader->file->path, .byte = -1, .node = -1 };
    if (!reader->has_graph)
        fail_at(STATUS_MALFORMED, loc, reader->wire.help,
                "the file holds no graph");
    if (graph->ir_version < 1 || graph->ir_version >= IR_ABSURD)
        fail_at(STATUS_MALFORMED, loc, reader->wire.help,
                "IR version %" PRId64 " does not exist", graph->ir_version);
    if (graph->ir_version < IR_OLDEST)
        fail_at(STATUS_UNSUPPORTED, loc,
                "convert the model with a newer version of ONNX",
                "IR version %" PRId64 " is too old; the oldest supported is %d",
                graph->ir_version, IR_OLDEST);
    if (graph->ir_version > IR_NEWEST)
        warn_at(loc,
                "IR version %" PRId64 " is newer than the newest known, %d",
                graph->ir_version, IR_NEWEST);
    if (!graph->output.n)
        fail_at(STATUS_MALFORMED, loc, NULL, "the graph has no outputs");
    check_opset(reader, graph, "model");
    for (size_t i = 0; i < graph->function.n; i++)
        check_opset(reader, graph->function.at[i]->body, "function");
}

/* Function bodies may leave their imports to the model. */
static void inherit_opsets(const Graph *model, Graph *body)
{
    for (size_t i = 0; i < model->opset.n; i++)
        if (!opset_version(body, model->opset.at[i].domain))
            VEC_PUSH(body->arena, &body->opset, model->opset.at[i]);
}

static void finish_model(Reader *reader)
{
    Graph *graph = reader->model;
    for (size_t i = 0; i < graph->function.n; i++)
        inherit_opsets(graph, graph->function.at[i]->body);
    check_model(reader);
    link_names(reader, graph);
    for (size_t i = 0; i < graph->function.n; i++)
        link_names(reader, graph->function.at[i]->body);
    fail_if_errors();
    link_finish(graph);
    for (size_t i = 0; i < graph->function.n; i++)
        link_finish(graph->function.at[i]->body);
}

Graph *onnx_read(Arena *arena, Store *store, const char *path,
                 const ReadOptions *opt)
{
    Reader *reader = reader_open(arena, store, path, opt, MSG_MODEL);
    reader->model = graph_new(arena, store, reader->file->path, NULL);
    reader->model->name = reader->model->producer = "";
    read_events(reader);
    external_finish(&reader->external);
    finish_model(reader);
    return reader->model;
}

Recipe *onnx_read_tensor(Arena *arena, Store *store, const char *path,
                         const ReadOptions *opt, const char **name)
{
    Reader *reader = reader_open(arena, store, path, opt, MSG_TENSOR);
    reader->wire.help =
        "the file is damaged, or is not an ONNX tensor (TensorProto)";
    const WireEvent whole = { .type = WIRE_ENTER,
                              .message = MSG_TENSOR,
                              .length = reader->file->size,
                              .parent = MSG_COUNT };
    tensor_enter(reader, &whole);
    read_events(reader);
    tensor_leave(reader, &whole);
    if (name)
        *name = reader->tensor.name;
    return reader->single;
}
