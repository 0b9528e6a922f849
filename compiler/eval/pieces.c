/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pieces.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "base/size.h"
#include "eval/box.h"
#include "eval/chain.h"
#include "eval/counted.h"
#include "eval/node.h"

/* Pieces of more operands are so small that each costs more than it computes. */
enum { MOST_OPERANDS = 64 };

/* A constant that is computed when it is read. */
typedef struct Pieces {
    Later later; /* the first member: what the recipe knows of it */
    Store *store;
    Nodes nodes;
} Pieces;

/* --- all boxes --- */

/* How types of less than a byte lie in the spill file. */
static DType stored_type(DType type)
{
    if (dtype_bits(type) >= 8)
        return type;
    if (DTYPE_BIT(type) & T_SMALL_FLOAT)
        return DT_F16;
    return DTYPE_BIT(type) & (DTYPE_BIT(DT_I4) | DTYPE_BIT(DT_I2)) ? DT_I8
                                                                   : DT_U8;
}

/* The next run of a box, whose last axes from `first` on lie together; false: it was the last. */
static bool next_run(const Range *box, int first, int64_t *index)
{
    for (int a = first; a-- > 0;) {
        index[a]++;
        if (index[a] < box->n[a])
            return true;
        index[a] = 0;
    }
    return false;
}

/* Element of the whole where the run at `index` of the box begins. */
static int64_t run_place(const Making *making, const int64_t *index)
{
    const Chain *chain = making->chain;
    int64_t place = 0;
    for (int a = 0; a < chain->rank; a++)
        place = place * chain->dim[a] + making->box.at[a] + index[a];
    return place;
}

/* Puts the values of a box into the place of the whole. */
static void write_box(const Making *making, DType type, uint64_t place,
                      const uint8_t *from)
{
    const Chain *chain = making->chain;
    const uint64_t size = (uint64_t)dtype_bits(type) / 8;
    int64_t index[MAX_RANK] = { 0 };
    int first = chain->rank;
    uint64_t run = size;
    bool whole = true;
    while (whole && first > 0) {
        first--;
        run *= (uint64_t)making->box.n[first];
        whole = making->box.n[first] == chain->dim[first];
    }
    do {
        const uint64_t at = (uint64_t)run_place(making, index) * size;
        file_write(making->store->spill, place + at, from, (size_t)run);
        from += run;
    } while (next_run(&making->box, first, index));
}

static void make_box(Making *making, uint64_t place)
{
    Store *store = making->store;
    const ArenaMark mark = arena_mark(store->arena);
    const uint64_t spilled = store->spill_size;
    box_make(making);
    Recipe *result = making->result[making->chain->links - 1];
    const DType type = stored_type(recipe_dtype(result));
    result = recipe_cast(store, result, type);
    const void *values = recipe_values(store, store->arena, result);
    write_box(making, type, place, values);
    store->spill_size = spilled;
    arena_release(store->arena, mark);
}

static bool next_box(Making *making)
{
    const Chain *chain = making->chain;
    Range *box = &making->box;
    for (int a = chain->rank; a-- > 0;) {
        box->at[a] += box->n[a];
        const bool more = box->at[a] < chain->dim[a];
        if (!more)
            box->at[a] = 0;
        box->n[a] = i64_min(making->tiling->n[a], chain->dim[a] - box->at[a]);
        if (more)
            return true;
    }
    return false;
}

/* Of what operands are slices taken that cost no spill each? */
static void settle_sources(Store *store, const Link *link)
{
    for (int k = 0; k < link->node->n_in; k++)
        if (link->from[k] && link->link[k] < 0)
            link->from[k] = recipe_cuttable(store, link->from[k]);
}

static void make_pieces(Store *store, Later *later)
{
    const Pieces *pieces = (const Pieces *)later;
    const ArenaMark mark = arena_mark(store->arena);
    const uint64_t spilled = store->spill_size;
    const Chain chain = chain_of(store, &pieces->nodes);
    Tiling tiling;
    const bool fits = tiling_find(&chain, &tiling);
    assert(fits);
    (void)fits;
    for (int i = 0; i < chain.links; i++)
        settle_sources(store, chain.link + i);
    Making making = { .store = store, .chain = &chain, .tiling = &tiling };
    memcpy(making.box.n, tiling.n, sizeof tiling.n);
    do
        make_box(&making, later->place.offset);
    while (next_box(&making));
    store->spill_size = spilled;
    arena_release(store->arena, mark);
}

/* --- the constant --- */

/* The node as it is now, whatever becomes of it. */
static Node *keep_node(Arena *arena, const Node *node)
{
    Node *copy = arena_copy(arena, node, sizeof *node);
    copy->in = NEW_ARRAY(arena, Tensor *, node->n_in);
    copy->out = NEW_ARRAY(arena, Tensor *, 1);
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k])
            copy->in[k] = arena_copy(arena, node->in[k], sizeof(Tensor));
    copy->out[0] = arena_copy(arena, node->out[0], sizeof(Tensor));
    copy->n_out = 1;
    return copy;
}

/* Are places of operand k those of the result? */
static bool same_places(const Node *node, int k)
{
    const Shape *shape = &node->out[0]->shape;
    if (!shape_equal(shape, &node->in[k]->shape))
        return false;
    for (int a = 0; a < shape->rank; a++)
        if (shape->dim[a] > 1 && cut_axis(node, a, k) != a)
            return false;
    return true;
}

static bool has_node(const Nodes *nodes, const Later *makes)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->makes[i] == makes)
            return true;
    return false;
}

/* Adds those nodes that are not there yet; false: they are too many. */
static bool add_nodes(Nodes *nodes, const Nodes *more)
{
    for (int i = 0; i < more->n; i++) {
        if (has_node(nodes, more->makes[i]))
            continue;
        if (nodes->n == LINKS - 1)
            return false;
        nodes->node[nodes->n] = more->node[i];
        nodes->makes[nodes->n++] = more->makes[i];
    }
    return true;
}

/* Elements that each of the result's is computed through, as the chain knows them. */
static double depth_of(const Chain *chain)
{
    double depth = 1;
    for (int a = 0; a < MAX_RANK; a++)
        depth *= (double)tiling_depth(chain, 0, a);
    return depth;
}

/* Elements that a node is computed through. What the chain knows nothing of, as windows, the steps
 * do. */
static double work_of(const Chain *chain, const Node *node)
{
    const double depth = depth_of(chain);
    double work = depth;
    int operands = 0;
    for (int k = 0; k < node->n_in; k++)
        operands += node->in[k] != NULL;
    for (int a = 0; a < chain->rank; a++)
        work *= (double)chain->dim[a];
    if (depth > 1)
        return operands > 1 ? work / FOLDED_PRODUCTS : work;
    if (node->op->flags & OP_ELEMENTWISE)
        return work;
    const double macs = (double)eval_node_macs(node);
    return macs > work ? macs : work;
}

/* Is there time for it? Then it is counted. */
static bool takes_time(Store *store, Node *node)
{
    const ArenaMark mark = arena_mark(store->arena);
    const Nodes alone = { .n = 1, .node = { node } };
    const Chain chain = chain_of(store, &alone);
    const double work = work_of(&chain, node);
    arena_release(store->arena, mark);
    return eval_has_time(store, work);
}

static bool fits_alone(Store *store, const Nodes *nodes)
{
    const ArenaMark mark = arena_mark(store->arena);
    const Chain chain = chain_of(store, nodes);
    Tiling tiling;
    const bool fits = tiling_find(&chain, &tiling);
    arena_release(store->arena, mark);
    return fits;
}

/* The nodes that make operand k are computed with this one, if such pieces are small enough. */
static void take_chain(Pieces *pieces, Node *node, int k)
{
    const Later *later = node->in[k] ? recipe_awaits(node->in[k]->value) : NULL;
    if (!later || later->make != make_pieces || !same_places(node, k))
        return;
    const Nodes *others = &((const Pieces *)later)->nodes;
    const Tensor *result = others->node[others->n - 1]->out[0];
    if (!shape_equal(&result->shape, &node->in[k]->shape) ||
        result->dtype != node->in[k]->dtype)
        return;
    Nodes more = pieces->nodes;
    if (!add_nodes(&more, others))
        return;
    const Nodes before = pieces->nodes;
    pieces->nodes = more;
    more.node[more.n] = node;
    more.makes[more.n++] = NULL;
    if (!fits_alone(pieces->store, &more))
        pieces->nodes = before;
}

static int settle_operands(Store *store, const Node *node)
{
    int depth = 0;
    for (int k = 0; k < node->n_in; k++) {
        if (!node->in[k])
            continue;
        const int own = recipe_settle(store, node->in[k]->value, LATER_DEPTH);
        depth = own > depth ? own : depth;
    }
    return depth;
}

static bool is_single(const Node *node)
{
    for (int i = 1; i < node->n_out; i++)
        if (node->out[i])
            return false;
    return node->n_out > 0 && node->out[0] && tensor_count(node->out[0]) > 0;
}

static bool is_constant(const Node *node)
{
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k] && !node->in[k]->value)
            return false;
    return node->n_in > 0;
}

/* Has it pieces that are small enough, and is there time for them? */
static bool has_pieces(Store *store, Node *node)
{
    const Nodes alone = { .n = 1, .node = { node } };
    return node->n_in <= MOST_OPERANDS && is_single(node) &&
           is_constant(node) && eval_takes(node) && fits_alone(store, &alone) &&
           takes_time(store, node);
}

bool pieces_fold(Node *node)
{
    Store *store = node->graph->store;
    if (!has_pieces(store, node))
        return false;
    Tensor *result = node->out[0];
    const DType stored = stored_type(result->dtype);
    Pieces *pieces = NEW(store->arena, Pieces);
    Node *kept = keep_node(store->arena, node);
    pieces->later.make = make_pieces;
    pieces->later.depth = settle_operands(store, node) + 1;
    pieces->store = store;
    for (int k = 0; k < node->n_in; k++)
        take_chain(pieces, kept, k);
    pieces->nodes.node[pieces->nodes.n] = kept;
    pieces->nodes.makes[pieces->nodes.n++] = &pieces->later;
    Recipe *value = recipe_later(store, &pieces->later, stored,
                                 result->shape.rank, result->shape.dim);
    result->value = recipe_cast(store, value, result->dtype);
    return true;
}
