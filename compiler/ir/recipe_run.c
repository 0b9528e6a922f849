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
#include "ir/recipe_tile.h"
#include "ir/recipe_values.h"

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
    int64_t float_room; /* numbers of all operands of a part that are read */
    float *floats;      /* them, for the box at hand */
    Values values[CHANGES]; /* of the part and box at hand, by change */
} Run;

/* --- read --- */

static void read_box(Run *run, const Part *p, const Box *box,
                     const ReadPlan *plan)
{
    const int64_t size = (int64_t)dtype_work(p->source->dtype);
    int64_t i[FACTORS] = { 0 };
    int64_t at = plan->first;
    for (uint8_t *to = run->in;; to += plan->pitch * size) {
        /* Addresses outside the source are of elements that a guard hides. */
        const int64_t low = at < 0 ? -at : 0;
        const int64_t high = i64_min(plan->span, p->source->count - at);
        if (low < high)
            source_read(run->store, p->source, at + low, high - low,
                        to + low * size);
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

static int64_t affine_at(const Affine *f, const int64_t *i, int rank)
{
    int64_t v = f->base;
    for (int k = 0; k < rank; k++)
        v += f->step[k] * i[k];
    return v;
}

/* The part of [*from, *to) along factor `inner`, from index i, that guard lets through. */
static void clip(const Guard *guard, const int64_t *i, int rank, int inner,
                 int64_t *from, int64_t *to)
{
    const int64_t v = affine_at(&guard->at, i, rank);
    const int64_t c = guard->at.step[inner];
    if (c == 0) {
        if (v < guard->low || v >= guard->high)
            *to = *from;
        return;
    }
    int64_t low = guard->low - v;
    int64_t high = guard->high - 1 - v;
    if (c > 0) {
        low = i64_ceil_div(low, c);
        high = i64_floor_div(high, c);
    } else {
        const int64_t first = i64_ceil_div(-high, -c);
        high = i64_floor_div(-low, -c);
        low = first;
    }
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
static int run_factor(const Form *form, const Part *p, const Box *tile,
                      const Box *box, int64_t *length)
{
    int k = form->rank - 1;
    *length = box->n[k];
    if (tells_apart(p, k))
        return k;
    while (k > 0 && box->n[k] == tile->n[k] && !tells_apart(p, k - 1))
        *length *= box->n[--k];
    return k;
}

/* Where the runs of a box lie in the buffer of its tile. */
typedef struct Runs {
    Path path;
    const Box *tile;
    int64_t step[FACTORS]; /* of the tile's factors in its buffer */
    int64_t length;        /* of a run */
} Runs;

static int64_t place_of(const Runs *runs, const int64_t *index, int rank)
{
    int64_t place = 0;
    for (int k = 0; k < rank; k++)
        place += (index[k] - runs->tile->at[k]) * runs->step[k];
    return place;
}

static void find_operands(const Run *run, const Part *part,
                          const int64_t *index, int64_t from,
                          Operands *operands)
{
    const int rank = run->form->rank;
    for (int m = 0; m < part->changes; m++) {
        const Values *values = run->values + m;
        const int64_t step = values->at.step[rank - 1];
        operands->step[m] = step;
        operands->v[m] = values->vec;
        if (values->vec)
            operands->v[m] += affine_at(&values->at, index, rank) + step * from;
    }
}

/* What guards let through of the run that begins at `index`. */
static void place_run(Run *run, const Runs *runs, const int64_t *index,
                      const uint8_t *mid)
{
    const Path *path = &runs->path;
    const Part *part = path->part;
    const int rank = run->form->rank;
    int64_t from = 0;
    int64_t end = runs->length;
    for (int g = 0; g < part->guards; g++)
        clip(part->guard + g, index, rank, rank - 1, &from, &end);
    if (from >= end)
        return;
    const size_t to = (size_t)(place_of(runs, index, rank) + from);
    Operands operands;
    find_operands(run, part, index, from, &operands);
    change_values(path, mid + (size_t)from * path->in_size,
                  run->out + to * path->out_size, end - from, &operands);
}

/* run->mid is the box in the order of the result; its elements go to their places in the tile. */
static void place_box(Run *run, const Part *part, const Box *tile,
                      const Box *box)
{
    const Form *form = run->form;
    Runs runs = { .path = path_of(part, run->dtype), .tile = tile };
    const int first = run_factor(form, part, tile, box, &runs.length);
    int64_t step = 1;
    for (int k = form->rank; k-- > 0;) {
        runs.step[k] = step;
        step *= tile->n[k];
    }
    int64_t index[FACTORS];
    memcpy(index, box->at, sizeof index);
    const size_t bytes = (size_t)runs.length * runs.path.in_size;
    const uint8_t *mid = run->mid;
    do {
        place_run(run, &runs, index, mid);
        mid += bytes;
    } while (box_next(box, first, index));
}

/* --- operands of changes --- */

/* One run of n raw elements as floats, after the operand's own changes. */
static void operand_run(const Change *c, const uint8_t *in, float *to,
                        int64_t n)
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
            const float *number =
                own->source ? change_memory(own) + own->at.base : NULL;
            change_run(own, number, 0, type, &now, &spare, k);
            type = own->dtype;
        }
        memcpy(to + i, now, (size_t)k * sizeof *to);
    }
}

/* The raw elements of an operand, in the first buffer. */
static void read_raw(Run *run, const Change *change, const Box *box,
                     const ReadPlan *plan)
{
    const Part part = operand_part(change);
    const int64_t bytes = plan->need * (int64_t)dtype_work(part.source->dtype);
    const bool beyond = plan->first < 0 ||
                        plan->first + plan->span > part.source->count ||
                        plan->outer;
    assert(bytes <= run->in_room);
    if (beyond) /* elements that a guard hides */
        memset(run->in, 0, (size_t)bytes);
    read_box(run, &part, box, plan);
}

/* Reads what the change needs for the box; returns the end of its floats. */
static float *read_operand(Run *run, const Change *change, const Box *box,
                           float *to, Values *values)
{
    const int rank = run->form->rank;
    const Part part = operand_part(change);
    const ReadPlan plan = read_plan(&part, rank, run->tile.n, box);
    const int64_t size = (int64_t)dtype_work(change->source->dtype);
    assert(to + plan.need <= run->floats + run->float_room);
    read_raw(run, change, box, &plan);
    for (int64_t row = 0; row < plan.need; row += plan.pitch)
        operand_run(change, run->in + row * size, to + row, plan.span);
    *values = (Values){ .vec = to, .at = { .base = plan.origin } };
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

static void clear_tile(Run *run, const Box *tile)
{
    memset(run->out, 0, (size_t)box_count(tile, run->form->rank) * run->size);
}

/* Reads a box of part p, whose elements go to `to` in the order of the result. */
static void read_part(Run *run, const Part *part, const Box *box, uint8_t *to)
{
    const int rank = run->form->rank;
    const size_t size = dtype_work(part->source->dtype);
    const ReadPlan plan = read_plan(part, rank, run->tile.n, box);
    assert(plan.need * (int64_t)size <= run->in_room);
    read_box(run, part, box, &plan);
    box_permute(rank, box, &plan, size, run->in, to);
}

/* Makes what part p holds of the tile; *filled: the tile's buffer has no stale element. */
static void make_part(Run *run, const Part *part, const Box *tile, bool *filled)
{
    Box box = *tile;
    bool whole;
    if (!box_cut(part, run->form->rank, &box, &whole))
        return;
    const bool full = whole && !memcmp(&box, tile, sizeof box);
    if (!full && !*filled)
        clear_tile(run, tile);
    *filled = true;
    if (full && !part->changes) {
        read_part(run, part, &box, run->out);
        return;
    }
    assert(box_count(&box, run->form->rank) *
               (int64_t)dtype_work(part->source->dtype) <=
           run->mid_room);
    read_part(run, part, &box, run->mid);
    read_operands(run, part, &box);
    place_box(run, part, tile, &box);
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

/* Elements of the result from one index of a factor to the next. */
static void result_steps(const Run *run, int64_t *step)
{
    const Form *form = run->form;
    int64_t next = 1;
    for (int k = form->rank; k-- > 0;) {
        step[k] = k == run->outer - 1 ? run->row : next;
        next = step[k] * form->dim[k];
    }
}

static void write_tile(Run *run, const Box *tile)
{
    const Form *form = run->form;
    int first = form->rank - 1;
    int64_t length = tile->n[first];
    while (first > run->outer && tile->n[first] == form->dim[first])
        length *= tile->n[--first];
    int64_t step[FACTORS];
    int64_t index[FACTORS];
    result_steps(run, step);
    memcpy(index, tile->at, sizeof index);
    const uint8_t *from = run->out;
    do {
        int64_t to = 0;
        for (int k = 0; k < form->rank; k++)
            to += index[k] * step[k];
        write_run(run, to, from, length);
        from += length * (int64_t)run->size;
    } while (box_next(tile, first, index));
}

static void make_tile(Run *run, const Box *tile)
{
    const Form *form = run->form;
    bool filled = false;
    for (int p = 0; p < form->parts; p++)
        make_part(run, form->part + p, tile, &filled);
    if (!filled)
        clear_tile(run, tile);
    if (run->file || run->out != run->memory)
        write_tile(run, tile);
}

/* In the order of the run's factors; false: it was the last. */
static bool next_tile(const Run *run, Box *tile)
{
    const Form *form = run->form;
    for (int i = 0; i < form->rank; i++) {
        const int k = run->order[i];
        tile->at[k] += run->tile.n[k];
        if (tile->at[k] < form->dim[k])
            return true;
        tile->at[k] = 0;
    }
    return false;
}

static void run_tiles(Run *run)
{
    const Form *form = run->form;
    Box tile = { { 0 }, { 0 } };
    do {
        for (int k = 0; k < form->rank; k++) {
            const int64_t left = form->dim[k] - tile.at[k];
            tile.n[k] = i64_min(run->tile.n[k], left);
        }
        make_tile(run, &tile);
    } while (next_tile(run, &tile));
}

static void operand_rooms(Run *run, const Part *p)
{
    int64_t floats = 0;
    for (int m = 0; m < p->changes; m++) {
        const Change *c = p->change + m;
        const int64_t need = operand_need(c, run->form->rank, &run->tile);
        floats += need;
        if (need)
            run->in_room = i64_max(
                run->in_room, need * (int64_t)dtype_work(c->source->dtype));
    }
    run->float_room = i64_max(run->float_room, floats);
}

static void part_rooms(Run *run, const Part *part)
{
    const int rank = run->form->rank;
    const int64_t n = box_count(&run->tile, rank);
    const int64_t size = (int64_t)dtype_work(part->source->dtype);
    const ReadPlan plan = read_plan(part, rank, run->tile.n, &run->tile);
    run->in_room = i64_max(run->in_room, plan.need * size);
    if (part->changes || part->guards)
        run->mid_room = i64_max(run->mid_room, n * size);
    operand_rooms(run, part);
}

/* Buffers for the tile that was chosen; a result in memory that is one tile is made in place. */
static void make_buffers(Run *run)
{
    const Form *form = run->form;
    Arena *arena = run->store->arena;
    const int64_t n = box_count(&run->tile, form->rank);
    for (int p = 0; p < form->parts; p++)
        part_rooms(run, form->part + p);
    run->in = arena_buffer(arena, (size_t)run->in_room);
    if (run->mid_room)
        run->mid = arena_buffer(arena, (size_t)run->mid_room);
    const size_t floats = (size_t)run->float_room;
    if (floats)
        run->floats = arena_buffer(arena, floats * sizeof *run->floats);
    const bool in_place = run->memory && !run->outer && n == form_count(form);
    run->out = run->memory;
    if (!in_place)
        run->out = arena_buffer(arena, (size_t)n * run->size);
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

/* Before any is open: what is computed now may read them, too. */
static void make_sources(const Run *run)
{
    for (int p = 0; p < run->form->parts; p++) {
        const Part *part = run->form->part + p;
        source_make(run->store, part->source);
        for (int i = 0; i < part->changes; i++)
            if (part->change[i].source)
                source_make(run->store, part->change[i].source);
    }
}

static void open_sources(Run *run, bool open)
{
    for (int p = 0; p < run->form->parts; p++) {
        const Part *part = run->form->part + p;
        open_source(run->store, part->source, open);
        for (int i = 0; i < part->changes; i++) {
            Source *source = part->change[i].source;
            if (source)
                open_source(run->store, source, open);
        }
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
    make_sources(run);
    open_sources(run, true);
    run->tile =
        tile_shape(run->form, run->dtype, (int64_t)recipe_room(s), run->order);
    make_buffers(run);
    run_tiles(run);
    open_sources(run, false);
    arena_release(s->arena, mark);
}

static void run_recipe(Run *run, const Recipe *recipe)
{
    Arena *scratch = &run->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    run_form(run, form_copy(run->store, recipe));
    arena_release(scratch, mark);
}

/* One piece of the result that `run` describes. */
static void run_piece(const Run *all, const Piece *piece)
{
    const uint64_t skip = (uint64_t)piece->offset * dtype_work(all->dtype);
    const Recipe own = { .form = piece->form };
    Run run = *all;
    run.outer = piece->outer;
    run.row = piece->row;
    run.at += skip;
    if (run.memory)
        run.memory += skip;
    run_recipe(&run, &own);
}

/* All of a recipe: to `at` of a file, or to memory. */
void recipe_run(Store *store, const Recipe *recipe, File *file, uint64_t at,
                uint8_t *memory)
{
    const Join *join = recipe->join;
    Run run = {
        .store = store,
        .dtype = recipe_dtype(recipe),
        .file = file,
        .at = at,
        .memory = memory,
    };
    if (!join) {
        run_recipe(&run, recipe);
        return;
    }
    for (int i = 0; i < join->pieces; i++)
        run_piece(&run, join->piece + i);
}
