/* SPDX-License-Identifier: Apache-2.0
 * What a stream takes is known when it was walked, here or in another schedule. */
#include <string.h>

#include "base/size.h"
#include "schedule/deal.h"
#include "schedule/finder.h"
#include "schedule/overlap.h"

/* Of a stream that takes so many bytes. */
static int64_t peak_with(const Finder *finder, const Stream *stream,
                         int64_t bytes)
{
    const int64_t around = finder_around(finder, stream->first, stream->end);
    if (stream->under < 0 || !finder->overlap)
        return bytes + around;
    const Overlap overlap = stream_overlap(stream);
    return bytes + around - overlap_gain(finder->all, &overlap);
}

static int64_t stream_peak(const Finder *finder, const Stream *stream)
{
    return peak_with(finder, stream, stream->bytes);
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

/* bytes: its peak, or the least that may come to. */
static void take_stream(Edge *edge, Stream *stream, int64_t bytes)
{
    Stream *before = edge->stream;
    if (bytes >= edge->bytes) {
        if (before)
            before->other = stream;
        return;
    }
    stream->other = before;
    edge->bytes = bytes;
    edge->stream = stream;
}

/* Rings may take so much more than a pool of their rows. */
enum { RINGS_OF_POOL = 64 };

static bool shares_pool(const Finder *finder, const Edge *edge)
{
    return finder->slots && !edge->strip;
}

static bool walk_rings(const Finder *finder, const Edge *edge, bool backward,
                       const DealAim *aim, int64_t *budget, Stream *stream)
{
    const int32_t times = shares_pool(finder, edge) ? RINGS_OF_POOL : 1;
    const StreamMost most = { aim->most, times };
    return stream_walk(finder->arena, finder->all, edge->from, edge->to,
                       backward, finder->pixels, most, budget, stream);
}

/* The rings of a stream that was walked, in one pool where that is smaller. */
static void deal_rings(const Finder *finder, const Edge *edge,
                       const DealAim *aim, int64_t *budget, Stream *stream)
{
    if (!shares_pool(finder, edge))
        return;
    *budget -= stream->calls;
    deal_rows(finder->arena, finder->all, stream, aim);
}

static int64_t peak_of_aim(const Finder *finder, const Stream *stream,
                           const DealAim *aim)
{
    const bool fitted = aim->effort != DEAL_NONE;
    return peak_with(finder, stream, fitted ? stream->bytes : stream->least);
}

static void take_walked(Finder *finder, Edge *edge, const DealAim *aim,
                        int64_t *budget, Stream *stream)
{
    deal_rings(finder, edge, aim, budget, stream);
    if (edge->strip)
        settle_strips(finder, edge, stream);
    else
        take_stream(edge, stream, peak_of_aim(finder, stream, aim));
}

/* The stream backward, where it makes the same calls as the one that went forward, whose rings are
 * not dealt yet; NULL: it is to be walked. */
static Stream *mirror_of(const Finder *finder, const Stream *forward)
{
    if (!stream_mirrors(finder->all, forward->first, forward->end))
        return NULL;
    Stream *mirror = NEW(finder->arena, Stream);
    *mirror = stream_mirror(finder->arena, finder->all, forward);
    return mirror;
}

/* A walk that comes to `mirror` takes as much work. */
static bool walk_mirror(const Stream *mirror, int64_t *budget, Stream *stream)
{
    *stream = *mirror;
    *budget = i64_max(*budget - mirror->visits, -1);
    stream->beyond &= *budget >= 0;
    return !mirror->beyond && *budget >= 0;
}

/* Walks a stream in both directions; the better one stays. True: what went beyond `most` was not
 * looked at to its end. */
static bool walk_ways(Finder *finder, Edge *edge, const DealAim *aim,
                      int64_t *budget)
{
    const int ways = stream_ascends(finder->all, edge->from, edge->to) ? 1 : 2;
    const Stream *mirror = NULL;
    bool beyond = false;
    edge->bytes = NEVER;
    if (*budget <= 0)
        return false;
    for (int way = 0; way < ways; way++) {
        Stream *stream = NEW(finder->arena, Stream);
        const bool walked =
            mirror ? walk_mirror(mirror, budget, stream)
                   : walk_rings(finder, edge, way == 1, aim, budget, stream);
        if (!walked && !stream->beyond)
            break;
        if (way + 1 < ways)
            mirror = mirror_of(finder, stream);
        beyond |= !walked || finder->slots;
        if (walked)
            take_walked(finder, edge, aim, budget, stream);
    }
    return beyond;
}

/* The same for streams that were walked before: a layout beyond `most` is not looked for. */
static bool fit_ways(Finder *finder, Edge *edge, const DealAim *aim,
                     int64_t *budget)
{
    Stream *next = edge->stream;
    edge->bytes = NEVER;
    edge->stream = NULL;
    while (next) {
        Stream *stream = next;
        next = stream->other;
        *budget -= stream->calls;
        if (peak_with(finder, stream, stream->least) < edge->bytes)
            deal_rows(finder->arena, finder->all, stream, aim);
        take_stream(edge, stream, stream_peak(finder, stream));
    }
    return true;
}

/* A walk that goes beyond finder->most leaves a better bound. */
static void settle_by_walk(Finder *finder, Edge *edge, const DealAim *aim)
{
    const ArenaMark mark = arena_mark(finder->arena);
    const bool beyond = edge->stream
                            ? fit_ways(finder, edge, aim, &finder->walking)
                            : walk_ways(finder, edge, aim, &finder->walking);
    edge->exact = !beyond || edge->bytes <= finder->most;
    if (!edge->exact) {
        edge->bytes = finder->most + 1;
        edge->stream = NULL;
    }
    if (!edge->stream)
        arena_release(finder->arena, mark);
}

/* Streams that were walked in another schedule are walked again only when they are taken. */
static void settle_by(Finder *finder, Edge *edge, DealEffort effort)
{
    const int64_t around = finder_around(finder, edge->from, edge->to);
    const int64_t most = edge->strip ? NEVER : finder->most - around;
    const DealAim aim = {
        .effort = effort,
        .most = most,
        .fits = finder->opt->fits,
    };
    if (edge->strip || !finder->opt->walked) {
        settle_by_walk(finder, edge, &aim);
        return;
    }
    const WalkedKind kind = effort == DEAL_NONE ? WALKED_LEAST : WALKED_FITTED;
    const uint64_t key =
        walked_key(finder->all, edge->from, edge->to, &finder->keys, kind);
    WalkedRange *range = walked_find(finder->opt->walked, key);
    if (range->bytes == WALKED_NOT && range->beyond < most) {
        settle_by_walk(finder, edge, &aim);
        if (!edge->exact)
            range->beyond = most;
        else if (edge->stream)
            range->bytes = edge->bytes - around;
        return;
    }
    edge->stream = NULL;
    edge->exact = range->bytes != WALKED_NOT;
    edge->bytes = edge->exact ? range->bytes + around : finder->most + 1;
}

/* What no layout of the stream's pool goes below comes first: by it most edges are left for others
 * before a layout is looked for. */
void finder_settle(Finder *finder, Edge *edge)
{
    const bool fits = finder->slots && !edge->strip;
    settle_by(finder, edge, fits && edge->bounded ? DEAL_QUICK : DEAL_NONE);
    if (!fits || edge->bounded || !edge->exact)
        return;
    edge->bounded = true;
    edge->exact = edge->bytes >= NEVER;
}

void finder_walk_again(Finder *finder, Edge *edge)
{
    const DealAim aim = {
        .effort = DEAL_QUICK,
        .most = NEVER,
        .fits = finder->opt->fits,
    };
    int64_t budget = NEVER;
    if (!edge->stream && !edge->strip && edge->to - edge->from >= 2)
        walk_ways(finder, edge, &aim, &budget);
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

static bool same_order(const Stream *stream, const Stream *other)
{
    return stream->calls == other->calls &&
           !memcmp(stream->order, other->order, (size_t)stream->calls);
}

/* The stream with so many pixels in a call; false: it makes no more. */
static bool walk_joined(const Finder *finder, const Stream *stream,
                        int32_t pixels, Stream *more)
{
    const StreamMost most = { NEVER, 1 };
    int64_t budget = plan_budget(finder->opt).walks;
    return joins(finder, stream, pixels) &&
           stream_walk(finder->arena, finder->all, stream->first, stream->end,
                       stream->backward, pixels, most, &budget, more) &&
           !same_order(stream, more);
}

/* The same; NULL: it makes no more, or takes more than `peak`. */
static Stream *join_by(Finder *finder, const Stream *stream, int32_t pixels,
                       int64_t peak)
{
    Stream *more = NEW(finder->arena, Stream);
    const int64_t around = finder_around(finder, stream->first, stream->end);
    const DealAim aim = {
        .effort = DEAL_CLOSE,
        .most = NEVER,
        .enough = peak - around,
        .fits = finder->opt->fits,
    };
    if (!walk_joined(finder, stream, pixels, more))
        return NULL;
    if (finder->slots)
        deal_rows(finder->arena, finder->all, more, &aim);
    return stream_peak(finder, more) <= peak ? more : NULL;
}

static bool is_dealt(const Stream *stream)
{
    for (size_t i = 0; i < stream->ring.n; i++)
        if (stream->ring.at[i].slots)
            return true;
    return false;
}

/* What was found for such a stream with all the work there is; NULL: nothing is remembered. */
static WalkedRange *remembered_fit(const Finder *finder, const Stream *stream)
{
    if (!finder->opt->walked)
        return NULL;
    const WalkedKind kind = stream->backward ? WALKED_BACKWARD : WALKED_CLOSE;
    const uint64_t key = walked_key(finder->all, stream->first, stream->end,
                                    &finder->keys, kind);
    return walked_find(finder->opt->walked, key);
}

/* Is it known to come to no less than `bytes`, or to no less than what is of use? */
static bool is_known_useless(const Finder *finder, const WalkedRange *range,
                             int64_t around, int64_t bytes)
{
    const int64_t below = finder->opt->below;
    if (!range || range->bytes == WALKED_NOT)
        return false;
    const int64_t closest = range->bytes + around;
    return closest >= bytes || (below && closest >= below);
}

static bool walk_and_deal(const Finder *finder, const Edge *edge, bool backward,
                          const DealAim *aim, Stream *stream)
{
    int64_t budget = NEVER;
    if (!walk_rings(finder, edge, backward, aim, &budget, stream))
        return false;
    deal_rings(finder, edge, aim, &budget, stream);
    return true;
}

int64_t finder_fit_closer(Finder *finder, int64_t enough, Stream **stream)
{
    const Stream *taken = *stream;
    const Edge edge = { .from = taken->first, .to = taken->end };
    const int64_t bytes = stream_peak(finder, taken);
    const int64_t around = finder_around(finder, taken->first, taken->end);
    WalkedRange *range = remembered_fit(finder, taken);
    if (!is_dealt(taken) || is_known_useless(finder, range, around, bytes))
        return bytes;
    const ArenaMark mark = arena_mark(finder->arena);
    Stream *closer = NEW(finder->arena, Stream);
    const DealAim aim = {
        .effort = DEAL_CLOSE,
        .most = NEVER,
        .enough = enough - around,
        .fits = finder->opt->fits,
    };
    const bool walked =
        walk_and_deal(finder, &edge, taken->backward, &aim, closer);
    const int64_t closest = walked ? stream_peak(finder, closer) : NEVER;
    if (range && closest > enough)
        range->bytes = closest - around;
    if (closest < bytes) {
        *stream = closer;
        return closest;
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
