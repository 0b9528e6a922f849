/* SPDX-License-Identifier: Apache-2.0
 * The scanner: every check of the wire format, its limits, and how much it reads. */
#include "build.h"
#include "onnx/wire.h"

enum { TREE, LEAF, TREES };

/* A schema of our own: trees of trees with leaves. */
static const ProtobufCMessageDescriptor tree_message;
static const ProtobufCMessageDescriptor leaf_message;

#define ONE(number, kind) \
    { \
        .name = "f" #number, .id = number, .type = PROTOBUF_C_TYPE_##kind, \
        .label = PROTOBUF_C_LABEL_OPTIONAL \
    }
#define LIST(number, kind) \
    { \
        .name = "f" #number, .id = number, .type = PROTOBUF_C_TYPE_##kind, \
        .label = PROTOBUF_C_LABEL_REPEATED \
    }
#define CHILD(number, message) \
    { \
        .name = "f" #number, .id = number, .type = PROTOBUF_C_TYPE_MESSAGE, \
        .label = PROTOBUF_C_LABEL_REPEATED, .descriptor = &message \
    }

static const ProtobufCFieldDescriptor tree_fields[] = {
    CHILD(1, tree_message),
    CHILD(2, leaf_message),
    CHILD(3, leaf_message),
};
static const ProtobufCIntRange tree_range[] = { { 1, 0 }, { 0, 3 } };
static const ProtobufCMessageDescriptor tree_message = {
    .n_fields = 3,
    .fields = tree_fields,
    .n_field_ranges = 1,
    .field_ranges = tree_range,
};

static const ProtobufCFieldDescriptor leaf_fields[] = {
    ONE(1, INT64),  LIST(2, INT64),  ONE(3, FLOAT),
    LIST(4, FLOAT), LIST(5, DOUBLE), ONE(6, BYTES),
};
static const ProtobufCIntRange leaf_range[] = { { 1, 0 }, { 0, 6 } };
static const ProtobufCMessageDescriptor leaf_message = {
    .n_fields = 6,
    .fields = leaf_fields,
    .n_field_ranges = 1,
    .field_ranges = leaf_range,
};

static const WireMessage entered[TREES] = {
    [TREE] = { .descriptor = &tree_message },
    [LEAF] = { .descriptor = &leaf_message, .only_as = "f2" },
};
static const WireSchema trees = { entered, TREES, TREES, 1000 };
static const WireSchema nested = { entered, TREES, TREE, 1000 };

typedef struct Scan {
    Arena arena;
    Diag diag;
    const char *path;
    const WireSchema *schema;
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
    wire_open(w, f, s->schema, s->root, "help");
    for (;;) {
        const WireEvent e = wire_next(w);
        s->read = f->bytes_read;
        if (e.type == WIRE_END)
            return;
        s->events++;
        s->sum += e.type == WIRE_NUMBER ? e.value : e.length;
    }
}

static Status scan_mode(Scan *s, const WireSchema *schema, int root,
                        const void *bytes, size_t n, LoadMode mode)
{
    char path[128], *text = NULL;
    size_t length;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    write_file(path, bytes, n);
    *s = (Scan){ .path = path, .schema = schema, .root = root, .mode = mode };
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

static Status scan(Scan *s, const WireSchema *schema, int root,
                   const void *bytes, size_t n)
{
    Scan whole;
    const Status status = scan_mode(s, schema, root, bytes, n, LOAD_STREAM);
    if (n)
        assert_int_equal(scan_mode(&whole, schema, root, bytes, n, LOAD_EAGER),
                         status);
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
    { "a number of ten bytes", 0,
      BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
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
    { "an unknown field of the greatest number", 0,
      BYTES("\xf8\xff\xff\xff\x0f\x01") },
    { "a field number above the table", 0, BYTES("\x80\x04\x01") },
    { "a number of eleven bytes", 65,
      BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { "a number of more than 64 bits", 65,
      BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02") },
    { "a cut number", 65, BYTES("\x08\x80") },
    { "no number", 65, BYTES("\x08") },
    { "a cut tag", 65, BYTES("\x88") },
    { "field 0", 65, BYTES("\x00\x01") },
    { "field 0 of length 0", 65, BYTES("\x02\x00") },
    { "a field number of 30 bits", 65, BYTES("\x80\x80\x80\x80\x10\x01") },
    { "a field number of 61 bits", 65,
      BYTES("\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01") },
    { "a group", 65, BYTES("\x0b\x0c") },
    { "the end of a group", 65, BYTES("\x0c") },
    { "an unknown group", 65, BYTES("\x7b\x7c") },
    { "wire type 6", 65, BYTES("\x0e\x01") },
    { "wire type 7", 65, BYTES("\x0f\x01") },
    { "a length beyond the end", 65, BYTES("\x32\x03hi") },
    { "a length of 2^64 - 1", 65,
      BYTES("\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { "a length of 2^63", 65,
      BYTES("\x32\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01") },
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
        const Status status =
            scan(&s, &trees, LEAF, cases[i].bytes, cases[i].n);
        if (status != cases[i].status)
            print_error("%s\n", cases[i].what);
        assert_int_equal(status, cases[i].status);
    }
}

static void test_values(void **state)
{
    (void)state;
    Scan s;
    assert_int_equal(scan(&s, &trees, LEAF, "\x08\x80\x80\x00\x08\xac\x02", 7),
                     0);
    assert_int_equal(s.events, 2);
    assert_int_equal(s.sum, 300);
    assert_int_equal(scan(&s, &trees, LEAF, "\x1d\x01\x02\x00\x80", 5), 0);
    assert_int_equal(s.sum, 0x80000201u);
    assert_int_equal(scan(&s, &trees, LEAF,
                          "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),
                     0);
    assert_true(s.sum == UINT64_MAX);
    assert_int_equal(scan(&s, &trees, LEAF, "\x78\x01\x32\x02hi\x10\x05", 8),
                     0);
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

static Status scan_depth(const WireSchema *schema, int depth)
{
    Scan s;
    Bytes b = nested_trees(depth);
    const Status status = scan(&s, schema, TREE, b.at, b.n);
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
            assert_int_equal(scan(&s, &trees, TREE, b.at, b.n),
                             i == 1000 ? 71 : 0);
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

/* The same message is entered in one field and stepped over in another. */
static void test_only_as(void **state)
{
    (void)state;
    Scan s;
    assert_int_equal(scan(&s, &trees, TREE, "\x12\x02\x08\x05", 4), 0);
    assert_int_equal(s.events, 3);
    assert_int_equal(scan(&s, &trees, TREE, "\x1a\x02\x08\x05", 4), 0);
    assert_int_equal(s.events, 1);
    assert_int_equal(s.sum, 2);
    assert_int_equal(scan(&s, &trees, TREE, "\x18\x05", 2), 65);
}

/* What the scanner takes for granted: ONNX has no fixed and no zigzag integers. */
static void check_message(const ProtobufCMessageDescriptor *message)
{
    assert_non_null(message);
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = message->fields + i;
        switch (field->type) {
        case PROTOBUF_C_TYPE_FIXED32:
        case PROTOBUF_C_TYPE_SFIXED32:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SINT64:
            print_error("%s.%s\n", message->name, field->name);
            fail();
        default:
            break;
        }
    }
}

static void test_schema(void **state)
{
    (void)state;
    assert_int_equal(onnx_schema.messages, MSG_COUNT);
    for (int i = 0; i < onnx_schema.messages; i++)
        check_message(onnx_schema.message[i].descriptor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_overlap),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_siblings),
        cmocka_unit_test(test_window),   cmocka_unit_test(test_read_ahead),
        cmocka_unit_test(test_schema),   cmocka_unit_test(test_only_as),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
