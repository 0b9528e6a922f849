/* SPDX-License-Identifier: Apache-2.0
 * What a stream takes is known when it was walked, here or in another schedule. */
#include "base/size.h"
#include "schedule/deal.h"
#include "schedule/finder.h"
#include "schedule/overlap.h"

static int64_t stream_peak(const Finder *finder, const Stream *stream)
{
    const int64_t around = finder_around(finder, stream->first, stream->end);
    if (stream->under < 0 || !finder->overlap)
        return stream->bytes + around;
    const Overlap overlap = stream_overlap(stream);
    return stream->bytes + around - overlap_gain(finder->all, &overlap);
}

/* Strips have the rings of the whole rows, but narrow ones. */
static void settle_strips(Finder *finder, Edge *edge, const Stream *whole)
{
    const StripEdge *strip = strip_of_edge(finder, edge);
    StripPrice price;
    if (!strip_price(&finder->strips, &strip->range, whole, strip->cut, &price))
        return;
    const int64_t around = finder_around(finder, edge->from, edge->to);
    edge->bytes = i64_min(edge->bytes, price.bytes + around);
}

static void take_stream(Finder *finder, Edge *edge, Stream *stream)
{
    const int64_t bytes = stream_peak(finder, stream);
    if (bytes >= edge->bytes)
        return;
    edge->bytes = bytes;
    edge->stream = stream;
}

/* Rings may take so much more than a pool of their rows. */
enum { RINGS_OF_POOL = 2 };

/* The stream, its rings in one pool where that is smaller. */
static bool walk_stream(const Finder *finder, const Edge *edge, bool backward,
                        int32_t pixels, int64_t most, int64_t *budget,
                        DealEffort effort, Stream *stream)
{
    const bool slots = finder->slots && !edge->strip;
    int64_t most_rings = most;
    if (slots)
        most_rings =
            most < NEVER / RINGS_OF_POOL ? RINGS_OF_POOL * most : NEVER;
    if (!stream_walk(finder->arena, finder->all, edge->from, edge->to, backward,
                     pixels, most_rings, budget, stream))
        return false;
    if (slots) {
        *budget -= stream->calls;
        deal_rows(finder->arena, finder->all, stream, most, effort);
    }
    return true;
}

/* Walks a stream in both directions; the better one stays. True: a walk stopped because it went
 * beyond `most`. */
static bool walk_ways(Finder *finder, Edge *edge, int64_t most, int64_t *budget)
{
    const int ways = stream_ascends(finder->all, edge->from, edge->to) ? 1 : 2;
    bool beyond = false;
    edge->bytes = NEVER;
    for (int way = 0; way < ways; way++) {
        Stream *stream = NEW(finder->arena, Stream);
        const bool walked = walk_stream(finder, edge, way == 1, finder->pixels,
                                        most, budget, DEAL_QUICK, stream);
        if (!walked && !stream->beyond)
            break;
        beyond |= !walked;
        if (walked && edge->strip)
            settle_strips(finder, edge, stream);
        else if (walked)
            take_stream(finder, edge, stream);
    }
    return beyond;
}

/* A walk that goes beyond finder->most leaves a better bound. */
static void settle_by_walk(Finder *finder, Edge *edge, int64_t most)
{
    const ArenaMark mark = arena_mark(finder->arena);
    const bool beyond = walk_ways(finder, edge, most, &finder->walking);
    edge->exact = !beyond || edge->bytes <= finder->most;
    if (!edge->exact) {
        edge->bytes = finder->most + 1;
        edge->stream = NULL;
    }
    if (!edge->stream)
        arena_release(finder->arena, mark);
}

/* Streams that were walked in another schedule are walked again only when they are taken. */
void finder_settle(Finder *finder, Edge *edge)
{
    const int64_t around = finder_around(finder, edge->from, edge->to);
    const int64_t most = edge->strip ? NEVER : finder->most - around;
    if (edge->strip || !finder->opt->walked) {
        settle_by_walk(finder, edge, most);
        return;
    }
    const uint64_t key =
        walked_key(finder->all, edge->from, edge->to, &finder->keys);
    WalkedRange *range = walked_find(finder->opt->walked, key);
    if (range->bytes == WALKED_NOT && range->beyond < most) {
        settle_by_walk(finder, edge, most);
        if (!edge->exact)
            range->beyond = most;
        else if (edge->stream)
            range->bytes = edge->bytes - around;
        return;
    }
    edge->exact = range->bytes != WALKED_NOT;
    edge->bytes = edge->exact ? range->bytes + around : finder->most + 1;
}

void finder_walk_again(Finder *finder, Edge *edge)
{
    int64_t budget = NEVER;
    if (!edge->stream && !edge->strip && edge->to - edge->from >= 2)
        walk_ways(finder, edge, NEVER, &budget);
}

/* Would some step of the stream make more rows in a call of so many pixels? */
static bool joins(const Finder *finder, const Stream *stream, int32_t pixels)
{
    for (int32_t k = stream->first; k < stream->end; k++) {
        const Step *step = finder->all->program->step.at[k];
        if (stream_burst(step, pixels) > stream_burst(step, finder->pixels))
            return true;
    }
    return false;
}

/* The stream with so many pixels in a call; NULL: it makes no more, or takes more than `peak`. */
static Stream *join_by(Finder *finder, const Stream *stream, int32_t pixels,
                       int64_t peak)
{
    Stream *more = NEW(finder->arena, Stream);
    const Edge edge = { .from = stream->first, .to = stream->end };
    int64_t budget = plan_budget(finder->opt).walks;
    const bool walked = joins(finder, stream, pixels) &&
                        walk_stream(finder, &edge, stream->backward, pixels,
                                    NEVER, &budget, DEAL_CLOSE, more);
    return walked && stream_peak(finder, more) <= peak ? more : NULL;
}

static bool is_dealt(const Stream *stream)
{
    for (size_t i = 0; i < stream->ring.n; i++)
        if (stream->ring.at[i].slots)
            return true;
    return false;
}

int64_t finder_fit_closer(Finder *finder, Stream **stream)
{
    const Stream *taken = *stream;
    const Edge edge = { .from = taken->first, .to = taken->end };
    const int64_t bytes = stream_peak(finder, taken);
    const ArenaMark mark = arena_mark(finder->arena);
    Stream *closer = NEW(finder->arena, Stream);
    int64_t budget = NEVER;
    if (is_dealt(taken) &&
        walk_stream(finder, &edge, taken->backward, finder->pixels, NEVER,
                    &budget, DEAL_CLOSE, closer) &&
        stream_peak(finder, closer) < bytes) {
        *stream = closer;
        return stream_peak(finder, closer);
    }
    arena_release(finder->arena, mark);
    return bytes;
}

void finder_join_units(Finder *finder, Stream **stream, int64_t peak)
{
    static const int32_t pixels[] = { 24, 12, 6 };
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        const ArenaMark mark = arena_mark(finder->arena);
        Stream *more = join_by(finder, *stream, pixels[i], peak);
        if (more) {
            *stream = more;
            return;
        }
        arena_release(finder->arena, mark);
    }
}
