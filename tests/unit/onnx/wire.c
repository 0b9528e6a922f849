/* SPDX-License-Identifier: Apache-2.0
 * The scanner: every check of the wire format, its limits, and how much it reads. */
#include "build.h"
#include "onnx.pb-c.h"
#include "onnx/wire.h"

enum { TREE, LEAF, TREES }; /* a table of our own: trees of trees with leaves */

static const WireRow tree_rows[TREES][WIRE_FIELDS] = {
    [TREE] = { [1] = { WIRE_MESSAGE, TREE }, [2] = { WIRE_MESSAGE, LEAF } },
    [LEAF] = { [1] = { WIRE_INT, 0 },
               [2] = { WIRE_INTS, 0 },
               [3] = { WIRE_F32, 0 },
               [4] = { WIRE_F32S, 0 },
               [5] = { WIRE_F64S, 0 },
               [6] = { WIRE_BYTES, 0 } },
};
static const WireTable trees = { tree_rows, TREES, 1000 }; /* no nesting limit but the depth */
static const WireTable nested = { tree_rows, TREE, 1000 };

typedef struct Scan {
    Arena arena;
    Diag diag;
    const char *path;
    const WireTable *table;
    int root, events;
    uint64_t sum; /* of all numbers and lengths */
    uint64_t read;
    LoadMode mode;
} Scan;

static void scan_body(void *context)
{
    Scan *s = context;
    Wire *w = NEW(&s->arena, Wire);
    File *f = file_open(&s->arena, s->path, s->mode);
    wire_open(w, f, s->table, s->root, "help");
    for (;;) {
        const WireEvent e = wire_next(w);
        s->read = f->bytes_read;
        if (e.type == WIRE_END)
            return;
        s->events++;
        s->sum += e.type == WIRE_NUMBER ? e.value : e.length;
    }
}

static Status scan_mode(Scan *s, const WireTable *table, int root, const void *bytes, size_t n,
                        LoadMode mode)
{
    char path[128], *text = NULL;
    size_t length;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    write_file(path, bytes, n);
    *s = (Scan){ .path = path, .table = table, .root = root, .mode = mode };
    s->diag.out = open_memstream(&text, &length);
    const Status status = protect(&s->diag, scan_body, s);
    fclose(s->diag.out);
    if (status)
        assert_non_null(strstr(text, "byte "));
    free(text);
    file_close_all(&s->arena);
    arena_free(&s->arena);
    return status;
}

static Status scan(Scan *s, const WireTable *table, int root, const void *bytes, size_t n)
{
    Scan whole;
    const Status status = scan_mode(s, table, root, bytes, n, LOAD_STREAM);
    if (n)
        assert_int_equal(scan_mode(&whole, table, root, bytes, n, LOAD_EAGER), status);
    if (n)
        assert_int_equal(whole.sum, s->sum);
    return status;
}

typedef struct Case {
    const char *what;
    Status status;
    size_t n;
    const char *bytes;
} Case;

#define BYTES(text) sizeof(text) - 1, text

static const Case cases[] = {
    { "nothing", 0, BYTES("") },
    { "a number", 0, BYTES("\x08\x2a") },
    { "a number of ten bytes", 0, BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { "a padded number", 0, BYTES("\x08\x80\x80\x00") },
    { "a padded tag", 0, BYTES("\x88\x00\x01") },
    { "packed numbers", 0, BYTES("\x12\x03\x01\x02\x03") },
    { "no packed numbers", 0, BYTES("\x12\x00") },
    { "one number of a list", 0, BYTES("\x10\x07") },
    { "a float", 0,
      BYTES("\x1d"
            "abcd") },
    { "packed floats", 0,
      BYTES("\x22\x08"
            "abcdefgh") },
    { "one float of a list", 0,
      BYTES("\x25"
            "abcd") },
    { "packed doubles", 0,
      BYTES("\x2a\x08"
            "abcdefgh") },
    { "one double of a list", 0,
      BYTES("\x29"
            "abcdefgh") },
    { "bytes", 0, BYTES("\x32\x02hi") },
    { "an unknown number", 0, BYTES("\x78\x01") },
    { "an unknown field of every type", 0,
      BYTES("\x78\x01\x79"
            "abcdefgh"
            "\x7a\x01x\x7d"
            "abcd") },
    { "an unknown field of the greatest number", 0, BYTES("\xf8\xff\xff\xff\x0f\x01") },
    { "a field number above the table", 0, BYTES("\x80\x04\x01") },
    { "a number of eleven bytes", 65, BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { "a number of more than 64 bits", 65, BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02") },
    { "a cut number", 65, BYTES("\x08\x80") },
    { "no number", 65, BYTES("\x08") },
    { "a cut tag", 65, BYTES("\x88") },
    { "field 0", 65, BYTES("\x00\x01") },
    { "field 0 of length 0", 65, BYTES("\x02\x00") },
    { "a field number of 30 bits", 65, BYTES("\x80\x80\x80\x80\x10\x01") },
    { "a field number of 61 bits", 65, BYTES("\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01") },
    { "a group", 65, BYTES("\x0b\x0c") },
    { "the end of a group", 65, BYTES("\x0c") },
    { "an unknown group", 65, BYTES("\x7b\x7c") },
    { "wire type 6", 65, BYTES("\x0e\x01") },
    { "wire type 7", 65, BYTES("\x0f\x01") },
    { "a length beyond the end", 65, BYTES("\x32\x03hi") },
    { "a length of 2^64 - 1", 65, BYTES("\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { "a length of 2^63", 65, BYTES("\x32\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01") },
    { "no length", 65, BYTES("\x32") },
    { "an unknown length beyond the end", 65, BYTES("\x7a\x02x") },
    { "a cut float", 65,
      BYTES("\x1d"
            "abc") },
    { "a cut double", 65,
      BYTES("\x29"
            "abcdefg") },
    { "a number as bytes", 65, BYTES("\x0a\x01\x01") },
    { "a number as a float", 65,
      BYTES("\x0d"
            "abcd") },
    { "bytes as a number", 65, BYTES("\x30\x01") },
    { "a float as a number", 65, BYTES("\x18\x01") },
    { "a single float as packed", 65,
      BYTES("\x1a\x04"
            "abcd") },
    { "a float list as doubles", 65,
      BYTES("\x21"
            "abcdefgh") },
    { "packed floats of five bytes", 65,
      BYTES("\x22\x05"
            "abcde") },
    { "packed doubles of four bytes", 65,
      BYTES("\x2a\x04"
            "abcd") },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Scan s;
        const Status status = scan(&s, &trees, LEAF, cases[i].bytes, cases[i].n);
        if (status != cases[i].status)
            print_error("%s\n", cases[i].what);
        assert_int_equal(status, cases[i].status);
    }
}

static void test_values(void **state)
{
    (void)state;
    Scan s;
    assert_int_equal(scan(&s, &trees, LEAF, "\x08\x80\x80\x00\x08\xac\x02", 7), 0);
    assert_int_equal(s.events, 2);
    assert_int_equal(s.sum, 300);
    assert_int_equal(scan(&s, &trees, LEAF, "\x1d\x01\x02\x00\x80", 5), 0);
    assert_int_equal(s.sum, 0x80000201u);
    assert_int_equal(scan(&s, &trees, LEAF, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), 0);
    assert_true(s.sum == UINT64_MAX);
    assert_int_equal(scan(&s, &trees, LEAF, "\x78\x01\x32\x02hi\x10\x05", 8), 0);
    assert_int_equal(s.events, 2); /* the unknown field is no event */
    assert_int_equal(s.sum, 7);
}

/* A child must not reach beyond its parent, however long the file is. */
static void test_overlap(void **state)
{
    (void)state;
    Scan s;
    assert_int_equal(scan(&s, &trees, TREE, "\x12\x02\x08\x01\x12\x00", 6), 0);
    assert_int_equal(s.events, 5);
    assert_int_equal(scan(&s, &trees, TREE, "\x0a\x02\x12\x02\x08\x01", 6), 65);
    assert_int_equal(scan(&s, &trees, TREE, "\x12\x01\x08\x01", 4), 65);
    assert_int_equal(scan(&s, &trees, TREE, "\x12\x02\x08\x81\x01", 5), 65);
}

static Bytes nested_trees(int depth)
{
    Bytes b = { 0 };
    for (int i = 0; i < depth; i++) {
        Bytes outer = { 0 };
        put_message(&outer, 1, b);
        b = outer;
    }
    return b;
}

static Status scan_depth(const WireTable *table, int depth)
{
    Scan s;
    Bytes b = nested_trees(depth);
    const Status status = scan(&s, table, TREE, b.at, b.n);
    free(b.at);
    return status;
}

static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(scan_depth(&trees, WIRE_DEPTH - 2), 0);
    assert_int_equal(scan_depth(&trees, WIRE_DEPTH - 1), 0);
    assert_int_equal(scan_depth(&trees, WIRE_DEPTH), 65);
    assert_int_equal(scan_depth(&nested, WIRE_NESTING - 1), 0);
    assert_int_equal(scan_depth(&nested, WIRE_NESTING), 0);
    assert_int_equal(scan_depth(&nested, WIRE_NESTING + 1), 65);
    assert_int_equal(scan_depth(&trees, 5000), 65);
}

static void test_messages(void **state)
{
    (void)state;
    Bytes b = { 0 };
    for (int i = 0; i < 1001; i++) {
        Scan s;
        put(&b, "\x12\x00", 2);
        if (i >= 998)
            assert_int_equal(scan(&s, &trees, TREE, b.at, b.n), i == 1000 ? 71 : 0);
    }
    free(b.at);
}

/* Nesting counts what is open, not what was. */
static void test_siblings(void **state)
{
    (void)state;
    Scan s;
    Bytes b = { 0 };
    for (int i = 0; i < 500; i++)
        put(&b, "\x0a\x00", 2);
    assert_int_equal(scan(&s, &nested, TREE, b.at, b.n), 0);
    assert_int_equal(s.events, 1000);
    free(b.at);
}

/* Numbers and tags across every place of the window's edge. */
static void test_window(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 24; shift++) {
        Bytes b = { 0 };
        uint64_t sum = 0;
        uint8_t filler[32] = { 0 };
        put_bytes(&b, 6, filler, shift);
        sum += shift;
        for (int i = 0; i < 20000; i++) {
            put_int(&b, 1, i * 1001);
            sum += (uint64_t)(i * 1001);
        }
        Scan s;
        assert_int_equal(scan(&s, &trees, LEAF, b.at, b.n), 0);
        assert_true(s.sum == sum);
        assert_int_equal(s.events, 20001);
        free(b.at);
    }
}

/* Payloads are stepped over: what is read beyond the heads is at most WIRE_AHEAD each. */
static void test_read_ahead(void **state)
{
    (void)state;
    Bytes b = { 0 };
    uint8_t *payload = calloc(1, 1 << 20);
    for (int i = 0; i < 16; i++)
        put_bytes(&b, 6, payload, 1 << 20);
    Scan s;
    assert_int_equal(scan_mode(&s, &trees, LEAF, b.at, b.n, LOAD_STREAM), 0);
    assert_int_equal(s.events, 16);
    assert_true(s.read <= 16 * (WIRE_AHEAD + 16));
    free(b.at);
    b = (Bytes){ 0 };
    for (int i = 0; i < 5000; i++)
        put_int(&b, 1, i); /* long straight reading, then a payload */
    const size_t heads = b.n;
    put_bytes(&b, 6, payload, 1 << 20);
    assert_int_equal(scan_mode(&s, &trees, LEAF, b.at, b.n, LOAD_STREAM), 0);
    assert_true(s.read <= heads + WIRE_AHEAD + 16);
    free(payload);
    free(b.at);
}

/* Our table of numbers against the schema's descriptors. */
static void check_message(int message, const ProtobufCMessageDescriptor *d)
{
    for (unsigned f = 0; f < WIRE_FIELDS; f++) {
        const WireRow r = onnx_messages.row[message][f];
        if (r.kind == WIRE_SKIP)
            continue;
        const ProtobufCFieldDescriptor *p = protobuf_c_message_descriptor_get_field(d, f);
        if (!p)
            print_error("%s field %u\n", d->name, f);
        assert_non_null(p);
        const bool repeated = p->label == PROTOBUF_C_LABEL_REPEATED;
        switch (p->type) {
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
            assert_int_equal(r.kind, WIRE_BYTES);
            break;
        case PROTOBUF_C_TYPE_FLOAT:
            assert_int_equal(r.kind, repeated ? WIRE_F32S : WIRE_F32);
            break;
        case PROTOBUF_C_TYPE_DOUBLE:
            assert_int_equal(r.kind, WIRE_F64S);
            break;
        case PROTOBUF_C_TYPE_MESSAGE:
            assert_true(r.kind == WIRE_MESSAGE || (message == MSG_TENSOR && f == TENSOR_SEGMENT));
            break;
        default:
            assert_int_equal(r.kind, repeated ? WIRE_INTS : WIRE_INT);
        }
    }
}

static void test_schema(void **state)
{
    (void)state;
    check_message(MSG_MODEL, &inlay_onnx__model_proto__descriptor);
    check_message(MSG_GRAPH, &inlay_onnx__graph_proto__descriptor);
    check_message(MSG_NODE, &inlay_onnx__node_proto__descriptor);
    check_message(MSG_ATTRIBUTE, &inlay_onnx__attribute_proto__descriptor);
    check_message(MSG_TENSOR, &inlay_onnx__tensor_proto__descriptor);
    check_message(MSG_SPARSE, &inlay_onnx__sparse_tensor_proto__descriptor);
    check_message(MSG_FUNCTION, &inlay_onnx__function_proto__descriptor);
    check_message(MSG_VALUE_INFO, &inlay_onnx__value_info_proto__descriptor);
    check_message(MSG_OPSET, &inlay_onnx__operator_set_id_proto__descriptor);
    check_message(MSG_ENTRY, &inlay_onnx__string_string_entry_proto__descriptor);
    check_message(MSG_TYPE, &inlay_onnx__type_proto__descriptor);
    check_message(MSG_TYPE_TENSOR, &inlay_onnx__type_proto__tensor__descriptor);
    check_message(MSG_TYPE_SEQUENCE, &inlay_onnx__type_proto__sequence__descriptor);
    check_message(MSG_TYPE_MAP, &inlay_onnx__type_proto__map__descriptor);
    check_message(MSG_TYPE_OPTIONAL, &inlay_onnx__type_proto__optional__descriptor);
    check_message(MSG_TYPE_SPARSE, &inlay_onnx__type_proto__sparse_tensor__descriptor);
    check_message(MSG_SHAPE, &inlay_onnx__tensor_shape_proto__descriptor);
    check_message(MSG_DIMENSION, &inlay_onnx__tensor_shape_proto__dimension__descriptor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_overlap),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_siblings),
        cmocka_unit_test(test_window),   cmocka_unit_test(test_read_ahead),
        cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
