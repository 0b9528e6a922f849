/* SPDX-License-Identifier: Apache-2.0
 * Places of several models' arenas in one: made-up groups, each placement held to what it promises,
 * and groups whose size is known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "emit/group.h"

enum { MODELS = 6, CASES = 3000 };

static uint32_t next_random(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* A model of so many bytes, of which some in the middle are kept. */
static void add_model(Group *group, int64_t size, int64_t kept,
                      int64_t kept_end)
{
    const GroupModel model = {
        .name = "m",
        .arena_size = size,
        .arena_align = 16,
        .kept = kept,
        .kept_end = kept_end,
    };
    VEC_PUSH(group->arena, &group->model, model);
}

static bool are_together(const Group *group, size_t a, size_t b)
{
    for (size_t i = 0; i < group->together.n; i++)
        if (group->together.at[i] >> a & group->together.at[i] >> b & 1)
            return true;
    return false;
}

/* Does a byte of [a, a_end) lie in [b, b_end)? */
static bool meet(int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
    for (int64_t at = a; at < a_end; at++)
        if (at >= b && at < b_end)
            return true;
    return false;
}

static void check_pair(const Group *group, size_t i, size_t k)
{
    const GroupModel *a = group->model.at + i;
    const GroupModel *b = group->model.at + k;
    const int64_t end = b->offset + b->arena_size;
    if (are_together(group, i, k))
        assert_false(
            meet(a->offset, a->offset + a->arena_size, b->offset, end));
    assert_false(
        meet(a->offset + a->kept, a->offset + a->kept_end, b->offset, end));
}

static void check_places(const Group *group)
{
    int64_t end = 0;
    for (size_t i = 0; i < group->model.n; i++) {
        const GroupModel *model = group->model.at + i;
        assert_true(model->offset >= 0 && model->offset % 16 == 0);
        end = i64_max(end, model->offset + model->arena_size);
        for (size_t k = 0; k < group->model.n; k++)
            if (k != i)
                check_pair(group, i, k);
    }
    assert_int_equal(group->arena_size, end);
    assert_true(group->lower_bound <= end);
}

static void test_random(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int i = 0; i < CASES; i++) {
        Arena arena = { 0 };
        Group group = { .arena = &arena };
        const uint32_t models = 2 + next_random(&seed, MODELS - 1);
        for (uint32_t k = 0; k < models; k++) {
            const int64_t size = 16 * next_random(&seed, 9);
            const int64_t kept = next_random(&seed, (uint32_t)size + 1);
            const int64_t room = size - kept;
            const bool any = !next_random(&seed, 3);
            add_model(&group, size, any ? kept : 0,
                      any ? kept + next_random(&seed, (uint32_t)room + 1) : 0);
        }
        for (uint32_t sets = next_random(&seed, 4); sets; sets--)
            VEC_PUSH(&arena, &group.together, next_random(&seed, 1u << models));
        group_place(&group);
        check_places(&group);
        arena_free(&arena);
    }
}

typedef struct Known {
    int64_t size[3];
    uint64_t together[3];
    int64_t bound, arena_size;
} Known;

static const Known known[] = {
    { { 64, 32, 48 }, { 0 }, 64, 64 },      /* one after the other */
    { { 64, 32, 48 }, { 6 }, 80, 80 },      /* the last two at once */
    { { 64, 32, 48 }, { 3, 5 }, 112, 112 }, /* the first with each */
    { { 64, 32, 48 }, { 7 }, 144, 144 },    /* all at once */
    { { 64, 32, 48 },
      { 3, 5, 6 },
      112,
      144 }, /* a circle: no pair has a place in common */
};

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Arena arena = { 0 };
        Group group = { .arena = &arena };
        for (int k = 0; k < 3; k++) {
            add_model(&group, known[i].size[k], 0, 0);
            if (known[i].together[k])
                VEC_PUSH(&arena, &group.together, known[i].together[k]);
        }
        group_place(&group);
        check_places(&group);
        assert_int_equal(group.lower_bound, known[i].bound);
        assert_int_equal(group.arena_size, known[i].arena_size);
        arena_free(&arena);
    }
}

/* What is kept takes room of its own, the rest of that arena is shared, wherever it lies. */
static void test_kept(void **state)
{
    (void)state;
    for (int64_t at = 0; at <= 48; at += 16) {
        Arena arena = { 0 };
        Group group = { .arena = &arena };
        add_model(&group, 64, at, at + 16);
        add_model(&group, 32, 0, 0);
        group_place(&group);
        check_places(&group);
        assert_true(group.arena_size <= (at == 16 ? 80 : 64));
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
