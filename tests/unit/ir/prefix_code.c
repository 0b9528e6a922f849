/* SPDX-License-Identifier: Apache-2.0
 * Codes of random, skewed and degenerate bytes: what the runtime decodes is what was coded, from
 * any piece on; their length is near the entropy; damaged ones are read within their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inlay_coded.h"
#include "ir/prefix_code.h"
#include "random_bytes.h"

enum { MOST = 6000, PIECE = 257 };

/* Bytes, their code, and the coded constant in memory of exactly its size. */
typedef struct Case {
    uint8_t value[MOST];
    size_t n;
    uint64_t count[CODE_BYTES];
    PrefixCode code;
    uint8_t *coded;
    size_t bytes;
    uint32_t begin[MOST / PIECE + 1];
    inlay_coded shape;
} Case;

static void put_bits(uint8_t *to, uint64_t at, CodeWord word)
{
    for (int i = 0; i < word.bits; i++, at++)
        if (word.word >> (word.bits - 1 - i) & 1)
            to[at / 8] = (uint8_t)(to[at / 8] | 128 >> at % 8);
}

static void encode(Case *c)
{
    uint64_t at = 0;
    memset(c->count, 0, sizeof c->count);
    for (size_t i = 0; i < c->n; i++)
        c->count[c->value[i]]++;
    prefix_code_make(&c->code, c->count);
    const uint64_t bits = prefix_code_bits(&c->code, c->count);
    const size_t book = 2 * (size_t)c->code.classes;
    c->bytes = book + (size_t)(bits + 7) / 8 + INLAY_CODE_BEHIND;
    c->coded = calloc(c->bytes, 1);
    assert_non_null(c->coded);
    prefix_code_book(&c->code, c->coded);
    for (size_t i = 0; i < c->n; i++) {
        const CodeWord word = c->code.word[c->value[i]];
        assert_true(word.bits >= 1 && word.bits <= 12);
        if (i % PIECE == 0)
            c->begin[i / PIECE] = (uint32_t)at;
        put_bits(c->coded + book, at, word);
        at += word.bits;
    }
    assert_true(at == bits);
    c->shape = (inlay_coded){
        .values = (uint32_t)c->n,
        .bits = (uint32_t)bits,
        .begin = c->begin,
        .listed = (uint8_t)c->code.classes,
        .width = 1,
    };
}

static void decode(const Case *c, size_t piece, uint8_t *to, size_t n)
{
    inlay_code code;
    inlay_decode_make(&c->shape, c->coded, &code);
    inlay_decode(&c->shape, c->coded, (uint32_t)(piece * PIECE),
                 c->begin[piece], to, n, &code);
}

/* All pieces, each into memory of exactly its size. */
static void check_pieces(const Case *c)
{
    for (size_t at = 0; at < c->n; at += PIECE) {
        const size_t n = c->n - at < PIECE ? c->n - at : PIECE;
        uint8_t *to = malloc(n);
        assert_non_null(to);
        decode(c, at / PIECE, to, n);
        assert_memory_equal(to, c->value + at, n);
        free(to);
    }
}

static void fill(Case *c, size_t n, uint32_t width, int sums, uint32_t middle)
{
    c->n = n;
    fill_bytes(c->value, n, width, sums, middle);
}

static void test_random(void **unused)
{
    static Case c;
    (void)unused;
    for (int i = 0; i < 300; i++) {
        const uint32_t width = 1 + next(1u << (1 + next(8)));
        fill(&c, 1 + next(MOST), width, 1 + (int)next(6), next(256));
        encode(&c);
        check_pieces(&c);
        free(c.coded);
    }
}

static void test_few_values(void **unused)
{
    static Case c;
    (void)unused;
    for (uint32_t values = 1; values < 20; values++) {
        c.n = 1 + next(MOST);
        for (size_t i = 0; i < c.n; i++)
            c.value[i] = (uint8_t)(next(values) * 37);
        encode(&c);
        check_pieces(&c);
        free(c.coded);
    }
    c.n = 1000;
    memset(c.value, 0x80, c.n);
    encode(&c);
    assert_int_equal(c.code.classes, 1);
    assert_int_equal(c.shape.bits, 1000);
    check_pieces(&c);
    free(c.coded);
}

/* Each byte often, and one of them far more often: more classes than a code has. */
static void test_many_classes(void **unused)
{
    static Case c;
    (void)unused;
    c.n = MOST;
    for (size_t i = 0; i < c.n; i++)
        c.value[i] = (uint8_t)(i % 2 ? 7 : (i * i >> 3));
    encode(&c);
    assert_true(c.code.classes <= CODE_CLASSES);
    check_pieces(&c);
    free(c.coded);
}

static void test_near_entropy(void **unused)
{
    static Case c;
    (void)unused;
    for (int i = 0; i < 100; i++) {
        fill(&c, 2000 + next(MOST - 2000), 12 + next(60), 3 + (int)next(4),
             next(256));
        encode(&c);
        const uint64_t bound = prefix_code_bound(c.count) / 8;
        assert_true(c.bytes <= bound + bound * 3 / 100 + 64);
        assert_true(c.shape.bits >= prefix_code_bound(c.count));
        free(c.coded);
    }
}

/* The bound by hand: four bytes, equally often, are two bits each; one is none. */
static void test_bound(void **unused)
{
    uint64_t count[CODE_BYTES] = { 0 };
    (void)unused;
    count[9] = 40;
    assert_int_equal(prefix_code_bound(count), 0);
    count[10] = count[77] = count[255] = 40;
    assert_int_equal(prefix_code_bound(count), 320);
}

/* Whatever the bytes, nothing beyond the constant is read and nothing beyond the piece written:
 * both are allocated of exactly their size. */
static void test_damaged(void **unused)
{
    static Case c;
    (void)unused;
    for (int i = 0; i < 400; i++) {
        fill(&c, 1 + next(MOST), 1 + next(80), 3, next(256));
        encode(&c);
        for (uint32_t k = 1 + next(40); k; k--)
            c.coded[next(i % 2 ? (uint32_t)c.bytes : 2u * c.shape.listed)] =
                (uint8_t)next(256);
        for (size_t at = 0; at < c.n; at += PIECE) {
            const size_t n = c.n - at < PIECE ? c.n - at : PIECE;
            uint8_t *to = malloc(n);
            assert_non_null(to);
            decode(&c, at / PIECE, to, n);
            free(to);
        }
        free(c.coded);
    }
}

/* Floats and integers of several bytes from their upper and lower ones. */
static void test_joined(void **unused)
{
    const float number[2] = { -1.5f, 3.25e-9f };
    const uint16_t half[2] = { 0xbe00, 0x8001 };
    uint8_t to[8], low[6];
    uint32_t bits[2];
    (void)unused;
    memcpy(bits, number, sizeof bits);
    for (int i = 0; i < 2; i++) {
        const uint32_t turned = bits[i] << 1 | bits[i] >> 31;
        to[4 * i] = (uint8_t)(turned >> 24);
        for (int k = 0; k < 3; k++)
            low[3 * i + k] = (uint8_t)(turned >> 8 * k);
    }
    inlay_code_join32(to, low, 2, 1);
    assert_memory_equal(to, number, sizeof number);
    for (int i = 0; i < 2; i++) {
        const uint32_t turned = (uint32_t)half[i] << 1 | half[i] >> 15;
        to[2 * i] = (uint8_t)(turned >> 8);
        low[i] = (uint8_t)turned;
    }
    inlay_code_join16(to, low, 2, 1);
    assert_memory_equal(to, half, sizeof half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_few_values),
        cmocka_unit_test(test_many_classes),
        cmocka_unit_test(test_near_entropy),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
