/* SPDX-License-Identifier: Apache-2.0
 * What protobuf-c unpacks: types, operator sets, entries; their limits, and what may be
 * left out. */
#include "build.h"

/* y = Neg(x), x declared by this type. */
static Bytes graph_of_type(Bytes type)
{
    Bytes g = { 0 };
    Bytes v = { 0 };
    put_text(&v, NUMBER(value_info_proto, name), "x");
    put_message(&v, NUMBER(value_info_proto, type), type);
    put_message(&g, NUMBER(graph_proto, node), node("Neg x > y"));
    put_message(&g, NUMBER(graph_proto, input), v);
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    return g;
}

static Bytes tensor_type(Bytes shape)
{
    Bytes tensor = { 0 };
    Bytes type = { 0 };
    put_int(&tensor, NUMBER(type_proto__tensor, elem_type), DT_I8);
    put_message(&tensor, NUMBER(type_proto__tensor, shape), shape);
    put_message(&type, NUMBER(type_proto, tensor_type), tensor);
    return type;
}

static Bytes dimensions(int n, int64_t size)
{
    Bytes shape = { 0 };
    for (int i = 0; i < n; i++) {
        Bytes d = { 0 };
        put_int(&d, NUMBER(tensor_shape_proto__dimension, dim_value), size);
        put_message(&shape, NUMBER(tensor_shape_proto, dim), d);
    }
    return shape;
}

static void expect_rank(Bytes type, int rank, DType dtype)
{
    Read r = { 0 };
    const Tensor *x = read_good(&r, graph_of_type(type))->input.at[0];
    assert_int_equal(x->shape.rank, rank);
    assert_int_equal(x->dtype, dtype);
    read_free(&r);
}

/* More dimensions than we handle are as if not known; far more are refused. */
static void ranks(void **state)
{
    (void)state;
    expect_rank(tensor_type(dimensions(0, 0)), 0, DT_I8);
    expect_rank(tensor_type(dimensions(8, 2)), 8, DT_I8);
    expect_rank(tensor_type(dimensions(9, 2)), -1, DT_I8);
    expect_rank(tensor_type(dimensions(64, 2)), -1, DT_I8);
    expect_graph(graph_of_type(tensor_type(dimensions(65, 2))), 69,
                 "a type of more than 64 dimensions");
}

/* Of two types each may have all dimensions. */
static void each_type_counts_anew(void **state)
{
    (void)state;
    Bytes g = graph_of_type(tensor_type(dimensions(64, 2)));
    Bytes v = { 0 };
    put_text(&v, NUMBER(value_info_proto, name), "y");
    put_message(&v, NUMBER(value_info_proto, type),
                tensor_type(dimensions(64, 2)));
    put_message(&g, NUMBER(graph_proto, value_info), v);
    Read r = { 0 };
    read_good(&r, g);
    read_free(&r);
}

static void shapes_and_symbols(void **state)
{
    (void)state;
    static const char *const names[] = { "batch", "" };
    Bytes shape = { 0 };
    for (int i = 0; i < 2; i++) {
        Bytes d = { 0 };
        put_text(&d, NUMBER(tensor_shape_proto__dimension, dim_param),
                 names[i]);
        put_message(&shape, NUMBER(tensor_shape_proto, dim), d);
    }
    static const int64_t sizes[] = { 0, -1, 5 };
    for (int i = 0; i < 3; i++) {
        Bytes d = { 0 };
        put_int(&d, NUMBER(tensor_shape_proto__dimension, dim_value), sizes[i]);
        put_message(&shape, NUMBER(tensor_shape_proto, dim), d);
    }
    put_message(&shape, NUMBER(tensor_shape_proto, dim), (Bytes){ 0 });
    Read r = { 0 };
    const Tensor *x =
        read_good(&r, graph_of_type(tensor_type(shape)))->input.at[0];
    static const int64_t want[] = { -1, -1, 0, -1, 5, -1 };
    assert_int_equal(x->shape.rank, 6);
    assert_memory_equal(x->shape.dim, want, sizeof want);
    assert_string_equal(x->symbol[0], "batch");
    assert_null(x->symbol[1]);
    assert_null(x->symbol[2]);
    assert_string_equal(x->symbol[3], DIM_NEGATIVE);
    assert_null(x->symbol[4]);
    assert_null(x->symbol[5]);
    read_free(&r);
}

static void types_of_no_tensor(void **state)
{
    (void)state;
    Bytes type = { 0 };
    Bytes sequence = { 0 };
    put_text(&type, NUMBER(type_proto, denotation), "IMAGE");
    expect_rank(type, -1, DT_NONE);
    put_message(&sequence, NUMBER(type_proto__sequence, elem_type),
                tensor_type(dimensions(1, 2)));
    type = (Bytes){ 0 };
    put_message(&type, NUMBER(type_proto, sequence_type), sequence);
    expect_rank(type, -1, DT_NONE);
    Bytes tensor = { 0 };
    type = (Bytes){ 0 };
    put_int(&tensor, NUMBER(type_proto__tensor, elem_type), DT_F32);
    put_message(&type, NUMBER(type_proto, tensor_type), tensor);
    expect_rank(type, -1, DT_F32);
}

/* Beyond 8 KiB, or where protobuf-c would take too much memory for it. */
static void sizes_of_leaves(void **state)
{
    (void)state;
    static char text[8192];
    memset(text, 'a', sizeof text);
    for (int more = 0; more < 2; more++) {
        Bytes type = { 0 };
        put_bytes(&type, NUMBER(type_proto, denotation), text,
                  sizeof text - 3 + (size_t)more);
        if (more)
            expect_graph(graph_of_type(type), 69,
                         "of 8193 bytes; at most 8192 are supported");
        else
            expect_rank(type, -1, DT_NONE);
    }
    Bytes type = { 0 };
    for (int i = 0; i < 2000; i++)
        put_int(&type, 15, 1);
    expect_graph(graph_of_type(type), 65, "a TypeProto that cannot be read");
    type = (Bytes){ 0 };
    for (int i = 0; i < 100; i++)
        put_int(&type, 15, 1);
    expect_rank(type, -1, DT_NONE);
}

static void texts_without_nul(void **state)
{
    (void)state;
    Bytes type = { 0 };
    put_bytes(&type, NUMBER(type_proto, denotation), "a\0b", 3);
    expect_graph(graph_of_type(type), 65, "a name contains a NUL byte");
    Bytes d = { 0 };
    Bytes shape = { 0 };
    put_bytes(&d, NUMBER(tensor_shape_proto__dimension, denotation), "\0", 1);
    put_message(&shape, NUMBER(tensor_shape_proto, dim), d);
    expect_graph(graph_of_type(tensor_type(shape)), 65, "NUL");
}

/* --- operator sets --- */

static Bytes opset(const char *domain, int64_t version)
{
    Bytes o = { 0 };
    if (domain)
        put_text(&o, NUMBER(operator_set_id_proto, domain), domain);
    put_int(&o, NUMBER(operator_set_id_proto, version), version);
    return o;
}

static void put_opset(Bytes *m, const char *domain, int64_t version)
{
    put_message(m, NUMBER(model_proto, opset_import), opset(domain, version));
}

static void operator_sets(void **state)
{
    (void)state;
    Bytes m = model_of(plain_graph());
    put_opset(&m, "a", 1);
    put_opset(&m, "b", 2);
    put_opset(&m, "a", 1);
    put_opset(&m, "b", 3);
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, m), 0);
    assert_int_equal(r.diag.warnings, 1);
    assert_non_null(strstr(r.message, "as version 2 and as version 3"));
    assert_int_equal(graph_opset(r.graph, "a"), 1);
    assert_int_equal(graph_opset(r.graph, "b"), 3);
    assert_int_equal(r.graph->opset.n, 3);
    read_free(&r);
    m = model_of(plain_graph());
    put_opset(&m, "a", 0);
    expect(m, 65, "version 0 of an operator set");
    m = model_of(plain_graph());
    put_message(&m, NUMBER(model_proto, opset_import), (Bytes){ 0 });
    expect(m, 65, "version 0 of an operator set");
}

static void many_operator_sets(void **state)
{
    (void)state;
    for (int n = 255; n <= 256; n++) {
        Bytes m = model_of(plain_graph());
        for (int i = 0; i < n; i++) {
            char name[16];
            snprintf(name, sizeof name, "d%d", i);
            put_opset(&m, name, 1);
        }
        if (n == 256) {
            expect(m, 65, "more than 256 operator sets");
            continue;
        }
        Read r = { 0 };
        assert_int_equal(read_model(&r, folder, m), 0);
        assert_int_equal(r.graph->opset.n, 256);
        read_free(&r);
    }
}

/* A function takes over what it does not import itself, however much that is. */
static void functions_inherit(void **state)
{
    (void)state;
    Bytes m = model_of(plain_graph());
    Bytes f = { 0 };
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        put_opset(&m, name, 1 + i);
    }
    put_text(&f, NUMBER(function_proto, name), "f");
    put_text(&f, NUMBER(function_proto, domain), "own");
    put_message(&f, NUMBER(function_proto, opset_import), opset("d3", 99));
    put_message(&m, NUMBER(model_proto, functions), f);
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, m), 0);
    const Graph *body = r.graph->function.at[0]->body;
    assert_int_equal(body->opset.n, 21);
    assert_int_equal(graph_opset(body, "d3"), 99);
    assert_int_equal(graph_opset(body, "d19"), 20);
    assert_int_equal(graph_opset(body, ""), 17);
    read_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(each_type_counts_anew),
        cmocka_unit_test(shapes_and_symbols),
        cmocka_unit_test(types_of_no_tensor),
        cmocka_unit_test(sizes_of_leaves),
        cmocka_unit_test(texts_without_nul),
        cmocka_unit_test(operator_sets),
        cmocka_unit_test(many_operator_sets),
        cmocka_unit_test(functions_inherit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
