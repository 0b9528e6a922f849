/* SPDX-License-Identifier: Apache-2.0
 * Normalizations, common subexpressions, products with bias, and transpositions: what the graph
 * looks like afterwards. */
#include "graphs.h"

static const int64_t one_row[] = { 1, 3, 8 }, eight[] = { 8 };

static void run_all(World *w)
{
    pass_dead(w->graph);
    pass_cse(w->graph);
    pass_fuse_norm(w->graph);
    pass_fuse_bn(w->graph);
    pass_fuse_act(w->graph);
    pass_layout(w->graph);
    pass_dead(w->graph);
}

static void layer_norm(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Tensor *x = input(&w, 3, one_row), *mean = reduce_mean(&w, x, -1);
    Tensor *d = binary(&w, "Sub", x, mean), *again = binary(&w, "Sub", x, mean);
    Tensor *variance =
        reduce_mean(&w, binary(&w, "Pow", again, scalar(&w, 2.0f)), -1);
    Tensor *s =
        unary(&w, "Sqrt", binary(&w, "Add", variance, scalar(&w, 1e-6f)));
    Tensor *y = binary(
        &w, "Add",
        binary(&w, "Mul", counting(&w, 1, eight), binary(&w, "Div", d, s)),
        counting(&w, 1, eight));
    finish(&w, y);
    run_all(&w);
    const Node *n = only(&w, "LayerNormalization");
    assert_ptr_equal(n->in[0], x);
    assert_int_equal(n->n_in, 3);
    assert_int_equal(node_int(n, "axis", 9), 2);
    assert_float_equal(node_float(n, "epsilon", 0.0f), 1e-6, 1e-12);
    world_close(&w);
}

/* TensorFlow: x * r + (bias - mean * r), r = scale / sqrt(variance + epsilon). */
static void folded_norm(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Tensor *x = input(&w, 3, one_row), *mean = reduce_mean(&w, x, 2),
           *d = binary(&w, "Sub", mean, x);
    Tensor *variance = reduce_mean(&w, binary(&w, "Mul", d, d), 2);
    Tensor *r = unary(
        &w, "Reciprocal",
        unary(&w, "Sqrt", binary(&w, "Add", scalar(&w, 1e-5f), variance)));
    r = binary(&w, "Mul", r, counting(&w, 1, eight));
    Tensor *rest =
        binary(&w, "Sub", counting(&w, 1, eight), binary(&w, "Mul", mean, r));
    finish(&w, binary(&w, "Add", binary(&w, "Mul", x, r), rest));
    run_all(&w);
    assert_int_equal(only(&w, "LayerNormalization")->n_in, 3);
    world_close(&w);
}

static void rms_norm(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Tensor *x = input(&w, 3, one_row);
    Tensor *s =
        unary(&w, "Sqrt",
              binary(&w, "Add", reduce_mean(&w, binary(&w, "Mul", x, x), 2),
                     scalar(&w, 1e-5f)));
    finish(&w,
           binary(&w, "Mul", binary(&w, "Mul", x, unary(&w, "Reciprocal", s)),
                  counting(&w, 1, eight)));
    run_all(&w);
    assert_int_equal(only(&w, "RMSNormalization")->n_in, 2);
    world_close(&w);
}

/* The mean over one axis and the variance over another are no normalization. */
static void other_axes(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Tensor *x = input(&w, 3, one_row),
           *d = binary(&w, "Sub", x, reduce_mean(&w, x, 1));
    Tensor *s = unary(&w, "Sqrt", reduce_mean(&w, binary(&w, "Mul", d, d), 2));
    finish(&w,
           binary(&w, "Div", binary(&w, "Sub", x, reduce_mean(&w, x, 1)), s));
    pass_fuse_norm(w.graph);
    assert_int_equal(count_op(&w, "LayerNormalization"), 0);
    world_close(&w);
}

static void common(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t from = 1, to = 3;
    Tensor *x = input(&w, 3, one_row), *part[3];
    for (int i = 0; i < 3; i++)
        part[i] =
            op(&w, "Slice", x, ints(&w, 1, i == 2 ? &(int64_t){ 0 } : &from),
               ints(&w, 1, i == 2 ? &(int64_t){ 2 } : &to));
    finish(&w, binary(&w, "Add",
                      binary(&w, "Mul", unary(&w, "Exp", part[0]),
                             unary(&w, "Exp", part[1])),
                      part[2]));
    pass_cse(w.graph);
    assert_int_equal(count_op(&w, "Slice"), 2);
    assert_int_equal(count_op(&w, "Exp"), 1);
    world_close(&w);
}

static void bias_and_activation(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t square[] = { 8, 8 };
    Tensor *x = input(&w, 3, one_row);
    finish(&w, unary(&w, "Relu",
                     binary(&w, "Add", counting(&w, 1, eight),
                            binary(&w, "MatMul", x, counting(&w, 2, square)))));
    run_all(&w);
    const Node *n = only(&w, "MatMul");
    assert_int_equal(n->n_in, 3);
    assert_non_null(node_attr(n, "act"));
    world_close(&w);
}

static Tensor *pointwise(World *w, Tensor *x, int64_t channels)
{
    const int64_t dims[] = { channels, channels, 1, 1 };
    return binary(w, "Conv", x, counting(w, 4, dims));
}

/* Split channels in two, turn, join: between convolutions one Transpose of the channels of each
 * pixel is left. */
static void channel_shuffle(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t split[] = { 1, 2, 4, 5, 6 }, join[] = { 1, 8, 5, 6 },
                  turn[] = { 0, 2, 1, 3, 4 };
    Tensor *t = binary(&w, "Reshape", pointwise(&w, image(&w, 8, 5, 6), 8),
                       ints(&w, 5, split));
    t = binary(&w, "Reshape", transpose(&w, t, 5, turn), ints(&w, 4, join));
    finish(&w, pointwise(&w, t, 8));
    run_all(&w);
    assert_int_equal(count_op(&w, "Transpose"),
                     3); /* at the input, the shuffle, at the output */
    for (size_t i = 0; i < w.graph->node.n; i++) {
        const Node *n = w.graph->node.at[i];
        int64_t count;
        const int64_t *perm =
            node_is(n, "Transpose") ? node_ints(n, "perm", &count) : NULL;
        if (!perm || count != 5)
            continue;
        for (int k = 0; k < 5; k++)
            assert_int_equal(perm[k], k < 3 ? k : 7 - k);
    }
    world_close(&w);
}

/* A head of a detector: N, C, H, W to N, HW, C needs no turn at all when the image lies channels
 * last. */
static void head(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t flat[] = { 1, 8, 30 }, turn[] = { 0, 2, 1 };
    Tensor *t = binary(&w, "Reshape", pointwise(&w, image(&w, 8, 5, 6), 8),
                       ints(&w, 3, flat));
    finish(&w, unary(&w, "Sigmoid", transpose(&w, t, 3, turn)));
    pass_layout(w.graph);
    pass_dead(w.graph);
    assert_int_equal(count_op(&w, "Transpose"), 1); /* at the input */
    world_close(&w);
}

/* Rows joined across a turn cannot do without it. */
static void flatten_stays(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t dims[] = { 4, 5, 6 }, turn[] = { 1, 0, 2 },
                  flat[] = { 20, 6 };
    finish(&w, unary(&w, "Exp",
                     binary(&w, "Reshape",
                            transpose(&w, input(&w, 3, dims), 3, turn),
                            ints(&w, 2, flat))));
    pass_layout(w.graph);
    const Node *exp = w.graph->output.at[0]->producer;
    assert_true(node_is(exp, "Exp"));
    assert_true(node_is(exp->in[0]->producer, "Reshape"));
    assert_true(node_is(exp->in[0]->producer->in[0]->producer, "Transpose"));
    world_close(&w);
}

/* Scale and offset between an input and the first image: the transposition goes in front, constants
 * and all. */
static void raised(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t each[] = { 1, 3, 1, 1 }, window[] = { 2, 3, 1, 1 };
    Tensor *x = image(&w, 3, 8, 10),
           *y = binary(&w, "Mul", binary(&w, "Sub", x, counting(&w, 4, each)),
                       scalar(&w, 0.5f));
    finish(&w, binary(&w, "Conv", y, counting(&w, 4, window)));
    pass_layout(w.graph);
    const Node *turn = x->use->node;
    assert_int_equal(x->uses, 1);
    assert_true(node_is(turn, "Transpose"));
    const Node *sub = turn->out[0]->use->node;
    assert_true(node_is(sub, "Sub"));
    assert_int_equal(sub->in[1]->shape.dim[3], 3);
    assert_int_equal(sub->out[0]->shape.dim[1], 8);
    assert_int_equal(count_op(&w, "Transpose"),
                     2); /* the other one is behind the Conv */
    world_close(&w);
}

/* Two convolutions of what elementwise work makes of an input: one transposition, in front. */
static void raised_for_two(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t point[] = { 2, 3, 1, 1 };
    Tensor *x = image(&w, 3, 8, 10);
    Tensor *y = binary(&w, "Mul", x, scalar(&w, 0.5f));
    Tensor *a = binary(&w, "Conv", y, counting(&w, 4, point));
    Tensor *b = binary(&w, "Conv", y, counting(&w, 4, point));
    finish(&w, binary(&w, "Sub", a, b));
    pass_layout(w.graph);
    assert_int_equal(x->uses, 1);
    assert_true(node_is(x->use->node, "Transpose"));
    assert_int_equal(count_op(&w, "Transpose"), 2);
    world_close(&w);
}

/* What is read in the model's order too stays in it; work on it that only a convolution reads is
 * done in the convolution's. */
static void raised_to_what_is_held(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t point[] = { 2, 3, 1, 1 };
    Tensor *x = image(&w, 3, 8, 10);
    Tensor *y = binary(&w, "Sub", x, scalar(&w, 0.5f));
    VEC_PUSH(&w.arena, &w.graph->output, y);
    Tensor *z = binary(&w, "Mul", y, scalar(&w, 0.25f));
    finish(&w, binary(&w, "Conv", z, counting(&w, 4, point)));
    pass_layout(w.graph);
    assert_true(node_is(x->use->node, "Sub"));
    assert_true(node_is(y->use->node, "Transpose"));
    const Node *scale = y->use->node->out[0]->use->node;
    assert_true(node_is(scale, "Mul"));
    assert_int_equal(scale->out[0]->shape.dim[1], 8);
    world_close(&w);
}

static int64_t rows_of(const Tensor *product)
{
    return product->producer->in[1]->shape.dim[0];
}

/* Logits that are handed out in a narrower type are made some columns at a time, their bias with
 * them; others as they were. */
static void logits(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t rows[] = { 3, 2 };
    const int64_t weights[] = { 2, 5000 };
    const int64_t columns[] = { 5000 };
    Tensor *x = input(&w, 2, rows);
    Tensor *sum =
        op(&w, "Gemm", x, counting(&w, 2, weights), counting(&w, 1, columns));
    Tensor *y = unary(&w, "Cast", sum);
    node_set_int(y->producer, "to", 10);
    Tensor *all = binary(&w, "MatMul", x, counting(&w, 2, weights));
    VEC_PUSH(&w.arena, &w.graph->output, all);
    finish(&w, y);
    pass_columns(w.graph);
    assert_int_equal(count_op(&w, "Gemm"), 5);
    assert_int_equal(count_op(&w, "Cast"), 5);
    assert_int_equal(count_op(&w, "MatMul"), 1);
    const Node *joined = y->producer;
    assert_true(node_is(joined, "Concat"));
    assert_int_equal(joined->in[4]->shape.dim[1], 5000 - 4 * 1024);
    const Node *last = joined->in[4]->producer->in[0]->producer;
    assert_int_equal(last->in[2]->shape.dim[0], 5000 - 4 * 1024);
    assert_int_equal(rows_of(last->out[0]), 2);
    world_close(&w);
}

/* What squeezes an image reads it in front of the 1x1 convolution that widens it. */
static void squeezed(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t widen[] = { 4, 2, 1, 1 };
    const int64_t narrow[] = { 2, 4, 1, 1 };
    Tensor *x = image(&w, 2, 8, 10);
    Tensor *wide = binary(&w, "Conv", x, counting(&w, 4, widen));
    Tensor *gate = unary(&w, "GlobalAveragePool", wide);
    Tensor *scaled = binary(&w, "Mul", wide, gate);
    Tensor *thin = binary(&w, "Conv", scaled, counting(&w, 4, narrow));
    Tensor *other = unary(&w, "GlobalAveragePool", thin);
    finish(&w, binary(&w, "Mul", thin, other));
    pass_squeeze(w.graph);
    assert_int_equal(count_op(&w, "Conv"), 3);
    assert_true(node_is(gate->producer, "Conv"));
    assert_int_equal(gate->shape.dim[1], 4);
    const Node *average = gate->producer->in[0]->producer;
    assert_true(node_is(average, "GlobalAveragePool"));
    assert_ptr_equal(average->in[0], x);
    /* a convolution to fewer channels stays: its result is the smaller one */
    assert_ptr_equal(other->producer->in[0], thin);
    world_close(&w);
}

/* Where nothing else reads the image, it is never made; a 3x3 convolution stays what it is. */
static void squeezed_alone(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t point[] = { 2, 4, 1, 1 };
    const int64_t window[] = { 4, 2, 3, 3 };
    Tensor *x = image(&w, 2, 8, 10);
    Tensor *seen = binary(&w, "Conv", x, counting(&w, 4, window));
    Tensor *thin = binary(&w, "Conv", seen, counting(&w, 4, point));
    finish(&w, unary(&w, "GlobalAveragePool", thin));
    pass_squeeze(w.graph);
    assert_int_equal(count_op(&w, "Conv"), 2);
    assert_true(node_is(seen->use->node, "GlobalAveragePool"));
    world_close(&w);
}

/* A value that something else reads in the model's order stays in it. */
static void not_raised(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t window[] = { 3, 3, 1, 1 };
    Tensor *x = image(&w, 3, 8, 10),
           *y = binary(&w, "Mul", x, scalar(&w, 0.5f));
    VEC_PUSH(&w.arena, &w.graph->output, y);
    finish(&w, binary(&w, "Conv", y, counting(&w, 4, window)));
    pass_layout(w.graph);
    assert_true(node_is(x->use->node, "Mul"));
    assert_int_equal(y->shape.dim[1], 3);
    world_close(&w);
}

static Tensor *every_second(World *w, Tensor *x, int64_t from, int64_t axis)
{
    const int64_t end = INT64_MAX, two = 2;
    Tensor *in[] = { x, ints(w, 1, &from), ints(w, 1, &end), ints(w, 1, &axis),
                     ints(w, 1, &two) };
    Tensor *y =
        graph_add_tensor(w->graph, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *n = graph_add_node(w->graph, "", "Slice", 5, in, 1, &y);
    n->index = (int)w->graph->node.n;
    return y;
}

static Tensor *one_of(World *w, Tensor *x, int64_t at, int64_t end)
{
    const int64_t axis = 4;
    Tensor *in[] = { x, ints(w, 1, &at), ints(w, 1, &end), ints(w, 1, &axis) };
    Tensor *y =
        graph_add_tensor(w->graph, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *n = graph_add_node(w->graph, "", "Slice", 4, in, 1, &y);
    n->index = (int)w->graph->node.n;
    return y;
}

/* The end of a detector: channels last, some of them computed with, all joined again. The input is
 * turned, and nothing but it. */
static void decoder_is_turned_at_the_input(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t split[] = { 1, 2, 6, 4, 5 };
    const int64_t last[] = { 0, 1, 3, 4, 2 };
    const int64_t grid[] = { 1, 1, 4, 5, 1 };
    const int64_t flat[] = { 1, 40, 6 };
    Tensor *x = image(&w, 12, 4, 5);
    x = binary(&w, "Reshape", x, ints(&w, 5, split));
    x = unary(&w, "Sigmoid", transpose(&w, x, 5, last));
    Tensor *at = binary(&w, "Mul", one_of(&w, x, 0, 1), scalar(&w, 2.0f));
    at = binary(&w, "Add", at, counting(&w, 5, grid));
    Tensor *all = binary(&w, "Concat", at, one_of(&w, x, 1, 6));
    node_set_int(all->producer, "axis", 4);
    finish(&w, binary(&w, "Reshape", all, ints(&w, 3, flat)));
    pass_layout(w.graph);
    pass_dead(w.graph);
    assert_int_equal(count_op(&w, "Transpose"), 1);
    const Node *view = w.graph->input.at[0]->use->node;
    assert_true(node_is(view->out[0]->use->node, "Transpose"));
    world_close(&w);
}

/* Slices and a concatenation in front of the first convolution: the input itself is turned, once.
 */
static void focus_is_turned_at_the_input(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t dims[] = { 4, 6, 1, 1 };
    Tensor *x = image(&w, 3, 8, 8), *half = every_second(&w, x, 0, 2);
    Tensor *both = binary(&w, "Concat", every_second(&w, half, 0, 3),
                          every_second(&w, half, 1, 3));
    node_set_int(both->producer, "axis", 1);
    finish(&w, binary(&w, "Conv", both, counting(&w, 4, dims)));
    pass_layout(w.graph);
    pass_cse(w.graph);
    int turned = 0;
    for (const Use *u = x->use; u; u = u->next)
        turned += node_is(u->node, "Transpose");
    assert_int_equal(turned, 1);
    assert_int_equal(x->uses, 1);
    assert_int_equal(half->shape.dim[3], 3);
    assert_int_equal(count_op(&w, "Transpose"), 2);
    world_close(&w);
}

/* Numbers in blocks along an axis cannot be turned: what lies in front of them stays in its order,
 * too. */
static void focus_of_blocks_stays(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    const int64_t dims[] = { 4, 6, 1, 1 };
    const int64_t blocks[] = { 1, 2, 8, 4 };
    Tensor *x = image(&w, 3, 8, 8);
    Tensor *both = binary(&w, "Concat", every_second(&w, x, 0, 3),
                          every_second(&w, x, 1, 3));
    node_set_int(both->producer, "axis", 1);
    Tensor *codes = binary(&w, "QuantizeLinear", both, counting(&w, 4, blocks));
    node_set_int(codes->producer, "block_size", 3);
    Tensor *values =
        binary(&w, "DequantizeLinear", codes, counting(&w, 4, blocks));
    node_set_int(values->producer, "block_size", 3);
    finish(&w, binary(&w, "Conv", values, counting(&w, 4, dims)));
    pass_layout(w.graph);
    assert_true(node_is(x->use->node, "Slice"));
    assert_int_equal(node_int(both->producer, "axis", 0), 1);
    assert_int_equal(both->shape.dim[1], 6);
    world_close(&w);
}

static Tensor *projected(World *w, Tensor *x, int64_t from, int64_t to)
{
    const int64_t dims[] = { to, from, 1, 1 };
    return binary(w, "Conv", x, counting(w, 4, dims));
}

/* Sums left of a convolution of x and of what lies beside it, which no convolution makes. */
static int sums_left(World *w, Tensor *x, int64_t channels, Tensor *beside)
{
    finish(w, binary(w, "Add", projected(w, x, 8, channels), beside));
    pass_fuse_act(w->graph);
    return count_op(w, "Add");
}

/* A lateral of a pyramid: with the sum in it, the convolution would keep its larger input until the
 * other addend is there, which is made of that input. */
static void lateral_runs_early(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Tensor *x = unary(&w, "Relu", image(&w, 8, 6, 6));
    Tensor *above = unary(&w, "Softmax", projected(&w, x, 8, 4));
    assert_int_equal(sums_left(&w, x, 4, above), 1);
    world_close(&w);
}

/* It keeps nothing where its result is as large, or where the addend is made of another value. */
static void residual_is_taken(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Tensor *x = unary(&w, "Relu", image(&w, 8, 6, 6));
    Tensor *above = unary(&w, "Softmax", projected(&w, x, 8, 8));
    assert_int_equal(sums_left(&w, x, 8, above), 0);
    world_close(&w);
    world_open(&w);
    x = unary(&w, "Relu", image(&w, 8, 6, 6));
    above = unary(&w, "Softmax", image(&w, 4, 6, 6));
    assert_int_equal(sums_left(&w, x, 4, above), 0);
    world_close(&w);
}

/* Of a shortcut's convolution and the last of the chain beside it, the one of the chain adds,
 * whichever is listed first. */
static void chain_takes_shortcut(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        World w;
        world_open(&w);
        Tensor *x = unary(&w, "Relu", image(&w, 8, 6, 6));
        Tensor *shortcut = last ? NULL : projected(&w, x, 8, 4);
        Tensor *inner = unary(&w, "Relu", projected(&w, x, 8, 2));
        Tensor *chain = projected(&w, inner, 2, 4);
        if (last)
            shortcut = projected(&w, x, 8, 4);
        finish(&w, binary(&w, "Add", shortcut, chain));
        pass_fuse_act(w.graph);
        const Node *host = w.graph->output.at[0]->producer;
        assert_true(node_is(host, "Conv"));
        assert_ptr_equal(host->in[0], inner);
        assert_ptr_equal(host->in[3], shortcut);
        world_close(&w);
    }
}

static Tensor *normalized(World *w, Tensor *x, int64_t channels)
{
    Tensor *each = counting(w, 1, &channels);
    return op(w, "InstanceNormalization", x, each, each);
}

/* What is as fast plane by plane is turned only for a neighbour, near or behind others. */
static void images_stay(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    finish(&w, unary(&w, "Relu", normalized(&w, image(&w, 8, 6, 6), 8)));
    pass_layout(w.graph);
    assert_int_equal(count_op(&w, "Transpose"), 0);
    assert_false(w.graph->node.at[0]->channels_last);
    world_close(&w);
    world_open(&w);
    Tensor *x = projected(&w, image(&w, 8, 6, 6), 8, 4);
    finish(&w, normalized(&w, unary(&w, "Relu", x), 4));
    pass_layout(w.graph);
    assert_int_equal(count_op(&w, "Transpose"), 2);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(folded_norm),
        cmocka_unit_test(rms_norm),
        cmocka_unit_test(other_axes),
        cmocka_unit_test(common),
        cmocka_unit_test(bias_and_activation),
        cmocka_unit_test(channel_shuffle),
        cmocka_unit_test(head),
        cmocka_unit_test(flatten_stays),
        cmocka_unit_test(logits),
        cmocka_unit_test(squeezed),
        cmocka_unit_test(squeezed_alone),
        cmocka_unit_test(raised),
        cmocka_unit_test(raised_for_two),
        cmocka_unit_test(raised_to_what_is_held),
        cmocka_unit_test(focus_is_turned_at_the_input),
        cmocka_unit_test(focus_of_blocks_stays),
        cmocka_unit_test(decoder_is_turned_at_the_input),
        cmocka_unit_test(not_raised),
        cmocka_unit_test(lateral_runs_early),
        cmocka_unit_test(residual_is_taken),
        cmocka_unit_test(chain_takes_shortcut),
        cmocka_unit_test(images_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
