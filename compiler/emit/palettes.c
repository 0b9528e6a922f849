/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/palettes.h"

#include <math.h>

PaletteSum palette_sum(const Program *program)
{
    PaletteSum sum = { .weights = 0 };
    double squares = 0;
    double count = 0;
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *slot = program->weight.at + i;
        const Palette *palette = slot->palette;
        if (!palette || !slot->coded)
            continue;
        const double n = (double)palette->count;
        sum.weights++;
        sum.plain += slot->coded->plain;
        sum.coded += slot->coded->bytes;
        squares += n * palette->error * palette->error;
        count += n;
        sum.most = fmax(sum.most, palette->most);
    }
    if (sum.weights)
        sum.error = sqrt(squares / count);
    return sum;
}
