/* SPDX-License-Identifier: Apache-2.0
 * Codes of 16 bits between operators that have no integer form: a QuantizeLinear and the
 * DequantizeLinear behind it become one function of floats, which lies over its operand or goes
 * into the operator before it: FakeQuantize. Codes that several read stay: while they wait, they
 * take half the bytes. */
#include "ops/act.h"
#include "kernels/act.h"
#include "ops/ops.h"
#include "passes/quanta.h"

static bool is_wide(DType type)
{
    return type == DT_I16 || type == DT_U16;
}

/* The zero point of the same codes if they are signed. */
static double signed_zero(const Quantum *quantum)
{
    const int64_t least = quantum->type == DT_U16 ? quanta_least(DT_I16) : 0;
    return (double)(quantum->zero + least);
}

/* The only reader of what q makes, which brings it back to floats in the same way; NULL: it is
 * another one, or one of several. */
static Node *only_reader(const Graph *graph, const Node *q,
                         const Quantum *quantum)
{
    Quantum read;
    const Tensor *codes = q->out[0];
    if (codes->uses != 1 || !codes->use || codes->use->operand)
        return NULL;
    Node *node = codes->use->node;
    if (node->graph != graph || !node_is(node, "DequantizeLinear") ||
        node->out[0]->dtype != DT_F32 ||
        !quanta_one(node->graph, node, &read) || !quanta_equal(&read, quantum))
        return NULL;
    return node;
}

static bool is_faked(const Tensor *x, const Quantum *quantum)
{
    const Node *node = x->value ? NULL : x->producer;
    const ActRow *act = node && !node->dead ? act_of(node) : NULL;
    if (!act || act->act != INLAY_ACT_FAKE_QUANTIZE)
        return false;
    const Quantum made = { node_double(node, "scale", 1.0), quantum->zero,
                           quantum->type };
    const double zero = node_double(node, "zero_point", 0.0);
    const double asked = signed_zero(quantum);
    return quanta_equal(&made, quantum) && !(zero < asked) && !(zero > asked);
}

/* Is x what FakeQuantize made, moved about? Then it stays as it is. */
static bool is_faked_before(Graph *graph, const Tensor *x,
                            const Quantum *quantum)
{
    while (!x->value && x->producer && quanta_moves_one(graph, x->producer))
        x = x->producer->in[0];
    return is_faked(x, quantum);
}

static Tensor *fake(Graph *graph, const Node *q, const Quantum *quantum)
{
    Tensor *x = q->in[0];
    if (is_faked_before(graph, x, quantum))
        return x;
    Node *made = quanta_insert(graph, q, "inlay", "FakeQuantize", 1, &x, DT_F32,
                               x->shape);
    node_set_float(made, "scale", (float)quantum->scale);
    node_set_float(made, "zero_point", (float)signed_zero(quantum));
    return made->out[0];
}

bool quanta_fake_rest(Graph *graph, Node *q)
{
    Quantum quantum;
    if (q->dead || !quanta_is_quantize(q) || q->in[0]->value ||
        q->in[0]->dtype != DT_F32 || !quanta_one(graph, q, &quantum) ||
        !is_wide(quantum.type))
        return false;
    Node *reader = only_reader(graph, q, &quantum);
    if (!reader)
        return false;
    quanta_replace(graph, reader, fake(graph, q, &quantum));
    return true;
}

/* Moves numbers, or clips them. */
static bool passes_on(Graph *graph, const Node *node)
{
    const ActRow *act = node->op ? act_of(node) : NULL;
    if (quanta_moves_one(graph, node))
        return true;
    return act && (act->act == INLAY_ACT_RELU || act->act == INLAY_ACT_CLAMP);
}

/* Is what makes x integers, or may become such? */
static bool comes_of_integers(Graph *graph, const Tensor *x)
{
    const Node *node = x->value ? NULL : x->producer;
    while (node && passes_on(graph, node)) {
        x = node->in[0];
        node = x->value ? NULL : x->producer;
    }
    return node && (quanta_source(x) || quanta_takes_shorts(node));
}

static bool goes_to_integers(Graph *graph, const Tensor *x)
{
    enum {
        MOST = 32 /* nodes on the way */
    };
    for (int i = 0; i < MOST; i++) {
        const Node *next = NULL;
        for (const Use *use = x->use; use; use = use->next) {
            if (quanta_takes_shorts(use->node))
                return true;
            if (passes_on(graph, use->node))
                next = use->node;
        }
        if (!next)
            return false;
        x = next->out[0];
    }
    return false;
}

bool quanta_fake(Graph *graph, Node *q)
{
    Quantum quantum;
    if (graph_root(graph)->float_shorts)
        return quanta_fake_rest(graph, q);
    if (q->dead || !quanta_is_quantize(q) || !quanta_one(graph, q, &quantum) ||
        !is_wide(quantum.type))
        return false;
    const Node *reader = only_reader(graph, q, &quantum);
    if (!reader || comes_of_integers(graph, q->in[0]) ||
        goes_to_integers(graph, reader->out[0]))
        return false;
    return quanta_fake_rest(graph, q);
}
