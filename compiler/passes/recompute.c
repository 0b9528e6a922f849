/* SPDX-License-Identifier: Apache-2.0
 * Gates: networks average an image, compute factors of its channels from that, and multiply the
 * image by them (squeeze-and-excitation). It waits for its factors as a whole, and mostly there is
 * no larger tensor. Where Graph.recompute says so, the product reads an image that is computed once
 * more, which need not exist as a whole, and nor need the first one. For which images this is worth
 * it is known to who plans (pipeline/recompute.c). Requires: layout done. Ensures: the same
 * results, bit by bit; the images are listed in Graph.gated. */
#include "ir/graph.h"
#include "ops/ops.h"
#include "passes/parted.h"
#include "passes/passes.h"

/* A summary is no more than one of LEAST_PARTS of the image. */
enum { MOST_NODES = 8, MOST_OPERANDS = 8, MOST_FACTORS = 16, LEAST_PARTS = 8 };

typedef struct Gate {
    const Tensor *image;
    Node *product;
    int operand; /* of the product, that is the image */
    /* that compute the image, the last one first */
    const Node *node[MOST_NODES];
    int n;
} Gate;

static bool is_little(const Tensor *tensor, const Tensor *image)
{
    return shape_known(&tensor->shape) && !tensor->dynamic &&
           tensor_bytes(tensor) <= tensor_bytes(image) / LEAST_PARTS;
}

static bool is_summary(const Node *node, const Tensor *image)
{
    return node->n_out == 1 && node->out[0] && is_little(node->out[0], image);
}

/* The one node that reads the image and makes no summary of it; false: there is none, or there are
 * others, or no summary. */
static bool find_product(Gate *gate)
{
    bool summarized = false;
    for (const Use *use = gate->image->use; use; use = use->next) {
        if (is_summary(use->node, gate->image)) {
            summarized = true;
            continue;
        }
        if (gate->product)
            return false;
        gate->product = use->node;
        gate->operand = use->operand;
    }
    return gate->product && summarized;
}

/* Operands of a node that are looked at. */
static int operands_of(const Node *node)
{
    return node->n_in < MOST_OPERANDS ? node->n_in : MOST_OPERANDS;
}

static bool reads(const Node *node, const Tensor *tensor)
{
    for (int i = 0; i < operands_of(node); i++)
        if (node->in[i] == tensor)
            return true;
    return false;
}

/* Does it read the image, or a result of a node that does? */
static bool is_near(const Node *node, const Tensor *image)
{
    if (reads(node, image))
        return true;
    for (int i = 0; i < operands_of(node); i++) {
        const Tensor *in = node->in[i];
        if (in && in->producer && reads(in->producer, image))
            return true;
    }
    return false;
}

/* Are the factors computed from a summary of the image? */
static bool follow(const Tensor *factors, const Tensor *image)
{
    const Node *node = factors->producer;
    for (int n = 0; node && n < MOST_FACTORS; n++) {
        if (is_near(node, image))
            return true;
        node = node->n_in && node->in[0] ? node->in[0]->producer : NULL;
    }
    return false;
}

static bool waits_for_summary(const Gate *gate)
{
    const Node *product = gate->product;
    for (int i = 0; i < operands_of(product); i++) {
        const Tensor *in = product->in[i];
        if (in && i != gate->operand && is_little(in, gate->image) &&
            follow(in, gate->image))
            return true;
    }
    return false;
}

/* Does it compute one tensor from operand 0 and constants? */
static bool maps_one(const Node *node)
{
    if (!node->op || node->counts || node->n_out != 1 || node->out[0]->dynamic)
        return false;
    if (node->op->flags & (OP_NOT_CONSTANT | OP_CONTROL))
        return false;
    if (!node_in(node, 0) || node->in[0]->value)
        return false;
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && !node->in[i]->value)
            return false;
    return shape_known(&node->out[0]->shape);
}

/* Few enough bytes that it may stay in the place of the image. */
static bool is_smaller(const Tensor *tensor, const Tensor *image)
{
    const int64_t bytes = tensor_bytes(image);
    return shape_known(&tensor->shape) && !tensor->dynamic &&
           tensor_bytes(tensor) <= bytes - bytes / 4;
}

/* The nodes from the image up to a tensor that is smaller, or to an input; false: not so. */
static bool find_nodes(Gate *gate)
{
    const Tensor *tensor = gate->image;
    const Graph *graph = gate->product->graph;
    while (gate->n < MOST_NODES) {
        const Node *node = tensor->producer;
        if (!node || node->graph != graph || !maps_one(node))
            return false;
        gate->node[gate->n++] = node;
        tensor = node->in[0];
        if (!tensor->producer || is_smaller(tensor, gate->image))
            return shape_known(&tensor->shape);
    }
    return false;
}

static bool find_gate(const Tensor *image, Gate *gate)
{
    *gate = (Gate){ .image = image };
    if (!image->use || image->dynamic || !shape_known(&image->shape))
        return false;
    return find_product(gate) &&
           gate->product->graph == image->producer->graph &&
           waits_for_summary(gate) && find_nodes(gate);
}

/* The node once more, with another operand 0, in time for the product. */
static Tensor *compute_again(Graph *graph, const Gate *gate, const Node *node,
                             Tensor *x)
{
    const Tensor *y = node->out[0];
    Tensor **in = node_copy_inputs(node);
    in[0] = x;
    Tensor *out = graph_add_tensor(graph, NULL, y->dtype, y->shape);
    out->numbers = y->numbers;
    Node *made = insert_like(graph, node, node->n_in, in, out);
    made->index = gate->product->index;
    made->channels_last = node->channels_last;
    made->own_order = node->own_order;
    made->again = true;
    return out;
}

static void recompute(Graph *graph, const Gate *gate)
{
    Tensor *x = gate->node[gate->n - 1]->in[0];
    for (int i = gate->n; i-- > 0;)
        x = compute_again(graph, gate, gate->node[i], x);
    node_set_input(gate->product, gate->operand, x);
}

void pass_recompute(Graph *graph)
{
    Graph *root = graph_root(graph);
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Gate gate;
        const Node *node = graph->node.at[i];
        if (node->dead || node->n_out != 1 || !node->out[0])
            continue;
        if (!find_gate(node->out[0], &gate))
            continue;
        const int64_t bytes = tensor_bytes(gate.image);
        VEC_PUSH(root->arena, &root->gated, bytes);
        if (root->recompute && bytes >= root->recompute)
            recompute(graph, &gate);
    }
    graph_sort(graph);
}
