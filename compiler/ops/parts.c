/* SPDX-License-Identifier: Apache-2.0
 * Slices and splits of a list of integers that a Concat joins are the parts themselves: where some
 * are constants, as in the size of a result, what is known stays known. */
#include "ops/parts.h"

#include "base/size.h"
#include "ops/expand.h"

enum { LONGEST = 64 };

static bool is_joined(const Tensor *list)
{
    const Node *concat = list ? list->producer : NULL;
    if (!concat || concat->dead || !node_is(concat, "Concat"))
        return false;
    if (list->dtype != DT_I64 && list->dtype != DT_I32)
        return false;
    if (list->value || list->dynamic || !shape_known(&list->shape))
        return false;
    return list->shape.rank == 1 && list->shape.dim[0] <= LONGEST;
}

static bool has_constant(const Node *concat)
{
    for (int i = 0; i < concat->n_in; i++)
        if (concat->in[i]->value)
            return true;
    return false;
}

/* Elements [from, end) of what the Concat joins; NULL: they are no whole parts. */
static Tensor *parts_between(const Node *at, const Node *concat, int64_t from,
                             int64_t end)
{
    Tensor *all = NULL;
    int64_t place = 0;
    for (int i = 0; i < concat->n_in; i++) {
        Tensor *part = concat->in[i];
        const int64_t next = place + tensor_count(part);
        const bool inside = place >= from && next <= end;
        if (!inside && next > from && place < end)
            return NULL;
        if (inside && next > place)
            all = all ? expand_concat(at, all, part, 0) : part;
        place = next;
    }
    return all;
}

static int64_t place_in(int64_t place, int64_t count)
{
    if (place < 0)
        place += count;
    return i64_max(0, i64_min(place, count));
}

/* Is operand i left out, or the one number `value`? */
static bool is_default(const Node *node, int i, int64_t value)
{
    int64_t count;
    if (!node_in(node, i))
        return true;
    const int64_t *given = infer_ints(node, i, &count);
    return given && count == 1 && *given == value;
}

static bool replace_slice(Node *node, const Node *concat)
{
    const int64_t count = node->in[0]->shape.dim[0];
    int64_t starts, ends;
    const int64_t *start = infer_ints(node, 1, &starts);
    const int64_t *end = infer_ints(node, 2, &ends);
    if (!start || !end || starts != 1 || ends != 1)
        return false;
    if (!is_default(node, 3, 0) || !is_default(node, 4, 1))
        return false;
    const int64_t first = place_in(*start, count);
    Tensor *part = parts_between(node, concat, first, place_in(*end, count));
    if (part)
        expand_finish_one(node, part);
    return part != NULL;
}

/* The size of part i of a Split without operand 1. */
static int64_t equal_part(const Node *node, int64_t count, int i)
{
    const int64_t each = i64_ceil_div(count, node->n_out);
    return i64_max(0, i64_min(each, count - i * each));
}

static bool replace_split(Node *node, const Node *concat)
{
    const int64_t count = node->in[0]->shape.dim[0];
    Tensor **part = NEW_ARRAY(node->graph->arena, Tensor *, node->n_out);
    int64_t place = 0;
    if (node_in(node, 1) || node_attr(node, "split"))
        return false;
    for (int i = 0; i < node->n_out; i++) {
        const int64_t end = i64_add(place, equal_part(node, count, i));
        part[i] = parts_between(node, concat, place, end);
        if (!part[i])
            return false;
        place = end;
    }
    expand_finish(node, node->n_out, part);
    return true;
}

bool part_of_list(Node *node)
{
    const bool slice = node_is(node, "Slice") && node->n_in > 1;
    if (!slice && !node_is(node, "Split"))
        return false;
    if (!is_joined(node_in(node, 0)))
        return false;
    const Node *concat = node->in[0]->producer;
    if (!has_constant(concat))
        return false;
    return slice ? replace_slice(node, concat) : replace_split(node, concat);
}
