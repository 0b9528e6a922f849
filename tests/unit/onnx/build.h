/* SPDX-License-Identifier: Apache-2.0
 * For the tests of onnx/: messages written byte by byte, so that they may be as
 * wrong as a test wants, and a read of them that keeps status and message. */
#ifndef INLAY_TEST_ONNX_BUILD_H
#define INLAY_TEST_ONNX_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "ir/graph.h"
#include "onnx/message.h"
#include "onnx/reader.h"

typedef struct Bytes {
    uint8_t *at;
    size_t n, room;
} Bytes;

static inline void put(Bytes *b, const void *p, size_t n)
{
    if (b->n + n > b->room) {
        b->room = (b->n + n) * 2 + 64;
        b->at = realloc(b->at, b->room);
        assert_non_null(b->at);
    }
    if (n)
        memcpy(b->at + b->n, p, n);
    b->n += n;
}

static inline void put_varint(Bytes *b, uint64_t x)
{
    do {
        const uint8_t c = (uint8_t)(x > 127 ? x | 128 : x);
        put(b, &c, 1);
        x >>= 7;
    } while (x);
}

static inline void put_tag(Bytes *b, int field, unsigned type)
{
    put_varint(b, (uint64_t)field << 3 | type);
}

static inline void put_int(Bytes *b, int field, int64_t x)
{
    put_tag(b, field, 0);
    put_varint(b, (uint64_t)x);
}

static inline void put_bytes(Bytes *b, int field, const void *p, size_t n)
{
    put_tag(b, field, 2);
    put_varint(b, n);
    put(b, p, n);
}

static inline void put_text(Bytes *b, int field, const char *s)
{
    put_bytes(b, field, s, strlen(s));
}

/* Takes the message over. */
static inline void put_message(Bytes *b, int field, Bytes m)
{
    put_bytes(b, field, m.at, m.n);
    free(m.at);
}

static inline void put_float(Bytes *b, int field, float f)
{
    put_tag(b, field, 5);
    put(b, &f, 4);
}

/* --- messages of ONNX --- */

/* The number of a field, by its name in the schema. */
#define NUMBER(message, field) \
    field_number(&inlay_onnx__##message##__descriptor, #field)

static inline int field_number(const ProtobufCMessageDescriptor *message,
                               const char *name)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message, name);
    assert_non_null(field);
    return (int)field->id;
}

static inline Bytes tensor_head(const char *name, int type, int rank,
                                const int64_t *dims)
{
    Bytes t = { 0 };
    for (int i = 0; i < rank; i++)
        put_int(&t, NUMBER(tensor_proto, dims), dims[i]);
    put_int(&t, NUMBER(tensor_proto, data_type), type);
    if (name)
        put_text(&t, NUMBER(tensor_proto, name), name);
    return t;
}

static inline Bytes tensor_raw(const char *name, int type, int64_t n,
                               const void *values, size_t bytes)
{
    Bytes t = tensor_head(name, type, 1, &n);
    put_bytes(&t, NUMBER(tensor_proto, raw_data), values, bytes);
    return t;
}

static inline Bytes value_info(const char *name, int type, int rank,
                               const int64_t *dims)
{
    Bytes v = { 0 }, t = { 0 }, tensor = { 0 }, shape = { 0 };
    for (int i = 0; i < rank; i++) {
        Bytes d = { 0 };
        if (dims[i] >= 0)
            put_int(&d, NUMBER(tensor_shape_proto__dimension, dim_value),
                    dims[i]);
        else if (dims[i] == -2)
            put_text(&d, NUMBER(tensor_shape_proto__dimension, dim_param),
                     "batch");
        put_message(&shape, NUMBER(tensor_shape_proto, dim), d);
    }
    put_int(&tensor, NUMBER(type_proto__tensor, elem_type), type);
    put_message(&tensor, NUMBER(type_proto__tensor, shape), shape);
    put_message(&t, NUMBER(type_proto, tensor_type), tensor);
    put_text(&v, NUMBER(value_info_proto, name), name);
    put_message(&v, NUMBER(value_info_proto, type), t);
    return v;
}

static inline Bytes value_float(const char *name)
{
    return value_info(name, DT_F32, 2, (const int64_t[]){ 2, 3 });
}

/* "Add a b > c d": operands before ">" are inputs; "_" is an operand left out. */
static inline Bytes node(const char *text)
{
    Bytes n = { 0 };
    char copy[256], *save = NULL;
    int field = NUMBER(node_proto, op_type);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok_r(copy, " ", &save); w;
         w = strtok_r(NULL, " ", &save)) {
        if (!strcmp(w, ">"))
            field = NUMBER(node_proto, output);
        else
            put_text(&n, field, strcmp(w, "_") ? w : "");
        if (field == NUMBER(node_proto, op_type))
            field = NUMBER(node_proto, input);
    }
    return n;
}

static inline Bytes attr_head(const char *name, AttrKind kind)
{
    Bytes a = { 0 };
    put_text(&a, NUMBER(attribute_proto, name), name);
    put_int(&a, NUMBER(attribute_proto, type), kind);
    return a;
}

static inline Bytes node_with(const char *text, Bytes attr)
{
    Bytes n = node(text);
    put_message(&n, NUMBER(node_proto, attribute), attr);
    return n;
}

static inline Bytes sparse(int64_t n, int rank, const int64_t *index,
                           const int64_t *dims)
{
    Bytes s = { 0 }, values = tensor_head("sp", DT_F32, 1, &n),
          indices = tensor_head(NULL, DT_I64, rank > 1 ? 2 : 1,
                                (const int64_t[]){ n, rank });
    float *v = calloc((size_t)n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(i + 1);
    put_bytes(&values, NUMBER(tensor_proto, raw_data), v,
              (size_t)n * sizeof *v);
    put_bytes(&indices, NUMBER(tensor_proto, raw_data), index,
              (size_t)(n * rank) * 8);
    put_message(&s, NUMBER(sparse_tensor_proto, values), values);
    put_message(&s, NUMBER(sparse_tensor_proto, indices), indices);
    for (int i = 0; i < 2; i++)
        put_int(&s, NUMBER(sparse_tensor_proto, dims), dims[i]);
    free(v);
    return s;
}

/* A model around a graph, which is taken over. */
static inline Bytes model_of(Bytes graph)
{
    Bytes m = { 0 }, opset = { 0 };
    put_int(&m, NUMBER(model_proto, ir_version), 8);
    put_message(&m, NUMBER(model_proto, graph), graph);
    put_int(&opset, NUMBER(operator_set_id_proto, version), 17);
    put_message(&m, NUMBER(model_proto, opset_import), opset);
    return m;
}

static inline void put_ends(Bytes *g, const char *in, const char *out)
{
    put_message(g, NUMBER(graph_proto, input), value_float(in));
    put_message(g, NUMBER(graph_proto, output), value_float(out));
}

/* y = Add(x, w) and z = Relu(y), with an initializer: every test's plain model. */
static inline Bytes plain_graph(void)
{
    static const float w[6] = { 1, 2, 3, 4, 5, 6 };
    Bytes g = { 0 },
          init = tensor_head("w", DT_F32, 2, (const int64_t[]){ 2, 3 });
    put_message(&g, NUMBER(graph_proto, node), node("Add x w > y"));
    put_message(&g, NUMBER(graph_proto, node), node("Relu y > z"));
    put_text(&g, NUMBER(graph_proto, name), "plain");
    put_bytes(&init, NUMBER(tensor_proto, raw_data), w, sizeof w);
    put_message(&g, NUMBER(graph_proto, initializer), init);
    put_ends(&g, "x", "z");
    put_message(&g, NUMBER(graph_proto, value_info), value_float("y"));
    return g;
}

/* --- reading --- */

typedef struct Read {
    Arena arena;
    Store store;
    Diag diag;
    ReadOptions options;
    Status status;
    Graph *graph;
    Recipe *tensor; /* instead, where single is set */
    bool single;
    char path[256];
    char *message;
    size_t message_n;
} Read;

static inline void read_body(void *context)
{
    Read *r = context;
    if (r->single)
        r->tensor =
            onnx_read_tensor(&r->arena, &r->store, r->path, &r->options, NULL);
    else
        r->graph = onnx_read(&r->arena, &r->store, r->path, &r->options);
}

static inline Status read_path(Read *r)
{
    r->store.arena = &r->arena;
    r->store.window = 1 << 16;
    r->diag.out = open_memstream(&r->message, &r->message_n);
    r->status = protect(&r->diag, read_body, r);
    fclose(r->diag.out);
    return r->status;
}

static inline void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Reads a file with these bytes, in the folder of the test. */
static inline Status read_bytes(Read *r, const char *folder, const void *bytes,
                                size_t n)
{
    snprintf(r->path, sizeof r->path, "%s/model.onnx", folder);
    write_file(r->path, bytes, n);
    return read_path(r);
}

static inline Status read_model(Read *r, const char *folder, Bytes m)
{
    const Status s = read_bytes(r, folder, m.at, m.n);
    free(m.at);
    return s;
}

static inline void read_free(Read *r)
{
    file_close_all(&r->arena);
    arena_free(&r->store.scratch);
    arena_free(&r->arena);
    free(r->message);
    *r = (Read){ 0 };
}

/* A folder for a test's files. */
static inline char *make_folder(void)
{
    static char name[64];
    const char *tmp = getenv("TMPDIR");
    snprintf(name, sizeof name, "%.40s/inlay-XXXXXX",
             tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    assert_non_null(mkdtemp(name));
    return name;
}

/* The folder of this program's files; begin() makes it, end() removes it with the model in it. */
static char *folder;

static inline int begin(void **state)
{
    (void)state;
    folder = make_folder();
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    unlink(path);
    return rmdir(folder);
}

static inline Graph *read_good(Read *r, Bytes graph)
{
    if (read_model(r, folder, model_of(graph)))
        print_error("%s\n", r->message);
    assert_int_equal(r->status, 0);
    return r->graph;
}

/* Fails with this status, and says these words. */
static inline void expect(Bytes model, Status status, const char *words)
{
    Read r = { 0 };
    read_model(&r, folder, model);
    if (r.status != status || (words && !strstr(r.message, words)))
        print_error("wanted %d \"%s\", got %d: %s\n", status,
                    words ? words : "", r.status, r.message);
    assert_int_equal(r.status, status);
    if (words)
        assert_non_null(strstr(r.message, words));
    read_free(&r);
}

static inline void expect_graph(Bytes graph, Status status, const char *words)
{
    expect(model_of(graph), status, words);
}

#endif
