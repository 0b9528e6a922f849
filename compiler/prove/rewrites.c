/* SPDX-License-Identifier: Apache-2.0
 * Bytes that are written again hold one value after the other, and a tag does not tell them apart:
 * who touches them does it in the model's order, and not in one stream. */
#include "base/size.h"
#include "prove/replay.h"

/* An operand met before, in a chain by tensor. */
typedef struct Seen {
    const Operand *operand;
    const Step *step;
    int32_t next;
} Seen;

typedef struct Rewrites {
    Check *check;
    int32_t *stream;   /* by step: place in the schedule, -1: none */
    int32_t *chain[2]; /* by tensor id: the last that reads it, that writes it; -1: none */
    VEC(Seen) seen;
} Rewrites;

static int32_t number_of(const Step *s)
{
    return s->lowered[s->n_lowered - 1];
}

static bool overlap(const Operand *a, const Operand *b)
{
    int64_t x, y;
    owner_of(a, &x);
    owner_of(b, &y);
    if (a->part && b->part && operand_pitch(a) == operand_pitch(b) &&
        a->row_bytes == b->row_bytes) {
        const int64_t pitch = operand_pitch(a);
        return x % pitch < y % pitch + b->part * element_bits(b) / 8 &&
               y % pitch < x % pitch + a->part * element_bits(a) / 8;
    }
    return x < y + b->rows * b->row_bytes && y < x + a->rows * a->row_bytes;
}

/* One of both writes. */
static bool in_order(const Rewrites *r, const Step *s, const Operand *o, const Seen *e)
{
    if (e->step == s || !overlap(e->operand, o))
        return true;
    if (e->step->piece && e->operand->write && !o->write)
        return true; /* a copy, made early: the replay sees that it is there */
    if (number_of(e->step) > number_of(s))
        return object(r->check, o, "is read or written in another order than the model's");
    if (o->write && r->stream[s->index] >= 0 && r->stream[s->index] == r->stream[e->step->index])
        return object(r->check, o,
                      "is written in a stream in which another step needs or makes it");
    return true;
}

static bool meet(Rewrites *r, const Step *s, const Operand *o)
{
    int64_t at;
    const int id = owner_of(o, &at)->id;
    for (int written = !o->write; written < 2;
         written++) /* who reads needs to know the writers only */
        for (int32_t i = r->chain[written][id]; i >= 0; i = r->seen.at[i].next)
            if (!in_order(r, s, o, r->seen.at + i))
                return false;
    VEC_PUSH(r->check->arena, &r->seen, ((Seen){ o, s, r->chain[o->write][id] }));
    r->chain[o->write][id] = (int32_t)r->seen.n - 1;
    return true;
}

static void find_streams(Rewrites *r, const Program *p)
{
    r->stream = NEW_ARRAY(r->check->arena, int32_t, p->step.n + 1);
    for (size_t i = 0; i < p->step.n; i++)
        r->stream[i] = -1;
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        for (int32_t k = 0; g->list && k < g->count; k++)
            r->stream[g->first + k] = (int32_t)i;
    }
}

bool check_rewrites(Check *c)
{
    const Program *p = c->program;
    const int ids = graph_root(p->graph)->next_id;
    Rewrites r = { .check = c };
    find_streams(&r, p);
    for (int k = 0; k < 2; k++) {
        r.chain[k] = NEW_ARRAY(c->arena, int32_t, ids + 1);
        for (int i = 0; i < ids; i++)
            r.chain[k][i] = -1;
    }
    for (size_t i = 0; i < p->step.n; i++) {
        c->step = p->step.at[i];
        for (int k = 0; k < c->step->n_operand; k++) {
            const Operand *o = c->step->operand + k;
            if (watched(o) && !o->scratch && !meet(&r, c->step, o))
                return false;
        }
    }
    return true;
}
