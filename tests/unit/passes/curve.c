/* SPDX-License-Identifier: Apache-2.0
 * Activations spelt with several operators become one; what only looks like them stays. */
#include <float.h>

#include "graphs.h"

static const int64_t dims[] = { 2, 5 };

static Tensor *begin(World *w)
{
    world_open(w);
    return input(w, 2, dims);
}

static void run(World *w, Tensor *y)
{
    finish(w, y);
    pass_fuse_curve(w->graph);
}

static void expect(World *w, Tensor *y, const char *name)
{
    run(w, y);
    only(w, name);
    world_close(w);
}

static void hard_swish(void **state)
{
    (void)state;
    for (int form = 0; form < 5; form++) {
        World w;
        Tensor *x = begin(&w), *three = scalar(&w, 3.0f),
               *zero = scalar(&w, 0.0f), *six = scalar(&w, 6.0f),
               *sixth = scalar(&w, 1.0f / 6.0f);
        Tensor *t =
            form == 1
                ? binary(&w, "Min",
                         binary(&w, "Max", binary(&w, "Add", three, x), zero),
                         six)
                : op(&w, "Clip", binary(&w, "Add", x, three), zero, six);
        Tensor *y;
        if (form == 0)
            y = binary(&w, "Div", binary(&w, "Mul", x, t), six);
        else if (form == 1)
            y = binary(&w, "Mul", binary(&w, "Mul", t, sixth), x);
        else if (form == 2)
            y = binary(&w, "Mul", x, binary(&w, "Div", t, six));
        else if (form == 3)
            y = binary(&w, "Mul", binary(&w, "Mul", t, x), sixth);
        else {
            y = binary(&w, "Mul", x, unary(&w, "HardSigmoid", x));
            node_set_float(y->producer->in[1]->producer, "alpha", 1.0f / 6.0f);
        }
        expect(&w, y, "HardSwish");
    }
}

static void hard_sigmoid(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w);
    Tensor *line = binary(&w, "Add", binary(&w, "Mul", x, scalar(&w, 0.2f)),
                          scalar(&w, 0.5f));
    run(&w, op(&w, "Clip", line, scalar(&w, 0.0f), scalar(&w, 1.0f)));
    const Node *n = only(&w, "HardSigmoid");
    assert_float_equal(node_float(n, "alpha", 0.0f), 0.2, 1e-6);
    assert_float_equal(node_float(n, "beta", 0.0f), 0.5, 1e-6);
    world_close(&w);
}

static Tensor *gelu_erf(World *w, Tensor *x, float root)
{
    Tensor *erf = unary(w, "Erf", binary(w, "Div", x, scalar(w, root)));
    return binary(w, "Mul",
                  binary(w, "Mul", x, binary(w, "Add", erf, scalar(w, 1.0f))),
                  scalar(w, 0.5f));
}

static void gelu(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w);
    run(&w, gelu_erf(&w, x, 1.41421354f));
    assert_string_equal(node_string(only(&w, "Gelu"), "approximate", "none"),
                        "none");
    world_close(&w);

    x = begin(&w);
    Tensor *cube = binary(&w, "Mul", binary(&w, "Pow", x, scalar(&w, 3.0f)),
                          scalar(&w, 0.044715f));
    Tensor *t = unary(&w, "Tanh",
                      binary(&w, "Mul", scalar(&w, 0.797884583f),
                             binary(&w, "Add", x, cube)));
    run(&w, binary(&w, "Mul", binary(&w, "Mul", scalar(&w, 0.5f), x),
                   binary(&w, "Add", t, scalar(&w, 1.0f))));
    assert_string_equal(node_string(only(&w, "Gelu"), "approximate", "none"),
                        "tanh");
    world_close(&w);

    x = begin(&w); /* a root that is not that of two: no GELU */
    run(&w, gelu_erf(&w, x, 1.40f));
    assert_int_equal(count_op(&w, "Gelu"), 0);
    world_close(&w);
}

static void smooth(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w);
    run(&w,
        binary(&w, "Mul", x,
               unary(&w, "Sigmoid", binary(&w, "Mul", x, scalar(&w, 1.702f)))));
    assert_float_equal(node_float(only(&w, "Swish"), "alpha", 0.0f), 1.702,
                       1e-5);
    world_close(&w);
    x = begin(&w);
    expect(&w,
           binary(&w, "Div", scalar(&w, 1.0f),
                  binary(&w, "Add", unary(&w, "Exp", unary(&w, "Neg", x)),
                         scalar(&w, 1.0f))),
           "Sigmoid");
    x = begin(&w);
    Tensor *softplus = unary(
        &w, "Log", binary(&w, "Add", unary(&w, "Exp", x), scalar(&w, 1.0f)));
    expect(&w, binary(&w, "Mul", x, unary(&w, "Tanh", softplus)), "Mish");
    x = begin(&w);
    run(&w, binary(&w, "Max", x, binary(&w, "Mul", x, scalar(&w, 0.125f))));
    assert_float_equal(node_float(only(&w, "LeakyRelu"), "alpha", 0.0f), 0.125,
                       1e-7);
    world_close(&w);
}

/* Factors and summands join; those that do nothing go. */
static void straight(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w);
    Tensor *y = binary(&w, "Mul", binary(&w, "Div", x, scalar(&w, 2.0f)),
                       scalar(&w, 6.0f));
    run(&w, y);
    assert_float_equal(
        *tensor_doubles(w.graph, only(&w, "Mul")->in[1], &(int64_t){ 0 }), 3.0,
        1e-9);
    world_close(&w);

    x = begin(&w);
    y = unary(&w, "Relu",
              binary(&w, "Add", binary(&w, "Mul", x, scalar(&w, 1.0f)),
                     scalar(&w, 0.0f)));
    expect(&w, y, "Relu");

    x = begin(&w); /* 1e-12 guards a division: not a Relu */
    run(&w, binary(&w, "Max", binary(&w, "Mul", x, scalar(&w, 1.0f)),
                   scalar(&w, 1e-12f)));
    assert_int_equal(count_op(&w, "Relu"), 0);
    world_close(&w);
}

/* A value inside that something else reads, or a second variable, keeps the operators apart. */
static void stays(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w), *s = unary(&w, "Sigmoid", x),
           *y = binary(&w, "Mul", x, s);
    run(&w, binary(&w, "Add", y, s));
    assert_int_equal(count_nodes(&w), 3);
    world_close(&w);

    x = begin(&w);
    run(&w, binary(&w, "Mul", x, unary(&w, "Sigmoid", input(&w, 2, dims))));
    assert_int_equal(count_nodes(&w), 2);
    world_close(&w);

    x = begin(&w); /* a hat at 11, zero elsewhere */
    Tensor *far = unary(&w, "Abs", binary(&w, "Sub", x, scalar(&w, 11.0f)));
    Tensor *hat = unary(&w, "Relu", binary(&w, "Sub", scalar(&w, 1.0f), far));
    run(&w, binary(&w, "Add", hat, x));
    assert_int_equal(count_op(&w, "Add"), 1);
    world_close(&w);

    x = begin(&w); /* the logarithm would see the difference */
    run(&w,
        unary(&w, "Log",
              binary(&w, "Add", unary(&w, "Sigmoid", x), scalar(&w, 1e-7f))));
    assert_int_equal(count_nodes(&w), 3);
    world_close(&w);
}

/* The greatest of one number is that number, not that of it and zero. */
static void one_operand(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w);
    run(&w, binary(&w, "Mul", unary(&w, "Max", x), scalar(&w, 1.0f)));
    assert_int_equal(count_op(&w, "Relu"), 0);
    world_close(&w);
}

/* Where(x > 0, x, 0) makes 0 of NaN, a Relu does not; Max and Clip do as a Relu does. */
static void not_a_number(void **state)
{
    (void)state;
    World w;
    Tensor *x = begin(&w);
    Tensor *zero = scalar(&w, 0.0f);
    run(&w, op(&w, "Where", binary(&w, "Greater", x, zero), x, zero));
    assert_int_equal(count_op(&w, "Where"), 1);
    world_close(&w);
    for (int form = 0; form < 2; form++) {
        x = begin(&w);
        Tensor *scaled = binary(&w, "Mul", x, scalar(&w, 1.0f));
        zero = scalar(&w, 0.0f);
        const char *name = form ? "Max" : "Clip";
        expect(&w, binary(&w, name, scaled, zero), "Relu");
    }
}

/* Min(1 / x, 1e12) of a norm that is zero: bounds far out are bounds, and the least float makes a
 * number of -inf. */
static void far_bounds(void **state)
{
    (void)state;
    const float bounds[] = { 1e7f, 1e12f, FLT_MAX };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        World w;
        Tensor *x = begin(&w);
        run(&w, unary(&w, "Sin", binary(&w, "Min", x, scalar(&w, bounds[i]))));
        assert_int_equal(count_op(&w, "Min"), 1);
        world_close(&w);
        x = begin(&w);
        run(&w, unary(&w, "Sin", binary(&w, "Max", x, scalar(&w, -bounds[i]))));
        assert_int_equal(count_op(&w, "Max"), 1);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_swish),  cmocka_unit_test(hard_sigmoid),
        cmocka_unit_test(gelu),        cmocka_unit_test(smooth),
        cmocka_unit_test(straight),    cmocka_unit_test(stays),
        cmocka_unit_test(one_operand), cmocka_unit_test(not_a_number),
        cmocka_unit_test(far_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
