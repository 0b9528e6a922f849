/* SPDX-License-Identifier: Apache-2.0
 * The edges between places. Streams are not walked here: an edge begins with a lower bound of its
 * bytes, and one that cannot lower the peak of its steps is left out. */
#include "base/size.h"
#include "schedule/finder.h"

/* More of either in a range is work or flash beyond what its bytes are worth. */
enum { MOST_STRIP_STEPS = 500, MOST_STRIP_WORK = 4, COST_OF_STRIP_STEP = 2000 };

/* A range that ends at `to`, and grows towards the first step. */
typedef struct Range {
    int32_t from, to;
    int64_t cost;   /* of its steps in a stream */
    int64_t worst;  /* peak of a step of it, run by itself */
    int64_t inside; /* what items made and used within it take at least */
} Range;

/* By item: rows of a window, or, where rings share a pool, those that windows have in common. */
static const int32_t *least_rows(const Finder *finder)
{
    if (finder->slots)
        return finder->least_kept;
    return finder->least_rows;
}

/* What an item takes at least inside of streams up to a place in [first, end): some rows, or all of
 * them. */
typedef struct Inner {
    int32_t first, end;
    int64_t bytes;
} Inner;

/* Of the items that each step makes: inner[of[k]] .. inner[of[k + 1] - 1]. */
typedef struct Inners {
    int32_t *of;
    Inner *inner;
} Inners;

static Inner inner_of(const Finder *finder, int32_t number)
{
    const int32_t *least = least_rows(finder);
    const Item *item = finder->all->item.at + number;
    return (Inner){
        .first = item->end,
        .end = item->lent ? item->lent : INT32_MAX,
        .bytes = item->whole ? item->size : least[number] * item->row_bytes,
    };
}

static Inners list_inners(const Finder *finder)
{
    const Items *all = finder->all;
    const size_t touches = all->touch.n;
    Inners inners = {
        .of = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1),
        .inner = NEW_ARRAY(finder->arena, Inner, touches + 1),
    };
    int32_t n = 0;
    for (int32_t k = 0; k < finder->steps; k++) {
        const Touch *end = touch_end(all, k);
        inners.of[k] = n;
        for (const Touch *touch = touch_begin(all, k); touch < end; touch++) {
            const Item *item = touch_item(all, touch);
            if (!touch->operand->write || item->scratch || item->first != k)
                continue;
            inners.inner[n] = inner_of(finder, touch->item);
            n++;
        }
    }
    inners.of[finder->steps] = n;
    return inners;
}

static int64_t least_inside(const Inners *inners, int32_t step, int32_t to)
{
    const Inner *inner = inners->inner + inners->of[step];
    const Inner *end = inners->inner + inners->of[step + 1];
    int64_t bytes = 0;
    for (; inner < end; inner++)
        if (inner->first <= to && to < inner->end)
            bytes += inner->bytes;
    return bytes;
}

/* Where rings share a pool, the last rows of the result may take their place. */
static int64_t least_bytes(const Finder *finder, const Range *range,
                           int32_t from)
{
    const int64_t before = finder->alive[from];
    const int64_t behind = finder->alive[range->to];
    if (finder->slots)
        return i64_max(before + range->inside, behind);
    return i64_max(before, behind) + range->inside;
}

/* For speed alone, steps run together only where their tensors do not stay in the cache. */
static bool stays_cached(const Finder *finder, const Range *range)
{
    return finder->opt->goal == PLAN_SPEED && range->worst <= PLAN_CACHE;
}

static void add_streams(Finder *finder, const Inners *inners, int32_t to)
{
    Range range = { .to = to };
    if (finder->crossing[to] > MOST_CROSSING)
        return;
    for (int32_t from = to - 1; from >= 0 && to - from <= finder->reach;
         from--) {
        if (finder->cost[from] < 0 || items_jumped(finder->all, from))
            return;
        range.cost += finder->cost[from];
        range.worst = i64_max(range.worst, finder->layer[from]);
        range.inside += least_inside(inners, from, to);
        const int64_t least = least_bytes(finder, &range, from);
        if (to - from < 2 || finder->crossing[from] > MOST_CROSSING ||
            least >= range.worst || stays_cached(finder, &range))
            continue;
        const Edge edge = {
            .from = from,
            .to = to,
            .bytes = least,
            .cost = range.cost,
        };
        VEC_PUSH(finder->arena, &finder->edge, edge);
    }
}

static Ring *ring_of(Finder *finder, Stream *stream, int32_t item)
{
    for (size_t i = 0; i < stream->ring.n; i++)
        if (stream->ring.at[i].item == item)
            return stream->ring.at + i;
    VEC_PUSH(finder->arena, &stream->ring,
             ((Ring){ item, 1, -1, NULL, false }));
    return stream->ring.at + stream->ring.n - 1;
}

/* The rings of a range at their smallest: the rows of a window. */
static Stream least_rings(Finder *finder, int32_t from, int32_t to)
{
    Stream stream = { .first = from, .end = to };
    const Touch *end = touch_begin(finder->all, to);
    for (const Touch *touch = touch_begin(finder->all, from); touch < end;
         touch++) {
        const Item *it = finder->all->item.at + touch->item;
        const RowRule *rule = &touch->operand->rule;
        if (it->scratch || it->outside || it->first < from || it->end > to)
            continue;
        Ring *ring = ring_of(finder, &stream, touch->item);
        if (touch->operand->write || rule->kind != ROWS_WINDOW)
            continue;
        const int64_t window = i64_min(rule->extent, it->rows);
        ring->rows = (int32_t)i64_max(ring->rows, window);
    }
    return stream;
}

static void add_strip_edge(Finder *finder, const Range *range, int64_t bytes,
                           StripEdge strip)
{
    const int64_t steps = (int64_t)strip.cut.n * (range->to - range->from);
    VEC_PUSH(finder->arena, &finder->strip, strip);
    const Edge edge = {
        .from = range->from,
        .to = range->to,
        .strip = (int32_t)finder->strip.n,
        .bytes = bytes,
        .cost = range->cost + COST_OF_STRIP_STEP * steps,
    };
    VEC_PUSH(finder->arena, &finder->edge, edge);
}

static int64_t macs_of_range(const Finder *finder, const Range *range)
{
    int64_t macs = 0;
    for (int32_t k = range->from; k < range->to; k++)
        macs += finder->all->program->step.at[k]->macs;
    return macs;
}

/* The range in ever narrower strips, while they take fewer bytes. */
static void add_strips_of(Finder *finder, const Range *range)
{
    Strips *strips = &finder->strips;
    StripEdge edge = { 0 };
    if (!strip_range(strips, range->from, range->to, &edge.range))
        return;
    const Stream least = least_rings(finder, range->from, range->to);
    const int64_t around = finder_around(finder, range->from, range->to);
    const int64_t macs = macs_of_range(finder, range);
    int64_t narrowest = INT64_MAX;
    while (strip_next(strips, &edge.range, &least, &edge.cut) &&
           edge.cut.n * (range->to - range->from) <= MOST_STRIP_STEPS) {
        StripPrice price;
        if (!strip_price(strips, &edge.range, &least, edge.cut, &price) ||
            price.macs > MOST_STRIP_WORK * macs)
            break;
        if (price.bytes >= narrowest)
            continue;
        narrowest = price.bytes;
        edge.work = i64_max(price.macs - macs, 0);
        if (price.bytes + around < range->worst)
            add_strip_edge(finder, range, price.bytes + around, edge);
    }
}

static void add_strips(Finder *finder, int32_t to)
{
    Range range = { .to = to };
    if (finder->crossing[to] > MOST_CROSSING)
        return;
    for (int32_t from = to - 1; from >= 0 && to - from <= finder->reach;
         from--) {
        if (!strip_takes(&finder->strips, from))
            return;
        range.from = from;
        range.cost += finder->cost[from];
        range.worst = i64_max(range.worst, finder->layer[from]);
        if (finder->crossing[from] > MOST_CROSSING)
            continue;
        const ArenaMark mark = arena_mark(finder->arena);
        const size_t edges = finder->edge.n;
        add_strips_of(finder, &range);
        if (edges == finder->edge.n)
            arena_release(finder->arena, mark);
    }
}

void finder_add_edges(Finder *finder)
{
    finder->into = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1);
    finder->into_end = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1);
    const Inners inners = list_inners(finder);
    for (int32_t to = 1; to <= finder->steps; to++) {
        const Edge layer = {
            .from = to - 1,
            .to = to,
            .bytes = finder->layer[to - 1],
            .exact = true,
        };
        finder->into[to] = (int32_t)finder->edge.n;
        VEC_PUSH(finder->arena, &finder->edge, layer);
        if (finder->streams)
            add_streams(finder, &inners, to);
        if (finder->opt->strips && !finder->all->jumped.end)
            add_strips(finder, to);
        finder->into_end[to] = (int32_t)finder->edge.n;
    }
}
