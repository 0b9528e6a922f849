/* SPDX-License-Identifier: Apache-2.0
 * Bytes that are written again hold one value after the other, and a tag does not tell them apart:
 * who touches them does it in the model's order, and not in one stream. */
#include "base/size.h"
#include "prove/replay.h"

/* An operand met before, in a chain by tensor. */
typedef struct Seen {
    const Operand *operand;
    const Step *step;
    int32_t next; /* as in Rewrites.chain */
} Seen;

typedef struct Rewrites {
    Check *check;
    int32_t *stream; /* by step: number in the schedule, from 1 on; 0: none */
    /* by tensor id: the last operand that reads it, that writes it: its number among those seen,
     * from 1 on; 0: none */
    int32_t *chain[2];
    VEC(Seen) seen;
} Rewrites;

static int32_t number_of(const Step *step)
{
    return step->lowered[step->n_lowered - 1];
}

/* Bytes [begin, end) of a tensor, or of each of its pixels. */
typedef struct Stretch {
    int64_t begin, end;
} Stretch;

static Stretch stretch_of(const Operand *operand, bool in_pixels)
{
    Stretch stretch;
    owner_of(operand, &stretch.begin);
    if (!in_pixels) {
        stretch.end = stretch.begin + operand->rows * operand->row_bytes;
        return stretch;
    }
    stretch.begin %= operand_pitch(operand);
    stretch.end = stretch.begin + operand->part * element_bits(operand) / 8;
    return stretch;
}

/* Parts of the same pixels overlap where their channels do. */
static bool overlap(const Operand *a, const Operand *b)
{
    const bool parts = a->part && b->part &&
                       operand_pitch(a) == operand_pitch(b) &&
                       a->row_bytes == b->row_bytes;
    const Stretch x = stretch_of(a, parts);
    const Stretch y = stretch_of(b, parts);
    return x.begin < y.end && y.begin < x.end;
}

/* One of both writes. */
static bool in_order(const Rewrites *rewrites, const Step *s, const Operand *o,
                     const Seen *e)
{
    if (e->step == s || !overlap(e->operand, o))
        return true;
    /* a copy, made early: the replay sees that it is there */
    if (e->step->piece && e->operand->write && !o->write)
        return true;
    if (number_of(e->step) > number_of(s))
        return object(rewrites->check, o,
                      "is read or written in another order than the model's");
    if (o->write && rewrites->stream[s->index] &&
        rewrites->stream[s->index] == rewrites->stream[e->step->index])
        return object(
            rewrites->check, o,
            "is written in a stream in which another step needs or makes it");
    return true;
}

static bool meet(Rewrites *rewrites, const Step *step, const Operand *operand)
{
    int64_t at;
    const int id = owner_of(operand, &at)->id;
    /* what reads is compared with what writes only */
    for (int written = !operand->write; written < 2; written++) {
        int32_t i = rewrites->chain[written][id];
        while (i) {
            const Seen *seen = rewrites->seen.at + i - 1;
            if (!in_order(rewrites, step, operand, seen))
                return false;
            i = seen->next;
        }
    }
    int32_t *last = rewrites->chain[operand->write] + id;
    const Seen seen = { operand, step, *last };
    VEC_PUSH(rewrites->check->arena, &rewrites->seen, seen);
    *last = (int32_t)rewrites->seen.n;
    return true;
}

static void find_streams(Rewrites *rewrites, const Program *program)
{
    rewrites->stream =
        NEW_ARRAY(rewrites->check->arena, int32_t, program->step.n);
    for (size_t i = 0; i < program->plan.segment.n; i++) {
        const Segment *g = program->plan.segment.at + i;
        for (int32_t k = 0; g->list && k < g->count; k++)
            rewrites->stream[g->first + k] = (int32_t)i + 1;
    }
}

bool check_rewrites(Check *c)
{
    const Program *p = c->program;
    const int ids = graph_root(p->graph)->next_id;
    Rewrites rewrites = {
        .check = c,
        .chain = { NEW_ARRAY(c->arena, int32_t, ids),
                   NEW_ARRAY(c->arena, int32_t, ids) },
    };
    find_streams(&rewrites, p);
    for (size_t i = 0; i < p->step.n; i++) {
        c->step = p->step.at[i];
        for (int k = 0; k < c->step->n_operand; k++) {
            const Operand *o = c->step->operand + k;
            if (watched(o) && !o->scratch && !meet(&rewrites, c->step, o))
                return false;
        }
    }
    return true;
}
