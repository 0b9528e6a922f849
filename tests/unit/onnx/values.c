/* SPDX-License-Identifier: Apache-2.0
 * Values of tensors: every element type in every encoding, sparse tensors made
 * dense, and what is wrong with their sizes. */
#include "build.h"

/* --- values in every encoding --- */

typedef enum How { PACKED, SINGLE, CHUNKS, RAW, MANY, HOWS } How;

static int field_of(int type)
{
    switch (type) {
    case DT_F32:
    case DT_C64:
        return NUMBER(tensor_proto, float_data);
    case DT_F64:
    case DT_C128:
        return NUMBER(tensor_proto, double_data);
    case DT_I64:
        return NUMBER(tensor_proto, int64_data);
    case DT_U32:
    case DT_U64:
        return NUMBER(tensor_proto, uint64_data);
    default:
        return NUMBER(tensor_proto, int32_data);
    }
}

/* Number i of the typed field, from the elements' little-endian bytes. */
static uint64_t number_at(int type, const uint8_t *p, size_t i, size_t width)
{
    uint64_t x = 0;
    memcpy(&x, p + i * width, width);
    if (type == DT_I8)
        return (uint64_t)(int64_t)(int8_t)x;
    if (type == DT_I16)
        return (uint64_t)(int64_t)(int16_t)x;
    if (type == DT_I32)
        return (uint64_t)(int64_t)(int32_t)x;
    return x;
}

static void put_number(Bytes *b, int field, uint64_t x)
{
    if (field == NUMBER(tensor_proto, float_data))
        put(b, &x, 4);
    else if (field == NUMBER(tensor_proto, double_data))
        put(b, &x, 8);
    else
        put_varint(b, x);
}

static Bytes encode(int type, How how, int64_t count, const uint8_t *bytes,
                    size_t n)
{
    const int field = field_of(type), bits = dtype_bits((DType)type);
    const size_t width = bits < 8                                    ? 1
                         : field == NUMBER(tensor_proto, float_data) ? 4
                         : field == NUMBER(tensor_proto, double_data)
                             ? 8
                             : (size_t)bits / 8;
    const size_t numbers = n / width, chunk = how == PACKED   ? numbers + 1
                                              : how == CHUNKS ? 3
                                                              : 1;
    Bytes t = { 0 }, part = { 0 };
    if (how == RAW)
        put_bytes(&t, NUMBER(tensor_proto, raw_data), bytes, n);
    for (size_t i = 0; how != RAW && i < numbers; i++) {
        const uint64_t x = number_at(type, bytes, i, width);
        if (how == SINGLE) {
            put_tag(&t, field,
                    field == NUMBER(tensor_proto, float_data)    ? 5
                    : field == NUMBER(tensor_proto, double_data) ? 1
                                                                 : 0);
            put_number(&t, field, x);
            continue;
        }
        put_number(&part, field, x);
        if ((i + 1) % chunk && i + 1 < numbers)
            continue;
        put_bytes(&t, field, part.at, part.n);
        part.n = 0;
    }
    free(part.at);
    put_int(&t, NUMBER(tensor_proto, dims), count); /* after the data */
    put_int(&t, NUMBER(tensor_proto, data_type), type);
    return t;
}

static void check_encoding(int type, How how, int64_t count)
{
    const size_t n = (size_t)dtype_bytes((DType)type, count);
    uint8_t *bytes = calloc(n + 1, 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 37 + 11 + i / 256);
    if (type == DT_BOOL)
        for (size_t i = 0; i < n; i++)
            bytes[i] &= 1;
    const int tail = (int)(count * dtype_bits((DType)type) % 8);
    if (tail)
        bytes[n - 1] &= (uint8_t)((1 << tail) - 1);
    Read r = { .single = true };
    read_model(&r, folder, encode(type, how, count, bytes, n));
    if (r.status)
        print_error("type %d how %d: %s\n", type, how, r.message);
    assert_int_equal(r.status, 0);
    assert_int_equal(recipe_dtype(r.tensor), type);
    assert_int_equal(recipe_count(r.tensor), count);
    const void *values = recipe_values(&r.store, &r.arena, r.tensor);
    if (memcmp(values, bytes, n))
        print_error("type %d how %d\n", type, how);
    assert_memory_equal(values, bytes, n);
    read_free(&r);
    free(bytes);
}

static void test_encodings(void **state)
{
    (void)state;
    for (int type = 1; type < DT_COUNT; type++) {
        if (type == DT_STRING || dtype_of_code(type) == DT_NONE)
            continue;
        for (How how = 0; how < MANY; how++) {
            check_encoding(type, how, 13);
            check_encoding(type, how, 1);
        }
        check_encoding(type, CHUNKS,
                       192); /* 64 chunks of one number per byte, and beyond */
        check_encoding(type, MANY, 300); /* a chunk for each number */
    }
}

/* So many single numbers that they are spilled. */
static void test_spilled(void **state)
{
    (void)state;
    check_encoding(DT_F32, SINGLE, 50000);
    check_encoding(DT_F64, MANY, 20000);
    check_encoding(DT_I64, SINGLE, 40000);
    check_encoding(DT_U8, MANY, 90000);
    check_encoding(DT_I4, SINGLE, 200001);
    check_encoding(DT_F16, SINGLE, 70000);
}

/* --- sparse tensors --- */

static Bytes graph_with_sparse(Bytes s)
{
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node("Add x sp > y"));
    put_message(&g, NUMBER(graph_proto, sparse_initializer), s);
    put_ends(&g, "x", "y");
    return g;
}

static void test_sparse(void **state)
{
    (void)state;
    static const int64_t dims[2] = { 3, 4 }, flat[3] = { 0, 5, 11 },
                         rows[6] = { 0, 0, 1, 1, 2, 3 };
    for (int rank = 1; rank <= 2; rank++) {
        Read r = { 0 };
        read_good(&r, graph_with_sparse(
                          sparse(3, rank, rank == 1 ? flat : rows, dims)));
        const float *v =
            recipe_values(&r.store, &r.arena, graph_find(r.graph, "sp")->value);
        for (int i = 0; i < 12; i++)
            assert_true(v[i] == (float)(i == 0    ? 1
                                        : i == 5  ? 2
                                        : i == 11 ? 3
                                                  : 0));
        read_free(&r);
    }
    static const int64_t down[3] = { 5, 0, 11 }, twice[3] = { 0, 0, 1 },
                         beyond[3] = { 0, 5, 12 }, below[3] = { -1, 0, 1 },
                         wide[6] = { 0, 0, 0, 4, 1, 0 };
    static const int64_t none[2] = { 3, 0 },
                         huge[2] = { INT64_C(1) << 31, INT64_C(1) << 31 };
    expect_graph(graph_with_sparse(sparse(3, 1, down, dims)), 65, "ascending");
    expect_graph(graph_with_sparse(sparse(3, 1, twice, dims)), 65, "ascending");
    expect_graph(graph_with_sparse(sparse(3, 1, beyond, dims)), 65,
                 "out of range");
    expect_graph(graph_with_sparse(sparse(3, 1, below, dims)), 65,
                 "out of range");
    expect_graph(graph_with_sparse(sparse(3, 2, wide, dims)), 65,
                 "out of range");
    expect_graph(graph_with_sparse(sparse(3, 1, flat, none)), 65,
                 "not positive");
    expect_graph(graph_with_sparse(sparse(3, 1, flat, huge)), 69, "more than");
    expect_graph(graph_with_sparse((Bytes){ 0 }), 65, "missing");
}

/* Dense form in the spill file, indices in several pieces. */
static void test_sparse_spilled(void **state)
{
    (void)state;
    enum { N = 3000 };
    static const int64_t dims[2] = { 1000, 1000 };
    int64_t *index = calloc(N, sizeof *index);
    for (int i = 0; i < N; i++)
        index[i] = i * 333 + 7;
    Bytes g = { 0 }, a = attr_head("sparse_value", ATTR_SPARSE_TENSOR);
    put_message(&a, NUMBER(attribute_proto, sparse_tensor),
                sparse(N, 1, index, dims));
    put_message(&g, NUMBER(graph_proto, node), node_with("Constant > y", a));
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    Read r = { 0 };
    read_good(&r, g);
    const Recipe *dense =
        node_attr(r.graph->node.at[0], "sparse_value")->tensor;
    assert_int_equal(recipe_count(dense), 1000000);
    const float *v = recipe_values(&r.store, &r.arena, dense);
    for (int i = 0; i < 1000000; i++)
        assert_true(v[i] ==
                    (float)(i % 333 == 7 && i / 333 < N ? i / 333 + 1 : 0));
    assert_true(r.store.bytes_spilled >= 4000000);
    read_free(&r);
    free(index);
}

/* --- sizes --- */

static Bytes graph_with_tensor(Bytes t)
{
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node("Add x w > y"));
    put_message(&g, NUMBER(graph_proto, initializer), t);
    put_ends(&g, "x", "y");
    return g;
}

static Bytes tensor_dims(int rank, const int64_t *dims)
{
    return tensor_head("w", DT_F32, rank, dims);
}

static void test_bad_tensors(void **state)
{
    (void)state;
    static const int64_t two = 2, minus = -1, large = INT64_C(1) << 31,
                         big[3] = { 65536, 65536, 65536 },
                         many[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const int64_t most[4] = { INT32_MAX, INT32_MAX, INT32_MAX,
                                     INT32_MAX };
    Bytes t;
    expect_graph(graph_with_tensor(tensor_raw("w", DT_F32, 2, "1234567", 7)),
                 65,
                 "\"w\": error: the tensor needs 8 bytes (2 elements of "
                 "float32), but its raw_data has 7");
    expect_graph(graph_with_tensor(tensor_raw("w", DT_I4, 3, "123", 3)), 65,
                 "needs 2 bytes");
    expect_graph(graph_with_tensor(tensor_raw("w", DT_F32, 2, "", 0)), 65,
                 "raw_data has 0");
    expect_graph(graph_with_tensor(tensor_head("w", DT_F32, 1, &two)), 65,
                 "its data has 0");
    expect_graph(graph_with_tensor(tensor_raw(NULL, DT_F32, 1, "1234", 4)), 65,
                 "without a name");
    expect_graph(graph_with_tensor(tensor_raw("w", 0, 1, "1234", 4)), 65,
                 "element type 0");
    expect_graph(graph_with_tensor(tensor_raw("w", 99, 1, "1234", 4)), 65,
                 "element type 99");
    expect_graph(graph_with_tensor(tensor_raw("w", -1, 1, "1234", 4)), 65,
                 "element type -1");
    expect_graph(graph_with_tensor(tensor_raw("w", 27, 4, "123", 3)), 69,
                 "6-bit");
    expect_graph(graph_with_tensor(tensor_dims(1, &minus)), 65,
                 "dimension 0 is -1");
    expect_graph(graph_with_tensor(tensor_dims(1, &large)), 69, "2147483648");
    expect_graph(graph_with_tensor(tensor_dims(3, big)), 69, "more than");
    expect_graph(graph_with_tensor(tensor_dims(4, most)), 69, "more than");
    expect_graph(graph_with_tensor(tensor_dims(9, many)), 69,
                 "more than 8 dimensions");
    t = tensor_raw("w", DT_F32, 1, "1234", 4);
    put_bytes(&t, NUMBER(tensor_proto, raw_data), "1234", 4);
    expect_graph(graph_with_tensor(t), 65, "given twice");
    t = tensor_raw("w", DT_F32, 1, "1234", 4);
    put_float(&t, NUMBER(tensor_proto, float_data), 1);
    expect_graph(graph_with_tensor(t), 65, "given twice");
    t = tensor_head("w", DT_F32, 1, &two);
    put_float(&t, NUMBER(tensor_proto, float_data), 1);
    put_int(&t, NUMBER(tensor_proto, int32_data), 1);
    expect_graph(graph_with_tensor(t), 65, "given twice");
    t = tensor_head("w", DT_F32, 1, &two);
    put_bytes(&t, NUMBER(tensor_proto, int32_data), "\x01\x02", 2);
    expect_graph(graph_with_tensor(t), 65, "cannot be given as int32_data");
    t = tensor_head("w", DT_I8, 1, &two);
    put_bytes(&t, NUMBER(tensor_proto, int32_data), "\x01", 1);
    expect_graph(graph_with_tensor(t), 65, "needs 2 numbers");
    t = tensor_head("w", DT_I8, 1, &two);
    put_int(&t, NUMBER(tensor_proto, int32_data), 1);
    expect_graph(graph_with_tensor(t), 65, "needs 2 numbers");
    t = tensor_head("w", DT_I8, 1, &two);
    put_int(&t, NUMBER(tensor_proto, int32_data), 1);
    put_bytes(&t, NUMBER(tensor_proto, int32_data), "\x02\x03", 2);
    expect_graph(graph_with_tensor(t), 65, "more");
    t = tensor_head("w", DT_I8, 1, &two);
    put_int(&t, NUMBER(tensor_proto, int32_data), 1);
    put_bytes(&t, NUMBER(tensor_proto, int32_data), "\x80", 1);
    expect_graph(graph_with_tensor(t), 65, "fewer");
    t = tensor_head("w", DT_I8, 1, &two);
    put_int(&t, NUMBER(tensor_proto, int32_data), 1);
    put_bytes(&t, NUMBER(tensor_proto, int32_data),
              "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
    expect_graph(graph_with_tensor(t), 65, "one of more than 64 bits");
    t = tensor_head("w", DT_F32, 1, &two);
    put_bytes(&t, NUMBER(tensor_proto, segment), "", 0);
    expect_graph(graph_with_tensor(t), 69, "segments");
    t = tensor_head("w", DT_STRING, 1, &two);
    put_bytes(&t, NUMBER(tensor_proto, raw_data), "ab", 2);
    expect_graph(graph_with_tensor(t), 65, "strings cannot");
}

static void test_good_tensors(void **state)
{
    (void)state;
    static const int64_t zero = 0, two = 2;
    Read r = { 0 };
    read_good(&r, graph_with_tensor(tensor_head("w", DT_F32, 1, &zero)));
    assert_int_equal(recipe_count(graph_find(r.graph, "w")->value), 0);
    read_free(&r);
    Bytes t = tensor_head("w", DT_STRING, 1, &two);
    put_text(&t, NUMBER(tensor_proto, string_data), "one");
    put_text(&t, NUMBER(tensor_proto, string_data), "");
    read_good(&r, graph_with_tensor(t));
    assert_int_equal(graph_find(r.graph, "w")->dtype, DT_STRING);
    static const int64_t codes[] = { 0, 1 };
    const int64_t *value =
        recipe_values(&r.store, &r.arena, graph_find(r.graph, "w")->value);
    assert_memory_equal(value, codes, sizeof codes);
    read_free(&r);
    t = tensor_raw("w", DT_F32, 1, "",
                   0); /* an empty raw_data beside the real data */
    put_float(&t, NUMBER(tensor_proto, float_data), 4);
    read_good(&r, graph_with_tensor(t));
    read_free(&r);
}

/* --- lists of attributes that do not stay in memory --- */

enum { LONG_LIST = 140000 };

static Bytes graph_with_attribute(Bytes a)
{
    Bytes g = plain_graph();
    put_message(&g, NUMBER(graph_proto, node), node_with("Constant > c", a));
    return g;
}

/* Some packed, some one by one. */
static Bytes long_ints(void)
{
    Bytes a = attr_head("value_ints", ATTR_INTS), part = { 0 };
    int64_t i = 0;
    for (; i < LONG_LIST / 2; i++)
        put_varint(&part, (uint64_t)(i * i - 7));
    put_bytes(&a, NUMBER(attribute_proto, ints), part.at, part.n);
    free(part.at);
    for (; i < LONG_LIST; i++)
        put_int(&a, NUMBER(attribute_proto, ints), i * i - 7);
    return a;
}

static Bytes long_floats(void)
{
    Bytes a = attr_head("value_floats", ATTR_FLOATS);
    for (int i = 0; i < LONG_LIST; i++)
        put_float(&a, NUMBER(attribute_proto, floats), (float)i / 2);
    return a;
}

static const Node *node_of(const Read *r, const char *op)
{
    for (size_t i = 0; i < r->graph->node.n; i++)
        if (!strcmp(r->graph->node.at[i]->op_type, op))
            return r->graph->node.at[i];
    fail();
    return NULL;
}

static void test_long_lists(void **state)
{
    (void)state;
    Read r = { 0 };
    int64_t count;
    read_good(&r, graph_with_attribute(long_ints()));
    const Attr *a = node_attr(node_of(&r, "Constant"), "value_ints");
    assert_true(a->list && !a->ints && recipe_count(a->list) == LONG_LIST);
    const Tensor constant = { .dtype = DT_I64, .value = a->list };
    assert_null(
        tensor_ints(r.graph, &constant, &count)); /* too many to look at */
    assert_null(tensor_doubles(r.graph, &constant, &count));
    assert_int_equal(count, 0);
    const int64_t *ints =
        node_ints(node_of(&r, "Constant"), "value_ints", &count);
    assert_int_equal(count, LONG_LIST);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(ints[i], i * i - 7);
    read_free(&r);
    read_good(&r, graph_with_attribute(long_floats()));
    const float *floats =
        node_floats(node_of(&r, "Constant"), "value_floats", &count);
    assert_int_equal(count, LONG_LIST);
    for (int64_t i = 0; i < count; i++)
        assert_true(floats[i] == (float)i / 2);
    read_free(&r);
    Bytes both = long_floats();
    for (int i = 0; i < LONG_LIST; i++)
        put_int(&both, NUMBER(attribute_proto, ints), i);
    expect_graph(graph_with_attribute(both), 65, "several values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_spilled),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_sparse_spilled),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_good_tensors),
        cmocka_unit_test(test_long_lists),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
