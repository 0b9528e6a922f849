/* SPDX-License-Identifier: Apache-2.0
 * What is made of sizes known only at run time before a node's infer function asks for its shape:
 * repeated over them, joined along them, selected from what has them. */
#include <string.h>

#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"

/* The tensor whose real dimensions all are what operand i gives; NULL: none. */
static Tensor *sized_like(const Node *node, int i)
{
    const Tensor *sizes = node_in(node, i);
    return sizes ? sizes->sizes_of : NULL;
}

/* x is repeated over the sizes of `like`: an elementwise operator does that over the bound, and
 * whatever the elements of `like` are, x is chosen. */
static void replace_repeated(Node *node, Tensor *x, Tensor *like)
{
    Tensor *any = expand_cast(node, like, DT_BOOL);
    expand_finish_one(node, expand_where(node, any, x, x));
}

/* ConstantOfShape and Expand to the sizes of another tensor. */
static bool dynamic_repeated(Node *node)
{
    const bool constant = node_is(node, "ConstantOfShape");
    if (!constant && !node_is(node, "Expand"))
        return false;
    Tensor *like = sized_like(node, constant ? 0 : 1);
    if (!like || like->dtype == DT_STRING)
        return false;
    Tensor *x = node->in[0];
    if (constant)
        x = graph_add_constant(node->graph, NULL, infer_fill(node));
    replace_repeated(node, x, like);
    return true;
}

/* Does Concat join sizes known only at run time, and nothing else that is so? */
static bool joins_dynamic(const Node *node, int *axis)
{
    unsigned dynamic = 0;
    for (int i = 0; i < node->n_in; i++) {
        const Tensor *tensor = node->in[i];
        if (!tensor || !shape_known(&tensor->shape))
            return false;
        dynamic |= tensor->dynamic;
    }
    if (!dynamic || !node_is(node, "Concat"))
        return false;
    *axis = infer_axis(node, -1, node->in[0]->shape.rank);
    return dynamic == 1u << *axis;
}

int dynamic_joined(const Node *at, int n, const int64_t *part, int fresh)
{
    Graph *root = graph_root(at->graph);
    const size_t bytes = (size_t)n * sizeof *part;
    for (size_t i = 0; i < root->joined.n; i++) {
        const JoinedSize *known = root->joined.at + i;
        if (known->n != n)
            continue;
        if (!memcmp(known->part, part, bytes))
            return known->id;
    }
    int64_t *own = NEW_ARRAY(root->arena, int64_t, n);
    memcpy(own, part, bytes);
    const JoinedSize joined = { n, own, fresh };
    VEC_PUSH(root->arena, &root->joined, joined);
    return fresh;
}

/* The number of the size that the operands' come to. */
static int joined_id(const Node *node, int axis, int fresh)
{
    int64_t *part = NEW_ARRAY(node->graph->arena, int64_t, node->n_in);
    for (int i = 0; i < node->n_in; i++) {
        const Tensor *tensor = node->in[i];
        part[i] = tensor->shape.dim[axis];
        if (tensor->dynamic)
            part[i] = -1 - (int64_t)tensor->size_id[axis];
    }
    return dynamic_joined(node, node->n_in, part, fresh);
}

/* As many tensors as node has operands, joined. */
static Tensor *concat_of(const Node *node, Tensor *const *part, int axis)
{
    Node *made = expand_node(node, "Concat", node->n_in, part, 1);
    node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* The bounds joined, and of these the elements taken. */
static Tensor *joined(Node *node, int axis)
{
    Tensor **part = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    Tensor **mask = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    for (int i = 0; i < node->n_in; i++) {
        Tensor *tensor = node->in[i];
        mask[i] = dynamic_elements(node, tensor, axis);
        part[i] = tensor;
        if (tensor->dynamic)
            part[i] = dynamic_settled(node, "ClearRest", tensor);
    }
    Tensor *all = concat_of(node, part, axis);
    Tensor *elements = concat_of(node, mask, 0);
    Node *made = expand_of(node, "Compress", all, elements);
    node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* Concat along an axis of sizes known only at run time; of one operand that one. */
static bool concat_dynamic(Node *node)
{
    int axis;
    Tensor *result;
    if (!joins_dynamic(node, &axis))
        return false;
    if (node->n_in == 1) {
        result = expand_unary(node, "Identity", node->in[0]);
    } else {
        result = joined(node, axis);
        const int fresh = result->size_id[axis];
        tensor_size_ids(result)[axis] = joined_id(node, axis, fresh);
    }
    expand_finish_one(node, result);
    return true;
}

/* Is it a Compress of such a size, along the axis or by its mask, that one mask can tell? */
static bool selects_dynamic(const Node *node)
{
    if (!node_is(node, "Compress"))
        return false;
    const Tensor *x = node->in[0];
    const Tensor *mask = node->in[1];
    if (mask->shape.rank != 1)
        return false;
    if (!x->dynamic)
        return mask->dynamic != 0;
    const int rank = x->shape.rank;
    const int axis = infer_axis(node, 0, rank);
    if (!node_attr(node, "axis") && rank > 1)
        return false;
    return x->dynamic == 1u << axis && mask->shape.dim[0] == x->shape.dim[axis];
}

static Tensor *cleared(const Node *node, Tensor *tensor)
{
    if (!tensor->dynamic)
        return tensor;
    return dynamic_settled(node, "ClearRest", tensor);
}

/* What is not there selects nothing, and is not selected. */
static bool compress_dynamic(Node *node)
{
    if (!selects_dynamic(node))
        return false;
    const Tensor *x = node->in[0];
    Tensor *mask = cleared(node, node->in[1]);
    if (x->dynamic) {
        const int axis = infer_axis(node, 0, x->shape.rank);
        Tensor *there = dynamic_elements(node, x, axis);
        mask = expand_binary(node, "And", mask, there);
    }
    Tensor *all = cleared(node, node->in[0]);
    Node *made = expand_of(node, "Compress", all, mask);
    expand_copy_attrs(made, node);
    Tensor *y = expand_done(made);
    expand_finish_one(node, y);
    return true;
}

bool dynamic_made(Node *node)
{
    dynamic_split(node);
    if (dynamic_repeated(node) || concat_dynamic(node) ||
        compress_dynamic(node))
        return true;
    if (dynamic_filled_up(node) || dynamic_told(node))
        return true;
    return dynamic_sliced(node);
}
