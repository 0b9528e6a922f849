/* SPDX-License-Identifier: Apache-2.0
 * If, and what it shares with Loop and Scan. A constant choice is taken while shapes are inferred;
 * everything else becomes steps that jump. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/clone.h"
#include "kernels/control.h"
#include "ops/branches.h"
#include "ops/control.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"

Graph *control_body(Node *node, const char *name)
{
    const Attr *attr = node_attr(node, name);
    if (!attr || !attr->graph)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute \"%s\" is missing",
                  name);
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

/* Nodes of the graph from `first` on were copied from a body of `node`. */
static void infer_copied(const Node *node, size_t first)
{
    Graph *graph = node->graph;
    for (size_t i = first; i < graph->node.n; i++) {
        graph->node.at[i]->index = node->index;
        graph_root(graph)->infer_node(graph->node.at[i]);
    }
}

void control_expand(Node *node, const Graph *body, Tensor *const *in,
                    Tensor **out)
{
    Graph *graph = node->graph;
    const int ids = graph_root(graph)->next_id;
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const CloneScope scope = { .image = NEW_ARRAY(scratch, Tensor *, ids) };
    for (size_t i = 0; i < body->input.n; i++)
        scope.image[body->input.at[i]->id] = in[i];
    const size_t first = graph->node.n;
    graph_clone_into(graph, body, &scope);
    infer_copied(node, first);
    for (size_t i = 0; i < body->output.n; i++) {
        Tensor *output = body->output.at[i];
        Tensor *made = output->id < ids ? scope.image[output->id] : NULL;
        /* An output may be a value from outside. */
        out[i] = made ? made : output;
    }
    arena_release(scratch, mark);
}

bool control_is_true(const Tensor *tensor, Graph *graph)
{
    int64_t count;
    const int64_t *value = tensor_ints(graph, tensor, &count);
    return value && count >= 1 && value[0];
}

void control_become(const Node *node, Tensor *out, Tensor *made)
{
    Graph *graph = node->graph;
    out->dtype = made->dtype;
    out->shape = made->shape;
    infer_same_sizes(out, made);
    out->value = made->value;
    out->sequence = made->sequence;
    if (made->value || made->sequence)
        return;
    Node *identity =
        graph_insert_node(graph, node, "", "Identity", 1, &made, 1, &out);
    identity->version = OPSET_NEWEST;
    graph_root(graph)->infer_node(identity);
}

void control_retire_into(Node *node, Tensor *const *made)
{
    const size_t bytes = (size_t)node->n_out * sizeof *node->out;
    Tensor **out = arena_copy(node->graph->arena, node->out, bytes);
    graph_kill(node);
    for (int i = 0; i < node->n_out; i++)
        if (out[i])
            control_become(node, out[i], made[i]);
}

void control_set_input(Graph *graph, size_t i, DType type, Shape s)
{
    graph->input.at[i]->dtype = type;
    graph->input.at[i]->shape = s;
}

/* --- If --- */

void control_infer_body(void *body)
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
        else if (protect(&attempt, control_infer_body, branch[k]))
            branch[k]->dead = true;
        if (branch[k]->dead)
            warn_at(node_loc(node),
                    "its %s branch does not fit the input shapes (%s); a run "
                    "that takes it ends with an error",
                    k ? "then" : "else", attempt.why);
    }
}

static bool has_shape(const Tensor *tensor)
{
    return !tensor->sequence && shape_known(&tensor->shape);
}

/* Does it do nothing but hand on values of outside? */
static bool hands_on(const Graph *branch)
{
    for (size_t i = 0; i < branch->node.n; i++) {
        const Node *node = branch->node.at[i];
        if (!node->dead && !node_is(node, "Identity"))
            return false;
    }
    return true;
}

/* Which branch gives result i the rank that the file declares? Where it declares none, the one that
 * only hands on what there is: as KNNImputer is exported, the other one fails behind the If. -1: it
 * is neither. */
static int by_rank(const Node *node, int i, Graph *const *branch)
{
    const Tensor *result = node_out(node, i);
    const int declared = result ? result->declared->rank : -1;
    const bool first = hands_on(branch[0]);
    for (int k = 0; k < 2; k++)
        if (branch[k]->output.at[i]->shape.rank == declared)
            return k;
    return first == hands_on(branch[1]) ? -1 : !first;
}

/* Results of different ranks: one branch stays, a run that takes the other one ends with an
 * error. */
static void settle_ranks(Node *node, Graph *const *branch)
{
    for (int i = 0; i < node->n_out; i++) {
        if (branch[0]->dead || branch[1]->dead)
            return;
        const Tensor *a = branch[0]->output.at[i];
        const Tensor *b = branch[1]->output.at[i];
        const int kept = by_rank(node, i, branch);
        if (!has_shape(a) || !has_shape(b) || a->shape.rank == b->shape.rank ||
            kept < 0)
            continue;
        branch[!kept]->dead = true;
        warn_at(node_loc(node),
                "its branches give results of %d and %d dimensions; a run that "
                "takes the %s branch ends with an error",
                b->shape.rank, a->shape.rank, kept ? "else" : "then");
    }
}

/* The condition is known: the branch takes the node's place. */
static void take_branch(Node *node, Graph *const *branch, bool condition)
{
    const Graph *taken = branch[condition];
    Tensor **made = NEW_ARRAY(node->graph->arena, Tensor *, taken->output.n);
    control_expand(node, taken, NULL, made);
    branch[0]->dead = true;
    branch[1]->dead = true;
    control_retire_into(node, made);
}

static const char fix_condition[] =
    "bake the condition with --const, if it is fixed in your use";

/* Result i as the two branches have it. */
static void infer_joined(Node *node, int i, Graph *const *branch)
{
    const Tensor *a = branch[branch[0]->dead]->output.at[i];
    const Tensor *b = branch[!branch[1]->dead]->output.at[i];
    if (!has_shape(a) || !has_shape(b))
        fail_node(node, STATUS_UNSUPPORTED, fix_condition,
                  "its branches give sequences, or shapes that are not known: "
                  "that takes a "
                  "condition known when compiling");
    if (a->dtype != b->dtype || a->shape.rank != b->shape.rank)
        fail_node(
            node, STATUS_UNSUPPORTED, fix_condition,
            "its branches give different types or ranks, %s %s and %s %s",
            dtype_name(b->dtype), shape_text(node->graph->arena, &b->shape),
            dtype_name(a->dtype), shape_text(node->graph->arena, &a->shape));
    if (!branches_sized(node, i, branch))
        infer_out(node, i, a->dtype, a->shape);
}

/* Which dimension makes result `empty` empty, where there is one; else -1. */
static int empty_axis(const Tensor *empty)
{
    const Shape *shape = empty->declared;
    if (!shape_known(shape) || shape_count(shape))
        return -1;
    int axis = 0;
    while (shape->dim[axis])
        axis++;
    return axis;
}

/* Like `empty` but for that dimension? */
static bool fills(const Tensor *tensor, const Tensor *empty, int axis)
{
    const Shape *shape = &tensor->shape;
    if (shape->rank != empty->declared->rank || tensor->value ||
        (tensor->dynamic & ~(1u << axis)))
        return false;
    for (int i = 0; i < shape->rank; i++)
        if (i != axis && shape->dim[i] != empty->declared->dim[i])
            return false;
    return true;
}

/* `tensor` with no elements where the condition is as `when` says. */
static Tensor *or_nothing(Node *node, Tensor *tensor, int axis, bool when)
{
    Tensor *condition = expand_reshape(node, node->in[0], 0, NULL);
    Tensor *none = expand_i64(node, 0);
    Tensor *all = expand_i64(node, tensor->shape.dim[axis]);
    if (tensor->dynamic)
        all = dynamic_size(node, tensor, axis);
    Tensor *size =
        expand_where(node, condition, when ? none : all, when ? all : none);
    Tensor *result = expand_unary(node, "Identity", tensor);
    dynamic_cut(node, 1, &result, axis, size);
    return result;
}

/* One branch gives an empty result, as exporters write it where there is nothing to select from:
 * the other one runs in any case, and its size is 0 then. */
static bool infer_or_nothing(Node *node, Graph *const *branch)
{
    for (int k = 0; k < 2 && node->n_out == 1; k++) {
        const Tensor *empty = branch[k]->output.at[0];
        const int axis = empty_axis(empty);
        Tensor *made;
        if (axis < 0 || empty_axis(branch[!k]->output.at[0]) >= 0)
            continue;
        control_expand(node, branch[!k], NULL, &made);
        if (!has_shape(made) || !fills(made, empty, axis))
            fail_node(node, STATUS_UNSUPPORTED, fix_condition,
                      "its branches give different shapes");
        made = or_nothing(node, made, axis, k == 1);
        branch[0]->dead = true;
        branch[1]->dead = true;
        control_retire_into(node, &made);
        return true;
    }
    return false;
}

static void check_branch(const Node *node, const Graph *branch)
{
    if (branch->input.n)
        fail_node(node, STATUS_MALFORMED,
                  "a branch uses values from outside by their names",
                  "a branch has inputs, which If gives none");
    if (branch->output.n != (size_t)node->n_out)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "a branch gives another number of results than the node");
}

void infer_if(Node *node)
{
    int64_t count;
    const int64_t *condition = infer_ints(node, 0, &count);
    Graph *branch[2];
    branch[0] = control_body(node, "else_branch");
    branch[1] = control_body(node, "then_branch");
    for (int k = 0; k < 2; k++)
        check_branch(node, branch[k]);
    if (condition && count >= 1) {
        take_branch(node, branch, condition[0] != 0);
        return;
    }
    if (infer_or_nothing(node, branch))
        return;
    infer_branches(node, branch);
    settle_ranks(node, branch);
    const int results = node->n_out;
    for (int i = 0; i < results; i++)
        infer_joined(node, i, branch);
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

Step *control_step(Lower *lower, const char *kernel, const void *params)
{
    Step *step = lower_step(lower, kernel, params);
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
    step->jumps_to++;
    if (!strcmp(step->kernel->params, "jump"))
        ((inlay_jump_params *)step->params)->target++;
    else
        ((inlay_loop_params *)step->params)->target++;
}

static void jump_to_next(Lower *lower, Step *step)
{
    step->jumps_to = control_next(lower);
    ((inlay_jump_params *)step->params)->target = step->jumps_to;
}

static void lower_branch(Lower *lower, Node *node, Graph *graph)
{
    const inlay_jump_params none = { 0 };
    if (graph->dead) {
        for (int i = 0; i < node->n_out; i++)
            if (node->out[i])
                lower_clear(lower, node->out[i]);
        control_step(lower, "refuse", &none);
        return;
    }
    control_lower(lower, graph);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            lower_copy(lower, node->out[i], graph->output.at[i]);
}

void lower_if(Lower *lower, Node *node)
{
    const inlay_jump_params none = { 0 };
    Step *choose = control_step(lower, "jump_unless", &none);
    step_operand(choose, 0);
    lower_branch(lower, node, control_body(node, "then_branch"));
    Step *skip = control_step(lower, "jump", &none);
    jump_to_next(lower, choose);
    lower_branch(lower, node, control_body(node, "else_branch"));
    jump_to_next(lower, skip);
}
