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
    int states, sequences, results; /* carried values, scan inputs, scan outputs */
    int64_t length;
    const int64_t *in_axis, *out_axis, *in_reverse, *out_reverse;
} ScanFacts;

static const int64_t *per_operand(Node *node, const char *name, int count)
{
    int64_t given;
    const int64_t *v = node_ints(node, name, &given);
    if (v && given != count)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute \"%s\" has %lld entries, not %d", name,
                  (long long)given, count);
    return v ? v : NEW_ARRAY(node->graph->arena, int64_t, count + 1);
}

static ScanFacts scan_facts(Node *node, const Graph *body)
{
    ScanFacts facts = { .sequences = (int)i64_min(i64_max(node_int(node, "num_scan_inputs", 0), 0),
                                                  (int64_t)node->n_in + 1) };
    facts.states = node->n_in - facts.sequences;
    facts.results = (int)body->output.n - facts.states;
    if (facts.sequences < 1 || facts.states < 0 || facts.results < 0 ||
        body->input.n != (size_t)node->n_in || (size_t)node->n_out > body->output.n)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its body has another number of inputs or outputs than the node");
    facts.in_axis = per_operand(node, "scan_input_axes", facts.sequences);
    facts.out_axis = per_operand(node, "scan_output_axes", facts.results);
    facts.in_reverse = per_operand(node, "scan_input_directions", facts.sequences);
    facts.out_reverse = per_operand(node, "scan_output_directions", facts.results);
    return facts;
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

void infer_scan(Node *node)
{
    Graph *body = control_body(node, "body");
    ScanFacts facts = scan_facts(node, body);
    Graph *g = graph_clone(node->graph, node, body);
    for (int i = 0; i < node->n_in; i++) {
        const Shape *s = infer_shape(node, i);
        const int axis =
            i < facts.states ? 0 : node_axis(node, facts.in_axis[i - facts.states], s->rank);
        if (i >= facts.states)
            facts.length = s->dim[axis];
        control_set_input(g, (size_t)i, node->in[i]->dtype,
                          i < facts.states ? *s : without_axis(*s, axis));
    }
    control_infer(g);
    for (int i = 0; i < facts.states; i++)
        if (!shape_equal(&g->input.at[i]->shape, &g->output.at[i]->shape))
            fail_node(node, STATUS_UNSUPPORTED, NULL,
                      "a state changes its shape from turn to turn");
    body->dead = true;
    control_set_body(node, "body", g);
    for (int i = 0; i < node->n_out; i++) {
        const Tensor *tensor = g->output.at[i];
        infer_out(node, i, tensor->dtype,
                  i < facts.states ? tensor->shape
                                   : with_axis(tensor->shape,
                                               node_axis(node, facts.out_axis[i - facts.states],
                                                         tensor->shape.rank + 1),
                                               facts.length));
    }
}

static inlay_slice_params slice_params(const Tensor *whole, int axis, bool reverse)
{
    int64_t outer = 1;
    int64_t inner = 1;
    for (int i = 0; i < axis; i++)
        outer *= whole->shape.dim[i];
    for (int i = axis + 1; i < whole->shape.rank; i++)
        inner *= whole->shape.dim[i];
    return (inlay_slice_params){ .outer = outer,
                                 .bytes = dtype_bytes(whole->dtype, inner),
                                 .length = whole->shape.dim[axis],
                                 .reverse = reverse };
}

static void scan_turn(Lower *lower, Node *node, Graph *graph, const ScanFacts *facts,
                      Tensor *counter)
{
    for (int i = 0; i < facts->sequences; i++) {
        Tensor *whole = node->in[facts->states + i];
        const inlay_slice_params p =
            slice_params(whole, node_axis(node, facts->in_axis[i], whole->shape.rank),
                         facts->in_reverse[i] == 1);
        Step *s = lower_step(lower, node, "slice_load", &p);
        step_out(s, graph->input.at[facts->states + i]);
        step_in(s, whole);
        step_in(s, counter);
    }
    control_lower(lower, graph);
    for (int i = facts->states; i < node->n_out; i++) {
        Tensor *whole = node->out[i];
        if (!whole)
            continue;
        const inlay_slice_params p = slice_params(
            whole, node_axis(node, facts->out_axis[i - facts->states], whole->shape.rank),
            facts->out_reverse[i - facts->states] == 1);
        Step *s = lower_step(lower, node, "slice_store", &p);
        step_out(s, whole)->read = true;
        step_in(s, graph->output.at[i]);
        step_in(s, counter);
    }
}

/* As carry(), for a body whose states begin at input and output 0. */
static void carry_states(Lower *lower, Node *node, Graph *graph, int states)
{
    Tensor **copy = NEW_ARRAY(lower->arena, Tensor *, states + 1);
    for (int i = 0; i < states; i++) {
        copy[i] = lower_temp(lower, graph->output.at[i]->dtype, graph->output.at[i]->shape);
        lower_copy(lower, node, copy[i], graph->output.at[i]);
    }
    for (int i = 0; i < states; i++)
        lower_copy(lower, node, graph->input.at[i], copy[i]);
}

void lower_scan(Lower *lower, Node *node)
{
    Graph *graph = control_body(node, "body");
    const ScanFacts facts = scan_facts(node, graph);
    for (size_t i = 0; i < graph->input.n; i++)
        graph->input.at[i]->storage = STORE_ARENA;
    const Tensor *sequence = node->in[facts.states];
    const int64_t length =
        sequence->shape.dim[node_axis(node, facts.in_axis[0], sequence->shape.rank)];
    Tensor *counter = lower_temp(lower, DT_I64, shape_vector(1));
    Tensor *trip = lower_i64s(lower, &length, 1);
    for (int i = 0; i < facts.states; i++)
        lower_copy(lower, node, graph->input.at[i], node->in[i]);
    for (int i = facts.states; i < node->n_out; i++)
        if (node->out[i])
            lower_clear(lower, node, node->out[i]);
    const inlay_loop_params p = { .most = -1 };
    const int32_t begin = control_next(lower);
    Step *b = control_step(lower, node, "loop_begin", &p);
    step_out(b, counter);
    step_in(b, trip);
    step_in(b, NULL);
    scan_turn(lower, node, graph, &facts, counter);
    carry_states(lower, node, graph, facts.states);
    b->loop_end = control_next(lower);
    const inlay_loop_params back = { .target = begin + 1, .most = -1 };
    Step *e = control_step(lower, node, "loop_end", &back);
    step_out(e, counter)->read = true;
    step_in(e, trip);
    step_in(e, NULL);
    ((inlay_loop_params *)b->params)->target = control_next(lower);
    for (int i = 0; i < facts.states && i < node->n_out; i++)
        if (node->out[i])
            lower_copy(lower, node, node->out[i], graph->input.at[i]);
}

/* --- Scan of opset 8: with a batch dimension, of which each entry is a scan of its own. --- */

/* Entry b of the first dimension. */
static Tensor *entry(const Node *node, Tensor *tensor, int64_t b)
{
    return expand_reshape(node, expand_slice(node, tensor, 0, b, b + 1), tensor->shape.rank - 1,
                          tensor->shape.dim + 1);
}

static Node *scan_of_entry(Node *node, int64_t b, int results)
{
    int64_t count;
    const int64_t *reverse = node_ints(node, "directions", &count);
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    for (int i = 1; i < node->n_in; i++)
        in[i - 1] = entry(node, node->in[i], b);
    Node *scan = expand_node(node, "Scan", node->n_in - 1, in, results);
    expand_copy_attrs(scan, node);
    if (reverse)
        node_set_ints(scan, "scan_input_directions", count, reverse);
    expand_done(scan);
    return scan;
}

void expand_scan_8(Node *node)
{
    Arena *a = node->graph->arena;
    const int results = node->n_out;
    if (node->n_in < 2)
        fail_node(node, STATUS_MALFORMED, NULL, "has nothing to scan");
    if (node_in(node, 0))
        fail_node(node, STATUS_UNSUPPORTED,
                  "leave sequence_lens out where all sequences have the same length",
                  "sequences of different lengths are not supported");
    for (int i = 1; i < node->n_in; i++)
        if (infer_shape(node, i)->rank < 1 ||
            node->in[i]->shape.dim[0] != node->in[1]->shape.dim[0])
            fail_node(node, STATUS_MALFORMED, NULL, "its operands differ in the batch");
    const int64_t batch = node->in[1]->shape.dim[0];
    if (batch < 1 || batch > MOST_BATCH)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "a batch of %lld", (long long)batch);
    Tensor **part = NEW_ARRAY(a, Tensor *, results * batch);
    Tensor **result = NEW_ARRAY(a, Tensor *, results);
    for (int64_t b = 0; b < batch; b++) {
        Node *scan = scan_of_entry(node, b, results);
        for (int i = 0; i < results; i++)
            part[i * batch + b] = expand_unsqueeze(node, scan->out[i], 0);
    }
    for (int i = 0; i < results; i++)
        result[i] = batch == 1 ? part[i] : control_concat(node, part + i * batch, (int)batch, 0);
    expand_finish(node, results, result);
}
