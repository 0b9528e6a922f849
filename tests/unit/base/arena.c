/* SPDX-License-Identifier: Apache-2.0
 * The arena: what is large and what is small, growth, marks, the budget; and the two containers on
 * top of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/watched.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static bool all(const unsigned char *p, unsigned char value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            return false;
    return true;
}

/* Every size is zero and its own, whether it is small, a block's worth or large, also after a
 * release. */
static void memory_is_zero_and_apart(void **state)
{
    (void)state;
    static const size_t size[] = { 1,     15,        16,     17,
                                   4000,  40 * KIB,  65535,  65536,
                                   65537, 300 * KIB, 3 * MIB };
    enum { N = sizeof size / sizeof *size };
    Arena a = { 0 };
    for (int round = 0; round < 3; round++) {
        const ArenaMark mark = arena_mark(&a);
        unsigned char *p[N];
        for (int i = 0; i < N; i++) {
            p[i] = arena_alloc(&a, size[i]);
            assert_int_equal((uintptr_t)p[i] % 16, 0);
            assert_true(all(p[i], 0, size[i]));
            memset(p[i], i + 1, size[i]);
        }
        for (int i = 0; i < N; i++)
            assert_true(all(p[i], (unsigned char)(i + 1), size[i]));
        arena_release(&a, mark);
    }
    arena_free(&a);
    assert_int_equal(a.in_use, 0);
}

/* Two that grow in turns keep their bytes, and no others are written over. */
static void growth_keeps_bytes(void **state)
{
    (void)state;
    Arena a = { 0 };
    unsigned char *p = NULL, *q = NULL;
    size_t n = 0;
    for (size_t to = 8; to <= 4 * MIB; to *= 2) {
        p = arena_grow(&a, p, n, to);
        q = arena_grow(&a, q, n, to);
        unsigned char *between = arena_alloc(&a, 32);
        memset(between, 3, 32);
        memset(p + n, 1, to - n);
        memset(q + n, 2, to - n);
        n = to;
        assert_true(all(p, 1, n));
        assert_true(all(q, 2, n));
        assert_true(all(between, 3, 32));
    }
    assert_true(a.in_use <
                8 * MIB + 512 * KIB); /* what was outgrown is not held */
    arena_free(&a);
    assert_int_equal(a.in_use, 0);
}

static void the_last_grows_in_place(void **state)
{
    (void)state;
    Arena a = { 0 };
    char *p = arena_grow(&a, NULL, 0, 100);
    for (size_t n = 100; n < 10 * KIB; n += 100)
        assert_ptr_equal(arena_grow(&a, p, n, n + 100), p);
    char *after = arena_alloc(&a, 16);
    assert_true(after >= p + 10 * KIB);
    assert_ptr_not_equal(arena_grow(&a, p, 10 * KIB, 10 * KIB + 100), p);
    arena_free(&a);
}

/* What existed at the mark stays, also large things that grew in between; all else goes. */
static void release_returns_to_the_mark(void **state)
{
    (void)state;
    Arena a = { 0 };
    unsigned char *small = arena_alloc(&a, 100), *large = arena_alloc(&a, MIB);
    memset(small, 1, 100);
    memset(large, 2, MIB);
    const ArenaMark mark = arena_mark(&a);
    for (int i = 0; i < 100; i++)
        memset(arena_alloc(&a, 10 * KIB), 9, 10 * KIB);
    memset(arena_alloc(&a, 200 * KIB), 9, 200 * KIB);
    large = arena_grow(&a, large, MIB, 5 * MIB);
    memset(arena_alloc(&a, 6 * MIB), 9, 6 * MIB);
    arena_release(&a, mark);
    assert_true(all(small, 1, 100));
    assert_true(all(large, 2, MIB));
    assert_true(a.in_use <
                5 * MIB + 5 * MIB); /* 4 MiB of spare blocks at most */
    unsigned char *next = arena_alloc(&a, 100);
    assert_true(all(next, 0, 100));
    assert_true(next > small && next < small + KIB);
    arena_free(&a);
    assert_int_equal(a.in_use, 0);
}

/* The block that was the newest at the mark stays, too. */
static void release_keeps_the_newest_block(void **state)
{
    (void)state;
    Arena a = { 0 };
    const char *p = arena_text(&a, "abc", 3);
    const ArenaMark mark = arena_mark(&a);
    (void)arena_alloc(&a, 100);
    arena_release(&a, mark);
    assert_string_equal(p, "abc");
    assert_int_equal(a.spared, 0);
    const char *next = arena_alloc(&a, 16);
    assert_true(next > p && next < p + 64);
    arena_free(&a);
}

static void dropped_memory_is_used_again(void **state)
{
    (void)state;
    Arena a = { 0 };
    char *p = arena_alloc(&a, 1000);
    arena_drop(&a, p, 1000);
    assert_ptr_equal(arena_alloc(&a, 1000), p);
    arena_drop(&a, NULL, 0);
    for (int i = 0; i < 100; i++)
        arena_drop(&a, arena_alloc(&a, 8 * MIB), 8 * MIB);
    assert_true(a.peak < 9 * MIB);
    const uint64_t before = a.total;
    for (int i = 0; i < 100; i++)
        arena_drop(&a, arena_alloc(&a, MIB),
                   MIB); /* one spare serves them all */
    assert_true(a.total - before < 2 * MIB);
    arena_free(&a);
}

typedef struct Ask {
    Arena *arena;
    size_t bytes;
    char *grown;
} Ask;

static void ask(void *context)
{
    Ask *k = context;
    if (k->grown)
        (void)arena_grow(k->arena, k->grown, MIB, k->bytes);
    else
        (void)arena_alloc(k->arena, k->bytes);
}

static void the_budget_holds(void **state)
{
    (void)state;
    Arena other = { 0 },
          a = { .budget = 4 * MIB, .beside = &other, .doing = "the test" };
    (void)arena_alloc(&other, 2 * MIB);
    char *grown = arena_alloc(&a, MIB);
    FILE *sink = fopen("/dev/null", "w");
    Diag d = { .out = sink };
    Ask fits = { &a, 512 * KIB, NULL }, more = { &a, MIB, NULL },
        longer = { &a, 3 * MIB, grown };
    assert_int_equal(protect(&d, ask, &fits), 0);
    assert_int_equal(protect(&d, ask, &more), STATUS_MEMORY);
    assert_int_equal(protect(&d, ask, &longer), STATUS_MEMORY);
    fclose(sink);
    arena_free(&a);
    arena_free(&other);
}

/* What lies spare is given back before a demand is refused, and else kept for the next; one more
 * than twice as large as a demand is not taken for it. */
static void spare_blocks_and_the_budget(void **state)
{
    (void)state;
    Arena a = { .budget = 4 * MIB };
    Diag diag = { .quiet = true };
    Ask large = { &a, 3 * MIB + 512 * KIB, NULL };
    arena_drop(&a, arena_alloc(&a, MIB), MIB);
    assert_true(a.spared >= MIB);
    arena_drop(&a, arena_alloc(&a, 3 * MIB), 3 * MIB);
    assert_true(a.spared >= MIB); /* there was room for both */
    assert_int_equal(protect(&diag, ask, &large), 0);
    assert_int_equal(a.spared, 0);
    arena_free(&a);
    a = (Arena){ 0 };
    arena_drop(&a, arena_alloc(&a, 250 * KIB), 250 * KIB);
    const uint64_t total = a.total;
    (void)arena_alloc(&a, 100 * KIB);
    assert_true(a.total > total);
    (void)arena_alloc(&a, 130 * KIB);
    assert_true(a.total < total + 130 * KIB);
    arena_free(&a);
}

/* The map holds what was put last, however large it grows. */
static void names_are_found(void **state)
{
    (void)state;
    enum { N = 50000 };
    static char name[N][16];
    Arena a = { 0 };
    Map m = map_new(&a);
    assert_null(map_get(&m, "n0"));
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "n%d", i);
        assert_null(map_put(&m, name[i], name[i]));
    }
    for (int i = 0; i < N; i += 7)
        assert_ptr_equal(map_put(&m, name[i], name[0]), name[i]);
    for (int i = 0; i < N; i++) {
        char copy[16];
        memcpy(copy, name[i], sizeof copy);
        assert_ptr_equal(map_get(&m, copy), i % 7 ? name[i] : name[0]);
    }
    assert_null(map_get(&m, "none"));
    assert_null(map_get(&m, ""));
    assert_true((a.in_use - a.spared) / N < 64);
    arena_free(&a);
}

static void lists_grow(void **state)
{
    (void)state;
    Arena a = { 0 };
    VEC(int) v = { 0 }, w = { 0 };
    for (int i = 0; i < 300000; i++) {
        VEC_PUSH(&a, &v, i);
        if (i % 3 == 0)
            VEC_PUSH(&a, &w, -i);
    }
    for (int i = 0; i < 300000; i++)
        assert_int_equal(v.at[i], i);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(w.at[i], -3 * i);
    arena_free(&a);
}

typedef struct Demand {
    Arena arena;
    void *p;
    size_t bytes;
} Demand;

static void demand(void *context)
{
    Demand *d = context;
    if (d->p)
        (void)arena_grow(&d->arena, d->p, 100 * KIB, d->bytes);
    else
        (void)arena_alloc(&d->arena, d->bytes);
}

/* More than any machine has: status 71, and the arena is as it was. */
static void there_is_not_so_much(void **state)
{
    (void)state;
    Diag diag = { .quiet = true };
    Demand d = { .bytes = (size_t)1 << 60 };
    assert_int_equal(protect(&diag, demand, &d), STATUS_MEMORY);
    assert_int_equal(d.arena.in_use, 0);
    d.p = arena_alloc(&d.arena, 100 * KIB);
    memset(d.p, 7, 100 * KIB);
    const uint64_t in_use = d.arena.in_use;
    diag.status = 0;
    assert_int_equal(protect(&diag, demand, &d), STATUS_MEMORY);
    assert_int_equal(d.arena.in_use, in_use);
    assert_true(all(d.p, 7, 100 * KIB));
    arena_free(&d.arena);
}

/* A spare block that is larger than what was asked for has room to grow into. */
static void growth_into_a_spare_block(void **state)
{
    (void)state;
    Arena a = { 0 };
    const ArenaMark mark = arena_mark(&a);
    (void)arena_alloc(&a, 150 * KIB);
    (void)arena_alloc(&a, 130 * KIB);
    (void)arena_alloc(&a, 140 * KIB);
    arena_release(&a, mark);
    const uint64_t total = a.total;
    unsigned char *p = arena_alloc(&a, 120 * KIB); /* takes the smallest */
    assert_int_equal(a.total, total);
    memset(p, 5, 120 * KIB);
    assert_ptr_equal(arena_grow(&a, p, 120 * KIB, 125 * KIB), p);
    unsigned char *q = arena_alloc(&a, 135 * KIB);
    unsigned char *r = arena_alloc(&a, 145 * KIB);
    assert_int_equal(a.total, total);
    memset(q, 6, 135 * KIB);
    memset(r, 7, 145 * KIB);
    assert_true(all(p, 5, 120 * KIB));
    assert_true(all(q, 6, 135 * KIB));
    arena_free(&a);
    assert_int_equal(a.in_use, 0);
}

static void print_wrong(void *context)
{
    static const wchar_t none[] = { 0x7fffffff, 0 };
    (void)arena_printf(context, "%ls", none);
}

/* Texts lie closely while they fit the block, and begin a new one where they do not. */
static void texts_fill_blocks(void **state)
{
    (void)state;
    Arena a = { 0 };
    char text[1000];
    const char *at[100];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < 100; i++)
        at[i] = arena_text(&a, text, 900 + i);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(strlen(at[i]), 900 + i);
    assert_ptr_equal(at[2], at[1] + 902);
    assert_string_equal(arena_text(&a, "abc", 0), "");
    assert_string_equal(arena_printf(&a, "%d%s", 4, "x"), "4x");
    Diag diag = { .quiet = true };
    assert_int_equal(protect(&diag, print_wrong, &a), STATUS_MEMORY);
    arena_free(&a);
}

/* Dropped or grown where nothing was allocated yet, or something else after it. */
static void drops_of_what_is_not_last(void **state)
{
    (void)state;
    Arena a = { 0 };
    int outside;
    arena_drop(&a, &outside, sizeof outside);
    assert_null(a.block);
    unsigned char *p = arena_alloc(&a, 32);
    unsigned char *q = arena_alloc(&a, 32);
    arena_drop(&a, p, 32);
    unsigned char *r = arena_alloc(&a, 16);
    assert_ptr_equal(r, q + 32 + RED_ZONE);
    arena_drop(&a, r, 16);
    assert_ptr_equal(arena_alloc(&a, 48), r);
    arena_free(&a);
}

#ifdef INLAY_WATCHED
static void is_open(const unsigned char *p, size_t bytes)
{
    assert_null(__asan_region_is_poisoned((void *)(uintptr_t)p, bytes));
    assert_true(__asan_address_is_poisoned(p + bytes));
}

/* Nobody may touch what lies behind a piece, or what was let go. */
static void pieces_are_watched(void **state)
{
    (void)state;
    static const size_t size[] = { 1, 8, 15, 16, 4000, 65519, 65520, MIB };
    Arena a = { 0 };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        (void)arena_text(&a, "abcdefghi", i);
        const ArenaMark mark = arena_mark(&a);
        unsigned char *p = arena_alloc(&a, size[i]);
        is_open(p, size[i]);
        p = arena_grow(&a, p, size[i], size[i] + 9);
        is_open(p, size[i] + 9);
        arena_release(&a, mark);
        assert_true(__asan_address_is_poisoned(p));
        arena_give_back(&a);
        p = arena_alloc(&a, size[i]);
        arena_drop(&a, p, size[i]);
        assert_true(__asan_address_is_poisoned(p));
    }
    arena_free(&a);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef INLAY_WATCHED
        cmocka_unit_test(pieces_are_watched),
#endif
        cmocka_unit_test(there_is_not_so_much),
        cmocka_unit_test(growth_into_a_spare_block),
        cmocka_unit_test(texts_fill_blocks),
        cmocka_unit_test(drops_of_what_is_not_last),
        cmocka_unit_test(memory_is_zero_and_apart),
        cmocka_unit_test(growth_keeps_bytes),
        cmocka_unit_test(the_last_grows_in_place),
        cmocka_unit_test(release_returns_to_the_mark),
        cmocka_unit_test(release_keeps_the_newest_block),
        cmocka_unit_test(dropped_memory_is_used_again),
        cmocka_unit_test(the_budget_holds),
        cmocka_unit_test(spare_blocks_and_the_budget),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(lists_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
