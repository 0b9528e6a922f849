/* SPDX-License-Identifier: Apache-2.0
 * The order of a stream as prologue, repeated period and epilogue. */
#include "schedule/stream.h"

/* A stretch of order[k] == order[k + period]. */
typedef struct Stretch {
    int32_t begin, length;
} Stretch;

/* The longest one, the first of equals, if it is longer than `least` and holds a whole period; else
 * one of no length. Only a stretch that reaches `most` beyond its begin is longer than what is
 * found: it is looked at from there backwards, so that most of a list is passed over. */
static Stretch longest(const Stream *stream, int32_t period, int32_t least)
{
    const uint8_t *order = stream->order;
    const uint8_t *later = order + period;
    const int32_t end = stream->calls - period;
    int32_t most = least < period - 1 ? period - 1 : least;
    Stretch best = { 0 };
    int32_t begin = 0;
    while (begin + most < end) {
        int32_t k = begin + most;
        while (k >= begin && order[k] == later[k])
            k--;
        if (k >= begin) {
            begin = k + 1;
            continue;
        }
        int32_t stop = begin + most + 1;
        while (stop < end && order[stop] == later[stop])
            stop++;
        most = stop - begin;
        best = (Stretch){ begin, most };
        begin = stop + 1;
    }
    return best;
}

/* Periods beyond this are not looked for. */
enum { MOST_PERIOD = 1024 };

static Segment find_period(const Stream *stream, int32_t *length)
{
    const int32_t calls = stream->calls;
    Segment segment = {
        .first = stream->first,
        .count = stream->end - stream->first,
        .prologue = calls,
        .list = stream->order,
    };
    *length = calls;
    for (int32_t period = 1;
         period <= calls / 2 && period <= MOST_PERIOD && period < *length;
         period++) {
        const Stretch found = longest(stream, period, calls - *length);
        const int32_t repeats = found.length / period + 1;
        const int32_t listed = calls - period * (repeats - 1);
        if (repeats < 2 || listed >= *length)
            continue;
        *length = listed;
        segment.prologue = found.begin;
        segment.period = period;
        segment.repeats = repeats;
        segment.epilogue = calls - found.begin - period * repeats;
    }
    return segment;
}

Segment stream_list(Arena *arena, const Stream *stream)
{
    int32_t length;
    Segment segment = find_period(stream, &length);
    const int32_t once = segment.prologue + segment.period;
    const int32_t skipped = stream->calls - length;
    uint8_t *list = NEW_ARRAY(arena, uint8_t, length + 1);
    for (int32_t k = 0; k < length; k++)
        list[k] = stream->order[k < once ? k : skipped + k];
    segment.list = list;
    return segment;
}
