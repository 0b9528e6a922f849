/* SPDX-License-Identifier: Apache-2.0
 * Execution order of a graph's nodes: file order wherever operands allow it. */
#include <string.h>

#include "ir/graph.h"

/* A binary heap of list positions: ready nodes leave it in file order (Node.index), then in list
 * order. */
typedef struct Ready {
    Node *const *node;
    int *at;
    int n;
} Ready;

static bool earlier(const Ready *h, int a, int b)
{
    const int ia = h->node[a]->index;
    const int ib = h->node[b]->index;
    return ia != ib ? ia < ib : a < b;
}

static void ready_push(Ready *h, int v)
{
    int i = h->n++;
    for (; i && earlier(h, v, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = v;
}

static int ready_pop(Ready *h)
{
    const int top = h->at[0];
    const int last = h->at[--h->n];
    int i = 0;
    for (int k; (k = 2 * i + 1) < h->n; i = k) {
        if (k + 1 < h->n && earlier(h, h->at[k + 1], h->at[k]))
            k++;
        if (!earlier(h, h->at[k], last))
            break;
        h->at[i] = h->at[k];
    }
    h->at[i] = last;
    return top;
}

typedef struct Edge {
    int to, next;
} Edge;

typedef struct Sorter {
    Graph *g;
    int *waiting; /* operands of a node not yet made */
    int *first;   /* edges of a node: who waits for it */
    VEC(Edge) edge;
} Sorter;

/* The graphs whose captured operands count as operands of node n: its attributes' graphs and
 * theirs. */
static bool inside(const Graph *graph, const Graph *outer)
{
    for (; graph; graph = graph->parent)
        if (graph == outer)
            return true;
    return false;
}

static void add_edge(Sorter *sorter, const Tensor *tensor, int to)
{
    if (!tensor || !tensor->producer || tensor->producer->graph != sorter->g ||
        tensor->producer->dead)
        return;
    const int from = tensor->producer->order;
    VEC_PUSH(&sorter->g->store->scratch, &sorter->edge, ((Edge){ to, sorter->first[from] }));
    sorter->first[from] = (int)sorter->edge.n - 1;
    sorter->waiting[to]++;
}

static void add_captures(Sorter *sorter, const Graph *sub, int to)
{
    for (size_t i = 0; i < sub->node.n; i++)
        for (int k = 0; k < sub->node.at[i]->n_in; k++)
            add_edge(sorter, sub->node.at[i]->in[k], to);
    for (size_t i = 0; i < sub->output.n; i++)
        add_edge(sorter, sub->output.at[i], to);
}

/* The node of s->g that holds the subgraph sub, directly or nested. */
static const Node *holder(const Graph *sub, const Graph *outer)
{
    while (sub->parent != outer)
        sub = sub->parent;
    return sub->holder;
}

static void add_edges(Sorter *sorter)
{
    Graph *graph = sorter->g;
    Graph *root = graph_root(graph);
    for (size_t i = 0; i < graph->node.n; i++)
        for (int k = 0; k < graph->node.at[i]->n_in; k++)
            add_edge(sorter, graph->node.at[i]->in[k], (int)i);
    for (size_t k = 0; k < root->all.n; k++) {
        const Graph *sub = root->all.at[k];
        if (sub == graph || !inside(sub, graph))
            continue;
        const Node *n = holder(sub, graph);
        if (n && !n->dead)
            add_captures(sorter, sub, n->order);
    }
}

static _Noreturn void fail_cycle(const Sorter *sorter)
{
    for (size_t i = 0; i < sorter->g->node.n; i++)
        if (sorter->waiting[i] > 0) {
            error_at(STATUS_MALFORMED, node_loc(sorter->g->node.at[i]), NULL,
                     "lies on a cycle or behind one: it waits for its own result");
            if (diag_now && diag_now->errors >= 10)
                break;
        }
    fail_now(STATUS_MALFORMED);
}

void graph_sort(Graph *graph)
{
    Arena *arena = &graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    graph_compact(graph);
    const size_t n = graph->node.n;
    Sorter sorter = { .g = graph,
                      .waiting = NEW_ARRAY(arena, int, n + 1),
                      .first = NEW_ARRAY(arena, int, n + 1) };
    for (size_t i = 0; i < n; i++) {
        graph->node.at[i]->order = (int)i;
        sorter.first[i] = -1;
    }
    add_edges(&sorter);
    Ready ready = { .node = graph->node.at, .at = NEW_ARRAY(arena, int, n + 1) };
    for (size_t i = 0; i < n; i++)
        if (!sorter.waiting[i])
            ready_push(&ready, (int)i);
    Node **list = NEW_ARRAY(arena, Node *, n + 1);
    size_t done = 0;
    while (ready.n) {
        const int i = ready_pop(&ready);
        list[done++] = graph->node.at[i];
        for (int e = sorter.first[i]; e >= 0; e = sorter.edge.at[e].next)
            if (!--sorter.waiting[sorter.edge.at[e].to])
                ready_push(&ready, sorter.edge.at[e].to);
    }
    if (done < n)
        fail_cycle(&sorter);
    if (n)
        memcpy(graph->node.at, list, n * sizeof *list);
    for (size_t i = 0; i < n; i++)
        graph->node.at[i]->order = (int)i;
    arena_release(arena, mark);
}
