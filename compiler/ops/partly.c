/* SPDX-License-Identifier: Apache-2.0
 * An element is followed back through the operators that only move it, to a constant. */
#include "ops/partly.h"

#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/ranges.h"

/* Longer chains count as not known. */
enum { MOST_MOVES = 64 };

/* Does a Cast leave integers as they are? */
static bool is_wider(const Node *node)
{
    return node_is(node, "Cast") && node->in[0]->dtype == DT_I64 &&
           node->out[0]->dtype == DT_I64;
}

/* Do all elements keep their order? */
static bool keeps_order(const Node *node)
{
    return is_wider(node) || node_is(node, "Identity") ||
           node_is(node, "Squeeze") || node_is(node, "Unsqueeze") ||
           node_is(node, "Reshape");
}

/* In whose operand element `at` of the joined lists lies. */
static bool leave_concat(const Node *node, Element *element)
{
    for (int i = 0; i < node->n_in; i++) {
        const Tensor *part = node->in[i];
        if (part->dynamic || !shape_known(&part->shape))
            return false;
        const int64_t count = tensor_count(part);
        if (element->at < count) {
            element->tensor = part;
            return true;
        }
        element->at -= count;
    }
    return false;
}

static bool leave_gather(const Node *node, Element *element)
{
    int64_t count;
    const int64_t *index = infer_ints(node, 1, &count);
    const Tensor *list = node->in[0];
    if (!index || list->dynamic || list->shape.rank != 1)
        return false;
    const int64_t n = list->shape.dim[0];
    int64_t at = index[element->at];
    if (at < 0)
        at += n;
    if (at < 0 || at >= n)
        return false;
    *element = (Element){ list, at };
    return true;
}

/* The index of element `at` along each axis, and back. False: there is none. */
static bool index_of(const Shape *shape, int64_t at, int64_t *index)
{
    if (!shape_known(shape) || at < 0 || at >= shape_count(shape))
        return false;
    for (int i = shape->rank; i-- > 0;) {
        index[i] = at % shape->dim[i];
        at /= shape->dim[i];
    }
    return true;
}

static int64_t place_of(const Shape *shape, const int64_t *index)
{
    int64_t at = 0;
    for (int i = 0; i < shape->rank; i++)
        at = at * shape->dim[i] + index[i];
    return at;
}

/* Pads of torch are pairs, turned around and side by side: rows in reverse, then transposed. */
static bool leave_rows(const Node *node, Element *element)
{
    int64_t first[MAX_RANK];
    int64_t step[MAX_RANK];
    int64_t index[MAX_RANK];
    const Tensor *list = node->in[0];
    if (list->dynamic || !slice_steps(node, first, step) ||
        !index_of(&node->out[0]->shape, element->at, index))
        return false;
    for (int i = 0; i < list->shape.rank; i++)
        index[i] = first[i] + index[i] * step[i];
    *element = (Element){ list, place_of(&list->shape, index) };
    return true;
}

static bool leave_transpose(const Node *node, Element *element)
{
    int64_t count;
    int64_t index[MAX_RANK];
    int64_t from[MAX_RANK];
    const Tensor *list = node->in[0];
    const int rank = list->shape.rank;
    const int64_t *perm = node_ints(node, "perm", &count);
    if (list->dynamic || !index_of(&node->out[0]->shape, element->at, index))
        return false;
    for (int i = 0; i < rank; i++)
        from[perm ? perm[i] : rank - 1 - i] = index[i];
    *element = (Element){ list, place_of(&list->shape, from) };
    return true;
}

static bool leave_slice(const Node *node, Element *element)
{
    int64_t count;
    const Tensor *list = node->in[0];
    const int64_t *step = infer_ints(node, 4, &count);
    const int64_t *start = infer_ints(node, 1, &count);
    const bool strided = step && *step != 1;
    if (strided || list->shape.rank != 1)
        return leave_rows(node, element);
    if (!start || list->dynamic || (node_in(node, 4) && !step))
        return false;
    const int64_t n = list->shape.dim[0];
    const int64_t first = *start < 0 ? *start + n : *start;
    *element = (Element){ list, element->at + (first < 0 ? 0 : first) };
    return element->at < n;
}

/* Is element `at` of tensor, or its only one, that constant? */
static bool is_constant(const Node *node, const Tensor *tensor, int64_t at,
                        int64_t value)
{
    int64_t count;
    const int64_t *values = tensor_ints(node->graph, tensor, &count);
    return values && (count == 1 ? *values : values[at]) == value;
}

/* A sum with zero. */
static bool leave_add(const Node *node, Element *element)
{
    const int64_t count = tensor_count(node->out[0]);
    for (int i = 0; i < 2; i++) {
        const Tensor *tensor = node->in[i];
        if (!shape_known(&tensor->shape) || tensor_count(tensor) != count)
            continue;
        if (!is_constant(node, node->in[1 - i], element->at, 0))
            continue;
        element->tensor = tensor;
        return true;
    }
    return false;
}

/* Where(list == -1, ..., list): no size is -1. */
static bool leave_where(const Node *node, Element *element)
{
    const Tensor *list = node->in[2];
    const Node *asks = node->in[0]->producer;
    if (!asks || !node_is(asks, "Equal") || asks->in[0] != list ||
        !shape_equal(&list->shape, &node->out[0]->shape) ||
        !is_constant(node, asks->in[1], element->at, -1))
        return false;
    element->tensor = list;
    return true;
}

/* Goes to where the element came from. */
static bool leave(Element *element)
{
    const Node *node = element->tensor->producer;
    if (!node || !node->in[0] || !shape_known(&node->in[0]->shape))
        return false;
    if (keeps_order(node)) {
        element->tensor = node->in[0];
        return !element->tensor->dynamic;
    }
    if (node_is(node, "Transpose"))
        return leave_transpose(node, element);
    if (node_is(node, "Slice"))
        return leave_slice(node, element);
    if (element->tensor->shape.rank > 1)
        return false;
    if (node_is(node, "Concat"))
        return leave_concat(node, element);
    if (node_is(node, "Gather"))
        return leave_gather(node, element);
    if (node_is(node, "Add"))
        return leave_add(node, element);
    return node_is(node, "Where") && leave_where(node, element);
}

Element partly_origin(const Tensor *list, int64_t at)
{
    Element element = { list, at };
    for (int i = 0; i < MOST_MOVES && !element.tensor->value; i++)
        if (!leave(&element))
            break;
    return element;
}

bool partly_known(Graph *graph, const Tensor *list, int64_t at, int64_t *value)
{
    const Element element = partly_origin(list, at);
    int64_t count;
    if (!element.tensor->value)
        return false;
    const int64_t *values = tensor_ints(graph, element.tensor, &count);
    if (!values || element.at >= count)
        return false;
    *value = values[element.at];
    return true;
}

/* Beside a size known only at run time, which operand 0 has, one that is left open (-1) is what the
 * known ones leave. */
static void close_other(const Node *node, int64_t *asked, int64_t count,
                        int64_t counted)
{
    const Tensor *x = node->in[0];
    const CountedSize *size = dynamic_entry(node, 1, counted);
    int64_t left = 1;
    int other = -1;
    if (!size || !x->dynamic || x->dynamic & (x->dynamic - 1))
        return;
    for (int a = 0; a < x->shape.rank; a++) {
        if (!(x->dynamic >> a & 1u))
            left = i64_mul(left, x->shape.dim[a]);
        else if (x->size_id[a] != size->id)
            return;
    }
    for (int k = 0; k < count; k++) {
        if (k == counted)
            continue;
        if (asked[k] < 0)
            other = k;
        else if (asked[k] && left % asked[k] == 0)
            left /= asked[k];
        else
            return;
    }
    if (other >= 0)
        asked[other] = left;
}

const int64_t *partly_open(Node *node, int i, int64_t *count)
{
    const Tensor *list = node->in[i];
    int64_t asked[MAX_RANK];
    int open = 0;
    int last = 0;
    *count = infer_count(node, i);
    if (shape_known(node->out[0]->declared) || *count > MAX_RANK)
        return NULL;
    for (int k = 0; k < *count; k++) {
        if (partly_known(node->graph, list, k, asked + k))
            continue;
        asked[k] = -1;
        open++;
        last = k;
    }
    if (open != 1)
        return NULL;
    close_other(node, asked, *count, last);
    node_set_input(node, i, expand_i64s(node, *count, asked));
    return infer_ints(node, i, count);
}
