/* SPDX-License-Identifier: Apache-2.0
 * Between an input and the first image often lies elementwise work (Cast, scale, offset,
 * QuantizeLinear) in ONNX's order: planes, where the image wants rows. A transposition or reshape
 * behind such a chain goes in front of it, so that all of it goes row by row and no frame is held.
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

/* Made from an input by such nodes, each result read by the next one alone? */
static bool comes_from_input(const Graph *g, const Tensor *tensor)
{
    for (int i = 0; i < LONGEST_CHAIN; i++) {
        if (is_input(g, tensor))
            return i > 0;
        const Node *p = tensor->producer;
        const int k = p && !p->dead && p->graph == g && tensor->uses == 1
                          ? mapped_operand(p)
                          : -1;
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

static Tensor *reshape_before(Graph *graph, Node *node, Tensor *in,
                              const Shape *to)
{
    Tensor *operand[2] = { in, graph_add_ints(graph, NULL, to->rank, to->dim) };
    Tensor *out = graph_add_tensor(graph, NULL, in->dtype, *to);
    graph_insert_node(graph, node, "", "Reshape", 2, operand, 1, &out)->op =
        op_find("", "Reshape", OPSET_NEWEST);
    return out;
}

static void raise_reshape(Graph *graph, Node *node, int mapped, const Shape *to)
{
    Tensor **in =
        arena_copy(graph->arena, node->in, (size_t)node->n_in * sizeof *in);
    in[mapped] = reshape_before(graph, node, in[mapped], to);
    node_set_inputs(node, node->n_in, in);
}

static bool raise_transpose(Graph *graph, Node *node, const Node *turn)
{
    int64_t count;
    const int64_t *p = node_ints(turn, "perm", &count);
    const int rank = node->out[0]->shape.rank;
    int perm[MAX_RANK], back[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    if (!relayout_find(node)(node, rank, back))
        return false;
    Tensor **in =
        arena_copy(graph->arena, node->in, (size_t)node->n_in * sizeof *in);
    for (int i = 0; i < node->n_in; i++) {
        if (!in[i] || !relayout_moves(node, i) ||
            (in[i]->value && is_single(in[i])))
            continue;
        if (in[i]->shape.rank < rank)
            in[i] = insert_reshape_rank(graph, node, in[i], rank);
        in[i] = insert_transpose(graph, node, in[i], perm);
    }
    node_set_inputs(node, node->n_in, in);
    return true;
}

/* `turn` goes in front of the node before it. Returns itself in its new place, NULL: it stays. */
static Node *raise_once(Graph *graph, Node *turn)
{
    Tensor *x = turn->in[0];
    Tensor *y = turn->out[0];
    if (turn->dead || !comes_from_input(graph, x) || y->dynamic)
        return NULL;
    Node *node = x->producer;
    const int mapped = mapped_operand(node);
    if (node_is(turn, "Transpose")) {
        if (!raise_transpose(graph, node, turn))
            return NULL;
    } else {
        if (y->shape.rank < 3 || !all_single(node, mapped))
            return NULL;
        raise_reshape(graph, node, mapped, &y->shape);
    }
    graph_kill(turn);
    node->out[0] = y;
    y->producer = node;
    return node->in[mapped]->producer;
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

/* Adds the node that made tree, and what is above; false: the tree does not end in inputs, or is
 * too large. */
static bool grow_tree(const Graph *g, Tree *tree, const Tensor *root)
{
    const Tensor *open[MOST_IN_TREE * 4];
    int n = 0;
    open[n++] = root;
    while (n) {
        const Tensor *x = open[--n];
        Node *p = x->producer;
        if (x->value || is_input(g, x)) {
            if (x->shape.rank != root->shape.rank)
                return false;
            continue;
        }
        if (!p || p->dead || p->graph != g || p->n_out != 1 || x->dynamic ||
            graph_is_output(g, x) || x->shape.rank != root->shape.rank)
            return false;
        if (in_tree(tree, p))
            continue;
        const int mapped = mapped_operand(p);
        if ((mapped < 0 && !moves_only(g, p)) || tree->n == MOST_IN_TREE ||
            n + p->n_in > MOST_IN_TREE * 4)
            return false;
        tree->moves |= mapped < 0;
        tree->node[tree->n++] = p;
        if (mapped >= 0)
            open[n++] = p->in[mapped];
        for (int i = 0; mapped < 0 && i < p->n_in; i++)
            if (relayout_moves(p, i))
                open[n++] = p->in[i];
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

static void turn_node(Graph *graph, const Tree *tree, Node *node, int rank,
                      const int *perm, const int *back)
{
    Tensor **in =
        arena_copy(graph->arena, node->in, (size_t)node->n_in * sizeof *in);
    Tensor *y = node->out[0];
    const Shape old = y->shape;
    if (!relayout_find(node)(node, rank, back))
        fail_at(STATUS_INTERNAL, LOC_NONE, NULL, "%s cannot be turned",
                node->op_type);
    for (int i = 0; i < node->n_in; i++) {
        Tensor *x = in[i];
        if (!x || !relayout_moves(node, i) || (x->value && is_single(x))) {
            in[i] = node->in[i];
            continue;
        }
        if (x->producer && in_tree(tree, x->producer))
            continue;
        if (x->shape.rank < rank)
            x = insert_reshape_rank(graph, node, x, rank);
        in[i] = insert_transpose(graph, node, x, perm);
    }
    node_set_inputs(node, node->n_in, in);
    for (int i = 0; i < rank; i++)
        y->shape.dim[i] = old.dim[perm[i]];
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
    int64_t count;
    const int64_t *p = node_ints(turn, "perm", &count);
    const int rank = x->shape.rank;
    int perm[MAX_RANK], back[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    for (int i = tree.n - 1; i >= 0; i--)
        turn_node(graph, &tree, tree.node[i], rank, perm, back);
    graph_kill(turn);
    graph_replace(graph, y, x);
    return true;
}

void raise_turns(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++)
        if (node_is(graph->node.at[i], "Transpose") ||
            is_reshape(graph->node.at[i]))
            for (Node *turn = graph->node.at[i]; turn;)
                turn = raise_once(graph, turn);
    for (size_t i = 0; i < count; i++)
        if (node_is(graph->node.at[i], "Transpose"))
            raise_tree(graph, graph->node.at[i]);
    graph_sort(graph);
}
