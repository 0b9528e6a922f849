/* SPDX-License-Identifier: Apache-2.0
 * For each step or stream: what lives through it, or only in it, and, where its rows are read for
 * the last time while the rows of others are made, the most rows alive at once. */
#include "prove/bound.h"

#include "base/size.h"
#include "prove/replay.h"

typedef struct Life {        /* of a tensor in the arena */
    int32_t first, last;     /* slots; last < 0: not touched */
    int64_t bytes;           /* extent, in whole alignments */
    bool scratch, one_piece; /* one_piece: the last slot wants all of it to its end */
    bool elementwise; /* each reader of its last slot is done with an element before the result's is
                         written */
} Life;

typedef struct Slot { /* a step, or a stream */
    int32_t first, end;
    const Segment *stream; /* NULL: a step */
} Slot;

typedef struct Bound {
    Arena *arena;
    const Program *p;
    Life *life; /* by tensor id */
    VEC(Slot) slot;
    int32_t *slot_of; /* by step */
    int64_t *through; /* by slot: bytes alive before and after, or only in it */
    int64_t *delta;   /* by call of a slot, reads (2i) and writes (2i + 1): bytes that come to life
                         less those that died */
    int32_t *call;    /* by row: when it is made first, or needed last */
} Bound;

static int64_t round_up(const Bound *b, int64_t bytes)
{
    return i64_ceil_div(bytes, b->p->plan.arena_align) * b->p->plan.arena_align;
}

static void list_slots(Bound *b)
{
    const Program *program = b->p;
    b->slot_of = NEW_ARRAY(b->arena, int32_t, program->step.n + 1);
    for (int32_t i = 0, g = 0; i < (int32_t)program->step.n;) {
        while (g < (int32_t)program->plan.segment.n &&
               program->plan.segment.at[g].first + program->plan.segment.at[g].count <= i)
            g++;
        const Segment *s = g < (int32_t)program->plan.segment.n && program->plan.segment.at[g].list
                               ? program->plan.segment.at + g
                               : NULL;
        const int32_t end = s ? s->first + s->count : i + 1;
        for (int32_t k = i; k < end; k++)
            b->slot_of[k] = (int32_t)b->slot.n;
        VEC_PUSH(b->arena, &b->slot, ((Slot){ i, end, s }));
        i = end;
    }
}

/* The life of an operand's tensor; NULL: it takes nothing of the arena. */
static Life *life_of(const Bound *b, const Operand *operand)
{
    int64_t at;
    if (!watched(operand))
        return NULL;
    const Tensor *tensor = owner_of(operand, &at);
    return tensor->storage == STORE_ARENA ? b->life + tensor->id : NULL;
}

static void meet_operand(Bound *b, const Operand *operand, int32_t slot)
{
    int64_t at;
    Life *life = life_of(b, operand);
    if (!life)
        return;
    const Tensor *tensor = owner_of(operand, &at);
    if (life->last < 0)
        *life =
            (Life){ .first = slot,
                    .scratch = operand->scratch,
                    .bytes = round_up(b, operand->ring ? i64_mul(operand->ring, operand->row_bytes)
                                                       : tensor_bytes(tensor)) };
    life->last = slot;
}

/* What a loop reads from before it lives until it ends. */
static void extend_over_loops(Bound *b)
{
    for (size_t i = 0; i < b->p->step.n; i++) {
        const int32_t end = b->p->step.at[i]->loop_end;
        for (int32_t k = (int32_t)i; k <= end && k < (int32_t)b->p->step.n; k++)
            for (int o = 0; o < b->p->step.at[k]->n_operand; o++) {
                Life *life = life_of(b, b->p->step.at[k]->operand + o);
                if (life && life->first < b->slot_of[i])
                    life->last = (int32_t)i64_max(life->last, b->slot_of[end]);
            }
    }
}

static void judge_reads(Bound *b)
{
    for (size_t i = 0; i < b->p->step.n; i++) {
        const Step *s = b->p->step.at[i];
        for (int k = 0; k < s->n_operand; k++) {
            const Operand *o = s->operand + k;
            Life *life = life_of(b, o);
            if (!life || life->last != b->slot_of[i] || life->last >= (int32_t)b->slot.n ||
                life->first == life->last)
                continue;
            if (o->write || (!b->slot.at[life->last].stream && o->reuse == REUSE_NONE))
                life->one_piece = true;
            if (!reuse_in_place(o->reuse) || b->slot.at[life->last].stream)
                life->elementwise = false;
        }
    }
}

/* Inputs in the arena are there before the first step, results after the last. */
static void keep_values(Bound *b)
{
    const Graph *g = b->p->graph;
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *tensor = g->input.at[i];
        Life *l = b->life + tensor->id;
        if (tensor->storage != STORE_ARENA || graph_in_form(g, i) == IO_ROWS)
            continue;
        if (l->last < 0)
            *l = (Life){ .last = 0, .bytes = round_up(b, tensor_bytes(tensor)) };
        l->first = -1;
        if (b->p->plan.preserve_input)
            l->last = (int32_t)b->slot.n;
    }
    for (size_t i = 0; i < graph_results(g); i++)
        if (g->output.at[i]->storage == STORE_ARENA)
            b->life[g->output.at[i]->id].last = (int32_t)b->slot.n;
}

static void find_lives(Bound *b)
{
    const int ids = graph_root(b->p->graph)->next_id;
    b->life = NEW_ARRAY(b->arena, Life, ids + 1);
    for (int i = 0; i < ids; i++)
        b->life[i].last = -1;
    for (size_t i = 0; i < b->p->step.n; i++)
        for (int k = 0; k < b->p->step.at[i]->n_operand; k++)
            meet_operand(b, b->p->step.at[i]->operand + k, b->slot_of[i]);
    keep_values(b);
    extend_over_loops(b);
    for (int i = 0; i < ids; i++)
        b->life[i].elementwise = true;
    judge_reads(b);
}

/* Scratch of the steps of a stream may be the same: the largest counts. */
static int64_t scratch_of(const Bound *b, const Slot *slot)
{
    int64_t most = 0;
    for (int32_t i = slot->first; i < slot->end; i++) {
        int64_t own = 0;
        for (int k = 0; k < b->p->step.at[i]->n_operand; k++) {
            const Operand *o = b->p->step.at[i]->operand + k;
            const Life *life = life_of(b, o);
            if (life && o->scratch)
                own += life->bytes;
        }
        most = i64_max(most, own);
    }
    return most;
}

/* Is the tensor's row counted when it is made and when it dies? The others are there from the first
 * call to the last. */
static bool born_in(const Bound *b, const Life *life, int32_t slot)
{
    return life->last >= 0 && !life->scratch && life->first == slot &&
           (life->last > slot || !b->slot.at[slot].stream);
}

static bool dies_in(const Life *life, int32_t slot)
{
    return life->last == slot && life->first < slot;
}

static void count_through(Bound *b)
{
    const int ids = graph_root(b->p->graph)->next_id;
    b->through = NEW_ARRAY(b->arena, int64_t, b->slot.n + 1);
    for (int i = 0; i < ids; i++) {
        const Life *l = b->life + i;
        for (int32_t s = l->first < 0 ? 0 : l->first;
             l->last >= 0 && !l->scratch && s <= l->last && s < (int32_t)b->slot.n; s++)
            if (!born_in(b, l, s) && !dies_in(l, s))
                b->through[s] += l->bytes;
    }
    for (size_t s = 0; s < b->slot.n; s++) {
        b->through[s] += scratch_of(b, b->slot.at + s);
        if (b->slot.at[s].stream)
            b->through[s] += round_up(b, 2 * (int64_t)b->slot.at[s].stream->count);
    }
}

/* ---- calls ---- */

typedef struct Calls { /* of a slot, in order: unit `unit[i]` of step `step[i]` */
    int32_t n, *step, *unit;
} Calls;

static Calls list_calls(const Bound *b, const Slot *slot, bool reverse)
{
    const Segment *segment = slot->stream;
    const Step *only = b->p->step.at[slot->first];
    const int32_t n =
        segment ? segment->prologue + segment->period * segment->repeats + segment->epilogue
                : only->units;
    Calls calls = { n, NEW_ARRAY(b->arena, int32_t, n + 1), NEW_ARRAY(b->arena, int32_t, n + 1) };
    int32_t *made = NEW_ARRAY(b->arena, int32_t, slot->end - slot->first + 1);
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = segment ? segment_entry(segment, i) : 0;
        const int32_t u = made[k]++;
        const Step *other = b->p->step.at[slot->first + k];
        calls.step[i] = slot->first + k;
        calls.unit[i] = other->backward != reverse ? other->units - 1 - u : u;
    }
    return calls;
}

/* A tensor as the finest rows in which the operands on it that make it (born), or touch it, in a
 * slot see it. */
typedef struct Image {
    int32_t rows; /* 0: some do not see all of it */
    int64_t row_bytes;
} Image;

static Image image_in(const Bound *b, const Slot *slot, const Life *life, bool born)
{
    Image r = { 0, 0 };
    for (int32_t i = slot->first; i < slot->end; i++)
        for (int k = 0; k < b->p->step.at[i]->n_operand; k++) {
            const Operand *o = b->p->step.at[i]->operand + k;
            int64_t at;
            if (life_of(b, o) != life || (born && !o->write))
                continue;
            const Tensor *tensor = owner_of(o, &at);
            if (o->part)
                at -= at % i64_max(1, operand_pitch(o));
            if (at != 0 || i64_mul(o->rows, o->row_bytes) != tensor_bytes(tensor))
                return (Image){ 0, 0 };
            if (o->rows > r.rows)
                r = (Image){ o->rows, o->row_bytes };
        }
    return r;
}

/* When each row is made first (born), or needed last. */
static void note_row_calls(const Bound *b, const Calls *calls, const Life *life, Image as,
                           bool born)
{
    for (int32_t r = 0; r < as.rows; r++)
        b->call[r] = born ? calls->n - 1 : -1; /* never needed: gone at once */
    for (int32_t e = 0; e < calls->n; e++) {
        const int32_t i = born ? calls->n - 1 - e : e; /* the last note stays */
        const Step *s = b->p->step.at[calls->step[i]];
        for (int k = 0; k < s->n_operand; k++) {
            const Operand *o = s->operand + k;
            if (life_of(b, o) != life || o->write != born)
                continue;
            const Range r =
                born && !by_row(s, o) ? (Range){ 0, o->rows } : rows_of(s, o, calls->unit[i]);
            const int64_t end =
                r.hi * o->row_bytes / as.row_bytes; /* of those that it sees as a whole */
            for (int64_t row = i64_ceil_div(r.lo * o->row_bytes, as.row_bytes); row < end; row++)
                b->call[row] = i;
        }
    }
}

/* Made in blocks or parts: what each call makes counts from then on, with the last all of it:
 * tensors are not put together of pieces. */
static void add_pieces(const Bound *b, const Calls *calls, const Life *life)
{
    int64_t rest = life->bytes;
    for (int32_t i = 0; i < calls->n; i++) {
        const Step *s = b->p->step.at[calls->step[i]];
        for (int k = 0; k < s->n_operand; k++) {
            const Operand *o = s->operand + k;
            if (life_of(b, o) != life || !o->write)
                continue;
            const int64_t row =
                o->part ? o->row_bytes / operand_pitch(o) * o->part * element_bits(o) / 8
                        : o->row_bytes;
            const int64_t bytes = i64_min(rest, by_row(s, o)     ? row
                                                : calls->unit[i] ? 0
                                                                 : o->rows * row);
            b->delta[2 * i + 1] += bytes;
            rest -= bytes;
        }
    }
    b->delta[calls->n ? 2 * calls->n - 1 : 0] += rest;
}

/* A tensor's bytes over the calls of its slot, into b->delta. What is not known does not count. */
static void add_life(const Bound *b, const Calls *calls, const Slot *slot, const Life *life,
                     bool born)
{
    const Image as = image_in(b, slot, life, born);
    if (!born &&
        (!as.rows || life->one_piece ||
         life->elementwise)) { /* elementwise: each element makes room for its own result */
        b->delta[0] += life->bytes;
        b->delta[life->one_piece ? 2 * calls->n : life->elementwise ? 1 : 2] -= life->bytes;
        return;
    }
    if (!as.rows) {
        add_pieces(b, calls, life);
        return;
    }
    note_row_calls(b, calls, life, as, born);
    int64_t rest =
        life->bytes; /* what the alignment adds may be taken at once by what lies over it:
                                it is not counted */
    for (int32_t r = 0; r < as.rows; r++) {
        const int64_t bytes = i64_min(rest, as.row_bytes);
        rest -= bytes;
        if (born)
            b->delta[2 * b->call[r] + 1] += bytes;
        else
            b->delta[0] += bytes, b->delta[2 * b->call[r] + 2] -= bytes;
    }
}

/* Does operand k alone stand for a tensor that dies in the step, pixel by pixel? */
static bool dies_by_pixels(const Bound *b, const Slot *s, const Step *other, int k, int32_t slot)
{
    const Operand *x = other->operand + k;
    const Life *life = life_of(b, x);
    if (!life || !x->pixels.tile || !whole_pixels(x) || !dies_in(life, slot) || life->one_piece ||
        life->elementwise || !image_in(b, s, life, false).rows)
        return false;
    for (int i = 0; i < other->n_operand; i++)
        if (i != k && life_of(b, other->operand + i) == life)
            return false;
    return true;
}

/* Within a row the pixels of the result take the place of those that are needed no more. */
static void save_pixels(const Bound *b, const Calls *calls, int32_t slot, bool reverse)
{
    const Slot *s = b->slot.at + slot;
    const Step *other = b->p->step.at[s->first];
    const Life *made = other->n_operand ? life_of(b, other->operand) : NULL;
    if (s->stream || !made || !born_in(b, made, slot) || !by_row(other, other->operand) ||
        !whole_pixels(other->operand))
        return;
    const size_t n = (size_t)other->n_operand;
    int32_t *dying = NEW_ARRAY(b->arena, int32_t, n * (size_t)calls->n);
    bool any = false;
    for (int k = other->n_out; k < other->n_operand; k++) {
        if (!dies_by_pixels(b, s, other, k, slot))
            continue;
        const Image as = image_in(b, s, life_of(b, other->operand + k), false);
        note_row_calls(b, calls, life_of(b, other->operand + k), as, false);
        for (int32_t r = 0; r < as.rows; r++)
            if (b->call[r] >= 0)
                any = true, dying[(size_t)b->call[r] * n + (size_t)k]++;
    }
    for (int32_t i = 0; any && i < calls->n; i++) {
        const int64_t saved =
            pixels_saved(other, other->backward != reverse, dying + (size_t)i * n);
        b->delta[2 * i + 1] -= saved;
        b->delta[2 * i + 2] += saved;
    }
}

static int64_t most_alive(const Bound *b, int32_t slot, bool reverse)
{
    const ArenaMark mark = arena_mark(b->arena);
    Bound in = *b;
    const Slot *s = b->slot.at + slot;
    const Calls calls = list_calls(b, s, reverse);
    int64_t most = 0;
    int64_t alive = 0;
    int32_t rows = 1;
    for (int32_t i = s->first; i < s->end; i++)
        for (int k = 0; k < b->p->step.at[i]->n_operand; k++)
            rows = (int32_t)i64_max(rows, b->p->step.at[i]->operand[k].rows);
    in.delta = NEW_ARRAY(b->arena, int64_t, 2 * calls.n + 2);
    in.call = NEW_ARRAY(b->arena, int32_t, rows + 1);
    bool *done = NEW_ARRAY(b->arena, bool, graph_root(b->p->graph)->next_id + 1);
    for (int32_t i = s->first; i < s->end; i++)
        for (int k = 0; k < b->p->step.at[i]->n_operand; k++) {
            const Life *l = life_of(b, b->p->step.at[i]->operand + k);
            if (!l || !l->bytes || done[l - b->life])
                continue;
            done[l - b->life] = true;
            if (born_in(b, l, slot))
                add_life(&in, &calls, s, l, true);
            else if (dies_in(l, slot))
                add_life(&in, &calls, s, l, false);
        }
    save_pixels(&in, &calls, slot, reverse);
    for (int32_t i = 0; i < 2 * calls.n; i++) {
        alive += in.delta[i];
        most = i64_max(most, alive);
    }
    arena_release(b->arena, mark);
    return round_up(b, most);
}

/* A step may go from its last row to its first where its kernel can; a stream goes as it was
 * walked. */
static bool can_turn(const Bound *b, const Slot *slot)
{
    for (int k = 0; !slot->stream && k < b->p->step.at[slot->first]->n_operand; k++)
        if (reuse_reverses(b->p->step.at[slot->first]->operand[k].reuse))
            return true;
    return false;
}

int64_t plan_lower_bound(const Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Bound b = { .arena = scratch, .p = program };
    int64_t bound = 0;
    list_slots(&b);
    find_lives(&b);
    count_through(&b);
    for (int32_t s = 0; s < (int32_t)b.slot.n; s++) {
        int64_t alive = most_alive(&b, s, false);
        if (can_turn(&b, b.slot.at + s))
            alive = i64_min(alive, most_alive(&b, s, true));
        bound = i64_max(bound, b.through[s] + alive);
    }
    arena_release(scratch, mark);
    return bound;
}
