/* SPDX-License-Identifier: Apache-2.0
 * The order of a stream as prologue, repeated period and epilogue. */
#include "plan/stream.h"

/* The longest stretch of order[k] == order[k + period]: its length, and where it begins. */
static int32_t stretch(const Stream *stream, int32_t period, int32_t *begin)
{
    int32_t best = 0;
    int32_t start = 0;
    for (int32_t k = 0; k + period < stream->calls; k++) {
        if (stream->order[k] != stream->order[k + period])
            start = k + 1;
        else if (k + 1 - start > best)
            best = k + 1 - start, *begin = start;
    }
    return best;
}

/* Periods beyond this are not looked for: the search is quadratic. */
enum { MOST_PERIOD = 1024 };

Segment stream_list(Arena *arena, const Stream *stream)
{
    Segment segment = { .first = stream->first,
                        .count = stream->end - stream->first,
                        .prologue = stream->calls,
                        .list = stream->order };
    int32_t length = stream->calls;
    for (int32_t period = 1;
         period <= stream->calls / 2 && period <= MOST_PERIOD && period < length; period++) {
        int32_t begin = 0;
        const int32_t repeats = stretch(stream, period, &begin) / period + 1;
        if (repeats < 2 || stream->calls - period * (repeats - 1) >= length)
            continue;
        length = stream->calls - period * (repeats - 1);
        segment.prologue = begin, segment.period = period, segment.repeats = repeats;
        segment.epilogue = stream->calls - begin - period * repeats;
    }
    uint8_t *list = NEW_ARRAY(arena, uint8_t, length + 1);
    for (int32_t k = 0; k < length; k++)
        list[k] =
            stream->order[k < segment.prologue + segment.period ? k : stream->calls - length + k];
    segment.list = list;
    return segment;
}
