/* SPDX-License-Identifier: Apache-2.0
 * A path through the places between steps: each edge is a step or a stream. First the least possible peak
 * (minimax), then the cheapest path under it. Streams are walked only when a path wants them: until then
 * an edge counts with a lower bound, so the result is the same as if all had been walked. */
#include "plan/segment.h"

#include "base/size.h"
#include "plan/overlap.h"

typedef struct Edge {
    int32_t from, to;
    int64_t bytes;              /* peak of the edge; a lower bound until it is exact */
    int64_t cost;
    bool exact;
    Stream *stream;
} Edge;

enum { MOST_CROSSING = 24 };

typedef struct Finder {
    Arena *arena;
    const Items *all;
    const ScheduleOptions *opt;
    int32_t steps;
    int64_t *alive;             /* bytes alive between steps k - 1 and k */
    int32_t *crossing;          /* how many items that is */
    int32_t (*cross)[MOST_CROSSING];    /* and which, where they are few */
    int64_t *layer;             /* peak of step k run by itself */
    VEC(Edge) edge;
    int32_t *edge_of;           /* edges that end at k: edge_of[k] .. edge_of[k + 1] - 1 */
    int64_t budget;
} Finder;

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
    return 100 * (int64_t)s->units + s->macs / (4 * pixels) + again;
}

/* What the items that step `first` makes take at least inside a stream up to `to`: a row, or all of them. */
static int64_t least_inside(const Finder *f, int32_t first, int32_t to)
{
    int64_t bytes = 0;
    for (const Touch *t = touch_begin(f->all, first); t < touch_end(f->all, first); t++) {
        const Item *it = f->all->item.at + t->item;
        if (t->operand->write && !it->scratch && it->first == first && it->end <= to)
            bytes += it->whole || it->rows == 1 ? it->size : it->row_bytes;
    }
    return bytes;
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
        VEC_PUSH(f->arena, &f->edge, ((Edge){ .from = from, .to = to, .bytes = least, .cost = cost }));
    }
}

static void add_edges(Finder *f)
{
    f->edge_of = NEW_ARRAY(f->arena, int32_t, f->steps + 2);
    for (int32_t to = 1; to <= f->steps; to++) {
        f->edge_of[to] = (int32_t)f->edge.n;
        VEC_PUSH(f->arena, &f->edge, ((Edge){ .from = to - 1, .to = to, .bytes = f->layer[to - 1], .exact = true }));
        if (f->opt->stream && !f->all->control) add_streams(f, to);
    }
    f->edge_of[f->steps + 1] = (int32_t)f->edge.n;
}

static int64_t stream_peak(const Finder *f, const Stream *s)
{
    int64_t bytes = s->bytes + f->alive[s->first] + f->alive[s->end];
    for (int32_t i = 0; i < f->crossing[s->first]; i++) {
        const Item *it = f->all->item.at + f->cross[s->first][i];
        if (it->end > s->end) bytes -= it->size;        /* it was counted at both ends */
    }
    if (s->under < 0 || !f->opt->overlap) return bytes;
    const Overlap o = { s->under, s->over, false, true, s->backward ? NEVER : s->distance, s->backward ? s->distance : NEVER };
    return bytes - overlap_gain(f->all, &o);
}

/* Walks a stream in both directions; the better one stays. */
static void settle(Finder *f, Edge *e)
{
    e->exact = true;
    e->bytes = NEVER;
    const ArenaMark mark = arena_mark(f->arena);
    const int ways = stream_ascends(f->all, e->from, e->to) ? 1 : 2;
    for (int way = 0; way < ways; way++) {
        Stream *s = NEW(f->arena, Stream);
        if (!stream_walk(f->arena, f->all, e->from, e->to, way == 1, &f->budget, s)) break;
        const int64_t bytes = stream_peak(f, s);
        if (bytes >= e->bytes) continue;
        e->bytes = bytes;
        e->stream = s;
    }
    if (!e->stream) arena_release(f->arena, mark);
}

/* The best edge into each place, by peak and then by cost, or by cost alone under a limit. */
typedef struct Best {
    int64_t peak, cost;
    int32_t edge;
} Best;

static bool better(int64_t peak, int64_t cost, const Best *b, bool by_cost)
{
    if (by_cost) return cost != b->cost ? cost < b->cost : peak < b->peak;
    return peak != b->peak ? peak < b->peak : cost < b->cost;
}

static void find_path(const Finder *f, int64_t limit, Best *best)
{
    best[0] = (Best){ 0, 0, -1 };
    for (int32_t to = 1; to <= f->steps; to++) {
        best[to] = (Best){ NEVER, NEVER, -1 };
        for (int32_t k = f->edge_of[to]; k < f->edge_of[to + 1]; k++) {
            const Edge *e = f->edge.at + k;
            const Best *b = best + e->from;
            if (limit && e->bytes > limit) continue;
            if (b->peak >= NEVER) continue;
            const int64_t peak = i64_max(b->peak, e->bytes), cost = b->cost + e->cost;
            if (best[to].edge < 0 || better(peak, cost, best + to, limit > 0)) best[to] = (Best){ peak, cost, k };
        }
    }
}

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
    Schedule s = { .peak = best[f->steps].peak, .cost = best[f->steps].cost };
    int32_t *path = NEW_ARRAY(f->arena, int32_t, f->steps + 1), n = 0;
    for (int32_t k = f->steps; k > 0; k = f->edge.at[path[n++]].from) path[n] = best[k].edge;
    while (n--) {
        const Edge *e = f->edge.at + path[n];
        VEC_PUSH(f->arena, &s.slot, ((Slot){ e->from, e->to, e->stream }));
    }
    return s;
}

Schedule schedule_find(Arena *a, const Items *all, const ScheduleOptions *opt)
{
    Finder f = { .arena = a, .all = all, .opt = opt, .steps = (int32_t)all->program->step.n, .budget = opt->budget };
    Best *best = NEW_ARRAY(a, Best, f.steps + 1);
    count_alive(&f);
    list_crossing(&f);
    count_layers(&f);
    add_edges(&f);
    do find_path(&f, 0, best); while (settle_path(&f, best));
    const int64_t limit = i64_max(i64_max(best[f.steps].peak, opt->enough), 1);
    do find_path(&f, limit, best); while (settle_path(&f, best));
    return take(&f, best);
}
