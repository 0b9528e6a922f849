/* SPDX-License-Identifier: Apache-2.0
 * A node alone becomes a program of its own, runs, and leaves its results as constants.
 * Everything temporary lies in the store's scratch arena. */
#include "eval/fold.h"

#include <string.h>

#include "base/size.h"
#include "bounds/bounds.h"
#include "eval/eval.h"
#include "ops/lower.h"

enum { FOLD_LIMIT = 1 << 20 }; /* bytes of operands and results */

static bool small_enough(const Node *node)
{
    int64_t bytes = 0;
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i]) {
            if (node->in[i]->dtype == DT_STRING || !shape_known(&node->in[i]->shape))
                return false;
            if (node->in[i]->value)
                bytes = i64_add(bytes, tensor_bytes(node->in[i]));
        }
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i]) {
            if (!shape_known(&node->out[i]->shape) || node->out[i]->dynamic)
                return false;
            bytes = i64_add(bytes, tensor_bytes(node->out[i]));
        }
    return bytes <= FOLD_LIMIT;
}

/* Copies of the node and its tensors, so that lowering leaves no trace on the real ones. */
static Node *copy_node(Graph *g, const Node *node)
{
    Node *c = NEW(g->arena, Node);
    *c = *node;
    c->graph = g;
    c->in = NEW_ARRAY(g->arena, Tensor *, node->n_in);
    c->use = NEW_ARRAY(g->arena, Use, node->n_in);
    c->out = NEW_ARRAY(g->arena, Tensor *, node->n_out);
    for (int i = 0; i < node->n_in; i++) {
        if (!node->in[i])
            continue;
        for (int k = 0; k < i && !c->in[i]; k++)
            if (node->in[k] == node->in[i])
                c->in[i] = c->in[k];
        if (!c->in[i])
            c->in[i] = arena_copy(g->arena, node->in[i], sizeof(Tensor));
    }
    for (int i = 0; i < node->n_out; i++) {
        if (!node->out[i])
            continue;
        c->out[i] = arena_copy(g->arena, node->out[i], sizeof(Tensor));
        c->out[i]->storage = STORE_ARENA;
    }
    return c;
}

/* A node alone meets no pass: operands are widened here as passes/widen.c does, the results
 * narrowed when they are taken. */
static void widen(Store *store, Node *c)
{
    DType wide[DT_COUNT] = { DT_NONE };
    for (int i = 0; i < c->n_in; i++) {
        Tensor *t = c->in[i];
        const DType to = t ? op_compute_type(c->op, i, t->dtype) : DT_NONE;
        if (!t || to == t->dtype)
            continue;
        if (t->value)
            t->value = recipe_cast(store, t->value, to);
        wide[t->dtype] = to;
        t->dtype = to;
    }
    for (int i = 0; i < c->n_out; i++) {
        Tensor *t = c->out[i];
        if (!t)
            continue;
        if (dtype_is_small_float(t->dtype))
            t->dtype = op_compute_type(c->op, 0, t->dtype);
        else if (wide[t->dtype])
            t->dtype = wide[t->dtype];
    }
}

static bool takes_type(const Node *c)
{
    const Tensor *tensor = c->n_in && c->in[0] ? c->in[0] : c->out[0];
    return c->op->types & DTYPE_BIT(tensor->dtype);
}

static void take_results(Node *node, const Node *copy, const unsigned char *weights,
                         unsigned char *arena)
{
    for (int i = 0; i < node->n_out; i++) {
        Tensor *tensor = node->out[i];
        if (!tensor)
            continue;
        int64_t at;
        Tensor *root = tensor_root(copy->out[i], &at);
        const unsigned char *base = root->storage == STORE_WEIGHTS ? weights : arena;
        Recipe *made = recipe_memory(node->graph->store, copy->out[i]->dtype, tensor->shape.rank,
                                     tensor->shape.dim, base + root->offset + at);
        tensor->value = copy->out[i]->dtype == tensor->dtype
                            ? made
                            : recipe_cast(node->graph->store, made, tensor->dtype);
    }
}

bool fold_node(Node *node)
{
    if (!node->op->lower || !small_enough(node))
        return false;
    Store *store = node->graph->store;
    Arena *scratch = &store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Graph *root = graph_root(node->graph);
    Graph g = { .arena = scratch,
                .store = store,
                .file = root->file,
                .by_name = map_new(scratch),
                .opset.at = root->opset.at,
                .opset.n = root->opset.n };
    Program p = { .graph = &g };
    Lower l = { .program = &p, .graph = &g, .arena = scratch, .pack_width = 16 };
    Node *copy = copy_node(&g, node);
    widen(store, copy);
    if (!takes_type(copy)) {
        arena_release(scratch, mark);
        return false;
    }
    lower_node(&l, copy);
    lower_empty(&p);
    bounds_check(&p);
    const int64_t arena_bytes = eval_place_apart(&p);
    unsigned char *weights = eval_weights(scratch, &p);
    unsigned char *arena = arena_alloc(scratch, (size_t)arena_bytes);
    void *base[] = { weights, arena };
    program_link(&p);
    const inlay_model model = program_model(scratch, &p);
    const int error = inlay_run(&model, base);
    if (error)
        fail_at(STATUS_MALFORMED, node_loc(node), NULL,
                "its constant operands do not fit together (%s)", eval_error_text(error));
    take_results(node, copy, weights, arena);
    arena_release(scratch, mark);
    return true;
}
