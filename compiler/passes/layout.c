/* SPDX-License-Identifier: Apache-2.0
 * Images become channels last in the graph itself: every spatial operator is put between two
 * transpositions, which then sink towards the outputs through operators that do not care and cancel
 * where they meet; where nothing is gained, images stay as they are. After this pass a tensor's
 * dims are its order in memory.
 * Requires: types and shapes; activations already fused. Ensures: spatial nodes have channels_last.
 */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

void perm_to_last(int rank, int *perm)
{
    perm[0] = 0;
    for (int i = 1; i < rank - 1; i++)
        perm[i] = i + 1;
    perm[rank - 1] = 1;
}

void perm_inverse(int rank, const int *perm, int *inverse)
{
    for (int i = 0; i < rank; i++)
        inverse[perm[i]] = i;
}

Shape shape_permuted(const Shape *shape, const int *perm)
{
    Shape out = { .rank = shape->rank };
    for (int i = 0; i < shape->rank; i++)
        out.dim[i] = shape->dim[perm[i]];
    return out;
}

static void set_perm(Node *node, int rank, const int *perm)
{
    int64_t p[MAX_RANK];
    for (int i = 0; i < rank; i++)
        p[i] = perm[i];
    node_set_ints(node, "perm", rank, p);
}

void transpose_perm(const Node *node, int *perm)
{
    int64_t count;
    const int64_t *p = node_ints(node, "perm", &count);
    const int rank = node->in[0]->shape.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = p ? (int)p[i] : rank - 1 - i;
}

void add_transpose(Graph *graph, const Node *anchor, Tensor *in,
                   const int *perm, Tensor *out)
{
    Node *t =
        graph_insert_node(graph, anchor, "", "Transpose", 1, &in, 1, &out);
    set_perm(t, in->shape.rank, perm);
    t->op = op_find("", "Transpose", OPSET_NEWEST);
}

/* Output i of node becomes permuted; a Transpose behind it gives what it was. */
static void transpose_output(Graph *graph, Node *node, int i, const int *perm)
{
    Tensor *old = node->out[i];
    Tensor *new = graph_add_tensor(graph, NULL, old->dtype,
                                   shape_permuted(&old->shape, perm));
    int back[MAX_RANK];
    perm_inverse(old->shape.rank, perm, back);
    new->turned_of = old;
    new->turn =
        arena_copy(graph->arena, perm, (size_t)old->shape.rank * sizeof *perm);
    node->out[i] = new;
    new->producer = node;
    add_transpose(graph, node, new, back, old);
}

static const Node *transpose_of(const Tensor *tensor)
{
    const Node *p = tensor && !tensor->value ? tensor->producer : NULL;
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
    transpose_perm(p, inner);
    for (int i = 0; i < in->shape.rank; i++)
        both[i] = inner[perm[i]];
    return is_identity(in->shape.rank, both) ? p->in[0] : NULL;
}

/* The same Transpose of `in`, where another reader of it has one; else NULL. */
static Tensor *turned_already(const Graph *graph, const Tensor *in,
                              const int *perm)
{
    int other[MAX_RANK];
    for (const Use *use = in->use; use; use = use->next) {
        const Node *node = use->node;
        if (node->dead || node->graph != graph || !node_is(node, "Transpose"))
            continue;
        transpose_perm(node, other);
        if (!memcmp(other, perm, (size_t)in->shape.rank * sizeof *perm))
            return node->out[0];
    }
    return NULL;
}

Tensor *insert_transpose(Graph *graph, Node *before, Tensor *in,
                         const int *perm)
{
    if (in->value)
        return graph_add_constant(
            graph, NULL, recipe_transpose(graph->store, in->value, perm));
    Tensor *back = turned_back(in, perm);
    if (back)
        return back;
    Tensor *there = turned_already(graph, in, perm);
    if (there)
        return there;
    Tensor *out = graph_add_tensor(graph, NULL, in->dtype,
                                   shape_permuted(&in->shape, perm));
    add_transpose(graph, before, in, perm, out);
    return out;
}

static void make_channels_last(Graph *graph, Node *node)
{
    const int rank = node->in[0]->shape.rank;
    int perm[MAX_RANK];
    perm_to_last(rank, perm);
    Tensor **in = node_copy_inputs(node);
    in[0] = insert_transpose(graph, node, in[0], perm);
    const int64_t residual = node_int(node, "residual", 0);
    if (residual)
        in[residual] = insert_transpose(graph, node, in[residual], perm);
    node_set_inputs(node, node->n_in, in);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->shape.rank == rank)
            transpose_output(graph, node, i, perm);
    node->channels_last = true;
}

/* Transpose of a Transpose: one, or none. */
static void merge_transposes(Graph *graph, Node *node)
{
    int outer[MAX_RANK] = { 0 };
    int inner[MAX_RANK];
    int both[MAX_RANK];
    transpose_perm(node, outer);
    const int rank = node->in[0]->shape.rank;
    const Node *before = transpose_of(node->in[0]);
    memcpy(both, outer, sizeof both);
    if (before) {
        transpose_perm(before, inner);
        for (int i = 0; i < rank; i++)
            both[i] = inner[outer[i]];
        node_set_inputs(node, 1, before->in);
        set_perm(node, rank, both);
    }
    if (is_identity(rank, both) && !graph_is_output(graph, node->out[0]))
        graph_replace(graph, node->out[0], node->in[0]);
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

/* An operand this many times smaller than the result may be transposed on its own. */
enum { CHEAP = 8 };

/* Elements that must be transposed anew when the node of result `out` takes an operand as it was
 * before a Transpose with `perm`; -1: too many. */
static int64_t cost_of_following(const Tensor *tensor, const Tensor *out,
                                 const int *perm)
{
    const int rank = out->shape.rank;
    const int64_t count = tensor_count(tensor);
    if (tensor->value || count == 1)
        return 0;
    const Node *p = transpose_of(tensor);
    int back[MAX_RANK];
    perm_inverse(rank, perm, back);
    /* the same, or the same but for dimensions of size 1 */
    if (p && tensor->shape.rank == rank) {
        int mine[MAX_RANK], both[MAX_RANK];
        transpose_perm(p, mine);
        for (int i = 0; i < rank; i++)
            both[i] = mine[back[i]];
        if (keeps_order(&p->in[0]->shape, both))
            return 0;
    }
    if (tensor->shape.rank == rank && keeps_order(&tensor->shape, back))
        return 0;
    return count * CHEAP <= tensor_count(out) ? count : -1;
}

/* The operand as seen before the Transpose with `perm` (of the result's rank). */
static Tensor *without_transpose(Graph *graph, Node *node, Tensor *tensor,
                                 int rank, const int *perm)
{
    const Node *p = transpose_of(tensor);
    int back[MAX_RANK], mine[MAX_RANK];
    if (p && tensor->shape.rank == rank) {
        transpose_perm(p, mine);
        if (!memcmp(mine, perm, (size_t)rank * sizeof *perm))
            return p->in[0];
    }
    if (tensor->shape.rank == 0 ||
        (tensor_count(tensor) == 1 && tensor->shape.rank <= 1))
        return tensor;
    if (tensor->shape.rank < rank)
        tensor = insert_reshape_rank(graph, node, tensor, rank);
    perm_inverse(rank, perm, back);
    return insert_transpose(graph, node, tensor, back);
}

/* A permutation that operands of a node come through. */
typedef struct Carried {
    const Node *by; /* the first of these Transposes */
    int perm[MAX_RANK];
    int64_t elements; /* of all of them */
} Carried;

enum { MOST_PERMS = 4 }; /* different ones that are told apart */

/* The entry of `all` with this permutation, a new one where there is none; MOST_PERMS: no room. */
static int find_carried(Carried *all, int *count, const Node *by)
{
    int perm[MAX_RANK] = { 0 };
    const int rank = by->in[0]->shape.rank;
    transpose_perm(by, perm);
    for (int k = 0; k < *count; k++)
        if (all[k].by->in[0]->shape.rank == rank &&
            !memcmp(all[k].perm, perm, sizeof perm))
            return k;
    if (*count == MOST_PERMS)
        return MOST_PERMS;
    Carried *made = all + *count;
    *made = (Carried){ .by = by };
    memcpy(made->perm, perm, sizeof perm);
    return (*count)++;
}

/* Of a Transpose that does not change the order: it is no work as it is, and sinking it could go
 * round in circles. */
static bool is_idle(const Node *transpose)
{
    int perm[MAX_RANK];
    transpose_perm(transpose, perm);
    return keeps_order(&transpose->in[0]->shape, perm);
}

/* The one node that reads a tensor, element by element; NULL: it is another kind, or there are
 * several. */
static const Node *mapped_by(const Graph *graph, const Tensor *tensor)
{
    const Node *node =
        tensor->uses == 1 && tensor->use ? tensor->use->node : NULL;
    if (!node || node->dead || node->graph != graph || !node->op)
        return NULL;
    if (!(node->op->flags & OP_ELEMENTWISE) || node->n_out != 1)
        return NULL;
    return shape_equal(&node->out[0]->shape, &tensor->shape) ? node : NULL;
}

enum { LONGEST_WAY = 64 };

/* Is there, behind elementwise work on its result alone, a Transpose that turns it back? */
static bool meets_its_inverse(const Node *transpose)
{
    const Tensor *tensor = transpose->out[0];
    int perm[MAX_RANK], next[MAX_RANK];
    transpose_perm(transpose, perm);
    for (int i = 0; i < LONGEST_WAY; i++) {
        const Node *node = mapped_by(transpose->graph, tensor);
        if (!node)
            break;
        tensor = node->out[0];
    }
    const Node *end =
        tensor->uses == 1 && tensor->use ? tensor->use->node : NULL;
    if (tensor == transpose->out[0] || !end || !node_is(end, "Transpose"))
        return false;
    transpose_perm(end, next);
    for (int i = 0; i < tensor->shape.rank; i++)
        if (perm[next[i]] != i)
            return false;
    return true;
}

/* The permutation that most of n's operands come through; by NULL: none. */
static Carried leading_transpose(const Node *node)
{
    Carried all[MOST_PERMS];
    int count = 0;
    int best = 0;
    for (int i = 0; i < node->n_in; i++) {
        const Node *by = transpose_of(node->in[i]);
        if (!by || (is_idle(by) && !meets_its_inverse(by)))
            continue;
        const int k = find_carried(all, &count, by);
        if (k == MOST_PERMS)
            continue;
        all[k].elements += tensor_count(node->in[i]);
        if (all[k].elements > all[best].elements)
            best = k;
    }
    return count ? all[best] : (Carried){ .by = NULL };
}

/* Can node do without its operands' Transpose, the other operands being transposed where that is
 * less work? Less work at each step: what moves can never come back. */
static bool worth_sinking(const Node *node, const Carried *lead)
{
    const bool same_rank =
        node->out[0]->shape.rank == lead->by->out[0]->shape.rank;
    int64_t cost = 0;
    for (int i = 0; i < node->n_in; i++) {
        const Tensor *tensor = node->in[i];
        if (!tensor || !relayout_moves(node, i) || tensor == lead->by->out[0])
            continue;
        const int64_t more =
            same_rank ? cost_of_following(tensor, node->out[0], lead->perm)
                      : -1;
        if (more < 0)
            return false;
        cost += more;
    }
    return cost < lead->elements;
}

/* Reshape and its kin, and what reads by index, let a Transpose pass in their own way; false: it is
 * none of them. */
static bool sinks_itself(Graph *graph, Node *node, const Node *lead, bool *sunk)
{
    int perm[MAX_RANK];
    if (!(node->op->flags & OP_VIEW))
        return sink_index(graph, node, lead, sunk);
    if (node->in[0] != lead->out[0])
        return false;
    transpose_perm(lead, perm);
    *sunk = sink_reshape(graph, node, lead->in[0], perm);
    return true;
}

/* Operands are read as they were before a Transpose with `perm`. */
static void take_operands_before(Graph *graph, Node *node, int rank,
                                 const int *perm)
{
    Tensor **in = node_copy_inputs(node);
    for (int i = 0; i < node->n_in; i++)
        if (in[i] && relayout_moves(node, i))
            in[i] = without_transpose(graph, node, in[i], rank, perm);
    node_set_inputs(node, node->n_in, in);
}

/* Results of that rank are turned behind the node; others have no order to change. */
static void turn_results(Graph *graph, Node *node, int rank, const int *perm)
{
    int back[MAX_RANK];
    perm_inverse(rank, perm, back);
    if (node->out[0]->shape.rank != rank)
        return;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            transpose_output(graph, node, i, back);
}

/* Moves the Transposes of a node's operands behind it. */
static bool sink(Graph *graph, Node *node)
{
    const Carried carried = leading_transpose(node);
    const Node *lead = carried.by;
    bool sunk;
    if (!lead || node->dead)
        return false;
    if (sinks_itself(graph, node, lead, &sunk))
        return sunk;
    const int rank = lead->out[0]->shape.rank;
    int perm[MAX_RANK];
    transpose_perm(lead, perm);
    RelayoutFn *relayout = relayout_find(node);
    if (!relayout || !worth_sinking(node, &carried) ||
        !relayout(node, rank, perm))
        return false;
    take_operands_before(graph, node, rank, perm);
    turn_results(graph, node, rank, perm);
    return true;
}

static void to_reshape(Graph *graph, Node *node)
{
    int perm[MAX_RANK];
    transpose_perm(node, perm);
    if (!keeps_order(&node->in[0]->shape, perm))
        return;
    become_reshape(graph, node, node->in[0], &node->out[0]->shape);
}

static bool is_spatial(const Node *node)
{
    return node->op && node->op->flags & OP_SPATIAL && !node->channels_last &&
           node->in[0]->shape.rank >= 3 && node->in[0]->shape.rank <= 5;
}

enum { MOST_ROUNDS = 64 };

void pass_layout(Graph *graph)
{
    own_order_mark(graph);
    size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        if (is_spatial(node) && !node->own_order)
            make_channels_last(graph, node);
    }
    bool moved = true;
    /* each round carries a Transpose past at least one node */
    for (int round = 0; moved && round < MOST_ROUNDS; round++) {
        moved = false;
        graph_sort(graph);
        count = graph->node.n;
        for (size_t i = 0; i < count; i++) {
            Node *n = graph->node.at[i];
            if (node_is(n, "Transpose"))
                merge_transposes(graph, n);
            else
                moved |= sink(graph, n);
        }
        pass_dead(graph);
    }
    raise_turns(graph);
    for (size_t i = 0; i < graph->node.n; i++)
        if (node_is(graph->node.at[i], "Transpose"))
            to_reshape(graph, graph->node.at[i]);
}
