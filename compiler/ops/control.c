/* SPDX-License-Identifier: Apache-2.0
 * If, Loop and Scan. A constant choice is taken while shapes are inferred; a loop whose values change their
 * shape from turn to turn is unrolled; everything else becomes steps that jump. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/clone.h"
#include "kernels/control.h"
#include "ops/dynamic.h"
#include "ops/families.h"

enum { MOST_UNROLLED = 1024 };

static Graph *body_of(Node *n, const char *name)
{
    const Attr *a = node_attr(n, name);
    if (!a || !a->graph) fail_node(n, STATUS_MALFORMED, NULL, "attribute \"%s\" is missing", name);
    return a->graph;
}

static void set_body(Node *n, const char *name, Graph *g)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name)) n->attr[i].graph = g;
}

static void infer_body(Graph *g)
{
    graph_root(g)->infer(g);
}

/* Puts the nodes of body into n's graph, its inputs being `in`; out[i] gets the value of output i. */
static void expand_body(Node *n, const Graph *body, Tensor *const *in, Tensor **out)
{
    Graph *g = n->graph, *root = graph_root(g);
    const CloneScope scope = { .image = NEW_ARRAY(g->arena, Tensor *, root->next_id + 1) };
    for (size_t i = 0; i < body->input.n; i++) scope.image[body->input.at[i]->id] = in[i];
    const size_t first = g->node.n;
    graph_clone_into(g, body, &scope);
    for (size_t i = first; i < g->node.n; i++) {
        g->node.at[i]->index = n->index;
        root->infer_node(g->node.at[i]);
    }
    for (size_t i = 0; i < body->output.n; i++) {
        Tensor *o = body->output.at[i], *made = o->id < root->next_id ? scope.image[o->id] : NULL;
        out[i] = made ? made : o;       /* an output may be a value from outside */
    }
}

/* Makes n's outputs what `made` says and takes n out. */
static void retire_into(Node *n, Tensor *const *made)
{
    Graph *g = n->graph;
    Tensor **out = arena_copy(g->arena, n->out, (size_t)n->n_out * sizeof *out);
    graph_kill(n);
    for (int i = 0; i < n->n_out; i++) {
        if (!out[i]) continue;
        out[i]->dtype = made[i]->dtype;
        out[i]->shape = made[i]->shape;
        dynamic_copy(out[i], made[i]);
        out[i]->value = made[i]->value;
        if (!made[i]->value) {
            Tensor *from = made[i];
            Node *identity = graph_insert_node(g, n, "", "Identity", 1, &from, 1, out + i);
            identity->version = OPSET_NEWEST;
            graph_root(g)->infer_node(identity);
        }
    }
}

/* --- If --- */

static void infer_quietly(void *body)
{
    infer_body(body);
}

/* A branch that is wrong for the shapes this compile is for cannot be taken: it goes, and the run that asks for it
 * ends with an error. Where both are wrong, the second one's message is the answer. */
static void infer_branches(Node *n, Graph *const *branch)
{
    for (int k = 0; k < 2; k++) {
        Diag attempt = { .quiet = !branch[0]->dead };
        if (!attempt.quiet) infer_body(branch[k]);
        else if (protect(&attempt, infer_quietly, branch[k])) branch[k]->dead = true;
        if (branch[k]->dead) warn_at(node_loc(n), "its %s branch does not fit the input shapes; a run that takes it ends with an error", k ? "then" : "else");
    }
}

void infer_if(Node *n)
{
    int64_t count;
    const int64_t *condition = infer_ints(n, 0, &count);
    Graph *branch[2] = { body_of(n, "else_branch"), body_of(n, "then_branch") };
    if (condition && count >= 1) {
        Tensor **made = NEW_ARRAY(n->graph->arena, Tensor *, branch[condition[0] != 0]->output.n);
        expand_body(n, branch[condition[0] != 0], NULL, made);
        branch[0]->dead = branch[1]->dead = true;
        retire_into(n, made);
        return;
    }
    for (int k = 0; k < 2; k++)
        if (branch[k]->output.n != (size_t)n->n_out) fail_node(n, STATUS_MALFORMED, NULL, "a branch gives another number of results than the node");
    infer_branches(n, branch);
    for (int i = 0; i < n->n_out; i++) {
        const Tensor *a = branch[branch[0]->dead]->output.at[i], *b = branch[!branch[1]->dead]->output.at[i];
        if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
            fail_node(n, STATUS_UNSUPPORTED, "bake the condition with --const, if it is fixed in your use",
                      "its branches give different shapes, %s and %s", shape_text(n->graph->arena, &b->shape), shape_text(n->graph->arena, &a->shape));
        infer_out(n, i, a->dtype, a->shape);
    }
}

static void lower_body(Lower *l, Graph *g)
{
    for (size_t i = 0; i < g->tensor.n; i++)
        if (!g->tensor.at[i]->value && !g->tensor.at[i]->storage) g->tensor.at[i]->storage = STORE_ARENA;
    Graph *outer = l->graph;
    l->graph = g;
    for (size_t i = 0; i < g->node.n; i++) {
        if (!(g->node.at[i]->op->types & DTYPE_BIT(g->node.at[i]->n_in && g->node.at[i]->in[0] ? g->node.at[i]->in[0]->dtype : g->node.at[i]->out[0]->dtype)))
            fail_node(g->node.at[i], STATUS_UNSUPPORTED, "`inlay ops` lists the types of each operator", "its element type is not supported");
        g->node.at[i]->op->lower(l, g->node.at[i]);
    }
    l->graph = outer;
}

static Step *control_step(Lower *l, Node *n, const char *kernel, const void *params)
{
    Step *s = lower_step(l, n, kernel, params);
    s->control = true;
    return s;
}

static int32_t next_step(const Lower *l)
{
    return (int32_t)l->program->step.n;
}

static void lower_branch(Lower *l, Node *n, Graph *g)
{
    const inlay_jump_params none = { 0 };
    if (g->dead) {
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i]) lower_clear(l, n, n->out[i]);
        control_step(l, n, "refuse", &none);
        return;
    }
    lower_body(l, g);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) lower_copy(l, n, n->out[i], g->output.at[i]);
}

void lower_if(Lower *l, Node *n)
{
    const inlay_jump_params none = { 0 };
    Step *choose = control_step(l, n, "jump_unless", &none);
    step_in(choose, n->in[0]);
    lower_branch(l, n, body_of(n, "then_branch"));
    Step *skip = control_step(l, n, "jump", &none);
    ((inlay_jump_params *)choose->params)->target = next_step(l);
    lower_branch(l, n, body_of(n, "else_branch"));
    ((inlay_jump_params *)skip->params)->target = next_step(l);
}

/* --- Loop --- */

static void set_input(Graph *g, size_t i, DType t, Shape s)
{
    g->input.at[i]->dtype = t;
    g->input.at[i]->shape = s;
}

static Shape iteration_shape(const Graph *body, size_t i)
{
    return body->input.at[i]->shape.rank == 1 ? shape_vector(1) : shape_scalar();
}

/* A copy of the body with shapes for carried values as they are at the first turn. */
static Graph *typed_body(Node *n, const Graph *body, int first_carried, int carried)
{
    Graph *g = graph_clone(n->graph, n, body);
    for (int i = 0; i < carried; i++) {
        const Tensor *t = n->in[first_carried + i];
        set_input(g, g->input.n - (size_t)carried + (size_t)i, t->dtype, *infer_shape(n, first_carried + i));
    }
    return g;
}

static bool is_true(const Tensor *t, Graph *g)
{
    int64_t count;
    const int64_t *v = tensor_ints(g, t, &count);
    return v && count >= 1 && v[0];
}

static bool stable(const Graph *g, int carried)
{
    for (int i = 0; i < carried; i++)
        if (!shape_equal(&g->input.at[2 + i]->shape, &g->output.at[1 + i]->shape) || g->input.at[2 + i]->dtype != g->output.at[1 + i]->dtype) return false;
    return true;
}

static Tensor *unsqueezed(Node *n, Tensor *t)
{
    Graph *g = n->graph;
    Tensor *out = graph_add_tensor(g, NULL, t->dtype, (Shape){ .rank = -1 });
    Shape s = { .rank = t->shape.rank + 1, .dim = { 1 } };
    for (int i = 0; i < t->shape.rank; i++) s.dim[i + 1] = t->shape.dim[i];
    Tensor *in[2] = { t, graph_add_ints(g, NULL, s.rank, s.dim) };
    Node *reshape = graph_insert_node(g, n, "", "Reshape", 2, in, 1, &out);
    reshape->version = OPSET_NEWEST;
    graph_root(g)->infer_node(reshape);
    return out;
}

static Tensor *concat(Node *n, Tensor *const *part, int count, int axis)
{
    Graph *g = n->graph;
    Tensor *out = graph_add_tensor(g, NULL, part[0]->dtype, (Shape){ .rank = -1 });
    Node *c = graph_insert_node(g, n, "", "Concat", count, part, 1, &out);
    c->version = OPSET_NEWEST;
    node_set_int(c, "axis", axis);
    graph_root(g)->infer_node(c);
    return out;
}

/* The loop as `trips` copies of its body, one after the other. */
static void unroll(Node *n, const Graph *body, int64_t trips, int carried)
{
    Arena *a = n->graph->arena;
    const int scans = (int)body->output.n - 1 - carried;
    Tensor **in = NEW_ARRAY(a, Tensor *, body->input.n), **out = NEW_ARRAY(a, Tensor *, body->output.n);
    Tensor **rows = NEW_ARRAY(a, Tensor *, (int64_t)scans * trips + 1), **made = NEW_ARRAY(a, Tensor *, carried + scans + 1);
    for (int i = 0; i < carried; i++) made[i] = n->in[2 + i];
    int64_t turn = 0;
    const uint8_t one = 1;
    Tensor *condition = graph_add_constant(n->graph, NULL, recipe_memory(n->graph->store, DT_BOOL, 0, NULL, &one));
    for (; turn < trips; turn++) {
        const Shape s = iteration_shape(body, 0);
        in[0] = graph_add_constant(n->graph, NULL, recipe_memory(n->graph->store, DT_I64, s.rank, s.dim, &turn));
        in[1] = condition;
        for (int i = 0; i < carried; i++) in[2 + i] = made[i];
        expand_body(n, body, in, out);
        for (int i = 0; i < carried; i++) made[i] = out[1 + i];
        for (int i = 0; i < scans; i++) rows[i * trips + turn] = unsqueezed(n, out[1 + carried + i]);
        if (!out[0]->value) fail_node(n, STATUS_UNSUPPORTED, "bake the inputs its condition depends on with --const", "its values change their shape while its end depends on the data");
        if (!is_true(out[0], n->graph)) { turn++; break; }
    }
    for (int i = 0; i < scans; i++) {
        if (!turn) fail_node(n, STATUS_UNSUPPORTED, NULL, "makes no turn, so its scan outputs have no shape");
        made[carried + i] = concat(n, rows + i * trips, (int)turn, 0);
    }
    retire_into(n, made);
}

static int64_t trip_count(Node *n)
{
    int64_t count;
    const int64_t *v = infer_ints(n, 0, &count);
    return v && count >= 1 ? i64_max(v[0], 0) : -1;
}

static void infer_loop_outputs(Node *n, const Graph *g, int64_t trips, int carried, bool ends_early)
{
    for (int i = 0; i < n->n_out; i++) {
        const Tensor *t = g->output.at[1 + i];
        Shape s = t->shape;
        if (i >= carried) {
            const Tensor *o = n->out[i];
            if (trips < 0 && o && shape_known(&o->declared)) trips = o->declared.dim[0];
            if (trips < 0) fail_node(n, STATUS_UNSUPPORTED, "bake the trip count with --const, or declare the output's shape", "the number of turns is known only at run time");
            s.rank++;
            s.dim[0] = trips;
            for (int k = 0; k < t->shape.rank; k++) s.dim[k + 1] = t->shape.dim[k];
            if (ends_early && o && shape_known(&o->declared)) s = o->declared;
        }
        infer_out(n, i, t->dtype, s);
    }
}

void infer_loop(Node *n)
{
    Graph *body = body_of(n, "body");
    const int carried = n->n_in - 2;
    if (body->input.n != (size_t)carried + 2 || body->output.n < (size_t)carried + 1 || (size_t)n->n_out > body->output.n - 1)
        fail_node(n, STATUS_MALFORMED, NULL, "its body has another number of inputs or outputs than the node");
    Graph *g = typed_body(n, body, 2, carried);
    set_input(g, 0, DT_I64, iteration_shape(body, 0));
    set_input(g, 1, DT_BOOL, iteration_shape(body, 1));
    infer_body(g);
    const int64_t trips = trip_count(n);
    const bool runs = !node_in(n, 1) || is_true(n->in[1], n->graph), always = runs && (is_true(g->output.at[0], g) || g->output.at[0] == g->input.at[1]);
    if (!stable(g, carried)) {
        g->dead = body->dead = true;
        if (trips < 0 || trips > MOST_UNROLLED || !runs) fail_node(n, STATUS_UNSUPPORTED, "bake the trip count with --const", "its values change their shape from turn to turn");
        unroll(n, body, trips, carried);
        return;
    }
    body->dead = true;
    set_body(n, "body", g);
    infer_loop_outputs(n, g, trips, carried, !always);
}

/* Carried values move together: one that is also read for another carried value goes through a copy. */
static void carry(Lower *l, Node *n, Graph *g, int carried)
{
    Tensor **from = NEW_ARRAY(l->arena, Tensor *, carried + 1);
    for (int i = 0; i < carried; i++) {
        int64_t at;
        from[i] = g->output.at[1 + i];
        const Tensor *root = from[i]->value ? NULL : tensor_root(from[i], &at);
        for (int k = 0; k < carried && root; k++) {
            int64_t other;
            if (k == i || root != tensor_root(g->input.at[2 + k], &other)) continue;
            Tensor *copy = lower_temp(l, from[i]->dtype, from[i]->shape);
            lower_copy(l, n, copy, from[i]);
            from[i] = copy;
            break;
        }
    }
    for (int i = 0; i < carried; i++)
        if (from[i] != g->input.at[2 + i]) lower_copy(l, n, g->input.at[2 + i], from[i]);
}

static Step *loop_step(Lower *l, Node *n, const char *kernel, const inlay_loop_params *p, Tensor *counter, Tensor *condition)
{
    Step *s = control_step(l, n, kernel, p);
    step_out(s, counter)->read = !strcmp(kernel, "loop_end");
    Tensor *trip = node_in(n, 0);
    step_in(s, trip && !strcmp(n->op_type, "Loop") ? trip : NULL);
    step_in(s, condition);
    return s;
}

static void store_slices(Lower *l, Node *n, Graph *g, Tensor *counter, int first)
{
    for (int i = first; i < n->n_out; i++) {
        if (!n->out[i]) continue;
        Tensor *slice = g->output.at[1 + i];
        const inlay_slice_params p = { .outer = 1, .bytes = tensor_bytes(slice), .length = n->out[i]->shape.dim[0] };
        Step *s = lower_step(l, n, "slice_store", &p);
        step_out(s, n->out[i])->read = true;
        step_in(s, slice);
        step_in(s, counter);
    }
}

void lower_loop(Lower *l, Node *n)
{
    Graph *g = body_of(n, "body");
    const int carried = n->n_in - 2;
    for (size_t i = 0; i < g->input.n; i++) g->input.at[i]->storage = STORE_ARENA;
    Tensor *counter = g->input.at[0], *condition = g->input.at[1];
    const bool tested = !is_true(g->output.at[0], g) || (node_in(n, 1) && !is_true(n->in[1], g));
    for (int i = 0; i < carried; i++) lower_copy(l, n, g->input.at[2 + i], n->in[2 + i]);
    const uint8_t one = 1;
    Tensor *first = node_in(n, 1) ? n->in[1] : lower_constant(l, recipe_memory(g->store, DT_BOOL, 0, NULL, &one));
    if (condition->uses || tested) lower_copy(l, n, condition, first);
    for (int i = carried; i < n->n_out; i++)
        if (n->out[i]) lower_clear(l, n, n->out[i]);
    int64_t most = -1;
    for (int i = carried; i < n->n_out; i++)
        if (n->out[i]) most = n->out[i]->shape.dim[0];
    const inlay_loop_params p = { .most = most };
    const int32_t begin = next_step(l);
    Step *b = loop_step(l, n, "loop_begin", &p, counter, tested ? condition : NULL);
    lower_body(l, g);
    store_slices(l, n, g, counter, carried);
    if (tested) lower_copy(l, n, condition, g->output.at[0]);
    carry(l, n, g, carried);
    const inlay_loop_params back = { .target = begin + 1, .most = most };
    b->loop_end = next_step(l);
    loop_step(l, n, "loop_end", &back, counter, tested ? condition : NULL);
    ((inlay_loop_params *)b->params)->target = next_step(l);
    for (int i = 0; i < carried && i < n->n_out; i++)
        if (n->out[i]) lower_copy(l, n, n->out[i], g->input.at[2 + i]);
}

/* --- Scan --- */

typedef struct ScanFacts {
    int states, sequences, results;     /* carried values, scan inputs, scan outputs */
    int64_t length;
    const int64_t *in_axis, *out_axis, *in_reverse, *out_reverse;
} ScanFacts;

static const int64_t *per_operand(Node *n, const char *name, int count)
{
    int64_t given;
    const int64_t *v = node_ints(n, name, &given);
    if (v && given != count) fail_node(n, STATUS_MALFORMED, NULL, "attribute \"%s\" has %lld entries, not %d", name, (long long)given, count);
    return v ? v : NEW_ARRAY(n->graph->arena, int64_t, count + 1);
}

static ScanFacts scan_facts(Node *n, const Graph *body)
{
    ScanFacts f = { .sequences = (int)node_int(n, "num_scan_inputs", 0) };
    f.states = n->n_in - f.sequences;
    f.results = (int)body->output.n - f.states;
    if (f.sequences < 1 || f.states < 0 || f.results < 0 || body->input.n != (size_t)n->n_in || (size_t)n->n_out > body->output.n)
        fail_node(n, STATUS_MALFORMED, NULL, "its body has another number of inputs or outputs than the node");
    f.in_axis = per_operand(n, "scan_input_axes", f.sequences);
    f.out_axis = per_operand(n, "scan_output_axes", f.results);
    f.in_reverse = per_operand(n, "scan_input_directions", f.sequences);
    f.out_reverse = per_operand(n, "scan_output_directions", f.results);
    return f;
}

static Shape without_axis(Shape s, int axis)
{
    for (int i = axis; i + 1 < s.rank; i++) s.dim[i] = s.dim[i + 1];
    s.rank--;
    return s;
}

static Shape with_axis(Shape s, int axis, int64_t n)
{
    for (int i = s.rank; i > axis; i--) s.dim[i] = s.dim[i - 1];
    s.dim[axis] = n;
    s.rank++;
    return s;
}

void infer_scan(Node *n)
{
    Graph *body = body_of(n, "body");
    ScanFacts f = scan_facts(n, body);
    Graph *g = graph_clone(n->graph, n, body);
    for (int i = 0; i < n->n_in; i++) {
        const Shape *s = infer_shape(n, i);
        const int axis = i < f.states ? 0 : node_axis(n, f.in_axis[i - f.states], s->rank);
        if (i >= f.states) f.length = s->dim[axis];
        set_input(g, (size_t)i, n->in[i]->dtype, i < f.states ? *s : without_axis(*s, axis));
    }
    infer_body(g);
    for (int i = 0; i < f.states; i++)
        if (!shape_equal(&g->input.at[i]->shape, &g->output.at[i]->shape)) fail_node(n, STATUS_UNSUPPORTED, NULL, "a state changes its shape from turn to turn");
    body->dead = true;
    set_body(n, "body", g);
    for (int i = 0; i < n->n_out; i++) {
        const Tensor *t = g->output.at[i];
        infer_out(n, i, t->dtype, i < f.states ? t->shape : with_axis(t->shape, node_axis(n, f.out_axis[i - f.states], t->shape.rank + 1), f.length));
    }
}

static inlay_slice_params slice_params(const Tensor *whole, int axis, bool reverse)
{
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; i++) outer *= whole->shape.dim[i];
    for (int i = axis + 1; i < whole->shape.rank; i++) inner *= whole->shape.dim[i];
    return (inlay_slice_params){ .outer = outer, .bytes = dtype_bytes(whole->dtype, inner), .length = whole->shape.dim[axis], .reverse = reverse };
}

static void scan_turn(Lower *l, Node *n, Graph *g, const ScanFacts *f, Tensor *counter)
{
    for (int i = 0; i < f->sequences; i++) {
        Tensor *whole = n->in[f->states + i];
        const inlay_slice_params p = slice_params(whole, node_axis(n, f->in_axis[i], whole->shape.rank), f->in_reverse[i] == 1);
        Step *s = lower_step(l, n, "slice_load", &p);
        step_out(s, g->input.at[f->states + i]);
        step_in(s, whole);
        step_in(s, counter);
    }
    lower_body(l, g);
    for (int i = f->states; i < n->n_out; i++) {
        Tensor *whole = n->out[i];
        if (!whole) continue;
        const inlay_slice_params p = slice_params(whole, node_axis(n, f->out_axis[i - f->states], whole->shape.rank), f->out_reverse[i - f->states] == 1);
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
    for (int i = 0; i < states; i++) lower_copy(l, n, g->input.at[i], copy[i]);
}

void lower_scan(Lower *l, Node *n)
{
    Graph *g = body_of(n, "body");
    const ScanFacts f = scan_facts(n, g);
    for (size_t i = 0; i < g->input.n; i++) g->input.at[i]->storage = STORE_ARENA;
    const Tensor *sequence = n->in[f.states];
    const int64_t length = sequence->shape.dim[node_axis(n, f.in_axis[0], sequence->shape.rank)];
    Tensor *counter = lower_temp(l, DT_I64, shape_vector(1)), *trip = lower_i64s(l, &length, 1);
    for (int i = 0; i < f.states; i++) lower_copy(l, n, g->input.at[i], n->in[i]);
    for (int i = f.states; i < n->n_out; i++)
        if (n->out[i]) lower_clear(l, n, n->out[i]);
    const inlay_loop_params p = { .most = -1 };
    const int32_t begin = next_step(l);
    Step *b = control_step(l, n, "loop_begin", &p);
    step_out(b, counter);
    step_in(b, trip);
    step_in(b, NULL);
    scan_turn(l, n, g, &f, counter);
    carry_states(l, n, g, f.states);
    b->loop_end = next_step(l);
    const inlay_loop_params back = { .target = begin + 1, .most = -1 };
    Step *e = control_step(l, n, "loop_end", &back);
    step_out(e, counter)->read = true;
    step_in(e, trip);
    step_in(e, NULL);
    ((inlay_loop_params *)b->params)->target = next_step(l);
    for (int i = 0; i < f.states && i < n->n_out; i++)
        if (n->out[i]) lower_copy(l, n, n->out[i], g->input.at[i]);
}
