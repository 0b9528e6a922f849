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

static const int64_t *per_operand(Node *n, const char *name, int count)
{
    int64_t given;
    const int64_t *v = node_ints(n, name, &given);
    if (v && given != count)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute \"%s\" has %lld entries, not %d", name,
                  (long long)given, count);
    return v ? v : NEW_ARRAY(n->graph->arena, int64_t, count + 1);
}

static ScanFacts scan_facts(Node *n, const Graph *body)
{
    ScanFacts f = { .sequences = (int)i64_min(i64_max(node_int(n, "num_scan_inputs", 0), 0),
                                              (int64_t)n->n_in + 1) };
    f.states = n->n_in - f.sequences;
    f.results = (int)body->output.n - f.states;
    if (f.sequences < 1 || f.states < 0 || f.results < 0 || body->input.n != (size_t)n->n_in ||
        (size_t)n->n_out > body->output.n)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "its body has another number of inputs or outputs than the node");
    f.in_axis = per_operand(n, "scan_input_axes", f.sequences);
    f.out_axis = per_operand(n, "scan_output_axes", f.results);
    f.in_reverse = per_operand(n, "scan_input_directions", f.sequences);
    f.out_reverse = per_operand(n, "scan_output_directions", f.results);
    return f;
}

static Shape without_axis(Shape s, int axis)
{
    for (int i = axis; i + 1 < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    s.rank--;
    return s;
}

static Shape with_axis(Shape s, int axis, int64_t n)
{
    for (int i = s.rank; i > axis; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[axis] = n;
    s.rank++;
    return s;
}

void infer_scan(Node *n)
{
    Graph *body = control_body(n, "body");
    ScanFacts f = scan_facts(n, body);
    Graph *g = graph_clone(n->graph, n, body);
    for (int i = 0; i < n->n_in; i++) {
        const Shape *s = infer_shape(n, i);
        const int axis = i < f.states ? 0 : node_axis(n, f.in_axis[i - f.states], s->rank);
        if (i >= f.states)
            f.length = s->dim[axis];
        control_set_input(g, (size_t)i, n->in[i]->dtype,
                          i < f.states ? *s : without_axis(*s, axis));
    }
    control_infer(g);
    for (int i = 0; i < f.states; i++)
        if (!shape_equal(&g->input.at[i]->shape, &g->output.at[i]->shape))
            fail_node(n, STATUS_UNSUPPORTED, NULL, "a state changes its shape from turn to turn");
    body->dead = true;
    control_set_body(n, "body", g);
    for (int i = 0; i < n->n_out; i++) {
        const Tensor *t = g->output.at[i];
        infer_out(n, i, t->dtype,
                  i < f.states
                      ? t->shape
                      : with_axis(t->shape,
                                  node_axis(n, f.out_axis[i - f.states], t->shape.rank + 1),
                                  f.length));
    }
}

static inlay_slice_params slice_params(const Tensor *whole, int axis, bool reverse)
{
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; i++)
        outer *= whole->shape.dim[i];
    for (int i = axis + 1; i < whole->shape.rank; i++)
        inner *= whole->shape.dim[i];
    return (inlay_slice_params){ .outer = outer,
                                 .bytes = dtype_bytes(whole->dtype, inner),
                                 .length = whole->shape.dim[axis],
                                 .reverse = reverse };
}

static void scan_turn(Lower *l, Node *n, Graph *g, const ScanFacts *f, Tensor *counter)
{
    for (int i = 0; i < f->sequences; i++) {
        Tensor *whole = n->in[f->states + i];
        const inlay_slice_params p = slice_params(
            whole, node_axis(n, f->in_axis[i], whole->shape.rank), f->in_reverse[i] == 1);
        Step *s = lower_step(l, n, "slice_load", &p);
        step_out(s, g->input.at[f->states + i]);
        step_in(s, whole);
        step_in(s, counter);
    }
    control_lower(l, g);
    for (int i = f->states; i < n->n_out; i++) {
        Tensor *whole = n->out[i];
        if (!whole)
            continue;
        const inlay_slice_params p =
            slice_params(whole, node_axis(n, f->out_axis[i - f->states], whole->shape.rank),
                         f->out_reverse[i - f->states] == 1);
        Step *s = lower_step(l, n, "slice_store", &p);
        step_out(s, whole)->read = true;
        step_in(s, g->output.at[i]);
        step_in(s, counter);
    }
}

/* As carry(), for a body whose states begin at input and output 0. */
static void carry_states(Lower *l, Node *n, Graph *g, int states)
{
    Tensor **copy = NEW_ARRAY(l->arena, Tensor *, states + 1);
    for (int i = 0; i < states; i++) {
        copy[i] = lower_temp(l, g->output.at[i]->dtype, g->output.at[i]->shape);
        lower_copy(l, n, copy[i], g->output.at[i]);
    }
    for (int i = 0; i < states; i++)
        lower_copy(l, n, g->input.at[i], copy[i]);
}

void lower_scan(Lower *l, Node *n)
{
    Graph *g = control_body(n, "body");
    const ScanFacts f = scan_facts(n, g);
    for (size_t i = 0; i < g->input.n; i++)
        g->input.at[i]->storage = STORE_ARENA;
    const Tensor *sequence = n->in[f.states];
    const int64_t length = sequence->shape.dim[node_axis(n, f.in_axis[0], sequence->shape.rank)];
    Tensor *counter = lower_temp(l, DT_I64, shape_vector(1)), *trip = lower_i64s(l, &length, 1);
    for (int i = 0; i < f.states; i++)
        lower_copy(l, n, g->input.at[i], n->in[i]);
    for (int i = f.states; i < n->n_out; i++)
        if (n->out[i])
            lower_clear(l, n, n->out[i]);
    const inlay_loop_params p = { .most = -1 };
    const int32_t begin = control_next(l);
    Step *b = control_step(l, n, "loop_begin", &p);
    step_out(b, counter);
    step_in(b, trip);
    step_in(b, NULL);
    scan_turn(l, n, g, &f, counter);
    carry_states(l, n, g, f.states);
    b->loop_end = control_next(l);
    const inlay_loop_params back = { .target = begin + 1, .most = -1 };
    Step *e = control_step(l, n, "loop_end", &back);
    step_out(e, counter)->read = true;
    step_in(e, trip);
    step_in(e, NULL);
    ((inlay_loop_params *)b->params)->target = control_next(l);
    for (int i = 0; i < f.states && i < n->n_out; i++)
        if (n->out[i])
            lower_copy(l, n, n->out[i], g->input.at[i]);
}

/* --- Scan of opset 8: with a batch dimension, of which each entry is a scan of its own. --- */

/* Entry b of the first dimension. */
static Tensor *entry(const Node *n, Tensor *t, int64_t b)
{
    return expand_reshape(n, expand_slice(n, t, 0, b, b + 1), t->shape.rank - 1, t->shape.dim + 1);
}

static Node *scan_of_entry(Node *n, int64_t b, int results)
{
    int64_t count;
    const int64_t *reverse = node_ints(n, "directions", &count);
    Tensor **in = NEW_ARRAY(n->graph->arena, Tensor *, n->n_in);
    for (int i = 1; i < n->n_in; i++)
        in[i - 1] = entry(n, n->in[i], b);
    Node *scan = expand_node(n, "Scan", n->n_in - 1, in, results);
    expand_copy_attrs(scan, n);
    if (reverse)
        node_set_ints(scan, "scan_input_directions", count, reverse);
    expand_done(scan);
    return scan;
}

void expand_scan_8(Node *n)
{
    Arena *a = n->graph->arena;
    const int results = n->n_out;
    if (n->n_in < 2)
        fail_node(n, STATUS_MALFORMED, NULL, "has nothing to scan");
    if (node_in(n, 0))
        fail_node(n, STATUS_UNSUPPORTED,
                  "leave sequence_lens out where all sequences have the same length",
                  "sequences of different lengths are not supported");
    for (int i = 1; i < n->n_in; i++)
        if (infer_shape(n, i)->rank < 1 || n->in[i]->shape.dim[0] != n->in[1]->shape.dim[0])
            fail_node(n, STATUS_MALFORMED, NULL, "its operands differ in the batch");
    const int64_t batch = n->in[1]->shape.dim[0];
    if (batch < 1 || batch > MOST_BATCH)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "a batch of %lld", (long long)batch);
    Tensor **part = NEW_ARRAY(a, Tensor *, results * batch),
           **result = NEW_ARRAY(a, Tensor *, results);
    for (int64_t b = 0; b < batch; b++) {
        Node *scan = scan_of_entry(n, b, results);
        for (int i = 0; i < results; i++)
            part[i * batch + b] = expand_unsqueeze(n, scan->out[i], 0);
    }
    for (int i = 0; i < results; i++)
        result[i] = batch == 1 ? part[i] : control_concat(n, part + i * batch, (int)batch, 0);
    expand_finish(n, results, result);
}
