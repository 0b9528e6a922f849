/* SPDX-License-Identifier: Apache-2.0
 * Shapes are not known here: the pass holds the axis against them. */
#include "pipeline/streams.h"

#include <string.h>

#include "pipeline/numbers.h"
#include "pipeline/overrides.h"

enum { MOST_AXIS = MAX_RANK };

_Noreturn static void refuse(const char *text, const char *why)
{
    fail_at(STATUS_USAGE, LOC_NONE,
            "--stream INPUT:AXIS:HOP, with :endless behind it where the signal "
            "takes the place of padding: --stream mel:1:2",
            "--stream %s: %s", text, why);
}

/* Takes what stands behind the last colon off the text; NULL: there is none. Names hold colons, so
 * the end comes first. */
static const char *take_last(char *text)
{
    char *colon = strrchr(text, ':');
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static int64_t read_whole(const char *text, const char *number, int64_t most,
                          const char *what)
{
    int64_t value;
    const char *end = number_read(number, most, &value);
    if (!end || *end)
        refuse(text, what);
    return value;
}

StreamText stream_read(Arena *arena, const char *text)
{
    StreamText stream = { 0 };
    char *rest = arena_text(arena, text, strlen(text));
    const char *last = take_last(rest);
    stream.endless = last && !strcmp(last, "endless");
    if (stream.endless)
        last = take_last(rest);
    if (!last)
        refuse(text, "it names no hop");
    stream.hop = read_whole(text, last, INT32_MAX, "the hop is no number");
    if (!stream.hop)
        refuse(text, "a run takes one step at least");
    const char *axis = take_last(rest);
    if (axis)
        stream.input = rest;
    else
        axis = rest;
    const bool from_end = *axis == '-';
    stream.axis = (int)read_whole(text, axis + from_end, MOST_AXIS,
                                  "the axis is no number");
    if (from_end)
        stream.axis = -stream.axis;
    return stream;
}

static size_t place_of(const Graph *graph, const Tensor *input)
{
    size_t i = 0;
    while (graph->input.at[i] != input)
        i++;
    return i;
}

static void find_one(Graph *graph, const char *text)
{
    const StreamText given = stream_read(graph->arena, text);
    const Tensor *input = input_named(graph, given.input, "--stream", text);
    const Signal stream = {
        .in = place_of(graph, input),
        .axis = given.axis,
        .hop = given.hop,
        .endless = given.endless,
    };
    if (graph_in_form(graph, stream.in) == IO_STATE)
        refuse(text, "the input is a state");
    for (size_t i = 0; i < graph->signal.n; i++) {
        if (graph->signal.at[i].in == stream.in)
            refuse(text, "the input is given twice");
        if (graph->signal.at[i].endless != stream.endless)
            refuse(text, "either all streams are endless, or none is");
    }
    VEC_PUSH(graph->arena, &graph->signal, stream);
}

void streams_find(Graph *graph, const Options *options)
{
    for (const char **text = options->stream; text && *text; text++)
        find_one(graph, *text);
}
