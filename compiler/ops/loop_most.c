/* SPDX-License-Identifier: Apache-2.0
 * How many turns a Loop can make: a trip count that is a size, or the least of numbers; rows that
 * are read by a counter. */
#include "ops/loop_most.h"

#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/infer.h"
#include "ops/nest.h"
#include "ops/partly.h"

enum { MOST_STEPS = 16 };

/* The lesser of two limits, of which -1 is none. */
static int64_t lesser(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return i64_max(a, b);
    return i64_min(a, b);
}

/* Does it hand on its one element as it is? */
static bool keeps_number(const Node *node)
{
    if (node_is(node, "ReduceProd"))
        return tensor_count(node->in[0]) == 1;
    return node_is(node, "Cast") || node_is(node, "Identity") ||
           node_is(node, "Reshape") || node_is(node, "Squeeze") ||
           node_is(node, "Unsqueeze");
}

static const Tensor *plain(const Tensor *tensor)
{
    for (int i = 0; i < MOST_STEPS && tensor->producer; i++) {
        if (!keeps_number(tensor->producer))
            break;
        tensor = tensor->producer->in[0];
    }
    return tensor;
}

/* No more than this number can be, by what it is; -1: nothing says. */
static int64_t most_by_itself(Graph *graph, const Tensor *tensor)
{
    int64_t value;
    const CountedSize *size = dynamic_counted(tensor, 0);
    if (partly_known(graph, tensor, 0, &value))
        return i64_max(value, 0);
    return size ? size->bound : -1;
}

/* The same where it may be the least of several. */
static int64_t most_of(Graph *graph, const Tensor *tensor)
{
    const Tensor *open[MOST_STEPS] = { plain(tensor) };
    int64_t most = -1;
    int n = 1;
    for (int i = 0; i < n; i++) {
        const Node *node = open[i]->producer;
        most = lesser(most, most_by_itself(graph, open[i]));
        if (!node || !node_is(node, "Min"))
            continue;
        for (int k = 0; k < node->n_in && n < MOST_STEPS; k++)
            open[n++] = plain(node->in[k]);
    }
    return most;
}

/* Does carried value i count up from 0 or more, by 1 or more a turn? */
static bool counts_up(const Node *node, const Graph *body, size_t i)
{
    int64_t first;
    int64_t step;
    const Tensor *begin = node->in[i];
    const Node *next = plain(body->output.at[i - 1])->producer;
    if (!partly_known(node->graph, begin, 0, &first) || first < 0)
        return false;
    if (!next || !node_is(next, "Add"))
        return false;
    for (int k = 0; k < 2; k++) {
        if (plain(next->in[k]) != body->input.at[i])
            continue;
        return partly_known(next->graph, next->in[!k], 0, &step) && step > 0;
    }
    return false;
}

/* Is the tensor the number of the turn, or a counter that is no less? */
static bool is_counter(const Node *node, const Graph *body,
                       const Tensor *tensor)
{
    if (!shape_known(&tensor->shape) || shape_count(&tensor->shape) != 1)
        return false;
    tensor = plain(tensor);
    if (tensor == body->input.at[0])
        return true;
    for (size_t i = 2; i < body->input.n; i++)
        if (tensor == body->input.at[i])
            return counts_up(node, body, i);
    return false;
}

/* A Gather by a counter: it may not go beyond the axis. */
static int64_t most_read(const Node *node, const Graph *body,
                         const Node *gather)
{
    if (gather->dead || !node_is(gather, "Gather") || !expand_reads(gather, 0))
        return -1;
    if (!is_counter(node, body, gather->in[1]))
        return -1;
    const Shape *data = &gather->in[0]->shape;
    return data->dim[infer_axis(gather, 0, data->rank)];
}

int64_t loop_most_turns(const Node *node, const Graph *body)
{
    const Tensor *trips = node_in(node, 0);
    int64_t most = trips ? most_of(node->graph, trips) : -1;
    for (size_t i = 0; i < body->node.n; i++)
        most = lesser(most, most_read(node, body, body->node.at[i]));
    if (most < 0 || most > INT32_MAX)
        return -1;
    return i64_max(most, 1);
}
