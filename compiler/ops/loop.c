/* SPDX-License-Identifier: Apache-2.0
 * Loop: one whose values change their shape from turn to turn is unrolled while shapes are
 * inferred; every other becomes steps that jump back. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/clone.h"
#include "kernels/control.h"
#include "ops/control.h"
#include "ops/dynamic.h"
#include "ops/families.h"
#include "ops/loop_known.h"
#include "ops/loop_most.h"

enum { MOST_UNROLLED = 1024 };

static Shape iteration_shape(const Graph *body, size_t i)
{
    return body->input.at[i]->shape.rank == 1 ? shape_vector(1)
                                              : shape_scalar();
}

/* A copy of the body with shapes for carried values as they are at the first turn. */
static Graph *typed_body(Node *node, const Graph *body, int first_carried,
                         int carried)
{
    Graph *graph = graph_clone(node->graph, node, body);
    const size_t first = graph->input.n - (size_t)carried;
    for (int i = 0; i < carried; i++) {
        const Shape *shape = infer_shape(node, first_carried + i);
        const DType type = node->in[first_carried + i]->dtype;
        control_set_input(graph, first + (size_t)i, type, *shape);
    }
    return graph;
}

static bool stable(const Graph *graph, int carried)
{
    for (int i = 0; i < carried; i++) {
        const Tensor *in = graph->input.at[2 + i];
        const Tensor *out = graph->output.at[1 + i];
        if (in->dtype != out->dtype)
            return false;
        if (!shape_equal(&in->shape, &out->shape))
            return false;
    }
    return true;
}

static Shape shape_of_rows(const Node *node, int64_t rows, const Shape *row)
{
    infer_rank(node, row->rank + 1);
    Shape shape = { .rank = row->rank + 1 };
    shape.dim[0] = rows;
    for (int i = 0; i < row->rank; i++)
        shape.dim[i + 1] = row->dim[i];
    return shape;
}

/* A node of the newest opset and its one result. */
static Node *insert(Node *node, const char *op, int count, Tensor *const *in)
{
    const Shape unknown = { .rank = -1 };
    Graph *graph = node->graph;
    Tensor *out = graph_add_tensor(graph, NULL, in[0]->dtype, unknown);
    Node *made = graph_insert_node(graph, node, "", op, count, in, 1, &out);
    made->version = OPSET_NEWEST;
    return made;
}

static Tensor *unsqueezed(Node *node, Tensor *tensor)
{
    Graph *graph = node->graph;
    const Shape shape = shape_of_rows(node, 1, &tensor->shape);
    Tensor *in[2] = { tensor };
    in[1] = graph_add_ints(graph, NULL, shape.rank, shape.dim);
    Node *reshape = insert(node, "Reshape", 2, in);
    Tensor *out = reshape->out[0];
    graph_root(graph)->infer_node(reshape);
    return out;
}

Tensor *control_concat(Node *node, Tensor *const *part, int count, int axis)
{
    Node *concat = insert(node, "Concat", count, part);
    Tensor *all = concat->out[0];
    node_set_int(concat, "axis", axis);
    graph_root(node->graph)->infer_node(concat);
    return all;
}

/* A loop as copies of its body, one after the other. */
typedef struct Unrolled {
    Node *node;
    const Graph *body;
    int carried, scans;
    int64_t most, turns; /* turns: made so far */
    bool endless;        /* the loop has no trip count that serves */
    const char *why;     /* one body does not do for all turns */
    Tensor **made;       /* the carried values, then the joined rows */
    Tensor **rows;       /* [scans][most] */
} Unrolled;

static Unrolled begin_unroll(Node *node, const Graph *body, int64_t trips,
                             int carried, const char *why)
{
    Arena *arena = node->graph->arena;
    Unrolled loop = {
        .node = node,
        .body = body,
        .carried = carried,
        .scans = (int)body->output.n - 1 - carried,
        .most = trips,
        .endless = trips < 0 || trips > MOST_UNROLLED,
        .why = why,
    };
    if (loop.endless)
        loop.most = MOST_UNROLLED;
    const int64_t rows = i64_mul(loop.scans, loop.most);
    loop.rows = NEW_ARRAY(arena, Tensor *, rows + 1);
    loop.made = NEW_ARRAY(arena, Tensor *, carried + loop.scans + 1);
    for (int i = 0; i < carried; i++)
        loop.made[i] = node->in[2 + i];
    return loop;
}

static Tensor *turn_number(const Unrolled *loop)
{
    Graph *graph = loop->node->graph;
    const Shape shape = iteration_shape(loop->body, 0);
    Recipe *value = recipe_memory(graph->store, DT_I64, shape.rank, shape.dim,
                                  &loop->turns);
    return graph_add_constant(graph, NULL, value);
}

/* One copy of the body; returns its condition. */
static Tensor *unroll_turn(Unrolled *loop, Tensor *condition)
{
    Arena *arena = loop->node->graph->arena;
    Tensor **in = NEW_ARRAY(arena, Tensor *, loop->body->input.n);
    Tensor **out = NEW_ARRAY(arena, Tensor *, loop->body->output.n);
    in[0] = turn_number(loop);
    in[1] = condition;
    for (int i = 0; i < loop->carried; i++)
        in[2 + i] = loop->made[i];
    control_expand(loop->node, loop->body, in, out);
    for (int i = 0; i < loop->carried; i++)
        loop->made[i] = out[1 + i];
    for (int i = 0; i < loop->scans; i++) {
        Tensor *row = unsqueezed(loop->node, out[1 + loop->carried + i]);
        loop->rows[i * loop->most + loop->turns] = row;
    }
    return out[0];
}

/* Does the loop go on after that turn? */
static bool goes_on(const Unrolled *loop, const Tensor *condition)
{
    if (!condition->value)
        fail_node(loop->node, STATUS_UNSUPPORTED,
                  "bake the inputs its condition depends on with --const",
                  "%s, while its end depends on the data", loop->why);
    if (!control_is_true(condition, loop->node->graph))
        return false;
    if (loop->endless && loop->turns == loop->most)
        fail_node(
            loop->node, STATUS_UNSUPPORTED, "bake the trip count with --const",
            "%s, and it does not end after %d turns", loop->why, MOST_UNROLLED);
    return loop->turns < loop->most;
}

static void join_rows(Unrolled *loop)
{
    if (loop->scans && !loop->turns)
        fail_node(loop->node, STATUS_UNSUPPORTED, NULL,
                  "makes no turn, so its scan outputs have no shape");
    for (int i = 0; i < loop->scans; i++) {
        Tensor **rows = loop->rows + i * loop->most;
        loop->made[loop->carried + i] =
            control_concat(loop->node, rows, (int)loop->turns, 0);
    }
}

/* `trips` copies of the body, or until its condition, a constant at each turn, ends the loop. */
static void unroll(Node *node, const Graph *body, int64_t trips, int carried,
                   const char *why)
{
    Unrolled loop = begin_unroll(node, body, trips, carried, why);
    Graph *graph = node->graph;
    const uint8_t one = 1;
    Recipe *value = recipe_memory(graph->store, DT_BOOL, 0, NULL, &one);
    Tensor *first = graph_add_constant(graph, NULL, value);
    bool more = loop.most > 0;
    while (more) {
        const Tensor *condition = unroll_turn(&loop, first);
        loop.turns++;
        more = goes_on(&loop, condition);
    }
    join_rows(&loop);
    control_retire_into(node, loop.made);
}

static int64_t trip_count(Node *node)
{
    int64_t count;
    const int64_t *trips = infer_ints(node, 0, &count);
    if (!trips || count < 1)
        return -1;
    return i64_max(trips[0], 0);
}

/* Results of the file; behind them may come the number of turns. */
static int results_of(const Node *node)
{
    return node->n_out - node->counts;
}

/* A row for each turn. Where they vary, only a run knows how many of those there are. */
static void infer_rows(Node *node, int i, const Tensor *row, int64_t trips,
                       bool varies)
{
    Shape shape = shape_of_rows(node, trips, &row->shape);
    if (!node->out[i])
        return;
    if (varies)
        shape = dynamic_bound(node, i, shape);
    if (shape.dim[0] < 0)
        fail_node(
            node, STATUS_UNSUPPORTED,
            "bake the trip count with --const, or declare the output's shape",
            "the number of turns is known only at run time");
    infer_out(node, i, row->dtype, shape);
    if (varies)
        dynamic_out(node, i, 0);
}

static void infer_loop_outputs(Node *node, const Graph *graph, int64_t trips,
                               int carried, bool ends_early)
{
    const int results = node->n_out;
    const bool varies = trips < 0 || ends_early;
    if (varies)
        trips = loop_most_turns(node, graph);
    for (int i = 0; i < results; i++) {
        const Tensor *tensor = graph->output.at[1 + i];
        if (i < carried)
            infer_out(node, i, tensor->dtype, tensor->shape);
        else
            infer_rows(node, i, tensor, trips, varies);
    }
}

/* Why one body does not do for all turns, of what the attempt to type it said. */
static const char *reason(const Node *node, const Diag *attempt)
{
    if (!*attempt->why)
        return "its values change their shape from turn to turn";
    return arena_printf(node->graph->arena,
                        "one body does not do for all its turns (%s)",
                        attempt->why);
}

/* The body typed by the first turn; NULL: one turn is not like the next, as where values of an
 * iteration decide shapes, or sequences grow. Then only the copies of unroll() can be typed. */
static Graph *lasting_body(Node *node, const Graph *body, int carried,
                           const char **why)
{
    Diag attempt = { .quiet = true };
    *why = "it carries a sequence";
    for (int i = 0; i < carried; i++)
        if (node->in[2 + i] && node->in[2 + i]->sequence)
            return NULL;
    Graph *graph = typed_body(node, body, 2, carried);
    control_set_input(graph, 0, DT_I64, iteration_shape(body, 0));
    control_set_input(graph, 1, DT_BOOL, iteration_shape(body, 1));
    if (!protect(&attempt, control_infer_body, graph) && stable(graph, carried))
        return graph;
    graph->dead = true;
    *why = reason(node, &attempt);
    return NULL;
}

static void check_loop_body(const Node *node, const Graph *body, int carried)
{
    const size_t values = (size_t)carried;
    if (body->input.n != values + 2 || body->output.n < values + 1 ||
        (size_t)node->n_out > body->output.n - 1)
        fail_node(
            node, STATUS_MALFORMED, NULL,
            "its body has another number of inputs or outputs than the node");
}

/* The loop makes so many turns, whatever its conditions say. */
static void set_turns(Node *node, Graph *lasting, int64_t turns)
{
    const uint8_t yes = 1;
    Graph *graph = node->graph;
    Tensor **in = node_copy_inputs(node);
    in[0] = graph_add_constant(
        graph, NULL, recipe_memory(graph->store, DT_I64, 0, NULL, &turns));
    in[1] = NULL;
    node_set_inputs(node, node->n_in, in);
    lasting->output.at[0]->uses--;
    lasting->output.at[0] = graph_add_constant(
        lasting, NULL, recipe_memory(graph->store, DT_BOOL, 0, NULL, &yes));
    lasting->output.at[0]->uses++;
}

static void check_condition(const Node *node, const Tensor *condition)
{
    if (condition && condition->dtype != DT_BOOL)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its condition \"%s\" is %s, not bool", condition->name,
                  dtype_name(condition->dtype));
}

/* One body does for all turns: does a condition end them, and after how many? */
static void infer_lasting(Node *node, const Graph *body, Graph *lasting,
                          int64_t trips, bool runs)
{
    const Tensor *condition = lasting->output.at[0];
    check_condition(node, condition);
    const bool kept = condition == lasting->input.at[1];
    bool always = runs && (kept || control_is_true(condition, lasting));
    const int64_t turns = always ? -1 : loop_count_turns(node, body, trips);
    control_set_body(node, "body", lasting);
    if (turns >= 0) {
        set_turns(node, lasting, turns);
        trips = turns;
        always = true;
    }
    infer_loop_outputs(node, lasting, trips, node->n_in - 2, !always);
}

/* The trip count and the condition, which may be left out at the end, have their places. */
static void make_room(Node *node)
{
    Tensor *in[2] = { node_in(node, 0) };
    if (node->n_in < 2)
        node_set_inputs(node, 2, in);
}

void infer_loop(Node *node)
{
    Graph *body = control_body(node, "body");
    make_room(node);
    check_loop_body(node, body, node->n_in - 2);
    check_condition(node, node->in[1]);
    loop_take_out_constant(node, body);
    const int carried = node->n_in - 2;
    const char *why;
    Graph *lasting = lasting_body(node, body, carried, &why);
    const int64_t trips = trip_count(node);
    const bool runs =
        !node_in(node, 1) || control_is_true(node->in[1], node->graph);
    body->dead = true;
    if (lasting)
        infer_lasting(node, body, lasting, trips, runs);
    else if (runs)
        unroll(node, body, trips, carried, why);
    else
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the inputs its condition depends on with --const",
                  "%s, and only a run says whether it begins", why);
}

/* Does `root` hold a carried value of the next turn, other than value i? */
static bool is_next_value(const Graph *graph, const Tensor *root, int i,
                          int carried)
{
    for (int k = 0; k < carried; k++) {
        int64_t at;
        if (k != i && root == tensor_root(graph->input.at[2 + k], &at))
            return true;
    }
    return false;
}

/* The condition, where it is looked at. Carried values move together: one that is also read for
 * another carried value goes through a copy. */
static void carry(Lower *lower, Graph *graph, int carried, Tensor *condition)
{
    if (condition)
        lower_copy(lower, condition, graph->output.at[0]);
    Tensor **from = NEW_ARRAY(lower->arena, Tensor *, carried + 1);
    for (int i = 0; i < carried; i++) {
        int64_t at;
        from[i] = graph->output.at[1 + i];
        if (from[i]->value ||
            !is_next_value(graph, tensor_root(from[i], &at), i, carried))
            continue;
        Tensor *copy = lower_temp(lower, from[i]->dtype, from[i]->shape);
        lower_copy(lower, copy, from[i]);
        from[i] = copy;
    }
    for (int i = 0; i < carried; i++)
        if (from[i] != graph->input.at[2 + i])
            lower_copy(lower, graph->input.at[2 + i], from[i]);
}

static Step *loop_step(Lower *lower, Node *node, const char *kernel,
                       const inlay_loop_params *params, Tensor *counter,
                       Tensor *condition)
{
    Step *step = control_step(lower, kernel, params);
    step_out(step, counter)->read = !strcmp(kernel, "loop_end");
    Tensor *trip = node_in(node, 0);
    step_in(step, trip && !strcmp(node->op_type, "Loop") ? trip : NULL);
    step_in(step, condition);
    return step;
}

static void store_slices(Lower *lower, Node *node, Graph *graph,
                         Tensor *counter, int first)
{
    for (int i = first; i < results_of(node); i++) {
        Tensor *whole = node->out[i];
        if (!whole)
            continue;
        Tensor *slice = graph->output.at[1 + i];
        const inlay_slice_params params = {
            .outer = 1,
            .bytes = tensor_bytes(slice),
            .length = whole->shape.dim[0],
        };
        Step *step = lower_step(lower, "slice_store", &params);
        step_out(step, whole)->read = true;
        step_in(step, slice);
        step_in(step, counter);
    }
}

/* Scan outputs begin as zeros, and have at most so many rows (-1: there are none). */
static int64_t clear_rows(Lower *lower, Node *node, int carried)
{
    int64_t most = -1;
    for (int i = carried; i < results_of(node); i++) {
        if (!node->out[i])
            continue;
        lower_clear(lower, node->out[i]);
        most = node->out[i]->shape.dim[0];
    }
    return most;
}

/* The condition of the first turn; true where there is none. */
static Tensor *first_condition(Lower *lower, const Node *node)
{
    const uint8_t one = 1;
    if (node_in(node, 1))
        return node->in[1];
    Store *store = lower->store;
    return lower_constant(lower, recipe_memory(store, DT_BOOL, 0, NULL, &one));
}

/* Must the loop look at its condition? */
static bool is_tested(const Node *node, Graph *body)
{
    if (!control_is_true(body->output.at[0], body))
        return true;
    return node_in(node, 1) && !control_is_true(node->in[1], body);
}

/* The values before the first turn. */
static void enter_loop(Lower *lower, Node *node, Graph *graph, bool tested)
{
    Tensor *condition = graph->input.at[1];
    for (size_t i = 0; i < graph->input.n; i++)
        graph->input.at[i]->storage = STORE_ARENA;
    for (int i = 2; i < node->n_in; i++)
        lower_copy(lower, graph->input.at[i], node->in[i]);
    Tensor *first = first_condition(lower, node);
    if (condition->uses || tested)
        lower_copy(lower, condition, first);
}

/* The results after the last turn. */
static void leave_loop(Lower *lower, Node *node, Graph *graph, int carried)
{
    if (node->counts)
        lower_copy(lower, node_count(node), graph->input.at[0]);
    for (int i = 0; i < carried && i < results_of(node); i++)
        if (node->out[i])
            lower_copy(lower, node->out[i], graph->input.at[2 + i]);
}

/* Multiplications of a run: those of a turn, as often as the loop turns. */
static void count_macs(const Lower *lower, const Node *node, int32_t first)
{
    const Tensor *trips = node_in(node, 0);
    int64_t count;
    const int64_t *turns =
        trips ? tensor_ints(node->graph, trips, &count) : NULL;
    if (!turns || count < 1 || turns[0] < 0)
        return;
    for (size_t i = (size_t)first; i < lower->program->step.n; i++) {
        Step *step = lower->program->step.at[i];
        step->macs = i64_mul(step->macs, turns[0]);
        step->turns = i64_mul(i64_max(step->turns, 1), turns[0]);
    }
}

void lower_loop(Lower *lower, Node *node)
{
    Graph *graph = control_body(node, "body");
    const int carried = node->n_in - 2;
    const bool tested = is_tested(node, graph);
    Tensor *counter = graph->input.at[0];
    Tensor *condition = tested ? graph->input.at[1] : NULL;
    enter_loop(lower, node, graph, tested);
    inlay_loop_params params = { .most = clear_rows(lower, node, carried) };
    const int32_t begin = control_next(lower);
    Step *first =
        loop_step(lower, node, "loop_begin", &params, counter, condition);
    control_lower(lower, graph);
    if (!tested)
        count_macs(lower, node, begin + 1);
    store_slices(lower, node, graph, counter, carried);
    carry(lower, graph, carried, condition);
    first->loop_end = control_next(lower);
    params.target = begin + 1;
    loop_step(lower, node, "loop_end", &params, counter, condition);
    ((inlay_loop_params *)first->params)->target = control_next(lower);
    leave_loop(lower, node, graph, carried);
}
