/* SPDX-License-Identifier: Apache-2.0
 * An input or result that lies in the arena takes the layout that the steps beside it want: the
 * transposition between them is the caller's, who writes or reads the pixels in that order from the
 * start. Requires: layout done. Ensures: such tensors have perm. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

static void get_perm(const Node *n, int *perm)
{
    int64_t count;
    const int64_t *p = node_ints(n, "perm", &count);
    const int rank = n->in[0]->shape.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
}

/* From now on t's dimension i is what its dimension perm[i] was. */
static void permute(Graph *g, Tensor *t, const int *perm)
{
    const Shape old = t->shape;
    for (int i = 0; i < old.rank; i++)
        t->shape.dim[i] = old.dim[perm[i]];
    t->perm = arena_copy(g->arena, perm, (size_t)old.rank * sizeof *perm);
}

static bool can_turn(const Tensor *t)
{
    return !t->dynamic && !t->perm && dtype_bits(t->dtype) >= 8;
}

/* The permutation by which all nodes that read t begin; false: they do not. */
static bool common_perm(const Graph *g, const Tensor *t, int *perm)
{
    const Node *first = NULL;
    int other[MAX_RANK];
    if (!can_turn(t) || !t->use)
        return false;
    if (graph_is_output(g, t))
        return false;
    for (const Use *u = t->use; u; u = u->next) {
        if (!node_is(u->node, "Transpose") || u->node->graph != g ||
            graph_is_output(g, u->node->out[0]))
            return false;
        get_perm(u->node, first ? other : perm);
        if (first && memcmp(perm, other, (size_t)t->shape.rank * sizeof *perm))
            return false;
        first = u->node;
    }
    return true;
}

static void turn_input(Graph *g, Tensor *t)
{
    int perm[MAX_RANK] = { 0 };
    if (!common_perm(g, t, perm))
        return;
    VEC(Node *) turns = { 0 };
    for (const Use *u = t->use; u; u = u->next)
        VEC_PUSH(g->arena, &turns, u->node);
    permute(g, t, perm);
    for (size_t i = 0; i < turns.n; i++) {
        Tensor *turned = turns.at[i]->out[0];
        graph_kill(turns.at[i]);
        graph_replace(g, turned, t);
    }
}

static bool is_input(const Graph *g, const Tensor *t)
{
    for (size_t i = 0; i < g->input.n; i++)
        if (g->input.at[i] == t)
            return true;
    return false;
}

/* t = Transpose(made): made's node makes t instead. */
static void turn_output(Graph *g, Tensor *t)
{
    Node *n = t->producer;
    int perm[MAX_RANK], back[MAX_RANK] = { 0 };
    if (!n || n->dead || !node_is(n, "Transpose") || t->uses != 1 || !can_turn(t))
        return;
    Tensor *made = n->in[0];
    if (made->value || !made->producer || made->dynamic || is_input(g, made) ||
        graph_is_output(g, made))
        return;
    get_perm(n, perm);
    for (int i = 0; i < t->shape.rank; i++)
        back[perm[i]] = i;
    Node *maker = made->producer;
    graph_kill(n);
    permute(g, t, back);
    graph_replace(g, made, t);
    for (int i = 0; i < maker->n_out; i++)
        if (maker->out[i] == made)
            maker->out[i] = t;
    t->producer = maker;
}

void pass_io_layout(Graph *g)
{
    for (size_t i = 0; i < g->input.n; i++)
        if (graph_in_form(g, i) != IO_CALLER)
            turn_input(g, g->input.at[i]);
    for (size_t i = 0; i < graph_results(g); i++)
        if (graph_out_form(g, i) != IO_CALLER)
            turn_output(g, g->output.at[i]);
    graph_sort(g);
}
