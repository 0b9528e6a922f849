/* SPDX-License-Identifier: Apache-2.0
 * Tensors become their new steps; what readers need of the past is a state in front of them. */
#include <string.h>

#include "ops/expand.h"
#include "ops/ranges.h"
#include "passes/passes.h"
#include "passes/relayout.h"
#include "passes/stream.h"

/* ---- states ---- */

static Tensor *add_input(Graph *graph, const Tensor *like, Shape shape)
{
    const char *name = arena_printf(graph->arena, "%s, kept", like->name);
    Tensor *input = graph_add_tensor(graph, name, like->dtype, shape);
    VEC_PUSH(graph->arena, &graph->input, input);
    return input;
}

/* Does it lie best with channels last, as what makes it or reads it is of images? */
static bool is_image(const Node *reader, const Tensor *tensor)
{
    const Node *maker = tensor->producer;
    while (maker && maker->op->flags & OP_ELEMENTWISE && maker->in[0])
        maker = maker->in[0]->producer;
    const bool spatial = reader->op->flags & OP_SPATIAL ||
                         (maker && maker->op->flags & OP_SPATIAL);
    return tensor->shape.rank > 2 && spatial;
}

static Tensor *turned(const Node *at, Tensor *tensor, const int *perm)
{
    int64_t order[MAX_RANK];
    for (int i = 0; i < tensor->shape.rank; i++)
        order[i] = perm[i];
    return expand_transpose(at, tensor, order);
}

/* The layout of a state is its own: as the steps beside it have it, so that nothing is turned. */
static void choose_layout(const Node *at, const Tensor *tensor, int *perm)
{
    const int rank = tensor->shape.rank;
    if (is_image(at, tensor))
        perm_to_last(rank, perm);
    else
        for (int i = 0; i < rank; i++)
            perm[i] = i;
}

static bool stays(int rank, const int *perm)
{
    int same = 0;
    while (same < rank && perm[same] == same)
        same++;
    return same == rank;
}

/* The kept steps in the layout of the model. */
static Tensor *kept_steps(Walk *walk, const Node *at, const Tensor *tensor,
                          const int *perm)
{
    const Flow *flow = flow_of(walk, tensor);
    const int rank = tensor->shape.rank;
    int back[MAX_RANK];
    Shape shape = tensor->shape;
    shape.dim[flow->axis] = flow->kept;
    shape = shape_permuted(&shape, perm);
    Tensor *old = add_input(walk->graph, tensor, shape);
    perm_inverse(rank, perm, back);
    return stays(rank, perm) ? old : turned(at, old, back);
}

static void keep_steps(Walk *walk, const Node *at, const char *name,
                       Tensor *last, const int *perm)
{
    Graph *graph = walk->graph;
    Tensor *next =
        stays(last->shape.rank, perm) ? last : turned(at, last, perm);
    next->name = arena_printf(graph->arena, "%s, to keep", name);
    VEC_PUSH(graph->arena, &graph->output, next);
    const State state = {
        .out = graph->output.n - 1,
        .in = graph->input.n - 1,
        .streamed = true,
    };
    VEC_PUSH(graph->arena, &graph->state, state);
}

/* The steps that were kept and the new ones; the last of them are kept for the next run. */
static Tensor *add_state(Walk *walk, const Node *at, Tensor *tensor,
                         const Flow *flow)
{
    const int axis = flow->axis;
    int perm[MAX_RANK];
    choose_layout(at, tensor, perm);
    Tensor *old = kept_steps(walk, at, tensor, perm);
    Tensor *all = expand_concat(at, old, tensor, axis);
    const int64_t end = flow->kept + flow->made;
    Tensor *last = expand_slice(at, all, axis, flow->made, end);
    keep_steps(walk, at, tensor->name, last, perm);
    return all;
}

static Tensor *all_steps(Walk *walk, const Node *at, Tensor *tensor)
{
    Flow *flow = flow_of(walk, tensor);
    if (flow->all)
        return flow->all;
    flow->all = tensor;
    if (flow->kept > 0)
        flow->all = add_state(walk, at, tensor, flow);
    return flow->all;
}

/* ---- what operands read ---- */

static Tensor *some_steps(Walk *walk, const Node *at, Tensor *tensor,
                          StepsRead read)
{
    const Flow *flow = flow_of(walk, tensor);
    if (read.count == flow->made && !read.back)
        return tensor;
    Tensor *all = all_steps(walk, at, tensor);
    const int64_t end = all->shape.dim[flow->axis] - read.back;
    return expand_slice(at, all, flow->axis, end - read.count, end);
}

/* Integers are kept, not what they stand for: steps that compute with integers find them so. */
static Tensor *read_steps(Walk *walk, const Node *at, Tensor *tensor,
                          StepsRead read)
{
    const Flow *flow = flow_of(walk, tensor);
    Tensor *source = flow_source(walk, tensor);
    const Node *maker = tensor->producer;
    if (source == tensor || (read.count == flow->made && !read.back))
        return some_steps(walk, at, tensor, read);
    Node *again = expand_node(at, maker->op_type, maker->n_in, maker->in, 1);
    expand_copy_attrs(again, maker);
    node_set_input(again, 0, some_steps(walk, at, source, read));
    return expand_done(again);
}

/* ---- nodes that make steps ---- */

static void drop_padding(Node *node, int axis)
{
    const int spatial = node->in[0]->shape.rank - 2;
    int64_t count;
    int64_t pads[2 * MAX_RANK] = { 0 };
    const int64_t *old = node_ints(node, "pads", &count);
    for (int i = 0; i < 2 * spatial && count; i++)
        pads[i] = old[i];
    pads[axis - 2] = 0;
    pads[spatial + axis - 2] = 0;
    node_set_ints(node, "pads", 2 * spatial, pads);
    node_set_string(node, "auto_pad", "NOTSET");
    node_set_int(node, "ceil_mode", 0);
}

/* It does nothing more. */
static void become_identity(Node *node)
{
    node_set_op(node, "", "Identity");
    node->n_attr = 0;
    node->version = OPSET_NEWEST;
    node->op = op_find("", "Identity", OPSET_NEWEST);
    node_set_inputs(node, 1, (Tensor *[]){ node->in[0] });
}

/* Axes of which a part is cut, but for that one. */
static int other_cuts(const Ranges *ranges, const Shape *shape, int axis,
                      Ranges *cut, int64_t *axes)
{
    int count = 0;
    for (int i = 0; i < shape->rank; i++) {
        const bool whole = !ranges->from[i] && ranges->to[i] == shape->dim[i];
        if (i == axis || whole)
            continue;
        cut->from[count] = ranges->from[i];
        cut->to[count] = ranges->to[i];
        axes[count++] = i;
    }
    return count;
}

/* The other axes are cut as before; along this one its operand has the steps already. */
static void cut_others(Node *node, const Ranges *ranges, int axis)
{
    Graph *graph = node->graph;
    Ranges cut;
    int64_t axes[MAX_RANK];
    const int count = other_cuts(ranges, node_shape(node, 0), axis, &cut, axes);
    if (!count) {
        become_identity(node);
        return;
    }
    node_set_op(node, "", "Slice");
    node->n_attr = 0;
    node->version = OPSET_NEWEST;
    node->op = op_find("", "Slice", OPSET_NEWEST);
    node_set_inputs(node, 4,
                    (Tensor *[]){ node->in[0],
                                  graph_add_ints(graph, NULL, count, cut.from),
                                  graph_add_ints(graph, NULL, count, cut.to),
                                  graph_add_ints(graph, NULL, count, axes) });
}

static void pad_others(Node *node, int64_t *before, int64_t *after, int axis)
{
    const int rank = node->in[0]->shape.rank;
    int64_t pads[2 * MAX_RANK];
    int64_t sum = 0;
    before[axis] = 0;
    after[axis] = 0;
    for (int i = 0; i < rank; i++) {
        pads[i] = before[i];
        pads[rank + i] = after[i];
        sum += before[i] != 0 || after[i] != 0;
    }
    if (!sum) {
        become_identity(node);
    } else if (node->op->since < 11) {
        node_set_ints(node, "pads", 2 * rank, pads);
    } else {
        Tensor *list = graph_add_ints(node->graph, NULL, 2 * rank, pads);
        Tensor *in[] = { node->in[0], list, node_in(node, 2) };
        node_set_inputs(node, in[2] ? 3 : 2, in);
    }
}

static void turn_form(const Turn *turn)
{
    Node *node = turn->node;
    const int axis = turn->steps.axis;
    if (turn->steps.form == STEPS_WINDOW)
        drop_padding(node, axis);
    else if (turn->steps.form == STEPS_VIEW)
        become_reshape(node->graph, node, node->in[0], result_shape(node, 0));
}

/* Of a Slice or a Pad what was there before operands changed. */
typedef struct Around {
    Ranges ranges;
    int64_t before[MAX_RANK], after[MAX_RANK];
} Around;

static void note_around(const Turn *turn, Around *around)
{
    if (turn->steps.form == STEPS_SLICE)
        slice_ranges(turn->node, &around->ranges);
    else if (turn->steps.form == STEPS_PAD)
        pad_amounts(turn->node, around->before, around->after);
}

static void turn_around(const Turn *turn, Around *around)
{
    const int axis = turn->steps.axis;
    if (turn->steps.form == STEPS_SLICE)
        cut_others(turn->node, &around->ranges, axis);
    else if (turn->steps.form == STEPS_PAD)
        pad_others(turn->node, around->before, around->after, axis);
}

static void turn_node(Walk *walk, const Turn *turn)
{
    Node *node = turn->node;
    Around around;
    if (turn->along)
        note_around(turn, &around);
    for (int k = 0; k < node->n_in; k++)
        if (turn->read[k].count)
            node_set_input(node, k,
                           read_steps(walk, node, node->in[k], turn->read[k]));
    if (!turn->along)
        return;
    turn_form(turn);
    turn_around(turn, &around);
}

/* ---- all of the graph ---- */

static void shorten(const Walk *walk)
{
    const Graph *graph = walk->graph;
    for (size_t i = 0; i < graph->tensor.n; i++) {
        Tensor *tensor = graph->tensor.at[i];
        const Flow *flow = flow_of(walk, tensor);
        if (flow && flow->kind == FLOW_STEPS)
            tensor->shape.dim[flow->axis] = flow->made;
    }
}

/* The result is another tensor where it is not just what a run makes. */
static void turn_result(Walk *walk, size_t i)
{
    Graph *graph = walk->graph;
    Tensor *tensor = graph->output.at[i];
    const Node *maker = tensor->producer;
    if (!walk->result[i].count || !maker)
        return;
    Tensor *given = read_steps(walk, maker, tensor, walk->result[i]);
    if (given == tensor)
        return;
    const char *name = tensor->name;
    tensor->name = arena_printf(graph->arena, "%s, steps", name);
    given->name = name;
    graph->output.at[i] = given;
    tensor->uses--;
    given->uses++;
}

static const IoForm *more_forms(Graph *graph, const IoForm *form, size_t old,
                                size_t count)
{
    IoForm *all = NEW_ARRAY(graph->arena, IoForm, count + 1);
    for (size_t i = 0; i < count; i++)
        all[i] = i < old ? form[i] : IO_STATE;
    return all;
}

static const IntegerScale *const *
more_numbers(Graph *graph, const IntegerScale *const *numbers, size_t old,
             size_t count)
{
    const IntegerScale **all =
        NEW_ARRAY(graph->arena, const IntegerScale *, count + 1);
    for (size_t i = 0; i < old; i++)
        all[i] = numbers[i];
    return all;
}

void stream_build(Walk *walk)
{
    Graph *graph = walk->graph;
    const size_t inputs = graph->input.n;
    const size_t results = graph->output.n;
    shorten(walk);
    for (size_t i = 0; i < walk->turn.n; i++)
        turn_node(walk, walk->turn.at + i);
    for (size_t i = 0; i < results; i++)
        turn_result(walk, i);
    graph->in_form = more_forms(graph, graph->in_form, inputs, graph->input.n);
    graph->out_form =
        more_forms(graph, graph->out_form, results, graph->output.n);
    graph->in_numbers =
        more_numbers(graph, graph->in_numbers, inputs, graph->input.n);
    graph->out_numbers =
        more_numbers(graph, graph->out_numbers, results, graph->output.n);
    graph_count_uses(graph);
    graph_sort(graph);
    pass_dead(graph);
}
