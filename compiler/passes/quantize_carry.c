/* SPDX-License-Identifier: Apache-2.0
 * What moves elements does so with their bytes: such an operator changes places with the
 * DequantizeLinear before it, and with the QuantizeLinear behind it. Both are exact. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/quanta.h"

/* Larger constants are not quantized here: they could not be folded. */
enum { MOST_CONSTANT = 1 << 19 };

static bool is_constant_mode(const Node *node)
{
    return !strcmp(node_string(node, "mode", "constant"), "constant");
}

static bool moves_elements(const Node *node)
{
    switch (quanta_form(node)) {
    case QUANTIZED_MOVE:
    case QUANTIZED_SELECT:
    case QUANTIZED_PARTS:
    case QUANTIZED_CHOICE:
    case QUANTIZED_INDEX:
        return true;
    case QUANTIZED_PAD:
        return node->n_in > 1 || !is_constant_mode(node);
    case QUANTIZED_RESIZE:
        return !strcmp(node_string(node, "mode", "nearest"), "nearest") &&
               strcmp(node_string(node, "coordinate_transformation_mode", ""),
                      "tf_crop_and_resize") != 0;
    default:
        return false;
    }
}

/* Operands that are moved: all of Concat and Max, those behind the condition of Where, else the
 * first. */
static int first_moved(const Node *node)
{
    return quanta_form(node) == QUANTIZED_CHOICE &&
           node->in[0]->dtype == DT_BOOL;
}

static int end_moved(const Node *node)
{
    const QuantizedForm form = quanta_form(node);
    const bool all = form == QUANTIZED_PARTS || form == QUANTIZED_CHOICE;
    return all ? node->n_in : 1;
}

/* Can it work on elements of that type, all results being moved ones of known sizes? */
static bool takes_bytes(const Node *node, DType type)
{
    if (!moves_elements(node))
        return false;
    if (!first_moved(node) && !(node->op->types & DTYPE_BIT(type)))
        return false;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && (node->out[i]->dynamic ||
                             (i > 0 && quanta_form(node) == QUANTIZED_SELECT)))
            return false;
    return node->n_out > 0 && node->out[0];
}

/* The value that a Pad puts around; false: it is not known. */
static bool pad_value(Graph *graph, const Node *node, double *value)
{
    int64_t count;
    *value = 0.0;
    if (!is_constant_mode(node) || !node_in(node, 2))
        return true;
    const double *v = tensor_doubles(graph, node->in[2], &count);
    if (!v || count != 1)
        return false;
    *value = *v;
    return true;
}

/* Pads with the byte of `value`. */
static void set_pad(Graph *graph, Node *node, const Quantum *quantum,
                    double value)
{
    const int64_t byte = quanta_round(quantum, value);
    Tensor *in[4] = { node->in[0], node->in[1], NULL, node_in(node, 3) };
    Recipe *recipe = recipe_memory(graph->store, DT_I64, 0, NULL, &byte);
    in[2] = graph_add_constant(
        graph, NULL, recipe_cast(graph->store, recipe, quantum->type));
    node_set_inputs(node, node->n_in > 3 ? 4 : 3, in);
}

static bool may_pad(Graph *graph, const Node *node, bool exactly)
{
    double value;
    if (quanta_form(node) != QUANTIZED_PAD)
        return true;
    return pad_value(graph, node, &value) &&
           (!exactly || !(value < 0.0 || value > 0.0));
}

bool quanta_moves_one(Graph *graph, const Node *node)
{
    return moves_elements(node) && !first_moved(node) && end_moved(node) == 1 &&
           may_pad(graph, node, true);
}

static void carry_pad(Graph *graph, Node *node, const Quantum *quantum)
{
    double value;
    if (quanta_form(node) == QUANTIZED_PAD && is_constant_mode(node) &&
        pad_value(graph, node, &value))
        set_pad(graph, node, quantum, value);
}

/* The DequantizeLinear before node's moved operands, all of one quantization; NULL: there is
 * none. */
static const Node *common_source(Graph *graph, const Node *node,
                                 Quantum *quantum)
{
    const Node *first = NULL;
    bool live = false;
    for (int i = first_moved(node); i < end_moved(node); i++) {
        Quantum q;
        const Node *source = node->in[i] ? quanta_source(node->in[i]) : NULL;
        if (!source || !quanta_one(graph, source, &q))
            return NULL;
        if (!first)
            *quantum = q;
        else if (!quanta_equal(quantum, &q))
            return NULL;
        first = source;
        live |= !node->in[i]->value;
    }
    return live ? first : NULL;
}

/* Result i of node, now of bytes, is dequantized behind it. */
static void dequantize_result(Graph *graph, Node *node, int i,
                              const Node *source)
{
    Tensor *old = node->out[i];
    Tensor *bytes =
        graph_add_tensor(graph, NULL, source->in[0]->dtype, old->shape);
    Tensor *operand[] = { bytes, source->in[1], node_in(source, 2) };
    node->out[i] = bytes;
    bytes->producer = node;
    Node *made = graph_insert_node(graph, node, "", "DequantizeLinear",
                                   operand[2] ? 3 : 2, operand, 1, &old);
    made->op = source->op;
}

/* move(dequantize(x)) becomes dequantize(move(x)). */
static bool carry_down(Graph *graph, Node *node)
{
    Quantum quantum;
    const Node *source =
        moves_elements(node) ? common_source(graph, node, &quantum) : NULL;
    if (!source || !takes_bytes(node, quantum.type) ||
        !may_pad(graph, node, true))
        return false;
    Tensor **in =
        arena_copy(graph->arena, node->in, (size_t)node->n_in * sizeof *in);
    for (int i = first_moved(node); i < end_moved(node); i++)
        in[i] = quanta_source(in[i])->in[0];
    node_set_inputs(node, node->n_in, in);
    carry_pad(graph, node, &quantum);
    if (quanta_form(node) == QUANTIZED_INDEX)
        return true;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            dequantize_result(graph, node, i, source);
    return true;
}

/* Operand `tensor` of what is before q, quantized as q does it; NULL: it is a constant that is too
 * large. */
static Tensor *quantized_operand(Graph *graph, Node *q, Tensor *tensor,
                                 const Quantum *quantum)
{
    Quantum own;
    const Node *source = quanta_source(tensor);
    if (source && quanta_one(graph, source, &own) &&
        quanta_equal(&own, quantum))
        return source->in[0];
    Tensor *in[] = { tensor, q->in[1], node_in(q, 2) };
    Node *made = quanta_insert(graph, q, "", "QuantizeLinear", in[2] ? 3 : 2,
                               in, quantum->type, tensor->shape);
    made->op = q->op;
    if (!in[2])
        node_set_int(made, "output_dtype", quantum->type);
    Tensor *out = made->out[0];
    if (tensor->value)
        infer_node(made);
    return out;
}

static bool small_constants(const Node *node)
{
    for (int i = first_moved(node); i < end_moved(node); i++)
        if (!node->in[i] ||
            (node->in[i]->value && tensor_bytes(node->in[i]) > MOST_CONSTANT))
            return false;
    return true;
}

/* A choice among numbers that are quantized already, more than one of them: with one it is a
 * function of it. */
static bool is_good_choice(const Node *node)
{
    int live = first_moved(node);
    if (quanta_form(node) != QUANTIZED_CHOICE)
        return true;
    for (int i = first_moved(node); i < end_moved(node); i++) {
        const Tensor *x = node->in[i];
        if (!x->value && !quanta_source(x))
            return false;
        live += !x->value;
    }
    return live > 1;
}

/* quantize(move(x)) becomes move(quantize(x)). */
static bool carry_up(Graph *graph, Node *q)
{
    Quantum quantum;
    Tensor *x = q->in[0];
    Node *node = x->value ? NULL : x->producer;
    if (!node || node->dead || node->graph != graph || x->uses != 1 ||
        node->n_out != 1 || x->dtype != DT_F32 ||
        quanta_form(node) == QUANTIZED_INDEX ||
        !quanta_one(graph, q, &quantum) || !takes_bytes(node, quantum.type) ||
        !may_pad(graph, node, false) || !small_constants(node) ||
        !is_good_choice(node))
        return false;
    Tensor **in =
        arena_copy(graph->arena, node->in, (size_t)node->n_in * sizeof *in);
    for (int i = first_moved(node); i < end_moved(node); i++)
        in[i] = quantized_operand(graph, q, in[i], &quantum);
    node_set_inputs(node, node->n_in, in);
    carry_pad(graph, node, &quantum);
    Tensor *y = q->out[0];
    graph_kill(q);
    node->out[0] = y;
    y->producer = node;
    return true;
}

/* quantize(dequantize(x)) of one quantization is x. */
static bool cancel(Graph *graph, Node *q)
{
    Quantum made, read;
    const Node *source = quanta_source(q->in[0]);
    if (!source || !quanta_one(graph, q, &made) ||
        !quanta_one(graph, source, &read) || !quanta_equal(&made, &read))
        return false;
    quanta_replace(graph, q, source->in[0]);
    return true;
}

/* Do they hold the same numbers, the codes of one 128 below those of the other? */
static bool differ_in_sign(const Quantum *a, const Quantum *b)
{
    Quantum shifted = *a;
    if (a->type == DT_I8)
        shifted = (Quantum){ a->scale, a->zero + 128, DT_U8 };
    else if (a->type == DT_U8)
        shifted = (Quantum){ a->scale, a->zero - 128, DT_I8 };
    return shifted.type != a->type && quanta_equal(&shifted, b);
}

/* The only node that reads a tensor; NULL: there are several, or none. */
static Node *only_reader(const Tensor *tensor)
{
    const bool one = tensor->uses == 1 && tensor->use;
    return one && tensor->use->operand == 0 ? tensor->use->node : NULL;
}

static bool is_turn(const Node *node)
{
    return node->op &&
           (node->op->flags & OP_VIEW || node_is(node, "Transpose"));
}

/* What node makes are codes of another type from now on: no value that the model names. */
static void make_codes(Graph *graph, Node *node, DType type)
{
    Tensor *old = node->out[0];
    Tensor *codes = graph_add_tensor(graph, NULL, type, old->shape);
    node->out[0] = codes;
    codes->producer = node;
    graph_replace(graph, old, codes);
}

/* What q makes is read as codes of the other sign, which its source has: views between go on with
 * those. */
static bool keep_sign(Graph *graph, const Node *q, const Node *source,
                      const Quantum *made)
{
    Node *reader = only_reader(q->out[0]);
    Node *first = reader;
    Quantum next;
    while (reader && is_turn(reader))
        reader = only_reader(reader->out[0]);
    if (!reader || reader->n_in != 3 || source->n_in != 3 ||
        !node_is(reader, "DequantizeLinear") ||
        !quanta_one(graph, reader, &next) || !quanta_equal(&next, made))
        return false;
    for (Node *turn = first; turn != reader; turn = only_reader(turn->out[0]))
        make_codes(graph, turn, source->in[0]->dtype);
    node_set_input(first, 0, source->in[0]);
    node_set_input(reader, 1, source->in[1]);
    node_set_input(reader, 2, source->in[2]);
    return true;
}

/* Integers of the other sign between two that hold the same numbers are left out: those behind an
 * input or before a result of uint8, as TFLite adds them to a network of int8. */
static bool skip_sign(Graph *graph, Node *q)
{
    Quantum made, read, next;
    const Node *source = quanta_source(q->in[0]);
    if (!source || source->out[0]->uses != 1 || !quanta_one(graph, q, &made) ||
        !quanta_one(graph, source, &read) || !differ_in_sign(&made, &read))
        return false;
    const Node *before = source->in[0]->producer;
    if (keep_sign(graph, q, source, &made))
        return true;
    if (!before || !quanta_is_quantize(before) || source->in[0]->uses != 1 ||
        !quanta_one(graph, before, &next) || !quanta_equal(&next, &read))
        return false;
    node_set_input(q, 0, before->in[0]);
    return true;
}

bool quanta_carry(Graph *graph, Node *node)
{
    if (node->dead)
        return false;
    if (quanta_is_quantize(node))
        return cancel(graph, node) || skip_sign(graph, node) ||
               carry_up(graph, node);
    return carry_down(graph, node);
}
