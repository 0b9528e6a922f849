/* SPDX-License-Identifier: Apache-2.0
 * For each step or stream: what lives through it, or only in it, and, where its rows are read for
 * the last time while the rows of others are made, the most rows alive at once. */
#include "prove/bound.h"

#include "base/size.h"
#include "prove/replay.h"

typedef struct Life {    /* of a tensor in the arena */
    int32_t first, last; /* slots; last < 0: not touched */
    int64_t bytes;       /* extent, in whole alignments */
    bool scratch,
        one_piece; /* one_piece: the last slot wants all of it to its end */
    /* each reader of its last slot is done with an element before the result's is written */
    bool elementwise;
    /* all of it, through its last slot: the next round of a loop reads it */
    bool kept;
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
    /* by call of a slot, reads (2i) and writes (2i + 1): bytes that come to life less those that
     * died */
    int64_t *delta;
    int32_t *call;  /* by row: when it is made first, or needed last */
    int32_t *added; /* by tensor id: the last call of add_lives() that met it */
    int32_t turn;   /* of add_lives(), from 1 on */
} Bound;

static int64_t round_up(const Bound *b, int64_t bytes)
{
    return i64_ceil_div(bytes, b->p->plan.arena_align) * b->p->plan.arena_align;
}

/* Step i's segment where that is a stream, else NULL; *next: a segment not behind it. */
static const Segment *stream_at(const Plan *plan, size_t *next, int32_t i)
{
    const Segment *segment = plan->segment.at;
    while (*next < plan->segment.n &&
           segment[*next].first + segment[*next].count <= i)
        ++*next;
    if (*next == plan->segment.n || !segment[*next].list)
        return NULL;
    return segment + *next;
}

static void list_slots(Bound *b)
{
    const Program *program = b->p;
    const int32_t steps = (int32_t)program->step.n;
    size_t segment = 0;
    int32_t i = 0;
    b->slot_of = NEW_ARRAY(b->arena, int32_t, steps + 1);
    while (i < steps) {
        const Segment *s = stream_at(&program->plan, &segment, i);
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
    const int64_t bytes = operand->ring
                              ? i64_mul(operand->ring, operand->row_bytes)
                              : tensor_bytes(tensor);
    if (life->last < 0)
        *life = (Life){
            .first = slot,
            .scratch = operand->scratch,
            .bytes = round_up(b, bytes),
        };
    life->last = slot;
}

/* Loops that a step lies in, the outermost first. */
typedef struct Loops {
    int32_t *first; /* steps */
    int32_t n;
} Loops;

static void enter_loops(const Bound *b, Loops *loops, int32_t step)
{
    while (loops->n &&
           b->p->step.at[loops->first[loops->n - 1]]->loop_end < step)
        loops->n--;
    if (b->p->step.at[step]->loop_end >= step)
        loops->first[loops->n++] = step;
}

/* The outermost that begins behind a slot; -1: none does. */
static int32_t loop_behind(const Bound *b, const Loops *loops, int32_t slot)
{
    int32_t lo = 0;
    int32_t hi = loops->n;
    while (lo < hi) {
        const int32_t middle = lo + (hi - lo) / 2;
        if (b->slot_of[loops->first[middle]] > slot)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo < loops->n ? loops->first[lo] : -1;
}

/* What a loop reads from before it lives through its end, since the next round reads it again. */
static void extend_over_loops(Bound *b)
{
    const int32_t steps = (int32_t)b->p->step.n;
    Loops loops = { NEW_ARRAY(b->arena, int32_t, steps + 1), 0 };
    for (int32_t i = 0; i < steps; i++) {
        const Step *step = b->p->step.at[i];
        enter_loops(b, &loops, i);
        for (int k = 0; loops.n && k < step->n_operand; k++) {
            Life *life = life_of(b, step->operand + k);
            const int32_t loop =
                life ? loop_behind(b, &loops, life->first) : -1;
            if (loop < 0)
                continue;
            const int32_t end = b->p->step.at[loop]->loop_end;
            const int32_t last = b->slot_of[i64_min(end, steps - 1)];
            life->kept = life->kept || last >= life->last;
            life->last = (int32_t)i64_max(life->last, last);
        }
    }
}

/* How an operand lets its tensor die in its last slot. */
static void judge_read(const Bound *b, int32_t slot, const Operand *operand)
{
    Life *life = life_of(b, operand);
    if (!life || life->last != slot || life->first == slot)
        return;
    const bool stream = b->slot.at[slot].stream != NULL;
    if (operand->write || (!stream && operand->reuse == REUSE_NONE))
        life->one_piece = true;
    if (stream || !reuse_in_place(operand->reuse))
        life->elementwise = false;
}

static void judge_reads(const Bound *b)
{
    for (size_t i = 0; i < b->p->step.n; i++) {
        const Step *step = b->p->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            judge_read(b, b->slot_of[i], step->operand + k);
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
            *l =
                (Life){ .last = 0, .bytes = round_up(b, tensor_bytes(tensor)) };
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
        const Step *step = b->p->step.at[i];
        int64_t own = 0;
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            const Life *life = life_of(b, operand);
            if (life && operand->scratch)
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
    return life->last == slot && life->first < slot && !life->kept;
}

/* From which slot to which all of it is there: b->through is what each slot has more than the one
 * before. */
static void add_through(const Bound *b, const Life *life)
{
    const int32_t slots = (int32_t)b->slot.n;
    int32_t first = life->first < 0 ? 0 : life->first;
    int32_t end = life->last < slots ? life->last + 1 : slots;
    if (life->last < 0 || life->scratch)
        return;
    if (first < end && born_in(b, life, first))
        first++;
    if (first < end && dies_in(life, end - 1))
        end--;
    if (first >= end)
        return;
    b->through[first] += life->bytes;
    b->through[end] -= life->bytes;
}

static void count_through(Bound *b)
{
    const int ids = graph_root(b->p->graph)->next_id;
    b->through = NEW_ARRAY(b->arena, int64_t, b->slot.n + 1);
    for (int i = 0; i < ids; i++)
        add_through(b, b->life + i);
    for (size_t s = 1; s < b->slot.n; s++)
        b->through[s] += b->through[s - 1];
    for (size_t s = 0; s < b->slot.n; s++) {
        b->through[s] += scratch_of(b, b->slot.at + s);
        if (b->slot.at[s].stream)
            b->through[s] +=
                round_up(b, 2 * (int64_t)b->slot.at[s].stream->count);
    }
}

/* ---- calls ---- */

/* The units that a slot makes, in order: unit `unit[i]` of step `step[i]`. */
typedef struct Calls {
    int32_t n, *step, *unit;
} Calls;

static int32_t count_calls(const Bound *b, const Slot *slot)
{
    const Segment *segment = slot->stream;
    if (!segment)
        return b->p->step.at[slot->first]->units;
    return segment->prologue + segment->period * segment->repeats +
           segment->epilogue;
}

static Calls list_calls(const Bound *b, const Slot *slot, bool reverse)
{
    const int32_t n = count_calls(b, slot);
    Calls calls = {
        .n = n,
        .step = NEW_ARRAY(b->arena, int32_t, n + 1),
        .unit = NEW_ARRAY(b->arena, int32_t, n + 1),
    };
    int32_t *made = NEW_ARRAY(b->arena, int32_t, slot->end - slot->first + 1);
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = slot->stream ? segment_entry(slot->stream, i) : 0;
        const int32_t unit = made[k]++;
        const Step *step = b->p->step.at[slot->first + k];
        const bool back = step->backward != reverse;
        calls.step[i] = slot->first + k;
        calls.unit[i] = back ? step->units - 1 - unit : unit;
    }
    return calls;
}

/* A tensor as the finest rows in which the operands on it that make it (born), or touch it, in a
 * slot see it. */
typedef struct Image {
    int32_t rows; /* 0: some do not see all of it */
    int64_t row_bytes;
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

static Image image_in(const Bound *b, const Slot *slot, const Life *life,
                      bool born)
{
    Image image = { 0, 0 };
    for (int32_t i = slot->first; i < slot->end; i++) {
        const Step *step = b->p->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            if (life_of(b, operand) != life || (born && !operand->write))
                continue;
            if (!sees_all(operand))
                return (Image){ 0, 0 };
            if (operand->rows > image.rows)
                image = (Image){ operand->rows, operand->row_bytes };
        }
    }
    return image;
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
    const Step *step = b->p->step.at[calls->step[i]];
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (life_of(b, operand) != life || operand->write != born)
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
    const int32_t never =
        born ? calls->n - 1 : -1; /* not needed: gone at once */
    for (int32_t row = 0; row < as.rows; row++)
        b->call[row] = never;
    for (int32_t i = 0; i < calls->n; i++)
        note_call(b, calls, born ? calls->n - 1 - i : i, life, as, born);
}

/* Bytes that a call makes of an operand in blocks or parts. */
static int64_t made_by(const Step *step, const Operand *operand, int32_t unit)
{
    int64_t row = operand->row_bytes;
    if (operand->part)
        row = operand->row_bytes / operand_pitch(operand) * operand->part *
              element_bits(operand) / 8;
    if (by_row(step, operand))
        return row;
    return unit ? 0 : operand->rows * row;
}

/* Made in blocks or parts: what each call makes counts from then on, with the last all of it:
 * tensors are not put together of pieces. */
static void add_pieces(const Bound *b, const Calls *calls, const Life *life)
{
    int64_t rest = life->bytes;
    for (int32_t i = 0; i < calls->n; i++) {
        const Step *step = b->p->step.at[calls->step[i]];
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            if (life_of(b, operand) != life || !operand->write)
                continue;
            const int64_t made = made_by(step, operand, calls->unit[i]);
            const int64_t bytes = i64_min(rest, made);
            b->delta[2 * i + 1] += bytes;
            rest -= bytes;
        }
    }
    b->delta[calls->n ? 2 * calls->n - 1 : 0] += rest;
}

/* Is it there as a whole until it dies? Where each element makes room for its own result, it is
 * gone with the first call's reads. */
static bool dies_at_once(const Life *life, Image as)
{
    return !as.rows || life->one_piece || life->elementwise;
}

static void add_whole(const Bound *b, const Calls *calls, const Life *life)
{
    int32_t end = 2;
    if (life->one_piece)
        end = 2 * calls->n;
    else if (life->elementwise)
        end = 1;
    b->delta[0] += life->bytes;
    b->delta[end] -= life->bytes;
}

/* What the alignment adds may be taken at once by what lies over it: it is not counted. */
static void add_rows(const Bound *b, const Life *life, Image as, bool born)
{
    int64_t rest = life->bytes;
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
        add_whole(b, calls, life);
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
    const Life *life = life_of(b, x);
    if (!life || !x->pixels.tile || !whole_pixels(x) || !dies_in(life, slot))
        return false;
    if (dies_at_once(life, image_in(b, b->slot.at + slot, life, false)))
        return false;
    for (int i = 0; i < step->n_operand; i++)
        if (i != k && life_of(b, step->operand + i) == life)
            return false;
    return true;
}

/* Is the step's result made pixel by pixel, and born with it? */
static bool made_by_pixels(const Bound *b, const Step *step, int32_t slot)
{
    const Operand *y = step->operand;
    const Life *made = step->n_operand ? life_of(b, y) : NULL;
    return !b->slot.at[slot].stream && made && born_in(b, made, slot) &&
           by_row(step, y) && whole_pixels(y);
}

/* Of each call and operand: how many of its rows die there, pixel by pixel; false: none. */
static bool count_dying(const Bound *b, const Calls *calls, int32_t slot,
                        int32_t *dying)
{
    const Step *step = b->p->step.at[b->slot.at[slot].first];
    const size_t operands = (size_t)step->n_operand;
    bool any = false;
    for (int k = step->n_out; k < step->n_operand; k++) {
        if (!dies_by_pixels(b, slot, step, k))
            continue;
        const Life *life = life_of(b, step->operand + k);
        const Image as = image_in(b, b->slot.at + slot, life, false);
        note_row_calls(b, calls, life, as, false);
        for (int32_t row = 0; row < as.rows; row++) {
            if (b->call[row] < 0)
                continue;
            any = true;
            dying[(size_t)b->call[row] * operands + (size_t)k]++;
        }
    }
    return any;
}

/* Within a row the pixels of the result take the place of those that are needed no more. */
static void save_pixels(const Bound *b, const Calls *calls, int32_t slot,
                        bool reverse)
{
    const Step *step = b->p->step.at[b->slot.at[slot].first];
    if (!made_by_pixels(b, step, slot))
        return;
    const size_t operands = (size_t)step->n_operand;
    const bool backward = step->backward != reverse;
    int32_t *dying = NEW_ARRAY(b->arena, int32_t, operands * (size_t)calls->n);
    if (!count_dying(b, calls, slot, dying))
        return;
    for (int32_t i = 0; i < calls->n; i++) {
        const int64_t saved =
            pixels_saved(step, backward, dying + (size_t)i * operands);
        b->delta[2 * i + 1] -= saved;
        b->delta[2 * i + 2] += saved;
    }
}

static int32_t most_rows(const Bound *b, const Slot *slot)
{
    int32_t rows = 1;
    for (int32_t i = slot->first; i < slot->end; i++) {
        const Step *step = b->p->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            rows = (int32_t)i64_max(rows, step->operand[k].rows);
    }
    return rows;
}

/* All that is born in the slot or dies there, each once: b->turn is a number of its own for each
 * call. */
static void add_lives(const Bound *b, const Calls *calls, int32_t slot)
{
    const Slot *s = b->slot.at + slot;
    for (int32_t i = s->first; i < s->end; i++) {
        const Step *step = b->p->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            const Life *life = life_of(b, step->operand + k);
            if (!life || !life->bytes || b->added[life - b->life] == b->turn)
                continue;
            b->added[life - b->life] = b->turn;
            const bool born = born_in(b, life, slot);
            if (born || dies_in(life, slot))
                add_life(b, calls, s, life, born);
        }
    }
}

static int64_t most_alive(const Bound *b, int32_t slot, bool reverse)
{
    const ArenaMark mark = arena_mark(b->arena);
    const Slot *s = b->slot.at + slot;
    const Calls calls = list_calls(b, s, reverse);
    Bound in = *b;
    in.turn = 2 * slot + (reverse ? 2 : 1);
    int64_t most = 0;
    int64_t alive = 0;
    in.delta = NEW_ARRAY(b->arena, int64_t, 2 * calls.n + 2);
    in.call = NEW_ARRAY(b->arena, int32_t, most_rows(b, s) + 1);
    add_lives(&in, &calls, slot);
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
    const Step *step = b->p->step.at[slot->first];
    for (int k = 0; !slot->stream && k < step->n_operand; k++)
        if (reuse_reverses(step->operand[k].reuse))
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
    b.added =
        NEW_ARRAY(scratch, int32_t, graph_root(program->graph)->next_id + 1);
    for (int32_t s = 0; s < (int32_t)b.slot.n; s++) {
        int64_t alive = most_alive(&b, s, false);
        if (can_turn(&b, b.slot.at + s))
            alive = i64_min(alive, most_alive(&b, s, true));
        bound = i64_max(bound, b.through[s] + alive);
    }
    arena_release(scratch, mark);
    return bound;
}
