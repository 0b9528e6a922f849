/* SPDX-License-Identifier: Apache-2.0
 * One fact of a linked plan changed, and put right again. Whether a changed plan may pass is not
 * for the checker to say: it is run, in memory full of rubbish, and must give the same bytes and
 * stay in its memory. */
#ifndef TEST_DAMAGE_H
#define TEST_DAMAGE_H

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "ir/program.h"
#include "kernels/pushed.h"
#include "prove/check.h"

typedef enum DamageKind {
    DAMAGE_UP, /* a tensor one alignment unit further */
    DAMAGE_DOWN,
    DAMAGE_ONE,      /* one operand of it */
    DAMAGE_RING,     /* a row less of it exists at a time */
    DAMAGE_TURN,     /* a step from last to first, or no more */
    DAMAGE_LIST,     /* two entries of a stream's list */
    DAMAGE_ORDER,    /* two steps */
    DAMAGE_COUNTERS, /* the row counters and the place of the run */
    DAMAGE_SPLIT,    /* a step that threads share, or no more */
    DAMAGE_REGION,   /* a tensor in another memory */
    DAMAGE_SLOT,     /* a row of a pool in another slot */
    DAMAGE_KINDS
} DamageKind;

static const char *const damage_names[] = {
    "tensor up",          "tensor down",    "operand up",
    "ring a row shorter", "step turned",    "list entries swapped",
    "steps swapped",      "counters moved", "step split",
    "another region",     "row slot moved"
};

/* What a plan makes use of. */
typedef enum PlanKind {
    WITH_STREAMS,
    WITH_BACKWARD_STREAMS,
    WITH_OVERLAPS,
    WITH_PAIRS,
    WITH_STRIPS,
    WITH_REGIONS,
    WITH_ROWS,
    WITH_SLICES,
    WITH_SPLITS,
    WITH_VALUES_INSIDE,
    WITH_SLOTS,
    PLAN_KINDS
} PlanKind;

static const char *const plan_names[] = {
    "streams",        "backward streams",
    "overlaps",       "pairs",
    "strips",         "regions",
    "inputs by rows", "slices",
    "threads",        "inputs or results in the arena",
    "row slots"
};

typedef struct DamageCount {
    int caught[DAMAGE_KINDS], harmless[DAMAGE_KINDS], missed;
    int plans, with[PLAN_KINDS]; /* as made: none of them may be objected to */
} DamageCount;

typedef struct Damage {
    Program *program;
    uint64_t random;
    Step **step; /* as they were */
    Operand **operand;
    Segment *segment;
    bool *backward, *split;
    int64_t state, place;
} Damage;

static inline uint32_t damage_random(Damage *d, uint32_t n)
{
    d->random ^= d->random << 13;
    d->random ^= d->random >> 7;
    d->random ^= d->random << 17;
    return (uint32_t)(d->random * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n;
}

static inline Damage damage_begin(Arena *a, Program *p, uint64_t seed)
{
    Damage d = { .program = p,
                 .random = seed * 2654435761u + 88172645463325252u,
                 .state = p->plan.state,
                 .place = p->plan.place };
    d.step = arena_copy(a, p->step.at, p->step.n * sizeof *p->step.at);
    d.operand = NEW_ARRAY(a, Operand *, p->step.n + 1);
    d.backward = NEW_ARRAY(a, bool, p->step.n + 1);
    d.split = NEW_ARRAY(a, bool, p->step.n + 1);
    d.segment = p->plan.segment.n
                    ? arena_copy(a, p->plan.segment.at,
                                 p->plan.segment.n * sizeof *p->plan.segment.at)
                    : NULL;
    for (size_t i = 0; i < p->step.n; i++) {
        d.operand[i] =
            arena_copy(a, d.step[i]->operand,
                       (size_t)d.step[i]->n_operand * sizeof(Operand));
        d.backward[i] = d.step[i]->backward;
        d.split[i] = d.step[i]->split;
    }
    return d;
}

static inline void damage_undo(Damage *d)
{
    Program *p = d->program;
    for (size_t i = 0; i < p->step.n; i++) {
        Step *s = p->step.at[i] = d->step[i];
        memcpy(s->operand, d->operand[i],
               (size_t)s->n_operand * sizeof(Operand));
        s->backward = d->backward[i];
        s->split = d->split[i];
        s->index = (int)i;
    }
    if (d->segment)
        memcpy(p->plan.segment.at, d->segment,
               p->plan.segment.n * sizeof *d->segment);
    p->plan.state = d->state;
    p->plan.place = d->place;
}

static inline bool in_memory(const Program *p, const Operand *o)
{
    return o->tensor && o->ref.base >= INLAY_ARENA &&
           o->ref.base < INLAY_ARENA + program_regions(p);
}

static inline Operand *damage_operand(Damage *d)
{
    for (int tries = 0; tries < 50; tries++) {
        Step *s =
            d->program->step.at[damage_random(d, (uint32_t)d->program->step.n)];
        Operand *o = s->n_operand
                         ? s->operand + damage_random(d, (uint32_t)s->n_operand)
                         : NULL;
        if (o && in_memory(d->program, o))
            return o;
    }
    return NULL;
}

/* All operands on one tensor. */
static inline void move_tensor(Program *p, Tensor *t, int64_t by, int shorter,
                               int base)
{
    int64_t at;
    Tensor *const root = tensor_root(t, &at);
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            Operand *o = p->step.at[i]->operand + k;
            if (!o->tensor || tensor_root(o->tensor, &at) != root)
                continue;
            o->ref.off = (size_t)((int64_t)o->ref.off + by);
            if (o->ref.cap > shorter)
                o->ref.cap -= shorter;
            if (base)
                o->ref.base = base;
        }
}

/* One row of a tensor in a pool lies elsewhere in it, for all operands on it. */
static inline bool move_slot(Damage *d, Arena *a, const Operand *o)
{
    const RowSlots *slots = o->slots;
    if (!slots)
        return false;
    uint16_t *slot =
        arena_copy(a, o->ref.slot, (size_t)slots->rows * sizeof *slot);
    const uint32_t row = damage_random(d, (uint32_t)slots->rows);
    const uint32_t other = damage_random(d, (uint32_t)slots->rows);
    slot[row] = damage_random(d, 2) ? slot[other] : (uint16_t)(slot[row] ^ 1);
    if (slot[row] == o->ref.slot[row])
        return false;
    for (size_t i = 0; i < d->program->step.n; i++)
        for (int k = 0; k < d->program->step.at[i]->n_operand; k++)
            if (d->program->step.at[i]->operand[k].slots == slots)
                d->program->step.at[i]->operand[k].ref.slot = slot;
    return true;
}

static inline bool swap_entries(Damage *d, Arena *a)
{
    Plan *p = &d->program->plan;
    for (int tries = 0; tries < 20 && p->segment.n; tries++) {
        Segment *g = p->segment.at + damage_random(d, (uint32_t)p->segment.n);
        const int32_t n = g->prologue + g->period + g->epilogue;
        if (!g->list || n < 2)
            continue;
        uint8_t *list = arena_copy(a, g->list, (size_t)n);
        const uint32_t i = damage_random(d, (uint32_t)n - 1);
        if (list[i] == list[i + 1])
            continue;
        const uint8_t t = list[i];
        list[i] = list[i + 1];
        list[i + 1] = t;
        g->list = list;
        return true;
    }
    return false;
}

static inline bool swap_steps(Damage *d)
{
    Program *p = d->program;
    if (p->step.n < 2)
        return false;
    const uint32_t i = damage_random(d, (uint32_t)p->step.n - 1);
    Step *s = p->step.at[i];
    p->step.at[i] = p->step.at[i + 1];
    p->step.at[i + 1] = s;
    p->step.at[i]->index = (int)i;
    s->index = (int)i + 1;
    return true;
}

static inline bool move_counters(Damage *d, int64_t by)
{
    Plan *p = &d->program->plan;
    const bool waits = p->place_bytes;
    if ((!p->segment.n && !waits) || (waits ? p->place : p->state) + by < 0)
        return false;
    p->place += by;
    p->state = waits ? p->place + p->place_bytes : p->state + by;
    return true;
}

/* False: there is nothing of the kind. */
static inline bool damage_do(Damage *d, Arena *a, DamageKind kind)
{
    Program *p = d->program;
    Operand *o = damage_operand(d);
    const int64_t unit = damage_random(d, 2) ? 4 : p->plan.arena_align;
    if (!o)
        return false;
    switch (kind) {
    case DAMAGE_UP:
        move_tensor(p, o->tensor, unit, 0, 0);
        return true;
    case DAMAGE_DOWN:
        if ((int64_t)o->ref.off < unit)
            return false;
        move_tensor(p, o->tensor, -unit, 0, 0);
        return true;
    case DAMAGE_ONE:
        o->ref.off += (size_t)unit;
        return true;
    case DAMAGE_RING:
        if (o->ref.cap < 2)
            return false;
        move_tensor(p, o->tensor, 0, 1, 0);
        return true;
    case DAMAGE_TURN: {
        Step *s = p->step.at[damage_random(d, (uint32_t)p->step.n)];
        s->backward = !s->backward;
        return s->units > 1;
    }
    case DAMAGE_SPLIT: {
        Step *s = p->step.at[damage_random(d, (uint32_t)p->step.n)];
        s->split = !s->split;
        return true;
    }
    case DAMAGE_LIST:
        return swap_entries(d, a);
    case DAMAGE_ORDER:
        return swap_steps(d);
    case DAMAGE_SLOT:
        return move_slot(d, a, o);
    case DAMAGE_COUNTERS:
        return move_counters(d, damage_random(d, 2) ? 4 : -4);
    default:
        if (program_regions(p) < 2)
            return false;
        move_tensor(p, o->tensor, 0, 0,
                    INLAY_ARENA +
                        (o->ref.base - INLAY_ARENA + 1) % program_regions(p));
        return true;
    }
}

/* From the first row of the operand to the last of its place. */
static inline int64_t last_row(const Operand *o)
{
    int64_t most = (o->ref.cap - 1) * (int64_t)o->ref.row;
    if (!o->ref.slot)
        return most;
    most = 0;
    for (int32_t r = 0; r < o->rows; r++)
        most = i64_max(most, o->ref.slot[r] * (int64_t)o->ref.unit);
    return most;
}

/* Nothing beside its memory is named; only then may it be run. */
static inline bool stays_inside(const Program *p)
{
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            const Operand *o = p->step.at[i]->operand + k;
            if (!in_memory(p, o))
                continue;
            if (p->step.at[i]->pushed && !program_rows(p, p->step.at[i]))
                continue; /* no row is wanted */
            const int64_t beside =
                o->part ? operand_pitch(o) -
                              o->part * dtype_bits(o->tensor->dtype) / 8
                        : 0; /* other parts of the last pixel */
            int64_t at,
                end = (int64_t)o->ref.off + last_row(o) + o->row_bytes - beside;
            const Tensor *root = tensor_root(o->tensor, &at);
            if (o->ref.cap == o->rows && !o->ref.slot)
                end = i64_min(end, (int64_t)o->ref.off - at - o->offset +
                                       tensor_bytes(root) + o->copied);
            if (end > program_region_size(p, o->ref.base - INLAY_ARENA))
                return false;
        }
    for (size_t i = 0; i < p->plan.segment.n; i++)
        if (p->plan.segment.at[i].list &&
            p->plan.state + 2 * p->plan.segment.at[i].count >
                program_region_size(p, 0))
            return false;
    return true;
}

/* Does the program, as it is now, give the bytes that it should, whatever its memory held? */
typedef bool StillRight(void *context);

static inline void damage_try(Damage *d, Arena *a, DamageKind kind,
                              StillRight *still_right, void *context,
                              DamageCount *n)
{
    const ArenaMark mark = arena_mark(a);
    if (damage_do(d, a, kind)) {
        if (!plan_holds(d->program, NULL))
            n->caught[kind]++;
        else if (stays_inside(d->program) && still_right(context))
            n->harmless[kind]++;
        else {
            n->missed++;
            printf("missed: %s, of plan %d\n", damage_names[kind], n->plans);
        }
    }
    damage_undo(d);
    arena_release(a, mark);
}

/* Does the step's result lie over one of its inputs? */
static inline bool lies_over(const Program *p, const Step *s)
{
    const Operand *y = s->operand;
    for (int k = 1; s->n_operand && in_memory(p, y) && k < s->n_operand; k++) {
        const Operand *x = s->operand + k;
        int64_t at;
        if (!in_memory(p, x) || x->ref.base != y->ref.base ||
            tensor_root(x->tensor, &at) == tensor_root(y->tensor, &at))
            continue;
        if (x->ref.off < y->ref.off + (size_t)y->ref.cap * y->ref.row &&
            y->ref.off < x->ref.off + (size_t)x->ref.cap * x->ref.row)
            return true;
    }
    return false;
}

static inline void damage_note(const Program *p, DamageCount *n)
{
    bool with[PLAN_KINDS] = {
        [WITH_REGIONS] = program_regions(p) > 1,
        [WITH_ROWS] = program_pushed(p),
        [WITH_SLICES] = program_sliced(p),
        [WITH_SPLITS] = program_splits(p) > 0,
    };
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        for (int32_t k = 0; g->list && k < g->count; k++) {
            with[WITH_STREAMS] = true;
            with[WITH_BACKWARD_STREAMS] |= p->step.at[g->first + k]->backward;
        }
    }
    for (size_t i = 0; i < p->step.n; i++) {
        with[WITH_OVERLAPS] |= lies_over(p, p->step.at[i]);
        with[WITH_PAIRS] |= p->step.at[i]->n_lowered > 1;
        with[WITH_STRIPS] |= p->step.at[i]->strip > 0;
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            with[WITH_SLOTS] |= p->step.at[i]->operand[k].slots != NULL;
    }
    for (size_t i = 0; i < p->graph->input.n; i++)
        with[WITH_VALUES_INSIDE] |=
            p->graph->input.at[i]->storage == STORE_ARENA;
    for (size_t i = 0; i < p->graph->output.n; i++)
        with[WITH_VALUES_INSIDE] |=
            p->graph->output.at[i]->storage == STORE_ARENA;
    for (int k = 0; k < PLAN_KINDS; k++)
        n->with[k] += with[k];
    n->plans++;
}

static inline int damage_total(const DamageCount *n, const int *of)
{
    int sum = 0;
    for (int k = 0; k < DAMAGE_KINDS; k++)
        sum += (of ? of : n->caught)[k];
    return sum;
}

static inline void damage_print(const DamageCount *n)
{
    for (int k = 0; k < DAMAGE_KINDS; k++)
        printf("%-22s %9d caught %9d harmless\n", damage_names[k], n->caught[k],
               n->harmless[k]);
    for (int k = 0; k < PLAN_KINDS; k++)
        printf("%9d plans with %s\n", n->with[k], plan_names[k]);
    printf("%-22s %9d caught %9d harmless, %d missed, of %d plans\n", "all",
           damage_total(n, n->caught), damage_total(n, n->harmless), n->missed,
           n->plans);
}

#endif
