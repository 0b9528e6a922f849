/* SPDX-License-Identifier: Apache-2.0
 * --stream: inputs of which a run takes only the new steps. */
#ifndef INLAY_PIPELINE_STREAMS_H
#define INLAY_PIPELINE_STREAMS_H

#include "pipeline/state.h"

/* What the option's text says. */
typedef struct StreamText {
    const char *input; /* NULL: the only one */
    int axis;          /* negative: counted from the end */
    int64_t hop;
    bool endless;
} StreamText;

/* INPUT:AXIS:HOP or AXIS:HOP, and :endless behind it; fails with 64 where it is none. */
StreamText stream_read(Arena *arena, const char *text);
/* Fills graph->signal. A name that does not exist, an input that is a state or that is given twice,
 * fails with 64. */
void streams_find(Graph *graph, const Options *options);

#endif
