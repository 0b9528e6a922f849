/* SPDX-License-Identifier: Apache-2.0
 * Pairs of a convolution and the depthwise one that alone reads it: networks make many channels,
 * filter each of them, and make few again. Where Graph.banks says so, some of those channels (a
 * bank) go through both before the next ones are made, each bank to its place in the result: what
 * lies between the two is as much smaller, and nothing is made twice. Which pairs are worth it is
 * known to who plans (pipeline/banks.c). Requires: layout done. Ensures: the same result, bit by
 * bit; the nodes of pairs are numbered. */
#include "base/size.h"
#include "ops/ops.h"
#include "passes/parted.h"
#include "passes/passes.h"

enum { MOST_OPERANDS = 9 };

typedef struct Pair {
    Node *first;
    Node *depthwise;
    int64_t channels;
} Pair;

static int64_t channels_of(const Tensor *tensor)
{
    return tensor->shape.dim[tensor->shape.rank - 1];
}

/* Constants that all channels share, and such as have an element or a block for each of them. */
static bool has_parts(const Node *node, int64_t channels)
{
    for (int i = 1; i < node->n_in; i++) {
        const Tensor *in = node->in[i];
        if (!in)
            continue;
        if (!in->value)
            return false;
        const bool each = in->shape.rank && in->shape.dim[0] == channels;
        if (!each && tensor_count(in) != 1)
            return false;
    }
    return true;
}

/* A convolution of an image of known size, channels last, that adds nothing to its result. */
static bool is_plain(const Node *node)
{
    if (!node_is(node, "Conv") && !node_is(node, "QLinearConv"))
        return false;
    if (node->dead || !node->channels_last || node->n_in > MOST_OPERANDS)
        return false;
    const Tensor *y = node->out[0];
    return shape_known(&y->shape) && !y->dynamic &&
           !node_attr(node, "residual");
}

static bool find_pair(Node *depthwise, Pair *pair)
{
    if (!is_plain(depthwise))
        return false;
    Tensor *between = depthwise->in[0];
    Node *first = between->producer;
    if (!first || first->graph != depthwise->graph || between->uses != 1)
        return false;
    const int64_t channels = channels_of(between);
    *pair = (Pair){ first, depthwise, channels };
    if (!is_plain(first) || node_int(first, "group", 1) != 1)
        return false;
    if (node_int(depthwise, "group", 1) != channels)
        return false;
    return channels > 1 && channels_of(depthwise->out[0]) == channels &&
           has_parts(first, channels) && has_parts(depthwise, channels);
}

/* The node for channels [from, from + count), of its own image or of another one. */
static Tensor *part_of(Graph *graph, const Node *node, Tensor *image,
                       int64_t channels, int64_t from, int64_t count)
{
    const Tensor *whole = node->out[0];
    Tensor *in[MOST_OPERANDS] = { image };
    Shape shape = whole->shape;
    shape.dim[shape.rank - 1] = count;
    for (int i = 1; i < node->n_in; i++) {
        Tensor *operand = node->in[i];
        const bool one = !operand || tensor_count(operand) == 1;
        in[i] =
            one ? operand : part_of_constant(graph, operand, 0, from, count);
    }
    Tensor *y = graph_add_tensor(graph, NULL, whole->dtype, shape);
    y->numbers = whole->numbers;
    Node *made = insert_like(graph, node, node->n_in, in, y);
    made->channels_last = true;
    made->pair = node->pair;
    if (node_int(node, "group", 1) == channels)
        node_set_int(made, "group", count);
    return y;
}

/* As many banks as hold so many channels, in equal ones of whole eights but for the last. */
static void cut(Graph *graph, const Pair *pair, int64_t most)
{
    const int64_t parts = i64_ceil_div(pair->channels, most);
    const int64_t each =
        i64_ceil_div(i64_ceil_div(pair->channels, parts), 8) * 8;
    Tensor **part = NEW_ARRAY(graph->arena, Tensor *, parts);
    Tensor *out = pair->depthwise->out[0];
    int n = 0;
    for (int64_t from = 0; from < pair->channels; from += each) {
        const int64_t count = i64_min(each, pair->channels - from);
        Tensor *bank = part_of(graph, pair->first, pair->first->in[0],
                               pair->channels, from, count);
        part[n++] =
            part_of(graph, pair->depthwise, bank, pair->channels, from, count);
    }
    join_parts(graph, pair->depthwise, n, part, out);
    graph_kill(pair->depthwise);
    graph_kill(pair->first);
}

void pass_banks(Graph *graph)
{
    Graph *root = graph_root(graph);
    const Banks *banks = &root->banks;
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Pair pair;
        if (!find_pair(graph->node.at[i], &pair))
            continue;
        const int32_t place = root->pairs++;
        pair.first->pair = pair.depthwise->pair = root->pairs;
        const int64_t most = place < banks->pairs ? banks->channels[place] : 0;
        if (most && most < pair.channels)
            cut(graph, &pair, most);
    }
    graph_sort(graph);
}
