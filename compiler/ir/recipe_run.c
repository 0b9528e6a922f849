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

void store_work(Store *s, const char *doing, uint64_t all)
{
    s->work = (Work){ .doing = doing, .all = all };
    if (s->progress)
        s->progress(s);
}

void store_worked(Store *s, uint64_t bytes)
{
    s->work.done += bytes;
    if (s->progress && s->work.done >= s->work.next)
        s->progress(s);
}

void recipe_wrote(Store *s, uint64_t bytes)
{
    s->bytes_written += bytes;
    store_worked(s, bytes);
}

/* --- read --- */

static void read_box(Run *run, const Part *p, const Box *b, const ReadPlan *r)
{
    const int64_t size = (int64_t)dtype_work(p->source->dtype);
    int64_t i[FACTORS] = { 0 }, at = r->first;
    for (uint8_t *to = run->in;; to += r->pitch * size) {
        /* Addresses outside the source are of elements that a guard hides. */
        const int64_t low = at < 0 ? -at : 0, high = i64_min(r->span, p->source->count - at);
        if (low < high)
            source_read(run->store, p->source, at + low, high - low, to + low * size);
        int j = 0;
        for (; j < r->outer; j++) {
            const int64_t s = llabs(p->at.step[r->factor[j]]);
            at += s;
            if (++i[j] < b->n[r->factor[j]])
                break;
            at -= s * i[j];
            i[j] = 0;
        }
        if (j == r->outer)
            return;
    }
}

/* --- permute --- */

typedef struct Quad {
    uint64_t half[2];
} Quad;

/* rows x n elements; 16 is the width of packed kernels and gets constant loops. */
#define PERMUTE(T) \
    static void permute_##T(T *restrict out, const T *restrict in, int64_t rows, int64_t row_step, \
                            int64_t n, int64_t step) \
    { \
        if (step == 1) { \
            for (int64_t q = 0; q < rows; q++) { \
                if (n == 16) \
                    memcpy(out + q * 16, in + q * row_step, 16 * sizeof(T)); \
                else \
                    memcpy(out + q * n, in + q * row_step, (size_t)n * sizeof(T)); \
            } \
            return; \
        } \
        if (n == 16) { \
            int64_t q = 0; \
            for (; row_step == 1 && q + 16 <= rows; q += 16) { \
                T t[16][16]; \
                for (int i = 0; i < 16; i++) \
                    for (int k = 0; k < 16; k++) \
                        t[k][i] = in[q + k + i * step]; \
                memcpy(out + q * 16, t, sizeof t); \
            } \
            for (; q < rows; q++) \
                for (int i = 0; i < 16; i++) \
                    out[q * 16 + i] = in[q * row_step + i * step]; \
            return; \
        } \
        for (int64_t q0 = 0; q0 < rows; q0 += 16) \
            for (int64_t i0 = 0; i0 < n; i0 += 16) { \
                const int64_t q1 = i64_min(rows, q0 + 16), i1 = i64_min(n, i0 + 16); \
                if (row_step == 1 && q1 - q0 == 16 && i1 - i0 == 16) { \
                    T t[16][16]; \
                    for (int i = 0; i < 16; i++) \
                        for (int k = 0; k < 16; k++) \
                            t[k][i] = in[q0 + k + (i0 + i) * step]; \
                    for (int k = 0; k < 16; k++) \
                        memcpy(out + (q0 + k) * n + i0, t[k], sizeof t[k]); \
                    continue; \
                } \
                for (int64_t q = q0; q < q1; q++) \
                    for (int64_t i = i0; i < i1; i++) \
                        out[q * n + i] = in[q * row_step + i * step]; \
            } \
    }
PERMUTE(uint8_t)
PERMUTE(uint16_t)
PERMUTE(uint32_t)
PERMUTE(uint64_t)
PERMUTE(Quad)

typedef struct Loops {
    int n;
    int64_t dim[FACTORS + 2], step[FACTORS + 2];
} Loops;

/* The box as loops over the buffer, outermost first: joined where the buffer steps as one, at least
 * two. */
static Loops permute_loops(int rank, const Box *b, const ReadPlan *r)
{
    Loops l = { .n = 2, .dim = { 1, 1 } };
    for (int k = 0; k < rank; k++) {
        if (b->n[k] == 1)
            continue;
        if (l.n > 2 && l.step[l.n - 1] == r->step[k] * b->n[k]) {
            l.dim[l.n - 1] *= b->n[k];
        } else {
            l.dim[l.n++] = b->n[k];
        }
        l.step[l.n - 1] = r->step[k];
    }
    return l;
}

static void permute_rows(size_t size, uint8_t *out, const uint8_t *in, int64_t rows,
                         int64_t row_step, int64_t n, int64_t step)
{
    switch (size) {
    case 1:
        permute_uint8_t(out, in, rows, row_step, n, step);
        break;
    case 2:
        permute_uint16_t((void *)out, (const void *)in, rows, row_step, n, step);
        break;
    case 4:
        permute_uint32_t((void *)out, (const void *)in, rows, row_step, n, step);
        break;
    case 8:
        permute_uint64_t((void *)out, (const void *)in, rows, row_step, n, step);
        break;
    default:
        permute_Quad((void *)out, (const void *)in, rows, row_step, n, step);
    }
}

static void permute(int rank, const Box *b, const ReadPlan *r, size_t size, const uint8_t *in,
                    uint8_t *out)
{
    const Loops l = permute_loops(rank, b, r);
    const int64_t rows = l.dim[l.n - 2], n = l.dim[l.n - 1];
    int64_t i[FACTORS + 2] = { 0 }, at = r->origin;
    for (;; out += rows * n * (int64_t)size) {
        permute_rows(size, out, in + at * (int64_t)size, rows, l.step[l.n - 2], n, l.step[l.n - 1]);
        int j = l.n - 3;
        for (; j >= 0; j--) {
            at += l.step[j];
            if (++i[j] < l.dim[j])
                break;
            at -= l.step[j] * i[j];
            i[j] = 0;
        }
        if (j < 0)
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

/* One change of n elements in *now (type t) with v[0], v[step], ...; *now holds the result. */
static void change_run(const Change *c, const float *v, int64_t step, DType t, Buffer **now,
                       Buffer **spare, int n)
{
    if (c->kind == CHANGE_CAST) {
        convert_run(t, *now, c->dtype, *spare, n);
        Buffer *b = *now;
        *now = *spare;
        *spare = b;
    } else if (c->kind == CHANGE_MUL) {
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
    const size_t in_size = dtype_work(p->source->dtype), out_size = dtype_work(out);
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
        Buffer *now = &a, *spare = &b;
        DType t = p->source->dtype;
        memcpy(now, in + (size_t)i * in_size, (size_t)k * in_size);
        for (int m = 0; m < p->changes; m++) {
            const Change *c = p->change + m;
            change_run(c, v[m] ? v[m] + step[m] * i : NULL, step[m], t, &now, &spare, k);
            t = c->dtype;
        }
        memcpy(to + (size_t)i * out_size, now, (size_t)k * out_size);
    }
}

/* The part of [*from, *to) along factor `inner`, from index i, that guard g lets through. */
static void clip(const Guard *g, const int64_t *i, int rank, int inner, int64_t *from, int64_t *to)
{
    const int64_t v = affine_at(&g->at, i, rank), c = g->at.step[inner];
    if (c == 0) {
        if (v < g->low || v >= g->high)
            *to = *from;
        return;
    }
    const int64_t low = c > 0 ? i64_ceil_div(g->low - v, c) : i64_ceil_div(v - g->high + 1, -c);
    const int64_t high = c > 0 ? i64_floor_div(g->high - 1 - v, c) : i64_floor_div(v - g->low, -c);
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
static int run_factor(const Form *f, const Part *p, const Box *tile, const Box *b, int64_t *length)
{
    int k = f->rank - 1;
    *length = b->n[k];
    if (tells_apart(p, k))
        return k;
    while (k > 0 && b->n[k] == tile->n[k] && !tells_apart(p, k - 1))
        *length *= b->n[--k];
    return k;
}

/* mid: the box in the order of the result; its elements go to their places in the tile. */
static void place_box(Run *run, const Part *p, const Box *tile, const Box *b)
{
    const Form *f = run->form;
    const int last = f->rank - 1;
    const int64_t in_size = (int64_t)dtype_work(p->source->dtype), out_size = (int64_t)run->size;
    int64_t i[FACTORS], step[FACTORS], length, s = 1;
    const int first = run_factor(f, p, tile, b, &length);
    memcpy(i, b->at, sizeof i);
    for (int k = f->rank; k-- > 0; s *= tile->n[k])
        step[k] = s;
    for (const uint8_t *mid = run->mid;; mid += length * in_size) {
        int64_t to = 0, from = 0, end = length, each[CHANGES];
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
            if (++i[k] < b->at[k] + b->n[k])
                break;
            i[k] = b->at[k];
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
        Buffer *now = &a, *spare = &b;
        DType t = c->source->dtype;
        memcpy(now, in + i * size, (size_t)(k * size));
        for (int m = 0; m < c->changes; m++) {
            const Change *own = c->change + m;
            const float *number = own->source ? change_memory(own) + own->at.base : NULL;
            change_run(own, number, 0, t, &now, &spare, k);
            t = own->dtype;
        }
        memcpy(to + i, now, (size_t)k * sizeof *to);
    }
}

/* Reads what the change needs for the box; returns the end of its floats. */
static float *read_operand(Run *run, const Change *c, const Box *b, float *to, Values *v)
{
    const int rank = run->form->rank;
    const Part p = operand_part(c);
    const ReadPlan r = read_plan(&p, rank, run->tile.n, b);
    const int64_t size = (int64_t)dtype_work(c->source->dtype);
    assert(r.need * size <= run->in_room && to + r.need <= run->floats + run->float_room);
    if (r.first < 0 || r.first + r.span > c->source->count || r.outer)
        memset(run->in, 0, (size_t)(r.need * size)); /* of elements that a guard hides */
    read_box(run, &p, b, &r);
    for (int64_t row = 0; row < r.need; row += r.pitch)
        operand_run(c, run->in + row * size, to + row, r.span);
    v->vec = to;
    v->at = (Affine){ .base = r.origin };
    for (int k = 0; k < rank; k++) {
        v->at.step[k] = r.step[k];
        v->at.base -= r.step[k] * b->at[k];
    }
    return to + r.need;
}

static void read_operands(Run *run, const Part *p, const Box *b)
{
    float *to = run->floats;
    for (int m = 0; m < p->changes; m++) {
        const Change *c = p->change + m;
        const float *memory = c->source ? change_memory(c) : NULL;
        run->values[m] = (Values){ memory, c->at };
        if (c->source && !memory)
            to = read_operand(run, c, b, to, run->values + m);
    }
}

/* --- tiles --- */

/* The one factor a guard depends on with step 1, or -1. */
static int plain_factor(const Guard *g, int rank)
{
    int found = -1;
    for (int k = 0; k < rank; k++) {
        if (!g->at.step[k])
            continue;
        if (found >= 0 || g->at.step[k] != 1)
            return -1;
        found = k;
    }
    return found;
}

/* Cuts the box by the guards on one factor; false: nothing is left. *whole: no guard needs a look
 * at each run. */
static bool cut_box(const Part *p, int rank, Box *b, bool *whole)
{
    *whole = true;
    for (int j = 0; j < p->guards; j++) {
        const Guard *g = p->guard + j;
        int64_t low = g->at.base, high = g->at.base;
        for (int k = 0; k < rank; k++) {
            const int64_t x = g->at.step[k] * b->at[k],
                          y = g->at.step[k] * (b->at[k] + b->n[k] - 1);
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
        const int64_t from = i64_max(b->at[k], g->low - g->at.base);
        b->n[k] = i64_min(b->at[k] + b->n[k], g->high - g->at.base) - from;
        b->at[k] = from;
        if (b->n[k] <= 0)
            return false;
    }
    return true;
}

/* Makes what part p holds of the tile; *filled: the tile's buffer has no stale element. */
static void make_part(Run *run, const Part *p, const Box *tile, bool *filled)
{
    const Form *f = run->form;
    Box b = *tile;
    bool whole;
    if (!cut_box(p, f->rank, &b, &whole))
        return;
    const bool full = whole && !memcmp(&b, tile, sizeof b);
    if (!full && !*filled)
        memset(run->out, 0, (size_t)box_count(tile, f->rank) * run->size);
    *filled = true;
    const size_t size = dtype_work(p->source->dtype);
    const ReadPlan r = read_plan(p, f->rank, run->tile.n, &b);
    assert(r.need * (int64_t)size <= run->in_room);
    read_box(run, p, &b, &r);
    const bool raw = full && !p->changes;
    assert(raw || box_count(&b, f->rank) * (int64_t)size <= run->mid_room);
    permute(f->rank, &b, &r, size, run->in, raw ? run->out : run->mid);
    if (raw)
        return;
    read_operands(run, p, &b);
    place_box(run, p, tile, &b);
}

static void write_run(Run *run, int64_t first, const uint8_t *from, int64_t n)
{
    const uint64_t at = (uint64_t)first * run->size, bytes = (uint64_t)n * run->size;
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
    int64_t length = t->n[first], step[FACTORS], s = 1, i[FACTORS] = { 0 };
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
        const ReadPlan r = read_plan(part, f->rank, run->tile.n, &run->tile);
        run->in_room = i64_max(run->in_room, r.need * size);
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
size_t recipe_room(const Store *s)
{
    const size_t room = (s->window ? s->window : DEFAULT_WINDOW) / 3;
    return room < 1024 ? 1024 : room;
}

static void open_source(Store *s, Source *source, bool open)
{
    if (open)
        source_open(s, source);
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
void recipe_run(Store *s, const Recipe *r, File *file, uint64_t at, uint8_t *memory)
{
    const Run all = {
        .store = s, .dtype = recipe_dtype(r), .file = file, .at = at, .memory = memory
    };
    const uint64_t size = dtype_work(all.dtype);
    for (int i = 0; i < (r->join ? r->join->pieces : 1); i++) {
        const ArenaMark mark = arena_mark(&s->scratch);
        Run run = all;
        Recipe one = { .source = r->source, .form = r->form };
        if (r->join) {
            const Piece *p = r->join->piece + i;
            one.form = p->form;
            run.outer = p->outer;
            run.row = p->row;
            run.at += (uint64_t)p->offset * size;
            if (memory)
                run.memory += (uint64_t)p->offset * size;
        }
        run_form(&run, form_copy(s, r->join ? &one : r));
        arena_release(&s->scratch, mark);
    }
}
