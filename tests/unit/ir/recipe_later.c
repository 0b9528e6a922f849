/* SPDX-License-Identifier: Apache-2.0
 * Constants that are computed when they are read: once, before the reader opens what both read, and
 * never where nobody reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/recipe.h"

enum { N = 5 };
static const int64_t count = N;

/* Twice the elements of `from`. */
typedef struct Twice {
    Later later;
    const Recipe *from;
    int times; /* it was made */
} Twice;

typedef struct World {
    Arena arena;
    Store store;
    Twice twice;
    Recipe *file; /* 0, 1, 2, ... in a file */
} World;

static void make_twice(Store *store, Later *later)
{
    Twice *twice = (Twice *)later;
    const float *from = recipe_values(store, &store->scratch, twice->from);
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = 2 * from[i];
    twice->times++;
    file_write(store->spill, later->place.offset, values, sizeof values);
}

static void open_world(World *world)
{
    *world = (World){ .store = { .window = 3 * 4096 } };
    world->store.arena = &world->arena;
    const float numbers[N] = { 0, 1, 2, 3, 4 };
    const Span span = { 0, sizeof numbers };
    File *file = file_temporary(&world->arena);
    const Source source = {
        .dtype = DT_F32, .count = N, .file = file, .span = &span, .spans = 1
    };
    file_write(file, 0, numbers, sizeof numbers);
    world->file = recipe_source(&world->store, &source, 1, &count);
    world->twice.from = world->file;
    world->twice.later.make = make_twice;
    world->twice.later.depth = 1;
}

static void close_world(World *world)
{
    file_close_all(&world->arena);
    arena_free(&world->store.scratch);
    arena_free(&world->arena);
}

static Recipe *later_of(World *world)
{
    return recipe_later(&world->store, &world->twice.later, DT_F32, 1, &count);
}

static void is_made_once(void **state)
{
    (void)state;
    World world;
    open_world(&world);
    Recipe *recipe = later_of(&world);
    Recipe *copy = recipe_reshape(&world.store, recipe, 1, &count);
    assert_ptr_equal(recipe_awaits(copy), &world.twice.later);
    assert_int_equal(world.twice.times, 0);
    for (int turn = 0; turn < 2; turn++) {
        const Recipe *read = turn ? copy : recipe;
        const float *got = recipe_values(&world.store, &world.arena, read);
        for (int i = 0; i < N; i++)
            assert_true(got[i] == (float)(2 * i));
    }
    assert_int_equal(world.twice.times, 1);
    assert_null(recipe_awaits(copy));
    close_world(&world);
}

/* Both read the same source: what is computed must not close it for its reader. */
static void shares_a_source(void **state)
{
    (void)state;
    World world;
    open_world(&world);
    Store *store = &world.store;
    Recipe *sum = recipe_add(store, world.file, later_of(&world));
    const float *got = recipe_values(store, &world.arena, sum);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (float)(3 * i));
    assert_int_equal(world.twice.times, 1);
    close_world(&world);
}

static void settles_what_is_deep(void **state)
{
    (void)state;
    World world;
    open_world(&world);
    Store *store = &world.store;
    Recipe *later = later_of(&world);
    Recipe *form = recipe_slice(store, later, 0, 1, 2, 2);
    Recipe *operand = recipe_mul(store, world.file, later);
    Recipe *both[] = { form, world.file };
    Recipe *joined = recipe_concat(store, 2, both, 0);
    assert_int_equal(recipe_settle(store, world.file, 1), 0);
    assert_int_equal(recipe_settle(store, later, 1), 1);
    assert_int_equal(recipe_settle(store, form, 1), 1);
    assert_int_equal(recipe_settle(store, operand, 1), 1);
    assert_int_equal(recipe_settle(store, joined, 1), 1);
    assert_int_equal(world.twice.times, 0);
    assert_int_equal(recipe_settle(store, operand, 0), 0);
    assert_int_equal(world.twice.times, 1);
    assert_int_equal(recipe_settle(store, joined, 1), 0);
    close_world(&world);
}

/* What would be spilled for each slice is spilled once. */
static void is_spilled_to_be_cut(void **state)
{
    (void)state;
    World world;
    open_world(&world);
    Store *store = &world.store;
    const int64_t wide[2] = { 2, N };
    const int64_t flat = 2 * N;
    const int turn[2] = { 1, 0 };
    Recipe *each = recipe_expand(store, world.file, 2, wide);
    Recipe *turned = recipe_transpose(store, each, turn);
    Recipe *split = recipe_reshape(store, turned, 1, &flat);
    assert_ptr_equal(recipe_cuttable(store, world.file), world.file);
    assert_ptr_equal(recipe_cuttable(store, turned), turned);
    const Recipe *cuttable = recipe_cuttable(store, split);
    assert_ptr_not_equal(cuttable, split);
    assert_non_null(recipe_plain(cuttable));
    const float *got = recipe_values(store, &world.arena, cuttable);
    for (int i = 0; i < 2 * N; i++)
        assert_true(got[i] == (float)(i / 2));
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_made_once),
        cmocka_unit_test(shares_a_source),
        cmocka_unit_test(settles_what_is_deep),
        cmocka_unit_test(is_spilled_to_be_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
