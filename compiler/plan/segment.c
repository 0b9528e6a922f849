/* SPDX-License-Identifier: Apache-2.0
 * A path through the places between steps: each edge is a step or a stream. First the least
 * possible peak (minimax), then the cheapest path under it. Streams are walked only when a path
 * wants them: until then an edge counts with a lower bound, so the result is the same as if all had
 * been walked. */
#include "plan/segment.h"

#include <assert.h>

#include "base/size.h"
#include "plan/overlap.h"

typedef struct Edge {
    int32_t from, to;
    int64_t bytes; /* peak of the edge; a lower bound until it is exact */
    int64_t cost;
    int64_t work; /* MACs of strips beyond those of the range (0 where they leave out columns that
                     nobody reads) */
    bool exact, grown; /* grown: settled since the last look for a path */
    Stream *stream;
    Cut cut; /* n > 0: into strips of item `result` */
    int32_t result;
} Edge;

enum {
    MOST_CROSSING = 24,
    NARROW_TURNS = 8,
    MOST_EDGES = 1 << 19, /* of a model of so many steps that streams must be shorter for it */
    LEAST_REACH = 4,
    PATH_WORK = 20000000,    /* edges and places looked at in search of a path, */
    PATH_WORK_OF_STEP = 200, /* and so many more for each step */
};

struct Finder {
    Arena *arena;
    const Items *all;
    const ScheduleOptions *opt;
    int32_t steps;
    int64_t *alive;                  /* bytes alive between steps k - 1 and k */
    int32_t *crossing;               /* how many items that is */
    int32_t (*cross)[MOST_CROSSING]; /* and which, where they are few */
    int64_t *layer;                  /* peak of step k run by itself */
    int64_t *cost;                   /* of step k in a stream; -1: it cannot be in one */
    int32_t *least_rows;             /* of an item: fewer no ring of it has */
    VEC(Edge) edge;
    int32_t *into, *into_end; /* those that end at k: edge[into[k]] .. edge[into_end[k] - 1] */
    int32_t reach;            /* most steps of a stream */
    int64_t budget;           /* unit visits that are left */
    int64_t looking;          /* edges and places that may be looked at in search of a path */
    int64_t most;             /* peaks beyond it are of no use */
    Strips strips;
    int32_t *number;    /* scratch of walked_key() */
    struct Best *best;  /* of places */
    bool *changed;      /* a place's best, while paths are mended */
    VEC(int32_t) grown; /* edges */
};

#define NEVER (INT64_MAX / 4)

static void count_alive(Finder *finder)
{
    const int n = finder->steps;
    int64_t *delta = NEW_ARRAY(finder->arena, int64_t, n + 2);
    int32_t *items = NEW_ARRAY(finder->arena, int32_t, n + 2);
    finder->alive = NEW_ARRAY(finder->arena, int64_t, n + 1);
    finder->crossing = NEW_ARRAY(finder->arena, int32_t, n + 1);
    finder->layer = NEW_ARRAY(finder->arena, int64_t, n + 2);
    for (size_t i = 0; i < finder->all->item.n; i++) {
        const Item *it = finder->all->item.at + i;
        if (it->outside)
            continue;
        finder->layer[i64_max(it->first, 0)] += it->size;
        finder->layer[i64_min(it->end, n + 1)] -= it->size;
        if (it->first + 1 >= it->end)
            continue;
        delta[it->first + 1] += it->size, items[it->first + 1]++;
        delta[it->end] -= it->size, items[it->end]--;
    }
    for (int k = 0; k <= n; k++) {
        finder->alive[k] = (k ? finder->alive[k - 1] : 0) + delta[k];
        finder->crossing[k] = (k ? finder->crossing[k - 1] : 0) + items[k];
        finder->layer[k] += k ? finder->layer[k - 1] : 0;
    }
}

/* A place that few items cross is soon found from the places behind it: those are skipped that many
 * cross. */
static void list_crossing(Finder *finder)
{
    int32_t *n = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1),
            *few = NEW_ARRAY(finder->arena, int32_t, finder->steps + 2); /* the next from k on */
    finder->cross = arena_array(finder->arena, (size_t)finder->steps + 1, sizeof *finder->cross);
    few[finder->steps + 1] = finder->steps + 1;
    for (int32_t k = finder->steps; k >= 0; k--)
        few[k] = finder->crossing[k] <= MOST_CROSSING ? k : few[k + 1];
    for (size_t i = 0; i < finder->all->item.n; i++) {
        const Item *it = finder->all->item.at + i;
        const int32_t end = (int32_t)i64_min(it->end, finder->steps + 1);
        for (int32_t k = few[it->first + 1]; !it->outside && k < end; k = few[k + 1])
            finder->cross[k][n[k]++] = (int32_t)i;
    }
}

/* The most rows that a unit reads: so many at least a ring has. */
static void count_rows(Finder *finder)
{
    finder->least_rows = NEW_ARRAY(finder->arena, int32_t, finder->all->item.n + 1);
    for (size_t i = 0; i < finder->all->item.n; i++)
        finder->least_rows[i] = 1;
    for (size_t k = 0; k < finder->all->touch.n; k++) {
        const Touch *t = finder->all->touch.at + k;
        int32_t *least = finder->least_rows + t->item;
        const int32_t most = t->operand->rule.kind == ROWS_WINDOW
                                 ? t->operand->rule.extent
                                 : finder->all->item.at[t->item].rows;
        if (t->operand->write || finder->all->item.at[t->item].whole)
            continue;
        for (int32_t u = 0; u < finder->all->program->step.at[t->step]->units && *least < most;
             u++) {
            const Rows r = touch_rows(finder->all, t, u);
            *least = (int32_t)i64_max(*least, r.hi - r.lo);
        }
    }
}

static void count_layers(Finder *finder)
{
    for (int32_t k = 0; k < finder->steps; k++) {
        Overlap found[MOST_OVERLAPS];
        int64_t gain = 0;
        for (int n = overlap_find(finder->all, k, finder->opt->overlap, found); n > 0; n--)
            gain = i64_max(gain, overlap_gain(finder->all, found + n - 1));
        finder->layer[k] -= gain;
    }
}

/* What streaming a step costs: its calls, and the inner loops that get shorter. */
static int64_t stream_cost(const Step *step, int32_t least)
{
    const int64_t burst = stream_burst(step, least);
    int64_t weights = 0;
    int64_t pixels = 1;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *o = step->operand + k;
        if (!o->tensor)
            continue;
        int64_t at;
        if (tensor_root(o->tensor, &at)->storage == STORE_WEIGHTS)
            weights += tensor_bytes(o->tensor);
        if (k == 0 && o->pixel > 0)
            pixels =
                i64_max(1, o->row_bytes * 8 / i64_max(1, o->pixel * dtype_bits(o->tensor->dtype)));
    }
    const int64_t again =
        weights > 400000 ? weights / 4 * step->units : 0; /* read once a row instead of once */
    return 300 * i64_ceil_div(step->units, burst) + step->macs / (16 * pixels * burst) +
           again / burst;
}

/* What the items that step `first` makes take at least inside a stream up to `to`: the rows of a
 * window, or all of them. */
static int64_t least_inside(const Finder *finder, int32_t first, int32_t to)
{
    int64_t bytes = 0;
    for (const Touch *touch = touch_begin(finder->all, first);
         touch < touch_end(finder->all, first); touch++) {
        const Item *it = finder->all->item.at + touch->item;
        if (touch->operand->write && !it->scratch && it->first == first && it->end <= to)
            bytes += it->whole ? it->size : finder->least_rows[touch->item] * it->row_bytes;
    }
    return bytes;
}

static void count_costs(Finder *finder)
{
    finder->cost = NEW_ARRAY(finder->arena, int64_t, finder->steps + 1);
    for (int32_t k = 0; k < finder->steps; k++)
        finder->cost[k] = stream_takes(finder->all, k)
                              ? stream_cost(finder->all->program->step.at[k], finder->opt->pixels)
                              : -1;
}

static void add_edge(Finder *finder, Edge e)
{
    VEC_PUSH(finder->arena, &finder->edge, e);
}

static void add_streams(Finder *finder, int32_t to)
{
    int64_t cost = 0;
    int64_t worst = 0;
    int64_t inside = 0;
    if (finder->crossing[to] > MOST_CROSSING)
        return;
    for (int32_t from = to - 1; from >= 0 && to - from <= finder->reach && finder->cost[from] >= 0;
         from--) {
        cost += finder->cost[from];
        worst = i64_max(worst, finder->layer[from]);
        inside += least_inside(finder, from, to);
        const int64_t least = i64_max(finder->alive[from], finder->alive[to]) + inside;
        if (to - from < 2 || finder->crossing[from] > MOST_CROSSING || least >= worst)
            continue;
        add_edge(finder, (Edge){ .from = from, .to = to, .bytes = least, .cost = cost });
    }
}

/* What lies outside of a range and is alive at both of its ends, counted once. */
static int64_t around(const Finder *finder, int32_t from, int32_t to)
{
    int64_t bytes = finder->alive[from] + finder->alive[to];
    for (int32_t i = 0; i < finder->crossing[from]; i++) {
        const Item *it = finder->all->item.at + finder->cross[from][i];
        if (it->end > to)
            bytes -= it->size;
    }
    return bytes;
}

/* The rings of a range at their smallest: the rows of a window. */
static Stream least_rings(const Finder *finder, int32_t from, int32_t to)
{
    Stream stream = { .first = from, .end = to };
    for (const Touch *touch = touch_begin(finder->all, from); touch < touch_begin(finder->all, to);
         touch++) {
        const Item *it = finder->all->item.at + touch->item;
        if (it->scratch || it->outside || it->first < from || it->end > to)
            continue;
        size_t i = 0;
        while (i < stream.ring.n && stream.ring.at[i].item != touch->item)
            i++;
        if (i == stream.ring.n)
            VEC_PUSH(finder->arena, &stream.ring, ((Ring){ touch->item, 1 }));
        const RowRule *r = &touch->operand->rule;
        if (!touch->operand->write && r->kind == ROWS_WINDOW)
            stream.ring.at[i].rows =
                (int32_t)i64_max(stream.ring.at[i].rows, i64_min(r->extent, it->rows));
    }
    return stream;
}

/* More of either in a range is work or flash beyond what its bytes are worth. */
enum { MOST_STRIP_STEPS = 500, MOST_STRIP_WORK = 4 };

static void add_strips_of(Finder *finder, int32_t from, int32_t to, int64_t cost, int64_t worst)
{
    int32_t width;
    const int32_t result = strip_result(&finder->strips, from, to, &width);
    if (result < 0)
        return;
    const Stream least = least_rings(finder, from, to);
    int64_t macs = 0;
    int64_t narrowest = INT64_MAX;
    for (int32_t k = from; k < to; k++)
        macs += finder->all->program->step.at[k]->macs;
    for (Cut cut = { 0 }; strip_next(&finder->strips, &least, result, &cut) &&
                          cut.n * (to - from) <= MOST_STRIP_STEPS;) {
        int64_t bytes, all;
        if (!strip_price(&finder->strips, &least, result, cut, &bytes, &all) ||
            all > MOST_STRIP_WORK * macs)
            break;
        if (bytes >= narrowest)
            continue;
        narrowest = bytes;
        bytes += around(finder, from, to);
        if (bytes < worst)
            add_edge(finder, (Edge){ .from = from,
                                     .to = to,
                                     .bytes = bytes,
                                     .cost = cost + 2000 * (int64_t)cut.n * (to - from),
                                     .work = i64_max(all - macs, 0),
                                     .cut = cut,
                                     .result = result });
    }
}

static void add_strips(Finder *finder, int32_t to)
{
    int64_t cost = 0;
    int64_t worst = 0;
    if (finder->crossing[to] > MOST_CROSSING)
        return;
    for (int32_t from = to - 1;
         from >= 0 && to - from <= finder->reach && strip_takes(&finder->strips, from); from--) {
        cost += finder->cost[from];
        worst = i64_max(worst, finder->layer[from]);
        if (finder->crossing[from] > MOST_CROSSING)
            continue;
        const ArenaMark mark = arena_mark(finder->arena);
        const size_t edges = finder->edge.n;
        add_strips_of(finder, from, to, cost, worst);
        if (edges == finder->edge.n)
            arena_release(finder->arena, mark);
    }
}

static void add_edges(Finder *finder)
{
    finder->into = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1);
    finder->into_end = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1);
    for (int32_t to = 1; to <= finder->steps; to++) {
        finder->into[to] = (int32_t)finder->edge.n;
        add_edge(finder,
                 (Edge){ .from = to - 1, .to = to, .bytes = finder->layer[to - 1], .exact = true });
        if (finder->opt->stream && !finder->all->control)
            add_streams(finder, to);
        if (finder->opt->strips && !finder->all->control)
            add_strips(finder, to);
        finder->into_end[to] = (int32_t)finder->edge.n;
    }
}

static int64_t stream_peak(const Finder *finder, const Stream *stream)
{
    const int64_t bytes = stream->bytes + around(finder, stream->first, stream->end);
    if (stream->under < 0 || !finder->opt->overlap)
        return bytes;
    const Overlap o = { stream->under,
                        stream->over,
                        false,
                        true,
                        stream->backward ? NEVER : stream->distance,
                        stream->backward ? stream->distance : NEVER };
    return bytes - overlap_gain(finder->all, &o);
}

/* Strips have the rings of the whole rows, but narrow ones. */
static void settle_strips(Finder *finder, Edge *edge, const Stream *whole)
{
    int64_t bytes, macs;
    if (!strip_price(&finder->strips, whole, edge->result, edge->cut, &bytes, &macs))
        return;
    edge->bytes = i64_min(edge->bytes, bytes + around(finder, edge->from, edge->to));
}

/* Walks a stream in both directions; the better one stays. True: a walk stopped because it went
 * beyond `most`. */
static bool walk_ways(Finder *finder, Edge *edge, int64_t most, int64_t *budget)
{
    bool beyond = false;
    const int ways = stream_ascends(finder->all, edge->from, edge->to) ? 1 : 2;
    edge->bytes = NEVER;
    for (int way = 0; way < ways; way++) {
        Stream *s = NEW(finder->arena, Stream);
        if (!stream_walk(finder->arena, finder->all, edge->from, edge->to, way == 1,
                         finder->opt->pixels, most, budget, s)) {
            beyond |= s->beyond;
            if (s->beyond)
                continue;
            break;
        }
        if (edge->cut.n)
            settle_strips(finder, edge, s);
        if (edge->cut.n)
            continue;
        const int64_t bytes = stream_peak(finder, s);
        if (bytes >= edge->bytes)
            continue;
        edge->bytes = bytes;
        edge->stream = s;
    }
    return beyond;
}

/* A walk that goes beyond finder->most leaves a better bound. */
static void settle_by_walk(Finder *finder, Edge *edge, int64_t most)
{
    const ArenaMark mark = arena_mark(finder->arena);
    const bool beyond = walk_ways(finder, edge, most, &finder->budget);
    edge->exact = !beyond || edge->bytes <= finder->most;
    if (!edge->exact) {
        edge->bytes = finder->most + 1;
        edge->stream = NULL;
    }
    if (!edge->stream)
        arena_release(finder->arena, mark);
}

/* Streams that were walked in another schedule are walked again only when they are taken. */
static void settle(Finder *finder, Edge *edge)
{
    const int64_t near = around(finder, edge->from, edge->to);
    const int64_t most = edge->cut.n ? NEVER : finder->most - near;
    if (edge->cut.n || !finder->opt->walked) {
        settle_by_walk(finder, edge, most);
        return;
    }
    WalkedRange *range =
        walked_find(finder->opt->walked, walked_key(finder->all, edge->from, edge->to,
                                                    finder->opt->pixels, finder->number));
    if (range->bytes == WALKED_NOT && range->beyond < most) {
        settle_by_walk(finder, edge, most);
        if (!edge->exact)
            range->beyond = most;
        else if (edge->stream)
            range->bytes = edge->bytes - near;
        return;
    }
    edge->exact = range->bytes != WALKED_NOT;
    edge->bytes = edge->exact ? range->bytes + near : finder->most + 1;
}

/* The best edge into each place, by peak and then by cost, or by cost alone under a limit. */
typedef struct Best {
    int64_t peak, work, cost;
    int32_t edge;
} Best;

static bool better(const Best *a, const Best *b, bool by_cost)
{
    if (!by_cost && a->peak != b->peak)
        return a->peak < b->peak;
    if (a->work != b->work)
        return a->work < b->work;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->peak < b->peak;
}

/* What a path is asked to have little of. */
static int64_t cost_of(const Finder *finder, const Edge *edge)
{
    return finder->opt->tight ? edge->bytes / 16 * (edge->to - edge->from) : edge->cost;
}

/* exact: over edges whose peaks are known. */
static Best best_into(const Finder *finder, int32_t to, int64_t limit, bool exact, const Best *best)
{
    Best least = { NEVER, NEVER, NEVER, -1 };
    for (int32_t k = finder->into[to]; k < finder->into_end[to]; k++) {
        const Edge *e = finder->edge.at + k;
        const Best *b = best + e->from;
        if ((limit && e->bytes > limit) || (exact && !e->exact) || b->peak >= NEVER)
            continue;
        const Best by = { i64_max(b->peak, e->bytes), b->work + e->work,
                          b->cost + cost_of(finder, e), k };
        if (least.edge < 0 || better(&by, &least, limit > 0))
            least = by;
    }
    return least;
}

static void find_path(Finder *finder, int64_t limit, bool exact, Best *best)
{
    finder->looking -= (int64_t)finder->edge.n;
    best[0] = (Best){ .edge = -1 };
    for (int32_t to = 1; to <= finder->steps; to++)
        best[to] = best_into(finder, to, limit, exact, best);
}

static bool same(const Best *a, const Best *b, bool by_cost)
{
    return a->peak == b->peak && (!by_cost || (a->work == b->work && a->cost == b->cost));
}

static void forget_grown(Finder *finder)
{
    for (size_t i = 0; i < finder->grown.n; i++)
        finder->edge.at[finder->grown.at[i]].grown = false;
    finder->grown.n = 0;
}

/* The same after edges grew: only what a path led through them changes. Without a limit costs may
 * be old ones: they only decide between equals. */
static void mend_path(Finder *finder, int64_t limit, Best *best)
{
    finder->looking -= finder->steps;
    for (int32_t to = 1; to <= finder->steps; to++) {
        const int32_t k = best[to].edge;
        finder->changed[to] =
            k >= 0 && (finder->edge.at[k].grown || finder->changed[finder->edge.at[k].from]);
        if (!finder->changed[to])
            continue;
        finder->looking -= finder->into_end[to] - finder->into[to];
        const Best now = best_into(finder, to, limit, false, best);
        finder->changed[to] = !same(&now, best + to, limit > 0);
        best[to] = now;
    }
    forget_grown(finder);
}

/* What was not walked by now is not used. */
static void give_up_edges(Finder *finder)
{
    for (size_t k = 0; k < finder->edge.n; k++) {
        Edge *e = finder->edge.at + k;
        if (e->exact)
            continue;
        e->bytes = NEVER;
        e->exact = true;
    }
}

/* Walks the streams of the path that are not exact yet; false: all were. */
static bool settle_path(Finder *finder, const Best *best)
{
    for (int32_t k = finder->steps; k > 0; k = finder->edge.at[best[k].edge].from) {
        Edge *e = finder->edge.at + best[k].edge;
        if (e->exact)
            continue;
        settle(finder, e);
        e->grown = true;
        VEC_PUSH(finder->arena, &finder->grown, best[k].edge);
    }
    return finder->grown.n;
}

static void walk_again(Finder *finder, Edge *edge)
{
    int64_t budget = NEVER;
    if (edge->stream || edge->cut.n || edge->to - edge->from < 2)
        return;
    walk_ways(finder, edge, NEVER, &budget);
}

static Schedule take(Finder *finder, const Best *best)
{
    Schedule schedule = { .peak = best[finder->steps].peak,
                          .work = best[finder->steps].work,
                          .cost = best[finder->steps].cost };
    int32_t *path = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1);
    int32_t n = 0;
    for (int32_t k = finder->steps; k > 0; k = finder->edge.at[path[n++]].from)
        path[n] = best[k].edge;
    while (n--) {
        Edge *e = finder->edge.at + path[n];
        walk_again(finder, e);
        VEC_PUSH(finder->arena, &schedule.slot,
                 ((Slot){ e->from, e->to, e->stream, e->cut, e->result, e->bytes }));
    }
    return schedule;
}

Finder *schedule_open(Arena *a, const Items *all, const ScheduleOptions *opt)
{
    Finder *finder = NEW(a, Finder);
    *finder = (Finder){ .arena = a,
                        .all = all,
                        .opt = opt,
                        .steps = (int32_t)all->program->step.n,
                        .budget = opt->budget,
                        .looking = PATH_WORK };
    finder->looking += PATH_WORK_OF_STEP * (int64_t)finder->steps;
    finder->reach =
        (int32_t)i64_max(LEAST_REACH, i64_min(STREAM_STEPS, MOST_EDGES / (finder->steps + 1)));
    finder->best = NEW_ARRAY(a, Best, finder->steps + 1);
    finder->changed = NEW_ARRAY(a, bool, finder->steps + 1);
    finder->number = NEW_ARRAY(a, int32_t, all->item.n + 1);
    if (opt->strips)
        finder->strips = strips_new(a, all);
    count_alive(finder);
    list_crossing(finder);
    count_layers(finder);
    count_rows(finder);
    count_costs(finder);
    add_edges(finder);
    return finder;
}

bool schedule_under(Finder *finder, int64_t limit, Schedule *out)
{
    finder->most = i64_max(limit, 1);
    find_path(finder, finder->most, false, finder->best);
    while (!finder->steps || finder->best[finder->steps].edge >= 0) {
        if (!settle_path(finder, finder->best))
            break;
        if (finder->looking < 0) {
            give_up_edges(finder);
            forget_grown(finder);
            find_path(finder, finder->most, false, finder->best);
            break;
        }
        mend_path(finder, finder->most, finder->best);
    }
    if (finder->steps && finder->best[finder->steps].edge < 0)
        return false;
    *out = take(finder, finder->best);
    return true;
}

/* More rows at once where the peak stays as it is. */
static bool join_units(Finder *finder, Slot *slot, int64_t peak)
{
    static const int32_t pixels[] = { 24, 12, 6 };
    for (size_t i = 0; slot->stream && i < sizeof pixels / sizeof *pixels; i++) {
        const ArenaMark mark = arena_mark(finder->arena);
        Stream *more = NEW(finder->arena, Stream);
        int64_t budget = finder->opt->budget;
        bool joins = false;
        for (int32_t k = slot->first; k < slot->end; k++)
            joins |= stream_burst(finder->all->program->step.at[k], pixels[i]) >
                     stream_burst(finder->all->program->step.at[k], finder->opt->pixels);
        if (joins &&
            stream_walk(finder->arena, finder->all, slot->first, slot->end, slot->stream->backward,
                        pixels[i], NEVER, &budget, more) &&
            stream_peak(finder, more) <= peak) {
            slot->stream = more;
            return true;
        }
        arena_release(finder->arena, mark);
    }
    return false;
}

/* Streams beyond `most` are gone through no more. */
static void drop_edges(Finder *finder, int64_t most)
{
    forget_grown(finder);
    for (int32_t to = 1; to <= finder->steps; to++) {
        int32_t n = finder->into[to];
        for (int32_t k = n; k < finder->into_end[to]; k++)
            if (finder->edge.at[k].bytes <= most || finder->edge.at[k].exact)
                finder->edge.at[n++] = finder->edge.at[k];
        finder->into_end[to] = n;
    }
}

/* The best path of streams that were walked: what is worse is of no use. True: edges were dropped.
 */
static bool narrow(Finder *finder)
{
    Best *known = NEW_ARRAY(finder->arena, Best, finder->steps + 1);
    find_path(finder, 0, true, known);
    if (known[finder->steps].peak >= finder->most)
        return false;
    finder->most = known[finder->steps].peak;
    drop_edges(finder, i64_max(finder->most, finder->opt->enough));
    return true;
}

/* The least peak. When it is only to be compared with `most`, it may stop above that. */
static int64_t find_least(Finder *finder, int64_t most)
{
    finder->most = most ? most : INT64_MAX;
    if (most)
        drop_edges(finder, i64_max(finder->most, finder->opt->enough));
    for (int turn = 0;; turn++) {
        if (finder->looking < 0) {
            give_up_edges(finder);
            forget_grown(finder);
            find_path(finder, 0, false, finder->best);
            return finder->best[finder->steps].peak;
        }
        const ArenaMark mark = arena_mark(finder->arena);
        const bool dropped = turn % NARROW_TURNS == 0 && narrow(finder);
        arena_release(finder->arena, mark);
        if (dropped || !turn)
            find_path(finder, 0, false, finder->best);
        else
            mend_path(finder, 0, finder->best);
        const int64_t peak = finder->best[finder->steps].peak;
        if ((most && peak > most) || !settle_path(finder, finder->best))
            return peak;
    }
}

Schedule schedule_find(Arena *arena, const Items *all, const ScheduleOptions *opt)
{
    Finder *finder = schedule_open(arena, all, opt);
    const int64_t peak = find_least(finder, opt->peak_only ? opt->most : 0);
    Schedule schedule;
    if (opt->peak_only)
        return (Schedule){ .peak = peak };
    const bool found = schedule_under(finder, i64_max(peak, opt->enough), &schedule);
    assert(found);
    (void)found;
    for (size_t i = 0; opt->join && i < schedule.slot.n; i++)
        schedule.joined |=
            join_units(finder, schedule.slot.at + i, i64_max(schedule.peak, opt->enough));
    return schedule;
}
