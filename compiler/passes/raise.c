/* SPDX-License-Identifier: Apache-2.0
 * Between an input and the first image often lies elementwise work (Cast, scale, offset,
 * QuantizeLinear) in ONNX's order: planes, where the image wants rows. A transposition or reshape
 * behind such a chain goes in front of it, so that all of it goes row by row and no frame is held.
 * The same behind a tensor that others read too: it is there as a whole, the chain need not be.
 */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

enum { LONGEST_CHAIN = 64 };

static bool is_quant(const Node *node)
{
    return node_is(node, "QuantizeLinear") || node_is(node, "DequantizeLinear");
}

static bool is_reshape(const Node *node)
{
    return node->op && node->op->flags & OP_VIEW;
}

/* The operand that node maps element by element, all others being constants; -1: it is no such
 * node. / */
static int mapped_operand(const Node *node)
{
    int found = -1;
    if (!relayout_find(node) || node->n_out != 1 || !node->out[0] ||
        node->out[0]->dynamic)
        return -1;
    if (!(node->op->flags & OP_ELEMENTWISE) && !is_quant(node))
        return -1;
    for (int i = 0; i < node->n_in; i++) {
        if (!node->in[i] || node->in[i]->value)
            continue;
        if (found >= 0 ||
            !shape_equal(&node->in[i]->shape, &node->out[0]->shape))
            return -1;
        found = i;
    }
    return found;
}

/* An input, seen under whatever shape. */
static bool is_input(const Graph *graph, const Tensor *tensor)
{
    while (tensor->producer && !tensor->producer->dead &&
           is_reshape(tensor->producer))
        tensor = tensor->producer->in[0];
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph->input.at[i] == tensor)
            return true;
    return false;
}

/* Is it there as a whole whatever the order of its elements is read in? An input is; so is what
 * several nodes read. */
static bool is_held(const Graph *graph, const Tensor *tensor)
{
    return tensor->uses > 1 || is_input(graph, tensor);
}

/* Made from an input, or from what several nodes read, by such nodes, each result read by the next
 * one alone? */
static bool comes_from_held(const Graph *g, const Tensor *tensor)
{
    for (int i = 0; i < LONGEST_CHAIN; i++) {
        if (is_held(g, tensor))
            return i > 0;
        const Node *p = tensor->producer;
        const int k = p && !p->dead && p->graph == g ? mapped_operand(p) : -1;
        if (k < 0)
            return false;
        tensor = p->in[k];
    }
    return false;
}

/* One value for all elements, whatever the shape. */
static bool is_single(const Tensor *tensor)
{
    return tensor_count(tensor) == 1 && tensor->shape.rank <= 1;
}

static bool all_single(const Node *node, int mapped)
{
    for (int i = 0; i < node->n_in; i++)
        if (i != mapped && node->in[i] && !is_single(node->in[i]))
            return false;
    return !node_int(node, "block_size", 0);
}

/* A permutation of images and the way back. */
typedef struct Turn {
    int rank;
    int perm[MAX_RANK], back[MAX_RANK];
} Turn;

static Turn turn_of(const Node *transpose)
{
    Turn turn = { .rank = transpose->in[0]->shape.rank };
    transpose_perm(transpose, turn.perm);
    perm_inverse(turn.rank, turn.perm, turn.back);
    return turn;
}

/* Is operand i of a node turned with it? One value for all elements need not be. */
static bool turns(const Node *node, int i)
{
    const Tensor *x = node->in[i];
    return x && relayout_moves(node, i) && !(x->value && is_single(x));
}

static Tensor *insert_turn(Graph *graph, Node *before, Tensor *x,
                           const Turn *turn)
{
    if (x->shape.rank < turn->rank)
        x = insert_reshape_rank(graph, before, x, turn->rank);
    return insert_transpose(graph, before, x, turn->perm);
}

static bool raise_transpose(Graph *graph, Node *node, const Node *transpose)
{
    const Turn turn = turn_of(transpose);
    if (!relayout_find(node)(node, turn.rank, turn.back))
        return false;
    Tensor **in = node_copy_inputs(node);
    for (int i = 0; i < node->n_in; i++)
        if (turns(node, i))
            in[i] = insert_turn(graph, node, in[i], &turn);
    node_set_inputs(node, node->n_in, in);
    return true;
}

static bool is_turn(const Node *node)
{
    return node_is(node, "Transpose") || is_reshape(node);
}

/* `turn` goes in front of the node before it. Returns itself in its new place, NULL: it stays, or
 * the node takes what was there before another turn, of which nothing is left. */
static Node *raise_once(Graph *graph, Node *turn)
{
    Tensor *x = turn->in[0];
    Tensor *y = turn->out[0];
    if (turn->dead || !comes_from_held(graph, x) || y->dynamic)
        return NULL;
    Node *node = x->producer;
    const int mapped = mapped_operand(node);
    if (node_is(turn, "Transpose")) {
        if (!raise_transpose(graph, node, turn))
            return NULL;
    } else {
        if (y->shape.rank < 3 || !all_single(node, mapped))
            return NULL;
        Tensor *shaped =
            insert_reshape(graph, node, node->in[mapped], &y->shape);
        node_set_input(node, mapped, shaped);
    }
    graph_kill(turn);
    node->out[0] = y;
    y->producer = node;
    Node *above = node->in[mapped]->producer;
    return above && is_turn(above) ? above : NULL;
}

/* ---- slices and concatenations of an input (a focus layer) ---- */

enum { MOST_IN_TREE = 32 };

/* What lies between inputs and a transposition: nodes that only the tree and the transposition
 * read. */
typedef struct Tree {
    Node *node[MOST_IN_TREE];
    int n;
    bool moves; /* there is a Slice or a Concat in it */
} Tree;

static bool in_tree(const Tree *tree, const Node *n)
{
    for (int i = 0; i < tree->n; i++)
        if (tree->node[i] == n)
            return true;
    return false;
}

static bool moves_only(const Graph *g, const Node *node)
{
    if (node_is(node, "Concat"))
        return true;
    if (!node_is(node, "Slice") || node->n_in < 3)
        return false;
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && !node->in[i]->value)
            return false;
    return node->graph == g;
}

/* Tensors whose makers are still to be looked at. */
typedef struct Open {
    const Tensor *tensor[MOST_IN_TREE * 4];
    int n;
} Open;

/* Adds a node, and the operands that it maps or moves to `open`; false: it does not belong to a
 * tree, or is one too many. */
static bool add_to_tree(const Graph *g, Tree *tree, Node *node, Open *open)
{
    const int mapped = mapped_operand(node);
    if (mapped < 0 && !moves_only(g, node))
        return false;
    if (tree->n == MOST_IN_TREE || open->n + node->n_in > MOST_IN_TREE * 4)
        return false;
    tree->moves |= mapped < 0;
    tree->node[tree->n++] = node;
    if (mapped >= 0)
        open->tensor[open->n++] = node->in[mapped];
    for (int i = 0; mapped < 0 && i < node->n_in; i++)
        if (relayout_moves(node, i))
            open->tensor[open->n++] = node->in[i];
    return true;
}

/* Is it made by a node of this graph, and read by nodes alone? */
static bool is_inner(const Graph *g, const Tensor *tensor)
{
    const Node *maker = tensor->producer;
    return maker && !maker->dead && maker->graph == g && maker->n_out == 1 &&
           !tensor->dynamic && !graph_is_output(g, tensor);
}

/* Adds the node that made root, and what is above; false: the tree does not end in inputs, or is
 * too large. */
static bool grow_tree(const Graph *g, Tree *tree, const Tensor *root)
{
    Open open = { .n = 1, .tensor = { root } };
    while (open.n) {
        const Tensor *x = open.tensor[--open.n];
        if (x->shape.rank != root->shape.rank)
            return false;
        if (x->value || is_input(g, x))
            continue;
        if (!is_inner(g, x))
            return false;
        if (!in_tree(tree, x->producer) &&
            !add_to_tree(g, tree, x->producer, &open))
            return false;
    }
    return tree->n > 0;
}

static bool is_closed(const Tree *tree, const Node *turn)
{
    for (int i = 0; i < tree->n; i++)
        for (const Use *u = tree->node[i]->out[0]->use; u; u = u->next)
            if (u->node != turn && !in_tree(tree, u->node))
                return false;
    return true;
}

/* The attributes of all its nodes change; false: one of them cannot be turned, and all are as they
 * were. */
static bool relayout_tree(const Tree *tree, const Turn *turn)
{
    for (int i = 0; i < tree->n; i++) {
        Node *node = tree->node[i];
        if (relayout_find(node)(node, turn->rank, turn->back))
            continue;
        while (i--)
            relayout_find(tree->node[i])(tree->node[i], turn->rank, turn->perm);
        return false;
    }
    return true;
}

/* Its operands from outside the tree, and its result. */
static void turn_values(Graph *graph, const Tree *tree, Node *node,
                        const Turn *turn)
{
    Tensor **in = node_copy_inputs(node);
    Tensor *y = node->out[0];
    for (int i = 0; i < node->n_in; i++) {
        const bool inside =
            in[i] && in[i]->producer && in_tree(tree, in[i]->producer);
        if (turns(node, i) && !inside)
            in[i] = insert_turn(graph, node, in[i], turn);
    }
    node_set_inputs(node, node->n_in, in);
    y->shape = shape_permuted(&y->shape, turn->perm);
}

/* A transposition behind slices and concatenations of inputs goes in front of all of them. */
static bool raise_tree(Graph *graph, Node *turn)
{
    Tree tree = { .n = 0 };
    Tensor *x = turn->in[0];
    Tensor *y = turn->out[0];
    if (turn->dead || x->value || y->dynamic || graph_is_output(graph, y) ||
        !grow_tree(graph, &tree, x) || !tree.moves || !is_closed(&tree, turn))
        return false;
    const Turn image = turn_of(turn);
    if (!relayout_tree(&tree, &image))
        return false;
    for (int i = tree.n - 1; i >= 0; i--)
        turn_values(graph, &tree, tree.node[i], &image);
    graph_kill(turn);
    graph_replace(graph, y, x);
    return true;
}

void raise_turns(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++)
        if (is_turn(graph->node.at[i]))
            for (Node *turn = graph->node.at[i]; turn;)
                turn = raise_once(graph, turn);
    for (size_t i = 0; i < count; i++)
        if (node_is(graph->node.at[i], "Transpose"))
            raise_tree(graph, graph->node.at[i]);
    graph_sort(graph);
}
