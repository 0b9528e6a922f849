/* SPDX-License-Identifier: Apache-2.0
 * An image that is flattened in ONNX's order for a MatMul or Gemm need not be transposed back: the
 * rows of the constant weights are permuted instead, once, while they are written. Requires: layout
 * done. Ensures: same results. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* The Transpose behind a reshape that flattens everything but the first dimension; NULL: not that.
 */
static Node *transpose_behind(const Tensor *flat)
{
    const Node *reshape = flat->value ? NULL : flat->producer;
    if (!reshape || reshape->dead ||
        !(node_is(reshape, "Reshape") || node_is(reshape, "Flatten")))
        return NULL;
    Tensor *image = reshape->in[0];
    Node *t = image->value ? NULL : image->producer;
    if (!t || t->dead || !node_is(t, "Transpose"))
        return NULL;
    if (flat->shape.rank != 2 || image->shape.rank < 3)
        return NULL;
    return flat->shape.dim[0] == image->shape.dim[0] ? t : NULL;
}

static bool takes_rows(const Node *node)
{
    if (!node_is(node, "MatMul") && !node_is(node, "Gemm"))
        return false;
    return !node_int(node, "transA", 0) && node->in[1]->value &&
           node->in[1]->shape.rank == 2;
}

/* Weights whose axis `rows` counts y = Transpose(x, perm) flattened, made to count x flattened. */
static Recipe *permute_rows(Store *store, const Tensor *w, int rows,
                            const Shape *y, const int64_t *perm)
{
    const int rank = y->rank;
    const int first = rows ? 1 : 0;
    const int columns = rows ? 0 : rank - 1; /* their axis once y is split */
    int64_t dims[MAX_RANK + 1];
    int order[MAX_RANK + 1];
    for (int i = 1; i < rank; i++) {
        dims[first + i - 1] = y->dim[i];
        order[first + (int)perm[i] - 1] = first + i - 1;
    }
    dims[columns] = w->shape.dim[1 - rows];
    order[columns] = columns;
    const Recipe *split = recipe_reshape(store, w->value, rank, dims);
    const Recipe *turned = recipe_transpose(store, split, order);
    return recipe_reshape(store, turned, 2, w->shape.dim);
}

static void fuse(Graph *graph, Node *node)
{
    const Node *t = transpose_behind(node->in[0]);
    int64_t count;
    const int64_t *perm = t ? node_ints(t, "perm", &count) : NULL;
    if (!perm || perm[0] != 0)
        return;
    const int rows = node_int(node, "transB", 0) != 0;
    const Shape *image = &t->out[0]->shape;
    Tensor **in = node_copy_inputs(node);
    in[0] = insert_reshape(graph, node, t->in[0], &in[0]->shape);
    Recipe *weights = permute_rows(graph->store, in[1], rows, image, perm);
    in[1] = graph_add_constant(graph, NULL, weights);
    node_set_inputs(node, node->n_in, in);
}

void pass_fuse_flatten(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++)
        if (takes_rows(graph->node.at[i]))
            fuse(graph, graph->node.at[i]);
    graph_sort(graph);
}
