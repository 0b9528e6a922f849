/* SPDX-License-Identifier: Apache-2.0
 * Any chain of elementwise operators that begins with one tensor of bytes, takes constants of one
 * number beside it and ends in a QuantizeLinear to bytes is a table of 256 bytes. Its entries are
 * computed with the kernels themselves, so the table gives what the chain gave. A chain that ends
 * in floats is a table of these. */
#include <string.h>

#include "eval/fold.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/quanta.h"

enum { MOST_NODES = 64, ENTRIES = 256 };

/* The nodes of a chain, its end first, and the bytes that it begins with. */
typedef struct Chain {
    Node *node[MOST_NODES];
    /* the node's result for all bytes; NULL: not yet */
    Tensor *made[MOST_NODES];
    int n;
    Tensor *root;
    bool deep; /* it goes through tables that were made before */
} Chain;

static bool is_bytes(const Tensor *tensor)
{
    return (DTYPE_BIT(tensor->dtype) & T_Q8) != 0;
}

static bool is_member(Graph *graph, const Node *node)
{
    Quantum quantum;
    if (!node || node->dead || node->graph != graph || !node->op ||
        node->n_out != 1 || node->op->flags & OP_NOT_CONSTANT)
        return false;
    if (quanta_is_quantize(node) || node_is(node, "DequantizeLinear"))
        return quanta_one(graph, node, &quantum);
    return (node->op->flags & OP_ELEMENTWISE) != 0;
}

static int place_of(const Chain *chain, const Node *node)
{
    for (int i = 0; i < chain->n; i++)
        if (chain->node[i] == node)
            return i;
    return -1;
}

/* A table, or another operator from bytes to bytes. */
static bool is_table(const Node *node)
{
    return node->n_in == 1 && is_bytes(node->in[0]) &&
           !quanta_is_quantize(node);
}

/* Takes in an operand; false: the chain is none. */
static bool take_operand(Graph *graph, Chain *chain, Tensor *x,
                         const Shape *shape)
{
    if (!x)
        return true;
    if (x->value)
        return tensor_count(x) == 1 && x->dtype != DT_STRING;
    if (!shape_equal(&x->shape, shape))
        return false;
    Node *made = x->producer;
    const bool member = is_member(graph, made);
    if (is_bytes(x) && !(chain->deep && member && is_table(made))) {
        if (chain->root && chain->root != x)
            return false;
        chain->root = x;
        return true;
    }
    if (!member)
        return false;
    if (place_of(chain, made) >= 0)
        return true;
    if (chain->n == MOST_NODES)
        return false;
    chain->node[chain->n++] = made;
    return true;
}

static bool find_chain(Graph *graph, Chain *chain, Node *q, bool deep)
{
    *chain = (Chain){ .node = { q }, .n = 1, .deep = deep };
    for (int i = 0; i < chain->n; i++) {
        const Node *node = chain->node[i];
        for (int k = 0; k < node->n_in; k++)
            if (!take_operand(graph, chain, node->in[k], &q->out[0]->shape))
                return false;
    }
    return chain->root != NULL;
}

static Tensor *new_tensor(Graph *graph, const Tensor *like, Shape shape)
{
    Tensor *tensor = graph_add_tensor(graph, NULL, like->dtype, shape);
    tensor->value = like->value;
    return tensor;
}

/* The operand in the chain of all bytes; NULL: not computed yet. */
static Tensor *operand_of_table(Graph *graph, const Chain *chain, Tensor *all,
                                Tensor *x)
{
    if (x == chain->root)
        return all;
    if (!x->value)
        return chain->made[place_of(chain, x->producer)];
    Tensor *scalar = new_tensor(graph, x, shape_scalar());
    scalar->value = recipe_reshape(graph->store, x->value, 0, NULL);
    return scalar;
}

/* Computes node number i for all bytes, if its operands are there. False: it cannot be. */
static bool compute(Graph *graph, Chain *chain, Tensor *all, int i)
{
    Node *node = NEW(graph->arena, Node);
    *node = *chain->node[i];
    node->in = NEW_ARRAY(graph->arena, Tensor *, node->n_in);
    node->out = NEW_ARRAY(graph->arena, Tensor *, 1);
    for (int k = 0; k < node->n_in; k++) {
        Tensor *x = chain->node[i]->in[k];
        if (!x)
            continue;
        node->in[k] = operand_of_table(graph, chain, all, x);
        if (!node->in[k])
            return true;
    }
    node->out[0] =
        new_tensor(graph, chain->node[i]->out[0], shape_vector(ENTRIES));
    if (!fold_node(node))
        return false;
    chain->made[i] = node->out[0];
    return true;
}

/* All bytes as the root's type has them, in the order of their bits. */
static Tensor *all_bytes(Graph *graph, DType type)
{
    const int64_t dims[] = { ENTRIES };
    uint8_t bytes[ENTRIES];
    for (int i = 0; i < ENTRIES; i++)
        bytes[i] = (uint8_t)i;
    return graph_add_constant(
        graph, NULL, recipe_memory(graph->store, type, 1, dims, bytes));
}

/* The table of the chain; NULL: some of it cannot be computed here. Operands lie behind the nodes
 * that read them, so most of it is done at the first sweep. */
static Tensor *table_of(Graph *graph, Chain *chain)
{
    Tensor *all = all_bytes(graph, chain->root->dtype);
    for (int sweep = 0; sweep < MOST_NODES && !chain->made[0]; sweep++)
        for (int i = chain->n - 1; i >= 0; i--)
            if (!chain->made[i] && !compute(graph, chain, all, i))
                return NULL;
    return chain->made[0];
}

static bool is_identity(const int64_t *entry, const Tensor *root,
                        const Tensor *y)
{
    for (int i = 0; i < ENTRIES; i++)
        if ((uint8_t)entry[i] != i)
            return false;
    return root->dtype == y->dtype;
}

/* Such a table takes the place of the last node of the chain. */
static void put_table(Graph *graph, Node *last, Chain *chain,
                      const int64_t *entry)
{
    const Tensor *y = last->out[0];
    Node *made = quanta_insert(graph, last, "inlay", "Lookup", 1, &chain->root,
                               y->dtype, y->shape);
    node_set_int(made, "output_dtype", y->dtype);
    node_set_ints(made, "table", ENTRIES, entry);
    quanta_take(graph, last, made->out[0]);
}

static bool make_table(Graph *graph, Node *q, Chain *chain)
{
    int64_t count;
    const Tensor *table = table_of(graph, chain);
    const int64_t *entry = table ? tensor_ints(graph, table, &count) : NULL;
    if (!entry)
        return false;
    if (is_identity(entry, chain->root, q->out[0])) {
        quanta_replace(graph, q, chain->root);
        return true;
    }
    put_table(graph, q, chain, entry);
    return true;
}

bool quanta_table(Graph *graph, Node *q)
{
    Chain chain;
    Quantum quantum;
    if (q->dead || !quanta_is_quantize(q) || !is_bytes(q->out[0]) ||
        q->out[0]->dynamic || !quanta_one(graph, q, &quantum))
        return false;
    if (!find_chain(graph, &chain, q, false) &&
        !find_chain(graph, &chain, q, true))
        return false;
    return make_table(graph, q, &chain);
}

/* ---- tables of floats ---- */

/* Elements for which a table is worth its bytes in flash. */
enum { MANY_ELEMENTS = 1024 };

/* Does a node that reads the tensor go on with the chain? */
static bool goes_on(Graph *graph, const Tensor *tensor)
{
    for (const Use *use = tensor->use; use; use = use->next)
        if (is_member(graph, use->node) &&
            shape_equal(&use->node->out[0]->shape, &tensor->shape))
            return true;
    return false;
}

/* Has the chain a function of one float? Sums and products take less time than a table. */
static bool has_function(const Chain *chain)
{
    for (int i = 0; i < chain->n; i++) {
        const Node *node = chain->node[i];
        if (node->n_in == 1 && (node->op->flags & OP_ELEMENTWISE) &&
            node->in[0]->dtype == DT_F32)
            return true;
    }
    return false;
}

bool quanta_float_table(Graph *graph, Node *last)
{
    Chain chain;
    int64_t entry[ENTRIES];
    int64_t count;
    if (last->dead || !is_member(graph, last))
        return false;
    Tensor *y = last->out[0];
    if (y->dtype != DT_F32 || y->dynamic || y->value ||
        tensor_count(y) < MANY_ELEMENTS || goes_on(graph, y) ||
        !find_chain(graph, &chain, last, false) || !has_function(&chain))
        return false;
    const Tensor *table = table_of(graph, &chain);
    const double *number = table ? tensor_doubles(graph, table, &count) : NULL;
    if (!number)
        return false;
    for (int i = 0; i < ENTRIES; i++) {
        const float value = (float)number[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        entry[i] = bits;
    }
    put_table(graph, last, &chain, entry);
    return true;
}
