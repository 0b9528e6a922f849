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
    SMALL_BYTES = 128,  /* constants up to this size are compared by value */
    LARGE_BYTES = 4096, /* results from this size on are images rather than shapes */
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
static Tensor *representative(Graph *g, Key *k, Map *constants, Tensor *t)
{
    if (!t || !t->value || t->dtype == DT_STRING || recipe_bytes(t->value) > SMALL_BYTES)
        return t;
    k->text.n = 0;
    put_number(k, t->dtype);
    put_number(k, t->shape.rank);
    for (int i = 0; i < t->shape.rank; i++)
        put_number(k, t->shape.dim[i]);
    const size_t n = (size_t)recipe_bytes(t->value);
    unsigned char value[SMALL_BYTES];
    const ArenaMark mark = arena_mark(k->arena);
    if (n)
        memcpy(value, recipe_values(g->store, k->arena, t->value), n);
    arena_release(k->arena, mark);
    put_hex(k, value, n);
    const char *key = key_done(k);
    Tensor *first = map_get(constants, key);
    if (!first)
        map_put(constants, key_kept(k), t);
    return first ? first : t;
}

static bool put_attr(Key *k, const Attr *a)
{
    if (a->list)
        return false;
    put(k, a->name);
    put_number(k, a->kind);
    put_number(k, a->n);
    switch (a->kind) {
    case ATTR_FLOAT:
        put_hex(k, &a->f, sizeof a->f);
        return !a->ref;
    case ATTR_INT:
        put_number(k, a->i);
        return !a->ref;
    case ATTR_STRING:
        put_hex(k, a->s, strlen(a->s));
        return !a->ref;
    case ATTR_FLOATS:
        put_hex(k, a->floats, (size_t)a->n * sizeof *a->floats);
        return !a->ref;
    case ATTR_INTS:
        put_hex(k, a->ints, (size_t)a->n * sizeof *a->ints);
        return !a->ref;
    default:
        return false;
    }
}

static bool may_share(const Node *n)
{
    if (n->dead || !n->op || n->counts || !n->n_in ||
        n->op->flags & (OP_NOT_CONSTANT | OP_CONTROL) || node_is(n, "DequantizeLinear"))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->dynamic)
            return false;
    return true;
}

/* What stands for each constant, by id: found once. */
typedef struct Canon {
    Map constants;
    Tensor **of;
    int n;
} Canon;

static int operand_id(Graph *g, Key *k, Canon *c, Tensor *t)
{
    if (!t)
        return -1;
    if (t->id >= c->n)
        return t->id;
    if (!c->of[t->id])
        c->of[t->id] = representative(g, k, &c->constants, t);
    return c->of[t->id]->id;
}

/* NULL: it has an attribute that is not compared. */
static const char *key_of(Graph *g, Key *k, Canon *c, const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        (void)operand_id(g, k, c, n->in[i]); /* they write over the key */
    k->text.n = 0;
    put(k, n->op_type);
    put(k, "/");
    put(k, n->domain);
    put_number(k, n->op->since);
    put_number(k, n->n_in);
    put_number(k, n->n_out | (n->channels_last ? 1 << 30 : 0));
    for (int i = 0; i < n->n_out; i++)
        put(k, n->out[i] ? "y" : "n");
    for (int i = 0; i < n->n_in; i++)
        put_number(k, operand_id(g, k, c, n->in[i]));
    for (int i = 0; i < n->n_attr; i++)
        if (!put_attr(k, n->attr + i))
            return NULL;
    return key_done(k);
}

static bool makes_output(const Graph *g, const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && graph_is_output(g, n->out[i]))
            return true;
    return false;
}

/* `later` goes; all that it made is made by `n`. */
static void share(Graph *g, const Node *n, Node *later)
{
    for (int i = 0; i < later->n_out; i++)
        if (later->out[i] && n->out[i])
            graph_replace(g, later->out[i], n->out[i]);
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

void pass_cse(Graph *g)
{
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    graph_sort(g);
    Key k = { .arena = scratch };
    Map nodes = map_new(scratch);
    Canon c = { map_new(scratch), NULL, graph_root(g)->next_id };
    c.of = NEW_ARRAY(scratch, Tensor *, c.n);
    for (size_t i = 0; i < g->node.n; i++) {
        Node *n = g->node.at[i];
        if (!may_share(n) || makes_output(g, n))
            continue;
        const char *key = key_of(g, &k, &c, n);
        Node *first = key ? map_get(&nodes, key) : NULL;
        if (first && worth_keeping(first))
            share(g, first, n);
        else if (key && !first)
            map_put(&nodes, key_kept(&k), n);
    }
    graph_compact(g);
    arena_release(scratch, mark);
}
