/* SPDX-License-Identifier: Apache-2.0
 * What a kernel states of itself beside its bounds: how it makes some columns of its result, which
 * of its inputs may be written in place, which two steps it does as one. Planner and proof know
 * these facts, each in its own way, and no kernel by name: a row of kernels.def names its rules. */
#ifndef INLAY_RULES_RULES_H
#define INLAY_RULES_RULES_H

#include "ir/program.h"

/* Columns [lo, hi) of the rows of an image. */
typedef struct Columns {
    int32_t lo, hi;
} Columns;

/* Which columns of operand 1 a step needs for column c of its result. The first kind is given the
 * place of its first column, the others find theirs by their parameters. */
typedef enum ColumnKind {
    COLUMNS_NONE, /* it cannot make some columns */
    COLUMNS_SAME, /* column c */
    COLUMNS_WINDOW, /* [c * stride - pad, c * stride - pad + extent), those that exist */
    COLUMNS_TAPS, /* x where x * stride == c + pad - k * dilation for a tap k < extent */
    COLUMNS_TABLE, /* [table[c].lo, table[c].hi) */
} ColumnKind;

typedef struct ColumnRule {
    ColumnKind kind;
    int32_t stride, pad, extent, dilation;
    const Rows *table;
    /* the result lies with the caller and has no columns: c is operand 1's */
    bool planes;
} ColumnRule;

/* A step that puts operands 1 to `inputs` side by side in its result; the operand behind them is
 * the table of their sizes. */
typedef enum JoinWay {
    JOIN_NOT,    /* none of them could be written in place */
    JOIN_PIXELS, /* as parts of each pixel */
    JOIN_BLOCKS, /* one behind the other */
} JoinWay;

typedef struct Join {
    JoinWay way;
    int inputs; /* 0: it joins nothing */
} Join;

/* A step that takes channels from `channel` on of all pixels of rows from `row` on. */
typedef struct Box {
    int64_t row, channel;
} Box;

/* Two steps that a kernel does as one: pixels of the tensor between them pass through scratch, a
 * chunk at a time. Its operands: the result, operands 1 to 3 of the first step, 2 to 4 of the
 * second, the scratch. */
typedef struct PairRule {
    /* kernels, without the type of the second one's weights; the first is the one whose rules name
     * the pair */
    const char *second;
    const char *both;
    bool always; /* it is no slower than the two */
    /* pixels: `always`, at least as many, else multiples of so many */
    int32_t chunk;
    int32_t set_up; /* instructions that each chunk of a row costs */
    /* Do the parameters fit together? */
    bool (*fits)(const Step *first, const Step *second);
    /* The parameters of both as one. */
    void (*join)(const Step *first, const Step *second, void *params);
} PairRule;

/* The size of chunks in a row of so many pixels of so many bytes. */
typedef struct Chunk {
    int32_t *pixels; /* in the parameters */
    int32_t width;
    int64_t bytes;
    const PairRule *rule;
} Chunk;

/* Some channels of a result by themselves: what the others need of constants is not touched. */
typedef struct ChannelRule {
    int32_t channels; /* of the result; 0: they are made together */
    int32_t least;    /* multiples of so many, but for the last ones */
    int32_t *count;   /* in the parameters: how many are made */
    /* bits of operands: those that have the channels in each of their pixels, and constants that
     * have as many bytes for each, filled up to fours */
    uint32_t in_pixels, each;
} ChannelRule;

/* Which tiles steps make: rules/tiles.h. */
typedef struct TileUse TileUse;

struct KernelRules {
    /* Columns of the result by themselves. */
    ColumnRule (*columns)(const Step *step);
    /* Makes the step's parameters those for columns y, where columns `there` are all that there is
     * of the image that it finds its columns in. */
    void (*cut)(const Step *step, void *params, Columns y, Columns there);
    /* How it makes some channels; `params` is a structure of its kernel. */
    ChannelRule (*channels)(const Step *step, void *params);
    Join (*join)(const Step *step);
    /* Parameters for one input alone, `bytes` of it in each pixel or as a block. */
    void (*part)(void *params, int64_t bytes);
    bool (*box)(const Step *step, Box *box);
    const PairRule *pairs;        /* with this kernel first, ended by { 0 } */
    Chunk (*chunk)(void *params); /* of a kernel that does a pair */
    /* Of a kernel that makes tiles of kernels/tile_f32.h: which of them. */
    void (*tiles)(const Step *step, TileUse *use);
    /* Of a kernel of packed products of bytes: rules/packed.h. */
    int32_t (*packed)(const Step *step);
    bool moves; /* elements change their places only */
    /* Of a kernel whose weights are transformed, and results rounded accordingly: how many weights
     * the model has for the step. */
    int64_t (*transforms)(const Step *step);
};

/* What the step's kernel states; COLUMNS_NONE, { 0 } and false where it states nothing. */
ColumnRule rules_columns(const Step *step);
ChannelRule rules_channels(const Step *step, void *params);
Join rules_join(const Step *step);
/* Weights that the step has transformed ones of; 0: it takes them as they are. */
int64_t rules_transformed(const Step *step);
bool rules_box(const Step *step, Box *box);
/* Does it make pixels in tiles, each weight being read once for all pixels of one? */
bool rules_tiles(const Step *step);
bool rules_moves(const Step *step);
/* The type of the second's weights, "_f32", as the kernel of both has it behind its name; NULL: the
 * second is another kernel. */
const char *pair_suffix(const PairRule *pair, const Step *second);
/* NULL: they are not done as one. */
const PairRule *rules_pair(const Step *first, const Step *second);
/* false: the step does no pair. `params` is a structure of its kernel. */
bool rules_chunk(const Step *step, void *params, Chunk *chunk);

/* Pixels of a row of the operand; 0: its pixels have no bytes. */
int32_t operand_width(const Operand *operand);

#endif
