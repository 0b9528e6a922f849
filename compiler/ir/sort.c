/* SPDX-License-Identifier: Apache-2.0
 * Execution order of a graph's nodes: file order wherever operands allow it. */
#include <limits.h>
#include <string.h>

#include "ir/graph.h"

/* A binary heap of list positions: ready nodes leave it in file order (Node.index), then in list
 * order. */
typedef struct Ready {
    Node *const *node;
    int *at;
    int n;
} Ready;

static bool earlier(const Ready *ready, int a, int b)
{
    const int first = ready->node[a]->index;
    const int second = ready->node[b]->index;
    return first != second ? first < second : a < b;
}

static void ready_push(Ready *ready, int position)
{
    int i = ready->n++;
    while (i) {
        const int above = (i - 1) / 2;
        if (!earlier(ready, position, ready->at[above]))
            break;
        ready->at[i] = ready->at[above];
        i = above;
    }
    ready->at[i] = position;
}

/* The earlier child of entry i; the heap's size where it has none. */
static int earlier_child(const Ready *ready, int i)
{
    const int left = 2 * i + 1;
    const int right = left + 1;
    if (left >= ready->n)
        return ready->n;
    if (right < ready->n && earlier(ready, ready->at[right], ready->at[left]))
        return right;
    return left;
}

static int ready_pop(Ready *ready)
{
    const int top = ready->at[0];
    const int last = ready->at[--ready->n];
    int i = 0;
    for (;;) {
        const int child = earlier_child(ready, i);
        if (child == ready->n || !earlier(ready, ready->at[child], last))
            break;
        ready->at[i] = ready->at[child];
        i = child;
    }
    ready->at[i] = last;
    return top;
}

typedef struct Edge {
    int to, next;
} Edge;

typedef struct Sorter {
    Graph *graph;
    int *waiting; /* operands of a node not yet made */
    int *first;   /* edges of a node: who waits for it */
    VEC(Edge) edge;
    VEC(const Node *) todo; /* whose subgraphs are to be walked */
} Sorter;

static void add_edge(Sorter *sorter, const Tensor *tensor, int to)
{
    const Node *producer = tensor ? tensor->producer : NULL;
    if (!producer || producer->graph != sorter->graph || producer->dead)
        return;
    const int from = producer->order;
    const Edge edge = { .to = to, .next = sorter->first[from] };
    VEC_PUSH(&sorter->graph->store->scratch, &sorter->edge, edge);
    sorter->first[from] = (int)sorter->edge.n - 1;
    sorter->waiting[to]++;
}

static void add_operands(Sorter *sorter, const Node *node, int to)
{
    for (int i = 0; i < node->n_in; i++)
        add_edge(sorter, node->in[i], to);
}

static void add_captures(Sorter *sorter, const Graph *sub, int to)
{
    for (size_t i = 0; i < sub->node.n; i++)
        add_operands(sorter, sub->node.at[i], to);
    for (size_t i = 0; i < sub->output.n; i++)
        add_edge(sorter, sub->output.at[i], to);
}

static void add_attributes(Sorter *sorter, const Node *node, int to)
{
    for (int i = 0; i < node->n_attr; i++) {
        const Graph *sub = node->attr[i].graph;
        if (!sub)
            continue;
        add_captures(sorter, sub, to);
        for (size_t k = 0; k < sub->node.n; k++)
            VEC_PUSH(&sorter->graph->store->scratch, &sorter->todo,
                     sub->node.at[k]);
    }
}

/* What the subgraphs of a node capture, and theirs, counts as its operands. */
static void add_bodies(Sorter *sorter, const Node *node, int to)
{
    add_attributes(sorter, node, to);
    while (sorter->todo.n)
        add_attributes(sorter, sorter->todo.at[--sorter->todo.n], to);
}

static void add_edges(Sorter *sorter)
{
    const Graph *graph = sorter->graph;
    for (size_t i = 0; i < graph->node.n; i++) {
        add_operands(sorter, graph->node.at[i], (int)i);
        add_bodies(sorter, graph->node.at[i], (int)i);
    }
}

static _Noreturn void fail_cycle(const Sorter *sorter)
{
    for (size_t i = 0; i < sorter->graph->node.n; i++)
        if (sorter->waiting[i] > 0) {
            error_at(
                STATUS_MALFORMED, node_loc(sorter->graph->node.at[i]), NULL,
                "lies on a cycle or behind one: it waits for its own result");
            if (diag_now && diag_now->errors >= 10)
                break;
        }
    fail_now(STATUS_MALFORMED);
}

static void number_nodes(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++)
        graph->node.at[i]->order = (int)i;
}

static Sorter sorter_new(Graph *graph)
{
    Arena *arena = &graph->store->scratch;
    const size_t room = graph->node.n + 1;
    Sorter sorter = {
        .graph = graph,
        .waiting = NEW_ARRAY(arena, int, room),
        .first = NEW_ARRAY(arena, int, room),
    };
    for (size_t i = 0; i < graph->node.n; i++)
        sorter.first[i] = -1;
    number_nodes(graph);
    add_edges(&sorter);
    return sorter;
}

/* The node is done: what waited for it alone is ready. */
static void release(Sorter *sorter, Ready *ready, int done)
{
    for (int e = sorter->first[done]; e >= 0;) {
        const Edge *edge = sorter->edge.at + e;
        if (!--sorter->waiting[edge->to])
            ready_push(ready, edge->to);
        e = edge->next;
    }
}

/* Writes the nodes in their order; returns how many of them do not wait for themselves. */
static size_t run(Sorter *sorter, Node **list)
{
    Graph *graph = sorter->graph;
    Ready ready = {
        .node = graph->node.at,
        .at = NEW_ARRAY(&graph->store->scratch, int, graph->node.n + 1),
    };
    for (size_t i = 0; i < graph->node.n; i++)
        if (!sorter->waiting[i])
            ready_push(&ready, (int)i);
    size_t done = 0;
    while (ready.n) {
        const int next = ready_pop(&ready);
        list[done++] = graph->node.at[next];
        release(sorter, &ready, next);
    }
    return done;
}

/* Is what the tensor holds made before node n, if in this graph? */
static bool is_before(const Graph *graph, const Tensor *tensor, int n)
{
    const Node *producer = tensor ? tensor->producer : NULL;
    return !producer || producer->graph != graph || producer->dead ||
           producer->order < n;
}

/* Do the nodes stand in file order, each behind all that it needs? Then they stay: mostly a pass
 * leaves them so. What subgraphs capture is not looked at. */
static bool is_sorted(Graph *graph)
{
    if (graph_root(graph)->all.n > 1)
        return false;
    number_nodes(graph);
    int index = INT_MIN;
    for (size_t k = 0; k < graph->node.n; k++) {
        const Node *node = graph->node.at[k];
        if (node->index < index)
            return false;
        index = node->index;
        for (int i = 0; i < node->n_in; i++)
            if (!is_before(graph, node->in[i], (int)k))
                return false;
    }
    return true;
}

void graph_sort(Graph *graph)
{
    Arena *arena = &graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    graph_compact(graph);
    if (is_sorted(graph)) {
        arena_release(arena, mark);
        return;
    }
    const size_t n = graph->node.n;
    Sorter sorter = sorter_new(graph);
    Node **list = NEW_ARRAY(arena, Node *, n + 1);
    if (run(&sorter, list) < n)
        fail_cycle(&sorter);
    if (n)
        memcpy(graph->node.at, list, n * sizeof *list);
    number_nodes(graph);
    arena_release(arena, mark);
}
