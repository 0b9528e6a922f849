/* SPDX-License-Identifier: Apache-2.0
 * A link's operands are cut to what its box needs, the node runs by itself. What
 * it goes through is cut as well where it must be: the results of those cuts are
 * brought together two by two, by the operator that its row names. */
#include "eval/box.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "eval/node.h"

/* A link that is made: its type while it is, and the bytes of its box. */
typedef struct Target {
    int link;
    const Node *node;
    DType type;
    Shape shape;
    int64_t count;
    size_t bytes;
} Target;

/* --- one node, one range --- */

/* What operand k gives to the range: of a link before, or cut out of the constant. */
static Recipe *operand_piece(const Making *making, const Link *link, int k,
                             const Range *range)
{
    if (link->link[k] >= 0)
        return making->result[link->link[k]];
    Recipe *recipe = (Recipe *)link->from[k];
    for (int a = 0; a < CUT_AXES; a++) {
        const int own = link->axis[k][a];
        if (own < 0 || range->n[a] == recipe_dims(recipe)[own])
            continue;
        recipe =
            recipe_part(making->store, recipe, own, range->at[a], range->n[a]);
    }
    return recipe;
}

/* Small floats are computed, and brought together, in the type that their operator takes. */
static DType working_type(const Node *node, int k, DType type)
{
    const bool small = T_SMALL_FLOAT & DTYPE_BIT(type);
    return small && node->op->join ? op_compute_type(node->op, k, type) : type;
}

static Tensor *value_tensor(Arena *arena, const Tensor *like, Recipe *value)
{
    Tensor *tensor = arena_copy(arena, like, sizeof *like);
    tensor->value = value;
    tensor->dtype = recipe_dtype(value);
    tensor->shape = shape_of(recipe_rank(value), recipe_dims(value));
    return tensor;
}

static Tensor *result_tensor(Arena *arena, const Tensor *like, DType type,
                             Shape shape)
{
    Tensor *tensor = arena_copy(arena, like, sizeof *like);
    tensor->value = NULL;
    tensor->dtype = type;
    tensor->shape = shape;
    return tensor;
}

/* The node as it is for the range: its operands are pieces. */
static Node *piece_node(const Making *making, const Target *target,
                        const Range *range)
{
    Store *store = making->store;
    Arena *arena = &store->scratch;
    const Link *link = making->chain->link + target->link;
    Node *copy = arena_copy(arena, link->node, sizeof *copy);
    Tensor **in = NEW_ARRAY(arena, Tensor *, copy->n_in);
    Tensor **out = NEW_ARRAY(arena, Tensor *, 1);
    for (int k = 0; k < copy->n_in; k++) {
        const Tensor *like = copy->in[k];
        if (!like)
            continue;
        Recipe *value = operand_piece(making, link, k, range);
        const DType type = working_type(copy, k, like->dtype);
        value = recipe_cast(store, value, type);
        in[k] = value_tensor(arena, like, value);
    }
    *out = result_tensor(arena, *copy->out, target->type, target->shape);
    copy->in = in;
    copy->out = out;
    return copy;
}

/* The values that a node computes; nothing else of it stays. */
static void run_node(Store *store, Node *node, void *to)
{
    const bool done = eval_node(node);
    assert(done);
    (void)done;
    Recipe *value = node->out[0]->value;
    const void *values = recipe_values(store, store->arena, value);
    memcpy(to, values, (size_t)recipe_bytes(value));
}

static Recipe *values_recipe(Store *store, DType type, Shape shape,
                             const void *values)
{
    const Source source = {
        .dtype = type,
        .count = shape_count(&shape),
        .memory = values,
    };
    return recipe_source(store, &source, shape.rank, shape.dim);
}

/* --- what is brought together --- */

static void weigh(const Target *target, void *values, double weight)
{
    float *singles = values;
    double *doubles = values;
    for (int64_t i = 0; i < target->count && target->type == DT_F32; i++)
        singles[i] = (float)((double)singles[i] * weight);
    for (int64_t i = 0; i < target->count && target->type == DT_F64; i++)
        doubles[i] *= weight;
}

/* Of a mean: which part of all that the node goes through the range is. */
static double weight_of(const Making *making, const Target *target,
                        const Range *range)
{
    const Chain *chain = making->chain;
    double weight = 1;
    if (!(target->node->op->flags & OP_MEAN))
        return weight;
    for (int a = 0; a < MAX_RANK; a++) {
        const int64_t depth = tiling_depth(chain, target->link, a);
        weight *= (double)range->n[chain->rank + a] / (double)depth;
    }
    return weight;
}

/* Two results, one behind the other, become one, in the place of the first. */
static void join_results(Store *store, const Target *target, void *both)
{
    static const int64_t axis = 0;
    Arena *arena = &store->scratch;
    const Node *node = target->node;
    Graph graph = *graph_root(node->graph);
    Node join = *node;
    Shape pair = { .rank = 2, .dim = { 2, target->count } };
    Recipe *value = values_recipe(store, target->type, pair, both);
    Tensor *in = value_tensor(arena, node->in[0], value);
    Tensor *out = result_tensor(arena, node->out[0], target->type,
                                shape_vector(target->count));
    graph.arena = arena;
    join.graph = &graph;
    join.op_type = node->op->join;
    join.op = op_find("", node->op->join, OPSET_OLDEST);
    join.n_in = 1;
    join.n_attr = 0;
    join.attr = NULL;
    join.in = &in;
    join.out = &out;
    node_set_ints(&join, "axes", 1, &axis);
    node_set_int(&join, "keepdims", 0);
    run_node(store, &join, both);
}

/* The next range that the link goes through; false: it was the last. */
static bool next_through(const Making *making, const Target *target,
                         Range *range)
{
    const int64_t *most = making->tiling->through[target->link];
    int64_t *at = range->at + making->chain->rank;
    int64_t *n = range->n + making->chain->rank;
    for (int a = 0; a < MAX_RANK; a++) {
        const int64_t depth = tiling_depth(making->chain, target->link, a);
        at[a] += n[a];
        const bool more = at[a] < depth;
        if (!more)
            at[a] = 0;
        n[a] = i64_min(most[a], depth - at[a]);
        if (more)
            return true;
    }
    return false;
}

static Range first_through(const Making *making, const Target *target)
{
    Range range = making->box;
    for (int a = 0; a < MAX_RANK; a++) {
        const int axis = making->chain->rank + a;
        range.at[axis] = 0;
        range.n[axis] = making->tiling->through[target->link][a];
    }
    return range;
}

/* The values of the range: the first ones, or joined to those that are there. */
static void make_range(const Making *making, const Target *target,
                       const Range *range, bool first, uint8_t *values)
{
    Store *store = making->store;
    const ArenaMark mark = arena_mark(store->arena);
    const ArenaMark scratch = arena_mark(&store->scratch);
    uint8_t *to = first ? values : values + target->bytes;
    const double weight = weight_of(making, target, range);
    run_node(store, piece_node(making, target, range), to);
    if (weight != 1)
        weigh(target, to, weight);
    if (!first)
        join_results(store, target, values);
    arena_release(&store->scratch, scratch);
    arena_release(store->arena, mark);
}

static void make_link(Making *making, int i)
{
    Store *store = making->store;
    const Node *node = making->chain->link[i].node;
    const DType kept = node->out[0]->dtype;
    Target target = {
        .link = i,
        .node = node,
        .type = working_type(node, 0, kept),
        .shape = shape_of(making->chain->rank, making->box.n),
    };
    target.count = shape_count(&target.shape);
    target.bytes = (size_t)dtype_bytes(target.type, target.count);
    uint8_t *values = arena_buffer(store->arena, 2 * target.bytes);
    Range range = first_through(making, &target);
    make_range(making, &target, &range, true, values);
    while (next_through(making, &target, &range))
        make_range(making, &target, &range, false, values);
    Recipe *made = values_recipe(store, target.type, target.shape, values);
    making->result[i] = recipe_cast(store, made, kept);
}

void box_make(Making *making)
{
    for (int i = 0; i < making->chain->links; i++)
        make_link(making, i);
}
