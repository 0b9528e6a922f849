/* SPDX-License-Identifier: Apache-2.0
 * Runs a recipe tile by tile: read runs, permute raw elements into the order of
 * the result, change values along contiguous runs, write runs. Reads and writes
 * are both scattered, which is what makes packing by columns cheap.
 * Memory: three buffers of a third of the window, or what the whole result takes; one more for the
 * operands of changes that are read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ir/convert.h"
#include "ir/recipe_tile.h"

/* What a change multiplies with or adds: vec[at(i)]. */
typedef struct Values {
    const float *vec;
    Affine at;
} Values;

typedef struct Run {
    Store *store;
    Form *form;  /* joined: fewest factors, at least one */
    DType dtype; /* of the result */
    size_t size; /* of one of its working elements */
    File *file;  /* where it goes: at `at` of the file, or to memory */
    uint64_t at;
    uint8_t *memory;
    int outer; /* factors that step by `row` elements of the result, if it is a piece of one */
    int64_t row;
    Box tile; /* n: the shape */
    int order[FACTORS];
    int64_t in_room, mid_room; /* bytes */
    uint8_t *in, *mid, *out;
    int64_t float_room;     /* numbers of all operands of a part that are read */
    float *floats;          /* them, for the box at hand */
    Values values[CHANGES]; /* of the part and box at hand, by change */
} Run;

/* --- read --- */

static void read_box(Run *run, const Part *p, const Box *box, const ReadPlan *plan)
{
    const int64_t size = (int64_t)dtype_work(p->source->dtype);
    int64_t i[FACTORS] = { 0 };
    int64_t at = plan->first;
    for (uint8_t *to = run->in;; to += plan->pitch * size) {
        /* Addresses outside the source are of elements that a guard hides. */
        const int64_t low = at < 0 ? -at : 0;
        const int64_t high = i64_min(plan->span, p->source->count - at);
        if (low < high)
            source_read(run->store, p->source, at + low, high - low, to + low * size);
        int j = 0;
        for (; j < plan->outer; j++) {
            const int64_t s = llabs(p->at.step[plan->factor[j]]);
            at += s;
            if (++i[j] < box->n[plan->factor[j]])
                break;
            at -= s * i[j];
            i[j] = 0;
        }
        if (j == plan->outer)
            return;
    }
}

/* --- change values --- */

static int64_t affine_at(const Affine *f, const int64_t *i, int rank)
{
    int64_t v = f->base;
    for (int k = 0; k < rank; k++)
        v += f->step[k] * i[k];
    return v;
}

static void mul_run(float *restrict x, const float *v, int64_t step, int n)
{
    if (step == 0) {
        const float c = *v;
        for (int i = 0; i < n; i++)
            x[i] *= c;
    } else if (step == 1) {
        for (int i = 0; i < n; i++)
            x[i] *= v[i];
    } else {
        for (int i = 0; i < n; i++)
            x[i] *= v[i * step];
    }
}

static void add_run(float *restrict x, const float *v, int64_t step, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += v[i * step];
}

typedef union Buffer {
    float f[CONVERT_RUN];
    uint64_t any[2 * CONVERT_RUN];
} Buffer;

/* One change of n elements in *now (type) with v[0], v[step], ...; *now holds the result. */
static void change_run(const Change *change, const float *v, int64_t step, DType type, Buffer **now,
                       Buffer **spare, int n)
{
    if (change->kind == CHANGE_CAST) {
        convert_run(type, *now, change->dtype, *spare, n);
        Buffer *buffer = *now;
        *now = *spare;
        *spare = buffer;
    } else if (change->kind == CHANGE_MUL) {
        mul_run((*now)->f, v, step, n);
    } else {
        add_run((*now)->f, v, step, n);
    }
}

/* The one change of most weights: float32 by a scale, straight from buffer to buffer. */
static void scale_values(float *restrict to, const float *restrict from, const float *restrict v,
                         int64_t step, int64_t n)
{
    if (step == 1 && n == 16) {
        for (int i = 0; i < 16; i++)
            to[i] = from[i] * v[i];
    } else if (step == 0) {
        const float c = *v;
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * c;
    } else {
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * v[i * step];
    }
}

/* n elements in a row of the result; v[m] is the operand of the first for change m, step[m] from
 * one to the next. */
static void change_values(const Part *p, DType out, const uint8_t *in, uint8_t *to, int64_t n,
                          const float *const *v, const int64_t *step)
{
    const size_t in_size = dtype_work(p->source->dtype);
    const size_t out_size = dtype_work(out);
    if (!p->changes) {
        memcpy(to, in, (size_t)n * in_size);
        return;
    }
    if (p->changes == 1 && p->change->kind == CHANGE_MUL) {
        scale_values((void *)to, (const void *)in, v[0], step[0], n);
        return;
    }
    Buffer a, b;
    for (int64_t i = 0; i < n; i += CONVERT_RUN) {
        const int k = (int)i64_min(CONVERT_RUN, n - i);
        Buffer *now = &a;
        Buffer *spare = &b;
        DType type = p->source->dtype;
        memcpy(now, in + (size_t)i * in_size, (size_t)k * in_size);
        for (int m = 0; m < p->changes; m++) {
            const Change *c = p->change + m;
            change_run(c, v[m] ? v[m] + step[m] * i : NULL, step[m], type, &now, &spare, k);
            type = c->dtype;
        }
        memcpy(to + (size_t)i * out_size, now, (size_t)k * out_size);
    }
}

/* The part of [*from, *to) along factor `inner`, from index i, that guard lets through. */
static void clip(const Guard *guard, const int64_t *i, int rank, int inner, int64_t *from,
                 int64_t *to)
{
    const int64_t v = affine_at(&guard->at, i, rank);
    const int64_t c = guard->at.step[inner];
    if (c == 0) {
        if (v < guard->low || v >= guard->high)
            *to = *from;
        return;
    }
    const int64_t low =
        c > 0 ? i64_ceil_div(guard->low - v, c) : i64_ceil_div(v - guard->high + 1, -c);
    const int64_t high =
        c > 0 ? i64_floor_div(guard->high - 1 - v, c) : i64_floor_div(v - guard->low, -c);
    *from = i64_max(*from, low);
    *to = i64_min(*to, high + 1);
}

static bool tells_apart(const Part *p, int k)
{
    for (int m = 0; m < p->changes; m++)
        if (p->change[m].at.step[k])
            return true;
    for (int g = 0; g < p->guards; g++)
        if (p->guard[g].at.step[k])
            return true;
    return false;
}

/* The first factor of a run: the last, and those before it that no change or guard tells apart. */
static int run_factor(const Form *form, const Part *p, const Box *tile, const Box *box,
                      int64_t *length)
{
    int k = form->rank - 1;
    *length = box->n[k];
    if (tells_apart(p, k))
        return k;
    while (k > 0 && box->n[k] == tile->n[k] && !tells_apart(p, k - 1))
        *length *= box->n[--k];
    return k;
}

/* mid: the box in the order of the result; its elements go to their places in the tile. */
static void place_box(Run *run, const Part *p, const Box *tile, const Box *box)
{
    const Form *f = run->form;
    const int last = f->rank - 1;
    const int64_t in_size = (int64_t)dtype_work(p->source->dtype);
    const int64_t out_size = (int64_t)run->size;
    int64_t i[FACTORS];
    int64_t step[FACTORS];
    int64_t length;
    int64_t s = 1;
    const int first = run_factor(f, p, tile, box, &length);
    memcpy(i, box->at, sizeof i);
    for (int k = f->rank; k-- > 0; s *= tile->n[k])
        step[k] = s;
    for (const uint8_t *mid = run->mid;; mid += length * in_size) {
        int64_t to = 0;
        int64_t from = 0;
        int64_t end = length;
        int64_t each[CHANGES];
        const float *v[CHANGES];
        for (int k = 0; k < f->rank; k++)
            to += (i[k] - tile->at[k]) * step[k];
        for (int g = 0; g < p->guards; g++)
            clip(p->guard + g, i, f->rank, last, &from, &end);
        for (int m = 0; m < p->changes && from < end; m++) {
            const Values *of = run->values + m;
            each[m] = of->at.step[last];
            v[m] = of->vec ? of->vec + affine_at(&of->at, i, f->rank) + each[m] * from : NULL;
        }
        if (from < end)
            change_values(p, run->dtype, mid + from * in_size, run->out + (to + from) * out_size,
                          end - from, v, each);
        int k = first - 1;
        for (; k >= 0; k--) {
            if (++i[k] < box->at[k] + box->n[k])
                break;
            i[k] = box->at[k];
        }
        if (k < 0)
            return;
    }
}

/* --- operands of changes --- */

/* One run of n raw elements as floats, after the operand's own changes. */
static void operand_run(const Change *c, const uint8_t *in, float *to, int64_t n)
{
    const int64_t size = (int64_t)dtype_work(c->source->dtype);
    Buffer a, b;
    for (int64_t i = 0; i < n; i += CONVERT_RUN) {
        const int k = (int)i64_min(CONVERT_RUN, n - i);
        Buffer *now = &a;
        Buffer *spare = &b;
        DType type = c->source->dtype;
        memcpy(now, in + i * size, (size_t)(k * size));
        for (int m = 0; m < c->changes; m++) {
            const Change *own = c->change + m;
            const float *number = own->source ? change_memory(own) + own->at.base : NULL;
            change_run(own, number, 0, type, &now, &spare, k);
            type = own->dtype;
        }
        memcpy(to + i, now, (size_t)k * sizeof *to);
    }
}

/* Reads what the change needs for the box; returns the end of its floats. */
static float *read_operand(Run *run, const Change *change, const Box *box, float *to,
                           Values *values)
{
    const int rank = run->form->rank;
    const Part p = operand_part(change);
    const ReadPlan plan = read_plan(&p, rank, run->tile.n, box);
    const int64_t size = (int64_t)dtype_work(change->source->dtype);
    assert(plan.need * size <= run->in_room && to + plan.need <= run->floats + run->float_room);
    if (plan.first < 0 || plan.first + plan.span > change->source->count || plan.outer)
        memset(run->in, 0, (size_t)(plan.need * size)); /* of elements that a guard hides */
    read_box(run, &p, box, &plan);
    for (int64_t row = 0; row < plan.need; row += plan.pitch)
        operand_run(change, run->in + row * size, to + row, plan.span);
    values->vec = to;
    values->at = (Affine){ .base = plan.origin };
    for (int k = 0; k < rank; k++) {
        values->at.step[k] = plan.step[k];
        values->at.base -= plan.step[k] * box->at[k];
    }
    return to + plan.need;
}

static void read_operands(Run *run, const Part *p, const Box *box)
{
    float *to = run->floats;
    for (int m = 0; m < p->changes; m++) {
        const Change *c = p->change + m;
        const float *memory = c->source ? change_memory(c) : NULL;
        run->values[m] = (Values){ memory, c->at };
        if (c->source && !memory)
            to = read_operand(run, c, box, to, run->values + m);
    }
}

/* --- tiles --- */

/* The one factor a guard depends on with step 1, or -1. */
static int plain_factor(const Guard *guard, int rank)
{
    int found = -1;
    for (int k = 0; k < rank; k++) {
        if (!guard->at.step[k])
            continue;
        if (found >= 0 || guard->at.step[k] != 1)
            return -1;
        found = k;
    }
    return found;
}

/* Cuts the box by the guards on one factor; false: nothing is left. *whole: no guard needs a look
 * at each run. */
static bool cut_box(const Part *p, int rank, Box *box, bool *whole)
{
    *whole = true;
    for (int j = 0; j < p->guards; j++) {
        const Guard *g = p->guard + j;
        int64_t low = g->at.base;
        int64_t high = g->at.base;
        for (int k = 0; k < rank; k++) {
            const int64_t x = g->at.step[k] * box->at[k];
            const int64_t y = g->at.step[k] * (box->at[k] + box->n[k] - 1);
            low += i64_min(x, y);
            high += i64_max(x, y);
        }
        if (high < g->low || low >= g->high)
            return false;
        if (low >= g->low && high < g->high)
            continue;
        const int k = plain_factor(g, rank);
        if (k < 0) {
            *whole = false;
            continue;
        }
        const int64_t from = i64_max(box->at[k], g->low - g->at.base);
        box->n[k] = i64_min(box->at[k] + box->n[k], g->high - g->at.base) - from;
        box->at[k] = from;
        if (box->n[k] <= 0)
            return false;
    }
    return true;
}

/* Makes what part p holds of the tile; *filled: the tile's buffer has no stale element. */
static void make_part(Run *run, const Part *p, const Box *tile, bool *filled)
{
    const Form *f = run->form;
    Box box = *tile;
    bool whole;
    if (!cut_box(p, f->rank, &box, &whole))
        return;
    const bool full = whole && !memcmp(&box, tile, sizeof box);
    if (!full && !*filled)
        memset(run->out, 0, (size_t)box_count(tile, f->rank) * run->size);
    *filled = true;
    const size_t size = dtype_work(p->source->dtype);
    const ReadPlan plan = read_plan(p, f->rank, run->tile.n, &box);
    assert(plan.need * (int64_t)size <= run->in_room);
    read_box(run, p, &box, &plan);
    const bool raw = full && !p->changes;
    assert(raw || box_count(&box, f->rank) * (int64_t)size <= run->mid_room);
    box_permute(f->rank, &box, &plan, size, run->in, raw ? run->out : run->mid);
    if (raw)
        return;
    read_operands(run, p, &box);
    place_box(run, p, tile, &box);
}

static void write_run(Run *run, int64_t first, const uint8_t *from, int64_t n)
{
    const uint64_t at = (uint64_t)first * run->size;
    const uint64_t bytes = (uint64_t)n * run->size;
    if (!run->file) {
        memcpy(run->memory + at, from, bytes);
        return;
    }
    file_write(run->file, run->at + at, from, bytes);
    recipe_wrote(run->store, bytes);
}

static void write_tile(Run *run, const Box *t)
{
    const Form *f = run->form;
    int first = f->rank - 1;
    int64_t length = t->n[first];
    int64_t step[FACTORS];
    int64_t s = 1;
    int64_t i[FACTORS] = { 0 };
    while (first > run->outer && t->n[first] == f->dim[first])
        length *= t->n[--first];
    for (int k = f->rank; k-- > 0; s *= f->dim[k]) {
        if (k == run->outer - 1)
            s = run->row;
        step[k] = s;
    }
    for (const uint8_t *from = run->out;; from += length * (int64_t)run->size) {
        int64_t to = 0;
        for (int k = 0; k < f->rank; k++)
            to += (t->at[k] + i[k]) * step[k];
        write_run(run, to, from, length);
        int k = first - 1;
        for (; k >= 0; k--) {
            if (++i[k] < t->n[k])
                break;
            i[k] = 0;
        }
        if (k < 0)
            return;
    }
}

static void run_tiles(Run *run)
{
    const Form *f = run->form;
    Box t = { { 0 }, { 0 } };
    for (;;) {
        for (int k = 0; k < f->rank; k++)
            t.n[k] = i64_min(run->tile.n[k], f->dim[k] - t.at[k]);
        bool filled = false;
        for (int p = 0; p < f->parts; p++)
            make_part(run, f->part + p, &t, &filled);
        if (!filled)
            memset(run->out, 0, (size_t)box_count(&t, f->rank) * run->size);
        if (run->file || run->out != run->memory)
            write_tile(run, &t);
        int j = 0;
        for (; j < f->rank; j++) {
            const int k = run->order[j];
            if ((t.at[k] += run->tile.n[k]) < f->dim[k])
                break;
            t.at[k] = 0;
        }
        if (j == f->rank)
            return;
    }
}

static void operand_rooms(Run *run, const Part *p)
{
    int64_t floats = 0;
    for (int m = 0; m < p->changes; m++) {
        const Change *c = p->change + m;
        const int64_t need = operand_need(c, run->form->rank, &run->tile);
        floats += need;
        if (need)
            run->in_room = i64_max(run->in_room, need * (int64_t)dtype_work(c->source->dtype));
    }
    run->float_room = i64_max(run->float_room, floats);
}

/* Buffers for the tile that was chosen; a result in memory that is one tile is made in place. */
static void make_buffers(Run *run)
{
    const Form *f = run->form;
    const int64_t n = box_count(&run->tile, f->rank);
    for (int p = 0; p < f->parts; p++) {
        const Part *part = f->part + p;
        const int64_t size = (int64_t)dtype_work(part->source->dtype);
        const ReadPlan plan = read_plan(part, f->rank, run->tile.n, &run->tile);
        run->in_room = i64_max(run->in_room, plan.need * size);
        if (part->changes || part->guards)
            run->mid_room = i64_max(run->mid_room, n * size);
        operand_rooms(run, part);
    }
    Arena *a = run->store->arena;
    run->in = arena_buffer(a, (size_t)run->in_room);
    run->mid = run->mid_room ? arena_buffer(a, (size_t)run->mid_room) : NULL;
    if (run->float_room)
        run->floats = (void *)arena_buffer(a, (size_t)run->float_room * sizeof *run->floats);
    const bool in_place = run->memory && !run->outer && n == form_count(f);
    run->out = in_place ? run->memory : arena_buffer(a, (size_t)n * run->size);
}

/* What one of the three buffers may take. */
size_t recipe_room(const Store *store)
{
    const size_t room = (store->window ? store->window : DEFAULT_WINDOW) / 3;
    return room < 1024 ? 1024 : room;
}

static void open_source(Store *store, Source *source, bool open)
{
    if (open)
        source_open(store, source);
    else
        source_close(source);
}

static void open_sources(Run *run, bool open)
{
    for (int p = 0; p < run->form->parts; p++) {
        const Part *part = run->form->part + p;
        open_source(run->store, part->source, open);
        for (int m = 0; m < part->changes; m++)
            if (part->change[m].source)
                open_source(run->store, part->change[m].source, open);
    }
}

/* Joins factors, but none that steps by rows with one that does not; there is at least one. */
static void settle_factors(Run *run)
{
    Form *f = run->form;
    for (int k = 0; k < f->rank; k++)
        f->axis[k] = k < run->outer ? 0 : 1;
    form_join(f, false);
    run->outer = 0;
    while (run->outer < f->rank && f->axis[run->outer] == 0)
        run->outer++;
    if (run->outer == f->rank)
        (void)form_axis(f, 1);
}

static void run_form(Run *run, Form *form)
{
    Store *s = run->store;
    const ArenaMark mark = arena_mark(s->arena);
    run->form = form;
    run->size = dtype_work(run->dtype);
    settle_factors(run);
    open_sources(run, true);
    run->tile = tile_shape(run->form, run->dtype, (int64_t)recipe_room(s), run->order);
    make_buffers(run);
    run_tiles(run);
    open_sources(run, false);
    arena_release(s->arena, mark);
}

/* All of a recipe: to `at` of a file, or to memory. */
void recipe_run(Store *s, const Recipe *recipe, File *file, uint64_t at, uint8_t *memory)
{
    const Run all = {
        .store = s, .dtype = recipe_dtype(recipe), .file = file, .at = at, .memory = memory
    };
    const uint64_t size = dtype_work(all.dtype);
    for (int i = 0; i < (recipe->join ? recipe->join->pieces : 1); i++) {
        const ArenaMark mark = arena_mark(&s->scratch);
        Run run = all;
        Recipe one = { .source = recipe->source, .form = recipe->form };
        if (recipe->join) {
            const Piece *p = recipe->join->piece + i;
            one.form = p->form;
            run.outer = p->outer;
            run.row = p->row;
            run.at += (uint64_t)p->offset * size;
            if (memory)
                run.memory += (uint64_t)p->offset * size;
        }
        run_form(&run, form_copy(s, recipe->join ? &one : recipe));
        arena_release(&s->scratch, mark);
    }
}
