/* SPDX-License-Identifier: Apache-2.0
 * The order of a stream as prologue, repeated period and epilogue. */
#include "plan/stream.h"

/* The longest stretch of order[k] == order[k + period]: its length, and where it begins. */
static int32_t stretch(const Stream *s, int32_t period, int32_t *begin)
{
    int32_t best = 0, start = 0;
    for (int32_t k = 0; k + period < s->calls; k++) {
        if (s->order[k] != s->order[k + period])
            start = k + 1;
        else if (k + 1 - start > best)
            best = k + 1 - start, *begin = start;
    }
    return best;
}

/* Periods beyond this are not looked for: the search is quadratic. */
enum { MOST_PERIOD = 1024 };

Segment stream_list(Arena *a, const Stream *s)
{
    Segment g = {
        .first = s->first, .count = s->end - s->first, .prologue = s->calls, .list = s->order
    };
    int32_t length = s->calls;
    for (int32_t period = 1; period <= s->calls / 2 && period <= MOST_PERIOD && period < length;
         period++) {
        int32_t begin = 0;
        const int32_t repeats = stretch(s, period, &begin) / period + 1;
        if (repeats < 2 || s->calls - period * (repeats - 1) >= length)
            continue;
        length = s->calls - period * (repeats - 1);
        g.prologue = begin, g.period = period, g.repeats = repeats;
        g.epilogue = s->calls - begin - period * repeats;
    }
    uint8_t *list = NEW_ARRAY(a, uint8_t, length + 1);
    for (int32_t k = 0; k < length; k++)
        list[k] = s->order[k < g.prologue + g.period ? k : s->calls - length + k];
    g.list = list;
    return g;
}
