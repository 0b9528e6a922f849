/* SPDX-License-Identifier: Apache-2.0
 * An image that is flattened in ONNX's order for a MatMul or Gemm need not be transposed back: the
 * rows of the constant weights are permuted instead, once, while they are written. Requires: layout
 * done. Ensures: same results. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* The live node that makes a tensor; NULL: none. */
static Node *maker(const Tensor *tensor)
{
    Node *node = tensor->value ? NULL : tensor->producer;
    return node && !node->dead ? node : NULL;
}

/* The Transpose behind a reshape that flattens everything but the first dimension; NULL: not that.
 */
static Node *transpose_behind(const Tensor *flat)
{
    const Node *reshape = maker(flat);
    if (!reshape)
        return NULL;
    if (!node_is(reshape, "Reshape") && !node_is(reshape, "Flatten"))
        return NULL;
    const Tensor *image = reshape->in[0];
    Node *transpose = maker(image);
    if (!transpose || !node_is(transpose, "Transpose"))
        return NULL;
    if (flat->shape.rank != 2 || image->shape.rank < 3)
        return NULL;
    const bool same_first = flat->shape.dim[0] == image->shape.dim[0];
    return same_first ? transpose : NULL;
}

static bool takes_rows(const Node *node)
{
    if (!node_is(node, "MatMul") && !node_is(node, "Gemm"))
        return false;
    const Tensor *weights = node->in[1];
    return !node_int(node, "transA", 0) && weights->value &&
           weights->shape.rank == 2;
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
        const int from = first + i - 1;
        const int to = first + (int)perm[i] - 1;
        dims[from] = y->dim[i];
        order[to] = from;
    }
    dims[columns] = w->shape.dim[1 - rows];
    order[columns] = columns;
    const Recipe *split = recipe_reshape(store, w->value, rank, dims);
    const Recipe *turned = recipe_transpose(store, split, order);
    return recipe_reshape(store, turned, 2, w->shape.dim);
}

static void fuse(Graph *graph, Node *node)
{
    const Node *transpose = transpose_behind(node->in[0]);
    int64_t count;
    if (!transpose)
        return;
    const int64_t *perm = node_ints(transpose, "perm", &count);
    if (!perm || perm[0] != 0)
        return;
    const int rows = node_flag(node, "transB", false);
    const Shape *image = result_shape(transpose, 0);
    Tensor *nhwc = transpose->in[0];
    Tensor **in = node_copy_inputs(node);
    in[0] = insert_reshape(graph, node, nhwc, &in[0]->shape);
    Recipe *weights = permute_rows(graph->store, in[1], rows, image, perm);
    in[1] = graph_add_constant(graph, NULL, weights);
    node_set_inputs(node, node->n_in, in);
}

void pass_fuse_flatten(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        if (takes_rows(node))
            fuse(graph, node);
    }
    graph_sort(graph);
}
