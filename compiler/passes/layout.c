/* SPDX-License-Identifier: Apache-2.0
 * Images become channels last in the graph itself: every spatial operator is put between two
 * transpositions, which then sink towards the outputs through operators that do not care and cancel
 * where they meet. After this pass a tensor's dims are its order in memory.
 * Requires: types and shapes; activations already fused. Ensures: spatial nodes have channels_last.
 */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* NCHW.. <-> NHWC..: out[i] = in[perm[i]]. */
static void perm_to_last(int rank, int *perm)
{
    perm[0] = 0;
    for (int i = 1; i < rank - 1; i++)
        perm[i] = i + 1;
    perm[rank - 1] = 1;
}

static void perm_inverse(int rank, const int *perm, int *inverse)
{
    for (int i = 0; i < rank; i++)
        inverse[perm[i]] = i;
}

static Shape permuted(const Shape *s, const int *perm)
{
    Shape out = { .rank = s->rank };
    for (int i = 0; i < s->rank; i++)
        out.dim[i] = s->dim[perm[i]];
    return out;
}

static void set_perm(Node *n, int rank, const int *perm)
{
    int64_t p[MAX_RANK];
    for (int i = 0; i < rank; i++)
        p[i] = perm[i];
    node_set_ints(n, "perm", rank, p);
}

/* perm of a Transpose node; its default reverses. */
static void get_perm(const Node *n, int *perm)
{
    int64_t count;
    const int64_t *p = node_ints(n, "perm", &count);
    const int rank = n->in[0]->shape.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
}

void add_transpose(Graph *g, const Node *anchor, Tensor *in, const int *perm, Tensor *out)
{
    Node *t = graph_insert_node(g, anchor, "", "Transpose", 1, &in, 1, &out);
    set_perm(t, in->shape.rank, perm);
    t->op = op_find("", "Transpose", OPSET_NEWEST);
}

/* Output i of n becomes permuted; a Transpose behind it gives what it was. */
static void transpose_output(Graph *g, Node *n, int i, const int *perm)
{
    Tensor *old = n->out[i],
           *new = graph_add_tensor(g, NULL, old->dtype, permuted(&old->shape, perm));
    int back[MAX_RANK];
    perm_inverse(old->shape.rank, perm, back);
    n->out[i] = new;
    new->producer = n;
    add_transpose(g, n, new, back, old);
}

static const Node *transpose_of(const Tensor *t)
{
    const Node *p = t && !t->value ? t->producer : NULL;
    return p && !p->dead && node_is(p, "Transpose") ? p : NULL;
}

static bool is_identity(int rank, const int *perm)
{
    for (int i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

/* What `in` is a Transpose of, where perm turns it back; else NULL. */
static Tensor *turned_back(const Tensor *in, const int *perm)
{
    const Node *p = transpose_of(in);
    int inner[MAX_RANK], both[MAX_RANK];
    if (!p)
        return NULL;
    get_perm(p, inner);
    for (int i = 0; i < in->shape.rank; i++)
        both[i] = inner[perm[i]];
    return is_identity(in->shape.rank, both) ? p->in[0] : NULL;
}

Tensor *insert_transpose(Graph *g, Node *before, Tensor *in, const int *perm)
{
    if (in->value)
        return graph_add_constant(g, NULL, recipe_transpose(g->store, in->value, perm));
    Tensor *back = turned_back(in, perm);
    if (back)
        return back;
    Tensor *out = graph_add_tensor(g, NULL, in->dtype, permuted(&in->shape, perm));
    add_transpose(g, before, in, perm, out);
    return out;
}

static void make_channels_last(Graph *g, Node *n)
{
    const int rank = n->in[0]->shape.rank;
    int perm[MAX_RANK];
    perm_to_last(rank, perm);
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in);
    in[0] = insert_transpose(g, n, in[0], perm);
    const int64_t residual = node_int(n, "residual", 0);
    if (residual)
        in[residual] = insert_transpose(g, n, in[residual], perm);
    node_set_inputs(n, n->n_in, in);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->shape.rank == rank)
            transpose_output(g, n, i, perm);
    n->channels_last = true;
}

/* Transpose of a Transpose: one, or none. */
static void merge_transposes(Graph *g, Node *n)
{
    int outer[MAX_RANK] = { 0 }, inner[MAX_RANK], both[MAX_RANK];
    get_perm(n, outer);
    const int rank = n->in[0]->shape.rank;
    const Node *before = transpose_of(n->in[0]);
    memcpy(both, outer, sizeof both);
    if (before) {
        get_perm(before, inner);
        for (int i = 0; i < rank; i++)
            both[i] = inner[outer[i]];
        node_set_inputs(n, 1, before->in);
        set_perm(n, rank, both);
    }
    if (is_identity(rank, both) && !graph_is_output(g, n->out[0]))
        graph_replace(g, n->out[0], n->in[0]);
}

/* A permutation that moves only dimensions of size 1 is no work. */
static bool keeps_order(const Shape *in, const int *perm)
{
    int last = -1;
    for (int i = 0; i < in->rank; i++) {
        if (in->dim[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

enum {
    CHEAP = 8
}; /* an operand this many times smaller than the result may be transposed on its own */

/* Elements that must be transposed anew when n takes t as seen before a Transpose with `perm`; -1:
 * too many. */
static int64_t cost_of_following(const Tensor *t, const Tensor *out, const int *perm)
{
    const int rank = out->shape.rank;
    const int64_t count = tensor_count(t);
    if (t->value || count == 1)
        return 0;
    const Node *p = transpose_of(t);
    if (p && t->shape.rank == rank) { /* the same, or the same but for dimensions of size 1 */
        int mine[MAX_RANK], back[MAX_RANK], both[MAX_RANK];
        get_perm(p, mine);
        perm_inverse(rank, perm, back);
        for (int i = 0; i < rank; i++)
            both[i] = mine[back[i]];
        if (keeps_order(&p->in[0]->shape, both))
            return 0;
    }
    if (t->shape.rank == rank && keeps_order(&t->shape, perm))
        return 0;
    return count * CHEAP <= tensor_count(out) ? count : -1;
}

/* The operand as seen before the Transpose with `perm` (of the result's rank). */
static Tensor *without_transpose(Graph *g, Node *n, Tensor *t, int rank, const int *perm)
{
    const Node *p = transpose_of(t);
    int back[MAX_RANK], mine[MAX_RANK];
    if (p && t->shape.rank == rank) {
        get_perm(p, mine);
        if (!memcmp(mine, perm, (size_t)rank * sizeof *perm))
            return p->in[0];
    }
    if (t->shape.rank == 0 || (tensor_count(t) == 1 && t->shape.rank <= 1))
        return t;
    if (t->shape.rank < rank)
        t = insert_reshape_rank(g, n, t, rank);
    perm_inverse(rank, perm, back);
    return insert_transpose(g, n, t, back);
}

/* A permutation that operands of a node come through. */
typedef struct Carried {
    const Node *by; /* the first of these Transposes */
    int perm[MAX_RANK];
    int64_t elements; /* of all of them */
} Carried;

/* The permutation that most of n's operands come through; by NULL: none. */
static Carried leading_transpose(const Node *n)
{
    enum { MOST = 4 }; /* different ones that are told apart */
    Carried all[MOST];
    int count = 0, best = 0;
    for (int i = 0; i < n->n_in; i++) {
        const Node *p = transpose_of(n->in[i]);
        int perm[MAX_RANK] = { 0 }, k = 0;
        if (!p)
            continue;
        get_perm(p, perm);
        if (keeps_order(&p->in[0]->shape, perm))
            continue; /* no work as it is; sinking it could go round in circles */
        while (k < count && (all[k].by->in[0]->shape.rank != p->in[0]->shape.rank ||
                             memcmp(all[k].perm, perm, sizeof perm)))
            k++;
        if (k == MOST)
            continue;
        if (k == count) {
            all[count].by = p;
            memcpy(all[count].perm, perm, sizeof perm);
            all[count++].elements = 0;
        }
        all[k].elements += tensor_count(n->in[i]);
        if (all[k].elements > all[best].elements)
            best = k;
    }
    return count ? all[best] : (Carried){ .by = NULL };
}

/* Can n do without its operands' Transpose, the other operands being transposed where that is less
 * work? Less work at each step: what moves can never come back. */
static bool worth_sinking(const Node *n, const Carried *lead)
{
    const bool same_rank = n->out[0]->shape.rank == lead->by->out[0]->shape.rank;
    int64_t cost = 0;
    for (int i = 0; i < n->n_in; i++) {
        const Tensor *t = n->in[i];
        if (!t || !relayout_moves(n, i) || t == lead->by->out[0])
            continue;
        const int64_t more = same_rank ? cost_of_following(t, n->out[0], lead->perm) : -1;
        if (more < 0)
            return false;
        cost += more;
    }
    return cost < lead->elements;
}

/* Moves the transpositions of n's operands behind it. */
static bool sink(Graph *g, Node *n)
{
    const Carried carried = leading_transpose(n);
    const Node *lead = carried.by;
    if (!lead || n->dead)
        return false;
    const int rank = lead->out[0]->shape.rank;
    int perm[MAX_RANK];
    get_perm(lead, perm);
    if (n->in[0] == lead->out[0] && (node_is(n, "Reshape") || node_is(n, "Flatten") ||
                                     node_is(n, "Squeeze") || node_is(n, "Unsqueeze")))
        return sink_reshape(g, n, lead->in[0], perm);
    if (n->in[0] == lead->out[0] && node_is(n, "Gather"))
        return gather_to_slice(g, n);
    RelayoutFn *relayout = relayout_find(n);
    if (!relayout || !worth_sinking(n, &carried))
        return false;
    const bool same_rank = n->out[0]->shape.rank == rank;
    if (!relayout(n, rank, perm))
        return false;
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in);
    for (int i = 0; i < n->n_in; i++)
        if (in[i] && relayout_moves(n, i))
            in[i] = without_transpose(g, n, in[i], rank, perm);
    node_set_inputs(n, n->n_in, in);
    if (!same_rank)
        return true;
    int back[MAX_RANK];
    perm_inverse(rank, perm, back);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            transpose_output(g, n, i, back);
    return true;
}

static void to_reshape(Graph *g, Node *n)
{
    int perm[MAX_RANK];
    get_perm(n, perm);
    if (!keeps_order(&n->in[0]->shape, perm))
        return;
    Tensor *in[2] = { n->in[0],
                      graph_add_ints(g, NULL, n->out[0]->shape.rank, n->out[0]->shape.dim) };
    node_set_op(n, "", "Reshape");
    node_set_inputs(n, 2, in);
    n->n_attr = 0;
    n->op = op_find("", "Reshape", OPSET_NEWEST);
}

static bool is_spatial(const Node *n)
{
    return n->op && n->op->flags & OP_SPATIAL && !n->channels_last && n->in[0]->shape.rank >= 3 &&
           n->in[0]->shape.rank <= 5;
}

void pass_layout(Graph *g)
{
    size_t count = g->node.n;
    for (size_t i = 0; i < count; i++)
        if (is_spatial(g->node.at[i]))
            make_channels_last(g, g->node.at[i]);
    bool moved = true;
    for (int round = 0; moved && round < 64;
         round++) { /* each round carries a Transpose past at least one node */
        moved = false;
        graph_sort(g);
        count = g->node.n;
        for (size_t i = 0; i < count; i++) {
            Node *n = g->node.at[i];
            if (node_is(n, "Transpose"))
                merge_transposes(g, n);
            else
                moved |= sink(g, n);
        }
        pass_dead(g);
    }
    raise_turns(g);
    for (size_t i = 0; i < g->node.n; i++)
        if (node_is(g->node.at[i], "Transpose"))
            to_reshape(g, g->node.at[i]);
}
