/* SPDX-License-Identifier: Apache-2.0
 * Sequences whose length is known when compiling: lists of tensors that exist only here. What is
 * built, changed and taken apart in a model leaves no trace in its program. One that the model
 * hands out becomes as many outputs; one as an input of the model is refused. */
#include "base/limits.h"
#include "base/size.h"
#include "ops/control.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/sequence.h"

static const Sequence *sequence_in(const Node *node)
{
    const Tensor *tensor = node_in(node, 0);
    if (!tensor || !tensor->sequence)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its sequence is known only when the model runs");
    return tensor->sequence;
}

/* Loops in loops that append an item multiply, and each list is a new one. */
static Sequence *new_sequence(const Node *node, int64_t length)
{
    Graph *root = graph_root(node->graph);
    root->listed = i64_add(root->listed, length);
    if (root->listed > LIMIT_LISTED)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "the model's sequences come to more than %d items in all",
                  LIMIT_LISTED);
    Sequence *sequence = NEW(node->graph->arena, Sequence);
    *sequence = (Sequence){ length, NEW_ARRAY(node->graph->arena, Tensor *,
                                              length + 1) };
    return sequence;
}

/* Its items stay what they are: the list is read again where no use of a node tells of it. */
static void give_result(Node *node, int result, const Sequence *s)
{
    for (int64_t i = 0; i < s->n; i++)
        if (s->item[i])
            s->item[i]->listed = true;
    node->out[result]->sequence = s;
}

static void give(Node *node, const Sequence *s)
{
    give_result(node, 0, s);
    graph_kill(node);
}

/* The place that operand i names: within [0, most), `otherwise` where it is left out. */
static int64_t place_of(const Node *node, int i, int64_t most, int64_t length,
                        int64_t otherwise)
{
    int64_t count;
    const int64_t *v = infer_ints(node, i, &count);
    if (!node_in(node, i))
        return otherwise;
    if (!v || count != 1)
        fail_node(
            node, STATUS_UNSUPPORTED, "bake it with --const INPUT=FILE.pb",
            "its place in the sequence is known only when the model runs");
    const int64_t at = v[0] < 0 ? v[0] + length : v[0];
    if (at < 0 || at >= most)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "place %lld lies outside a sequence of %lld", (long long)v[0],
                  (long long)length);
    return at;
}

void infer_sequence_empty(Node *node)
{
    give(node, new_sequence(node, 0));
}

void infer_identity(Node *node)
{
    if (!node->in[0] || !node->in[0]->sequence)
        infer_same(node);
    else
        give(node, node->in[0]->sequence);
}

void infer_sequence_construct(Node *node)
{
    Sequence *sequence = new_sequence(node, node->n_in);
    for (int i = 0; i < node->n_in; i++)
        sequence->item[i] = node->in[i];
    give(node, sequence);
}

void infer_sequence_insert(Node *node)
{
    const Sequence *from = sequence_in(node);
    const int64_t at = place_of(node, 2, from->n + 1, from->n, from->n);
    Sequence *sequence = new_sequence(node, from->n + 1);
    for (int64_t i = 0; i < at; i++)
        sequence->item[i] = from->item[i];
    sequence->item[at] = node->in[1];
    for (int64_t i = at; i < from->n; i++)
        sequence->item[i + 1] = from->item[i];
    give(node, sequence);
}

void infer_sequence_erase(Node *node)
{
    const Sequence *from = sequence_in(node);
    const int64_t at = place_of(node, 1, from->n, from->n, from->n - 1);
    if (!from->n)
        fail_node(node, STATUS_MALFORMED, NULL, "the sequence is empty");
    Sequence *sequence = new_sequence(node, from->n - 1);
    for (int64_t i = 0; i < sequence->n; i++)
        sequence->item[i] = from->item[i < at ? i : i + 1];
    give(node, sequence);
}

/* Operand j of the body for item k: the item of a sequence, or the tensor that is the same for
 * all. */
static Tensor *mapped_operand(const Node *node, int j, int64_t k, int64_t n)
{
    Tensor *given = node->in[j];
    if (!given || !given->sequence)
        return given;
    if (given->sequence->n != n)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its sequences have %lld and %lld items", (long long)n,
                  (long long)given->sequence->n);
    if (!given->sequence->item[k])
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the split sizes with --const INPUT=FILE.pb",
                  "the shape of an item is known only when the model runs");
    return given->sequence->item[k];
}

static Tensor **mapped_operands(const Node *node, int64_t k, int64_t n)
{
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    for (int j = 0; j < node->n_in; j++)
        in[j] = mapped_operand(node, j, k, n);
    return in;
}

static void check_mapped(const Node *node, const Graph *body)
{
    if (body->input.n != (size_t)node->n_in ||
        body->output.n != (size_t)node->n_out)
        fail_node(
            node, STATUS_MALFORMED, NULL,
            "its body has another number of inputs or outputs than the node");
}

/* The body once for each item. */
void infer_sequence_map(Node *node)
{
    Graph *body = control_body(node, "body");
    const int64_t n = sequence_in(node)->n;
    Tensor **out = NEW_ARRAY(node->graph->arena, Tensor *, node->n_out);
    Sequence **made = NEW_ARRAY(node->graph->arena, Sequence *, node->n_out);
    check_mapped(node, body);
    for (int i = 0; i < node->n_out; i++)
        made[i] = new_sequence(node, n);
    for (int64_t k = 0; k < n; k++) {
        control_expand(node, body, mapped_operands(node, k, n), out);
        for (int i = 0; i < node->n_out; i++)
            made[i]->item[k] = out[i];
    }
    body->dead = true;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            give_result(node, i, made[i]);
    graph_kill(node);
}

void expand_sequence_at(Node *node)
{
    const Sequence *sequence = sequence_in(node);
    Tensor *item =
        sequence->item[place_of(node, 1, sequence->n, sequence->n, 0)];
    if (!item)
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the split sizes with --const INPUT=FILE.pb",
                  "the shape of that part is known only when the model runs");
    expand_finish_one(node, item);
}

void expand_sequence_length(Node *node)
{
    const int64_t length = sequence_in(node)->n;
    Tensor *tensor = graph_add_constant(
        node->graph, NULL,
        recipe_memory(node->graph->store, DT_I64, 0, NULL, &length));
    expand_finish_one(node, tensor);
}

void expand_concat_from_sequence(Node *node)
{
    const Sequence *sequence = sequence_in(node);
    const bool stack = node_flag(node, "new_axis", false);
    if (!sequence->n || !sequence->item[0])
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its parts are known only when the model runs");
    const int rank = sequence->item[0]->shape.rank + stack;
    const int axis = infer_axis(node, 0, rank);
    infer_rank(node, rank);
    Tensor **part = NEW_ARRAY(node->graph->arena, Tensor *, sequence->n);
    for (int64_t i = 0; i < sequence->n; i++)
        part[i] = stack ? expand_unsqueeze(node, sequence->item[i], axis)
                        : sequence->item[i];
    Node *c = expand_node(node, "Concat", (int)sequence->n, part, 1);
    node_set_int(c, "axis", axis);
    Tensor *all = expand_done(c);
    expand_finish_one(node, all);
}

/* Sizes of the parts; NULL: known only when the model runs. */
static const int64_t *split_sizes(Node *node, int64_t whole, int64_t *parts)
{
    int64_t count;
    const Tensor *given = node_in(node, 1);
    const int64_t *v = infer_ints(node, 1, &count);
    if (given && !v) {
        if (infer_shape(node, 1)->rank != 1)
            fail_node(node, STATUS_UNSUPPORTED,
                      "bake the split sizes with --const INPUT=FILE.pb",
                      "its number of parts is known only when the model runs");
        *parts = given->shape.dim[0];
        return NULL;
    }
    if (given && given->shape.rank == 1) {
        *parts = count;
        return v;
    }
    const int64_t *size = infer_number(node, 1);
    const int64_t each = size ? *size : 1;
    if (each < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "parts of %lld are none",
                  (long long)each);
    *parts = i64_ceil_div(whole, each);
    int64_t *sizes = NEW_ARRAY(node->graph->arena, int64_t, *parts + 1);
    for (int64_t i = 0; i < *parts; i++)
        sizes[i] = i64_min(each, whole - i * each);
    return sizes;
}

static Tensor *without_axis(const Node *node, Tensor *tensor, int axis)
{
    Shape s = tensor->shape;
    for (int i = axis; i + 1 < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    return expand_reshape(node, tensor, s.rank - 1, s.dim);
}

void infer_split_to_sequence(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int axis = infer_axis(node, 0, x->rank);
    const bool squeeze = !node_in(node, 1) && !node_int(node, "keepdims", 1);
    int64_t parts;
    int64_t at = 0;
    const int64_t *size = split_sizes(node, x->dim[axis], &parts);
    Sequence *sequence = new_sequence(node, parts);
    for (int64_t i = 0; size && i < parts; i++, at = i64_add(at, size[i - 1])) {
        if (size[i] < 0 || size[i] > x->dim[axis] - at)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its parts do not add up to the dimension");
        sequence->item[i] =
            expand_slice(node, node->in[0], axis, at, at + size[i]);
        if (squeeze)
            sequence->item[i] = without_axis(node, sequence->item[i], axis);
    }
    give(node, sequence);
}

/* --- results of the model --- */

/* The outputs of a model while its sequences become their items. */
typedef struct Outputs {
    Graph *graph;
    VEC(Tensor *) tensor;
    VEC(IoForm) form;
} Outputs;

static bool is_list(const Tensor *tensor)
{
    const Sequence *sequence = tensor->sequence;
    if (!sequence || !sequence->n)
        return false;
    for (int64_t i = 0; i < sequence->n; i++)
        if (!sequence->item[i])
            return false;
    return true;
}

static void put_output(Outputs *outputs, Tensor *tensor, IoForm form)
{
    Arena *arena = outputs->graph->arena;
    VEC_PUSH(arena, &outputs->tensor, tensor);
    VEC_PUSH(arena, &outputs->form, form);
}

/* The item under the name of its sequence and its place there. */
static Tensor *item_output(Graph *graph, const Tensor *whole, int64_t i)
{
    const Shape unknown = { .rank = -1 };
    Tensor *item = whole->sequence->item[i];
    Tensor *out = graph_add_tensor(graph, NULL, item->dtype, unknown);
    out->name =
        arena_printf(graph->arena, "%s[%lld]", whole->name, (long long)i);
    Node *node = graph_add_node(graph, "", "Identity", 1, &item, 1, &out);
    node->version = OPSET_NEWEST;
    graph_root(graph)->infer_node(node);
    return out;
}

static void put_outputs(Outputs *outputs, size_t i)
{
    Graph *graph = outputs->graph;
    Tensor *tensor = graph->output.at[i];
    const IoForm form = graph_out_form(graph, i);
    if (!is_list(tensor)) {
        put_output(outputs, tensor, form);
        return;
    }
    for (int64_t k = 0; k < tensor->sequence->n; k++)
        put_output(outputs, item_output(graph, tensor, k), form);
}

void sequence_outputs(Graph *graph)
{
    Outputs outputs = { .graph = graph };
    size_t *place = NEW_ARRAY(graph->arena, size_t, graph->output.n + 1);
    for (size_t i = 0; i < graph->output.n; i++) {
        place[i] = outputs.tensor.n;
        put_outputs(&outputs, i);
    }
    for (size_t i = 0; i < graph->state.n; i++)
        graph->state.at[i].out = place[graph->state.at[i].out];
    graph->output.n = 0;
    for (size_t i = 0; i < outputs.tensor.n; i++)
        VEC_PUSH(graph->arena, &graph->output, outputs.tensor.at[i]);
    graph->out_form = outputs.form.at;
}
