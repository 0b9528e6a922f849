/* SPDX-License-Identifier: Apache-2.0
 * Quantization in a graph: recognition, and nodes of what passes make of it. */
#include "passes/quanta.h"

#include <math.h>

#include "ops/ops.h"
#include "passes/passes.h"

QuantizedForm quanta_form(const Node *node)
{
    return node && !node->dead && node->op ? node->op->quantized
                                           : QUANTIZED_NONE;
}

bool quanta_is_quantize(const Node *node)
{
    return node_is(node, "QuantizeLinear");
}

const Node *quanta_source(const Tensor *tensor)
{
    const Node *node = tensor->value ? tensor->folded : tensor->producer;
    if (!node || (!tensor->value && node->dead) || tensor->dtype != DT_F32)
        return NULL;
    return node_is(node, "DequantizeLinear") ? node : NULL;
}

/* The only number of a constant. */
static bool number_of(Graph *graph, const Tensor *tensor, double *value)
{
    int64_t count;
    if (!tensor || !tensor->value || tensor_count(tensor) != 1)
        return false;
    const double *v = tensor_doubles(graph, tensor, &count);
    if (v)
        *value = *v;
    return v != NULL;
}

bool quanta_one(Graph *graph, const Node *node, Quantum *quantum)
{
    const bool makes = quanta_is_quantize(node);
    const Tensor *zero_point = node_in(node, 2);
    double scale = 0.0;
    double zero = 0.0;
    if (node_int(node, "block_size", 0) || node_int(node, "precision", 0) ||
        !number_of(graph, node->in[1], &scale) || !(scale > 0.0) ||
        !isfinite(scale))
        return false;
    if (zero_point && !number_of(graph, zero_point, &zero))
        return false;
    if (!(fabs(zero) <= INT32_MAX))
        return false; /* one of floats may be any number */
    *quantum = (Quantum){
        .scale = scale,
        .zero = (int64_t)zero,
        .type = makes ? node->out[0]->dtype : node->in[0]->dtype,
    };
    return dtype_is_integer(quantum->type);
}

bool quanta_codes(Graph *graph, const Tensor *tensor, uint64_t types,
                  Tensor **x, Quantum *quantum)
{
    const Node *source = quanta_source(tensor);
    if (!source || !quanta_one(graph, source, quantum) ||
        !(DTYPE_BIT(quantum->type) & types))
        return false;
    *x = source->in[0];
    return true;
}

bool quanta_bytes(Graph *graph, const Tensor *tensor, Tensor **x,
                  Quantum *quantum)
{
    return quanta_codes(graph, tensor, T_Q8, x, quantum);
}

bool quanta_equal(const Quantum *a, const Quantum *b)
{
    return a->type == b->type && a->zero == b->zero && !(a->scale < b->scale) &&
           !(a->scale > b->scale);
}

int64_t quanta_least(DType type)
{
    if (DTYPE_BIT(type) & T_UNSIGNED)
        return 0;
    return -((int64_t)1 << (dtype_bits(type) - 1));
}

int64_t quanta_most(DType type)
{
    return quanta_least(type) + ((int64_t)1 << dtype_bits(type)) - 1;
}

int64_t quanta_round(const Quantum *quantum, double value)
{
    const double least = (double)quanta_least(quantum->type);
    const double most = (double)quanta_most(quantum->type);
    const float steps = (float)value / (float)quantum->scale;
    const double v = nearbyint((double)steps) + (double)quantum->zero;
    if (!(v > least))
        return (int64_t)least;
    return (int64_t)(v < most ? v : most);
}

Node *quanta_insert(Graph *graph, const Node *anchor, const char *domain,
                    const char *op, int n_in, Tensor *const *in, DType type,
                    Shape shape)
{
    Tensor *out = graph_add_tensor(graph, NULL, type, shape);
    Node *node =
        graph_insert_node(graph, anchor, domain, op, n_in, in, 1, &out);
    node->op = op_find(domain, op, OPSET_NEWEST);
    return node;
}

void quanta_take(Graph *graph, Node *q, Tensor *made)
{
    Tensor *out = q->out[0];
    Node *producer = made->producer;
    graph_kill(q);
    if (!producer || made->uses) {
        graph_insert_node(graph, q, "", "Identity", 1, &made, 1, &out)->op =
            op_find("", "Identity", OPSET_NEWEST);
        return;
    }
    for (int i = 0; i < producer->n_out; i++)
        if (producer->out[i] == made)
            producer->out[i] = out;
    out->producer = producer;
}

void quanta_replace(Graph *graph, Node *node, Tensor *x)
{
    Tensor *y = node->out[0];
    if (graph_is_output(graph, y)) {
        quanta_take(graph, node, x);
        return;
    }
    graph_kill(node);
    graph_replace(graph, y, x);
}

Tensor *quanta_reshape(Graph *graph, const Node *anchor, Tensor *x, Shape shape)
{
    if (shape_equal(&x->shape, &shape))
        return x;
    if (x->value)
        return graph_add_constant(
            graph, NULL,
            recipe_reshape(graph->store, x->value, shape.rank, shape.dim));
    Tensor *in[] = { x, graph_add_ints(graph, NULL, shape.rank, shape.dim) };
    return quanta_insert(graph, anchor, "", "Reshape", 2, in, x->dtype, shape)
        ->out[0];
}

bool quanta_is_zero(Graph *graph, const Tensor *tensor)
{
    int64_t count = 0;
    if (!tensor)
        return true;
    const int64_t *value = tensor_ints(graph, tensor, &count);
    for (int64_t i = 0; value && i < count; i++)
        if (value[i])
            return false;
    return value != NULL;
}

Tensor *quanta_zero(Graph *graph, DType type)
{
    static const uint8_t zero[8] = { 0 };
    return graph_add_constant(graph, NULL,
                              recipe_memory(graph->store, type, 0, NULL, zero));
}
