/* SPDX-License-Identifier: Apache-2.0
 * Expansions: networks make many channels by a convolution, filter each of them by depthwise ones,
 * and make few again. Where Graph.banks says so, some of those channels (a bank) go through all of
 * these before the next ones are made, each bank to its place in the result: what lies between is
 * as much smaller, and nothing is made twice. Which expansions are worth it is known to who plans
 * (pipeline/banks.c). Requires: layout done. Ensures: the same result, bit by bit; the nodes of
 * expansions are numbered. */
#include "base/size.h"
#include "ops/ops.h"
#include "passes/parted.h"
#include "passes/passes.h"

enum { MOST_OPERANDS = 9, MOST_NODES = 4 };

/* The convolution that makes the channels, and those behind it that filter each of them. */
typedef struct Expansion {
    Node *node[MOST_NODES];
    int n;
    int64_t channels;
} Expansion;

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

/* A depthwise convolution with one result for each channel. */
static bool filters_channels(const Node *node)
{
    if (!is_plain(node))
        return false;
    const int64_t channels = channels_of(node->in[0]);
    return channels > 1 && node_int(node, "group", 1) == channels &&
           channels_of(node->out[0]) == channels && has_parts(node, channels);
}

/* The node whose result this one alone reads; NULL: there is none. */
static Node *maker_for(const Node *node)
{
    const Tensor *x = node->in[0];
    Node *maker = x->uses == 1 ? x->producer : NULL;
    return maker && maker->graph == node->graph ? maker : NULL;
}

/* Do the channels go through another depthwise convolution? */
static bool goes_on(const Node *node)
{
    const Use *use = node->out[0]->use;
    return use && node->out[0]->uses == 1 && use->node->graph == node->graph &&
           !use->operand && filters_channels(use->node);
}

static void turn(Expansion *expansion)
{
    for (int i = 0; i < expansion->n / 2; i++) {
        Node **other = expansion->node + expansion->n - 1 - i;
        Node *node = expansion->node[i];
        expansion->node[i] = *other;
        *other = node;
    }
}

static bool find_expansion(Node *last, Expansion *expansion)
{
    Node *node = last;
    if (!filters_channels(last) || goes_on(last))
        return false;
    *expansion = (Expansion){ .channels = channels_of(last->in[0]) };
    while (node && filters_channels(node)) {
        if (expansion->n == MOST_NODES - 1)
            return false;
        expansion->node[expansion->n++] = node;
        node = maker_for(node);
    }
    if (!node || !is_plain(node) || node_int(node, "group", 1) != 1)
        return false;
    expansion->node[expansion->n++] = node;
    turn(expansion);
    return has_parts(node, expansion->channels);
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
    made->expansion = node->expansion;
    if (node_int(node, "group", 1) == channels)
        node_set_int(made, "group", count);
    return y;
}

/* As many banks as hold so many channels, in equal ones of whole eights but for the last. */
static void cut(Graph *graph, const Expansion *expansion, int64_t most)
{
    const int64_t channels = expansion->channels;
    const int64_t banks = i64_ceil_div(channels, most);
    const int64_t each = i64_ceil_div(i64_ceil_div(channels, banks), 8) * 8;
    const Node *first = expansion->node[0];
    const Node *last = expansion->node[expansion->n - 1];
    Tensor **part = NEW_ARRAY(graph->arena, Tensor *, banks);
    int parts = 0;
    for (int64_t from = 0; from < channels; from += each) {
        const int64_t count = i64_min(each, channels - from);
        Tensor *bank = first->in[0];
        for (int i = 0; i < expansion->n; i++)
            bank =
                part_of(graph, expansion->node[i], bank, channels, from, count);
        part[parts++] = bank;
    }
    join_parts(graph, last, parts, part, last->out[0]);
    for (int i = expansion->n; i-- > 0;)
        graph_kill(expansion->node[i]);
}

void pass_banks(Graph *graph)
{
    Graph *root = graph_root(graph);
    const Banks *banks = &root->banks;
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Expansion expansion;
        if (!find_expansion(graph->node.at[i], &expansion))
            continue;
        const int32_t place = root->expansions++;
        for (int k = 0; k < expansion.n; k++)
            expansion.node[k]->expansion = root->expansions;
        const int64_t most = place < banks->n ? banks->channels[place] : 0;
        if (most && most < expansion.channels)
            cut(graph, &expansion, most);
    }
    graph_sort(graph);
}
