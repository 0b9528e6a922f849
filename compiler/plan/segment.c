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

static void count_alive(Finder *f)
{
    const int n = f->steps;
    int64_t *delta = NEW_ARRAY(f->arena, int64_t, n + 2);
    int32_t *items = NEW_ARRAY(f->arena, int32_t, n + 2);
    f->alive = NEW_ARRAY(f->arena, int64_t, n + 1);
    f->crossing = NEW_ARRAY(f->arena, int32_t, n + 1);
    f->layer = NEW_ARRAY(f->arena, int64_t, n + 2);
    for (size_t i = 0; i < f->all->item.n; i++) {
        const Item *it = f->all->item.at + i;
        if (it->outside)
            continue;
        f->layer[i64_max(it->first, 0)] += it->size;
        f->layer[i64_min(it->end, n + 1)] -= it->size;
        if (it->first + 1 >= it->end)
            continue;
        delta[it->first + 1] += it->size, items[it->first + 1]++;
        delta[it->end] -= it->size, items[it->end]--;
    }
    for (int k = 0; k <= n; k++) {
        f->alive[k] = (k ? f->alive[k - 1] : 0) + delta[k];
        f->crossing[k] = (k ? f->crossing[k - 1] : 0) + items[k];
        f->layer[k] += k ? f->layer[k - 1] : 0;
    }
}

/* A place that few items cross is soon found from the places behind it: those are skipped that many
 * cross. */
static void list_crossing(Finder *f)
{
    int32_t *n = NEW_ARRAY(f->arena, int32_t, f->steps + 1),
            *few = NEW_ARRAY(f->arena, int32_t, f->steps + 2); /* the next from k on */
    f->cross = arena_array(f->arena, (size_t)f->steps + 1, sizeof *f->cross);
    few[f->steps + 1] = f->steps + 1;
    for (int32_t k = f->steps; k >= 0; k--)
        few[k] = f->crossing[k] <= MOST_CROSSING ? k : few[k + 1];
    for (size_t i = 0; i < f->all->item.n; i++) {
        const Item *it = f->all->item.at + i;
        const int32_t end = (int32_t)i64_min(it->end, f->steps + 1);
        for (int32_t k = few[it->first + 1]; !it->outside && k < end; k = few[k + 1])
            f->cross[k][n[k]++] = (int32_t)i;
    }
}

/* The most rows that a unit reads: so many at least a ring has. */
static void count_rows(Finder *f)
{
    f->least_rows = NEW_ARRAY(f->arena, int32_t, f->all->item.n + 1);
    for (size_t i = 0; i < f->all->item.n; i++)
        f->least_rows[i] = 1;
    for (size_t k = 0; k < f->all->touch.n; k++) {
        const Touch *t = f->all->touch.at + k;
        int32_t *least = f->least_rows + t->item;
        const int32_t most = t->operand->rule.kind == ROWS_WINDOW ? t->operand->rule.extent
                                                                  : f->all->item.at[t->item].rows;
        if (t->operand->write || f->all->item.at[t->item].whole)
            continue;
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
        for (int n = overlap_find(f->all, k, f->opt->overlap, found); n > 0; n--)
            gain = i64_max(gain, overlap_gain(f->all, found + n - 1));
        f->layer[k] -= gain;
    }
}

/* What streaming a step costs: its calls, and the inner loops that get shorter. */
static int64_t stream_cost(const Step *s, int32_t least)
{
    const int64_t burst = stream_burst(s, least);
    int64_t weights = 0, pixels = 1;
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
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
        weights > 400000 ? weights / 4 * s->units : 0; /* read once a row instead of once */
    return 300 * i64_ceil_div(s->units, burst) + s->macs / (16 * pixels * burst) + again / burst;
}

/* What the items that step `first` makes take at least inside a stream up to `to`: the rows of a
 * window, or all of them. */
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

static void count_costs(Finder *f)
{
    f->cost = NEW_ARRAY(f->arena, int64_t, f->steps + 1);
    for (int32_t k = 0; k < f->steps; k++)
        f->cost[k] =
            stream_takes(f->all, k) ? stream_cost(f->all->program->step.at[k], f->opt->pixels) : -1;
}

static void add_edge(Finder *f, Edge e)
{
    VEC_PUSH(f->arena, &f->edge, e);
}

static void add_streams(Finder *f, int32_t to)
{
    int64_t cost = 0, worst = 0, inside = 0;
    if (f->crossing[to] > MOST_CROSSING)
        return;
    for (int32_t from = to - 1; from >= 0 && to - from <= f->reach && f->cost[from] >= 0; from--) {
        cost += f->cost[from];
        worst = i64_max(worst, f->layer[from]);
        inside += least_inside(f, from, to);
        const int64_t least = i64_max(f->alive[from], f->alive[to]) + inside;
        if (to - from < 2 || f->crossing[from] > MOST_CROSSING || least >= worst)
            continue;
        add_edge(f, (Edge){ .from = from, .to = to, .bytes = least, .cost = cost });
    }
}

/* What lies outside of a range and is alive at both of its ends, counted once. */
static int64_t around(const Finder *f, int32_t from, int32_t to)
{
    int64_t bytes = f->alive[from] + f->alive[to];
    for (int32_t i = 0; i < f->crossing[from]; i++) {
        const Item *it = f->all->item.at + f->cross[from][i];
        if (it->end > to)
            bytes -= it->size;
    }
    return bytes;
}

/* The rings of a range at their smallest: the rows of a window. */
static Stream least_rings(const Finder *f, int32_t from, int32_t to)
{
    Stream s = { .first = from, .end = to };
    for (const Touch *t = touch_begin(f->all, from); t < touch_begin(f->all, to); t++) {
        const Item *it = f->all->item.at + t->item;
        if (it->scratch || it->outside || it->first < from || it->end > to)
            continue;
        size_t i = 0;
        while (i < s.ring.n && s.ring.at[i].item != t->item)
            i++;
        if (i == s.ring.n)
            VEC_PUSH(f->arena, &s.ring, ((Ring){ t->item, 1 }));
        const RowRule *r = &t->operand->rule;
        if (!t->operand->write && r->kind == ROWS_WINDOW)
            s.ring.at[i].rows = (int32_t)i64_max(s.ring.at[i].rows, i64_min(r->extent, it->rows));
    }
    return s;
}

/* More of either in a range is work or flash beyond what its bytes are worth. */
enum { MOST_STRIP_STEPS = 500, MOST_STRIP_WORK = 4 };

static void add_strips_of(Finder *f, int32_t from, int32_t to, int64_t cost, int64_t worst)
{
    int32_t width;
    const int32_t result = strip_result(&f->strips, from, to, &width);
    if (result < 0)
        return;
    const Stream least = least_rings(f, from, to);
    int64_t macs = 0, narrowest = INT64_MAX;
    for (int32_t k = from; k < to; k++)
        macs += f->all->program->step.at[k]->macs;
    for (Cut cut = { 0 };
         strip_next(&f->strips, &least, result, &cut) && cut.n * (to - from) <= MOST_STRIP_STEPS;) {
        int64_t bytes, all;
        if (!strip_price(&f->strips, &least, result, cut, &bytes, &all) ||
            all > MOST_STRIP_WORK * macs)
            break;
        if (bytes >= narrowest)
            continue;
        narrowest = bytes;
        bytes += around(f, from, to);
        if (bytes < worst)
            add_edge(f, (Edge){ .from = from,
                                .to = to,
                                .bytes = bytes,
                                .cost = cost + 2000 * (int64_t)cut.n * (to - from),
                                .work = i64_max(all - macs, 0),
                                .cut = cut,
                                .result = result });
    }
}

static void add_strips(Finder *f, int32_t to)
{
    int64_t cost = 0, worst = 0;
    if (f->crossing[to] > MOST_CROSSING)
        return;
    for (int32_t from = to - 1; from >= 0 && to - from <= f->reach && strip_takes(&f->strips, from);
         from--) {
        cost += f->cost[from];
        worst = i64_max(worst, f->layer[from]);
        if (f->crossing[from] > MOST_CROSSING)
            continue;
        const ArenaMark mark = arena_mark(f->arena);
        const size_t edges = f->edge.n;
        add_strips_of(f, from, to, cost, worst);
        if (edges == f->edge.n)
            arena_release(f->arena, mark);
    }
}

static void add_edges(Finder *f)
{
    f->into = NEW_ARRAY(f->arena, int32_t, f->steps + 1);
    f->into_end = NEW_ARRAY(f->arena, int32_t, f->steps + 1);
    for (int32_t to = 1; to <= f->steps; to++) {
        f->into[to] = (int32_t)f->edge.n;
        add_edge(f, (Edge){ .from = to - 1, .to = to, .bytes = f->layer[to - 1], .exact = true });
        if (f->opt->stream && !f->all->control)
            add_streams(f, to);
        if (f->opt->strips && !f->all->control)
            add_strips(f, to);
        f->into_end[to] = (int32_t)f->edge.n;
    }
}

static int64_t stream_peak(const Finder *f, const Stream *s)
{
    const int64_t bytes = s->bytes + around(f, s->first, s->end);
    if (s->under < 0 || !f->opt->overlap)
        return bytes;
    const Overlap o = { s->under,
                        s->over,
                        false,
                        true,
                        s->backward ? NEVER : s->distance,
                        s->backward ? s->distance : NEVER };
    return bytes - overlap_gain(f->all, &o);
}

/* Strips have the rings of the whole rows, but narrow ones. */
static void settle_strips(Finder *f, Edge *e, const Stream *whole)
{
    int64_t bytes, macs;
    if (!strip_price(&f->strips, whole, e->result, e->cut, &bytes, &macs))
        return;
    e->bytes = i64_min(e->bytes, bytes + around(f, e->from, e->to));
}

/* Walks a stream in both directions; the better one stays. True: a walk stopped because it went
 * beyond `most`. */
static bool walk_ways(Finder *f, Edge *e, int64_t most, int64_t *budget)
{
    bool beyond = false;
    const int ways = stream_ascends(f->all, e->from, e->to) ? 1 : 2;
    e->bytes = NEVER;
    for (int way = 0; way < ways; way++) {
        Stream *s = NEW(f->arena, Stream);
        if (!stream_walk(f->arena, f->all, e->from, e->to, way == 1, f->opt->pixels, most, budget,
                         s)) {
            beyond |= s->beyond;
            if (s->beyond)
                continue;
            break;
        }
        if (e->cut.n)
            settle_strips(f, e, s);
        if (e->cut.n)
            continue;
        const int64_t bytes = stream_peak(f, s);
        if (bytes >= e->bytes)
            continue;
        e->bytes = bytes;
        e->stream = s;
    }
    return beyond;
}

/* A walk that goes beyond f->most leaves a better bound. */
static void settle_by_walk(Finder *f, Edge *e, int64_t most)
{
    const ArenaMark mark = arena_mark(f->arena);
    const bool beyond = walk_ways(f, e, most, &f->budget);
    e->exact = !beyond || e->bytes <= f->most;
    if (!e->exact) {
        e->bytes = f->most + 1;
        e->stream = NULL;
    }
    if (!e->stream)
        arena_release(f->arena, mark);
}

/* Streams that were walked in another schedule are walked again only when they are taken. */
static void settle(Finder *f, Edge *e)
{
    const int64_t near = around(f, e->from, e->to), most = e->cut.n ? NEVER : f->most - near;
    if (e->cut.n || !f->opt->walked) {
        settle_by_walk(f, e, most);
        return;
    }
    WalkedRange *r =
        walked_find(f->opt->walked, walked_key(f->all, e->from, e->to, f->opt->pixels, f->number));
    if (r->bytes == WALKED_NOT && r->beyond < most) {
        settle_by_walk(f, e, most);
        if (!e->exact)
            r->beyond = most;
        else if (e->stream)
            r->bytes = e->bytes - near;
        return;
    }
    e->exact = r->bytes != WALKED_NOT;
    e->bytes = e->exact ? r->bytes + near : f->most + 1;
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
static int64_t cost_of(const Finder *f, const Edge *e)
{
    return f->opt->tight ? e->bytes / 16 * (e->to - e->from) : e->cost;
}

/* exact: over edges whose peaks are known. */
static Best best_into(const Finder *f, int32_t to, int64_t limit, bool exact, const Best *best)
{
    Best least = { NEVER, NEVER, NEVER, -1 };
    for (int32_t k = f->into[to]; k < f->into_end[to]; k++) {
        const Edge *e = f->edge.at + k;
        const Best *b = best + e->from;
        if ((limit && e->bytes > limit) || (exact && !e->exact) || b->peak >= NEVER)
            continue;
        const Best by = { i64_max(b->peak, e->bytes), b->work + e->work, b->cost + cost_of(f, e),
                          k };
        if (least.edge < 0 || better(&by, &least, limit > 0))
            least = by;
    }
    return least;
}

static void find_path(Finder *f, int64_t limit, bool exact, Best *best)
{
    f->looking -= (int64_t)f->edge.n;
    best[0] = (Best){ .edge = -1 };
    for (int32_t to = 1; to <= f->steps; to++)
        best[to] = best_into(f, to, limit, exact, best);
}

static bool same(const Best *a, const Best *b, bool by_cost)
{
    return a->peak == b->peak && (!by_cost || (a->work == b->work && a->cost == b->cost));
}

static void forget_grown(Finder *f)
{
    for (size_t i = 0; i < f->grown.n; i++)
        f->edge.at[f->grown.at[i]].grown = false;
    f->grown.n = 0;
}

/* The same after edges grew: only what a path led through them changes. Without a limit costs may
 * be old ones: they only decide between equals. */
static void mend_path(Finder *f, int64_t limit, Best *best)
{
    f->looking -= f->steps;
    for (int32_t to = 1; to <= f->steps; to++) {
        const int32_t k = best[to].edge;
        f->changed[to] = k >= 0 && (f->edge.at[k].grown || f->changed[f->edge.at[k].from]);
        if (!f->changed[to])
            continue;
        f->looking -= f->into_end[to] - f->into[to];
        const Best now = best_into(f, to, limit, false, best);
        f->changed[to] = !same(&now, best + to, limit > 0);
        best[to] = now;
    }
    forget_grown(f);
}

/* What was not walked by now is not used. */
static void give_up_edges(Finder *f)
{
    for (size_t k = 0; k < f->edge.n; k++) {
        Edge *e = f->edge.at + k;
        if (e->exact)
            continue;
        e->bytes = NEVER;
        e->exact = true;
    }
}

/* Walks the streams of the path that are not exact yet; false: all were. */
static bool settle_path(Finder *f, const Best *best)
{
    for (int32_t k = f->steps; k > 0; k = f->edge.at[best[k].edge].from) {
        Edge *e = f->edge.at + best[k].edge;
        if (e->exact)
            continue;
        settle(f, e);
        e->grown = true;
        VEC_PUSH(f->arena, &f->grown, best[k].edge);
    }
    return f->grown.n;
}

static void walk_again(Finder *f, Edge *e)
{
    int64_t budget = NEVER;
    if (e->stream || e->cut.n || e->to - e->from < 2)
        return;
    walk_ways(f, e, NEVER, &budget);
}

static Schedule take(Finder *f, const Best *best)
{
    Schedule s = { .peak = best[f->steps].peak,
                   .work = best[f->steps].work,
                   .cost = best[f->steps].cost };
    int32_t *path = NEW_ARRAY(f->arena, int32_t, f->steps + 1), n = 0;
    for (int32_t k = f->steps; k > 0; k = f->edge.at[path[n++]].from)
        path[n] = best[k].edge;
    while (n--) {
        Edge *e = f->edge.at + path[n];
        walk_again(f, e);
        VEC_PUSH(f->arena, &s.slot,
                 ((Slot){ e->from, e->to, e->stream, e->cut, e->result, e->bytes }));
    }
    return s;
}

Finder *schedule_open(Arena *a, const Items *all, const ScheduleOptions *opt)
{
    Finder *f = NEW(a, Finder);
    *f = (Finder){ .arena = a,
                   .all = all,
                   .opt = opt,
                   .steps = (int32_t)all->program->step.n,
                   .budget = opt->budget,
                   .looking = PATH_WORK };
    f->looking += PATH_WORK_OF_STEP * (int64_t)f->steps;
    f->reach = (int32_t)i64_max(LEAST_REACH, i64_min(STREAM_STEPS, MOST_EDGES / (f->steps + 1)));
    f->best = NEW_ARRAY(a, Best, f->steps + 1);
    f->changed = NEW_ARRAY(a, bool, f->steps + 1);
    f->number = NEW_ARRAY(a, int32_t, all->item.n + 1);
    if (opt->strips)
        f->strips = strips_new(a, all);
    count_alive(f);
    list_crossing(f);
    count_layers(f);
    count_rows(f);
    count_costs(f);
    add_edges(f);
    return f;
}

bool schedule_under(Finder *f, int64_t limit, Schedule *out)
{
    f->most = i64_max(limit, 1);
    find_path(f, f->most, false, f->best);
    while (!f->steps || f->best[f->steps].edge >= 0) {
        if (!settle_path(f, f->best))
            break;
        if (f->looking < 0) {
            give_up_edges(f);
            forget_grown(f);
            find_path(f, f->most, false, f->best);
            break;
        }
        mend_path(f, f->most, f->best);
    }
    if (f->steps && f->best[f->steps].edge < 0)
        return false;
    *out = take(f, f->best);
    return true;
}

/* More rows at once where the peak stays as it is. */
static bool join_units(Finder *f, Slot *s, int64_t peak)
{
    static const int32_t pixels[] = { 24, 12, 6 };
    for (size_t i = 0; s->stream && i < sizeof pixels / sizeof *pixels; i++) {
        const ArenaMark mark = arena_mark(f->arena);
        Stream *more = NEW(f->arena, Stream);
        int64_t budget = f->opt->budget;
        bool joins = false;
        for (int32_t k = s->first; k < s->end; k++)
            joins |= stream_burst(f->all->program->step.at[k], pixels[i]) >
                     stream_burst(f->all->program->step.at[k], f->opt->pixels);
        if (joins &&
            stream_walk(f->arena, f->all, s->first, s->end, s->stream->backward, pixels[i], NEVER,
                        &budget, more) &&
            stream_peak(f, more) <= peak) {
            s->stream = more;
            return true;
        }
        arena_release(f->arena, mark);
    }
    return false;
}

/* Streams beyond `most` are gone through no more. */
static void drop_edges(Finder *f, int64_t most)
{
    forget_grown(f);
    for (int32_t to = 1; to <= f->steps; to++) {
        int32_t n = f->into[to];
        for (int32_t k = n; k < f->into_end[to]; k++)
            if (f->edge.at[k].bytes <= most || f->edge.at[k].exact)
                f->edge.at[n++] = f->edge.at[k];
        f->into_end[to] = n;
    }
}

/* The best path of streams that were walked: what is worse is of no use. True: edges were dropped.
 */
static bool narrow(Finder *f)
{
    Best *known = NEW_ARRAY(f->arena, Best, f->steps + 1);
    find_path(f, 0, true, known);
    if (known[f->steps].peak >= f->most)
        return false;
    f->most = known[f->steps].peak;
    drop_edges(f, i64_max(f->most, f->opt->enough));
    return true;
}

/* The least peak. When it is only to be compared with `most`, it may stop above that. */
static int64_t find_least(Finder *f, int64_t most)
{
    f->most = most ? most : INT64_MAX;
    if (most)
        drop_edges(f, i64_max(f->most, f->opt->enough));
    for (int turn = 0;; turn++) {
        if (f->looking < 0) {
            give_up_edges(f);
            forget_grown(f);
            find_path(f, 0, false, f->best);
            return f->best[f->steps].peak;
        }
        const ArenaMark mark = arena_mark(f->arena);
        const bool dropped = turn % NARROW_TURNS == 0 && narrow(f);
        arena_release(f->arena, mark);
        if (dropped || !turn)
            find_path(f, 0, false, f->best);
        else
            mend_path(f, 0, f->best);
        const int64_t peak = f->best[f->steps].peak;
        if ((most && peak > most) || !settle_path(f, f->best))
            return peak;
    }
}

Schedule schedule_find(Arena *a, const Items *all, const ScheduleOptions *opt)
{
    Finder *f = schedule_open(a, all, opt);
    const int64_t peak = find_least(f, opt->peak_only ? opt->most : 0);
    Schedule s;
    if (opt->peak_only)
        return (Schedule){ .peak = peak };
    const bool found = schedule_under(f, i64_max(peak, opt->enough), &s);
    assert(found);
    (void)found;
    for (size_t i = 0; opt->join && i < s.slot.n; i++)
        s.joined |= join_units(f, s.slot.at + i, i64_max(s.peak, opt->enough));
    return s;
}
