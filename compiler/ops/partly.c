/* SPDX-License-Identifier: Apache-2.0
 * An element is followed back through the operators that only move it, to a constant. */
#include "ops/partly.h"

#include "ops/expand.h"

/* Longer chains count as not known. */
enum { MOST_MOVES = 64 };

typedef struct Element {
    const Tensor *tensor;
    int64_t at;
} Element;

/* Do all elements keep their order? */
static bool keeps_order(const Node *node)
{
    return node_is(node, "Identity") || node_is(node, "Squeeze") ||
           node_is(node, "Unsqueeze") || node_is(node, "Reshape");
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

static bool leave_slice(const Node *node, Element *element)
{
    int64_t count;
    const Tensor *list = node->in[0];
    const int64_t *step = infer_ints(node, 4, &count);
    const int64_t *start = infer_ints(node, 1, &count);
    const bool strided = step && *step != 1;
    if (!start || list->dynamic || strided || (node_in(node, 4) && !step))
        return false;
    const int64_t n = list->shape.dim[0];
    const int64_t first = *start < 0 ? *start + n : *start;
    *element = (Element){ list, element->at + (first < 0 ? 0 : first) };
    return element->at < n;
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
    if (element->tensor->shape.rank > 1)
        return false;
    if (node_is(node, "Concat"))
        return leave_concat(node, element);
    if (node_is(node, "Gather"))
        return leave_gather(node, element);
    return node_is(node, "Slice") && leave_slice(node, element);
}

bool partly_known(Graph *graph, const Tensor *list, int64_t at, int64_t *value)
{
    Element element = { list, at };
    for (int i = 0; i < MOST_MOVES; i++) {
        if (element.tensor->value) {
            int64_t count;
            const int64_t *values = tensor_ints(graph, element.tensor, &count);
            if (!values || element.at >= count)
                return false;
            *value = values[element.at];
            return true;
        }
        if (!leave(&element))
            return false;
    }
    return false;
}

const int64_t *partly_open(Node *node, int i, int64_t *count)
{
    const Tensor *list = node->in[i];
    int64_t asked[MAX_RANK];
    int open = 0;
    *count = infer_count(node, i);
    if (shape_known(node->out[0]->declared) || *count > MAX_RANK)
        return NULL;
    for (int k = 0; k < *count; k++) {
        if (partly_known(node->graph, list, k, asked + k))
            continue;
        asked[k] = -1;
        open++;
    }
    if (open != 1)
        return NULL;
    node_set_input(node, i, expand_i64s(node, *count, asked));
    return infer_ints(node, i, count);
}
