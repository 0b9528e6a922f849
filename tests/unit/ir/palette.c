/* SPDX-License-Identifier: Apache-2.0
 * Constants of a few values a channel, in each form that channels lie in: coded by hand as
 * runtime/inlay_palette.h says, they have the length that is expected, and are decoded from each
 * block on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inlay_palette.h"
#include "ir/palette.h"
#include "random_bytes.h"

enum { MOST = 1 << 18, LANES = 64 };

typedef struct Case {
    Palette palette;
    int width;
    int64_t values;
    uint8_t *plain, *coded;
    size_t bytes; /* of `coded` */
    uint32_t held, bits;
} Case;

static void put_index(Case *c, int index, int bits)
{
    c->held |= (uint32_t)index << c->bits;
    c->bits += (uint32_t)bits;
    if (c->bits == 8) {
        c->coded[c->bytes++] = (uint8_t)c->held;
        c->held = c->bits = 0;
    }
}

/* The lane of value i of the block, spelt out. */
static int64_t lane_of(const Case *c, const PaletteRun *run, int64_t i)
{
    static const int halves[16] = { 0, 1, 0, 1, 2, 3, 2, 3,
                                    0, 1, 0, 1, 2, 3, 2, 3 };
    const int64_t row = run->lanes * run->each;
    if (c->palette.form.halves)
        return halves[i % 16];
    return i % row / run->each;
}

/* A byte of a pair of channels: the upper one is less by 1 where the lower one is negative. */
static void put_plain(Case *c, int64_t value, uint32_t number)
{
    uint8_t *to = c->plain + value * c->width;
    for (int k = 0; k < c->width; k++)
        to[k] = (uint8_t)(number >> 8 * k);
    if (c->palette.form.halves && value % 2)
        to[0] = (uint8_t)(to[0] - (to[-1] >> 7));
}

static void put_block(Case *c, const PaletteRun *run)
{
    const int n = c->palette.values;
    const int64_t row = run->lanes * run->each;
    uint32_t own[LANES * 16];
    const size_t from = c->bytes;
    for (int64_t i = 0; i < run->lanes * n; i++) {
        own[i] = next(UINT32_MAX);
        for (int k = 0; k < c->width; k++)
            c->coded[c->bytes++] = (uint8_t)(own[i] >> 8 * k);
    }
    for (int64_t i = 0; i < run->block; i++, c->values++) {
        const int index = (int)next((uint32_t)n);
        put_plain(c, c->values, own[lane_of(c, run, i) * n + index]);
        put_index(c, index, palette_bits(&c->palette));
        for (int64_t k = row; (i + 1) % row == 0 && k % 4; k++)
            put_index(c, 0, palette_bits(&c->palette));
    }
    assert_int_equal(c->bits, 0);
    while ((c->bytes - from) % (size_t)c->width)
        c->coded[c->bytes++] = 0;
}

/* From each block on to the end, into memory of exactly that size. */
static void check_decoded(const Case *c)
{
    uint32_t word[PALETTE_WORDS];
    const int words = palette_words(&c->palette, word);
    uint32_t *form = malloc((size_t)words * sizeof *form);
    uint8_t *exact = malloc(c->bytes);
    assert_non_null(form);
    assert_non_null(exact);
    memcpy(form, word, (size_t)words * sizeof *form);
    memcpy(exact, c->coded, c->bytes);
    int blocks = 0;
    for (int64_t first = 0; first < c->values; first++) {
        if (!palette_begins(&c->palette.form, first))
            continue;
        const size_t n = (size_t)(c->values - first);
        uint8_t *to = malloc(n * (size_t)c->width);
        assert_non_null(to);
        inlay_palette_decode(form, (uint32_t)c->width, exact, (uint32_t)first,
                             to, n);
        assert_memory_equal(to, c->plain + first * c->width,
                            n * (size_t)c->width);
        free(to);
        blocks++;
    }
    assert_true(blocks > 0);
    free(exact);
    free(form);
}

static void check(const PaletteForm *form, int width, int values, int times)
{
    Case c = {
        .palette = { .values = values, .form = *form },
        .width = width,
        .plain = malloc(MOST),
        .coded = malloc(MOST),
    };
    assert_non_null(c.plain);
    assert_non_null(c.coded);
    int blocks = 0;
    for (int t = 0; t < times; t++)
        for (int i = 0; i < form->runs; i++)
            for (int64_t k = 0; k < form->run[i].blocks; k++, blocks++)
                put_block(&c, form->run + i);
    assert_int_equal(palette_bytes(&c.palette, c.values, width), c.bytes);
    assert_int_equal(palette_bytes(&c.palette, c.values + 1, width), -1);
    for (int i = 0; i < form->runs; i++)
        for (int64_t k = 0; k < form->run[i].block; k++)
            assert_int_equal(palette_lane(form, form->run + i, k),
                             lane_of(&c, form->run + i, k));
    check_decoded(&c);
    free(c.plain);
    free(c.coded);
}

static void check_all(const PaletteForm *form)
{
    for (int width = 1; width <= (form->halves ? 1 : 4); width *= 2) {
        check(form, width, 4, 1 + (int)next(3));
        check(form, width, 16, 1 + (int)next(3));
    }
}

static PaletteRun run_of(int64_t rows, int64_t lanes, int64_t each)
{
    return (PaletteRun){ 1 + next(3), rows * lanes * each, lanes, each };
}

static void test_blocks(void **unused)
{
    static const int width[] = { 16, 8, 4 };
    (void)unused;
    for (int i = 0; i < 40; i++) {
        const int64_t rows = 1 + next(30);
        PaletteForm form = { .runs = 1 + (int)next(3) };
        for (int k = 0; k < form.runs; k++)
            form.run[k] = run_of(rows, width[k], 1);
        check_all(&form);
    }
}

static void test_turns(void **unused)
{
    (void)unused;
    for (int64_t lanes = 1; lanes < LANES; lanes++) {
        const int64_t rows = 1 + next(9);
        const PaletteForm form = palette_turned(lanes, rows * lanes);
        check_all(&form);
    }
}

static void test_depths(void **unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++) {
        const int64_t each = i % 2 ? 4 : 4 * (1 + next(5));
        PaletteForm form = { .runs = 1 + (int)next(2) };
        form.run[0] = run_of(1 + next(8), 4 * (1 + next(4)), each);
        form.run[1] = run_of(1 + next(8), 1 + next(7), each);
        check_all(&form);
    }
}

static void test_halves(void **unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        PaletteForm form = { .runs = 1, .halves = true };
        form.run[0] = run_of(1 + next(20), 4, 4);
        check_all(&form);
    }
}

static void test_alike(void **unused)
{
    (void)unused;
    const Palette one = { .values = 4, .form = palette_turned(6, 60) };
    Palette other = { .values = 4, .error = 1, .form = palette_turned(6, 60) };
    assert_true(palette_alike(&one, &other));
    other.form = palette_turned(5, 60);
    assert_false(palette_alike(&one, &other));
    other = one;
    other.values = 16;
    assert_false(palette_alike(&one, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_turns),
        cmocka_unit_test(test_depths), cmocka_unit_test(test_halves),
        cmocka_unit_test(test_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
