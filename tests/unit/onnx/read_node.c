/* SPDX-License-Identifier: Apache-2.0
 * Nodes, functions and graphs: names given twice, domains, declared types out of range. */
#include "build.h"

/* --- nodes --- */

static Bytes constant(const char *domain, float value)
{
    static const int64_t one = 1;
    Bytes a = attr_head("value", ATTR_TENSOR);
    put_message(&a, NUMBER(attribute_proto, t),
                tensor_raw("", DT_F32, one, &value, sizeof value));
    Bytes n = node_with("Constant > y", a);
    if (domain)
        put_text(&n, NUMBER(node_proto, domain), domain);
    return n;
}

static Bytes graph_of(int n, const Bytes *nodes)
{
    Bytes g = { 0 };
    for (int i = 0; i < n; i++)
        put_message(&g, NUMBER(graph_proto, node), nodes[i]);
    put_message(&g, NUMBER(graph_proto, output), value_float("y"));
    return g;
}

/* The last definition of a Constant counts, and one warning says so. */
static void constants_again(void **state)
{
    (void)state;
    const Bytes three[] = { constant(NULL, 1), constant("ai.onnx", 2),
                            constant("", 3) };
    Read r = { 0 };
    const Graph *g = read_good(&r, graph_of(3, three));
    assert_int_equal(g->node.n, 1);
    assert_int_equal(r.diag.warnings, 1);
    const float *value =
        recipe_values(&r.store, &r.arena, g->node.at[0]->attr[0].tensor);
    assert_true(*value == 3);
    read_free(&r);
    const Bytes other[] = { constant(NULL, 1), constant("own", 2) };
    expect_graph(graph_of(2, other), 65, "is already made by node 0");
    const Bytes before[] = { constant("own", 1), constant(NULL, 2) };
    expect_graph(graph_of(2, before), 65, "is already made by node 0");
    const Bytes neg[] = { constant(NULL, 1), node("Neg x > y") };
    expect_graph(graph_of(2, neg), 65, "is already made by node 0");
}

static void optional_fields(void **state)
{
    (void)state;
    Bytes n = node("Op x > y");
    put_text(&n, NUMBER(node_proto, domain), "ai.onnx");
    put_text(&n, NUMBER(node_proto, overload), "");
    put_text(&n, NUMBER(node_proto, doc_string), "words");
    Read r = { 0 };
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), n);
    put_ends(&g, "x", "y");
    const Node *node_0 = read_good(&r, g)->node.at[0];
    assert_string_equal(node_0->domain, "");
    assert_null(node_0->overload);
    read_free(&r);
    n = node("Op x > y");
    put_text(&n, NUMBER(node_proto, overload), "fast");
    g = (Bytes){ 0 };
    put_message(&g, NUMBER(graph_proto, node), n);
    put_ends(&g, "x", "y");
    assert_string_equal(read_good(&r, g)->node.at[0]->overload, "fast");
    read_free(&r);
}

/* Each output is compared with the next thousand. */
static void many_outputs(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        Bytes n = node("Op x > y");
        for (int i = 0; i < 1500; i++) {
            char name[16];
            snprintf(name, sizeof name, "t%d", i);
            put_text(&n, NUMBER(node_proto, output), name);
        }
        if (twice)
            put_text(&n, NUMBER(node_proto, output), "t1499");
        Bytes g = { 0 };
        put_message(&g, NUMBER(graph_proto, node), n);
        put_ends(&g, "x", "y");
        if (twice) {
            expect_graph(g, 65, "two outputs of the node are called \"t1499\"");
            continue;
        }
        Read r = { 0 };
        assert_int_equal(read_good(&r, g)->node.at[0]->n_out, 1501);
        read_free(&r);
    }
}

/* --- functions --- */

static Bytes function(const char *name, const char *domain)
{
    Bytes f = { 0 };
    put_text(&f, NUMBER(function_proto, name), name);
    put_text(&f, NUMBER(function_proto, domain), domain);
    put_message(&f, NUMBER(function_proto, node), node("Neg a > b"));
    return f;
}

static Bytes model_with(Bytes f)
{
    Bytes m = model_of(plain_graph());
    put_message(&m, NUMBER(model_proto, functions), f);
    return m;
}

static void operands_of_functions(void **state)
{
    (void)state;
    Bytes f = function("f", "own");
    put_text(&f, NUMBER(function_proto, input), "a");
    put_text(&f, NUMBER(function_proto, input), "a");
    expect(model_with(f), 65, "a function's input is given twice");
    f = function("f", "own");
    put_text(&f, NUMBER(function_proto, input), "b");
    expect(model_with(f), 65, "a function's input is given twice");
    f = function("f", "own");
    put_text(&f, NUMBER(function_proto, input), "");
    expect(model_with(f), 65, "a function's input without a name");
    f = function("f", "own");
    put_text(&f, NUMBER(function_proto, output), "");
    expect(model_with(f), 65, "a function's output without a name");
    f = function("", "own");
    put_text(&f, NUMBER(function_proto, input), "a");
    expect(model_with(f), 65, "a function without a name");
}

static void the_standard_domain(void **state)
{
    (void)state;
    Bytes f = function("f", "ai.onnx");
    put_text(&f, NUMBER(function_proto, input), "a");
    put_text(&f, NUMBER(function_proto, output), "b");
    put_text(&f, NUMBER(function_proto, doc_string), "words");
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, model_with(f)), 0);
    const Function *read = r.graph->function.at[0];
    assert_string_equal(read->domain, "");
    assert_int_equal(read->body->input.n, 1);
    assert_int_equal(read->body->output.at[0]->uses, 1);
    read_free(&r);
}

/* What holds for the first function holds for the third. */
static void every_function_is_finished(void **state)
{
    (void)state;
    for (int fault = 0; fault < 3; fault++) {
        Bytes m = model_of(plain_graph());
        for (int i = 0; i < 3; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%d", i);
            Bytes f = function(name, "own");
            if (fault != 1 || i < 2)
                put_text(&f, NUMBER(function_proto, input), "a");
            put_text(&f, NUMBER(function_proto, output), "b");
            if (fault == 2 && i == 2) {
                Bytes opset = { 0 };
                put_int(&opset, NUMBER(operator_set_id_proto, version), 9999);
                put_message(&f, NUMBER(function_proto, opset_import), opset);
            }
            put_message(&m, NUMBER(model_proto, functions), f);
        }
        if (fault == 1) {
            expect(m, 65, "\"a\", is made by no node");
            continue;
        }
        if (fault == 2) {
            expect(m, 69, "the function uses operator set 9999");
            continue;
        }
        Read r = { 0 };
        assert_int_equal(read_model(&r, folder, m), 0);
        assert_int_equal(r.graph->function.n, 3);
        for (int i = 0; i < 3; i++) {
            Graph *body = r.graph->function.at[i]->body;
            assert_int_equal(graph_opset(body, ""), 17);
            assert_int_equal(graph_find(body, "b")->slot, -1);
            assert_int_equal(graph_find(body, "a")->storage, 0);
        }
        read_free(&r);
    }
}

/* --- graphs --- */

/* A dimension of 2^31 is refused where the value comes or goes, and not known in between. */
static void declared_out_of_range(void **state)
{
    (void)state;
    static const int64_t most = INT32_MAX;
    static const int64_t more = INT64_C(1) << 31;
    const Bytes big = value_info("y", DT_F32, 1, &more);
    Bytes g = plain_graph();
    put_message(&g, NUMBER(graph_proto, value_info), big);
    Read r = { 0 };
    const Tensor *y = read_good(&r, g)->node.at[0]->out[0];
    assert_int_equal(y->declared->rank, 2); /* as it was declared before */
    read_free(&r);
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, output),
                value_info("y", DT_F32, 1, &more));
    expect_graph(g, 69,
                 "dimension 0 of the tensor is 2147483648; the greatest");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, output),
                value_info("y", DT_F32, 3, (const int64_t[]){ 2, most, more }));
    expect_graph(g, 69, "dimension 2 of the tensor is 2147483648;");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, output),
                value_info("y", DT_F32, 1, &most));
    assert_int_equal(read_good(&r, g)->output.n, 2);
    read_free(&r);
}

/* Outputs behind one that is left out are looked at, too. */
static void made_twice_behind_none(void **state)
{
    (void)state;
    Bytes g = plain_graph();
    put_message(&g, NUMBER(graph_proto, node), node("Op x > _ x"));
    expect_graph(g, 65, "output \"x\" is already a graph input");
}

/* Values that a function declares are never its inputs. */
static void declared_in_functions(void **state)
{
    (void)state;
    static const int64_t more = INT64_C(1) << 31;
    Bytes f = function("f", "own");
    put_text(&f, NUMBER(function_proto, input), "a");
    put_text(&f, NUMBER(function_proto, output), "b");
    put_message(&f, NUMBER(function_proto, value_info),
                value_info("a", DT_F32, 1, &more));
    put_message(&f, NUMBER(function_proto, value_info), value_float("b"));
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, model_with(f)), 0);
    const Graph *body = r.graph->function.at[0]->body;
    assert_int_equal(body->input.n, 1);
    assert_int_equal(body->output.n, 1);
    assert_int_equal(body->output.at[0]->declared->rank, 2);
    read_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_again),
        cmocka_unit_test(optional_fields),
        cmocka_unit_test(many_outputs),
        cmocka_unit_test(operands_of_functions),
        cmocka_unit_test(the_standard_domain),
        cmocka_unit_test(every_function_is_finished),
        cmocka_unit_test(declared_out_of_range),
        cmocka_unit_test(made_twice_behind_none),
        cmocka_unit_test(declared_in_functions),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
