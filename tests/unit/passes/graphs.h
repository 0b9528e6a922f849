/* SPDX-License-Identifier: Apache-2.0
 * Small graphs for the tests of passes/: written operator by operator, inferred, then counted. */
#ifndef TEST_GRAPHS_H
#define TEST_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/ops.h"
#include "passes/passes.h"

typedef struct World {
    Arena arena;
    Store store;
    Graph *graph;
} World;

static inline void world_open(World *w)
{
    memset(w, 0, sizeof *w);
    w->store = (Store){ .arena = &w->arena, .window = 1 << 16 };
    w->graph = graph_new(&w->arena, &w->store, "test", NULL);
    VEC_PUSH(&w->arena, &w->graph->opset, ((Opset){ "", 21 }));
}

static inline void world_close(World *w)
{
    arena_free(&w->store.scratch);
    arena_free(&w->arena);
}

static inline Tensor *input(World *w, int rank, const int64_t *dims)
{
    Tensor *t = graph_add_tensor(w->graph, NULL, DT_F32, shape_of(rank, dims));
    VEC_PUSH(&w->arena, &w->graph->input, t);
    return t;
}

static inline Tensor *image(World *w, int64_t channels, int64_t height,
                            int64_t width)
{
    const int64_t dims[] = { 1, channels, height, width };
    return input(w, 4, dims);
}

static inline Tensor *scalar(World *w, float v)
{
    return graph_add_constant(w->graph, NULL,
                              recipe_memory(&w->store, DT_F32, 0, NULL, &v));
}

/* A constant of 1, 2, 3 ... */
static inline Tensor *counting(World *w, int rank, const int64_t *dims)
{
    const Shape s = shape_of(rank, dims);
    const int64_t n = shape_count(&s);
    float *v = NEW_ARRAY(&w->arena, float, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(i + 1);
    return graph_add_constant(w->graph, NULL,
                              recipe_memory(&w->store, DT_F32, rank, dims, v));
}

static inline Tensor *ints(World *w, int64_t n, const int64_t *v)
{
    return graph_add_ints(w->graph, NULL, n, v);
}

static inline Tensor *op(World *w, const char *name, Tensor *a, Tensor *b,
                         Tensor *c)
{
    Tensor *in[3] = { a, b, c },
           *out =
               graph_add_tensor(w->graph, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *n = graph_add_node(w->graph, "", name,
                             c   ? 3
                             : b ? 2
                                 : 1,
                             in, 1, &out);
    n->index = (int)w->graph->node.n;
    return out;
}

static inline Tensor *unary(World *w, const char *name, Tensor *a)
{
    return op(w, name, a, NULL, NULL);
}
static inline Tensor *binary(World *w, const char *name, Tensor *a, Tensor *b)
{
    return op(w, name, a, b, NULL);
}

static inline Tensor *transpose(World *w, Tensor *t, int rank,
                                const int64_t *perm)
{
    Tensor *y = unary(w, "Transpose", t);
    node_set_ints(y->producer, "perm", rank, perm);
    return y;
}

static inline Tensor *reduce_mean(World *w, Tensor *t, int64_t axis)
{
    return binary(w, "ReduceMean", t, ints(w, 1, &axis));
}

/* y is the result; shapes and uses are made. */
static inline void finish(World *w, Tensor *y)
{
    VEC_PUSH(&w->arena, &w->graph->output, y);
    graph_count_uses(w->graph);
    graph_sort(w->graph);
    pass_infer(w->graph);
}

static inline int count_op(const World *w, const char *name)
{
    int n = 0;
    for (size_t i = 0; i < w->graph->node.n; i++)
        n += !w->graph->node.at[i]->dead && node_is(w->graph->node.at[i], name);
    return n;
}

static inline int count_nodes(const World *w)
{
    int n = 0;
    for (size_t i = 0; i < w->graph->node.n; i++)
        n += !w->graph->node.at[i]->dead;
    return n;
}

/* The only node, which must be of that operator. */
static inline Node *only(const World *w, const char *name)
{
    if (count_nodes(w) != 1 || !node_is(w->graph->node.at[0], name))
        fail_msg("%d nodes, the first %s: not one %s", count_nodes(w),
                 w->graph->node.at[0]->op_type, name);
    return w->graph->node.at[0];
}

#endif
