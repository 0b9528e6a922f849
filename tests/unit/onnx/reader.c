/* SPDX-License-Identifier: Apache-2.0
 * From bytes to a Graph: what a good model becomes, and which status and words every
 * kind of damage gets. Values of tensors are in values.c. */
#include "build.h"

#include <errno.h>

#include "base/io_calls.h"
#include "onnx.pb-c.h"

/* --- good models --- */

static void check_plain(const Graph *g)
{
    assert_int_equal(g->node.n, 2);
    assert_int_equal(g->tensor.n, 4);
    assert_int_equal(g->input.n, 1);
    assert_int_equal(g->output.n, 1);
    assert_int_equal(g->ir_version, 8);
    assert_int_equal(graph_opset(g, ""), 17);
    assert_string_equal(g->name, "plain");
    const Tensor *x = g->input.at[0], *z = g->output.at[0],
                 *y = g->node.at[0]->out[0], *w = g->node.at[0]->in[1];
    assert_string_equal(x->name, "x");
    assert_int_equal(x->dtype, DT_F32);
    assert_int_equal(x->shape.rank, 2);
    assert_int_equal(x->shape.dim[1], 3);
    assert_int_equal(z->declared->dim[0], 2);
    assert_int_equal(z->shape.rank, -1);
    assert_ptr_equal(y->producer, g->node.at[0]);
    assert_int_equal(y->declared->rank, 2);
    assert_ptr_equal(g->node.at[1]->in[0], y);
    assert_int_equal(y->uses, 1);
    assert_int_equal(z->uses, 1);
    assert_null(w->producer);
    assert_non_null(w->value);
    assert_int_equal(w->shape.dim[1], 3);
    assert_int_equal(g->node.at[1]->index, 1);
    assert_string_equal(g->node.at[1]->op_type, "Relu");
    for (size_t i = 0; i < g->tensor.n; i++) {
        assert_int_equal(g->tensor.at[i]->id, i);
        assert_int_equal(g->tensor.at[i]->slot, -1);
        assert_int_equal(g->tensor.at[i]->storage, 0);
    }
}

static void test_plain(void **state)
{
    (void)state;
    static const LoadMode modes[] = { LOAD_STREAM, LOAD_EAGER };
    for (int i = 0; i < 2; i++) {
        Read r = { .store.mode = modes[i] };
        Graph *g = read_good(&r, plain_graph());
        check_plain(g);
        const float *w =
            recipe_values(&r.store, &r.arena, g->node.at[0]->in[1]->value);
        assert_true(w[0] == 1 && w[5] == 6);
        read_free(&r);
    }
}

/* Fields in the opposite order, and the graph after all else. */
static void test_reversed(void **state)
{
    (void)state;
    static const float w[6] = { 0 };
    Bytes g = { 0 }, init = { 0 }, m = { 0 }, opset = { 0 }, n = { 0 };
    put_message(&g, NUMBER(graph_proto, value_info), value_float("y"));
    put_message(&g, NUMBER(graph_proto, output), value_float("z"));
    put_message(&g, NUMBER(graph_proto, input),
                value_float("w")); /* an initializer's default: not an input */
    put_message(&g, NUMBER(graph_proto, input), value_float("x"));
    put_bytes(&init, NUMBER(tensor_proto, raw_data), w, sizeof w);
    put_text(&init, NUMBER(tensor_proto, name), "w");
    put_int(&init, NUMBER(tensor_proto, data_type), DT_F32);
    put_bytes(&init, NUMBER(tensor_proto, dims), "\x02\x03", 2);
    put_message(&g, NUMBER(graph_proto, initializer), init);
    put_text(&g, NUMBER(graph_proto, name), "plain");
    put_text(&n, NUMBER(node_proto, op_type), "Add");
    put_text(&n, NUMBER(node_proto, output), "y");
    put_text(&n, NUMBER(node_proto, input), "x");
    put_text(&n, NUMBER(node_proto, input), "w");
    put_message(&g, NUMBER(graph_proto, node), n);
    put_message(&g, NUMBER(graph_proto, node), node("Relu y > z"));
    put_int(&opset, 2, 17);
    put_text(&opset, 1, "ai.onnx");
    put_message(&m, NUMBER(model_proto, opset_import), opset);
    put_message(&m, NUMBER(model_proto, graph), g);
    put_int(&m, NUMBER(model_proto, ir_version), 8);
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, m), 0);
    check_plain(r.graph);
    read_free(&r);
}

/* The independent packer of protobuf-c writes what we read. */
static void test_packer(void **state)
{
    (void)state;
    int64_t dims[2] = { 1, 2 };
    float values[2] = { 0.5f, -2 };
    char *in[2] = { (char *)"x", (char *)"w" }, *out[1] = { (char *)"y" };
    InlayOnnx__TensorProto w = INLAY_ONNX__TENSOR_PROTO__INIT,
                           *inits[1] = { &w };
    w.n_dims = 2;
    w.dims = dims;
    w.has_data_type = 1;
    w.data_type = DT_F32;
    w.n_float_data = 2;
    w.float_data = values;
    w.name = in[1];
    InlayOnnx__NodeProto n = INLAY_ONNX__NODE_PROTO__INIT, *nodes[1] = { &n };
    n.n_input = 2;
    n.input = in;
    n.n_output = 1;
    n.output = out;
    n.op_type = (char *)"Mul";
    InlayOnnx__ValueInfoProto x = INLAY_ONNX__VALUE_INFO_PROTO__INIT, y = x,
                              *ins[1] = { &x }, *outs[1] = { &y };
    x.name = in[0];
    y.name = out[0];
    InlayOnnx__GraphProto g = INLAY_ONNX__GRAPH_PROTO__INIT;
    g.n_node = 1;
    g.node = nodes;
    g.n_initializer = 1;
    g.initializer = inits;
    g.n_input = 1;
    g.input = ins;
    g.n_output = 1;
    g.output = outs;
    InlayOnnx__OperatorSetIdProto o = INLAY_ONNX__OPERATOR_SET_ID_PROTO__INIT,
                                  *opsets[1] = { &o };
    o.has_version = 1;
    o.version = 13;
    InlayOnnx__ModelProto m = INLAY_ONNX__MODEL_PROTO__INIT;
    m.has_ir_version = 1;
    m.ir_version = 9;
    m.graph = &g;
    m.n_opset_import = 1;
    m.opset_import = opsets;
    m.producer_name = (char *)"tests";
    uint8_t bytes[512];
    const size_t size = inlay_onnx__model_proto__pack(&m, bytes);
    Read r = { 0 };
    assert_int_equal(read_bytes(&r, folder, bytes, size), 0);
    assert_string_equal(r.graph->producer, "tests");
    const float *v =
        recipe_values(&r.store, &r.arena, r.graph->node.at[0]->in[1]->value);
    assert_true(v[0] == 0.5f && v[1] == -2);
    assert_int_equal(r.graph->input.at[0]->dtype, DT_NONE);
    assert_int_equal(r.graph->input.at[0]->shape.rank, -1);
    read_free(&r);
}

static void test_types(void **state)
{
    (void)state;
    Bytes g = { 0 }, seq = { 0 }, type = { 0 }, v = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node("Op x s > y"));
    put_message(&g, NUMBER(graph_proto, input),
                value_info("x", DT_I8, 3, (const int64_t[]){ -2, -1, 5 }));
    put_message(&seq, 1, (Bytes){ 0 });
    put_message(&type, 4, seq);
    put_text(&v, NUMBER(value_info_proto, name), "s");
    put_message(&v, NUMBER(value_info_proto, type), type);
    put_message(&g, NUMBER(graph_proto, input), v);
    put_message(&g, NUMBER(graph_proto, output),
                value_info("y", DT_F32, 0, NULL));
    put_message(&g, NUMBER(graph_proto, value_info),
                value_info("never", DT_F32, 0, NULL));
    Read r = { 0 };
    read_good(&r, g);
    const Tensor *x = r.graph->input.at[0], *s = r.graph->input.at[1];
    assert_int_equal(x->dtype, DT_I8);
    assert_int_equal(x->shape.dim[0], -1);
    assert_string_equal(x->symbol[0], "batch");
    assert_int_equal(x->shape.dim[1], -1);
    assert_null(x->symbol[1]);
    assert_int_equal(x->shape.dim[2], 5);
    assert_int_equal(s->dtype, DT_NONE);
    assert_int_equal(r.graph->output.at[0]->declared->rank, 0);
    assert_int_equal(r.graph->tensor.n,
                     3); /* what is only declared does not exist */
    read_free(&r);
}

static void test_operands(void **state)
{
    (void)state;
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node("Clip x _ x _ _ > _ y _"));
    put_ends(&g, "x", "y");
    Read r = { 0 };
    const Node *n = read_good(&r, g)->node.at[0];
    assert_int_equal(n->n_in, 3);
    assert_null(n->in[1]);
    assert_ptr_equal(n->in[0], n->in[2]);
    assert_int_equal(n->in[0]->uses, 2);
    assert_int_equal(n->n_out, 2);
    assert_null(n->out[0]);
    read_free(&r);
}

static void test_attributes(void **state)
{
    (void)state;
    Bytes n = node("Op x > y"), a;
    a = attr_head("f", ATTR_FLOAT);
    put_float(&a, NUMBER(attribute_proto, f), 1.5f);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("i", ATTR_INT);
    put_int(&a, NUMBER(attribute_proto, i), -7);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("s", ATTR_STRING);
    put_bytes(&a, NUMBER(attribute_proto, s), "a\0b", 3);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("zero", ATTR_INT);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("empty", ATTR_STRING);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("none", ATTR_INTS);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("ints", ATTR_INTS);
    put_int(&a, NUMBER(attribute_proto, ints), 1);
    put_bytes(&a, NUMBER(attribute_proto, ints), "\x02\x83\x01", 3);
    put_int(&a, NUMBER(attribute_proto, ints), -4);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("floats", ATTR_FLOATS);
    put_float(&a, NUMBER(attribute_proto, floats), 2);
    put_bytes(&a, NUMBER(attribute_proto, floats), "\0\0\x80\x3f\0\0\0\x40", 8);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("strings", ATTR_STRINGS);
    put_text(&a, NUMBER(attribute_proto, strings), "p");
    put_text(&a, NUMBER(attribute_proto, strings), "");
    put_text(&a, NUMBER(attribute_proto, strings), "qr");
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = (Bytes){ 0 };
    put_text(&a, NUMBER(attribute_proto, name), "untyped");
    put_int(&a, NUMBER(attribute_proto, i), 3);
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("t", ATTR_TENSOR);
    put_message(&a, NUMBER(attribute_proto, t),
                tensor_raw(NULL, DT_I64, 1, "\x05\0\0\0\0\0\0\0", 8));
    put_message(&n, NUMBER(node_proto, attribute), a);
    a = attr_head("type", ATTR_TYPE);
    put_message(&a, NUMBER(attribute_proto, tp), (Bytes){ 0 });
    put_message(&n, NUMBER(node_proto, attribute), a);
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), n);
    put_ends(&g, "x", "y");
    Read r = { 0 };
    const Node *op = read_good(&r, g)->node.at[0];
    int64_t count;
    assert_true(node_float(op, "f", 0) == 1.5f);
    assert_int_equal(node_int(op, "i", 0), -7);
    assert_int_equal(node_int(op, "zero", 9), 0);
    assert_int_equal(node_attr(op, "s")->n, 3);
    assert_memory_equal(node_attr(op, "s")->s, "a\0b", 4);
    assert_string_equal(node_string(op, "empty", "x"), "");
    node_ints(op, "none", &count);
    assert_int_equal(count, 0);
    const int64_t *ints = node_ints(op, "ints", &count);
    assert_int_equal(count, 4);
    assert_true(ints[0] == 1 && ints[1] == 2 && ints[2] == 131 &&
                ints[3] == -4);
    const float *floats = node_floats(op, "floats", &count);
    assert_int_equal(count, 3);
    assert_true(floats[0] == 2 && floats[1] == 1 && floats[2] == 2);
    const Attr *s = node_attr(op, "strings");
    assert_int_equal(s->n, 3);
    assert_string_equal(s->strings[1], "");
    assert_string_equal(s->strings[2], "qr");
    assert_int_equal(node_int(op, "untyped", 0), 3);
    assert_int_equal(*(const int64_t *)recipe_values(
                         &r.store, &r.arena, node_attr(op, "t")->tensor),
                     5);
    assert_int_equal(node_attr(op, "type")->kind, ATTR_TYPE);
    read_free(&r);
}

/* If in If: names of both graphs around, and one of its own with the same name as outside. */
static void test_subgraphs(void **state)
{
    (void)state;
    Bytes inner = { 0 }, mid = { 0 }, g = { 0 },
          a = attr_head("then_branch", ATTR_GRAPH),
          b = attr_head("body", ATTR_GRAPH);
    put_message(&inner, NUMBER(graph_proto, node), node("Add x m > r"));
    put_message(&inner, NUMBER(graph_proto, node), node("Add r late > out"));
    put_message(&inner, NUMBER(graph_proto, output), value_float("out"));
    put_message(
        &inner, NUMBER(graph_proto, output),
        value_float("w")); /* a value of the outermost graph as an output */
    put_message(&inner, NUMBER(graph_proto, initializer),
                tensor_raw("own", DT_F32, 1, "abcd", 4));
    put_message(&a, NUMBER(attribute_proto, g), inner);
    put_message(&mid, NUMBER(graph_proto, node), node("Neg x > m"));
    put_message(&mid, NUMBER(graph_proto, node), node_with("If c > out o2", a));
    put_message(&mid, NUMBER(graph_proto, output), value_float("out"));
    put_message(&b, NUMBER(attribute_proto, g), mid);
    put_message(&g, NUMBER(graph_proto, node), node_with("If c > y", b));
    put_message(&g, NUMBER(graph_proto, node), node("Neg x > late"));
    put_message(&g, NUMBER(graph_proto, input), value_float("c"));
    put_message(&g, NUMBER(graph_proto, initializer),
                tensor_raw("w", DT_F32, 1, "abcd", 4));
    put_ends(&g, "x", "y");
    Read r = { 0 };
    read_good(&r, g);
    Graph *root = r.graph, *m = root->node.at[0]->attr[0].graph,
          *i = m->node.at[1]->attr[0].graph;
    assert_int_equal(root->all.n, 3);
    assert_ptr_equal(m->parent, root);
    assert_ptr_equal(m->holder, root->node.at[0]);
    assert_ptr_equal(i->holder, m->node.at[1]);
    assert_ptr_equal(i->node.at[0]->in[0], root->input.at[1]);
    assert_ptr_equal(i->node.at[0]->in[1], m->node.at[0]->out[0]);
    assert_ptr_equal(i->node.at[1]->in[1], root->node.at[1]->out[0]);
    assert_ptr_not_equal(i->node.at[1]->out[0], m->node.at[1]->out[0]);
    assert_ptr_equal(i->output.at[1], graph_find(root, "w"));
    assert_ptr_equal(m->node.at[1]->in[0], root->input.at[0]);
    assert_int_equal(graph_find(root, "w")->uses, 1);
    assert_int_equal(root->input.at[1]->uses, 3);
    assert_int_equal(root->next_id,
                     (int)(root->tensor.n + m->tensor.n + i->tensor.n));
    for (size_t k = 0; k < root->all.n; k++)
        for (size_t t = 0; t < root->all.at[k]->tensor.n; t++) {
            assert_int_equal(root->all.at[k]->tensor.at[t]->storage, 0);
            assert_int_equal(root->all.at[k]->tensor.at[t]->slot, -1);
        }
    read_free(&r);
}

static Bytes function(const char *name, const char *overload)
{
    Bytes f = { 0 }, a = attr_head("alpha", ATTR_FLOAT),
          ref = attr_head("beta", ATTR_FLOAT), opset = { 0 };
    put_text(&f, NUMBER(function_proto, name), name);
    put_text(&f, NUMBER(function_proto, domain), "mine");
    if (overload)
        put_text(&f, NUMBER(function_proto, overload), overload);
    put_text(&f, NUMBER(function_proto, input), "p");
    put_text(&f, NUMBER(function_proto, output), "q");
    put_text(&f, NUMBER(function_proto, attribute), "beta");
    put_float(&a, NUMBER(attribute_proto, f), 0.25f);
    put_message(&f, NUMBER(function_proto, attribute_proto), a);
    put_text(&ref, NUMBER(attribute_proto, ref_attr_name), "beta");
    put_message(&f, NUMBER(function_proto, node), node_with("Elu p > q", ref));
    put_int(&opset, 2, 18);
    put_message(&f, NUMBER(function_proto, opset_import), opset);
    put_message(&f, NUMBER(function_proto, value_info), value_float("q"));
    return f;
}

static Bytes model_calling(Bytes f)
{
    Bytes g = { 0 }, call = node("Twice x > y"), m;
    put_text(&call, NUMBER(node_proto, domain), "mine");
    put_text(&call, NUMBER(node_proto, overload), "v2");
    put_message(&g, NUMBER(graph_proto, node), call);
    put_ends(&g, "x", "y");
    m = model_of(g);
    put_message(&m, NUMBER(model_proto, functions), f);
    return m;
}

static void test_functions(void **state)
{
    (void)state;
    Bytes m = model_calling(function("Twice", NULL));
    put_message(&m, NUMBER(model_proto, functions), function("Twice", "v2"));
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, m), 0);
    assert_int_equal(r.graph->function.n, 2);
    const Function *f = r.graph->function.at[1];
    assert_string_equal(f->name, "Twice");
    assert_string_equal(f->domain, "mine");
    assert_string_equal(f->overload, "v2");
    assert_string_equal(r.graph->node.at[0]->overload, "v2");
    assert_int_equal(f->n_attr_names, 1);
    assert_string_equal(f->attr_names[0], "beta");
    assert_int_equal(f->n_attr_defaults, 1);
    assert_true(f->attr_defaults[0].f == 0.25f);
    assert_int_equal(f->body->input.n, 1);
    assert_ptr_equal(f->body->node.at[0]->in[0], f->body->input.at[0]);
    assert_ptr_equal(f->body->node.at[0]->out[0], f->body->output.at[0]);
    assert_string_equal(f->body->node.at[0]->attr[0].ref, "beta");
    assert_int_equal(graph_opset(f->body, ""), 18);
    read_free(&r);
    m = model_calling(function("Twice", "v2"));
    put_message(&m, NUMBER(model_proto, functions), function("Twice", "v2"));
    expect(m, 65, "two functions");
    expect(model_calling(function("", NULL)), 65, "without a name");
}

/* A function sees nothing of the graph that calls it. */
static void test_function_scope(void **state)
{
    (void)state;
    Bytes f = function("F", NULL);
    put_message(&f, NUMBER(function_proto, node), node("Add p x > unused"));
    expect(model_calling(f), 65, "\"x\", is made by no node");
}

static void test_constant_again(void **state)
{
    (void)state;
    Bytes g = { 0 }, a = attr_head("value_int", ATTR_INT),
          b = attr_head("value_int", ATTR_INT);
    put_int(&a, NUMBER(attribute_proto, i), 1);
    put_int(&b, NUMBER(attribute_proto, i), 2);
    put_message(&g, NUMBER(graph_proto, node), node_with("Constant > c", a));
    put_message(&g, NUMBER(graph_proto, node), node("Add x c > y"));
    put_message(&g, NUMBER(graph_proto, node), node_with("Constant > c", b));
    put_ends(&g, "x", "y");
    Read r = { 0 };
    read_good(&r, g);
    assert_int_equal(r.graph->node.n, 2);
    assert_int_equal(node_int(r.graph->node.at[0], "value_int", 0), 2);
    assert_int_equal(r.diag.warnings, 1);
    read_free(&r);
}

/* --- damage --- */

static Bytes with_node(const char *text)
{
    Bytes g = plain_graph();
    put_message(&g, NUMBER(graph_proto, node), node(text));
    return g;
}

static Bytes with_attr(Bytes a)
{
    Bytes g = plain_graph();
    put_message(&g, NUMBER(graph_proto, node), node_with("Op x > a", a));
    return g;
}

static void test_bad_graphs(void **state)
{
    (void)state;
    Bytes g;
    expect_graph(with_node("Op x > y"), 65,
                 "node 2 (Op): error: output \"y\" is already made by node 0 "
                 "\"\" (Add)");
    expect_graph(with_node("Op x > x"), 65,
                 "output \"x\" is already a graph input");
    expect_graph(with_node("Op x > w"), 65,
                 "output \"w\" is already an initializer");
    expect_graph(with_node("Op x > a a"), 65,
                 "two outputs of the node are called \"a\"");
    expect_graph(with_node("Op x gone > a"), 65,
                 "node 2 (Op): error: input 1, \"gone\", is made by no node");
    expect_graph(with_node(""), 65, "without an operator type");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, input), value_float("x"));
    expect_graph(g, 65, "two graph inputs");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, input), value_float("y"));
    expect_graph(g, 65, "also the output of a node");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, input), value_float(""));
    expect_graph(g, 65, "graph input without a name");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, output), value_float("nobody"));
    expect_graph(g, 65, "graph output \"nobody\" is made by no node");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, initializer),
                tensor_raw("w", DT_F32, 1, "1234", 4));
    expect_graph(g, 65, "two initializers");
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, initializer),
                tensor_raw("z", DT_F32, 1, "1234", 4));
    expect_graph(g, 65, "an initializer is also the output of a node");
    g = plain_graph();
    put_message(
        &g, NUMBER(graph_proto, input),
        value_info("big", DT_F32, 1, (const int64_t[]){ INT64_C(1) << 31 }));
    expect_graph(g, 69, "2147483648");
    expect_graph((Bytes){ 0 }, 65, "no outputs");
}

static void test_bad_attributes(void **state)
{
    (void)state;
    Bytes a, n = node("Op x > a"), g;
    expect_graph(with_attr(attr_head("t", ATTR_TENSOR)), 65,
                 "it has no tensor");
    expect_graph(with_attr(attr_head("t", ATTR_GRAPH)), 65, "it has no graph");
    expect_graph(with_attr(attr_head("t", ATTR_SPARSE_TENSOR)), 65,
                 "it has no sparse tensor");
    expect_graph(with_attr(attr_head("t", (AttrKind)15)), 65,
                 "its type does not exist");
    expect_graph(with_attr(attr_head("", ATTR_INT)), 65, "it has no name");
    expect_graph(with_attr((Bytes){ 0 }), 65, "it has no name");
    a = (Bytes){ 0 };
    put_text(&a, NUMBER(attribute_proto, name), "a");
    expect_graph(with_attr(a), 65, "neither type nor value");
    a = attr_head("a", ATTR_INT);
    put_message(&a, NUMBER(attribute_proto, g), (Bytes){ 0 });
    expect_graph(with_attr(a), 65, "against its type");
    a = attr_head("a", ATTR_GRAPH);
    put_message(&a, NUMBER(attribute_proto, g), (Bytes){ 0 });
    put_message(&a, NUMBER(attribute_proto, g), (Bytes){ 0 });
    expect_graph(with_attr(a), 65, "two graphs");
    a = attr_head("a", ATTR_STRINGS);
    put_bytes(&a, NUMBER(attribute_proto, strings), "a\0b", 3);
    expect_graph(with_attr(a), 65, "NUL");
    put_message(&n, NUMBER(node_proto, attribute),
                attr_head("twice", ATTR_INT));
    put_message(&n, NUMBER(node_proto, attribute),
                attr_head("twice", ATTR_INT));
    g = plain_graph();
    put_message(&g, NUMBER(graph_proto, node), n);
    expect_graph(g, 65, "given twice");
}

static Bytes model_with(int64_t ir, const char *domain, int64_t version)
{
    Bytes m = { 0 }, o = { 0 };
    put_int(&m, NUMBER(model_proto, ir_version), ir);
    put_message(&m, NUMBER(model_proto, graph), plain_graph());
    if (domain)
        put_text(&o, 1, domain);
    put_int(&o, 2, version);
    put_message(&m, NUMBER(model_proto, opset_import), o);
    return m;
}

static void test_bad_models(void **state)
{
    (void)state;
    Bytes m = { 0 }, o = { 0 };
    expect(model_with(8, NULL, 7), 0, NULL);
    expect(model_with(8, "", 28), 0, NULL);
    expect(model_with(8, "ai.onnx", 13), 0, NULL);
    expect(model_with(8, NULL, 6), 0,
           NULL); /* whether its operators mean the same today is asked later */
    expect(model_with(8, NULL, 1), 0, NULL);
    expect(model_with(8, NULL, 29), 69, "newest supported is 28");
    expect(model_with(8, NULL, 0), 65, "version 0");
    expect(model_with(8, NULL, -1), 65, "version -1");
    expect(model_with(8, "com.other", 1), 65, "imports no version");
    expect(model_with(0, NULL, 17), 65, "IR version 0");
    expect(model_with(-5, NULL, 17), 65, "IR version -5");
    expect(model_with(2, NULL, 17), 69, "IR version 2");
    expect(model_with(3, NULL, 17), 0, NULL);
    expect(model_with(14, NULL, 17), 0, "");
    expect(model_with(15, NULL, 17), 0, "newer than the newest known");
    expect(model_with(INT64_MAX, NULL, 17), 65, "does not exist");
    put_int(&m, NUMBER(model_proto, ir_version), 8);
    expect(m, 65, "holds no graph");
    m = model_of(plain_graph());
    put_message(&m, NUMBER(model_proto, graph), plain_graph());
    expect(m, 65, "second graph");
    m = model_of(plain_graph());
    put_int(&o, 2, 18);
    put_message(&m, NUMBER(model_proto, opset_import), o);
    expect(m, 0, "imported twice");
}

static void test_names(void **state)
{
    (void)state;
    char *name = malloc(WIRE_VIEW + 2);
    memset(name, 'n', WIRE_VIEW + 1);
    for (size_t n = WIRE_VIEW - 1; n <= WIRE_VIEW + 1; n++) {
        Bytes g = plain_graph(), op = { 0 };
        put_text(&op, NUMBER(node_proto, op_type), "Op");
        put_text(&op, NUMBER(node_proto, input), "x");
        put_bytes(&op, NUMBER(node_proto, output), name, n);
        put_message(&g, NUMBER(graph_proto, node), op);
        expect_graph(g, n > WIRE_VIEW ? 65 : 0,
                     n > WIRE_VIEW ? "a name of" : NULL);
    }
    free(name);
    Bytes g = plain_graph(), op = node("Op x > a");
    put_bytes(&op, NUMBER(node_proto, output), "a\0b", 3);
    put_message(&g, NUMBER(graph_proto, node), op);
    expect_graph(g, 65, "NUL");
    g = plain_graph();
    Bytes v = { 0 }, d = { 0 }, shape = { 0 }, tensor = { 0 }, type = { 0 };
    put_bytes(&d, NUMBER(tensor_shape_proto__dimension, dim_param), "a\0b", 3);
    put_message(&shape, 1, d);
    put_message(&tensor, 2, shape);
    put_message(&type, 1, tensor);
    put_text(&v, NUMBER(value_info_proto, name), "v");
    put_message(&v, NUMBER(value_info_proto, type), type);
    put_message(&g, NUMBER(graph_proto, input), v);
    expect_graph(g, 65, "NUL");
}

static void test_other_files(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *words;
        size_t n;
    } other[] = {
        { "", "the file is empty", 0 },
        { "\x08", "byte 1: error: the data ends inside a number", 1 },
        { "# a text file\n",
          "help: the file is damaged, or is not an ONNX model", 14 },
        { "version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
          "git lfs pull", 57 },
        { "PK\x03\x04xxxxxxxxxx", "ZIP", 14 },
        { "\x1f\x8b\x08xxxxxxxxxx", "gzip", 13 },
        { "\x1c\0\0\0TFL3xxxxxxxx", "TensorFlow Lite", 16 },
        { "\x1c\0\0\0ORTMxxxxxxxx", "ORT model", 16 },
        { "<html>", "markup", 6 },
    };
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        Read r = { 0 };
        assert_int_equal(read_bytes(&r, folder, other[i].bytes, other[i].n),
                         65);
        if (!strstr(r.message, other[i].words))
            print_error("%s\n", r.message);
        assert_non_null(strstr(r.message, other[i].words));
        assert_non_null(strstr(r.message, "byte "));
        assert_non_null(strstr(r.message, "help: "));
        read_free(&r);
    }
    Read r = { 0 };
    snprintf(r.path, sizeof r.path, "%s", folder);
    assert_int_equal(read_path(&r), 65);
    read_free(&r);
    snprintf(r.path, sizeof r.path, "%s/none", folder);
    assert_int_equal(read_path(&r), 66);
    read_free(&r);
}

/* Many missing names are listed, but not endlessly. */
static void test_error_list(void **state)
{
    (void)state;
    Bytes g = plain_graph();
    for (int i = 0; i < 500; i++) {
        char text[64];
        snprintf(text, sizeof text, "Op gone%d > a%d", i, i);
        put_message(&g, NUMBER(graph_proto, node), node(text));
    }
    Read r = { 0 };
    assert_int_equal(read_model(&r, folder, model_of(g)), 65);
    assert_int_equal(r.diag.errors, 20);
    read_free(&r);
}

static bool is_documented(Status s)
{
    return s == 0 || s == 65 || s == 66 || s == 69 || s == 71;
}

/* A model with everything in it, for the tests that damage it. */
static Bytes rich_model(void)
{
    static const int64_t dims[2] = { 3, 4 }, flat[3] = { 0, 5, 11 };
    Bytes g = plain_graph(), body = { 0 },
          a = attr_head("then_branch", ATTR_GRAPH),
          s = attr_head("sparse_value", ATTR_SPARSE_TENSOR);
    Bytes ints = attr_head("ints", ATTR_INTS),
          strings = attr_head("strings", ATTR_STRINGS),
          single = tensor_head("one", DT_I8, 1, (const int64_t[]){ 2 });
    put_message(&body, NUMBER(graph_proto, node), node("Add x y > out"));
    put_message(&body, NUMBER(graph_proto, output), value_float("out"));
    put_message(&a, NUMBER(attribute_proto, g), body);
    put_message(&g, NUMBER(graph_proto, node), node_with("If x > i", a));
    put_message(&s, NUMBER(attribute_proto, sparse_tensor),
                sparse(3, 1, flat, dims));
    put_message(&g, NUMBER(graph_proto, node), node_with("Constant > k", s));
    put_bytes(&ints, NUMBER(attribute_proto, ints), "\x01\x02\xff\x01", 4);
    put_text(&strings, NUMBER(attribute_proto, strings), "ab");
    put_message(&g, NUMBER(graph_proto, node), node_with("Op i > j", ints));
    put_message(&g, NUMBER(graph_proto, node),
                node_with("Op k one > l", strings));
    put_int(&single, NUMBER(tensor_proto, int32_data), 1);
    put_bytes(&single, NUMBER(tensor_proto, int32_data), "\x02", 1);
    put_message(&g, NUMBER(graph_proto, initializer), single);
    put_message(&g, NUMBER(graph_proto, input),
                value_info("q", DT_F32, 2, (const int64_t[]){ -2, 3 }));
    Bytes m = model_of(g);
    put_message(&m, NUMBER(model_proto, functions), function("F", "o"));
    return m;
}

static void test_truncation(void **state)
{
    (void)state;
    Bytes m = rich_model();
    for (size_t n = 0; n <= m.n; n++) {
        Read r = { 0 };
        const Status s = read_bytes(&r, folder, m.at, n);
        if (n == m.n)
            assert_int_equal(s, 0);
        if (!is_documented(s))
            print_error("cut at %zu: %d %s\n", n, s, r.message);
        assert_true(is_documented(s));
        read_free(&r);
    }
    free(m.at);
}

static void test_flipped_bits(void **state)
{
    (void)state;
    Bytes m = rich_model();
    int good = 0;
    for (size_t bit = 0; bit < m.n * 8; bit++) {
        Read r = { .arena.budget = 16 << 20 };
        m.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const Status s = read_bytes(&r, folder, m.at, m.n);
        m.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!is_documented(s))
            print_error("bit %zu: %d %s\n", bit, s, r.message);
        assert_true(is_documented(s));
        if (s)
            assert_true(r.message_n > 0);
        good += s == 0;
        read_free(&r);
    }
    assert_true(good < (int)m.n * 8);
    free(m.at);
}

/* Bytes deleted and doubled: lengths no longer fit. */
static void test_shifted_bytes(void **state)
{
    (void)state;
    Bytes m = rich_model();
    uint8_t *copy = malloc(m.n + 1);
    for (size_t i = 0; i < m.n; i++) {
        Read r = { .arena.budget = 16 << 20 };
        memcpy(copy, m.at, i);
        memcpy(copy + i, m.at + i + 1, m.n - i - 1);
        assert_true(is_documented(read_bytes(&r, folder, copy, m.n - 1)));
        read_free(&r);
        r.arena.budget = 16 << 20;
        memcpy(copy + i + 1, m.at + i, m.n - i);
        copy[i] = m.at[i];
        assert_true(is_documented(read_bytes(&r, folder, copy, m.n + 1)));
        read_free(&r);
    }
    free(copy);
    free(m.at);
}

/* --- greed --- */

static Status read_hostile(Bytes model, uint64_t budget, uint64_t *peak)
{
    Read r = { .arena.budget = budget };
    const Status s = read_model(&r, folder, model);
    *peak = r.arena.peak;
    read_free(&r);
    return s;
}

static void test_hostile(void **state)
{
    (void)state;
    enum { MANY_OF = 200000 };
    const uint64_t budget = 256 << 20;
    uint64_t peak;
    Bytes n = node("Op x > y"), g = { 0 };
    for (int i = 0; i < MANY_OF; i++)
        put_message(&n, NUMBER(node_proto, attribute), (Bytes){ 0 });
    put_message(&g, NUMBER(graph_proto, node), n);
    assert_int_equal(read_hostile(model_of(g), budget, &peak), 65);
    assert_true(peak < 2 << 20);
    for (int field = 1; field <= 15;
         field++) { /* empty nodes, initializers, inputs, outputs ... */
        g = (Bytes){ 0 };
        for (int i = 0; i < MANY_OF; i++)
            put_bytes(&g, field, "", 0);
        assert_int_equal(read_hostile(model_of(g), budget, &peak), 65);
        assert_true(peak < 2 << 20);
    }
    Bytes type = { 0 }, v = { 0 };
    for (int i = 0; i < 300; i++) { /* a sequence of sequences of ... */
        Bytes outer = { 0 }, seq = { 0 };
        put_message(&seq, 1, type);
        put_message(&outer, 4, seq);
        type = outer;
    }
    put_text(&v, NUMBER(value_info_proto, name), "x");
    put_message(&v, NUMBER(value_info_proto, type), type);
    g = (Bytes){ 0 };
    put_message(&g, NUMBER(graph_proto, input), v);
    assert_int_equal(read_hostile(model_of(g), budget, &peak), 65);
    g = (Bytes){ 0 };
    for (int i = 0; i < 40; i++) { /* If in If in ... */
        Bytes outer = { 0 }, a = attr_head("g", ATTR_GRAPH);
        put_message(&a, NUMBER(attribute_proto, g), g);
        put_message(&outer, NUMBER(graph_proto, node), node_with("If", a));
        g = outer;
    }
    assert_int_equal(read_hostile(model_of(g), budget, &peak), 65);
    g = (Bytes){ 0 };
    for (int i = 0; i < MANY_OF; i++) {
        char name[32];
        snprintf(name, sizeof name, "N x > %d", i);
        put_message(&g, NUMBER(graph_proto, node), node(name));
    }
    put_ends(&g, "x", "0");
    assert_int_equal(read_hostile(model_of(g), 1 << 20, &peak), 71);
}

/* --- other ways in --- */

static void test_stdin(void **state)
{
    (void)state;
    Bytes m = model_of(plain_graph());
    int ends[2];
    const int before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], m.at, m.n), (ssize_t)m.n);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    Read r = { 0 };
    snprintf(r.path, sizeof r.path, "-");
    assert_int_equal(read_path(&r), 0);
    check_plain(r.graph);
    const float *w =
        recipe_values(&r.store, &r.arena, r.graph->node.at[0]->in[1]->value);
    assert_true(w[5] == 6);
    read_free(&r);
    dup2(before, STDIN_FILENO);
    close(before);
    free(m.at);
}

static ssize_t read_interrupted(int fd, void *to, size_t n)
{
    static int calls;
    errno = EINTR;
    return calls++ % 2 ? read(fd, to, n < 7 ? n : 7) : -1;
}

static ssize_t read_broken(int fd, void *to, size_t n)
{
    (void)fd;
    (void)to;
    (void)n;
    errno = EIO;
    return -1;
}

static Status read_stdin_by(Read *r, __typeof__(read) *how)
{
    IoCalls calls = io_system;
    calls.read = how;
    Bytes m = model_of(plain_graph());
    int ends[2];
    const int before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], m.at, m.n), (ssize_t)m.n);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    snprintf(r->path, sizeof r->path, "-");
    io_calls_test = &calls;
    const Status status = read_path(r);
    io_calls_test = NULL;
    dup2(before, STDIN_FILENO);
    close(before);
    free(m.at);
    return status;
}

static void test_stdin_fails(void **state)
{
    (void)state;
    Read r = { 0 };
    const uint64_t before = io_count().read;
    assert_int_equal(read_stdin_by(&r, read_interrupted), 0);
    check_plain(r.graph);
    assert_true(io_count().read > before);
    read_free(&r);
    assert_int_equal(read_stdin_by(&r, read_broken), 74);
    assert_non_null(strstr(r.message, "cannot read standard input"));
    read_free(&r);
}

/* Operators of one's own need no version of ai.onnx. */
static void test_own_operators(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        Bytes g = { 0 };
        Bytes m = { 0 };
        Bytes n = node("Op x > y");
        Bytes opset = { 0 };
        if (own)
            put_text(&n, NUMBER(node_proto, domain), "own");
        put_text(&opset, NUMBER(operator_set_id_proto, domain), "own");
        put_int(&opset, NUMBER(operator_set_id_proto, version), 1);
        put_message(&g, NUMBER(graph_proto, node), n);
        put_ends(&g, "x", "y");
        put_int(&m, NUMBER(model_proto, ir_version), 8);
        put_message(&m, NUMBER(model_proto, graph), g);
        put_message(&m, NUMBER(model_proto, opset_import), opset);
        if (!own) {
            expect(m, 65, "imports no version of them");
            continue;
        }
        Read r = { 0 };
        assert_int_equal(read_model(&r, folder, m), 0);
        assert_int_equal(graph_opset(r.graph, "own"), 1);
        read_free(&r);
    }
}

/* Versions of the format at the ends of what there is. */
static void test_ir_versions(void **state)
{
    (void)state;
    static const struct {
        int64_t version;
        Status status;
        int warnings;
    } cases[] = { { -1, 65, 0 }, { 0, 65, 0 }, { 1, 69, 0 },
                  { 2, 69, 0 },  { 3, 0, 0 },  { 14, 0, 0 },
                  { 15, 0, 1 },  { 99, 0, 1 }, { 100, 65, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Bytes m = model_of(plain_graph());
        put_int(&m, NUMBER(model_proto, ir_version), cases[i].version);
        put_text(&m, NUMBER(model_proto, producer_name), "us");
        Read r = { 0 };
        assert_int_equal(read_model(&r, folder, m), cases[i].status);
        assert_int_equal(r.diag.warnings, cases[i].warnings);
        if (!cases[i].status)
            assert_string_equal(r.graph->producer, "us");
        read_free(&r);
    }
}

/* Without options. */
static void read_plainly(void *context)
{
    Read *r = context;
    r->graph = onnx_read(&r->arena, &r->store, r->path, NULL);
}

static void test_no_options(void **state)
{
    (void)state;
    Read refused = { .options.no_external = true };
    check_plain(read_good(&refused, plain_graph())); /* it has none */
    read_free(&refused);
    Bytes m = model_of(plain_graph());
    Read r = { 0 };
    Diag diag = { .quiet = true };
    r.store.arena = &r.arena;
    r.store.window = 1 << 16;
    snprintf(r.path, sizeof r.path, "%s/model.onnx", folder);
    write_file(r.path, m.at, m.n);
    free(m.at);
    assert_int_equal(protect(&diag, read_plainly, &r), 0);
    check_plain(r.graph);
    read_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_stdin_fails),
        cmocka_unit_test(test_own_operators),
        cmocka_unit_test(test_ir_versions),
        cmocka_unit_test(test_no_options),
        cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_packer),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_subgraphs),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_function_scope),
        cmocka_unit_test(test_constant_again),
        cmocka_unit_test(test_bad_graphs),
        cmocka_unit_test(test_bad_attributes),
        cmocka_unit_test(test_bad_models),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_error_list),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_shifted_bytes),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_stdin),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
