/* SPDX-License-Identifier: Apache-2.0
 * --stream: a run takes only the new steps of an input. The walk goes from these inputs along the
 * graph. As long as a node makes each step of its result of a few steps of its operands, it makes
 * the new ones only; from the first node on that needs a whole window, the window of its operand is
 * kept and the rest of the graph runs on it as it is. What is kept from run to run is a state, as
 * with --state. Requires: types and shapes, constants computed. Ensures: the same results once as
 * many runs have been made as a window reaches back; streamed inputs are as long as their hop. */
#include "passes/stream.h"

#include <inttypes.h>

#include "base/size.h"
#include "ops/infer.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* ---- numbers of runs ---- */

static Runs runs_of(int64_t num, int64_t den)
{
    int64_t a = num < 0 ? -num : num;
    int64_t b = den;
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (Runs){ num / a, den / a };
}

static Runs runs_add(Runs a, Runs b)
{
    const int64_t left = i64_mul(a.num, b.den);
    const int64_t right = i64_mul(b.num, a.den);
    return runs_of(i64_add(left, right), i64_mul(a.den, b.den));
}

static bool runs_less(Runs a, Runs b)
{
    return i64_mul(a.num, b.den) < i64_mul(b.num, a.den);
}

static Runs runs_max(Runs a, Runs b)
{
    return runs_less(a, b) ? b : a;
}

/* ---- flows ---- */

Flow *flow_of(const Walk *walk, const Tensor *tensor)
{
    return tensor && tensor->id < walk->ids ? walk->flow + tensor->id : NULL;
}

static Flow *steps_of(const Walk *walk, const Tensor *tensor)
{
    Flow *flow = flow_of(walk, tensor);
    return flow && flow->kind == FLOW_STEPS ? flow : NULL;
}

Tensor *flow_source(const Walk *walk, Tensor *tensor)
{
    const Node *node = tensor->producer;
    if (!node || !node_is(node, "DequantizeLinear"))
        return tensor;
    return steps_of(walk, node->in[0]) ? node->in[0] : tensor;
}

static const char HELP_ENDLESS[] =
    "--stream INPUT:AXIS:HOP:endless takes the signal's own steps in place of "
    "padding; or export the model without padding along time";

/* Results would depend on where the window begins or ends. */
static _Noreturn void refuse_padding(const Node *node, const Flow *flow)
{
    const Node *pad = flow->pad ? flow->pad : node;
    fail_node(pad, STATUS_UNSUPPORTED, HELP_ENDLESS,
              "--stream: its padding %s the window makes results depend on "
              "where the window %s, so that steps cannot be kept from run to "
              "run",
              flow->late > 0 ? "behind" : "in front of",
              flow->late > 0 ? "ends" : "begins");
}

static void need(const Walk *walk, Tensor *tensor, StepsRead read)
{
    Flow *flow = flow_of(walk, flow_source(walk, tensor));
    const int64_t past = read.count + read.back - flow->made;
    flow->kept = i64_max(flow->kept, past);
}

/* How far back what is read goes. */
static Runs reach_of(const Flow *flow, StepsRead read)
{
    const int64_t past = read.count + read.back - flow->made;
    return runs_add(flow->reach, runs_of(i64_max(past, 0), flow->made));
}

/* ---- nodes that make steps ---- */

/* Do both operands go the same way? */
static bool alike(const Stepping *a, const Stepping *b)
{
    return a->axis == b->axis && a->reach == b->reach &&
           a->stride == b->stride && a->before == b->before &&
           a->parts == b->parts;
}

static bool same_steps(const Flow *a, const Flow *b)
{
    return a->length == b->length && a->made == b->made;
}

/* How all operands that are steps go along; others must be constants. */
static bool operands_go(const Walk *walk, Turn *turn)
{
    const Node *node = turn->node;
    const Flow *first = NULL;
    for (int k = 0; k < node->n_in; k++) {
        const Flow *flow = steps_of(walk, node->in[k]);
        Stepping steps;
        if (!flow) {
            if (node->in[k] && !node->in[k]->value)
                return false;
            continue;
        }
        if (!steps_along(node, k, flow->axis, &steps))
            return false;
        if (first && (!alike(&steps, &turn->steps) || !same_steps(first, flow)))
            return false;
        turn->steps = steps;
        first = flow;
    }
    return first != NULL;
}

static bool others_shared(const Walk *walk, const Turn *turn)
{
    const Node *node = turn->node;
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k] && !steps_of(walk, node->in[k]) &&
            !steps_shared(node, k, &turn->steps))
            return false;
    return true;
}

/* Has each result that axis, as long as the first one's? */
static bool results_go(const Turn *turn)
{
    const int axis = turn->steps.axis;
    const Node *node = turn->node;
    const Shape *first = result_shape(node, 0);
    for (int i = 0; i < node->n_out; i++) {
        const Tensor *out = node->out[i];
        if (!out || !out->uses)
            continue;
        if (out->dynamic || out->sequence || out->shape.rank <= axis ||
            out->shape.dim[axis] != first->dim[axis])
            return false;
    }
    return true;
}

static const Flow *any_steps(const Walk *walk, const Node *node)
{
    const Flow *found = NULL;
    for (int k = 0; k < node->n_in && !found; k++)
        found = steps_of(walk, node->in[k]);
    return found;
}

/* One result of several steps is made of the window as a whole: a run that makes steps would make
 * those that nobody reads as well. Its own padding lies around the window where that is said. */
static bool is_one(const Walk *walk, const Turn *turn)
{
    const Stepping *steps = &turn->steps;
    const int64_t length = any_steps(walk, turn->node)->length;
    const int64_t made = result_shape(turn->node, 0)->dim[steps->axis];
    const bool padded = steps->before > 0 || steps->reach > length;
    return made == 1 && steps->reach > 1 && !(walk->endless && padded);
}

static bool goes_along(const Walk *walk, Turn *turn)
{
    return operands_go(walk, turn) && others_shared(walk, turn) &&
           results_go(turn) && !is_one(walk, turn);
}

/* A whole number of results in each run. */
static void check_stride(const Turn *turn, const Flow *flow)
{
    const Node *node = turn->node;
    const int64_t stride = turn->steps.stride;
    const Runs runs = runs_of(stride, flow->made);
    if (flow->made % stride)
        fail_node(node, STATUS_UNSUPPORTED,
                  arena_printf(node->graph->arena,
                               "HOP must be a multiple of %" PRId64
                               " times this one",
                               runs.num),
                  "--stream: it makes a result of every %" PRId64
                  " steps, and a run has %" PRId64,
                  stride, flow->made);
}

/* How late the latest operand is, in its steps. */
static int64_t latest(const Walk *walk, const Node *node)
{
    int64_t late = INT64_MIN;
    for (int k = 0; k < node->n_in; k++) {
        const Flow *flow = steps_of(walk, node->in[k]);
        if (flow)
            late = i64_max(late, flow->late);
    }
    return late;
}

/* Reads of all operands that end at the same place; their reach and what spoils them. */
static void read_steps(const Walk *walk, Turn *turn, int64_t count,
                       int64_t late, Flow *result)
{
    const Node *node = turn->node;
    for (int k = 0; k < node->n_in; k++) {
        const Flow *flow = steps_of(walk, node->in[k]);
        if (!flow)
            continue;
        turn->read[k] = (StepsRead){ count, late - flow->late };
        need(walk, node->in[k], turn->read[k]);
        result->reach = runs_max(result->reach, reach_of(flow, turn->read[k]));
        result->spoilt = i64_max(result->spoilt, flow->spoilt);
        if (flow->pad)
            result->pad = flow->pad;
    }
}

/* The result's own figures from those of operands that end `late`. */
static void place_result(const Turn *turn, const Flow *operand, int64_t late,
                         Flow *result)
{
    const Stepping *steps = &turn->steps;
    const int64_t length = result_shape(turn->node, 0)->dim[steps->axis];
    const int64_t last = operand->length - 1 - late + steps->before;
    const int64_t newest =
        i64_floor_div(last - steps->reach + 1, steps->stride);
    const int64_t first = i64_max(result->spoilt + steps->before, 0);
    const int64_t spoilt = i64_ceil_div(first, steps->stride);
    result->kind = FLOW_STEPS;
    result->axis = steps->axis;
    result->length = length;
    result->made = i64_mul(operand->made / steps->stride, steps->parts);
    result->spoilt = i64_min(i64_mul(spoilt, steps->parts), length);
    if (steps->parts > 1)
        result->late = i64_mul(late, steps->parts);
    else
        result->late = length - 1 - newest;
    if (steps->before > 0 || (result->late > 0 && late <= 0))
        result->pad = turn->node;
}

/* Steps of operands for the new ones of the result, with those at the end that make none yet. */
static int64_t steps_needed(const Stepping *steps, const Flow *operand,
                            int64_t late)
{
    const int64_t last = operand->length - 1 - late + steps->before;
    const int64_t room = last - steps->reach + 1;
    const int64_t unused =
        room - steps->stride * i64_floor_div(room, steps->stride);
    return operand->made - steps->stride + steps->reach + unused;
}

static Flow go_along(const Walk *walk, Turn *turn)
{
    const Flow *operand = any_steps(walk, turn->node);
    const int64_t late = latest(walk, turn->node);
    Flow result = { .reach = { 0, 1 }, .delay = { 0, 1 } };
    turn->along = true;
    check_stride(turn, operand);
    const int64_t count = steps_needed(&turn->steps, operand, late);
    read_steps(walk, turn, count, late, &result);
    place_result(turn, operand, late, &result);
    return result;
}

/* ---- nodes that need a whole window ---- */

/* How long before the newest step the windows of all operands end. */
static Runs common_delay(const Walk *walk, const Node *node)
{
    Runs delay = { 0, 1 };
    bool some = false;
    for (int k = 0; k < node->n_in; k++) {
        const Flow *flow = flow_of(walk, node->in[k]);
        if (!flow || flow->kind == FLOW_NONE)
            continue;
        const Runs own = flow->kind == FLOW_STEPS
                             ? runs_of(flow->late, flow->made)
                             : flow->delay;
        delay = some ? runs_max(delay, own) : own;
        some = true;
    }
    return walk->endless ? delay : (Runs){ 0, 1 };
}

static _Noreturn void refuse_delays(const Node *node)
{
    fail_node(node, STATUS_UNSUPPORTED,
              "a window that is complete does not wait for another: leave "
              "endless out, or end the part with --to in front of this node",
              "--stream: it joins windows that end at different times");
}

/* The whole window of an operand. */
static StepsRead whole_window(const Walk *walk, const Node *node,
                              const Flow *flow, Runs delay)
{
    if (walk->endless) {
        const int64_t late = i64_mul(delay.num, flow->made);
        if (late % delay.den)
            refuse_delays(node);
        return (StepsRead){ flow->length, late / delay.den - flow->late };
    }
    if (flow->late > 0 || flow->spoilt)
        refuse_padding(node, flow);
    return (StepsRead){ flow->length, -flow->late };
}

static Flow take_windows(const Walk *walk, Turn *turn)
{
    const Node *node = turn->node;
    Flow result = { .kind = FLOW_WINDOW, .reach = { 0, 1 } };
    result.delay = common_delay(walk, node);
    for (int k = 0; k < node->n_in; k++) {
        const Flow *flow = flow_of(walk, node->in[k]);
        if (!flow || flow->kind == FLOW_NONE)
            continue;
        Runs reach = flow->reach;
        if (flow->kind == FLOW_STEPS) {
            turn->read[k] = whole_window(walk, node, flow, result.delay);
            need(walk, node->in[k], turn->read[k]);
            reach = reach_of(flow, turn->read[k]);
        } else if (runs_less(flow->delay, result.delay)) {
            refuse_delays(node);
        }
        result.reach = runs_max(result.reach, reach);
    }
    return result;
}

/* ---- a node ---- */

static bool takes_flow(const Walk *walk, const Node *node)
{
    for (int k = 0; k < node->n_in; k++) {
        const Flow *flow = flow_of(walk, node->in[k]);
        if (flow && flow->kind != FLOW_NONE)
            return true;
    }
    return false;
}

/* Steps, or windows in each run. */
static void turn_to_steps(Walk *walk, Node *node)
{
    Turn turn = { .node = node };
    turn.read = NEW_ARRAY(walk->graph->arena, StepsRead, node->n_in + 1);
    const Flow result = goes_along(walk, &turn) ? go_along(walk, &turn)
                                                : take_windows(walk, &turn);
    for (int i = 0; i < node->n_out; i++) {
        Flow *flow = flow_of(walk, node->out[i]);
        if (flow)
            *flow = result;
    }
    VEC_PUSH(walk->graph->arena, &walk->turn, turn);
}

static void visit(Walk *walk, Node *node)
{
    if (!takes_flow(walk, node))
        return;
    Node *first = stream_split(walk, node);
    if (first)
        turn_to_steps(walk, first);
    turn_to_steps(walk, node);
}

/* ---- what is read elsewhere ---- */

/* A subgraph has no operands that could be turned. */
static void check_captured(const Walk *walk, const Tensor *tensor)
{
    for (const Use *use = tensor->use; use; use = use->next) {
        const Graph *graph = use->node->graph;
        const Node *holder = use->node;
        for (; graph != walk->graph; graph = graph->parent)
            holder = graph->holder;
        if (holder != use->node)
            fail_node(holder, STATUS_UNSUPPORTED, NULL,
                      "--stream: its subgraph reads \"%s\", of which a run has "
                      "only the new steps",
                      tensor->name);
    }
}

static void check_given(const Walk *walk)
{
    const Graph *root = walk->graph;
    for (size_t i = 0; i < root->all.n; i++) {
        const Graph *graph = root->all.at[i];
        if (graph == root || graph_gone(graph))
            continue;
        for (size_t k = 0; k < graph->output.n; k++)
            if (steps_of(walk, graph->output.at[k]))
                fail_node(graph->holder, STATUS_UNSUPPORTED, NULL,
                          "--stream: its subgraph gives \"%s\", of which a run "
                          "has only the new steps",
                          graph->output.at[k]->name);
    }
}

static void check_subgraphs(const Walk *walk)
{
    const Graph *graph = walk->graph;
    for (size_t i = 0; i < graph->tensor.n; i++)
        if (steps_of(walk, graph->tensor.at[i]))
            check_captured(walk, graph->tensor.at[i]);
    check_given(walk);
}

/* The last steps of the window, as many as a run makes. */
static void give_steps(Walk *walk, size_t i)
{
    Tensor *tensor = walk->graph->output.at[i];
    const Flow *flow = steps_of(walk, tensor);
    StepsRead *read = walk->result + i;
    read->count = i64_min(flow->made, flow->length);
    if (!walk->endless) {
        const Node *maker = tensor->producer;
        if (flow->late > 0 || flow->spoilt > flow->length - read->count)
            refuse_padding(maker, flow);
        read->back = -flow->late;
    }
    need(walk, tensor, *read);
}

static void give_results(Walk *walk)
{
    const Graph *graph = walk->graph;
    for (size_t i = 0; i < graph->output.n; i++)
        if (steps_of(walk, graph->output.at[i]))
            give_steps(walk, i);
}

static void check_fixed(const Walk *walk)
{
    if (walk->graph->dims_outputs)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE, NULL,
                "--stream: a result has a size that only a run knows");
}

/* ---- the inputs ---- */

static void begin_flow(Walk *walk, Signal *stream)
{
    Tensor *input = walk->graph->input.at[stream->in];
    const int rank = input->shape.rank;
    const int axis = stream->axis < 0 ? stream->axis + rank : stream->axis;
    if (axis < 0 || axis >= rank)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--stream: input \"%s\" has %d dimensions, no axis %d",
                input->name, rank, stream->axis);
    const int64_t length = input->shape.dim[axis];
    if (stream->hop > length)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--stream: a hop of %" PRId64 " leaves steps out: the window "
                "of \"%s\" is %" PRId64 " long",
                stream->hop, input->name, length);
    stream->axis = axis;
    stream->window = length;
    *flow_of(walk, input) = (Flow){
        .kind = FLOW_STEPS,
        .axis = axis,
        .length = length,
        .made = stream->hop,
        .reach = { 1, 1 },
        .delay = { 0, 1 },
    };
}

/* How long the first streamed input must have run, and by how many of its steps results lag. */
static void note_times(const Walk *walk)
{
    Graph *graph = walk->graph;
    Runs reach = { 1, 1 };
    int64_t *delay = NEW_ARRAY(graph->arena, int64_t, graph->output.n + 1);
    for (size_t i = 0; i < graph->output.n; i++) {
        const Flow *flow = flow_of(walk, graph->output.at[i]);
        if (!flow || flow->kind == FLOW_NONE)
            continue;
        Runs own = flow->delay;
        Runs back = flow->reach;
        if (flow->kind == FLOW_STEPS) {
            const StepsRead *read = walk->result + i;
            own = runs_of(flow->late + read->back, flow->made);
            back = reach_of(flow, *read);
        }
        reach = runs_max(reach, back);
        delay[i] =
            i64_ceil_div(i64_mul(own.num, graph->signal.at[0].hop), own.den);
    }
    graph->signal_runs = i64_ceil_div(reach.num, reach.den);
    graph->signal_delay = delay;
}

void pass_stream(Graph *graph)
{
    if (!graph->signal.n)
        return;
    const size_t nodes = graph->node.n;
    const int ids = graph->next_id + NEW_TENSORS * (int)nodes;
    Walk walk = {
        .graph = graph,
        .ids = ids,
        .flow = NEW_ARRAY(graph->arena, Flow, ids + 1),
        .endless = graph->signal.at[0].endless,
        .result = NEW_ARRAY(graph->arena, StepsRead, graph->output.n + 1),
    };
    check_fixed(&walk);
    for (size_t i = 0; i < graph->signal.n; i++)
        begin_flow(&walk, graph->signal.at + i);
    for (size_t i = 0; i < nodes; i++)
        visit(&walk, graph->node.at[i]);
    check_subgraphs(&walk);
    give_results(&walk);
    note_times(&walk);
    stream_build(&walk);
}
