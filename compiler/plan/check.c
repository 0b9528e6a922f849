/* SPDX-License-Identifier: Apache-2.0
 * Proof of a plan by replay, from what is emitted: addresses, rings, directions and lists. Every byte
 * carries the tensor, and the place in it, that was written there last; every read must find its own.
 * Rows go one by one in each step's order. Shares no code with the planner. */
#include "plan/plan.h"

#include "base/size.h"
#include "plan/shadow.h"

enum { TAG_STATE = -1, INCOMPLETE = 1 << 30 };

/* Which channels of the rows of a tensor made of parts hold values. */
typedef struct Lanes {
    int64_t row_bytes, pixel;   /* 0: no operand is a part */
    int32_t rows;
    VEC(int64_t) cut;           /* bytes in a pixel where parts begin or end, ascending */
    bool *has;                  /* [row][cut]: the bytes from this cut to the next */
} Lanes;

typedef struct Check {
    Arena *arena;
    const Program *program;
    Shadow shadow;
    Lanes *lanes;               /* by tensor id */
    int32_t *made;              /* units of each step */
    const char *why;            /* the first objection */
    const Step *step;
    const Operand *operand;
} Check;

/* Bytes of a row of an operand: where they are, and which of its tensor they are. */
typedef struct Piece {
    int64_t begin, end, delta;  /* with the other parts of the row */
    int64_t lane, lane_end;     /* bytes of a pixel; end 0: all */
    int32_t tag, row;           /* row of the owner */
} Piece;

static bool object(Check *c, const Operand *o, const char *what)
{
    if (!c->why) c->why = what, c->operand = o;
    return false;
}

static int64_t element_bits(const Operand *o) { return dtype_bits(o->tensor->dtype); }

static const Tensor *owner_of(const Operand *o, int64_t *at)
{
    const Tensor *t = o->tensor;
    *at = o->offset;
    for (; t->view_of; t = t->view_of) *at += t->view_offset;
    return t;
}

static bool watched(const Operand *o)
{
    if (!o->tensor) return false;
    int64_t at;
    const Tensor *t = owner_of(o, &at);
    return t->storage == STORE_ARENA || t->storage == STORE_OUTPUT;
}

/* Caller's buffers lie far behind the arena, each by itself. */
static int64_t base_address(const Operand *o) { return (int64_t)(o->ref.base - INLAY_ARENA) << 44; }

static Piece piece_of(const Operand *o, int32_t row)
{
    int64_t at;
    const Tensor *t = owner_of(o, &at);
    const int64_t pixel = o->pixel * element_bits(o) / 8, lane = o->part ? at % pixel : 0;
    const int64_t bytes = i64_min(o->row_bytes, tensor_bytes(t) - (at - lane));
    Piece p = { .tag = t->id, .lane = lane, .lane_end = o->part ? lane + o->part * element_bits(o) / 8 : 0 };
    p.begin = base_address(o) + (int64_t)o->ref.off - lane + (int64_t)(row % o->ref.cap) * (int64_t)o->ref.row;
    p.end = p.begin + bytes;
    p.delta = at - lane + row * o->row_bytes - p.begin;
    p.row = o->row_bytes ? (int32_t)((at - lane) / o->row_bytes) + row : 0;
    return p;
}

/* ---- parts of pixels ---- */

static void add_cut(Arena *a, Lanes *l, int64_t at)
{
    size_t i = l->cut.n;
    for (size_t k = 0; k < l->cut.n; k++)
        if (l->cut.at[k] == at) return;
    VEC_PUSH(a, &l->cut, at);
    for (; i && l->cut.at[i - 1] > at; i--) l->cut.at[i] = l->cut.at[i - 1];
    l->cut.at[i] = at;
}

static void lane_clear(Lanes *l, int32_t row)
{
    memset(l->has + (size_t)row * l->cut.n, 0, l->cut.n * sizeof *l->has);
}

static void lane_add(Lanes *l, int32_t row, int64_t begin, int64_t end)
{
    for (size_t k = 0; k < l->cut.n; k++)
        if (l->cut.at[k] >= begin && l->cut.at[k] < end) l->has[(size_t)row * l->cut.n + k] = true;
}

static bool lane_has(const Lanes *l, int32_t row, int64_t begin, int64_t end)
{
    for (size_t k = 0; k < l->cut.n; k++)
        if (l->cut.at[k] >= begin && l->cut.at[k] < end && !l->has[(size_t)row * l->cut.n + k]) return false;
    return true;
}

static void find_cuts(Check *c, const Operand *o)
{
    int64_t at;
    const Tensor *t = owner_of(o, &at);
    Lanes *l = c->lanes + t->id;
    if (!l->pixel) {
        *l = (Lanes){ .row_bytes = o->row_bytes, .pixel = o->pixel * element_bits(o) / 8, .rows = (int32_t)(tensor_bytes(t) / o->row_bytes) };
        add_cut(c->arena, l, 0);
    }
    add_cut(c->arena, l, at % l->pixel);
    add_cut(c->arena, l, at % l->pixel + o->part * element_bits(o) / 8);
}

static void find_lanes(Check *c)
{
    const int ids = graph_root(c->program->graph)->next_id;
    c->lanes = NEW_ARRAY(c->arena, Lanes, ids + 1);
    for (size_t i = 0; i < c->program->step.n; i++)
        for (int k = 0; k < c->program->step.at[i]->n_operand; k++) {
            const Operand *o = c->program->step.at[i]->operand + k;
            if (watched(o) && o->part) find_cuts(c, o);
        }
    for (int i = 0; i < ids; i++)
        if (c->lanes[i].pixel) c->lanes[i].has = NEW_ARRAY(c->arena, bool, (size_t)c->lanes[i].rows * c->lanes[i].cut.n);
}

/* ---- reads and writes ---- */

static bool inside(const Check *c, const Piece *p)
{
    return p->begin >= 0 && (p->begin >= (int64_t)1 << 44 || p->end <= c->program->plan.arena_size);
}

static bool read_piece(Check *c, const Operand *o, const Piece *p)
{
    const Lanes *l = c->lanes + p->tag;
    if (!inside(c, p)) return object(c, o, "leaves the arena");
    if (!shadow_owns(&c->shadow, p->begin, p->end, p->delta, p->tag)) return object(c, o, "is read where its bytes are not, or no more");
    if (!l->pixel) return true;
    const int64_t rows = i64_max(1, (p->end - p->begin) / l->row_bytes), first = (p->begin + p->delta) / l->row_bytes;
    for (int64_t r = first; r < first + rows && r < l->rows; r++)
        if (!lane_has(l, (int32_t)r, p->lane, p->lane_end ? p->lane_end : l->pixel)) return object(c, o, "is read before all its parts are made");
    return true;
}

static bool write_piece(Check *c, const Operand *o, const Piece *p, int32_t flag)
{
    Lanes *l = c->lanes + p->tag;
    if (!inside(c, p)) return object(c, o, "leaves the arena");
    if (p->lane_end && shadow_owns(&c->shadow, p->begin, p->end, p->delta, p->tag)) {
        lane_add(l, p->row, p->lane, p->lane_end);
        return true;
    }
    shadow_write(&c->shadow, p->begin, p->end, p->delta, p->tag | flag);
    if (!l->pixel) return true;
    const int64_t first = (p->begin + p->delta) / l->row_bytes, rows = i64_max(1, (p->end - p->begin) / l->row_bytes);
    for (int64_t r = first; r < first + rows && r < l->rows; r++) {
        lane_clear(l, (int32_t)r);
        lane_add(l, (int32_t)r, p->lane, p->lane_end ? p->lane_end : l->pixel);
    }
    return true;
}

/* ---- rows of a unit ---- */

typedef struct Range { int32_t lo, hi; } Range;

static bool by_row(const Step *s, const Operand *o) { return o->rows == s->units && !s->accumulates; }

static Range clip(int64_t lo, int64_t hi, int32_t rows)
{
    return (Range){ (int32_t)(lo < 0 ? 0 : lo), (int32_t)(hi > rows ? rows : hi) };
}

static Range rows_of(const Step *s, const Operand *o, int32_t u)
{
    if (o->write) return by_row(s, o) ? (Range){ u, u + 1 } : (Range){ 0, o->rows };
    switch (o->rule.kind) {
    case ROWS_SAME: case ROWS_UNIT: return o->rows == s->units ? (Range){ u, u + 1 } : (Range){ 0, o->rows };
    case ROWS_WINDOW: return clip((int64_t)u * o->rule.stride - o->rule.pad, (int64_t)u * o->rule.stride - o->rule.pad + o->rule.extent, o->rows);
    default: return (Range){ 0, o->rows };
    }
}

/* The same elements, each read before it is written: at the same address, or in a narrower type from the same first address on. */
static bool in_place(const Step *s, const Operand *out, const Operand *in)
{
    if (in->reuse != REUSE_ELEMENTWISE || in->ref.off != out->ref.off || out->part || in->part) return false;
    if (element_bits(out) == element_bits(in)) return in->ref.cap == out->ref.cap;
    return element_bits(out) < element_bits(in) && !s->backward && in->ref.cap == in->rows && out->ref.cap == out->rows;
}

static bool meet(const Piece *a, const Piece *b)
{
    if (a->begin >= b->end || b->begin >= a->end) return false;
    if (a->tag == b->tag && a->delta == b->delta && a->lane_end && b->lane_end) return a->lane < b->lane_end && b->lane < a->lane_end;
    return true;
}

/* No byte that unit u writes through operand w may be one of another operand's rows [lo, hi). */
static bool apart(Check *c, const Step *s, const Operand *w, Range wr, const Operand *o, Range r)
{
    for (int32_t i = wr.lo; i < wr.hi; i++)
        for (int32_t k = r.lo; k < r.hi; k++) {
            const Piece a = piece_of(w, i), b = piece_of(o, k);
            if (!meet(&a, &b)) continue;
            if (o->write && !o->scratch && !w->scratch && a.tag == b.tag) continue;
            if (o->read && w->read && a.tag == b.tag) continue;
            return object(c, o, "is overwritten by the step that needs it");
        }
    (void)s;
    return true;
}

static bool check_apart(Check *c, const Step *s, int32_t u, bool whole)
{
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *w = s->operand + k;
        if (!w->write || !watched(w)) continue;
        for (int i = 0; i < s->n_operand; i++) {
            const Operand *o = s->operand + i;
            if (i == k || !watched(o) || in_place(s, w, o) || (o->write && i < k)) continue;
            const bool all = whole && (w->scratch || o->scratch || (o->reuse == REUSE_NONE && !o->write));
            if (whole && !all) continue;
            const Range wr = all ? (Range){ 0, w->ref.cap } : rows_of(s, w, u), r = all ? (Range){ 0, o->ref.cap } : rows_of(s, o, u);
            if (!apart(c, s, w, wr, o, r)) return false;
        }
    }
    return true;
}

/* ---- a unit ---- */

static bool check_reads(Check *c, const Step *s, int32_t u)
{
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (!watched(o) || !o->read || o->scratch || (o->write && s->accumulates)) continue;
        const Range r = rows_of(s, o, u);
        for (int32_t i = r.lo; i < r.hi; i++) {
            const Piece p = piece_of(o, i);
            if (!read_piece(c, o, &p)) return false;
        }
    }
    return true;
}

/* A result that takes all units: claimed by the first, still there at each, complete with the last. */
static bool write_gradually(Check *c, const Step *s, const Operand *o, bool first, bool last)
{
    for (int32_t i = 0; i < o->rows; i++) {
        const Piece p = piece_of(o, i);
        if (!first && !shadow_owns(&c->shadow, p.begin, p.end, p.delta, p.tag | INCOMPLETE)) return object(c, o, "is overwritten while it is made");
        if ((first || last) && !write_piece(c, o, &p, last ? 0 : INCOMPLETE)) return false;
    }
    (void)s;
    return true;
}

/* The same for a part: its channels hold values only with the last unit. */
static bool write_part_gradually(Check *c, const Operand *o, bool first, bool last)
{
    for (int32_t i = 0; i < o->rows; i++) {
        const Piece p = piece_of(o, i);
        Lanes *l = c->lanes + p.tag;
        const bool owned = shadow_owns(&c->shadow, p.begin, p.end, p.delta, p.tag);
        if (!inside(c, &p)) return object(c, o, "leaves the arena");
        if (!first && !owned) return object(c, o, "is overwritten while it is made");
        if (!owned) {
            shadow_write(&c->shadow, p.begin, p.end, p.delta, p.tag);
            lane_clear(l, p.row);
        }
        if (last) lane_add(l, p.row, p.lane, p.lane_end);
    }
    return true;
}

static bool check_writes(Check *c, const Step *s, int32_t u)
{
    const int32_t made = c->made[s->index];
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (!watched(o) || !o->write) continue;
        if (!o->scratch && s->units > 1 && !by_row(s, o)) {
            const bool first = made == 0, last = made == s->units - 1;
            if (!(o->part ? write_part_gradually(c, o, first, last) : write_gradually(c, s, o, first, last))) return false;
            continue;
        }
        const Range r = rows_of(s, o, u);
        for (int32_t i = r.lo; i < r.hi; i++) {
            const Piece p = piece_of(o, i);
            if (!write_piece(c, o, &p, 0)) return false;
        }
    }
    return true;
}

static bool check_unit(Check *c, const Step *s, int32_t u)
{
    c->step = s;
    if (u < 0 || u >= s->units) return object(c, s->operand, "has no such row");
    if (s->accumulates && u != c->made[s->index]) return object(c, s->operand, "is not summed in ascending order");
    if (!check_reads(c, s, u) || !check_apart(c, s, u, false) || !check_writes(c, s, u)) return false;
    c->made[s->index]++;
    return true;
}

/* ---- schedules ---- */

static bool can_reverse(const Step *s)
{
    for (int k = 0; k < s->n_operand; k++)
        if (s->operand[k].tensor && s->operand[k].reuse == REUSE_ROWS) return true;
    return s->units == 1;
}

static bool check_step(Check *c, const Step *s)
{
    c->step = s;
    c->made[s->index] = 0;
    if (s->backward && !can_reverse(s)) return object(c, s->operand, "is made by a kernel that cannot go backward");
    if (!check_apart(c, s, 0, true)) return false;
    for (int32_t u = 0; u < s->units; u++)
        if (!check_unit(c, s, s->backward ? s->units - 1 - u : u)) return false;
    return true;
}

/* Loops are gone through twice: what the second round reads must have survived the first. */
static bool check_layers(Check *c, int32_t first, int32_t end)
{
    bool *again = NEW_ARRAY(c->arena, bool, c->program->step.n + 1);
    int32_t open = 0;           /* loops whose second round is still to come */
    for (int32_t i = first; i < end; i++) {
        const Step *s = c->program->step.at[i];
        if (s->loop_end >= 0) again[i] = true, open++;
        if (!check_step(c, s)) return false;
        for (int32_t k = i; open && k >= first; k--) {
            const Step *loop = c->program->step.at[k];
            if (loop->loop_end != i || !again[k]) continue;
            again[k] = false;
            open--;
            if (!check_step(c, loop)) return false;
            i = k;
            break;
        }
    }
    return true;
}

static uint8_t entry(const Segment *g, int32_t e)
{
    if (e >= g->prologue && e < g->prologue + g->period * g->repeats) e = g->prologue + (e - g->prologue) % g->period;
    else if (e >= g->prologue) e -= g->period * (g->repeats - 1);
    return g->list[e];
}

static bool check_stream(Check *c, const Segment *g)
{
    const int64_t state = c->program->plan.state, end = state + 2 * (int64_t)g->count;
    const int32_t entries = g->prologue + g->period * g->repeats + g->epilogue;
    if (state < 0 || end > c->program->plan.arena_size) return object(c, NULL, "the row counters leave the arena");
    shadow_write(&c->shadow, state, end, 0, TAG_STATE);
    for (int32_t i = 0; i < g->count; i++) c->made[g->first + i] = 0;
    for (int32_t e = 0; e < entries; e++) {
        const int32_t k = entry(g, e);
        if (k >= g->count) return object(c, NULL, "a list names a step beyond its segment");
        const Step *s = c->program->step.at[g->first + k];
        const int32_t made = c->made[s->index];
        if (!check_unit(c, s, s->backward ? s->units - 1 - made : made)) return false;
        if (!shadow_owns(&c->shadow, state, end, 0, TAG_STATE)) return object(c, NULL, "the row counters are overwritten");
    }
    return true;
}

/* Every row that goes to the caller is made. */
static bool check_outputs(Check *c)
{
    for (size_t i = 0; i < c->program->step.n; i++) {
        const Step *s = c->program->step.at[i];
        for (int k = 0; k < s->n_out; k++) {
            int64_t at;
            c->step = s;
            if (s->operand[k].tensor && owner_of(s->operand + k, &at)->storage == STORE_OUTPUT && c->made[i] != s->units)
                return object(c, s->operand + k, "is not made in full");
        }
    }
    return true;
}

static bool replay(Check *c)
{
    const Program *p = c->program;
    int32_t next = 0;
    if (!p->plan.segment.n) return check_layers(c, 0, (int32_t)p->step.n) && check_outputs(c);
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        if (g->first != next) return object(c, NULL, "segments leave steps out");
        next += g->count;
        if (!(g->list ? check_stream(c, g) : check_layers(c, g->first, next))) return false;
    }
    if (next != (int32_t)p->step.n) return object(c, NULL, "segments leave steps out");
    return check_outputs(c);
}

static Check run(const Program *p)
{
    Check c = { .arena = &p->graph->store->scratch, .program = p };
    c.shadow.arena = c.arena;
    c.made = NEW_ARRAY(c.arena, int32_t, p->step.n + 1);
    find_lanes(&c);
    replay(&c);
    return c;
}

bool plan_holds(const Program *p, const char **why)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Check c = run(p);
    if (why) *why = c.why;
    arena_release(scratch, mark);
    return !c.why;
}

void plan_check(const Program *p)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Check c = run(p);
    const char *help = "please report this model: it is a bug of Inlay, not of the model";
    if (c.why && c.operand)
        fail_at(STATUS_INTERNAL, c.step->node ? node_loc(c.step->node) : LOC_NONE, help, "the memory plan is unsound at step %d (%s): \"%s\" %s",
                c.step->index, c.step->kernel->name, c.operand->tensor->name, c.why);
    if (c.why) fail_at(STATUS_INTERNAL, LOC_NONE, help, "the memory plan is unsound: %s", c.why);
    arena_release(scratch, mark);
}
