/* SPDX-License-Identifier: Apache-2.0
 * Vision transformers whose MLPs hold a Conv (PVT, SegFormer) see the same elements as an image
 * [N][H][W][C] and, for the products beside it, as tokens [N][T][C]. What makes one token at a time
 * and what reads rows of an image cannot run together row by row, so both are held as a whole. The
 * nodes beside the Conv that treat each token alone work on the image, too: products with weights,
 * normalizations of the channels, elementwise work. Requires: channels last; sums and activations
 * are fused. Ensures: the same results, bit by bit. */
#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* Views that may move over the node before or behind them. */
typedef VEC(Node *) Views;

/* Are these the pixels of an image of that shape, of any channels? */
static bool is_tokens(const Tensor *tensor, const Shape *image)
{
    const Shape *shape = &tensor->shape;
    return !tensor->dynamic && shape->rank == 3 &&
           shape->dim[0] == image->dim[0] &&
           shape->dim[1] == image->dim[1] * image->dim[2];
}

static Shape image_of(const Tensor *tokens, const Shape *image)
{
    Shape shape = *image;
    shape.dim[3] = tokens->shape.dim[2];
    return shape;
}

/* What a product multiplies its rows by. */
static bool is_factor(const Node *node, int i)
{
    return i == 1 && node_is(node, "MatMul");
}

/* A number or one for each channel; of a product its weights. */
static bool serves_all(const Node *node, int i)
{
    const Tensor *x = node->in[i];
    return !x || x->shape.rank <= 1 ||
           (is_factor(node, i) && x->shape.rank == 2);
}

static bool is_norm_of_channels(const Node *node)
{
    if (!node_is(node, "LayerNormalization") &&
        !node_is(node, "RMSNormalization"))
        return false;
    return node_axis(node, node_int(node, "axis", -1), 3) == 2;
}

/* Does a node of tokens treat each of them alone? */
static bool maps_tokens(const Graph *graph, const Node *node,
                        const Shape *image)
{
    if (!node || node->dead || node->graph != graph || !node->op ||
        node->n_out != 1 || !is_tokens(node->out[0], image))
        return false;
    if (!(node->op->flags & OP_ELEMENTWISE) && !node_is(node, "MatMul") &&
        !is_norm_of_channels(node))
        return false;
    for (int i = 0; i < node->n_in; i++) {
        if (serves_all(node, i))
            continue;
        if (!is_tokens(node->in[i], image) || is_factor(node, i))
            return false;
    }
    return true;
}

static bool is_view(const Node *node)
{
    return node && !node->dead && node->op && node->op->flags & OP_VIEW;
}

/* Its operands that are tokens are seen as images, but for `made`, which is `from` already. The
 * channels, dimension 2 of tokens, are the last one of both. */
static void see_images(Graph *graph, Node *node, const Shape *image,
                       const Tensor *made, Tensor *from, Views *views)
{
    Arena *scratch = &graph->store->scratch;
    Tensor **in = node_copy_inputs(node);
    for (int i = 0; i < node->n_in; i++) {
        if (serves_all(node, i))
            continue;
        if (in[i] == made) {
            in[i] = from;
            continue;
        }
        const Shape shape = image_of(in[i], image);
        in[i] = insert_reshape(graph, node, in[i], &shape);
        if (!in[i]->value)
            VEC_PUSH(scratch, views, in[i]->producer);
    }
    node_set_inputs(node, node->n_in, in);
    if (is_norm_of_channels(node))
        node_set_int(node, "axis", -1);
}

/* Do only views of an image of that shape read the tokens? */
static bool are_seen_as(const Graph *graph, const Tensor *tokens,
                        const Shape *image)
{
    if (graph_is_output(graph, tokens) || !is_tokens(tokens, image))
        return false;
    for (const Use *use = tokens->use; use; use = use->next)
        if (use->node->graph != graph || !is_view(use->node) ||
            !shape_equal(&use->node->out[0]->shape, image))
            return false;
    return true;
}

/* All views of the tokens become the image. */
static void replace_views(Graph *graph, const Tensor *tokens, Tensor *image)
{
    while (tokens->use) {
        Node *view = tokens->use->node;
        Tensor *seen = view->out[0];
        graph_kill(view);
        if (seen != image)
            graph_replace(graph, seen, image);
    }
}

/* A view of tokens as an image: the node before it makes the image. */
static void raise(Graph *graph, Node *view, Views *views)
{
    Tensor *tokens = view->in[0];
    Tensor *image = view->out[0];
    Node *node = tokens->producer;
    if (view->dead || !are_seen_as(graph, tokens, &image->shape) ||
        !maps_tokens(graph, node, &image->shape))
        return;
    see_images(graph, node, &image->shape, NULL, NULL, views);
    replace_views(graph, tokens, image);
    node->out[0] = image;
    image->producer = node;
}

/* A view of an image as tokens: their only reader reads the image, and the view goes behind it.
 * False: it stays. */
static bool sink(Graph *graph, Node *view, Views *views)
{
    Tensor *image = view->in[0];
    const Shape *shape = &image->shape;
    const Tensor *tokens = view->out[0];
    if (tokens->uses != 1 || !tokens->use || !is_tokens(tokens, shape))
        return false;
    Node *node = tokens->use->node;
    if (!maps_tokens(graph, node, shape))
        return false;
    see_images(graph, node, shape, tokens, image, views);
    Tensor *result = node->out[0];
    const Shape made = image_of(result, shape);
    node->out[0] = graph_add_tensor(graph, NULL, result->dtype, made);
    node->out[0]->producer = node;
    become_reshape(graph, view, node->out[0], &result->shape);
    view->out[0] = result;
    result->producer = view;
    return true;
}

static void follow_rows(Graph *graph, const Node *conv)
{
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Tensor *x = conv->in[0];
    const Tensor *y = conv->out[0];
    Views views = { 0 };
    if (is_view(x->producer))
        VEC_PUSH(scratch, &views, x->producer);
    Node *behind = y->uses == 1 && y->use ? y->use->node : NULL;
    if (behind && behind->graph == graph && is_view(behind))
        while (sink(graph, behind, &views))
            ;
    for (size_t i = 0; i < views.n; i++)
        raise(graph, views.at[i], &views);
    arena_release(scratch, mark);
}

void pass_image_rows(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        const Node *node = graph->node.at[i];
        if (!node->dead && node_is(node, "Conv") && node->channels_last &&
            node->out[0]->shape.rank == 4)
            follow_rows(graph, node);
    }
    pass_dead(graph);
    graph_sort(graph);
}
