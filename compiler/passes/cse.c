/* SPDX-License-Identifier: Apache-2.0
 * Common subexpressions: of nodes that compute the same thing from the same operands, one stays.
 * Exporters write shapes, slices and casts anew for every reader; the layout pass makes the same
 * Transpose twice. Small constants count as the same where their values are. DequantizeLinear
 * stays: it is cheap to repeat, and its result is four times as large as its operand. Requires: a
 * list of nodes in order, types and shapes. Ensures: same results. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

enum {
    SMALL_BYTES = 128, /* constants up to this size are compared by value */
    LARGE_BYTES =
        4096, /* results from this size on are images rather than shapes */
};

/* Text that is equal where two things are, written over the one before. */
typedef struct Key {
    Arena *arena;
    VEC(char) text;
} Key;

static void put(Key *k, const char *s)
{
    for (; *s; s++)
        VEC_PUSH(k->arena, &k->text, *s);
}

static void put_hex(Key *k, const void *bytes, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const unsigned b = ((const unsigned char *)bytes)[i];
        VEC_PUSH(k->arena, &k->text, digit[b >> 4]);
        VEC_PUSH(k->arena, &k->text, digit[b & 15]);
    }
    put(k, ",");
}

static void put_number(Key *k, int64_t v)
{
    put_hex(k, &v, sizeof v);
}

static const char *key_done(Key *k)
{
    VEC_PUSH(k->arena, &k->text, '\0');
    return k->text.at;
}

/* A copy that lasts as long as the pass. */
static const char *key_kept(const Key *k)
{
    return arena_text(k->arena, k->text.at, k->text.n - 1);
}

/* Constants of the same values: the first of them stands for all. */
static Tensor *representative(Graph *graph, Key *k, Map *constants,
                              Tensor *tensor)
{
    if (!tensor || !tensor->value || tensor->dtype == DT_STRING ||
        recipe_bytes(tensor->value) > SMALL_BYTES)
        return tensor;
    k->text.n = 0;
    put_number(k, tensor->dtype);
    put_number(k, tensor->shape.rank);
    for (int i = 0; i < tensor->shape.rank; i++)
        put_number(k, tensor->shape.dim[i]);
    const size_t n = (size_t)recipe_bytes(tensor->value);
    unsigned char value[SMALL_BYTES];
    const ArenaMark mark = arena_mark(k->arena);
    if (n)
        memcpy(value, recipe_values(graph->store, k->arena, tensor->value), n);
    arena_release(k->arena, mark);
    put_hex(k, value, n);
    const char *key = key_done(k);
    Tensor *first = map_get(constants, key);
    if (!first)
        map_put(constants, key_kept(k), tensor);
    return first ? first : tensor;
}

static bool put_attr(Key *k, const Attr *attr)
{
    if (attr->list)
        return false;
    put(k, attr->name);
    put_number(k, attr->kind);
    put_number(k, attr->n);
    switch (attr->kind) {
    case ATTR_FLOAT:
        put_hex(k, &attr->f, sizeof attr->f);
        return !attr->ref;
    case ATTR_INT:
        put_number(k, attr->i);
        return !attr->ref;
    case ATTR_STRING:
        put_hex(k, attr->s, strlen(attr->s));
        return !attr->ref;
    case ATTR_FLOATS:
        put_hex(k, attr->floats, (size_t)attr->n * sizeof *attr->floats);
        return !attr->ref;
    case ATTR_INTS:
        put_hex(k, attr->ints, (size_t)attr->n * sizeof *attr->ints);
        return !attr->ref;
    default:
        return false;
    }
}

static bool may_share(const Node *node)
{
    if (node->dead || !node->op || node->counts || node->again || !node->n_in ||
        node->op->flags & (OP_NOT_CONSTANT | OP_CONTROL) ||
        node_is(node, "DequantizeLinear"))
        return false;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->dynamic)
            return false;
    return true;
}

/* What stands for each constant, by id: found once. */
typedef struct Canon {
    Map constants;
    Tensor **of;
    int n;
} Canon;

static int operand_id(Graph *graph, Key *k, Canon *canon, Tensor *tensor)
{
    if (!tensor)
        return -1;
    if (tensor->id >= canon->n)
        return tensor->id;
    if (!canon->of[tensor->id])
        canon->of[tensor->id] =
            representative(graph, k, &canon->constants, tensor);
    return canon->of[tensor->id]->id;
}

/* NULL: it has an attribute that is not compared. */
static const char *key_of(Graph *graph, Key *k, Canon *canon, const Node *node)
{
    for (int i = 0; i < node->n_in; i++)
        (void)operand_id(graph, k, canon,
                         node->in[i]); /* they write over the key */
    k->text.n = 0;
    put(k, node->op_type);
    put(k, "/");
    put(k, node->domain);
    put_number(k, node->op->since);
    put_number(k, node->n_in);
    put_number(k, node->n_out | (node->channels_last ? 1 << 30 : 0));
    for (int i = 0; i < node->n_out; i++)
        put(k, node->out[i] ? "y" : "n");
    for (int i = 0; i < node->n_in; i++)
        put_number(k, operand_id(graph, k, canon, node->in[i]));
    for (int i = 0; i < node->n_attr; i++)
        if (!put_attr(k, node->attr + i))
            return NULL;
    return key_done(k);
}

/* By id of a tensor: is it an output of the graph? There may be as many as nodes. */
static bool *find_outputs(const Graph *graph, Arena *arena, int tensors)
{
    bool *is_output = NEW_ARRAY(arena, bool, tensors);
    for (size_t i = 0; i < graph->output.n; i++)
        is_output[graph->output.at[i]->id] = true;
    return is_output;
}

static bool makes_output(const bool *is_output, const Node *node)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && is_output[node->out[i]->id])
            return true;
    return false;
}

/* `later` goes; all that it made is made by `node`. */
static void share(Graph *graph, const Node *node, Node *later)
{
    for (int i = 0; i < later->n_out; i++)
        if (later->out[i] && node->out[i])
            graph_replace(graph, later->out[i], node->out[i]);
    graph_kill(later);
}

/* A sum of several values that stay alive for others, too, is cheaper made again than kept from its
 * first reader to its last: made beside its reader it lies over the reader's result. Where its
 * operands die of it, one result replaces them. */
static bool worth_keeping(const Node *first)
{
    int values = 0;
    bool stays = false;
    if (!(first->op->flags & OP_ELEMENTWISE) || first->n_out != 1 ||
        tensor_bytes(first->out[0]) < LARGE_BYTES)
        return true;
    for (int i = 0; i < first->n_in; i++) {
        if (!first->in[i] || first->in[i]->value)
            continue;
        values++;
        stays |= first->in[i]->uses > 2; /* the two nodes, and another */
    }
    return values < 2 || !stays;
}

void pass_cse(Graph *graph)
{
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    graph_sort(graph);
    Key k = { .arena = scratch };
    Map nodes = map_new(scratch);
    Canon canon = { map_new(scratch), NULL, graph_root(graph)->next_id };
    canon.of = NEW_ARRAY(scratch, Tensor *, canon.n);
    const bool *is_output = find_outputs(graph, scratch, canon.n);
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *n = graph->node.at[i];
        if (!may_share(n) || makes_output(is_output, n))
            continue;
        const char *key = key_of(graph, &k, &canon, n);
        Node *first = key ? map_get(&nodes, key) : NULL;
        if (first && worth_keeping(first))
            share(graph, first, n);
        else if (key && !first)
            map_put(&nodes, key_kept(&k), n);
    }
    graph_compact(graph);
    arena_release(scratch, mark);
}
