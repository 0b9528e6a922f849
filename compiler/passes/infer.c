/* SPDX-License-Identifier: Apache-2.0
 * Types and shapes, in execution order; nodes with constant operands are computed on the way, so
 * that shape subgraphs have vanished when their results are needed. Requires: a sorted graph with
 * unique names. Ensures: every live value has a type, a known shape and a node that makes it. */
#include <string.h>

#include "base/limits.h"
#include "eval/fold.h"
#include "ops/dynamic.h"
#include "ops/infer.h"
#include "ops/ops.h"
#include "ops/parts.h"
#include "ops/sequence.h"
#include "passes/passes.h"

static int64_t version_of(const Node *node)
{
    const int64_t version =
        node->version ? node->version : graph_opset(node->graph, node->domain);
    const bool single = !strcmp(node->domain, "inlay") ||
                        !strcmp(node->domain, "com.microsoft");
    return !version && single ? 1 : version;
}

static bool find_row(Node *node)
{
    if (!strcmp(node->domain, "ai.onnx"))
        node->domain = "";
    node->op = op_find(node->domain, node->op_type, version_of(node));
    return node->op != NULL;
}

bool resolve_node(Node *node)
{
    if (find_row(node))
        return op_check(node);
    op_report_unknown(node, 0);
    return false;
}

/* An operator that has no row. */
typedef struct Unknown {
    const Node *first;
    int more;
} Unknown;

static void count_unknown(Map *unknown, const Node *node)
{
    Arena *arena = unknown->arena;
    const char *kind =
        arena_printf(arena, "%s %s", node->domain, node->op_type);
    Unknown *known = map_get(unknown, kind);
    if (known) {
        known->more++;
        return;
    }
    known = NEW(arena, Unknown);
    known->first = node;
    map_put(unknown, kind, known);
}

static void resolve_graph(Graph *graph, Map *unknown)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *node = graph->node.at[i];
        if (!find_row(node))
            count_unknown(unknown, node);
        else if (op_check(node) && op_check_given(node))
            op_check_attributes(node);
    }
}

/* All unsupported operators and attributes are reported at once, before anything is computed. */
static void resolve_all(Graph *root)
{
    Arena *scratch = &root->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Map unknown = map_new(scratch);
    for (size_t k = 0; k < root->all.n; k++)
        if (!graph_gone(root->all.at[k]))
            resolve_graph(root->all.at[k], &unknown);
    for (size_t i = 0; i < unknown.entry.n; i++) {
        const Unknown *kind = unknown.entry.at[i].value;
        op_report_unknown(kind->first, kind->more);
    }
    fail_if_errors();
    arena_release(scratch, mark);
}

static bool constant_inputs(const Node *node)
{
    if (node->op->flags & OP_SHAPE_ONLY)
        return true;
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && !node->in[i]->value)
            return false;
    return true;
}

/* A node whose results are constants now leaves the graph. */
static void retire(Node *node)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && !node->out[i]->value)
            return;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            node->out[i]->folded = node;
    graph_kill(node);
}

/* Kernels take codes once lowering has made integers of them. */
static bool has_words(const Node *node)
{
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && node->in[i]->dtype == DT_STRING)
            return true;
    return node->out[0] && node->out[0]->dtype == DT_STRING;
}

/* Is one of its results to be computed when the model runs? */
static bool is_kept(const Node *node)
{
    const Map *kept = graph_root(node->graph)->kept;
    for (int i = 0; kept && i < node->n_out; i++)
        if (node->out[i] && map_get(kept, node->out[i]->name))
            return true;
    return false;
}

static void fold(Node *node)
{
    if (node->op->flags & (OP_NOT_CONSTANT | OP_CONTROL | OP_LOOKS) ||
        !constant_inputs(node) || is_kept(node))
        return;
    Recipe *recipe = node->n_out == 1 && node->op->constant
                         ? node->op->constant(node)
                         : NULL;
    if (recipe)
        node->out[0]->value = recipe;
    else if (has_words(node) || !fold_node(node))
        return;
    retire(node);
}

/* Sizes known at run time only travel with the shapes while these are inferred. */
static void infer_one(Node *node)
{
    const bool first = graph_root(node->graph)->infer != NULL;
    diag_work(node_loc(node));
    if (first && (dynamic_shape(node) || part_of_list(node)))
        return;
    node->op->infer(node);
    if (first && !node->dead)
        dynamic_results(node);
    if (!node->dead)
        fold(node);
}

void infer_node(Node *node)
{
    if (!resolve_node(node))
        fail_if_errors();
    infer_one(node);
}

/* Of all graphs; what is more would take more memory than the file gives reason for. */
static void check_bodies(const Node *node, int n)
{
    if (n > LIMIT_BODIES)
        fail_node(
            node, STATUS_UNSUPPORTED, NULL,
            "the model has more than %d nodes with bodies: If, Loop, Scan",
            LIMIT_BODIES);
}

static void count_bodies(const Graph *root)
{
    const Node *last = NULL;
    int n = 0;
    for (size_t k = 1; k < root->all.n; k++) {
        const Graph *graph = root->all.at[k];
        if (graph_gone(graph) || graph->holder == last)
            continue;
        last = graph->holder;
        n++;
        check_bodies(last, n);
    }
}

void infer_graph(Graph *graph)
{
    const size_t count =
        graph->node.n; /* nodes that an infer function adds it infers itself */
    int bodies = 0;
    for (size_t i = 0; i < count; i++) {
        Node *n = graph->node.at[i];
        if (!n->op && !resolve_node(n))
            fail_if_errors();
        infer_one(n);
        bodies += !n->dead && n->op->flags & OP_CONTROL;
        check_bodies(n, bodies);
    }
    graph_compact(graph);
}

static bool is_view(const Node *node)
{
    return node && node->op && node->op->flags & OP_VIEW;
}

/* What integers stand for, through views of them. */
static const IntegerScale *meaning_of(const Tensor *tensor)
{
    const Tensor *made = tensor;
    const Tensor *read = tensor;
    while (!made->numbers && is_view(made->producer))
        made = made->producer->in[0];
    while (!read->numbers && read->use && is_view(read->use->node) &&
           read->use->operand == 0)
        read = read->use->node->out[0];
    return made->numbers ? made->numbers : read->numbers;
}

/* Of n inputs or results of the model, what their integers stand for. */
static const IntegerScale *const *numbers_of(Graph *graph,
                                             Tensor *const *tensor, size_t n)
{
    const IntegerScale **numbers =
        NEW_ARRAY(graph->arena, const IntegerScale *, n);
    for (size_t i = 0; i < n; i++)
        numbers[i] = meaning_of(tensor[i]);
    return numbers;
}

static void note_made(const Graph *graph, bool *made)
{
    for (size_t i = 0; i < graph->input.n; i++)
        made[graph->input.at[i]->id] = true;
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *node = graph->node.at[i];
        for (int k = 0; k < node->n_out && !node->dead; k++)
            if (node->out[k])
                made[node->out[k]->id] = true;
    }
}

static void need_made(const Graph *graph, const bool *made)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *node = graph->node.at[i];
        for (int k = 0; k < node->n_in && !node->dead; k++) {
            const Tensor *in = node->in[k];
            if (in && !in->value && !in->sequence && !made[in->id])
                fail_node(node, STATUS_INTERNAL,
                          "please report this model: it is a bug of Inlay, "
                          "not of the model",
                          "nothing makes its operand \"%s\"", in->name);
        }
    }
}

/* What is put together in place of nodes has lost none of what others read. */
static void check_made(Graph *graph)
{
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    bool *made = NEW_ARRAY(scratch, bool, graph->next_id);
    for (size_t k = 0; k < graph->all.n; k++)
        if (!graph_gone(graph->all.at[k]))
            note_made(graph->all.at[k], made);
    for (size_t k = 0; k < graph->all.n; k++)
        if (!graph_gone(graph->all.at[k]))
            need_made(graph->all.at[k], made);
    arena_release(scratch, mark);
}

void pass_infer(Graph *graph)
{
    graph->infer = infer_graph;
    graph->infer_node = infer_node;
    resolve_all(graph);
    const Inquiry *inquiry = asked_inputs(graph);
    declare_backwards(graph);
    infer_graph(graph);
    count_bodies(graph);
    if (inquiry)
        asked_check(inquiry);
    declare_check(graph);
    sequence_outputs(graph);
    dynamic_outputs(graph);
    graph->infer = NULL;
    graph_count_uses(graph);
    check_made(graph);
    graph->in_numbers = numbers_of(graph, graph->input.at, graph->input.n);
    graph->out_numbers = numbers_of(graph, graph->output.at, graph->output.n);
    for (size_t k = graph->all.n; k-- > 0;)
        if (!graph_gone(graph->all.at[k]))
            graph_sort(graph->all.at[k]);
}
