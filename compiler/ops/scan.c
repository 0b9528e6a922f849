/* SPDX-License-Identifier: Apache-2.0
 * Scan: a loop over the places of an axis. */
#include <string.h>

#include "base/size.h"
#include "ir/clone.h"
#include "kernels/control.h"
#include "ops/control.h"
#include "ops/expand.h"
#include "ops/families.h"

enum { MOST_BATCH = 1024 };

typedef struct ScanFacts {
    int states, sequences;     /* carried values, scan inputs */
    int results;               /* scan outputs */
    const int64_t *in_axis;    /* of each scan input */
    const int64_t *out_axis;   /* of each scan output */
    const int64_t *in_reverse; /* 1: from the end */
    const int64_t *out_reverse;
} ScanFacts;

static const int64_t *per_operand(Node *node, const char *name, int count)
{
    int64_t given;
    const int64_t *v = node_ints(node, name, &given);
    if (v && given != count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute \"%s\" has %lld entries, not %d", name,
                  (long long)given, count);
    return v ? v : NEW_ARRAY(node->graph->arena, int64_t, count + 1);
}

static bool body_fits(const Node *node, const Graph *body,
                      const ScanFacts *facts)
{
    if (facts->sequences < 1 || facts->states < 0 || facts->results < 0)
        return false;
    if (body->input.n != (size_t)node->n_in)
        return false;
    return (size_t)node->n_out <= body->output.n;
}

static ScanFacts scan_facts(Node *node, const Graph *body)
{
    ScanFacts facts;
    const int64_t sequences = node_int(node, "num_scan_inputs", 0);
    const int most = node->n_in + 1;
    facts.sequences = (int)i64_min(i64_max(sequences, 0), most);
    facts.states = node->n_in - facts.sequences;
    facts.results = (int)body->output.n - facts.states;
    if (!body_fits(node, body, &facts))
        fail_node(
            node, STATUS_MALFORMED, NULL,
            "its body has another number of inputs or outputs than the node");
    facts.in_axis = per_operand(node, "scan_input_axes", facts.sequences);
    facts.out_axis = per_operand(node, "scan_output_axes", facts.results);
    facts.in_reverse =
        per_operand(node, "scan_input_directions", facts.sequences);
    facts.out_reverse =
        per_operand(node, "scan_output_directions", facts.results);
    return facts;
}

/* The axis of sequence i of the operands, and of scan output i, which it goes along. */
static int input_axis(const Node *node, const ScanFacts *facts, int i)
{
    const Shape *shape = infer_shape(node, facts->states + i);
    return node_axis(node, facts->in_axis[i], shape->rank);
}

static int output_axis(const Node *node, const ScanFacts *facts, int i,
                       int rank)
{
    return node_axis(node, facts->out_axis[i], rank);
}

static int64_t turns_of(const Node *node, const ScanFacts *facts, int i)
{
    const Shape *shape = infer_shape(node, facts->states + i);
    return shape->dim[input_axis(node, facts, i)];
}

static Shape without_axis(Shape shape, int axis)
{
    for (int i = axis; i + 1 < shape.rank; i++)
        shape.dim[i] = shape.dim[i + 1];
    shape.rank--;
    return shape;
}

static Shape with_axis(Shape shape, int axis, int64_t n)
{
    for (int i = shape.rank; i > axis; i--)
        shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis] = n;
    shape.rank++;
    return shape;
}

/* A copy of the body with the shapes that its inputs have at each turn. */
static Graph *typed_body(Node *node, const Graph *body, const ScanFacts *facts)
{
    Graph *graph = graph_clone(node->graph, node, body);
    for (int i = 0; i < node->n_in; i++) {
        Shape shape = *infer_shape(node, i);
        if (i >= facts->states)
            shape =
                without_axis(shape, input_axis(node, facts, i - facts->states));
        control_set_input(graph, (size_t)i, node->in[i]->dtype, shape);
    }
    control_infer(graph);
    for (int i = 0; i < facts->states; i++)
        if (!shape_equal(&graph->input.at[i]->shape,
                         &graph->output.at[i]->shape))
            fail_node(node, STATUS_UNSUPPORTED, NULL,
                      "a state changes its shape from turn to turn");
    return graph;
}

void infer_scan(Node *node)
{
    Graph *body = control_body(node, "body");
    const ScanFacts facts = scan_facts(node, body);
    Graph *turn = typed_body(node, body, &facts);
    const int64_t turns = turns_of(node, &facts, facts.sequences - 1);
    body->dead = true;
    control_set_body(node, "body", turn);
    for (int i = 0; i < node->n_out; i++) {
        const Tensor *tensor = turn->output.at[i];
        Shape shape = tensor->shape;
        if (i >= facts.states) {
            infer_rank(node, shape.rank + 1);
            const int at = i - facts.states;
            const int axis = output_axis(node, &facts, at, shape.rank + 1);
            shape = with_axis(shape, axis, turns);
        }
        infer_out(node, i, tensor->dtype, shape);
    }
}

static inlay_slice_params slice_params(const Tensor *whole, int axis,
                                       bool reverse)
{
    const Shape *shape = &whole->shape;
    int64_t outer = 1;
    int64_t inner = 1;
    for (int i = 0; i < axis; i++)
        outer *= shape->dim[i];
    for (int i = axis + 1; i < shape->rank; i++)
        inner *= shape->dim[i];
    return (inlay_slice_params){
        .outer = outer,
        .bytes = dtype_bytes(whole->dtype, inner),
        .length = shape->dim[axis],
        .reverse = reverse,
    };
}

static void load_slices(Lower *lower, Node *node, Graph *graph,
                        const ScanFacts *facts, Tensor *counter)
{
    for (int i = 0; i < facts->sequences; i++) {
        const int entry = facts->states + i;
        Tensor *whole = node->in[entry];
        const int axis = input_axis(node, facts, i);
        const bool reverse = facts->in_reverse[i] == 1;
        const inlay_slice_params params = slice_params(whole, axis, reverse);
        Step *step = lower_step(lower, "slice_load", &params);
        step_out(step, graph->input.at[entry]);
        step_in(step, whole);
        step_in(step, counter);
    }
}

static void store_slices(Lower *lower, Node *node, Graph *graph,
                         const ScanFacts *facts, Tensor *counter)
{
    for (int i = facts->states; i < node->n_out; i++) {
        Tensor *whole = node->out[i];
        const int at = i - facts->states;
        if (!whole)
            continue;
        const int axis = output_axis(node, facts, at, whole->shape.rank);
        const bool reverse = facts->out_reverse[at] == 1;
        const inlay_slice_params params = slice_params(whole, axis, reverse);
        Step *step = lower_step(lower, "slice_store", &params);
        step_out(step, whole)->read = true;
        step_in(step, graph->output.at[i]);
        step_in(step, counter);
    }
}

/* As carry(), for a body whose states begin at input and output 0. */
static void carry_states(Lower *lower, Graph *graph, int states)
{
    Tensor *const *input = graph->input.at;
    Tensor *const *output = graph->output.at;
    Tensor **copy = NEW_ARRAY(lower->arena, Tensor *, states + 1);
    for (int i = 0; i < states; i++) {
        Tensor *state = output[i];
        Tensor *kept = lower_temp(lower, state->dtype, state->shape);
        lower_copy(lower, kept, state);
        copy[i] = kept;
    }
    for (int i = 0; i < states; i++)
        lower_copy(lower, input[i], copy[i]);
}

static Step *loop_step(Lower *lower, const char *kernel, int32_t target,
                       Tensor *counter, Tensor *trips)
{
    const inlay_loop_params params = {
        .target = target,
        .most = -1,
    };
    Step *step = control_step(lower, kernel, &params);
    step_out(step, counter)->read = !strcmp(kernel, "loop_end");
    step_in(step, trips);
    step_in(step, NULL);
    return step;
}

/* The values before the first turn. */
static void enter_scan(Lower *lower, Node *node, Graph *graph, int states)
{
    Tensor *const *input = graph->input.at;
    const size_t inputs = graph->input.n;
    for (size_t i = 0; i < inputs; i++)
        input[i]->storage = STORE_ARENA;
    for (int i = 0; i < states; i++)
        lower_copy(lower, input[i], node->in[i]);
    for (int i = states; i < node->n_out; i++) {
        Tensor *result = node->out[i];
        if (result)
            lower_clear(lower, result);
    }
}

/* One turn: parts of the sequences, the body, parts of the results, the states of the next turn. */
static void lower_turn(Lower *lower, Node *node, Graph *graph,
                       const ScanFacts *facts, Tensor *counter)
{
    load_slices(lower, node, graph, facts, counter);
    control_lower(lower, graph);
    store_slices(lower, node, graph, facts, counter);
    carry_states(lower, graph, facts->states);
}

void lower_scan(Lower *lower, Node *node)
{
    Graph *graph = control_body(node, "body");
    const ScanFacts facts = scan_facts(node, graph);
    const int64_t turns = turns_of(node, &facts, 0);
    Tensor *counter = lower_temp(lower, DT_I64, shape_vector(1));
    Tensor *trips = lower_i64s(lower, &turns, 1);
    enter_scan(lower, node, graph, facts.states);
    const int32_t begin = control_next(lower);
    Step *first = loop_step(lower, "loop_begin", 0, counter, trips);
    inlay_loop_params *loop = first->params;
    lower_turn(lower, node, graph, &facts, counter);
    first->loop_end = control_next(lower);
    loop_step(lower, "loop_end", begin + 1, counter, trips);
    loop->target = control_next(lower);
    for (int i = 0; i < facts.states; i++) {
        Tensor *last = node_out(node, i);
        if (last)
            lower_copy(lower, last, graph->input.at[i]);
    }
}

/* --- Scan of opset 8: with a batch dimension, of which each entry is a scan of its own. --- */

/* Entry b of the first dimension. */
static Tensor *entry(const Node *node, Tensor *tensor, int64_t index)
{
    const Shape *shape = &tensor->shape;
    Tensor *part = expand_slice(node, tensor, 0, index, index + 1);
    return expand_reshape(node, part, shape->rank - 1, shape->dim + 1);
}

static Node *scan_of_entry(Node *node, int64_t index, int results)
{
    int64_t count;
    const int64_t *reverse = node_ints(node, "directions", &count);
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    for (int i = 1; i < node->n_in; i++)
        in[i - 1] = entry(node, node->in[i], index);
    Node *scan = expand_node(node, "Scan", node->n_in - 1, in, results);
    expand_copy_attrs(scan, node);
    if (reverse)
        node_set_ints(scan, "scan_input_directions", count, reverse);
    expand_done(scan);
    return scan;
}

static int64_t batch_of(const Node *node)
{
    if (node->n_in < 2)
        fail_node(node, STATUS_MALFORMED, NULL, "has nothing to scan");
    if (node_in(node, 0))
        fail_node(
            node, STATUS_UNSUPPORTED,
            "leave sequence_lens out where all sequences have the same length",
            "sequences of different lengths are not supported");
    for (int i = 1; i < node->n_in; i++)
        if (infer_shape(node, i)->rank < 1 ||
            node->in[i]->shape.dim[0] != node->in[1]->shape.dim[0])
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its operands differ in the batch");
    const int64_t batch = node->in[1]->shape.dim[0];
    if (batch < 1 || batch > MOST_BATCH)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "a batch of %lld",
                  (long long)batch);
    return batch;
}

void expand_scan_8(Node *node)
{
    Arena *arena = node->graph->arena;
    const int results = node->n_out;
    const int64_t batch = batch_of(node);
    Tensor **part = NEW_ARRAY(arena, Tensor *, results * batch);
    Tensor **result = NEW_ARRAY(arena, Tensor *, results);
    for (int64_t k = 0; k < batch; k++) {
        const Node *scan = scan_of_entry(node, k, results);
        for (int i = 0; i < results; i++) {
            Tensor *result_of_entry = scan->out[i];
            part[i * batch + k] = expand_unsqueeze(node, result_of_entry, 0);
        }
    }
    for (int i = 0; i < results; i++) {
        Tensor **parts = part + i * batch;
        result[i] = parts[0];
        if (batch > 1)
            result[i] = control_concat(node, parts, (int)batch, 0);
    }
    expand_finish(node, results, result);
}
