/* SPDX-License-Identifier: Apache-2.0
 * Sequences whose length is known when compiling: lists of tensors that exist only here. What is
 * built, changed and taken apart in a model leaves no trace in its program; a sequence as an input
 * or output of the model is refused. */
#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

static const Sequence *sequence_in(const Node *n)
{
    const Tensor *t = node_in(n, 0);
    if (!t || !t->sequence)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its sequence is known only when the model runs");
    return t->sequence;
}

static Sequence *new_sequence(const Node *n, int64_t length)
{
    Sequence *s = NEW(n->graph->arena, Sequence);
    *s = (Sequence){ length, NEW_ARRAY(n->graph->arena, Tensor *, length + 1) };
    return s;
}

static void give(Node *n, Sequence *s)
{
    n->out[0]->sequence = s;
    graph_kill(n);
}

/* The place that operand i names: within [0, most), `otherwise` where it is left out. */
static int64_t place_of(const Node *n, int i, int64_t most, int64_t length, int64_t otherwise)
{
    int64_t count;
    const int64_t *v = infer_ints(n, i, &count);
    if (!node_in(n, i))
        return otherwise;
    if (!v || count != 1)
        fail_node(n, STATUS_UNSUPPORTED, "bake it with --const INPUT=FILE.pb",
                  "its place in the sequence is known only when the model runs");
    const int64_t at = v[0] < 0 ? v[0] + length : v[0];
    if (at < 0 || at >= most)
        fail_node(n, STATUS_MALFORMED, NULL, "place %lld lies outside a sequence of %lld",
                  (long long)v[0], (long long)length);
    return at;
}

void infer_sequence_empty(Node *n)
{
    give(n, new_sequence(n, 0));
}

void infer_sequence_construct(Node *n)
{
    Sequence *s = new_sequence(n, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        s->item[i] = n->in[i];
    give(n, s);
}

void infer_sequence_insert(Node *n)
{
    const Sequence *from = sequence_in(n);
    const int64_t at = place_of(n, 2, from->n + 1, from->n, from->n);
    Sequence *s = new_sequence(n, from->n + 1);
    for (int64_t i = 0; i < s->n; i++)
        s->item[i] = i < at ? from->item[i] : i == at ? n->in[1] : from->item[i - 1];
    give(n, s);
}

void infer_sequence_erase(Node *n)
{
    const Sequence *from = sequence_in(n);
    const int64_t at = place_of(n, 1, from->n, from->n, from->n - 1);
    if (!from->n)
        fail_node(n, STATUS_MALFORMED, NULL, "the sequence is empty");
    Sequence *s = new_sequence(n, from->n - 1);
    for (int64_t i = 0; i < s->n; i++)
        s->item[i] = from->item[i < at ? i : i + 1];
    give(n, s);
}

void expand_sequence_at(Node *n)
{
    const Sequence *s = sequence_in(n);
    Tensor *item = s->item[place_of(n, 1, s->n, s->n, 0)];
    if (!item)
        fail_node(n, STATUS_UNSUPPORTED, "bake the split sizes with --const INPUT=FILE.pb",
                  "the shape of that part is known only when the model runs");
    expand_finish(n, 1, &item);
}

void expand_sequence_length(Node *n)
{
    const int64_t length = sequence_in(n)->n;
    Tensor *t = graph_add_constant(n->graph, NULL,
                                   recipe_memory(n->graph->store, DT_I64, 0, NULL, &length));
    expand_finish(n, 1, &t);
}

static Tensor *with_new_axis(const Node *n, Tensor *t, int axis)
{
    Shape s = t->shape;
    for (int i = s.rank; i > axis; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[axis] = 1;
    return expand_reshape(n, t, s.rank + 1, s.dim);
}

void expand_concat_from_sequence(Node *n)
{
    const Sequence *s = sequence_in(n);
    const bool stack = node_int(n, "new_axis", 0) != 0;
    if (!s->n || !s->item[0])
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its parts are known only when the model runs");
    const int rank = s->item[0]->shape.rank + stack,
              axis = node_axis(n, node_int(n, "axis", 0), rank);
    if (rank > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    Tensor **part = NEW_ARRAY(n->graph->arena, Tensor *, s->n);
    for (int64_t i = 0; i < s->n; i++)
        part[i] = stack ? with_new_axis(n, s->item[i], axis) : s->item[i];
    Node *c = expand_node(n, "Concat", (int)s->n, part, 1);
    node_set_int(c, "axis", axis);
    Tensor *all = expand_done(c);
    expand_finish(n, 1, &all);
}

/* Sizes of the parts; NULL: known only when the model runs. */
static const int64_t *split_sizes(Node *n, int64_t whole, int64_t *parts)
{
    int64_t count;
    const Tensor *given = node_in(n, 1);
    const int64_t *v = infer_ints(n, 1, &count);
    if (given && !v) {
        if (infer_shape(n, 1)->rank != 1)
            fail_node(n, STATUS_UNSUPPORTED, "bake the split sizes with --const INPUT=FILE.pb",
                      "its number of parts is known only when the model runs");
        *parts = given->shape.dim[0];
        return NULL;
    }
    if (given && given->shape.rank == 1) {
        *parts = count;
        return v;
    }
    const int64_t each = given ? v[0] : 1;
    if (each < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "parts of %lld are none", (long long)each);
    *parts = i64_ceil_div(whole, each);
    int64_t *sizes = NEW_ARRAY(n->graph->arena, int64_t, *parts + 1);
    for (int64_t i = 0; i < *parts; i++)
        sizes[i] = i64_min(each, whole - i * each);
    return sizes;
}

static Tensor *without_axis(const Node *n, Tensor *t, int axis)
{
    Shape s = t->shape;
    for (int i = axis; i + 1 < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    return expand_reshape(n, t, s.rank - 1, s.dim);
}

void infer_split_to_sequence(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const int axis = node_axis(n, node_int(n, "axis", 0), x->rank);
    const bool squeeze = !node_in(n, 1) && !node_int(n, "keepdims", 1);
    int64_t parts, at = 0;
    const int64_t *size = split_sizes(n, x->dim[axis], &parts);
    Sequence *s = new_sequence(n, parts);
    for (int64_t i = 0; size && i < parts; i++, at = i64_add(at, size[i - 1])) {
        if (size[i] < 0 || size[i] > x->dim[axis] - at)
            fail_node(n, STATUS_MALFORMED, NULL, "its parts do not add up to the dimension");
        s->item[i] = expand_slice(n, n->in[0], axis, at, at + size[i]);
        if (squeeze)
            s->item[i] = without_axis(n, s->item[i], axis);
    }
    give(n, s);
}
