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
    const int ia = h->node[a]->index, ib = h->node[b]->index;
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
    const int top = h->at[0], last = h->at[--h->n];
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
static bool inside(const Graph *g, const Graph *outer)
{
    for (; g; g = g->parent)
        if (g == outer)
            return true;
    return false;
}

static void add_edge(Sorter *s, const Tensor *t, int to)
{
    if (!t || !t->producer || t->producer->graph != s->g || t->producer->dead)
        return;
    const int from = t->producer->order;
    VEC_PUSH(&s->g->store->scratch, &s->edge, ((Edge){ to, s->first[from] }));
    s->first[from] = (int)s->edge.n - 1;
    s->waiting[to]++;
}

static void add_captures(Sorter *s, const Graph *sub, int to)
{
    for (size_t i = 0; i < sub->node.n; i++)
        for (int k = 0; k < sub->node.at[i]->n_in; k++)
            add_edge(s, sub->node.at[i]->in[k], to);
    for (size_t i = 0; i < sub->output.n; i++)
        add_edge(s, sub->output.at[i], to);
}

/* The node of s->g that holds the subgraph sub, directly or nested. */
static const Node *holder(const Graph *sub, const Graph *outer)
{
    while (sub->parent != outer)
        sub = sub->parent;
    return sub->holder;
}

static void add_edges(Sorter *s)
{
    Graph *g = s->g, *root = graph_root(g);
    for (size_t i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->n_in; k++)
            add_edge(s, g->node.at[i]->in[k], (int)i);
    for (size_t k = 0; k < root->all.n; k++) {
        const Graph *sub = root->all.at[k];
        if (sub == g || !inside(sub, g))
            continue;
        const Node *n = holder(sub, g);
        if (n && !n->dead)
            add_captures(s, sub, n->order);
    }
}

static _Noreturn void fail_cycle(const Sorter *s)
{
    for (size_t i = 0; i < s->g->node.n; i++)
        if (s->waiting[i] > 0) {
            error_at(STATUS_MALFORMED, node_loc(s->g->node.at[i]), NULL,
                     "lies on a cycle or behind one: it waits for its own result");
            if (diag_now && diag_now->errors >= 10)
                break;
        }
    fail_now(STATUS_MALFORMED);
}

void graph_sort(Graph *g)
{
    Arena *a = &g->store->scratch;
    const ArenaMark mark = arena_mark(a);
    graph_compact(g);
    const size_t n = g->node.n;
    Sorter s = { .g = g, .waiting = NEW_ARRAY(a, int, n + 1), .first = NEW_ARRAY(a, int, n + 1) };
    for (size_t i = 0; i < n; i++) {
        g->node.at[i]->order = (int)i;
        s.first[i] = -1;
    }
    add_edges(&s);
    Ready ready = { .node = g->node.at, .at = NEW_ARRAY(a, int, n + 1) };
    for (size_t i = 0; i < n; i++)
        if (!s.waiting[i])
            ready_push(&ready, (int)i);
    Node **list = NEW_ARRAY(a, Node *, n + 1);
    size_t done = 0;
    while (ready.n) {
        const int i = ready_pop(&ready);
        list[done++] = g->node.at[i];
        for (int e = s.first[i]; e >= 0; e = s.edge.at[e].next)
            if (!--s.waiting[s.edge.at[e].to])
                ready_push(&ready, s.edge.at[e].to);
    }
    if (done < n)
        fail_cycle(&s);
    if (n)
        memcpy(g->node.at, list, n * sizeof *list);
    for (size_t i = 0; i < n; i++)
        g->node.at[i]->order = (int)i;
    arena_release(a, mark);
}
