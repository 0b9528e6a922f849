/* SPDX-License-Identifier: Apache-2.0
 * The turns of a Loop are counted by taking them: the nodes that its condition is computed of are
 * copied for each turn, with constants for what is carried, and fold. */
#include "ops/loop_known.h"

#include <string.h>

#include "ir/clone.h"

/* Nodes that are copied: for all loops of a model, for a turn of one (counters count as well); and
 * elements of a counter. */
enum { MOST_COPIES = 8192, MOST_NODES = 64, MOST_ELEMENTS = 64 };

/* ---- what no turn changes ---- */

/* A Loop while values that no turn changes are taken out of it. */
typedef struct Trimming {
    Node *node;
    Graph *body;
    Tensor **in, **out;   /* what it keeps */
    VEC(Tensor *) result; /* those that are taken out, and what each is */
    VEC(Tensor *) given;
} Trimming;

static bool is_handed_on(const Trimming *trimming, int i)
{
    const Graph *body = trimming->body;
    const Tensor *given = trimming->node->in[2 + i];
    return given && !given->dynamic &&
           body->output.at[1 + i] == body->input.at[2 + i];
}

static void take_out(Trimming *trimming, int i)
{
    Graph *body = trimming->body;
    Tensor *value = body->input.at[2 + i];
    Tensor *given = trimming->node->in[2 + i];
    Tensor *result = node_out(trimming->node, i);
    value->uses--; /* as a result of the body */
    graph_replace(body, value, given);
    if (!result)
        return;
    VEC_PUSH(body->arena, &trimming->result, result);
    VEC_PUSH(body->arena, &trimming->given, given);
}

/* Carried value i becomes number `to`. */
static void keep(const Trimming *trimming, int i, int to)
{
    Graph *body = trimming->body;
    trimming->in[2 + to] = trimming->node->in[2 + i];
    trimming->out[to] = node_out(trimming->node, i);
    body->input.at[2 + to] = body->input.at[2 + i];
    body->output.at[1 + to] = body->output.at[1 + i];
}

/* `kept` of the carried values are left, and all rows. */
static void close_up(Trimming *trimming, int carried, int kept)
{
    Node *node = trimming->node;
    Graph *body = trimming->body;
    const int gone = carried - kept;
    const int rows = (int)body->output.n - 1 - carried;
    for (int i = carried; i < carried + rows; i++) {
        body->output.at[1 + i - gone] = body->output.at[1 + i];
        trimming->out[i - gone] = node_out(node, i);
    }
    body->input.n -= (size_t)gone;
    body->output.n -= (size_t)gone;
    node_set_inputs(node, node->n_in - gone, trimming->in);
    node->out = trimming->out;
    node->n_out = kept + rows;
}

void loop_take_out_constant(Node *node, Graph *body)
{
    const int carried = node->n_in - 2;
    Trimming trimming = {
        .node = node,
        .body = body,
        .in = node_copy_inputs(node),
        .out = NEW_ARRAY(body->arena, Tensor *, body->output.n),
    };
    int kept = 0;
    for (int i = 0; i < carried; i++) {
        if (is_handed_on(&trimming, i))
            take_out(&trimming, i);
        else
            keep(&trimming, i, kept++);
    }
    if (kept == carried)
        return;
    close_up(&trimming, carried, kept);
    for (size_t i = 0; i < trimming.result.n; i++) {
        trimming.result.at[i]->producer = NULL;
        control_become(node, trimming.result.at[i], trimming.given.at[i]);
    }
}

/* ---- how many turns ---- */

/* The part of a body that its condition is computed of. */
typedef struct Counting {
    Node *node;
    /* inputs as the body's; outputs: the condition, then the counters' next values */
    Graph *part;
    int carried;
    int nodes;
    bool *counter; /* [carried]: it is read */
    bool *wanted;  /* [part->node.n] */
    Tensor **in, **out;
} Counting;

static bool is_small(const Tensor *tensor)
{
    return tensor && tensor->value && shape_known(&tensor->shape) &&
           shape_count(&tensor->shape) <= MOST_ELEMENTS;
}

static bool want(Counting *counting, const Tensor *tensor);

/* Input i of the part: the number of the turn, the condition, or a counter, whose first value is a
 * constant. */
static bool want_input(Counting *counting, int i)
{
    const int k = i - 2;
    if (k < 0 || counting->counter[k])
        return true;
    counting->counter[k] = true;
    return ++counting->nodes <= MOST_NODES && is_small(counting->node->in[i]) &&
           want(counting, counting->part->output.at[1 + k]);
}

static bool want_node(Counting *counting, const Node *node)
{
    const Graph *part = counting->part;
    size_t place = 0;
    while (part->node.at[place] != node)
        place++;
    if (counting->wanted[place])
        return true;
    counting->wanted[place] = true;
    for (int i = 0; i < node->n_attr; i++)
        if (node->attr[i].graph)
            return false;
    if (++counting->nodes > MOST_NODES)
        return false;
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && !want(counting, node->in[i]))
            return false;
    return true;
}

/* Can the tensor be computed when compiling? */
static bool want(Counting *counting, const Tensor *tensor)
{
    const Graph *part = counting->part;
    if (tensor->value)
        return is_small(tensor);
    for (size_t i = 0; i < part->input.n; i++)
        if (part->input.at[i] == tensor)
            return want_input(counting, (int)i);
    return tensor->producer && tensor->producer->graph == part &&
           want_node(counting, tensor->producer);
}

/* Only what is wanted stays in the part. */
static void keep_wanted(Counting *counting)
{
    Graph *part = counting->part;
    size_t outputs = 1;
    for (size_t i = 0; i < part->node.n; i++)
        if (!counting->wanted[i])
            part->node.at[i]->dead = true;
    for (int i = 0; i < counting->carried; i++)
        if (counting->counter[i])
            part->output.at[outputs++] = part->output.at[1 + i];
    part->output.n = outputs;
}

static Counting count_begin(Node *node, const Graph *body)
{
    Arena *arena = node->graph->arena;
    Counting counting = {
        .node = node,
        .part = graph_clone(node->graph, node, body),
        .carried = node->n_in - 2,
    };
    counting.counter = NEW_ARRAY(arena, bool, counting.carried + 1);
    counting.wanted = NEW_ARRAY(arena, bool, counting.part->node.n + 1);
    counting.in = NEW_ARRAY(arena, Tensor *, counting.carried + 2);
    counting.out = NEW_ARRAY(arena, Tensor *, counting.carried + 2);
    return counting;
}

static Tensor *constant_of(const Counting *counting, size_t input, DType type,
                           const void *value)
{
    Graph *graph = counting->node->graph;
    const Shape *given = &counting->part->input.at[input]->shape;
    const Shape shape = given->rank == 1 ? shape_vector(1) : shape_scalar();
    return graph_add_constant(
        graph, NULL,
        recipe_memory(graph->store, type, shape.rank, shape.dim, value));
}

/* One turn: its condition, and the counters for the next. */
static const Tensor *take_turn(Counting *counting, int64_t turn)
{
    const uint8_t yes = 1;
    int next = 1;
    counting->in[0] = constant_of(counting, 0, DT_I64, &turn);
    counting->in[1] = constant_of(counting, 1, DT_BOOL, &yes);
    control_expand(counting->node, counting->part, counting->in, counting->out);
    for (int i = 0; i < counting->carried; i++)
        if (counting->counter[i])
            counting->in[2 + i] = counting->out[next++];
    return counting->out[0];
}

static int64_t take_turns(Counting *counting, int64_t trips)
{
    Graph *graph = counting->node->graph;
    Graph *root = graph_root(graph);
    bool more = true;
    int64_t turns = 0;
    while (more && turns != trips) {
        const Tensor *condition;
        root->counted += counting->nodes + 1;
        if (root->counted > MOST_COPIES)
            return -1;
        condition = take_turn(counting, turns);
        if (!condition->value)
            return -1;
        more = control_is_true(condition, graph);
        turns++;
    }
    return turns;
}

int64_t loop_count_turns(Node *node, const Graph *body, int64_t trips)
{
    const Tensor *first = node_in(node, 1);
    if (first && !first->value)
        return -1;
    if (first && !control_is_true(first, node->graph))
        return 0;
    Graph *root = graph_root(node->graph);
    const int64_t copied = root->copied;
    Counting counting = count_begin(node, body);
    int64_t turns = -1;
    if (want(&counting, counting.part->output.at[0])) {
        keep_wanted(&counting);
        for (int i = 0; i < counting.carried; i++)
            counting.in[2 + i] = node->in[2 + i];
        turns = take_turns(&counting, trips);
    }
    counting.part->dead = true;
    /* These copies have a limit of their own, MOST_COPIES, and vanish. */
    root->copied = copied;
    return turns;
}
