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

static bool is_quant(const Node *n)
{
    return node_is(n, "QuantizeLinear") || node_is(n, "DequantizeLinear");
}

static bool is_reshape(const Node *n)
{
    return node_is(n, "Reshape") || node_is(n, "Flatten") || node_is(n, "Squeeze") ||
           node_is(n, "Unsqueeze");
}

/* The operand that n maps element by element, all others being constants; -1: it is no such node.
 */
static int mapped_operand(const Node *n)
{
    int found = -1;
    if (!relayout_find(n) || n->n_out != 1 || !n->out[0] || n->out[0]->dynamic)
        return -1;
    if (!(n->op->flags & OP_ELEMENTWISE) && !is_quant(n))
        return -1;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i] || n->in[i]->value)
            continue;
        if (found >= 0 || !shape_equal(&n->in[i]->shape, &n->out[0]->shape))
            return -1;
        found = i;
    }
    return found;
}

/* An input, seen under whatever shape. */
static bool is_input(const Graph *g, const Tensor *t)
{
    while (t->producer && !t->producer->dead && is_reshape(t->producer))
        t = t->producer->in[0];
    for (size_t i = 0; i < g->input.n; i++)
        if (g->input.at[i] == t)
            return true;
    return false;
}

/* Made from an input by such nodes, each result read by the next one alone? */
static bool comes_from_input(const Graph *g, const Tensor *t)
{
    for (int i = 0; i < LONGEST_CHAIN; i++) {
        if (is_input(g, t))
            return i > 0;
        const Node *p = t->producer;
        const int k = p && !p->dead && p->graph == g && t->uses == 1 ? mapped_operand(p) : -1;
        if (k < 0)
            return false;
        t = p->in[k];
    }
    return false;
}

/* One value for all elements, whatever the shape. */
static bool is_single(const Tensor *t)
{
    return tensor_count(t) == 1 && t->shape.rank <= 1;
}

static bool all_single(const Node *n, int mapped)
{
    for (int i = 0; i < n->n_in; i++)
        if (i != mapped && n->in[i] && !is_single(n->in[i]))
            return false;
    return !node_int(n, "block_size", 0);
}

static Tensor *reshape_before(Graph *g, Node *n, Tensor *in, const Shape *to)
{
    Tensor *operand[2] = { in, graph_add_ints(g, NULL, to->rank, to->dim) },
           *out = graph_add_tensor(g, NULL, in->dtype, *to);
    graph_insert_node(g, n, "", "Reshape", 2, operand, 1, &out)->op =
        op_find("", "Reshape", OPSET_NEWEST);
    return out;
}

static void raise_reshape(Graph *g, Node *n, int mapped, const Shape *to)
{
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in);
    in[mapped] = reshape_before(g, n, in[mapped], to);
    node_set_inputs(n, n->n_in, in);
}

static bool raise_transpose(Graph *g, Node *n, const Node *turn)
{
    int64_t count;
    const int64_t *p = node_ints(turn, "perm", &count);
    const int rank = n->out[0]->shape.rank;
    int perm[MAX_RANK], back[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    if (!relayout_find(n)(n, rank, back))
        return false;
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in);
    for (int i = 0; i < n->n_in; i++) {
        if (!in[i] || !relayout_moves(n, i) || (in[i]->value && is_single(in[i])))
            continue;
        if (in[i]->shape.rank < rank)
            in[i] = insert_reshape_rank(g, n, in[i], rank);
        in[i] = insert_transpose(g, n, in[i], perm);
    }
    node_set_inputs(n, n->n_in, in);
    return true;
}

/* `turn` goes in front of the node before it. Returns itself in its new place, NULL: it stays. */
static Node *raise_once(Graph *g, Node *turn)
{
    Tensor *x = turn->in[0], *y = turn->out[0];
    if (turn->dead || !comes_from_input(g, x) || y->dynamic)
        return NULL;
    Node *n = x->producer;
    const int mapped = mapped_operand(n);
    if (node_is(turn, "Transpose")) {
        if (!raise_transpose(g, n, turn))
            return NULL;
    } else {
        if (y->shape.rank < 3 || !all_single(n, mapped))
            return NULL;
        raise_reshape(g, n, mapped, &y->shape);
    }
    graph_kill(turn);
    n->out[0] = y;
    y->producer = n;
    return n->in[mapped]->producer;
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

static bool in_tree(const Tree *t, const Node *n)
{
    for (int i = 0; i < t->n; i++)
        if (t->node[i] == n)
            return true;
    return false;
}

static bool moves_only(const Graph *g, const Node *n)
{
    if (node_is(n, "Concat"))
        return true;
    if (!node_is(n, "Slice") || n->n_in < 3)
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && !n->in[i]->value)
            return false;
    return n->graph == g;
}

/* Adds the node that made t, and what is above; false: the tree does not end in inputs, or is too
 * large. */
static bool grow_tree(const Graph *g, Tree *t, const Tensor *root)
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
        if (in_tree(t, p))
            continue;
        const int mapped = mapped_operand(p);
        if ((mapped < 0 && !moves_only(g, p)) || t->n == MOST_IN_TREE ||
            n + p->n_in > MOST_IN_TREE * 4)
            return false;
        t->moves |= mapped < 0;
        t->node[t->n++] = p;
        if (mapped >= 0)
            open[n++] = p->in[mapped];
        for (int i = 0; mapped < 0 && i < p->n_in; i++)
            if (relayout_moves(p, i))
                open[n++] = p->in[i];
    }
    return t->n > 0;
}

static bool is_closed(const Tree *t, const Node *turn)
{
    for (int i = 0; i < t->n; i++)
        for (const Use *u = t->node[i]->out[0]->use; u; u = u->next)
            if (u->node != turn && !in_tree(t, u->node))
                return false;
    return true;
}

static void turn_node(Graph *g, const Tree *t, Node *n, int rank, const int *perm, const int *back)
{
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in), *y = n->out[0];
    const Shape old = y->shape;
    if (!relayout_find(n)(n, rank, back))
        fail_at(STATUS_INTERNAL, LOC_NONE, NULL, "%s cannot be turned", n->op_type);
    for (int i = 0; i < n->n_in; i++) {
        Tensor *x = in[i];
        if (!x || !relayout_moves(n, i) || (x->value && is_single(x))) {
            in[i] = n->in[i];
            continue;
        }
        if (x->producer && in_tree(t, x->producer))
            continue;
        if (x->shape.rank < rank)
            x = insert_reshape_rank(g, n, x, rank);
        in[i] = insert_transpose(g, n, x, perm);
    }
    node_set_inputs(n, n->n_in, in);
    for (int i = 0; i < rank; i++)
        y->shape.dim[i] = old.dim[perm[i]];
}

/* A transposition behind slices and concatenations of inputs goes in front of all of them. */
static bool raise_tree(Graph *g, Node *turn)
{
    Tree t = { .n = 0 };
    Tensor *x = turn->in[0], *y = turn->out[0];
    if (turn->dead || x->value || y->dynamic || graph_is_output(g, y) || !grow_tree(g, &t, x) ||
        !t.moves || !is_closed(&t, turn))
        return false;
    int64_t count;
    const int64_t *p = node_ints(turn, "perm", &count);
    const int rank = x->shape.rank;
    int perm[MAX_RANK], back[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    for (int i = t.n - 1; i >= 0; i--)
        turn_node(g, &t, t.node[i], rank, perm, back);
    graph_kill(turn);
    graph_replace(g, y, x);
    return true;
}

void raise_turns(Graph *g)
{
    const size_t count = g->node.n;
    for (size_t i = 0; i < count; i++)
        if (node_is(g->node.at[i], "Transpose") || is_reshape(g->node.at[i]))
            for (Node *turn = g->node.at[i]; turn;)
                turn = raise_once(g, turn);
    for (size_t i = 0; i < count; i++)
        if (node_is(g->node.at[i], "Transpose"))
            raise_tree(g, g->node.at[i]);
    graph_sort(g);
}
