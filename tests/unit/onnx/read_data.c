/* SPDX-License-Identifier: Apache-2.0
 * Where elements lie: exact limits of the size check, gathered runs of exactly the spill's
 * size, fields that say nothing; and what becomes of a tensor by itself. */
#include "build.h"

static Bytes with_tensor(Bytes t)
{
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node("Neg w > y"));
    put_message(&g, NUMBER(graph_proto, initializer), t);
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    return g;
}

/* Gathered bytes go to the spill file when they are 64 KiB: one fewer, as many, one more. */
static void gathered_around_the_spill(void **state)
{
    (void)state;
    for (int n = 16383; n <= 16385; n++) {
        const int64_t dim = n;
        Bytes t = tensor_head("w", DT_F32, 1, &dim);
        for (int i = 0; i < n; i++)
            put_float(&t, NUMBER(tensor_proto, float_data), (float)i);
        Read r = { 0 };
        const Tensor *w = graph_find(read_good(&r, with_tensor(t)), "w");
        assert_int_equal(r.store.bytes_spilled, n < 16384 ? 0 : n * 4);
        const float *got = recipe_values(&r.store, &r.arena, w->value);
        for (int i = 0; i < n; i++)
            assert_true(got[i] == (float)i);
        read_free(&r);
    }
}

/* An empty raw_data beside a list, before it or behind it, and an empty list beside raw_data. */
static void fields_that_say_nothing(void **state)
{
    (void)state;
    static const int64_t one = 1;
    static const float value = 2.5f;
    for (int way = 0; way < 3; way++) {
        Bytes t = tensor_head("w", DT_F32, 1, &one);
        if (way == 0)
            put_bytes(&t, NUMBER(tensor_proto, raw_data), "", 0);
        if (way == 2)
            put_bytes(&t, NUMBER(tensor_proto, float_data), "", 0);
        if (way == 2)
            put_bytes(&t, NUMBER(tensor_proto, raw_data), &value, 4);
        else
            put_bytes(&t, NUMBER(tensor_proto, float_data), &value, 4);
        if (way == 1)
            put_bytes(&t, NUMBER(tensor_proto, raw_data), "", 0);
        put_text(&t, NUMBER(tensor_proto, doc_string), "words");
        Read r = { 0 };
        const Tensor *w = graph_find(read_good(&r, with_tensor(t)), "w");
        assert_memory_equal(recipe_values(&r.store, &r.arena, w->value), &value,
                            4);
        read_free(&r);
    }
}

/* Varints take one byte to ten. */
static void sizes_of_varints(void **state)
{
    (void)state;
    static const int64_t three = 3;
    static const int64_t none = 0;
    static const char ten[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    for (int length = 2; length <= 4; length++) {
        Bytes t = tensor_head("w", DT_I8, 1, &three);
        put_bytes(&t, NUMBER(tensor_proto, int32_data), "\1\2\3\4",
                  (size_t)length);
        if (length < 3) {
            expect_graph(with_tensor(t), 65,
                         "needs 3 numbers, but its int32_data has 2 bytes");
            continue;
        }
        Read r = { 0 }; /* a number too many shows when it is read */
        read_good(&r, with_tensor(t));
        read_free(&r);
    }
    Bytes data = { 0 };
    for (int i = 0; i < 3; i++)
        put(&data, ten, 10);
    for (int more = 0; more < 2; more++) {
        Bytes t = tensor_head("w", DT_I64, 1, &three);
        for (int i = 0; more && i < 10; i++)
            put(&data, "\1", 1);
        put_bytes(&t, NUMBER(tensor_proto, int64_data), data.at, data.n);
        if (more) {
            expect_graph(with_tensor(t), 65, "which cannot be so many");
            continue;
        }
        Read r = { 0 };
        const Tensor *w = graph_find(read_good(&r, with_tensor(t)), "w");
        const int64_t *got = recipe_values(&r.store, &r.arena, w->value);
        assert_int_equal(got[2], -1);
        read_free(&r);
    }
    free(data.at);
    Bytes t = tensor_head("w", DT_I8, 1, &none);
    put_bytes(&t, NUMBER(tensor_proto, int32_data), "\1", 1);
    expect_graph(with_tensor(t), 65, "needs 0 numbers");
}

static void sizes_of_tensors(void **state)
{
    (void)state;
    static const int64_t bytes[2] = { 1 << 20, 1 << 19 };
    static const int64_t empty[3] = { INT32_MAX, INT32_MAX, 0 };
    expect_graph(with_tensor(tensor_head("w", DT_F32, 2, bytes)), 69,
                 "the tensor has more than 1099511627776 bytes");
    static const int64_t nibbles[2] = { 1 << 21, 1 << 20 };
    expect_graph(with_tensor(tensor_head("w", DT_I4, 2, nibbles)), 69,
                 "the tensor has more than 1099511627776 bytes");
    Bytes t = tensor_head("w", DT_F32, 3, empty);
    Read r = { 0 };
    const Tensor *w = graph_find(read_good(&r, with_tensor(t)), "w");
    assert_int_equal(recipe_count(w->value), 0);
    read_free(&r);
}

static Status read_alone(Read *r, Bytes t)
{
    r->single = true;
    return read_model(r, folder, t);
}

static void strings_are_codes(void **state)
{
    (void)state;
    static const int64_t one = 1;
    Read r = { 0 };
    assert_int_equal(read_alone(&r, tensor_head("s", DT_STRING, 1, &one)), 65);
    assert_non_null(strstr(r.message, "1 elements of string"));
    read_free(&r);
    Bytes t = tensor_head("s", DT_STRING, 1, &one);
    put_text(&t, NUMBER(tensor_proto, string_data), "abc");
    assert_int_equal(read_alone(&r, t), 0);
    read_free(&r);
    assert_int_equal(read_alone(&r, tensor_raw("f", 28, 4, "123", 3)), 69);
    assert_non_null(strstr(r.message, "6-bit floats"));
    read_free(&r);
}

typedef struct Named {
    Read *read;
    const char *name;
} Named;

static void read_named(void *context)
{
    Named *named = context;
    Read *r = named->read;
    r->tensor =
        onnx_read_tensor(&r->arena, &r->store, r->path, NULL, &named->name);
}

/* A tensor file has a name, and may be read without options. */
static void names_of_tensor_files(void **state)
{
    (void)state;
    Read r = { 0 };
    Named named = { .read = &r };
    Bytes t = tensor_raw("input_0", DT_F32, 1, "1234", 4);
    assert_int_equal(read_alone(&r, t), 0);
    Diag diag = { .quiet = true };
    assert_int_equal(protect(&diag, read_named, &named), 0);
    assert_string_equal(named.name, "input_0");
    assert_int_equal(recipe_count(r.tensor), 1);
    read_free(&r);
}

/* An attribute holds one tensor. */
static void two_tensors_in_an_attribute(void **state)
{
    (void)state;
    Bytes a = attr_head("value", ATTR_TENSOR);
    Bytes g = { 0 };
    for (int i = 0; i < 2; i++)
        put_message(&a, NUMBER(attribute_proto, t),
                    tensor_raw("", DT_F32, 1, "1234", 4));
    put_message(&g, NUMBER(graph_proto, node), node_with("Constant > y", a));
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    expect_graph(g, 65, "an attribute with two tensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathered_around_the_spill),
        cmocka_unit_test(fields_that_say_nothing),
        cmocka_unit_test(sizes_of_varints),
        cmocka_unit_test(sizes_of_tensors),
        cmocka_unit_test(strings_are_codes),
        cmocka_unit_test(names_of_tensor_files),
        cmocka_unit_test(two_tensors_in_an_attribute),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
