/* SPDX-License-Identifier: Apache-2.0
 * A node alone becomes a program of its own, runs, and leaves its results as constants.
 * Everything temporary lies in the store's scratch arena. */
#include "eval/node.h"

#include <string.h>

#include "base/size.h"
#include "bounds/bounds.h"
#include "eval/counted.h"
#include "eval/eval.h"
#include "ops/lower_graph.h"
#include "ops/lower.h"

/* Copies of the node and its tensors, so that lowering leaves no trace on the real ones, and that
 * nobody else makes or reads. */
static Tensor *copy_tensor(Arena *arena, const Tensor *tensor)
{
    Tensor *copy = arena_copy(arena, tensor, sizeof *tensor);
    copy->producer = NULL;
    copy->use = NULL;
    copy->uses = 0;
    return copy;
}

/* Its copy, or, of an operand that the node has twice, the copy that there is already. */
static Tensor *copy_input(Arena *arena, const Node *node, const Node *copy,
                          int i)
{
    for (int k = 0; k < i; k++)
        if (node->in[k] == node->in[i])
            return copy->in[k];
    return copy_tensor(arena, node->in[i]);
}

static Node *copy_node(Graph *g, const Node *node)
{
    Arena *arena = g->arena;
    Node *copy = NEW(arena, Node);
    *copy = *node;
    copy->graph = g;
    copy->attr = arena_copy(arena, node->attr,
                            (size_t)node->n_attr * sizeof *copy->attr);
    copy->in = NEW_ARRAY(arena, Tensor *, node->n_in);
    copy->use = NEW_ARRAY(arena, Use, node->n_in);
    copy->out = NEW_ARRAY(arena, Tensor *, node->n_out);
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i])
            copy->in[i] = copy_input(arena, node, copy, i);
    for (int i = 0; i < node->n_out; i++) {
        if (!node->out[i])
            continue;
        copy->out[i] = copy_tensor(arena, node->out[i]);
        copy->out[i]->storage = STORE_ARENA;
    }
    return copy;
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

static void take_results(Node *node, const Node *copy,
                         const unsigned char *weights, unsigned char *arena)
{
    for (int i = 0; i < node->n_out; i++) {
        Tensor *tensor = node->out[i];
        if (!tensor)
            continue;
        int64_t at;
        Tensor *root = tensor_root(copy->out[i], &at);
        const unsigned char *base =
            root->storage == STORE_WEIGHTS ? weights : arena;
        Recipe *made = recipe_memory(node->graph->store, copy->out[i]->dtype,
                                     tensor->shape.rank, tensor->shape.dim,
                                     base + root->offset + at);
        tensor->value =
            copy->out[i]->dtype == tensor->dtype
                ? made
                : recipe_cast(node->graph->store, made, tensor->dtype);
    }
}

/* A copy of a node, and its steps, apart from all else. */
typedef struct Alone {
    Graph graph;
    Program program;
    Node *copy;
} Alone;

/* With what all nodes of the model ask their root for. */
static Graph graph_alone(const Graph *root, Store *store)
{
    return (Graph){
        .arena = &store->scratch,
        .store = store,
        .file = root->file,
        .producer = root->producer,
        .by_name = map_new(&store->scratch),
        .opset.at = root->opset.at,
        .opset.n = root->opset.n,
    };
}

/* In the store's scratch arena. False: its operator does not take the type. */
static bool lower_alone(Alone *alone, const Node *node)
{
    Store *store = node->graph->store;
    const Family *family = family_of_target(NULL);
    alone->graph = graph_alone(graph_root(node->graph), store);
    alone->copy = copy_node(&alone->graph, node);
    widen(store, alone->copy);
    if (!takes_type(alone->copy))
        return false;
    alone->program = (Program){ .graph = &alone->graph, .family = family };
    Lower lower = {
        .program = &alone->program,
        .graph = &alone->graph,
        .arena = &store->scratch,
        .store = store,
        .family = family,
        .pack_width = family->float_width,
    };
    lower_node(&lower, alone->copy);
    lower_empty(&alone->program);
    bounds_check(&alone->program);
    return true;
}

static void run_alone(Node *node, Alone *alone)
{
    Program *program = &alone->program;
    Arena *scratch = alone->graph.arena;
    const int64_t arena_bytes = eval_place_apart(program);
    unsigned char *weights = eval_weights(scratch, program);
    unsigned char *arena = arena_alloc(scratch, (size_t)arena_bytes);
    void *base[] = { weights, arena };
    program_link(program);
    const inlay_model model = program_model(scratch, program);
    const int error = inlay_run(&model, base);
    if (error)
        fail_at(STATUS_MALFORMED, node_loc(node), NULL,
                "its constant operands do not fit together (%s)",
                eval_error_text(error));
    take_results(node, alone->copy, weights, arena);
}

static bool run_node(Node *node, bool counted)
{
    Store *store = node->graph->store;
    const ArenaMark mark = arena_mark(&store->scratch);
    Alone alone;
    bool done = lower_alone(&alone, node);
    if (done && counted)
        done = eval_has_time(store, (double)eval_work(&alone.program));
    if (done)
        run_alone(node, &alone);
    arena_release(&store->scratch, mark);
    return done;
}

bool eval_node(Node *node)
{
    return run_node(node, false);
}

bool eval_node_in_time(Node *node)
{
    return run_node(node, true);
}

int64_t eval_node_macs(const Node *node)
{
    Store *store = node->graph->store;
    const ArenaMark mark = arena_mark(&store->scratch);
    Alone alone;
    int64_t macs = 0;
    if (lower_alone(&alone, node))
        for (size_t i = 0; i < alone.program.step.n; i++)
            macs = i64_add(macs, alone.program.step.at[i]->macs);
    arena_release(&store->scratch, mark);
    return macs;
}

bool eval_takes(const Node *node)
{
    const Tensor *tensor = node->n_in ? node->in[0] : NULL;
    if (!node->op->lower || !tensor || !node->op->types)
        return false;
    const DType type = op_compute_type(node->op, 0, tensor->dtype);
    return node->op->types & DTYPE_BIT(type);
}
