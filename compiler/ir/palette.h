/* SPDX-License-Identifier: Apache-2.0
 * Palettes (--palette): of each output channel of a weight the few values that its numbers are
 * rounded to, and where the numbers of a channel lie in a packed constant
 * (runtime/inlay_palette.h). */
#ifndef INLAY_IR_PALETTE_H
#define INLAY_IR_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PALETTE_RUNS = 3, /* of blocks that are alike */
    PALETTE_FOUR = 4  /* values whose indices share whole bytes */
};

/* Blocks that are alike, one behind the other. In a block channels take turns: `each` values of one
 * and then of the next of its `lanes`, again and again. */
typedef struct PaletteRun {
    int64_t blocks;
    int64_t block; /* values of each */
    int64_t lanes;
    int64_t each; /* 1, or a multiple of four */
} PaletteRun;

/* What is asked for. */
typedef struct PaletteAsk {
    int values; /* of a channel at most: 4 or 16; 0: there are no palettes */
    int left;   /* weights that stay as they are, and their numbers */
    const int32_t *number;
} PaletteAsk;

/* How the channels of a constant lie: some runs, which come again until its end. */
typedef struct PaletteForm {
    int runs; /* 0: it has no such form */
    PaletteRun run[PALETTE_RUNS];
    bool
        halves; /* bytes of blocks of four channels as packing_blocks() pairs them */
} PaletteForm;

/* A weight that was rounded. */
typedef struct Palette {
    int number; /* among the weights that may be */
    int values; /* of a channel at most: 4 or 16 */
    int64_t count;
    /* how far numbers are off, as parts of the root of their mean square from their zero point: the
     * same of the errors, and the largest of these */
    double error, most;
    PaletteForm form;
} Palette;

/* Channels by turns, a value of each. */
PaletteForm palette_turned(int64_t channels, int64_t values);
/* Bits of an index. */
int palette_bits(const Palette *palette);
/* Bytes of a block of values of so many bytes, its palettes included. */
int64_t palette_block(const Palette *palette, const PaletteRun *run, int width);
/* Bytes of all of a constant of so many values; -1: its runs do not end with it. */
int64_t palette_bytes(const Palette *palette, int64_t values, int width);
/* The lane of value i of a block. */
int palette_lane(const PaletteForm *form, const PaletteRun *run, int64_t i);
/* Does a block begin at that value? */
bool palette_begins(const PaletteForm *form, int64_t value);
/* Do channels lie in the same way? */
bool palette_alike(const Palette *a, const Palette *b);
/* What the runtime is told of it. */
enum { PALETTE_WORDS = 3 + 4 * PALETTE_RUNS };
int palette_words(const Palette *palette, uint32_t word[PALETTE_WORDS]);

#endif
