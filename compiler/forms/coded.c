/* SPDX-License-Identifier: Apache-2.0
 * A constant is counted from a temporary file that recipes write to, and coded from the same. */
#include "forms/coded.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "forms/coded_palette.h"
#include "inlay_coded.h"

enum {
    CHUNK = 64 * 1024,
    WIDEST = 4, /* bytes of a value */
    /* pairs may be so far from the entropy, and so many bytes */
    PAIRED_PERCENT = 3,
    PAIRED_MORE = 64,
    DEAREST = 12 /* bits that an escape is as bad as */
};
/* Positions are bits, in 32 of them. */
static const int64_t most_bytes = INT64_C(1) << 28;

/* ---- values ---- */

/* How values of a type are taken apart; false: they are not coded. */
static bool take_type(DType type, Coded *coded)
{
    coded->width = dtype_element(type);
    coded->turned = false;
    switch (type) {
    case DT_F32:
    case DT_F16:
    case DT_BF16:
        coded->turned = true;
        return true;
    case DT_C64:
        coded->width = WIDEST;
        coded->turned = true;
        return true;
    default:
        return coded->width == 1 || coded->width == 2 || coded->width == WIDEST;
    }
}

/* Moves the sign of a little-endian float to its lowest bit. */
static void turn(uint8_t *value, int width)
{
    const int sign = value[width - 1] >> 7;
    for (int i = width - 1; i > 0; i--)
        value[i] = (uint8_t)(value[i] << 1 | value[i - 1] >> 7);
    value[0] = (uint8_t)(value[0] << 1 | sign);
}

/* The values of a constant, some at a time. */
typedef struct Values {
    const Coded *coded;
    File *file;
    uint64_t done; /* bytes */
    uint8_t *at;
    size_t n; /* values that are there */
} Values;

static Values values_begin(Arena *arena, File *file, const Coded *coded)
{
    return (Values){
        .coded = coded,
        .file = file,
        .at = arena_alloc(arena, CHUNK),
    };
}

/* The next ones, turned; false: there are no more. */
static bool values_next(Values *values)
{
    const Coded *coded = values->coded;
    const uint64_t left = coded->plain - values->done;
    const size_t bytes = left < CHUNK ? (size_t)left : CHUNK;
    const size_t width = (size_t)coded->width;
    values->n = bytes / width;
    if (!bytes)
        return false;
    file_read(values->file, coded->source + values->done, values->at, bytes);
    for (size_t i = 0; coded->turned && i < values->n; i++)
        turn(values->at + i * width, coded->width);
    values->done += bytes;
    return true;
}

/* ---- which constants ---- */

/* How often its highest bytes come, and their pairs where it has no others. */
typedef struct Counts {
    uint64_t byte[CODE_BYTES];
    PairCount pair[PAIR_WAYS];
} Counts;

static uint64_t groups_of(const Coded *coded)
{
    return ((uint64_t)coded->values + PAIR_GROUP - 1) / PAIR_GROUP;
}

/* Group i of the bytes that are there; zeros follow the last one. */
static void take_group(const Values *values, size_t i,
                       uint8_t group[PAIR_GROUP])
{
    const size_t left = values->n - i * PAIR_GROUP;
    const size_t n = left < PAIR_GROUP ? left : PAIR_GROUP;
    memset(group, 0, PAIR_GROUP);
    memcpy(group, values->at + i * PAIR_GROUP, n);
}

static void count_values(const Values *values, Counts *counts)
{
    const size_t width = (size_t)values->coded->width;
    uint8_t group[PAIR_GROUP];
    for (size_t i = 0; i < values->n; i++)
        counts->byte[values->at[i * width + width - 1]]++;
    for (size_t i = 0; width == 1 && i * PAIR_GROUP < values->n; i++) {
        take_group(values, i, group);
        pair_count(counts->pair, group);
    }
}

static void count_bytes(Arena *arena, File *file, const Coded *coded,
                        Counts *counts)
{
    const ArenaMark mark = arena_mark(arena);
    Values values = values_begin(arena, file, coded);
    while (values_next(&values))
        count_values(&values, counts);
    arena_release(arena, mark);
}

static void make_classes(Coded *coded, const Counts *counts)
{
    const uint64_t lower =
        (uint64_t)coded->values * (uint64_t)(coded->width - 1);
    prefix_code_make(&coded->code, counts->byte);
    coded->bits = prefix_code_bits(&coded->code, counts->byte);
    coded->bytes = 2 * (uint64_t)coded->code.classes + lower +
                   (coded->bits + 7) / 8 + INLAY_CODE_BEHIND;
    coded->bound = lower + prefix_code_bound(counts->byte) / 8;
}

static uint64_t paired_bytes(const Coded *coded)
{
    return pair_code_book(&coded->pair) +
           groups_of(coded) * (uint64_t)coded->pair.low +
           (coded->pair.bits + 7) / 8 + INLAY_CODE_BEHIND;
}

/* Pairs take half the time: in place of classes where they are near the entropy, with as few
 * escapes as that allows. */
static void make_pairs(Coded *coded, const Counts *counts)
{
    const uint64_t most =
        coded->bound + PAIRED_MORE + coded->bound * PAIRED_PERCENT / 100;
    for (int dear = DEAREST; dear && !coded->paired; dear--) {
        pair_code_make(&coded->pair, counts->pair, dear);
        coded->paired = paired_bytes(coded) <= most;
    }
    if (!coded->paired)
        return;
    coded->bits = coded->pair.bits;
    coded->bytes = paired_bytes(coded);
}

static void make_code(Coded *coded, const Counts *counts)
{
    make_classes(coded, counts);
    if (coded->width == 1)
        make_pairs(coded, counts);
}

/* Palettes, where they are smaller than what was made. */
static void take_palette(Program *program, const Palette *palette, Coded *coded)
{
    const int64_t bytes = palette_bytes(palette, coded->values, coded->width);
    if (bytes < 0 || (uint64_t)bytes >= coded->bytes ||
        !palette_fits(program, palette, coded))
        return;
    coded->palette = palette;
    coded->paired = false;
    coded->bytes = (uint64_t)bytes;
    coded->bits = 0;
}

/* The code of a constant whose values get their place behind `at` of the file; NULL: it does not
 * pay. */
static Coded *choose(Program *program, const WeightSlot *slot, uint64_t at)
{
    Arena *arena = program->graph->arena;
    Store *store = program->graph->store;
    const Tensor *tensor = slot->tensor;
    const int64_t bytes = tensor_bytes(tensor);
    Counts counts = { 0 };
    Coded *coded = NEW(arena, Coded);
    if (bytes < CODED_LEAST || bytes > most_bytes ||
        !take_type(tensor->dtype, coded) || bytes % coded->width)
        return NULL;
    coded->values = bytes / coded->width;
    coded->plain = (uint64_t)bytes;
    coded->source = at;
    recipe_write(store, tensor->value, program->uncoded, at);
    count_bytes(&store->scratch, program->uncoded, coded, &counts);
    make_code(coded, &counts);
    if (slot->palette)
        take_palette(program, slot->palette, coded);
    return coded_pays(coded->plain, coded->bytes) ? coded : NULL;
}

void coded_choose(Program *program)
{
    uint64_t at = 0;
    program->uncoded = file_temporary(program->graph->arena);
    for (size_t i = 0; i < program->weight.n; i++) {
        WeightSlot *slot = program->weight.at + i;
        slot->coded = choose(program, slot, at);
        if (slot->coded)
            at += slot->coded->plain;
    }
}

/* ---- code words ---- */

/* The bit at which a value begins is asked for. */
typedef struct Mark {
    int64_t value;
    uint32_t *bit;
} Mark;

typedef VEC(Mark) Marks;

static int by_value(const void *a, const void *b)
{
    const Mark *x = a;
    const Mark *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return 0;
}

static void mark_part(Arena *arena, const Fetch *fetch, const FetchPart *part,
                      Marks *marks)
{
    const int64_t advance = fetch->advance[part->operand];
    assert(!(advance % part->coded->width || part->last % part->coded->width));
    for (int32_t piece = 0; piece < fetch->pieces; piece++) {
        const Mark mark = {
            part->first + piece * (advance / part->coded->width),
            part->begin + piece,
        };
        assert(mark.value < part->coded->values);
        VEC_PUSH(arena, marks, mark);
    }
}

/* Do all pieces begin with a block? */
static bool begins_blocks(const Fetch *fetch, const FetchPart *part)
{
    const Coded *coded = part->coded;
    const int64_t advance = fetch->advance[part->operand] / coded->width;
    for (int32_t piece = 0; piece < fetch->pieces; piece++)
        if (!palette_begins(&coded->palette->form,
                            part->first + piece * advance))
            return false;
    return true;
}

static void note_part(Arena *arena, const Fetch *fetch, const FetchPart *part,
                      Marks *marks)
{
    if (part->coded->palette)
        assert(begins_blocks(fetch, part));
    else
        mark_part(arena, fetch, part, marks);
}

/* All marks of a constant, in order. */
static Marks marks_of(Arena *arena, const Program *program, const Coded *coded)
{
    Marks marks = { 0 };
    for (size_t i = 0; i < program->step.n; i++) {
        const Fetch *fetch = program->step.at[i]->fetch;
        for (int k = 0; fetch && k < fetch->parts; k++)
            if (fetch->part[k].coded == coded)
                note_part(arena, fetch, fetch->part + k, &marks);
    }
    if (marks.n)
        qsort(marks.at, marks.n, sizeof *marks.at, by_value);
    return marks;
}

/* Bytes on their way to a file. */
typedef struct Bits {
    File *file;
    uint64_t at, all; /* bytes written before; bits since the words began */
    uint32_t held, n; /* bits that make no byte yet */
    size_t used;
    uint8_t *byte;
} Bits;

static void flush(Bits *bits)
{
    file_write(bits->file, bits->at, bits->byte, bits->used);
    bits->at += bits->used;
    bits->used = 0;
}

static void put_byte(Bits *bits, unsigned byte)
{
    if (bits->used == CHUNK)
        flush(bits);
    bits->byte[bits->used++] = (uint8_t)byte;
}

/* The highest bit first. */
static void put_word(Bits *bits, CodeWord word)
{
    bits->held = bits->held << word.bits | word.word;
    bits->n += word.bits;
    bits->all += word.bits;
    while (bits->n >= 8) {
        bits->n -= 8;
        put_byte(bits, bits->held >> bits->n & 255);
    }
}

/* The lowest bit first. */
static void put_item(Bits *bits, CodeWord item)
{
    bits->held |= (uint32_t)item.word << bits->n;
    bits->n += item.bits;
    bits->all += item.bits;
    for (; bits->n >= 8; bits->n -= 8) {
        put_byte(bits, bits->held & 255);
        bits->held >>= 8;
    }
}

static void put_book(Bits *bits, const PrefixCode *code)
{
    uint8_t book[2 * CODE_CLASSES];
    prefix_code_book(code, book);
    for (int i = 0; i < 2 * code->classes; i++)
        put_byte(bits, book[i]);
}

static void put_lower(Bits *bits, Values values)
{
    const size_t width = (size_t)values.coded->width;
    while (width > 1 && values_next(&values))
        for (size_t i = 0; i < values.n; i++)
            for (size_t k = 0; k < width - 1; k++)
                put_byte(bits, values.at[i * width + k]);
}

/* Notes the bit for all marks up to a value. */
static size_t note_marks(const Bits *bits, const Marks *marks, size_t mark,
                         int64_t value)
{
    for (; mark < marks->n && marks->at[mark].value <= value; mark++)
        *marks->at[mark].bit = (uint32_t)bits->all;
    return mark;
}

static void put_words(Bits *bits, Values values, const Marks *marks)
{
    const size_t width = (size_t)values.coded->width;
    int64_t value = 0;
    size_t mark = 0;
    while (values_next(&values))
        for (size_t i = 0; i < values.n; i++, value++) {
            mark = note_marks(bits, marks, mark, value);
            const uint8_t byte = values.at[i * width + width - 1];
            put_word(bits, values.coded->code.word[byte]);
        }
    assert(mark == marks->n && bits->all == values.coded->bits);
}

static void put_classes(Bits *bits, const Values *values, const Marks *marks)
{
    put_book(bits, &values->coded->code);
    put_lower(bits, *values);
    bits->all = 0;
    put_words(bits, *values, marks);
    put_word(bits, (CodeWord){ 0, (uint8_t)(-bits->all % 8) });
}

/* ---- pairs ---- */

static void put_stored(Bits *bits, Values values)
{
    const PairCode *pair = &values.coded->pair;
    uint8_t group[PAIR_GROUP];
    uint8_t lower[PAIR_GROUP];
    while (values_next(&values))
        for (size_t i = 0; i * PAIR_GROUP < values.n; i++) {
            take_group(&values, i, group);
            pair_code_lower(pair, group, lower);
            for (int k = 0; k < pair->low; k++)
                put_byte(bits, lower[k]);
        }
}

static void put_group(Bits *bits, const PairCode *pair,
                      const uint8_t group[PAIR_GROUP])
{
    CodeWord item[PAIR_ITEMS];
    const int n = pair_code_words(pair, group, item);
    for (int i = 0; i < n; i++)
        put_item(bits, item[i]);
}

static void put_groups(Bits *bits, Values values, const Marks *marks)
{
    uint8_t group[PAIR_GROUP];
    int64_t last = PAIR_GROUP - 1;
    size_t mark = 0;
    while (values_next(&values))
        for (size_t i = 0; i * PAIR_GROUP < values.n; i++) {
            mark = note_marks(bits, marks, mark, last);
            take_group(&values, i, group);
            put_group(bits, &values.coded->pair, group);
            last += PAIR_GROUP;
        }
    assert(mark == marks->n && bits->all == values.coded->bits);
}

static void put_pairs(Bits *bits, const Values *values, const Marks *marks)
{
    const PairCode *pair = &values->coded->pair;
    for (uint64_t i = 0; i < pair_code_book(pair); i++)
        put_byte(bits, pair->book[i]);
    put_stored(bits, *values);
    bits->all = 0;
    put_groups(bits, *values, marks);
    put_item(bits, (CodeWord){ 0, (uint8_t)(-bits->all % 8) });
}

static void put_constant(Bits *bits, Program *program, const Coded *coded)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    const Marks marks = marks_of(arena, program, coded);
    const Values values = values_begin(arena, program->uncoded, coded);
    if (coded->palette) {
        flush(bits);
        palette_put(program, coded, bits->file, bits->at);
        bits->at += coded->bytes;
        arena_release(arena, mark);
        return;
    }
    if (coded->paired)
        put_pairs(bits, &values, &marks);
    else
        put_classes(bits, &values, &marks);
    for (int i = 0; i < INLAY_CODE_BEHIND; i++)
        put_byte(bits, 0);
    bits->held = 0;
    arena_release(arena, mark);
}

void coded_write(Program *program)
{
    Arena *arena = program->graph->arena;
    uint64_t at = 0;
    Bits bits = { .byte = arena_alloc(arena, CHUNK) };
    bits.file = program->coded = file_temporary(arena);
    for (size_t i = 0; i < program->weight.n; i++) {
        WeightSlot *slot = program->weight.at + i;
        if (!slot->coded)
            continue;
        Coded *coded = arena_copy(arena, slot->coded, sizeof *coded);
        put_constant(&bits, program, slot->coded);
        coded->at = at;
        slot->coded = coded;
        at += coded->bytes;
    }
    flush(&bits);
    assert(bits.at == at);
}
