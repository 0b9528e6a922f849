/* SPDX-License-Identifier: Apache-2.0
 * Names and values: the last one counts, order is that of the first mention, any length of name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"

static void empty_maps_know_nothing(void **state)
{
    (void)state;
    Arena arena = { 0 };
    const Map map = map_new(&arena);
    assert_null(map_get(&map, ""));
    assert_null(map_get(&map, "a"));
    assert_int_equal(map.seed & 1, 1);
    assert_ptr_equal(map.arena, &arena);
    arena_free(&arena);
}

static void the_last_value_counts(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Map map = map_new(&arena);
    int first, second;
    assert_null(map_put(&map, "a", &first));
    assert_ptr_equal(map_put(&map, "a", &second), &first);
    assert_ptr_equal(map_get(&map, "a"), &second);
    assert_int_equal(map.entry.n, 1);
    assert_null(map_put(&map, "", &first));
    assert_ptr_equal(map_get(&map, ""), &first);
    assert_null(map_get(&map, "b"));
    assert_string_equal(map.entry.at[0].key, "a");
    assert_string_equal(map.entry.at[1].key, "");
    arena_free(&arena);
}

/* Names of every length up to 40 that differ in one letter, wherever it stands. */
static void one_letter_tells_names_apart(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Map map = map_new(&arena);
    for (int n = 1; n <= 40; n++)
        for (int at = 0; at < n; at++) {
            char *name = arena_alloc(&arena, 41);
            memset(name, 'a', (size_t)n);
            name[at] = 'b';
            assert_null(map_put(&map, name, name));
        }
    for (size_t i = 0; i < map.entry.n; i++) {
        char copy[41];
        strcpy(copy, map.entry.at[i].key);
        assert_ptr_equal(map_get(&map, copy), map.entry.at[i].value);
    }
    assert_int_equal(map.entry.n, 40 * 41 / 2);
    arena_free(&arena);
}

/* At most three quarters of the slots are taken, and what was there stays while it grows. */
static void it_grows(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Map map = map_new(&arena);
    for (int i = 0; i < 300000; i++) { /* some have the same hash */
        char *name = arena_printf(&arena, "name%d", i);
        assert_null(map_put(&map, name, name));
        assert_true(map.entry.n * 4 <= map.room * 3 + 4);
        assert_int_equal(map.room & (map.room - 1), 0);
        assert_true(map.room <= 16 || map.entry.n * 3 >= map.room);
        char text[16];
        snprintf(text, sizeof text, "name%d", i / 2);
        assert_string_equal(map_get(&map, text), text);
    }
    assert_null(map_get(&map, "name300000"));
    arena_free(&arena);
}

/* Two maps of one run do not meet the same collisions for sure: their seeds differ. */
static void seeds_differ(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Arena other = { 0 };
    const uint64_t seed = map_new(&arena).seed;
    int same = 0;
    for (int i = 0; i < 100; i++)
        same += map_new(&other).seed == seed;
    assert_true(same < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_maps_know_nothing),
        cmocka_unit_test(the_last_value_counts),
        cmocka_unit_test(one_letter_tells_names_apart),
        cmocka_unit_test(it_grows),
        cmocka_unit_test(seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
