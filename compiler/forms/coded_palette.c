/* SPDX-License-Identifier: Apache-2.0
 * A block is read twice: for its palettes, then for the indices. */
#include "forms/coded_palette.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"

enum { CHUNK = 64 * 1024, WIDEST = 4 };

/* A block of a constant. */
typedef struct CodedBlock {
    const Program *program;
    const Coded *coded;
    const Palette *palette;
    const PaletteRun *run;
    uint64_t from;   /* byte of Program.uncoded */
    uint32_t *value; /* of the palettes, one behind the other */
    uint8_t *used;   /* of them, for each lane */
    uint8_t *chunk;
} CodedBlock;

/* ---- values ---- */

/* The numbers that are even and odd channels in a half of 16 bits: the upper one was less by 1
 * where the lower one is negative. */
static void part_halves(uint8_t *byte, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2)
        byte[i + 1] = (uint8_t)(byte[i + 1] + (byte[i] >> 7));
}

/* Values [first, first + n) of the block, into block->chunk. */
static void read_values(const CodedBlock *block, int64_t first, size_t n)
{
    const size_t width = (size_t)block->coded->width;
    const uint64_t at = block->from + (uint64_t)first * width;
    file_read(block->program->uncoded, at, block->chunk, n * width);
    if (block->palette->form.halves)
        part_halves(block->chunk, n);
}

static uint32_t value_at(const CodedBlock *block, size_t i)
{
    const int width = block->coded->width;
    const uint8_t *byte = block->chunk + i * (size_t)width;
    uint32_t value = 0;
    for (int k = width; k-- > 0;)
        value = value << 8 | byte[k];
    return value;
}

/* Values that are read at a time: whole rows of fours, where there are such. */
static int64_t values_at_once(const CodedBlock *block)
{
    const int64_t most = CHUNK / WIDEST;
    return i64_min(most, block->run->block);
}

/* ---- palettes ---- */

/* The index of a value among those of a lane; where it is not there, how many they are. */
static int find(const CodedBlock *block, int lane, uint32_t value)
{
    const uint32_t *own = block->value + lane * block->palette->values;
    int i = 0;
    while (i < block->used[lane] && own[i] != value)
        i++;
    return i;
}

/* false: a lane has too many. */
static bool note(CodedBlock *block, int lane, uint32_t value)
{
    const int i = find(block, lane, value);
    if (i < block->used[lane])
        return true;
    if (i == block->palette->values)
        return false;
    block->value[lane * block->palette->values + i] = value;
    block->used[lane]++;
    return true;
}

static bool find_palettes(CodedBlock *block)
{
    const PaletteForm *form = &block->palette->form;
    const int64_t all = block->run->block;
    const int64_t most = values_at_once(block);
    const size_t lanes = (size_t)block->run->lanes;
    const size_t each = (size_t)block->palette->values * sizeof *block->value;
    memset(block->used, 0, lanes);
    memset(block->value, 0, lanes * each);
    for (int64_t first = 0; first < all; first += most) {
        const size_t n = (size_t)i64_min(most, all - first);
        read_values(block, first, n);
        for (size_t i = 0; i < n; i++) {
            const int64_t at = first + (int64_t)i;
            const int lane = palette_lane(form, block->run, at);
            if (!note(block, lane, value_at(block, i)))
                return false;
        }
    }
    return true;
}

/* ---- blocks ---- */

typedef bool BlockFunction(CodedBlock *block, void *context);

/* Room for the palettes of any block. */
static void make_room(CodedBlock *block, Arena *arena)
{
    const PaletteForm *form = &block->palette->form;
    int64_t lanes = 0;
    for (int i = 0; i < form->runs; i++)
        lanes = i64_max(lanes, form->run[i].lanes);
    block->value =
        NEW_ARRAY(arena, uint32_t, i64_mul(lanes, block->palette->values));
    block->used = NEW_ARRAY(arena, uint8_t, lanes);
    block->chunk = arena_alloc(arena, CHUNK);
}

/* The blocks of a run; false: the function had enough. */
static bool each_of_run(CodedBlock *block, BlockFunction *function,
                        void *context)
{
    const int64_t bytes = block->run->block * block->coded->width;
    for (int64_t i = 0; i < block->run->blocks; i++) {
        if (!function(block, context))
            return false;
        block->from += (uint64_t)bytes;
    }
    return true;
}

/* Each block in turn; false: the function had enough. */
static bool each_block(const Program *program, const Palette *palette,
                       const Coded *coded, BlockFunction *function,
                       void *context)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    const uint64_t end = coded->source + coded->plain;
    bool going = true;
    CodedBlock block = {
        .program = program,
        .coded = coded,
        .palette = palette,
        .run = palette->form.run,
        .from = coded->source,
    };
    make_room(&block, arena);
    while (going && block.from < end) {
        going = each_of_run(&block, function, context);
        block.run++;
        if (block.run == palette->form.run + palette->form.runs)
            block.run = palette->form.run;
    }
    arena_release(arena, mark);
    return going;
}

static bool fits_block(CodedBlock *block, void *context)
{
    (void)context;
    return find_palettes(block);
}

bool palette_fits(const Program *program, const Palette *palette,
                  const Coded *coded)
{
    return each_block(program, palette, coded, fits_block, NULL);
}

/* ---- code ---- */

/* Bytes on their way to a file. */
typedef struct Bytes {
    File *file;
    uint64_t at; /* of those in `byte` */
    size_t used;
    uint32_t held, bits; /* indices that make no byte yet */
    uint8_t byte[CHUNK];
} Bytes;

static void flush(Bytes *bytes)
{
    file_write(bytes->file, bytes->at, bytes->byte, bytes->used);
    bytes->at += bytes->used;
    bytes->used = 0;
}

static void put_byte(Bytes *bytes, uint32_t byte)
{
    if (bytes->used == CHUNK)
        flush(bytes);
    bytes->byte[bytes->used++] = (uint8_t)byte;
}

static void put_index(Bytes *bytes, int index, int bits)
{
    bytes->held |= (uint32_t)index << bytes->bits;
    bytes->bits += (uint32_t)bits;
    if (bytes->bits < 8)
        return;
    put_byte(bytes, bytes->held);
    bytes->held = 0;
    bytes->bits = 0;
}

static void put_palettes(Bytes *bytes, const CodedBlock *block)
{
    const int64_t n = block->run->lanes * block->palette->values;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < block->coded->width; k++)
            put_byte(bytes, block->value[i] >> 8 * k);
}

/* The index of value i; those of a row are filled up to fours. */
static void put_value(Bytes *bytes, const CodedBlock *block, int64_t i,
                      size_t at)
{
    const PaletteRun *run = block->run;
    const int bits = palette_bits(block->palette);
    const int lane = palette_lane(&block->palette->form, run, i);
    const int64_t row = run->lanes * run->each;
    put_index(bytes, find(block, lane, value_at(block, at)), bits);
    if ((i + 1) % row)
        return;
    for (int64_t more = row; more % PALETTE_FOUR; more++)
        put_index(bytes, 0, bits);
}

static void put_indices(Bytes *bytes, const CodedBlock *block)
{
    const int64_t all = block->run->block;
    const int64_t most = values_at_once(block);
    for (int64_t first = 0; first < all; first += most) {
        const size_t n = (size_t)i64_min(most, all - first);
        read_values(block, first, n);
        for (size_t i = 0; i < n; i++)
            put_value(bytes, block, first + (int64_t)i, i);
    }
}

static bool put_block(CodedBlock *block, void *context)
{
    Bytes *bytes = context;
    const int width = block->coded->width;
    const uint64_t from = bytes->at + bytes->used;
    const bool fits = find_palettes(block);
    assert(fits);
    put_palettes(bytes, block);
    put_indices(bytes, block);
    while ((bytes->at + bytes->used - from) % (uint64_t)width)
        put_byte(bytes, 0);
    return fits;
}

void palette_put(const Program *program, const Coded *coded, File *file,
                 uint64_t at)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    Bytes *bytes = NEW(arena, Bytes);
    bytes->file = file;
    bytes->at = at;
    (void)each_block(program, coded->palette, coded, put_block, bytes);
    flush(bytes);
    assert(bytes->at == at + coded->bytes);
    arena_release(arena, mark);
}
