/* SPDX-License-Identifier: Apache-2.0
 * Constant folding: small results by value, larger ones in pieces when they are read. What can be
 * neither is a step, and said to be one. */
#include "eval/fold.h"

#include "base/size.h"
#include "eval/node.h"
#include "eval/pieces.h"
#include "ops/dynamic.h"
#include "ops/ops.h"

enum {
    IN_MEMORY =
        64 * 1024,     /* bytes of operands and results that stay in memory */
    AT_ONCE = 1 << 20, /* of those that are in memory for a moment */
    ALL_IN_MEMORY = 8 << 20, /* of all that stay */
    NUMBERS = 1024,          /* shapes and the like stay in any case */
};

/* Are all shapes known, so that the node is one to fold? *bytes: of operands and results. */
static bool is_settled(const Node *node, int64_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i < node->n_in; i++) {
        const Tensor *tensor = node->in[i];
        if (!tensor)
            continue;
        if (tensor->dtype == DT_STRING || !shape_known(&tensor->shape))
            return false;
        if (tensor->value)
            *bytes = i64_add(*bytes, tensor_bytes(tensor));
    }
    for (int i = 0; i < node->n_out; i++) {
        const Tensor *tensor = node->out[i];
        if (!tensor)
            continue;
        if (!shape_known(&tensor->shape) || (tensor->dynamic && !node->counts))
            return false;
        *bytes = i64_add(*bytes, tensor_bytes(tensor));
    }
    return true;
}

/* A result takes its real size, of which it had the bound. */
static void cut_to_size(Tensor *tensor, int64_t size)
{
    Store *store = tensor->graph->store;
    for (int i = 0; i < tensor->shape.rank; i++) {
        if (!(tensor->dynamic >> i & 1u))
            continue;
        tensor->value = recipe_part(store, tensor->value, i, 0, size);
        tensor->shape.dim[i] = size;
    }
    tensor->dynamic = 0;
    tensor->dims = NULL;
}

/* What the node counts is known now. */
static void cut_results(const Node *node)
{
    int64_t count;
    const Tensor *counted = node_count(node);
    const int64_t *size = tensor_ints(node->graph, counted, &count);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->dynamic)
            cut_to_size(node->out[i], *size);
}

/* The result is what lies there in the spill file. */
static void keep_result(Store *store, Tensor *tensor, uint64_t at)
{
    const Span span = { at, (uint64_t)tensor_bytes(tensor) };
    const Source source = {
        .dtype = tensor->dtype,
        .count = tensor_count(tensor),
        .file = store->spill,
        .span = &span,
        .spans = 1,
    };
    tensor->value =
        recipe_source(store, &source, tensor->shape.rank, tensor->shape.dim);
}

/* The results are computed in memory and put into the spill file. */
static bool fold_out(Node *node)
{
    Store *store = node->graph->store;
    uint64_t *at = NEW_ARRAY(store->arena, uint64_t, node->n_out);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            at[i] = spill_room(store, (uint64_t)tensor_bytes(node->out[i]));
    const ArenaMark mark = arena_mark(store->arena);
    const bool done = eval_node_in_time(node);
    for (int i = 0; done && i < node->n_out; i++)
        if (node->out[i])
            recipe_write(store, node->out[i]->value, store->spill, at[i]);
    arena_release(store->arena, mark);
    for (int i = 0; done && i < node->n_out; i++)
        if (node->out[i])
            keep_result(store, node->out[i], at[i]);
    return done;
}

/* Small results stay in memory, as long as they are not many. */
static bool fold_small(Node *node, int64_t bytes)
{
    Store *store = node->graph->store;
    const int64_t all = store->folded_bytes + bytes;
    if (bytes > IN_MEMORY || (bytes > NUMBERS && all > ALL_IN_MEMORY))
        return fold_out(node);
    store->folded_bytes = all;
    return eval_node_in_time(node);
}

/* One whose results have the sizes that it counts; large ones stay as they are. */
static bool fold_counted(Node *node, int64_t bytes)
{
    if (bytes > AT_ONCE)
        return false;
    const bool done = fold_small(node, bytes);
    if (done)
        cut_results(node);
    return done;
}

bool fold_node(Node *node)
{
    int64_t bytes;
    if (!node->op->lower || !is_settled(node, &bytes))
        return false;
    if (node->counts)
        return fold_counted(node, bytes);
    if (bytes <= IN_MEMORY)
        return fold_small(node, bytes);
    if (pieces_fold(node))
        return true;
    if (bytes <= AT_ONCE)
        return fold_small(node, bytes);
    if (!eval_takes(node))
        return false;
    warn_at(node_loc(node),
            "its operands are constant, but take %lld bytes with its result: "
            "it is computed at every run, in RAM",
            (long long)bytes);
    return false;
}
