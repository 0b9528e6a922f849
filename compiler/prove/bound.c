/* SPDX-License-Identifier: Apache-2.0
 * For each step or stream: what lives through it, or only in it, and, where its rows are read for
 * the last time while the rows of others are made, the most rows alive at once. */
#include "prove/bound.h"

#include "base/size.h"
#include "prove/lives.h"
#include "prove/replay.h"

typedef struct Bound {
    Arena *arena;
    const Lives *lives;
    int64_t *through; /* by slot: bytes alive before and after, or only in it */
    /* by call of a slot, reads (2i) and writes (2i + 1): bytes that come to life less those that
     * died */
    int64_t *delta;
    int32_t *call;  /* by row: when it is made first, or needed last */
    int32_t *added; /* by tensor id: the last call of add_lives() that met it */
    int32_t turn;   /* of add_lives(), from 1 on */
} Bound;

static const Step *step_at(const Bound *b, int32_t i)
{
    return b->lives->program->step.at[i];
}

static const Slot *slot_at(const Bound *b, int32_t slot)
{
    return b->lives->slot.at + slot;
}

/* Scratch of the steps of a stream may be the same: the largest counts. */
static int64_t scratch_of(const Bound *b, const Slot *slot)
{
    int64_t most = 0;
    for (int32_t i = slot->first; i < slot->end; i++) {
        const Step *step = step_at(b, i);
        int64_t own = 0;
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            const Life *life = life_of(b->lives, operand);
            if (life && operand->scratch)
                own += life->bytes;
        }
        most = i64_max(most, own);
    }
    return most;
}

/* From which slot to which all of it is there: b->through is what each slot has more than the one
 * before. */
static void add_through(const Bound *b, const Life *life)
{
    const int32_t slots = (int32_t)b->lives->slot.n;
    int32_t first = (int32_t)i64_max(life->first, 0);
    int32_t end = (int32_t)i64_min(life->last + 1, slots);
    if (life->last < 0 || life->scratch || life->guest)
        return;
    if (first < end && life_begins(b->lives, life, first))
        first++;
    if (first < end && life_ends(life, end - 1))
        end--;
    if (first >= end)
        return;
    b->through[first] += life->bytes;
    b->through[end] -= life->bytes;
}

/* How many units each step of a stream has made: two bytes each. */
static int64_t counters_of(const Lives *lives, const Segment *stream)
{
    return lives_round_up(lives, 2 * (int64_t)stream->count);
}

static void count_through(Bound *b)
{
    const Lives *lives = b->lives;
    b->through = NEW_ARRAY(b->arena, int64_t, lives->slot.n + 1);
    for (int i = 0; i < lives->ids; i++)
        add_through(b, lives->life + i);
    for (size_t s = 1; s < lives->slot.n; s++)
        b->through[s] += b->through[s - 1];
    for (size_t s = 0; s < lives->slot.n; s++) {
        const Slot *slot = lives->slot.at + s;
        b->through[s] += scratch_of(b, slot);
        if (slot->stream)
            b->through[s] += counters_of(lives, slot->stream);
    }
}

/* ---- calls ---- */

/* The units that a slot makes, in order: unit `unit[i]` of step `step[i]`. None: nothing comes to
 * life there, or dies. */
typedef struct Calls {
    int32_t n, *step, *unit;
} Calls;

static int32_t count_calls(const Bound *b, const Slot *slot)
{
    const Segment *stream = slot->stream;
    if (!stream)
        return step_at(b, slot->first)->units;
    const int32_t repeated = stream->period * stream->repeats;
    return stream->prologue + repeated + stream->epilogue;
}

static int32_t unit_of(const Step *step, int32_t call, bool reverse)
{
    const bool backward = step->backward != reverse;
    return backward ? step->units - 1 - call : call;
}

static Calls list_calls(const Bound *b, const Slot *slot, bool reverse)
{
    const int32_t n = count_calls(b, slot);
    const int32_t steps = slot->end - slot->first;
    Calls calls = {
        .n = n,
        .step = NEW_ARRAY(b->arena, int32_t, n),
        .unit = NEW_ARRAY(b->arena, int32_t, n),
    };
    int32_t *made = NEW_ARRAY(b->arena, int32_t, steps);
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = slot->stream ? segment_entry(slot->stream, i) : 0;
        const int32_t number = slot->first + k;
        calls.step[i] = number;
        calls.unit[i] = unit_of(step_at(b, number), made[k], reverse);
        made[k]++;
    }
    return calls;
}

/* A tensor as the finest rows in which the operands on it that make it (born), or touch it, in a
 * slot see it. Where some do not see all of it, the reader of the most stands for all of them: what
 * it does not read may be gone before the slot. */
typedef struct Image {
    int32_t rows; /* 0: some do not see all of what is made */
    int64_t row_bytes;
    const Operand *only; /* NULL: each operand counts */
} Image;

/* Does the operand see all rows of its tensor, from the first on? */
static bool sees_all(const Operand *operand)
{
    int64_t at;
    const Tensor *tensor = owner_of(operand, &at);
    if (operand->part)
        at -= at % i64_max(1, operand_pitch(operand));
    return at == 0 &&
           i64_mul(operand->rows, operand->row_bytes) == tensor_bytes(tensor);
}

/* Does the operand make the tensor (born), or touch it? */
static bool counts_for(const Bound *b, const Operand *operand, const Life *life,
                       bool born)
{
    return (operand->write || !born) && life_of(b->lives, operand) == life;
}

static Image image_in(const Bound *b, const Slot *slot, const Life *life,
                      bool born)
{
    Image image = { 0, 0, NULL };
    Image widest = image;
    int64_t most = 0;
    bool all = true;
    for (int32_t i = slot->first; i < slot->end; i++) {
        const Step *step = step_at(b, i);
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            if (!counts_for(b, operand, life, born))
                continue;
            all &= sees_all(operand);
            if (operand->rows > image.rows)
                image = (Image){ operand->rows, operand->row_bytes, NULL };
            const int64_t seen = i64_mul(operand->rows, operand->row_bytes);
            if (operand->write || seen <= most)
                continue;
            most = seen;
            widest = (Image){ operand->rows, operand->row_bytes, operand };
        }
    }
    if (all)
        return image;
    return born ? (Image){ 0, 0, NULL } : widest;
}

/* Rows of an operand, as those of the image that it touches as a whole, are touched by call i. */
static void note_rows(const Bound *b, Range range, int64_t row_bytes, Image as,
                      int32_t i)
{
    int64_t row = i64_ceil_div(range.lo * row_bytes, as.row_bytes);
    const int64_t end = range.hi * row_bytes / as.row_bytes;
    for (; row < end; row++)
        b->call[row] = i;
}

/* The operands of call i that make the tensor (born), or read it. */
static void note_call(const Bound *b, const Calls *calls, int32_t i,
                      const Life *life, Image as, bool born)
{
    const Step *step = step_at(b, calls->step[i]);
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (life_of(b->lives, operand) != life || operand->write != born)
            continue;
        if (as.only && operand != as.only)
            continue;
        Range range = { 0, operand->rows };
        if (!born || by_row(step, operand))
            range = rows_of(step, operand, calls->unit[i]);
        note_rows(b, range, operand->row_bytes, as, i);
    }
}

/* When each row is made first (born), or needed last: the last note stays. */
static void note_row_calls(const Bound *b, const Calls *calls, const Life *life,
                           Image as, bool born)
{
    const int32_t last = calls->n - 1;
    const int32_t never = born ? last : -1; /* not needed: gone at once */
    for (int32_t row = 0; row < as.rows; row++)
        b->call[row] = never;
    for (int32_t i = 0; i <= last; i++) {
        const int32_t call = born ? last - i : i;
        note_call(b, calls, call, life, as, born);
    }
}

/* Bytes that a call makes of an operand in blocks or parts. */
static int64_t made_by(const Step *step, const Operand *operand, int32_t unit)
{
    int64_t row = operand->row_bytes;
    if (operand->part) {
        const int64_t pixels = row / operand_pitch(operand);
        row = pixels * operand->part * element_bits(operand) / 8;
    }
    if (by_row(step, operand))
        return row;
    return unit ? 0 : operand->rows * row;
}

/* Made in blocks or parts: what each call makes counts from then on, with the last all of it:
 * tensors are not put together of pieces. Where other steps make a part of it later, what the last
 * call reads may lie there until then. */
static void add_pieces(const Bound *b, const Calls *calls, const Life *life)
{
    int64_t rest = life->bytes;
    int64_t extent = 0;
    for (int32_t i = 0; i < calls->n; i++) {
        const Step *step = step_at(b, calls->step[i]);
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            int64_t at;
            if (life_of(b->lives, operand) != life || !operand->write)
                continue;
            extent = operand_extent(operand, owner_of(operand, &at));
            const int64_t made = made_by(step, operand, calls->unit[i]);
            const int64_t bytes = i64_min(rest, made);
            b->delta[2 * i + 1] += bytes;
            rest -= bytes;
        }
    }
    const bool all = life->bytes - rest >= extent;
    int32_t end = 2 * calls->n;
    if (all)
        end--;
    b->delta[end] += rest;
}

/* Is it there as a whole until it dies? Where each element makes room for its own result, it is
 * gone with the first call's reads. */
static bool dies_at_once(const Life *life, Image as)
{
    return !as.rows || life->one_piece || life->elementwise;
}

/* Bytes that the slot needs of a tensor that dies in it. */
static int64_t needed_of(const Life *life, Image as)
{
    return as.only ? as.rows * as.row_bytes : life->bytes;
}

static void add_whole(const Bound *b, const Calls *calls, const Life *life,
                      Image as)
{
    const int64_t bytes = needed_of(life, as);
    int32_t end = 2;
    if (life->one_piece)
        end = 2 * calls->n;
    else if (life->elementwise)
        end = 1;
    b->delta[0] += bytes;
    b->delta[end] -= bytes;
}

/* What the alignment adds may be taken at once by what lies over it: it is not counted. */
static void add_rows(const Bound *b, const Life *life, Image as, bool born)
{
    int64_t rest = needed_of(life, as);
    for (int32_t row = 0; row < as.rows; row++) {
        const int64_t bytes = i64_min(rest, as.row_bytes);
        const int32_t call = b->call[row];
        rest -= bytes;
        if (born) {
            b->delta[2 * call + 1] += bytes;
        } else {
            b->delta[0] += bytes;
            b->delta[2 * call + 2] -= bytes;
        }
    }
}

/* A tensor's bytes over the calls of its slot, into b->delta. What is not known does not count. */
static void add_life(const Bound *b, const Calls *calls, const Slot *slot,
                     const Life *life, bool born)
{
    const Image as = image_in(b, slot, life, born);
    if (!born && dies_at_once(life, as)) {
        add_whole(b, calls, life, as);
    } else if (!as.rows) {
        add_pieces(b, calls, life);
    } else {
        note_row_calls(b, calls, life, as, born);
        add_rows(b, life, as, born);
    }
}

/* Does operand k alone stand for a tensor that dies in the step, pixel by pixel? */
static bool dies_by_pixels(const Bound *b, int32_t slot, const Step *step,
                           int k)
{
    const Operand *x = step->operand + k;
    const Life *life = life_of(b->lives, x);
    if (!life || !x->pixels.tile || !whole_pixels(x) || !life_ends(life, slot))
        return false;
    if (dies_at_once(life, image_in(b, slot_at(b, slot), life, false)))
        return false;
    for (int i = 0; i < step->n_operand; i++)
        if (i != k && life_of(b->lives, step->operand + i) == life)
            return false;
    return true;
}

/* Is the step's result made pixel by pixel, and born with it? */
static bool made_by_pixels(const Bound *b, const Step *step, int32_t slot)
{
    const Operand *y = step->operand;
    if (slot_at(b, slot)->stream || !step->n_operand)
        return false;
    const Life *made = life_of(b->lives, y);
    return made && life_begins(b->lives, made, slot) && by_row(step, y) &&
           whole_pixels(y);
}

/* Notes in which call each row of the operand dies, in b->call; returns how many rows. */
static int32_t note_deaths(const Bound *b, const Calls *calls, int32_t slot,
                           const Operand *operand)
{
    const Life *life = life_of(b->lives, operand);
    const Image as = image_in(b, slot_at(b, slot), life, false);
    note_row_calls(b, calls, life, as, false);
    return as.rows;
}

/* Of each call and operand: how many of its rows die there, pixel by pixel; false: none. */
static bool count_dying(const Bound *b, const Calls *calls, int32_t slot,
                        int32_t *dying)
{
    const Step *step = step_at(b, slot_at(b, slot)->first);
    const int64_t operands = step->n_operand;
    bool any = false;
    for (int k = step->n_out; k < step->n_operand; k++) {
        if (!dies_by_pixels(b, slot, step, k))
            continue;
        const int32_t rows = note_deaths(b, calls, slot, step->operand + k);
        for (int32_t row = 0; row < rows; row++) {
            const int32_t call = b->call[row];
            if (call < 0)
                continue;
            any = true;
            dying[call * operands + k]++;
        }
    }
    return any;
}

/* Within a row the pixels of the result take the place of those that are needed no more. */
static void save_pixels(const Bound *b, const Calls *calls, int32_t slot,
                        bool reverse)
{
    const Step *step = step_at(b, slot_at(b, slot)->first);
    if (!made_by_pixels(b, step, slot))
        return;
    const int64_t operands = step->n_operand;
    const bool backward = step->backward != reverse;
    int32_t *dying = NEW_ARRAY(b->arena, int32_t, operands * calls->n);
    if (!count_dying(b, calls, slot, dying))
        return;
    for (int32_t i = 0; i < calls->n; i++) {
        const int32_t *of_call = dying + i * operands;
        const int64_t saved = pixels_saved(step, backward, of_call);
        b->delta[2 * i + 1] -= saved;
        b->delta[2 * i + 2] += saved;
    }
}

static int32_t most_rows(const Bound *b, const Slot *slot)
{
    int32_t rows = 1;
    for (int32_t i = slot->first; i < slot->end; i++) {
        const Step *step = step_at(b, i);
        for (int k = 0; k < step->n_operand; k++) {
            const int32_t seen = step->operand[k].rows;
            rows = seen > rows ? seen : rows;
        }
    }
    return rows;
}

/* Is it met for the first time in this turn? */
static bool meet_life(const Bound *b, const Life *life)
{
    int32_t *added = b->added + (life - b->lives->life);
    const bool first = *added != b->turn;
    *added = b->turn;
    return first;
}

/* All that is born in the slot or dies there, each once: b->turn is a number of its own for each
 * call. */
static void add_lives(const Bound *b, const Calls *calls, int32_t slot)
{
    const Slot *s = slot_at(b, slot);
    for (int32_t i = s->first; i < s->end; i++) {
        const Step *step = step_at(b, i);
        for (int k = 0; k < step->n_operand; k++) {
            const Life *life = life_of(b->lives, step->operand + k);
            if (!life || !life->bytes || !meet_life(b, life))
                continue;
            const bool born = life_begins(b->lives, life, slot);
            if (born || life_ends(life, slot))
                add_life(b, calls, s, life, born);
        }
    }
}

static int64_t most_alive(const Bound *b, int32_t slot, bool reverse)
{
    const ArenaMark mark = arena_mark(b->arena);
    const Slot *s = slot_at(b, slot);
    const Calls calls = list_calls(b, s, reverse);
    Bound in = *b;
    in.turn = 2 * slot + (reverse ? 2 : 1);
    int64_t most = 0;
    int64_t alive = 0;
    in.delta = NEW_ARRAY(b->arena, int64_t, 2 * calls.n + 3);
    in.call = NEW_ARRAY(b->arena, int32_t, most_rows(b, s));
    if (calls.n) {
        add_lives(&in, &calls, slot);
        save_pixels(&in, &calls, slot, reverse);
    }
    for (int32_t i = 0; i < 2 * calls.n; i++) {
        alive += in.delta[i];
        most = i64_max(most, alive);
    }
    arena_release(b->arena, mark);
    return lives_round_up(b->lives, most);
}

/* A step may go from its last row to its first where its kernel can; a stream goes as it was
 * walked. */
static bool can_turn(const Bound *b, const Slot *slot)
{
    const Step *step = step_at(b, slot->first);
    for (int k = step->n_out; !slot->stream && k < step->n_operand; k++)
        if (reuse_reverses(step->operand[k].reuse))
            return true;
    return false;
}

int64_t plan_lower_bound(const Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Lives lives = lives_find(scratch, program);
    Bound b = { .arena = scratch, .lives = &lives };
    const int32_t slots = (int32_t)lives.slot.n;
    int64_t bound = 0;
    count_through(&b);
    b.added = NEW_ARRAY(scratch, int32_t, lives.ids);
    for (int32_t s = 0; s < slots; s++) {
        int64_t alive = most_alive(&b, s, false);
        if (can_turn(&b, lives.slot.at + s))
            alive = i64_min(alive, most_alive(&b, s, true));
        bound = i64_max(bound, b.through[s] + alive);
    }
    arena_release(scratch, mark);
    return bound;
}
