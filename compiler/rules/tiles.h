/* SPDX-License-Identifier: Apache-2.0
 * Which tiles of kernels/tile_f32.h the steps of a program make: the generated file says it to that
 * header, which has code for these alone, and makes any other a pixel at a time. */
#ifndef INLAY_RULES_TILES_H
#define INLAY_RULES_TILES_H

#include "rules/rules.h"

/* How a kernel walks from tap to tap: INLAY_WALK_... of tile_f32.h. */
typedef enum TileWalk {
    TILE_ROWS,
    TILE_STEPS,
    TILE_LINES,
    TILE_WALKS
} TileWalk;

/* A line of pixels, of so many channels each, that is cut into tiles. */
typedef struct TileLine {
    TileWalk walk;
    int32_t channels, pixels;
} TileLine;

struct TileUse {
    Arena *arena;
    VEC(TileLine) line; /* each once */
    int ends;           /* INLAY_END_...: what follows the sums of some tile */
    int width;          /* channels of a block of packed weights */
    Store *store;       /* of what steps are told */
    int32_t copied;     /* most taps of a window, for INLAY_TILE_IM2COL */
    bool narrow;        /* some weights are stored in a narrower type */
    bool panels;        /* some of those are not as INLAY_TILE_PANELS has it */
};

/* Adds what the step makes. */
void tiles_of_step(const Step *step, TileUse *use);

#endif
