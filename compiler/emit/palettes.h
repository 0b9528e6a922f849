/* SPDX-License-Identifier: Apache-2.0
 * What palettes (--palette) come to, for reports. */
#ifndef INLAY_EMIT_PALETTES_H
#define INLAY_EMIT_PALETTES_H

#include "ir/program.h"

typedef struct PaletteSum {
    int weights;           /* that were rounded */
    uint64_t plain, coded; /* bytes of these */
    double error, most;    /* of all of them, as Palette has them of one */
} PaletteSum;

PaletteSum palette_sum(const Program *program);

#endif
