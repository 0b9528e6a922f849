/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors: everything that can be wrong with their parts. */
#include "build.h"

/* Parts of a sparse tensor as a test wants them. */
static Bytes parts(Bytes values, Bytes indices, int rank, const int64_t *dims)
{
    Bytes s = { 0 };
    put_message(&s, NUMBER(sparse_tensor_proto, values), values);
    put_message(&s, NUMBER(sparse_tensor_proto, indices), indices);
    for (int i = 0; i < rank; i++)
        put_int(&s, NUMBER(sparse_tensor_proto, dims), dims[i]);
    return s;
}

static Bytes numbers(const char *name, int type, int rank, const int64_t *dims)
{
    static const uint8_t zero[64];
    Bytes t = tensor_head(name, type, rank, dims);
    size_t n = (size_t)dtype_bits((DType)type) / 8;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    if (!n)
        n = 1; /* types of less than a byte */
    put_bytes(&t, NUMBER(tensor_proto, raw_data), zero, n);
    return t;
}

static const int64_t one = 1;

static Bytes value(void)
{
    return numbers("sp", DT_F32, 1, &one);
}

static Bytes index_zero(void)
{
    return numbers(NULL, DT_I64, 1, &one);
}

static void expect_sparse(Bytes sparse, Status status, const char *words)
{
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, sparse_initializer), sparse);
    put_message(&g, NUMBER(graph_proto, node), node("Neg sp > y"));
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    if (status) {
        expect_graph(g, status, words);
        return;
    }
    Read r = { 0 };
    Graph *graph = read_good(&r, g);
    const Tensor *tensor = graph_find(graph, "sp");
    assert_int_equal(tensor->dtype, DT_F32);
    read_free(&r);
}

static void parts_that_do_not_fit(void **state)
{
    (void)state;
    static const int64_t two[2] = { 1, 1 };
    static const int64_t wide[3] = { 1, 3, 1 };
    static const int64_t four[2] = { 4, 4 };
    expect_sparse(parts(value(), index_zero(), 2, four), 0, NULL);
    expect_sparse(parts(value(), numbers(NULL, DT_I32, 1, &one), 2, four), 65,
                  "its indices are not int64");
    expect_sparse(parts(numbers("sp", DT_F32, 2, two), index_zero(), 2, four),
                  65, "its values are not a list");
    expect_sparse(parts(value(), numbers(NULL, DT_I64, 0, NULL), 2, four), 65,
                  "not one index for each value");
    expect_sparse(parts(value(), numbers(NULL, DT_I64, 3, wide), 2, four), 65,
                  "not one index for each value");
    expect_sparse(parts(value(), numbers(NULL, DT_I64, 1, wide + 1), 2, four),
                  65, "not one index for each value");
    expect_sparse(parts(value(), numbers(NULL, DT_I64, 2, wide), 2, four), 65,
                  "its indices do not have its rank");
    expect_sparse(parts(numbers("sp", DT_U4, 1, &one), index_zero(), 2, four),
                  69, "sparse tensors of uint4 are not supported");
    expect_sparse(parts(numbers(NULL, DT_F32, 1, &one), index_zero(), 2, four),
                  65, "its values have no name");
}

/* A byte is enough. */
static void elements_of_a_byte(void **state)
{
    (void)state;
    static const int64_t four[2] = { 4, 4 };
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, sparse_initializer),
                parts(numbers("sp", DT_U8, 1, &one), index_zero(), 2, four));
    put_message(&g, NUMBER(graph_proto, node), node("Neg sp > y"));
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    Read r = { 0 };
    assert_int_equal(graph_find(read_good(&r, g), "sp")->dtype, DT_U8);
    read_free(&r);
}

static void sizes_out_of_range(void **state)
{
    (void)state;
    static const int64_t none[2] = { 4, 0 };
    static const int64_t minus[2] = { -1, 4 };
    static const int64_t most[2] = { INT64_C(1) << 30, 1 };
    static const int64_t more[2] = { (INT64_C(1) << 30) + 1, 1 };
    static const int64_t beyond[2] = { INT64_C(1) << 29, INT64_C(1) << 62 };
    expect_sparse(parts(value(), index_zero(), 2, none), 65,
                  "a dimension is not positive");
    expect_sparse(parts(value(), index_zero(), 2, minus), 65,
                  "a dimension is not positive");
    expect_sparse(parts(value(), index_zero(), 2, more), 69,
                  "of more than 1073741824 elements");
    expect_sparse(parts(value(), index_zero(), 2, beyond), 69,
                  "of more than 1073741824 elements");
    expect_sparse(parts(value(), index_zero(), 2, most), 0, NULL);
}

static void parts_missing_or_twice(void **state)
{
    (void)state;
    Bytes s = { 0 };
    expect_sparse(s, 65, "its values or its indices are missing");
    put_message(&s, NUMBER(sparse_tensor_proto, values), value());
    expect_sparse(s, 65, "its values or its indices are missing");
    s = (Bytes){ 0 };
    put_message(&s, NUMBER(sparse_tensor_proto, indices), index_zero());
    expect_sparse(s, 65, "its values or its indices are missing");
    s = parts(value(), index_zero(), 1, &one);
    put_message(&s, NUMBER(sparse_tensor_proto, values), value());
    expect_sparse(s, 65, "two parts of the same kind");
    s = parts(value(), index_zero(), 1, &one);
    put_message(&s, NUMBER(sparse_tensor_proto, indices), index_zero());
    expect_sparse(s, 65, "two parts of the same kind");
    Bytes text = tensor_head("sp", DT_STRING, 1, &one);
    put_text(&text, NUMBER(tensor_proto, string_data), "a");
    expect_sparse(parts(text, index_zero(), 1, &one), 69,
                  "sparse tensors of strings are not supported");
}

static void an_attribute_has_one(void **state)
{
    (void)state;
    for (int times = 1; times <= 2; times++) {
        Bytes a = attr_head("sparse_value", ATTR_SPARSE_TENSOR);
        for (int i = 0; i < times; i++)
            put_message(&a, NUMBER(attribute_proto, sparse_tensor),
                        parts(value(), index_zero(), 1, &one));
        Bytes g = { 0 };
        put_message(&g, NUMBER(graph_proto, node),
                    node_with("Constant > y", a));
        put_message(&g, NUMBER(graph_proto, output), value_float("y"));
        if (times == 2) {
            expect_graph(g, 65, "the attribute has two");
            continue;
        }
        Read r = { 0 };
        const Attr *attr = read_good(&r, g)->node.at[0]->attr;
        assert_int_equal(attr->kind, ATTR_SPARSE_TENSOR);
        assert_int_equal(recipe_count(attr->tensor), 1);
        read_free(&r);
    }
}

/* A list of them is counted, and its kind is known without its type. */
static void lists_are_counted(void **state)
{
    (void)state;
    Bytes a = { 0 };
    put_text(&a, NUMBER(attribute_proto, name), "list");
    for (int i = 0; i < 3; i++)
        put_message(&a, NUMBER(attribute_proto, sparse_tensors),
                    parts(value(), index_zero(), 1, &one));
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node_with("Op > y", a));
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    Read r = { 0 };
    const Attr *attr = read_good(&r, g)->node.at[0]->attr;
    assert_int_equal(attr->kind, ATTR_SPARSE_TENSORS);
    assert_int_equal(attr->n, 3);
    read_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_that_do_not_fit),
        cmocka_unit_test(elements_of_a_byte),
        cmocka_unit_test(sizes_out_of_range),
        cmocka_unit_test(parts_missing_or_twice),
        cmocka_unit_test(an_attribute_has_one),
        cmocka_unit_test(lists_are_counted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
