/* SPDX-License-Identifier: Apache-2.0
 * If and Loop. A constant choice is taken while shapes are inferred; a loop whose values change
 * their shape from turn to turn is unrolled; everything else becomes steps that jump. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/clone.h"
#include "kernels/control.h"
#include "ops/control.h"
#include "ops/dynamic.h"
#include "ops/families.h"

enum { MOST_UNROLLED = 1024 };

Graph *control_body(Node *n, const char *name)
{
    const Attr *a = node_attr(n, name);
    if (!a || !a->graph)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute \"%s\" is missing", name);
    return a->graph;
}

void control_set_body(Node *n, const char *name, Graph *g)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name))
            n->attr[i].graph = g;
}

void control_infer(Graph *g)
{
    graph_root(g)->infer(g);
}

void control_expand(Node *n, const Graph *body, Tensor *const *in, Tensor **out)
{
    Graph *g = n->graph, *root = graph_root(g);
    const int ids = root->next_id;
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const CloneScope scope = { .image = NEW_ARRAY(scratch, Tensor *, ids) };
    for (size_t i = 0; i < body->input.n; i++)
        scope.image[body->input.at[i]->id] = in[i];
    const size_t first = g->node.n;
    graph_clone_into(g, body, &scope);
    for (size_t i = first; i < g->node.n; i++) {
        g->node.at[i]->index = n->index;
        root->infer_node(g->node.at[i]);
    }
    for (size_t i = 0; i < body->output.n; i++) {
        Tensor *o = body->output.at[i], *made = o->id < ids ? scope.image[o->id] : NULL;
        out[i] = made ? made : o; /* an output may be a value from outside */
    }
    arena_release(scratch, mark);
}

/* Makes n's outputs what `made` says and takes n out. */
static void retire_into(Node *n, Tensor *const *made)
{
    Graph *g = n->graph;
    Tensor **out = arena_copy(g->arena, n->out, (size_t)n->n_out * sizeof *out);
    graph_kill(n);
    for (int i = 0; i < n->n_out; i++) {
        if (!out[i])
            continue;
        out[i]->dtype = made[i]->dtype;
        out[i]->shape = made[i]->shape;
        dynamic_copy(out[i], made[i]);
        out[i]->value = made[i]->value;
        out[i]->sequence = made[i]->sequence;
        if (!made[i]->value && !made[i]->sequence) {
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
    control_infer(body);
}

/* A branch that is wrong for the shapes this compile is for cannot be taken: it goes, and the run
 * that asks for it ends with an error. Where both are wrong, the second one's message is the
 * answer. */
static void infer_branches(Node *n, Graph *const *branch)
{
    for (int k = 0; k < 2; k++) {
        Diag attempt = { .quiet = !branch[0]->dead };
        if (!attempt.quiet)
            control_infer(branch[k]);
        else if (protect(&attempt, infer_quietly, branch[k]))
            branch[k]->dead = true;
        if (branch[k]->dead)
            warn_at(node_loc(n),
                    "its %s branch does not fit the input shapes; a run that takes it ends with an "
                    "error",
                    k ? "then" : "else");
    }
}

void infer_if(Node *n)
{
    int64_t count;
    const int64_t *condition = infer_ints(n, 0, &count);
    Graph *branch[2] = { control_body(n, "else_branch"), control_body(n, "then_branch") };
    if (condition && count >= 1) {
        Tensor **made = NEW_ARRAY(n->graph->arena, Tensor *, branch[condition[0] != 0]->output.n);
        control_expand(n, branch[condition[0] != 0], NULL, made);
        branch[0]->dead = branch[1]->dead = true;
        retire_into(n, made);
        return;
    }
    for (int k = 0; k < 2; k++)
        if (branch[k]->output.n != (size_t)n->n_out)
            fail_node(n, STATUS_MALFORMED, NULL,
                      "a branch gives another number of results than the node");
    infer_branches(n, branch);
    for (int i = 0; i < n->n_out; i++) {
        const Tensor *a = branch[branch[0]->dead]->output.at[i],
                     *b = branch[!branch[1]->dead]->output.at[i];
        if (a->sequence || b->sequence || !shape_known(&a->shape) || !shape_known(&b->shape))
            fail_node(n, STATUS_UNSUPPORTED,
                      "bake the condition with --const, if it is fixed in your use",
                      "its branches give sequences, or shapes that are not known: that takes a "
                      "condition known when compiling");
        if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
            fail_node(n, STATUS_UNSUPPORTED,
                      "bake the condition with --const, if it is fixed in your use",
                      "its branches give different shapes, %s and %s",
                      shape_text(n->graph->arena, &b->shape),
                      shape_text(n->graph->arena, &a->shape));
        infer_out(n, i, a->dtype, a->shape);
    }
}

void control_lower(Lower *l, Graph *g)
{
    for (size_t i = 0; i < g->tensor.n; i++)
        if (!g->tensor.at[i]->value && !g->tensor.at[i]->storage)
            g->tensor.at[i]->storage = STORE_ARENA;
    Graph *outer = l->graph;
    l->graph = g;
    for (size_t i = 0; i < g->node.n; i++) {
        if (!op_check_type(g->node.at[i]))
            fail_if_errors();
        lower_node(l, g->node.at[i]);
    }
    l->graph = outer;
}

Step *control_step(Lower *l, Node *n, const char *kernel, const void *params)
{
    Step *s = lower_step(l, n, kernel, params);
    s->control = true;
    return s;
}

int32_t control_next(const Lower *l)
{
    return (int32_t)l->program->step.n;
}

void control_move(Step *s)
{
    if (s->loop_end >= 0)
        s->loop_end++;
    if (!s->control)
        return;
    if (!strcmp(s->kernel->params, "jump"))
        ((inlay_jump_params *)s->params)->target++;
    else
        ((inlay_loop_params *)s->params)->target++;
}

static void lower_branch(Lower *l, Node *n, Graph *g)
{
    const inlay_jump_params none = { 0 };
    if (g->dead) {
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                lower_clear(l, n, n->out[i]);
        control_step(l, n, "refuse", &none);
        return;
    }
    control_lower(l, g);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            lower_copy(l, n, n->out[i], g->output.at[i]);
}

void lower_if(Lower *l, Node *n)
{
    const inlay_jump_params none = { 0 };
    Step *choose = control_step(l, n, "jump_unless", &none);
    step_in(choose, n->in[0]);
    lower_branch(l, n, control_body(n, "then_branch"));
    Step *skip = control_step(l, n, "jump", &none);
    ((inlay_jump_params *)choose->params)->target = control_next(l);
    lower_branch(l, n, control_body(n, "else_branch"));
    ((inlay_jump_params *)skip->params)->target = control_next(l);
}

/* --- Loop --- */

void control_set_input(Graph *g, size_t i, DType t, Shape s)
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
        control_set_input(g, g->input.n - (size_t)carried + (size_t)i, t->dtype,
                          *infer_shape(n, first_carried + i));
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
        if (!shape_equal(&g->input.at[2 + i]->shape, &g->output.at[1 + i]->shape) ||
            g->input.at[2 + i]->dtype != g->output.at[1 + i]->dtype)
            return false;
    return true;
}

static Tensor *unsqueezed(Node *n, Tensor *t)
{
    Graph *g = n->graph;
    Tensor *out = graph_add_tensor(g, NULL, t->dtype, (Shape){ .rank = -1 });
    Shape s = { .rank = t->shape.rank + 1, .dim = { 1 } };
    for (int i = 0; i < t->shape.rank; i++)
        s.dim[i + 1] = t->shape.dim[i];
    Tensor *in[2] = { t, graph_add_ints(g, NULL, s.rank, s.dim) };
    Node *reshape = graph_insert_node(g, n, "", "Reshape", 2, in, 1, &out);
    reshape->version = OPSET_NEWEST;
    graph_root(g)->infer_node(reshape);
    return out;
}

Tensor *control_concat(Node *n, Tensor *const *part, int count, int axis)
{
    Graph *g = n->graph;
    Tensor *out = graph_add_tensor(g, NULL, part[0]->dtype, (Shape){ .rank = -1 });
    Node *c = graph_insert_node(g, n, "", "Concat", count, part, 1, &out);
    c->version = OPSET_NEWEST;
    node_set_int(c, "axis", axis);
    graph_root(g)->infer_node(c);
    return out;
}

/* The loop as copies of its body, one after the other: `trips` of them, or until its condition, a
 * constant at each turn, ends it. */
static void unroll(Node *n, const Graph *body, int64_t trips, int carried)
{
    const bool endless = trips < 0 || trips > MOST_UNROLLED;
    Arena *a = n->graph->arena;
    const int scans = (int)body->output.n - 1 - carried;
    Tensor **in = NEW_ARRAY(a, Tensor *, body->input.n),
           **out = NEW_ARRAY(a, Tensor *, body->output.n);
    if (endless)
        trips = MOST_UNROLLED;
    Tensor **rows = NEW_ARRAY(a, Tensor *, (int64_t)scans * trips + 1),
           **made = NEW_ARRAY(a, Tensor *, carried + scans + 1);
    for (int i = 0; i < carried; i++)
        made[i] = n->in[2 + i];
    int64_t turn = 0;
    const uint8_t one = 1;
    Tensor *condition =
        graph_add_constant(n->graph, NULL, recipe_memory(n->graph->store, DT_BOOL, 0, NULL, &one));
    for (; turn < trips; turn++) {
        const Shape s = iteration_shape(body, 0);
        in[0] = graph_add_constant(n->graph, NULL,
                                   recipe_memory(n->graph->store, DT_I64, s.rank, s.dim, &turn));
        in[1] = condition;
        for (int i = 0; i < carried; i++)
            in[2 + i] = made[i];
        control_expand(n, body, in, out);
        for (int i = 0; i < carried; i++)
            made[i] = out[1 + i];
        for (int i = 0; i < scans; i++)
            rows[i * trips + turn] = unsqueezed(n, out[1 + carried + i]);
        if (!out[0]->value)
            fail_node(n, STATUS_UNSUPPORTED,
                      "bake the inputs its condition depends on with --const",
                      "its values change their shape while its end depends on the data");
        if (!is_true(out[0], n->graph)) {
            turn++;
            break;
        }
        if (endless && turn == trips - 1)
            fail_node(
                n, STATUS_UNSUPPORTED, "bake the trip count with --const",
                "its values change their shape from turn to turn, and it does not end after %d",
                MOST_UNROLLED);
    }
    for (int i = 0; i < scans; i++) {
        if (!turn)
            fail_node(n, STATUS_UNSUPPORTED, NULL,
                      "makes no turn, so its scan outputs have no shape");
        made[carried + i] = control_concat(n, rows + i * trips, (int)turn, 0);
    }
    retire_into(n, made);
}

static int64_t trip_count(Node *n)
{
    int64_t count;
    const int64_t *v = infer_ints(n, 0, &count);
    return v && count >= 1 ? i64_max(v[0], 0) : -1;
}

/* Results of the file; behind them may come the number of turns. */
static int results_of(const Node *n)
{
    return n->n_out - n->counts;
}

/* A row for each turn: how many are known only when the model runs, where the trip count is a value
 * or it may end early. */
static void infer_rows(Node *n, int i, const Tensor *row, int64_t trips, bool ends_early)
{
    Shape s = { .rank = row->shape.rank + 1, .dim = { trips } };
    if (!n->out[i])
        return;
    for (int k = 0; k < row->shape.rank; k++)
        s.dim[k + 1] = row->shape.dim[k];
    const bool varies = trips < 0 || ends_early;
    if (varies)
        s = dynamic_bound(n, i, s);
    if (s.dim[0] < 0)
        fail_node(n, STATUS_UNSUPPORTED,
                  "bake the trip count with --const, or declare the output's shape",
                  "the number of turns is known only at run time");
    infer_out(n, i, row->dtype, s);
    if (varies)
        dynamic_out(n, i, 0);
}

static void infer_loop_outputs(Node *n, const Graph *g, int64_t trips, int carried, bool ends_early)
{
    const int results = n->n_out;
    for (int i = 0; i < results; i++) {
        const Tensor *t = g->output.at[1 + i];
        if (i < carried)
            infer_out(n, i, t->dtype, t->shape);
        else
            infer_rows(n, i, t, trips, ends_early);
    }
}

/* The body typed by the first turn; NULL: one turn is not like the next, as where values of an
 * iteration decide shapes, or sequences grow. Then only the copies of unroll() can be typed. */
static Graph *lasting_body(Node *n, const Graph *body, int carried)
{
    Diag attempt = { .quiet = true };
    for (int i = 0; i < carried; i++)
        if (n->in[2 + i] && n->in[2 + i]->sequence)
            return NULL;
    Graph *g = typed_body(n, body, 2, carried);
    control_set_input(g, 0, DT_I64, iteration_shape(body, 0));
    control_set_input(g, 1, DT_BOOL, iteration_shape(body, 1));
    if (!protect(&attempt, infer_quietly, g) && stable(g, carried))
        return g;
    g->dead = true;
    return NULL;
}

void infer_loop(Node *n)
{
    Graph *body = control_body(n, "body");
    const int carried = n->n_in - 2;
    if (carried < 0 || body->input.n != (size_t)carried + 2 ||
        body->output.n < (size_t)carried + 1 || (size_t)n->n_out > body->output.n - 1)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "its body has another number of inputs or outputs than the node");
    Graph *g = lasting_body(n, body, carried);
    const int64_t trips = trip_count(n);
    const bool runs = !node_in(n, 1) || is_true(n->in[1], n->graph);
    body->dead = true;
    if (!g) {
        if (!runs)
            fail_node(n, STATUS_UNSUPPORTED, "bake the trip count with --const",
                      "its values change their shape from turn to turn");
        unroll(n, body, trips, carried);
        return;
    }
    const bool always = runs && (is_true(g->output.at[0], g) || g->output.at[0] == g->input.at[1]);
    control_set_body(n, "body", g);
    infer_loop_outputs(n, g, trips, carried, !always);
}

/* Carried values move together: one that is also read for another carried value goes through a
 * copy. */
static void carry(Lower *l, Node *n, Graph *g, int carried)
{
    Tensor **from = NEW_ARRAY(l->arena, Tensor *, carried + 1);
    for (int i = 0; i < carried; i++) {
        int64_t at;
        from[i] = g->output.at[1 + i];
        const Tensor *root = from[i]->value ? NULL : tensor_root(from[i], &at);
        for (int k = 0; k < carried && root; k++) {
            int64_t other;
            if (k == i || root != tensor_root(g->input.at[2 + k], &other))
                continue;
            Tensor *copy = lower_temp(l, from[i]->dtype, from[i]->shape);
            lower_copy(l, n, copy, from[i]);
            from[i] = copy;
            break;
        }
    }
    for (int i = 0; i < carried; i++)
        if (from[i] != g->input.at[2 + i])
            lower_copy(l, n, g->input.at[2 + i], from[i]);
}

static Step *loop_step(Lower *l, Node *n, const char *kernel, const inlay_loop_params *p,
                       Tensor *counter, Tensor *condition)
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
    for (int i = first; i < results_of(n); i++) {
        if (!n->out[i])
            continue;
        Tensor *slice = g->output.at[1 + i];
        const inlay_slice_params p = { .outer = 1,
                                       .bytes = tensor_bytes(slice),
                                       .length = n->out[i]->shape.dim[0] };
        Step *s = lower_step(l, n, "slice_store", &p);
        step_out(s, n->out[i])->read = true;
        step_in(s, slice);
        step_in(s, counter);
    }
}

void lower_loop(Lower *l, Node *n)
{
    Graph *g = control_body(n, "body");
    const int carried = n->n_in - 2;
    for (size_t i = 0; i < g->input.n; i++)
        g->input.at[i]->storage = STORE_ARENA;
    Tensor *counter = g->input.at[0], *condition = g->input.at[1];
    const bool tested = !is_true(g->output.at[0], g) || (node_in(n, 1) && !is_true(n->in[1], g));
    for (int i = 0; i < carried; i++)
        lower_copy(l, n, g->input.at[2 + i], n->in[2 + i]);
    const uint8_t one = 1;
    Tensor *first = node_in(n, 1)
                        ? n->in[1]
                        : lower_constant(l, recipe_memory(g->store, DT_BOOL, 0, NULL, &one));
    if (condition->uses || tested)
        lower_copy(l, n, condition, first);
    for (int i = carried; i < results_of(n); i++)
        if (n->out[i])
            lower_clear(l, n, n->out[i]);
    int64_t most = -1;
    for (int i = carried; i < results_of(n); i++)
        if (n->out[i])
            most = n->out[i]->shape.dim[0];
    const inlay_loop_params p = { .most = most };
    const int32_t begin = control_next(l);
    Step *b = loop_step(l, n, "loop_begin", &p, counter, tested ? condition : NULL);
    control_lower(l, g);
    store_slices(l, n, g, counter, carried);
    if (tested)
        lower_copy(l, n, condition, g->output.at[0]);
    carry(l, n, g, carried);
    const inlay_loop_params back = { .target = begin + 1, .most = most };
    b->loop_end = control_next(l);
    loop_step(l, n, "loop_end", &back, counter, tested ? condition : NULL);
    ((inlay_loop_params *)b->params)->target = control_next(l);
    if (n->counts)
        lower_copy(l, n, node_count(n), counter);
    for (int i = 0; i < carried && i < results_of(n); i++)
        if (n->out[i])
            lower_copy(l, n, n->out[i], g->input.at[2 + i]);
}
