/* SPDX-License-Identifier: Apache-2.0
 * Sorted spans: found by halving, replaced in place, neighbours of one owner joined. */
#include "prove/shadow.h"

/* The first span that ends behind `at`. */
static size_t find(const Shadow *s, int64_t at)
{
    size_t lo = 0, hi = s->span.n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (s->span.at[mid].end > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

bool shadow_owns(const Shadow *s, int64_t begin, int64_t end, int64_t delta, int32_t tag)
{
    for (size_t i = find(s, begin); begin < end; i++) {
        if (i == s->span.n)
            return false;
        const ShadowSpan *t = s->span.at + i;
        if (t->begin > begin || t->tag != tag || t->delta != delta)
            return false;
        begin = t->end;
    }
    return true;
}

/* Replaces spans [first, end) by `n` new ones. */
static void splice(Shadow *s, size_t first, size_t end, const ShadowSpan *with, size_t n)
{
    const size_t tail = s->span.n - end;
    while (s->span.n + n > s->span.room)
        s->span.at = vec_grow(s->arena, s->span.at, &s->span.room, sizeof *s->span.at);
    memmove(s->span.at + first + n, s->span.at + end, tail * sizeof *s->span.at);
    memcpy(s->span.at + first, with, n * sizeof *with);
    s->span.n = first + n + tail;
}

void shadow_write(Shadow *s, int64_t begin, int64_t end, int64_t delta, int32_t tag)
{
    if (begin >= end)
        return;
    size_t first = find(s, begin), last = first, n = 0;
    ShadowSpan with[3], own = { begin, end, delta, tag };
    if (first && s->span.at[first - 1].end == begin && s->span.at[first - 1].tag == tag &&
        s->span.at[first - 1].delta == delta)
        own.begin = s->span.at[--first].begin;
    while (last < s->span.n && s->span.at[last].begin < end)
        last++;
    ShadowSpan before = first < last ? s->span.at[first] : own,
               after = last > first ? s->span.at[last - 1] : own;
    if (before.begin < own.begin)
        with[n++] = (ShadowSpan){ before.begin, begin, before.delta, before.tag };
    with[n++] = own;
    if (after.end > end)
        with[n++] = (ShadowSpan){ end, after.end, after.delta, after.tag };
    splice(s, first, last, with, n);
}
