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

Graph *control_body(Node *node, const char *name)
{
    const Attr *attr = node_attr(node, name);
    if (!attr || !attr->graph)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute \"%s\" is missing", name);
    return attr->graph;
}

void control_set_body(Node *node, const char *name, Graph *g)
{
    for (int i = 0; i < node->n_attr; i++)
        if (!strcmp(node->attr[i].name, name))
            node->attr[i].graph = g;
}

void control_infer(Graph *graph)
{
    graph_root(graph)->infer(graph);
}

void control_expand(Node *n, const Graph *body, Tensor *const *in, Tensor **out)
{
    Graph *g = n->graph;
    Graph *root = graph_root(g);
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
        Tensor *o = body->output.at[i];
        Tensor *made = o->id < ids ? scope.image[o->id] : NULL;
        out[i] = made ? made : o; /* an output may be a value from outside */
    }
    arena_release(scratch, mark);
}

/* Makes n's outputs what `made` says and takes node out. */
static void retire_into(Node *node, Tensor *const *made)
{
    Graph *g = node->graph;
    Tensor **out = arena_copy(g->arena, node->out, (size_t)node->n_out * sizeof *out);
    graph_kill(node);
    for (int i = 0; i < node->n_out; i++) {
        if (!out[i])
            continue;
        out[i]->dtype = made[i]->dtype;
        out[i]->shape = made[i]->shape;
        dynamic_copy(out[i], made[i]);
        out[i]->value = made[i]->value;
        out[i]->sequence = made[i]->sequence;
        if (!made[i]->value && !made[i]->sequence) {
            Tensor *from = made[i];
            Node *identity = graph_insert_node(g, node, "", "Identity", 1, &from, 1, out + i);
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
static void infer_branches(Node *node, Graph *const *branch)
{
    for (int k = 0; k < 2; k++) {
        Diag attempt = { .quiet = !branch[0]->dead };
        if (!attempt.quiet)
            control_infer(branch[k]);
        else if (protect(&attempt, infer_quietly, branch[k]))
            branch[k]->dead = true;
        if (branch[k]->dead)
            warn_at(node_loc(node),
                    "its %s branch does not fit the input shapes; a run that takes it ends with an "
                    "error",
                    k ? "then" : "else");
    }
}

void infer_if(Node *node)
{
    int64_t count;
    const int64_t *condition = infer_ints(node, 0, &count);
    Graph *branch[2] = { control_body(node, "else_branch"), control_body(node, "then_branch") };
    if (condition && count >= 1) {
        Tensor **made =
            NEW_ARRAY(node->graph->arena, Tensor *, branch[condition[0] != 0]->output.n);
        control_expand(node, branch[condition[0] != 0], NULL, made);
        branch[0]->dead = branch[1]->dead = true;
        retire_into(node, made);
        return;
    }
    for (int k = 0; k < 2; k++)
        if (branch[k]->output.n != (size_t)node->n_out)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "a branch gives another number of results than the node");
    infer_branches(node, branch);
    for (int i = 0; i < node->n_out; i++) {
        const Tensor *a = branch[branch[0]->dead]->output.at[i];
        const Tensor *b = branch[!branch[1]->dead]->output.at[i];
        if (a->sequence || b->sequence || !shape_known(&a->shape) || !shape_known(&b->shape))
            fail_node(node, STATUS_UNSUPPORTED,
                      "bake the condition with --const, if it is fixed in your use",
                      "its branches give sequences, or shapes that are not known: that takes a "
                      "condition known when compiling");
        if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
            fail_node(node, STATUS_UNSUPPORTED,
                      "bake the condition with --const, if it is fixed in your use",
                      "its branches give different shapes, %s and %s",
                      shape_text(node->graph->arena, &b->shape),
                      shape_text(node->graph->arena, &a->shape));
        infer_out(node, i, a->dtype, a->shape);
    }
}

void control_lower(Lower *lower, Graph *g)
{
    for (size_t i = 0; i < g->tensor.n; i++)
        if (!g->tensor.at[i]->value && !g->tensor.at[i]->storage)
            g->tensor.at[i]->storage = STORE_ARENA;
    Graph *outer = lower->graph;
    lower->graph = g;
    for (size_t i = 0; i < g->node.n; i++) {
        if (!op_check_type(g->node.at[i]))
            fail_if_errors();
        lower_node(lower, g->node.at[i]);
    }
    lower->graph = outer;
}

Step *control_step(Lower *lower, Node *node, const char *kernel, const void *params)
{
    Step *step = lower_step(lower, node, kernel, params);
    step->control = true;
    return step;
}

int32_t control_next(const Lower *lower)
{
    return (int32_t)lower->program->step.n;
}

void control_move(Step *step)
{
    if (step->loop_end >= 0)
        step->loop_end++;
    if (!step->control)
        return;
    if (!strcmp(step->kernel->params, "jump"))
        ((inlay_jump_params *)step->params)->target++;
    else
        ((inlay_loop_params *)step->params)->target++;
}

static void lower_branch(Lower *lower, Node *node, Graph *graph)
{
    const inlay_jump_params none = { 0 };
    if (graph->dead) {
        for (int i = 0; i < node->n_out; i++)
            if (node->out[i])
                lower_clear(lower, node, node->out[i]);
        control_step(lower, node, "refuse", &none);
        return;
    }
    control_lower(lower, graph);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            lower_copy(lower, node, node->out[i], graph->output.at[i]);
}

void lower_if(Lower *lower, Node *node)
{
    const inlay_jump_params none = { 0 };
    Step *choose = control_step(lower, node, "jump_unless", &none);
    step_in(choose, node->in[0]);
    lower_branch(lower, node, control_body(node, "then_branch"));
    Step *skip = control_step(lower, node, "jump", &none);
    ((inlay_jump_params *)choose->params)->target = control_next(lower);
    lower_branch(lower, node, control_body(node, "else_branch"));
    ((inlay_jump_params *)skip->params)->target = control_next(lower);
}

/* --- Loop --- */

void control_set_input(Graph *graph, size_t i, DType type, Shape s)
{
    graph->input.at[i]->dtype = type;
    graph->input.at[i]->shape = s;
}

static Shape iteration_shape(const Graph *body, size_t i)
{
    return body->input.at[i]->shape.rank == 1 ? shape_vector(1) : shape_scalar();
}

/* A copy of the body with shapes for carried values as they are at the first turn. */
static Graph *typed_body(Node *node, const Graph *body, int first_carried, int carried)
{
    Graph *g = graph_clone(node->graph, node, body);
    for (int i = 0; i < carried; i++) {
        const Tensor *tensor = node->in[first_carried + i];
        control_set_input(g, g->input.n - (size_t)carried + (size_t)i, tensor->dtype,
                          *infer_shape(node, first_carried + i));
    }
    return g;
}

static bool is_true(const Tensor *tensor, Graph *graph)
{
    int64_t count;
    const int64_t *v = tensor_ints(graph, tensor, &count);
    return v && count >= 1 && v[0];
}

static bool stable(const Graph *graph, int carried)
{
    for (int i = 0; i < carried; i++)
        if (!shape_equal(&graph->input.at[2 + i]->shape, &graph->output.at[1 + i]->shape) ||
            graph->input.at[2 + i]->dtype != graph->output.at[1 + i]->dtype)
            return false;
    return true;
}

static Tensor *unsqueezed(Node *node, Tensor *tensor)
{
    Graph *g = node->graph;
    Tensor *out = graph_add_tensor(g, NULL, tensor->dtype, (Shape){ .rank = -1 });
    Shape s = { .rank = tensor->shape.rank + 1, .dim = { 1 } };
    for (int i = 0; i < tensor->shape.rank; i++)
        s.dim[i + 1] = tensor->shape.dim[i];
    Tensor *in[2] = { tensor, graph_add_ints(g, NULL, s.rank, s.dim) };
    Node *reshape = graph_insert_node(g, node, "", "Reshape", 2, in, 1, &out);
    reshape->version = OPSET_NEWEST;
    graph_root(g)->infer_node(reshape);
    return out;
}

Tensor *control_concat(Node *node, Tensor *const *part, int count, int axis)
{
    Graph *g = node->graph;
    Tensor *out = graph_add_tensor(g, NULL, part[0]->dtype, (Shape){ .rank = -1 });
    Node *c = graph_insert_node(g, node, "", "Concat", count, part, 1, &out);
    c->version = OPSET_NEWEST;
    node_set_int(c, "axis", axis);
    graph_root(g)->infer_node(c);
    return out;
}

/* The loop as copies of its body, one after the other: `trips` of them, or until its condition, a
 * constant at each turn, ends it. */
static void unroll(Node *node, const Graph *body, int64_t trips, int carried)
{
    const bool endless = trips < 0 || trips > MOST_UNROLLED;
    Arena *a = node->graph->arena;
    const int scans = (int)body->output.n - 1 - carried;
    Tensor **in = NEW_ARRAY(a, Tensor *, body->input.n);
    Tensor **out = NEW_ARRAY(a, Tensor *, body->output.n);
    if (endless)
        trips = MOST_UNROLLED;
    Tensor **rows = NEW_ARRAY(a, Tensor *, (int64_t)scans * trips + 1);
    Tensor **made = NEW_ARRAY(a, Tensor *, carried + scans + 1);
    for (int i = 0; i < carried; i++)
        made[i] = node->in[2 + i];
    int64_t turn = 0;
    const uint8_t one = 1;
    Tensor *condition = graph_add_constant(
        node->graph, NULL, recipe_memory(node->graph->store, DT_BOOL, 0, NULL, &one));
    for (; turn < trips; turn++) {
        const Shape shape = iteration_shape(body, 0);
        in[0] = graph_add_constant(
            node->graph, NULL,
            recipe_memory(node->graph->store, DT_I64, shape.rank, shape.dim, &turn));
        in[1] = condition;
        for (int i = 0; i < carried; i++)
            in[2 + i] = made[i];
        control_expand(node, body, in, out);
        for (int i = 0; i < carried; i++)
            made[i] = out[1 + i];
        for (int i = 0; i < scans; i++)
            rows[i * trips + turn] = unsqueezed(node, out[1 + carried + i]);
        if (!out[0]->value)
            fail_node(node, STATUS_UNSUPPORTED,
                      "bake the inputs its condition depends on with --const",
                      "its values change their shape while its end depends on the data");
        if (!is_true(out[0], node->graph)) {
            turn++;
            break;
        }
        if (endless && turn == trips - 1)
            fail_node(
                node, STATUS_UNSUPPORTED, "bake the trip count with --const",
                "its values change their shape from turn to turn, and it does not end after %d",
                MOST_UNROLLED);
    }
    for (int i = 0; i < scans; i++) {
        if (!turn)
            fail_node(node, STATUS_UNSUPPORTED, NULL,
                      "makes no turn, so its scan outputs have no shape");
        made[carried + i] = control_concat(node, rows + i * trips, (int)turn, 0);
    }
    retire_into(node, made);
}

static int64_t trip_count(Node *node)
{
    int64_t count;
    const int64_t *v = infer_ints(node, 0, &count);
    return v && count >= 1 ? i64_max(v[0], 0) : -1;
}

/* Results of the file; behind them may come the number of turns. */
static int results_of(const Node *node)
{
    return node->n_out - node->counts;
}

/* A row for each turn: how many are known only when the model runs, where the trip count is a value
 * or it may end early. */
static void infer_rows(Node *node, int i, const Tensor *row, int64_t trips, bool ends_early)
{
    Shape s = { .rank = row->shape.rank + 1, .dim = { trips } };
    if (!node->out[i])
        return;
    for (int k = 0; k < row->shape.rank; k++)
        s.dim[k + 1] = row->shape.dim[k];
    const bool varies = trips < 0 || ends_early;
    if (varies)
        s = dynamic_bound(node, i, s);
    if (s.dim[0] < 0)
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the trip count with --const, or declare the output's shape",
                  "the number of turns is known only at run time");
    infer_out(node, i, row->dtype, s);
    if (varies)
        dynamic_out(node, i, 0);
}

static void infer_loop_outputs(Node *node, const Graph *graph, int64_t trips, int carried,
                               bool ends_early)
{
    const int results = node->n_out;
    for (int i = 0; i < results; i++) {
        const Tensor *tensor = graph->output.at[1 + i];
        if (i < carried)
            infer_out(node, i, tensor->dtype, tensor->shape);
        else
            infer_rows(node, i, tensor, trips, ends_early);
    }
}

/* The body typed by the first turn; NULL: one turn is not like the next, as where values of an
 * iteration decide shapes, or sequences grow. Then only the copies of unroll() can be typed. */
static Graph *lasting_body(Node *node, const Graph *body, int carried)
{
    Diag attempt = { .quiet = true };
    for (int i = 0; i < carried; i++)
        if (node->in[2 + i] && node->in[2 + i]->sequence)
            return NULL;
    Graph *graph = typed_body(node, body, 2, carried);
    control_set_input(graph, 0, DT_I64, iteration_shape(body, 0));
    control_set_input(graph, 1, DT_BOOL, iteration_shape(body, 1));
    if (!protect(&attempt, infer_quietly, graph) && stable(graph, carried))
        return graph;
    graph->dead = true;
    return NULL;
}

void infer_loop(Node *node)
{
    Graph *body = control_body(node, "body");
    const int carried = node->n_in - 2;
    if (carried < 0 || body->input.n != (size_t)carried + 2 ||
        body->output.n < (size_t)carried + 1 || (size_t)node->n_out > body->output.n - 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its body has another number of inputs or outputs than the node");
    Graph *g = lasting_body(node, body, carried);
    const int64_t trips = trip_count(node);
    const bool runs = !node_in(node, 1) || is_true(node->in[1], node->graph);
    body->dead = true;
    if (!g) {
        if (!runs)
            fail_node(node, STATUS_UNSUPPORTED, "bake the trip count with --const",
                      "its values change their shape from turn to turn");
        unroll(node, body, trips, carried);
        return;
    }
    const bool always = runs && (is_true(g->output.at[0], g) || g->output.at[0] == g->input.at[1]);
    control_set_body(node, "body", g);
    infer_loop_outputs(node, g, trips, carried, !always);
}

/* Carried values move together: one that is also read for another carried value goes through a
 * copy. */
static void carry(Lower *lower, Node *node, Graph *graph, int carried)
{
    Tensor **from = NEW_ARRAY(lower->arena, Tensor *, carried + 1);
    for (int i = 0; i < carried; i++) {
        int64_t at;
        from[i] = graph->output.at[1 + i];
        const Tensor *root = from[i]->value ? NULL : tensor_root(from[i], &at);
        for (int k = 0; k < carried && root; k++) {
            int64_t other;
            if (k == i || root != tensor_root(graph->input.at[2 + k], &other))
                continue;
            Tensor *copy = lower_temp(lower, from[i]->dtype, from[i]->shape);
            lower_copy(lower, node, copy, from[i]);
            from[i] = copy;
            break;
        }
    }
    for (int i = 0; i < carried; i++)
        if (from[i] != graph->input.at[2 + i])
            lower_copy(lower, node, graph->input.at[2 + i], from[i]);
}

static Step *loop_step(Lower *lower, Node *node, const char *kernel,
                       const inlay_loop_params *params, Tensor *counter, Tensor *condition)
{
    Step *step = control_step(lower, node, kernel, params);
    step_out(step, counter)->read = !strcmp(kernel, "loop_end");
    Tensor *trip = node_in(node, 0);
    step_in(step, trip && !strcmp(node->op_type, "Loop") ? trip : NULL);
    step_in(step, condition);
    return step;
}

static void store_slices(Lower *lower, Node *node, Graph *graph, Tensor *counter, int first)
{
    for (int i = first; i < results_of(node); i++) {
        if (!node->out[i])
            continue;
        Tensor *slice = graph->output.at[1 + i];
        const inlay_slice_params params = { .outer = 1,
                                            .bytes = tensor_bytes(slice),
                                            .length = node->out[i]->shape.dim[0] };
        Step *step = lower_step(lower, node, "slice_store", &params);
        step_out(step, node->out[i])->read = true;
        step_in(step, slice);
        step_in(step, counter);
    }
}

void lower_loop(Lower *lower, Node *node)
{
    Graph *graph = control_body(node, "body");
    const int carried = node->n_in - 2;
    for (size_t i = 0; i < graph->input.n; i++)
        graph->input.at[i]->storage = STORE_ARENA;
    Tensor *counter = graph->input.at[0];
    Tensor *condition = graph->input.at[1];
    const bool tested =
        !is_true(graph->output.at[0], graph) || (node_in(node, 1) && !is_true(node->in[1], graph));
    for (int i = 0; i < carried; i++)
        lower_copy(lower, node, graph->input.at[2 + i], node->in[2 + i]);
    const uint8_t one = 1;
    Tensor *first =
        node_in(node, 1)
            ? node->in[1]
            : lower_constant(lower, recipe_memory(graph->store, DT_BOOL, 0, NULL, &one));
    if (condition->uses || tested)
        lower_copy(lower, node, condition, first);
    for (int i = carried; i < results_of(node); i++)
        if (node->out[i])
            lower_clear(lower, node, node->out[i]);
    int64_t most = -1;
    for (int i = carried; i < results_of(node); i++)
        if (node->out[i])
            most = node->out[i]->shape.dim[0];
    const inlay_loop_params p = { .most = most };
    const int32_t begin = control_next(lower);
    Step *b = loop_step(lower, node, "loop_begin", &p, counter, tested ? condition : NULL);
    control_lower(lower, graph);
    store_slices(lower, node, graph, counter, carried);
    if (tested)
        lower_copy(lower, node, condition, graph->output.at[0]);
    carry(lower, node, graph, carried);
    const inlay_loop_params back = { .target = begin + 1, .most = most };
    b->loop_end = control_next(lower);
    loop_step(lower, node, "loop_end", &back, counter, tested ? condition : NULL);
    ((inlay_loop_params *)b->params)->target = control_next(lower);
    if (node->counts)
        lower_copy(lower, node, node_count(node), counter);
    for (int i = 0; i < carried && i < results_of(node); i++)
        if (node->out[i])
            lower_copy(lower, node, node->out[i], graph->input.at[2 + i]);
}
