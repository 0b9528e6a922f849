/* SPDX-License-Identifier: Apache-2.0
 * During which slots of a plan, steps or streams, each tensor of the arena lives; how it dies. */
#ifndef INLAY_PROVE_LIVES_H
#define INLAY_PROVE_LIVES_H

#include "base/vec.h"
#include "ir/program.h"

typedef struct Life {    /* of a tensor in the arena */
    int32_t first, last; /* slots; last < 0: not touched */
    int64_t bytes;       /* extent, in whole alignments */
    bool scratch;
    bool one_piece; /* the last slot needs all of it to its end */
    /* each reader of its last slot is done with an element before the result's is written */
    bool elementwise;
    /* all of it, through its last slot: the next round of a loop reads it */
    bool kept;
    /* the pool of the stream that makes it begins within it: all of it is there, and the pool
     * counts beside it */
    bool joined;
    /* such a pool was met: it is joined, or lies over what dies in that stream, row by row */
    bool met;
    /* made and read in one stream, where what is made of it takes its place: counted with that */
    bool guest;
} Life;

typedef struct Slot { /* a step, or a stream */
    int32_t first, end;
    const Segment *stream; /* NULL: a step */
} Slot;

typedef struct Lives {
    Arena *arena;
    const Program *program;
    int ids;    /* of tensors */
    Life *life; /* by tensor id */
    VEC(Slot) slot;
    int32_t *slot_of; /* by step */
} Lives;

Lives lives_find(Arena *arena, const Program *program);

/* Up to whole alignments of the arena. */
int64_t lives_round_up(const Lives *lives, int64_t bytes);

/* The life of an operand's tensor; NULL: it takes nothing of the arena. */
Life *life_of(const Lives *lives, const Operand *operand);

/* Is the tensor's row counted when it is made? Otherwise it is there from the first call on. */
bool life_begins(const Lives *lives, const Life *life, int32_t slot);

/* And is it no more when it was read for the last time? Otherwise it is there to the last call. */
bool life_ends(const Life *life, int32_t slot);

#endif
