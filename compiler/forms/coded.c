/* SPDX-License-Identifier: Apache-2.0
 * A constant is counted from a temporary file that recipes write to, and coded from the same. */
#include "forms/coded.h"

#include <assert.h>
#include <stdlib.h>

#include "base/size.h"
#include "inlay_coded.h"

enum {
    CHUNK = 64 * 1024,
    WIDEST = 4,     /* bytes of a value */
    LEAST = 256,    /* bytes of constants that may be coded */
    FIXED = 96,     /* bytes of code that a coded constant costs, about */
    LEAST_PART = 32 /* it saves this part of its bytes at least */
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

static void count_bytes(Arena *arena, File *file, const Coded *coded,
                        uint64_t count[CODE_BYTES])
{
    const ArenaMark mark = arena_mark(arena);
    const size_t width = (size_t)coded->width;
    Values values = values_begin(arena, file, coded);
    while (values_next(&values))
        for (size_t i = 0; i < values.n; i++)
            count[values.at[i * width + width - 1]]++;
    arena_release(arena, mark);
}

/* Makes the code; does it pay? */
static bool make_code(Coded *coded, const uint64_t count[CODE_BYTES])
{
    const uint64_t lower =
        (uint64_t)coded->values * (uint64_t)(coded->width - 1);
    const uint64_t book = 2 * (uint64_t)CODE_CLASSES;
    prefix_code_make(&coded->code, count);
    assert(2 * (uint64_t)coded->code.classes <= book);
    coded->bits = prefix_code_bits(&coded->code, count);
    coded->bytes = 2 * (uint64_t)coded->code.classes + lower +
                   (coded->bits + 7) / 8 + INLAY_CODE_BEHIND;
    coded->bound = lower + prefix_code_bound(count) / 8;
    return coded->bytes + FIXED + coded->plain / LEAST_PART <= coded->plain;
}

/* The code of a constant whose values get their place behind `at` of the file; NULL: it does not
 * pay. */
static Coded *choose(Program *program, const Tensor *tensor, uint64_t at)
{
    Arena *arena = program->graph->arena;
    Store *store = program->graph->store;
    const int64_t bytes = tensor_bytes(tensor);
    uint64_t count[CODE_BYTES] = { 0 };
    Coded *coded = NEW(arena, Coded);
    if (bytes < LEAST || bytes > most_bytes ||
        !take_type(tensor->dtype, coded) || bytes % coded->width)
        return NULL;
    coded->values = bytes / coded->width;
    coded->plain = (uint64_t)bytes;
    coded->source = at;
    recipe_write(store, tensor->value, program->uncoded, at);
    count_bytes(&store->scratch, program->uncoded, coded, count);
    return make_code(coded, count) ? coded : NULL;
}

void coded_choose(Program *program)
{
    uint64_t at = 0;
    program->uncoded = file_temporary(program->graph->arena);
    for (size_t i = 0; i < program->weight.n; i++) {
        WeightSlot *slot = program->weight.at + i;
        slot->coded = choose(program, slot->tensor, at);
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

/* All marks of a constant, in order. */
static Marks marks_of(Arena *arena, const Program *program, const Coded *coded)
{
    Marks marks = { 0 };
    for (size_t i = 0; i < program->step.n; i++) {
        const Fetch *fetch = program->step.at[i]->fetch;
        for (int k = 0; fetch && k < fetch->parts; k++)
            if (fetch->part[k].coded == coded)
                mark_part(arena, fetch, fetch->part + k, &marks);
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

static void put_words(Bits *bits, Values values, const Marks *marks)
{
    const size_t width = (size_t)values.coded->width;
    int64_t value = 0;
    size_t mark = 0;
    while (values_next(&values))
        for (size_t i = 0; i < values.n; i++, value++) {
            for (; mark < marks->n && marks->at[mark].value == value; mark++)
                *marks->at[mark].bit = (uint32_t)bits->all;
            const uint8_t byte = values.at[i * width + width - 1];
            put_word(bits, values.coded->code.word[byte]);
        }
    assert(mark == marks->n && bits->all == values.coded->bits);
}

static void put_constant(Bits *bits, Program *program, const Coded *coded)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    const Marks marks = marks_of(arena, program, coded);
    const Values values = values_begin(arena, program->uncoded, coded);
    bits->all = 0;
    put_book(bits, &coded->code);
    put_lower(bits, values);
    put_words(bits, values, &marks);
    put_word(bits, (CodeWord){ 0, (uint8_t)(-bits->all % 8) });
    for (int i = 0; i < INLAY_CODE_BEHIND; i++)
        put_byte(bits, 0);
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
