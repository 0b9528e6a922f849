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

enum { IR_OLDEST = 3, IR_NEWEST = 14, IR_ABSURD = 100 };

static const char help_file[] = "the file is damaged, or is not an ONNX model";

Frame *reader_frame(Reader *r)
{
    return r->frame + r->depth - 1;
}

Loc reader_loc(const Reader *r, uint64_t at, const char *name)
{
    return (Loc){ .file = r->file->path, .byte = (int64_t)at, .node = -1, .name = name };
}

/* The bytes, copied to r->name and ended with NUL. */
static const char *name_at(Reader *r, uint64_t at, uint64_t length)
{
    if (length > WIRE_VIEW)
        wire_fail(&r->wire, at, "a name of %" PRIu64 " bytes; at most %d are allowed", length,
                  WIRE_VIEW);
    const uint8_t *p = wire_view(&r->wire, at, length);
    if (memchr(p, 0, (size_t)length))
        wire_fail(&r->wire, at, "a name contains a NUL byte");
    memcpy(r->name, p, (size_t)length);
    r->name[length] = 0;
    return r->name;
}

const char *reader_text(Reader *r, const WireEvent *e)
{
    if (!e->length)
        return "";
    return arena_text(r->arena, name_at(r, e->at, e->length), (size_t)e->length);
}

const char *reader_word(Reader *r, const WireEvent *e)
{
    if (!e->length)
        return "";
    char *known = map_get(&r->texts, name_at(r, e->at, e->length));
    if (known)
        return known;
    char *text = arena_text(r->arena, r->name, (size_t)e->length);
    map_put(&r->texts, text, text);
    return text;
}

Tensor *reader_tensor(Reader *r, Graph *g, uint64_t at, uint64_t length)
{
    if (!length)
        return NULL;
    Tensor *t = map_get(&g->by_name, name_at(r, at, length));
    if (t)
        return t;
    return graph_add_tensor(g, arena_text(r->arena, r->name, (size_t)length), DT_NONE,
                            (Shape){ .rank = -1 });
}

void reader_dims(Reader *r, const WireEvent *e, int *rank, int64_t *dims, const char *name)
{
    uint64_t at = e->at;
    const uint64_t end = e->at + e->length;
    const bool packed = e->type == WIRE_RANGE;
    while (!packed || at < end) {
        if (*rank == MAX_RANK)
            fail_at(STATUS_UNSUPPORTED, reader_loc(r, e->at, name), NULL,
                    "a tensor of more than %d dimensions", MAX_RANK);
        dims[(*rank)++] = (int64_t)(packed ? wire_varint(&r->wire, &at, end) : e->value);
        if (!packed)
            return;
    }
}

static void model_field(Reader *r, const WireEvent *e)
{
    if (e->field == MODEL_IR_VERSION)
        r->model->ir_version = (int64_t)e->value;
    else if (e->field == MODEL_PRODUCER)
        r->model->producer = reader_text(r, e);
}

typedef void Handler(Reader *r, const WireEvent *e);

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
    [MSG_OPSET] = { NULL, type_field, opset_leave },
    [MSG_ENTRY] = { entry_enter, entry_field, entry_leave },
    [MSG_TYPE] = { type_enter, type_field, NULL },
    [MSG_DIMENSION] = { type_enter, type_field, NULL },
};

static void read_events(Reader *r)
{
    for (;;) {
        const WireEvent e = wire_next(&r->wire);
        if (e.type == WIRE_END)
            return;
        const HandlerRow *h = handlers + e.message;
        Handler *call = e.type == WIRE_ENTER   ? h->enter
                        : e.type == WIRE_LEAVE ? h->leave
                                               : h->field;
        if (call)
            call(r, &e);
    }
}

/* What people feed us instead of a model. */
static const char *guess(Reader *r)
{
    static const struct {
        const char *magic, *help;
    } other[] = {
        { "version https://git-lfs",
          "this is a Git LFS pointer: fetch the model with git lfs pull" },
        { "\x1f\x8b", "this is a gzip archive: unpack it first" },
        { "PK\x03\x04",
          "this is a ZIP archive (PyTorch and Keras files are): export the model to ONNX" },
        { "\x89HDF", "this is an HDF5 file: export the model to ONNX" },
        { "<", "this is markup, perhaps a web page saved under the model's name" },
        { "{", "this is JSON: Inlay reads ONNX models" },
    };
    const uint8_t *p = wire_view(&r->wire, 0, r->file->size < 64 ? r->file->size : 64);
    if (r->file->size >= 8 && !memcmp(p + 4, "ORTM", 4))
        return "this is an ORT model: compile the ONNX model it was made from";
    if (r->file->size >= 8 && !memcmp(p + 4, "TFL3", 4))
        return "this is a TensorFlow Lite model: convert it to ONNX, with tf2onnx for example";
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        const size_t n = strlen(other[i].magic);
        if (r->file->size >= n && !memcmp(p, other[i].magic, n))
            return other[i].help;
    }
    return help_file;
}

/* Pipes cannot be read at positions: their bytes go to a temporary file first. */
static File *spool_stdin(Arena *arena)
{
    File *f = file_temporary(arena);
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
        file_write(f, f->size, block, (size_t)n);
    }
    f->path = "standard input";
    return f;
}

static Reader *reader_open(Arena *arena, Store *store, const char *path, const ReadOptions *opt,
                           int root)
{
    Reader *r = NEW(arena, Reader);
    const bool piped = !strcmp(path, "-");
    r->arena = arena;
    r->store = store;
    r->file = piped ? spool_stdin(arena) : file_open(arena, path, store->mode);
    r->external = external_new(arena, store, piped ? NULL : path, opt);
    r->texts = map_new(arena);
    r->functions = map_new(arena);
    r->leaf = arena_alloc(arena, LEAF_MEMORY);
    if (!r->file->size)
        fail_at(STATUS_MALFORMED, (Loc){ .file = r->file->path, .byte = 0, .node = -1 }, help_file,
                "the file is empty");
    wire_open(&r->wire, r->file, &onnx_messages, root, help_file);
    r->wire.help = guess(r);
    return r;
}

static int64_t opset_version(const Graph *g, const char *domain)
{
    for (size_t i = 0; i < g->opset.n; i++)
        if (!strcmp(g->opset.at[i].domain, domain))
            return g->opset.at[i].version;
    return 0;
}

/* The operator set of ai.onnx must be there, where its operators are used, and none that came after
 * us. Old ones are not refused here: many operators mean the same today. */
static void check_opset(const Reader *r, const Graph *imports, const char *what)
{
    const int64_t version = opset_version(imports, "");
    Loc loc = { .file = r->file->path, .byte = -1, .node = -1 };
    if (!version) {
        for (size_t k = 0; k < imports->all.n; k++) {
            const Graph *g = imports->all.at[k];
            for (size_t i = 0; i < g->node.n; i++)
                if (!*g->node.at[i]->domain)
                    fail_at(STATUS_MALFORMED, node_loc(g->node.at[i]), NULL,
                            "the %s uses operators of ai.onnx but imports no version of them",
                            what);
        }
        return;
    }
    if (version > OPSET_NEWEST)
        fail_at(STATUS_UNSUPPORTED, loc, "export the model again with an older opset_version",
                "the %s uses operator set %" PRId64 "; the newest supported is %d", what, version,
                OPSET_NEWEST);
}

static void check_model(Reader *r)
{
    const Graph *g = r->model;
    Loc loc = { .file = r->file->path, .byte = -1, .node = -1 };
    if (!r->has_graph)
        fail_at(STATUS_MALFORMED, loc, r->wire.help, "the file holds no graph");
    if (g->ir_version < 1 || g->ir_version >= IR_ABSURD)
        fail_at(STATUS_MALFORMED, loc, r->wire.help, "IR version %" PRId64 " does not exist",
                g->ir_version);
    if (g->ir_version < IR_OLDEST)
        fail_at(STATUS_UNSUPPORTED, loc, "convert the model with a newer version of ONNX",
                "IR version %" PRId64 " is too old; the oldest supported is %d", g->ir_version,
                IR_OLDEST);
    if (g->ir_version > IR_NEWEST)
        warn_at(loc, "IR version %" PRId64 " is newer than the newest known, %d", g->ir_version,
                IR_NEWEST);
    if (!g->output.n)
        fail_at(STATUS_MALFORMED, loc, NULL, "the graph has no outputs");
    check_opset(r, g, "model");
    for (size_t i = 0; i < g->function.n; i++)
        check_opset(r, g->function.at[i]->body, "function");
}

/* Function bodies may leave their imports to the model. */
static void inherit_opsets(const Graph *model, Graph *body)
{
    for (size_t i = 0; i < model->opset.n; i++)
        if (!opset_version(body, model->opset.at[i].domain))
            VEC_PUSH(body->arena, &body->opset, model->opset.at[i]);
}

static void finish_model(Reader *r)
{
    Graph *g = r->model;
    for (size_t i = 0; i < g->function.n; i++)
        inherit_opsets(g, g->function.at[i]->body);
    check_model(r);
    link_names(r, g);
    for (size_t i = 0; i < g->function.n; i++)
        link_names(r, g->function.at[i]->body);
    fail_if_errors();
    link_finish(g);
    for (size_t i = 0; i < g->function.n; i++)
        link_finish(g->function.at[i]->body);
}

Graph *onnx_read(Arena *arena, Store *store, const char *path, const ReadOptions *opt)
{
    Reader *r = reader_open(arena, store, path, opt, MSG_MODEL);
    r->model = graph_new(arena, store, r->file->path, NULL);
    r->model->name = r->model->producer = "";
    read_events(r);
    external_finish(&r->external);
    finish_model(r);
    return r->model;
}

Recipe *onnx_read_tensor(Arena *arena, Store *store, const char *path, const ReadOptions *opt,
                         const char **name)
{
    Reader *r = reader_open(arena, store, path, opt, MSG_TENSOR);
    r->wire.help = "the file is damaged, or is not an ONNX tensor (TensorProto)";
    const WireEvent whole = {
        .type = WIRE_ENTER, .message = MSG_TENSOR, .length = r->file->size, .parent = MSG_COUNT
    };
    tensor_enter(r, &whole);
    read_events(r);
    tensor_leave(r, &whole);
    if (name)
        *name = r->tensor.name;
    if (!r->single)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, 0, r->tensor.name), NULL, "a tensor of strings");
    return r->single;
}
