/* SPDX-License-Identifier: Apache-2.0
 * A path through the places between steps: each edge is a step or a stream. First the least possible peak
 * (minimax), then the cheapest path under it. Streams are walked only when a path wants them: until then
 * an edge counts with a lower bound, so the result is the same as if all had been walked. */
#include "plan/segment.h"

#include <assert.h>

#include "base/size.h"
#include "plan/overlap.h"

typedef struct Edge {
    int32_t from, to;
    int64_t bytes;              /* peak of the edge; a lower bound until it is exact */
    int64_t cost;
    int64_t work;               /* MACs of strips beyond those of the range (0 where they leave out columns that nobody reads) */
    bool exact;
    Stream *stream;
    int32_t strips, result;     /* strips > 0: their number, and the item that they make */
    int32_t next;               /* edge into the same place, -1: none */
} Edge;

enum { MOST_CROSSING = 24 };

struct Finder {
    Arena *arena;
    const Items *all;
    const ScheduleOptions *opt;
    int32_t steps;
    int64_t *alive;             /* bytes alive between steps k - 1 and k */
    int32_t *crossing;          /* how many items that is */
    int32_t (*cross)[MOST_CROSSING];    /* and which, where they are few */
    int64_t *layer;             /* peak of step k run by itself */
    int32_t *least_rows;        /* of an item: fewer no ring of it has */
    VEC(Edge) edge;
    int32_t *into, *last;       /* the first and the last edge that end at k */
    int64_t budget;
    int64_t most;               /* peaks beyond it are of no use */
    Strips strips;
    struct Best *best;          /* of places */
};

#define NEVER (INT64_MAX / 4)

static void count_alive(Finder *f)
{
    const int n = f->steps;
    int64_t *delta = NEW_ARRAY(f->arena, int64_t, n + 2);
    int32_t *items = NEW_ARRAY(f->arena, int32_t, n + 2);
    f->alive = NEW_ARRAY(f->arena, int64_t, n + 1);
    f->crossing = NEW_ARRAY(f->arena, int32_t, n + 1);
    f->layer = NEW_ARRAY(f->arena, int64_t, n + 1);
    for (size_t i = 0; i < f->all->item.n; i++) {
        const Item *it = f->all->item.at + i;
        if (it->outside) continue;
        for (int32_t k = (int32_t)i64_max(it->first, 0); k < it->end; k++) f->layer[k] += it->size;
        if (it->first + 1 >= it->end) continue;
        delta[it->first + 1] += it->size, items[it->first + 1]++;
        delta[it->end] -= it->size, items[it->end]--;
    }
    for (int k = 0; k <= n; k++) {
        f->alive[k] = (k ? f->alive[k - 1] : 0) + delta[k];
        f->crossing[k] = (k ? f->crossing[k - 1] : 0) + items[k];
    }
}

static void list_crossing(Finder *f)
{
    int32_t *n = NEW_ARRAY(f->arena, int32_t, f->steps + 1);
    f->cross = arena_array(f->arena, (size_t)f->steps + 1, sizeof *f->cross);
    for (size_t i = 0; i < f->all->item.n; i++) {
        const Item *it = f->all->item.at + i;
        for (int32_t k = it->first + 1; !it->outside && k < it->end; k++)
            if (f->crossing[k] <= MOST_CROSSING) f->cross[k][n[k]++] = (int32_t)i;
    }
}

/* The most rows that a unit reads: so many at least a ring has. */
static void count_rows(Finder *f)
{
    f->least_rows = NEW_ARRAY(f->arena, int32_t, f->all->item.n + 1);
    for (size_t i = 0; i < f->all->item.n; i++) f->least_rows[i] = 1;
    for (size_t k = 0; k < f->all->touch.n; k++) {
        const Touch *t = f->all->touch.at + k;
        int32_t *least = f->least_rows + t->item;
        const int32_t most = t->operand->rule.kind == ROWS_WINDOW ? t->operand->rule.extent : f->all->item.at[t->item].rows;
        if (t->operand->write || f->all->item.at[t->item].whole) continue;
        for (int32_t u = 0; u < f->all->program->step.at[t->step]->units && *least < most; u++) {
            const Rows r = touch_rows(f->all, t, u);
            *least = (int32_t)i64_max(*least, r.hi - r.lo);
        }
    }
}

static void count_layers(Finder *f)
{
    for (int32_t k = 0; k < f->steps; k++) {
        Overlap found[MOST_OVERLAPS];
        int64_t gain = 0;
        for (int n = overlap_find(f->all, k, f->opt->overlap, found); n > 0; n--) gain = i64_max(gain, overlap_gain(f->all, found + n - 1));
        f->layer[k] -= gain;
    }
}

/* What streaming a step costs: its calls, and the inner loops that get shorter. */
static int64_t stream_cost(const Step *s)
{
    int64_t weights = 0, pixels = 1;
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (!o->tensor) continue;
        int64_t at;
        if (tensor_root(o->tensor, &at)->storage == STORE_WEIGHTS) weights += tensor_bytes(o->tensor);
        if (k == 0 && o->pixel > 0) pixels = i64_max(1, o->row_bytes * 8 / i64_max(1, o->pixel * dtype_bits(o->tensor->dtype)));
    }
    const int64_t again = weights > 400000 ? weights / 4 * s->units : 0;     /* read once a row instead of once */
    return 300 * (int64_t)s->units + s->macs / (16 * pixels) + again;
}

/* What the items that step `first` makes take at least inside a stream up to `to`: the rows of a window, or all of them. */
static int64_t least_inside(const Finder *f, int32_t first, int32_t to)
{
    int64_t bytes = 0;
    for (const Touch *t = touch_begin(f->all, first); t < touch_end(f->all, first); t++) {
        const Item *it = f->all->item.at + t->item;
        if (t->operand->write && !it->scratch && it->first == first && it->end <= to)
            bytes += it->whole ? it->size : f->least_rows[t->item] * it->row_bytes;
    }
    return bytes;
}

static void add_edge(Finder *f, Edge e)
{
    const int32_t k = (int32_t)f->edge.n;
    e.next = -1;
    VEC_PUSH(f->arena, &f->edge, e);
    if (f->into[e.to] < 0) f->into[e.to] = k;
    else f->edge.at[f->last[e.to]].next = k;
    f->last[e.to] = k;
}

static void add_streams(Finder *f, int32_t to)
{
    int64_t cost = 0, worst = 0, inside = 0;
    if (f->crossing[to] > MOST_CROSSING) return;
    for (int32_t from = to - 1; from >= 0 && to - from <= STREAM_STEPS && stream_takes(f->all, from); from--) {
        cost += stream_cost(f->all->program->step.at[from]);
        worst = i64_max(worst, f->layer[from]);
        inside += least_inside(f, from, to);
        const int64_t least = i64_max(f->alive[from], f->alive[to]) + inside;
        if (to - from < 2 || f->crossing[from] > MOST_CROSSING || least >= worst) continue;
        add_edge(f, (Edge){ .from = from, .to = to, .bytes = least, .cost = cost });
    }
}

/* What lies outside of a range and is alive at both of its ends, counted once. */
static int64_t around(const Finder *f, int32_t from, int32_t to)
{
    int64_t bytes = f->alive[from] + f->alive[to];
    for (int32_t i = 0; i < f->crossing[from]; i++) {
        const Item *it = f->all->item.at + f->cross[from][i];
        if (it->end > to) bytes -= it->size;
    }
    return bytes;
}

/* The rings of a range at their smallest: the rows of a window. */
static Stream least_rings(const Finder *f, int32_t from, int32_t to)
{
    Stream s = { .first = from, .end = to };
    for (const Touch *t = touch_begin(f->all, from); t < touch_begin(f->all, to); t++) {
        const Item *it = f->all->item.at + t->item;
        if (it->scratch || it->outside || it->first < from || it->end > to) continue;
        size_t i = 0;
        while (i < s.ring.n && s.ring.at[i].item != t->item) i++;
        if (i == s.ring.n) VEC_PUSH(f->arena, &s.ring, ((Ring){ t->item, 1 }));
        const RowRule *r = &t->operand->rule;
        if (!t->operand->write && r->kind == ROWS_WINDOW) s.ring.at[i].rows = (int32_t)i64_max(s.ring.at[i].rows, i64_min(r->extent, it->rows));
    }
    return s;
}

/* Numbers of strips worth trying: every few per cent. */
static int32_t more_strips(int32_t n) { return n + 1 + n / 6; }

static void add_strips_of(Finder *f, int32_t from, int32_t to, int64_t cost, int64_t worst)
{
    int32_t width;
    const int32_t result = strip_result(&f->strips, from, to, &width);
    if (result < 0) return;
    const Stream least = least_rings(f, from, to);
    int64_t macs = 0, narrowest = INT64_MAX;
    for (int32_t k = from; k < to; k++) macs += f->all->program->step.at[k]->macs;
    for (int32_t n = 2; n <= width; n = more_strips(n)) {
        int64_t bytes, all;
        if (!strip_price(&f->strips, &least, result, n, &bytes, &all)) break;
        if (bytes >= narrowest) continue;
        narrowest = bytes;
        bytes += around(f, from, to);
        if (bytes < worst) add_edge(f, (Edge){ .from = from, .to = to, .bytes = bytes, .cost = cost + 2000 * (int64_t)n * (to - from), .work = i64_max(all - macs, 0), .strips = n, .result = result });
    }
}

static void add_strips(Finder *f, int32_t to)
{
    int64_t cost = 0, worst = 0;
    if (f->crossing[to] > MOST_CROSSING) return;
    for (int32_t from = to - 1; from >= 0 && to - from <= STREAM_STEPS && strip_takes(&f->strips, from); from--) {
        cost += stream_cost(f->all->program->step.at[from]);
        worst = i64_max(worst, f->layer[from]);
        if (f->crossing[from] > MOST_CROSSING) continue;
        const ArenaMark mark = arena_mark(f->arena);
        const size_t edges = f->edge.n;
        add_strips_of(f, from, to, cost, worst);
        if (edges == f->edge.n) arena_release(f->arena, mark);
    }
}

static void add_edges(Finder *f)
{
    f->into = NEW_ARRAY(f->arena, int32_t, f->steps + 1);
    f->last = NEW_ARRAY(f->arena, int32_t, f->steps + 1);
    for (int32_t to = 1; to <= f->steps; to++) {
        f->into[to] = -1;
        add_edge(f, (Edge){ .from = to - 1, .to = to, .bytes = f->layer[to - 1], .exact = true });
        if (f->opt->stream && !f->all->control) add_streams(f, to);
        if (f->opt->strips && !f->all->control) add_strips(f, to);
    }
}

static int64_t stream_peak(const Finder *f, const Stream *s)
{
    const int64_t bytes = s->bytes + around(f, s->first, s->end);
    if (s->under < 0 || !f->opt->overlap) return bytes;
    const Overlap o = { s->under, s->over, false, true, s->backward ? NEVER : s->distance, s->backward ? s->distance : NEVER };
    return bytes - overlap_gain(f->all, &o);
}

/* Strips have the rings of the whole rows, but narrow ones. */
static void settle_strips(Finder *f, Edge *e, const Stream *whole)
{
    int64_t bytes, macs;
    if (!strip_price(&f->strips, whole, e->result, e->strips, &bytes, &macs)) return;
    e->bytes = i64_min(e->bytes, bytes + around(f, e->from, e->to));
}

/* Walks a stream in both directions; the better one stays. A walk that goes beyond f->most leaves a better bound. */
static void settle(Finder *f, Edge *e)
{
    bool beyond = false;
    e->exact = true;
    e->bytes = NEVER;
    const ArenaMark mark = arena_mark(f->arena);
    const int ways = stream_ascends(f->all, e->from, e->to) ? 1 : 2;
    for (int way = 0; way < ways; way++) {
        Stream *s = NEW(f->arena, Stream);
        const int64_t most = e->strips ? NEVER : f->most - around(f, e->from, e->to);
        if (!stream_walk(f->arena, f->all, e->from, e->to, way == 1, most, &f->budget, s)) {
            beyond |= s->beyond;
            if (s->beyond) continue;
            break;
        }
        if (e->strips) settle_strips(f, e, s);
        if (e->strips) continue;
        const int64_t bytes = stream_peak(f, s);
        if (bytes >= e->bytes) continue;
        e->bytes = bytes;
        e->stream = s;
    }
    if (beyond && e->bytes > f->most) {
        e->exact = false;
        e->bytes = f->most + 1;
        e->stream = NULL;
    }
    if (!e->stream) arena_release(f->arena, mark);
}

/* The best edge into each place, by peak and then by cost, or by cost alone under a limit. */
typedef struct Best {
    int64_t peak, work, cost;
    int32_t edge;
} Best;

static bool better(const Best *a, const Best *b, bool by_cost)
{
    if (!by_cost && a->peak != b->peak) return a->peak < b->peak;
    if (a->work != b->work) return a->work < b->work;
    if (a->cost != b->cost) return a->cost < b->cost;
    return a->peak < b->peak;
}

/* exact: over edges whose peaks are known. */
static void find_path_of(const Finder *f, int64_t limit, bool exact, Best *best)
{
    best[0] = (Best){ .edge = -1 };
    for (int32_t to = 1; to <= f->steps; to++) {
        best[to] = (Best){ NEVER, NEVER, NEVER, -1 };
        for (int32_t k = f->into[to]; k >= 0; k = f->edge.at[k].next) {
            const Edge *e = f->edge.at + k;
            const Best *b = best + e->from;
            if ((limit && e->bytes > limit) || (exact && !e->exact)) continue;
            if (b->peak >= NEVER) continue;
            const Best by = { i64_max(b->peak, e->bytes), b->work + e->work, b->cost + e->cost, k };
            if (best[to].edge < 0 || better(&by, best + to, limit > 0)) best[to] = by;
        }
    }
}

static void find_path(const Finder *f, int64_t limit, Best *best) { find_path_of(f, limit, false, best); }

/* Walks the streams of the path that are not exact yet; false: all were. */
static bool settle_path(Finder *f, const Best *best)
{
    bool any = false;
    for (int32_t k = f->steps; k > 0; k = f->edge.at[best[k].edge].from) {
        Edge *e = f->edge.at + best[k].edge;
        if (e->exact) continue;
        settle(f, e);
        any = true;
    }
    return any;
}

static Schedule take(Finder *f, const Best *best)
{
    Schedule s = { .peak = best[f->steps].peak, .work = best[f->steps].work, .cost = best[f->steps].cost };
    int32_t *path = NEW_ARRAY(f->arena, int32_t, f->steps + 1), n = 0;
    for (int32_t k = f->steps; k > 0; k = f->edge.at[path[n++]].from) path[n] = best[k].edge;
    while (n--) {
        const Edge *e = f->edge.at + path[n];
        VEC_PUSH(f->arena, &s.slot, ((Slot){ e->from, e->to, e->stream, e->strips, e->result }));
    }
    return s;
}

Finder *schedule_open(Arena *a, const Items *all, const ScheduleOptions *opt)
{
    Finder *f = NEW(a, Finder);
    *f = (Finder){ .arena = a, .all = all, .opt = opt, .steps = (int32_t)all->program->step.n, .budget = opt->budget };
    f->best = NEW_ARRAY(a, Best, f->steps + 1);
    if (opt->strips) f->strips = strips_new(a, all);
    count_alive(f);
    list_crossing(f);
    count_layers(f);
    count_rows(f);
    add_edges(f);
    return f;
}

bool schedule_under(Finder *f, int64_t limit, Schedule *out)
{
    f->most = i64_max(limit, 1);
    do {
        find_path(f, i64_max(limit, 1), f->best);
        if (f->steps && f->best[f->steps].edge < 0) return false;
    } while (settle_path(f, f->best));
    *out = take(f, f->best);
    return true;
}

/* Streams beyond `most` are gone through no more. */
static void drop_edges(Finder *f, int64_t most)
{
    for (int32_t to = 1; to <= f->steps; to++) {
        int32_t *next = f->into + to;
        f->last[to] = -1;
        for (int32_t k = *next; k >= 0; k = f->edge.at[k].next) {
            if (f->edge.at[k].bytes > most && !f->edge.at[k].exact) continue;
            *next = k;
            next = &f->edge.at[k].next;
            f->last[to] = k;
        }
        *next = -1;
    }
}

Schedule schedule_find(Arena *a, const Items *all, const ScheduleOptions *opt)
{
    Finder *f = schedule_open(a, all, opt);
    Schedule s;
    int64_t most = INT64_MAX;
    do {
        find_path_of(f, 0, true, f->best);
        f->most = f->best[f->steps].peak;       /* what is worse is of no use */
        if (opt->peak_only && opt->most) f->most = i64_min(f->most, opt->most);
        if (f->most < most) drop_edges(f, i64_max(f->most, opt->enough));
        most = f->most;
        find_path(f, 0, f->best);
    } while (!(opt->peak_only && opt->most && f->best[f->steps].peak > opt->most) && settle_path(f, f->best));
    if (opt->peak_only) return (Schedule){ .peak = f->best[f->steps].peak };
    const bool found = schedule_under(f, i64_max(f->best[f->steps].peak, opt->enough), &s);
    assert(found);
    (void)found;
    return s;
}
