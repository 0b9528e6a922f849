/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/palette.h"

#include <string.h>

#include "base/size.h"
#include "inlay_palette.h"

PaletteForm palette_turned(int64_t channels, int64_t values)
{
    return (PaletteForm){
        .runs = 1,
        .run[0] = { 1, values, channels, 1 },
    };
}

int palette_bits(const Palette *palette)
{
    return palette->values > 4 ? 4 : 2;
}

int64_t palette_block(const Palette *palette, const PaletteRun *run, int width)
{
    const int64_t row = i64_mul(run->lanes, run->each);
    const int64_t fours = i64_ceil_div(row, PALETTE_FOUR);
    const int64_t each = i64_mul(fours, palette_bits(palette)) / 2;
    const int64_t own = i64_mul(run->lanes, palette->values * width);
    const int64_t index = i64_mul(run->block / row, each);
    return i64_add(own, i64_ceil_div(index, width) * width);
}

/* Values and bytes of all runs, once each. */
static int64_t period_of(const Palette *palette, int width, int64_t *bytes)
{
    int64_t values = 0;
    *bytes = 0;
    for (int i = 0; i < palette->form.runs; i++) {
        const PaletteRun *run = palette->form.run + i;
        const int64_t block = palette_block(palette, run, width);
        values = i64_add(values, i64_mul(run->blocks, run->block));
        *bytes = i64_add(*bytes, i64_mul(run->blocks, block));
    }
    return values;
}

int64_t palette_bytes(const Palette *palette, int64_t values, int width)
{
    int64_t bytes;
    const int64_t period = period_of(palette, width, &bytes);
    if (!period || values % period)
        return -1;
    return i64_mul(values / period, bytes);
}

int palette_lane(const PaletteForm *form, const PaletteRun *run, int64_t i)
{
    if (form->halves)
        return (int)(i / 4 % 2 * 2 + i % 2);
    return (int)(i / run->each % run->lanes);
}

bool palette_begins(const PaletteForm *form, int64_t value)
{
    int64_t period = 0;
    for (int i = 0; i < form->runs; i++)
        period += form->run[i].blocks * form->run[i].block;
    value %= period;
    for (int i = 0; i < form->runs; i++) {
        const PaletteRun *run = form->run + i;
        if (value < run->blocks * run->block)
            return value % run->block == 0;
        value -= run->blocks * run->block;
    }
    return false;
}

int palette_words(const Palette *palette, uint32_t word[PALETTE_WORDS])
{
    int n = INLAY_PALETTE_RUN;
    word[INLAY_PALETTE_BITS] = (uint32_t)palette_bits(palette);
    word[INLAY_PALETTE_HALVES] = palette->form.halves;
    word[INLAY_PALETTE_RUNS] = (uint32_t)palette->form.runs;
    for (int i = 0; i < palette->form.runs; i++) {
        const PaletteRun *run = palette->form.run + i;
        word[n++] = (uint32_t)run->blocks;
        word[n++] = (uint32_t)run->block;
        word[n++] = (uint32_t)run->lanes;
        word[n++] = (uint32_t)run->each;
    }
    return n;
}

bool palette_alike(const Palette *a, const Palette *b)
{
    uint32_t first[PALETTE_WORDS] = { 0 };
    uint32_t second[PALETTE_WORDS] = { 0 };
    palette_words(a, first);
    palette_words(b, second);
    return !memcmp(first, second, sizeof first);
}
