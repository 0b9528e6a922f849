/* SPDX-License-Identifier: Apache-2.0
 * A plan as a manifest states it, not yet believed. */
#ifndef INLAY_PROVE_CLAIM_H
#define INLAY_PROVE_CLAIM_H

#include <jansson.h>

#include "base/vec.h"
#include "ir/program.h"

typedef enum ClaimAccess {
    CLAIM_READ,
    CLAIM_WRITE,
    CLAIM_UPDATE,
    CLAIM_SCRATCH
} ClaimAccess;

typedef struct ClaimTensor {
    const char *storage; /* "arena", "input", "output" */
    int32_t slot;
    const RowSlots *slots; /* NULL: none */
    int64_t offset, bytes, extent;
    bool scratch;
    int region; /* 0 where there are none */
} ClaimTensor;

typedef struct ClaimOperand {
    bool given, constant; /* neither: left out */
    ClaimAccess access;
    int32_t tensor;
    int64_t reach; /* -1: not stated */
    int64_t at, row, pixel, part, pitch;
    int32_t rows, ring;
    RowRule rule;
    PixelRule pixels;
    size_t entries; /* of rule.table */
} ClaimOperand;

enum { WITH_CALLER = -1, BY_ROWS = -2 };

typedef struct ClaimStep {
    const char *kernel;
    VEC(int32_t) lowered;
    int32_t strip, first_column, end_column; /* strip 0: all columns */
    int32_t piece, units;
    bool backward, split;
    VEC(ClaimOperand) operand;
} ClaimStep;

typedef struct ClaimLength {
    const char *symbol;
    int32_t least, most;
} ClaimLength;

typedef struct Claim Claim;
struct Claim {
    int64_t size, align, lower_bound, counters, counters_bytes;
    int64_t bound_schedules; /* 0: none is stated */
    /* where, and how many bytes; -1 and 0: none */
    int64_t run_state, run_state_bytes;
    int32_t threads; /* 0: one */
    bool optimal, preserve_input;
    const char *model_sha256; /* NULL: not stated */
    const char **from, **to;  /* ended by NULL */
    const char **shape, **dim, **constant, **without, **io,
        **state;             /* ended by NULL */
    const char **preprocess; /* likewise; NULL: none */
    const char **kept;       /* likewise */
    const char **stream;     /* likewise */
    const Family *family;
    bool narrow;       /* weights are stored in the type of the file */
    bool winograd;     /* those of 3x3 convolutions may be transformed */
    VEC(int32_t) bank; /* of each expansion: Banks.channels */
    int64_t recompute; /* as Graph.recompute */
    /* of streamed weights, as forms/fetch.h has them; window 0: they are not */
    int64_t window, resident;
    bool whole;
    bool coded;        /* they are coded instead */
    VEC(int64_t) room; /* then the window of each step; empty: `window` */
    int palette;       /* values of a channel; 0: there are no palettes */
    VEC(int32_t) left; /* weights that stay as they are */
    int32_t lowered_steps;
    VEC(int64_t) region; /* their bytes; empty: one arena */
    VEC(ClaimTensor) tensor;
    VEC(ClaimStep) step;
    VEC(Segment) segment;
    VEC(int) in_region, out_region;
    VEC(int64_t)
    in_offset,
        out_offset; /* of the model's inputs and results in the arena; or WITH_CALLER, BY_ROWS */
    /* that runs are given; of each combination of them the variant, of which the first is the claim
     * itself */
    VEC(ClaimLength) length;
    VEC(int32_t) variant_of;
    VEC(const Claim *) variant;
};

/* Numbers are in the ranges that the plan's own types need, places in lists exist; nothing else is
 * promised. What is not as GENERATED.md says fails with 65, named by its place. Text is copied;
 * `document` may go. */
Claim *claim_read(Arena *arena, const char *path, const json_t *document);

#endif
