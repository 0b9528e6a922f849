/* SPDX-License-Identifier: Apache-2.0
 * Constant weights whose output channels get palettes (--palette): each channel's numbers become
 * the nearest of a few that lie best for them. */
#ifndef INLAY_OPS_PALETTE_H
#define INLAY_OPS_PALETTE_H

#include "ir/palette.h"
#include "ops/lower.h"

/* What is known of the numbers of a weight. */
typedef struct PaletteFacts {
    const int32_t *zero; /* zero point of each channel; NULL: 0 */
    bool filled;         /* zeros will lie among a channel's numbers */
} PaletteFacts;

/* The weight [channels][...] with fewer numbers, which are made in the spill file; itself, and
 * *palette NULL, where that is not asked for, or no palette is smaller than what is coded without
 * loss. Some channels are read at a time, of large ones a part. */
const Recipe *palette_weights(Lower *lower, const Recipe *w,
                              const PaletteFacts *facts, Palette **palette);
/* Of the constant that was made of it last: where the channels lie. NULL: it has no palette. */
void palette_lies(Lower *lower, const Palette *palette,
                  const PaletteForm *form);

#endif
