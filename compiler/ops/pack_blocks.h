/* SPDX-License-Identifier: Apache-2.0
 * How packed weights lie, of whatever type they are: blocks of channels, the last ones of 8 and of
 * 4. Recipes are transposed, filled up and cut; no byte is read here. */
#ifndef INLAY_OPS_PACK_BLOCKS_H
#define INLAY_OPS_PACK_BLOCKS_H

#include "ir/palette.h"
#include "ops/lower.h"
#include "ops/window.h"

/* The taps of a transposed convolution along each dimension: all of them, those of a phase, and how
 * many phases there are. */
typedef struct DeconvTaps {
    int64_t all[WINDOW_DIMS];
    int64_t each[WINDOW_DIMS];
    int64_t phases[WINDOW_DIMS];
} DeconvTaps;

/* So many channels, filled up to whole blocks of 4. */
int64_t blocks_up4(int64_t n);
/* Weights [groups * OC][IC][taps...] -> for each group, blocks of [taps][IC][width]. */
Recipe *blocks_of_conv(Lower *lower, const Recipe *w, int64_t groups,
                       int width);
/* Where the channels lie in these. */
PaletteForm blocks_form(const Recipe *w, int64_t groups, int width);
/* Weights [groups * IC][OC][taps...] of a transposed convolution with so many phases of depth, rows
 * and columns: for each of them and each group (one, where there is depth), blocks of [taps of the
 * phase, last first][IC][width]. */
Recipe *blocks_of_deconv(Lower *lower, const Recipe *w, int64_t groups,
                         const DeconvTaps *taps);
/* Such weights -> [groups * OC][IC][taps], as a Conv has them. */
Recipe *blocks_as_conv(Store *store, const Recipe *w, int64_t groups);

#endif
