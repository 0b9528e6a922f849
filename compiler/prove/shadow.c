/* SPDX-License-Identifier: Apache-2.0
 * Sorted spans: found by halving, replaced in place, neighbours of one owner joined. */
#include "prove/shadow.h"

#include "base/size.h"

/* The first span that ends behind `at`. */
static size_t find(const Shadow *shadow, int64_t at)
{
    size_t lo = 0;
    size_t hi = shadow->span.n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (shadow->span.at[mid].end > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

bool shadow_owns(const Shadow *shadow, int64_t begin, int64_t end,
                 int64_t delta, int32_t tag)
{
    const size_t i = find(shadow, begin);
    if (begin >= end)
        return true;
    if (i == shadow->span.n)
        return false;
    const ShadowSpan *t = shadow->span.at + i; /* no two could be one */
    return t->begin <= begin && end <= t->end && t->tag == tag &&
           t->delta == delta;
}

/* Replaces spans [first, end) by `n` new ones. */
static void splice(Shadow *shadow, size_t first, size_t end,
                   const ShadowSpan *with, size_t n)
{
    const size_t tail = shadow->span.n - end;
    while (shadow->span.n + n > shadow->span.room)
        shadow->span.at = vec_grow(shadow->arena, shadow->span.at,
                                   &shadow->span.room, sizeof *shadow->span.at);
    if (first + n != end)
        memmove(shadow->span.at + first + n, shadow->span.at + end,
                tail * sizeof *shadow->span.at);
    memcpy(shadow->span.at + first, with, n * sizeof *with);
    shadow->span.n = first + n + tail;
}

static bool has_one_owner(const ShadowSpan *a, const ShadowSpan *b)
{
    return a->tag == b->tag && a->delta == b->delta;
}

/* Puts a span behind others, of which the last ends where it begins, or makes that one longer. */
static size_t append(ShadowSpan *with, size_t n, const ShadowSpan *span)
{
    if (span->begin >= span->end)
        return n;
    if (n && has_one_owner(with + n - 1, span))
        with[n - 1].end = span->end;
    else
        with[n++] = *span;
    return n;
}

/* Spans beside the new one take part: they may be one with it, on either side. */
void shadow_write(Shadow *shadow, int64_t begin, int64_t end, int64_t delta,
                  int32_t tag)
{
    if (begin >= end)
        return;
    const ShadowSpan *span = shadow->span.at;
    const ShadowSpan own = { begin, end, delta, tag };
    size_t first = find(shadow, begin);
    size_t last = first;
    size_t n = 0;
    ShadowSpan with[3];
    if (first && span[first - 1].end == begin)
        first--;
    while (last < shadow->span.n && span[last].begin <= end)
        last++;
    ShadowSpan before = first < last ? span[first] : own;
    ShadowSpan after = first < last ? span[last - 1] : own;
    before.end = i64_min(before.end, begin);
    after.begin = i64_max(after.begin, end);
    n = append(with, n, &before);
    n = append(with, n, &own);
    n = append(with, n, &after);
    splice(shadow, first, last, with, n);
}
