/* SPDX-License-Identifier: Apache-2.0
 * Codes of pairs of random, skewed and degenerate bytes: what the runtime decodes is what was
 * coded, from any byte on; their length is near the entropy; damaged ones are read within bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inlay_coded.h"
#include "ir/pair_code.h"
#include "random_bytes.h"

enum { MOST = 6000, GROUPS = MOST / PAIR_GROUP + 1, DEAR = 4 };

/* Bytes, their code, and the coded constant in memory of exactly its size. */
typedef struct Case {
    uint8_t value[GROUPS * PAIR_GROUP]; /* zeros behind the last one */
    size_t n;
    PairCode code;
    uint8_t *coded;
    size_t bytes;
    uint32_t begin[GROUPS]; /* bit of each group */
    inlay_coded shape;
} Case;

/* ---- coding ---- */

static size_t groups_of(const Case *c)
{
    return (c->n + PAIR_GROUP - 1) / PAIR_GROUP;
}

static void make_code(Case *c)
{
    static PairCount count[PAIR_WAYS];
    memset(count, 0, sizeof count);
    memset(c->value + c->n, 0, sizeof c->value - c->n);
    for (size_t i = 0; i < groups_of(c); i++)
        pair_count(count, c->value + i * PAIR_GROUP);
    pair_code_make(&c->code, count, DEAR);
}

static uint64_t put_item(uint8_t *to, uint64_t at, CodeWord item)
{
    for (int i = 0; i < item.bits; i++, at++)
        if (item.word >> i & 1)
            to[at / 8] = (uint8_t)(to[at / 8] | 1 << at % 8);
    return at;
}

static void put_groups(Case *c)
{
    uint8_t *lower = c->coded + pair_code_book(&c->code);
    uint8_t *words = lower + groups_of(c) * (size_t)c->code.low;
    uint64_t at = 0;
    for (size_t i = 0; i < groups_of(c); i++) {
        const uint8_t *group = c->value + i * PAIR_GROUP;
        CodeWord item[PAIR_ITEMS];
        const int n = pair_code_words(&c->code, group, item);
        c->begin[i] = (uint32_t)at;
        pair_code_lower(&c->code, group, lower + i * (size_t)c->code.low);
        for (int k = 0; k < n; k++)
            at = put_item(words, at, item[k]);
    }
    assert_true(at == c->code.bits);
}

static void encode(Case *c)
{
    make_code(c);
    const size_t book = (size_t)pair_code_book(&c->code);
    c->bytes = book + groups_of(c) * (size_t)c->code.low +
               (size_t)(c->code.bits + 7) / 8 + INLAY_CODE_BEHIND;
    c->coded = calloc(c->bytes, 1);
    assert_non_null(c->coded);
    memcpy(c->coded, c->code.book, book);
    put_groups(c);
    c->shape = (inlay_coded){
        .values = (uint32_t)c->n,
        .bits = (uint32_t)c->code.bits,
        .listed = (uint8_t)c->code.listed,
        .width = 1,
        .turned = c->code.apart,
        .low = (uint8_t)c->code.low,
    };
}

/* ---- decoding ---- */

/* Bytes [first, first + n) into memory of exactly that size, which is returned. */
static uint8_t *decoded(const Case *c, size_t first, size_t n)
{
    uint8_t *to = malloc(n);
    inlay_code code;
    assert_non_null(to);
    inlay_decode_make(&c->shape, c->coded, &code);
    inlay_decode(&c->shape, c->coded, (uint32_t)first,
                 c->begin[first / PAIR_GROUP], to, n, &code);
    return to;
}

static void check_part(const Case *c, size_t first, size_t n)
{
    uint8_t *to = decoded(c, first, n);
    assert_memory_equal(to, c->value + first, n);
    free(to);
}

static void check(const Case *c)
{
    check_part(c, 0, c->n);
    for (int i = 0; i < 20; i++) {
        const size_t first = next((uint32_t)c->n);
        check_part(c, first, 1 + next((uint32_t)(c->n - first)));
    }
}

static void fill(Case *c, size_t n, uint32_t width, int sums, uint32_t middle)
{
    c->n = n;
    fill_bytes(c->value, n, width, sums, middle);
}

/* Of each kind that there is: bits that are stored, the sign among them or not, and escapes. */
static void test_random(void **unused)
{
    static Case c;
    bool seen[6][2][2] = { 0 };
    (void)unused;
    for (int i = 0; i < 400; i++) {
        const uint32_t width = 1 + next(1u << (1 + next(8)));
        const uint32_t middle = i % 2 ? 0 : next(256);
        fill(&c, 1 + next(MOST), width, 1 + (int)next(6), middle);
        encode(&c);
        check(&c);
        seen[c.code.low][c.code.apart][c.code.escapes != 0] = true;
        free(c.coded);
    }
    for (int low = 3; low <= 5; low++)
        for (int k = 0; k < 4; k++)
            assert_true(seen[low][k / 2][k % 2]);
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
        check(&c);
        free(c.coded);
    }
    for (c.n = 1; c.n < 40; c.n++) {
        memset(c.value, 0x80, c.n);
        encode(&c);
        check(&c);
        free(c.coded);
    }
}

static void test_near_entropy(void **unused)
{
    static Case c;
    (void)unused;
    for (int i = 0; i < 100; i++) {
        uint64_t count[CODE_BYTES] = { 0 };
        fill(&c, MOST, 20 + next(40), 4, 0);
        encode(&c);
        for (size_t k = 0; k < c.n; k++)
            count[c.value[k]]++;
        const uint64_t bound = prefix_code_bound(count) / 8;
        assert_true(c.bytes <= bound + bound * 3 / 100 + 64);
        free(c.coded);
    }
}

/* ---- damage ---- */

static void decode_all(const Case *c)
{
    for (size_t first = 0; first < c->n; first += 997)
        free(decoded(c, first, c->n - first));
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
        const size_t some = i % 2 ? c.bytes : (size_t)pair_code_book(&c.code);
        for (uint32_t k = 1 + next(40); k; k--)
            c.coded[next((uint32_t)some)] = (uint8_t)next(256);
        decode_all(&c);
        free(c.coded);
    }
}

/* Each bit of book and words, one after the other. */
static void test_each_bit(void **unused)
{
    static Case c;
    (void)unused;
    for (uint32_t width = 12; width < 50; width += 12) {
        fill(&c, 203, width, 4, 0);
        encode(&c);
        for (size_t bit = 0; bit < 8 * c.bytes; bit++) {
            c.coded[bit / 8] ^= (uint8_t)(1 << bit % 8);
            free(decoded(&c, 5, c.n - 5));
            c.coded[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        check(&c);
        free(c.coded);
    }
}

/* Words that are all escapes of the widest cells, and ones that never end. */
static void test_worst(void **unused)
{
    static const uint8_t fills[] = { 0x00, 0xff, 0x01, 0xf5, 0x40, 0x06 };
    static Case c;
    (void)unused;
    fill(&c, MOST, 30, 4, 0);
    encode(&c);
    for (size_t i = 0; i < sizeof fills; i++)
        for (size_t k = 0; k < sizeof fills; k++) {
            const size_t book = (size_t)pair_code_book(&c.code);
            memset(c.coded, fills[i], book);
            memset(c.coded + book, fills[k], c.bytes - book);
            decode_all(&c);
        }
    free(c.coded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),       cmocka_unit_test(test_few_values),
        cmocka_unit_test(test_near_entropy), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_each_bit),     cmocka_unit_test(test_worst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
