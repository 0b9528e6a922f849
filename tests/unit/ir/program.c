/* SPDX-License-Identifier: Apache-2.0
 * A program with other steps is a value: whatever is added to one, others are as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/program.h"

/* Many enough that growing the array moves it, and gives the old one back. */
enum { WEIGHTS = 20000 };

static void others_are_as_they_were(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Graph graph = { .arena = &arena };
    Program given = { .graph = &graph };
    static Tensor own, more[2];
    for (int i = 0; i < WEIGHTS; i++)
        VEC_PUSH(&arena, &given.weight, ((WeightSlot){ .tensor = &own }));
    Program other[2];
    for (int i = 0; i < 2; i++) {
        Steps steps = { 0 };
        for (int k = 0; k < WEIGHTS; k++)
            VEC_PUSH(&arena, &steps.weight,
                     ((WeightSlot){ .tensor = more + i }));
        other[i] = program_with(&arena, &given, &steps);
    }
    assert_int_equal(given.weight.n, WEIGHTS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(other[i].weight.n, 2 * WEIGHTS);
        for (int k = 0; k < WEIGHTS; k++) {
            assert_ptr_equal(given.weight.at[k].tensor, &own);
            assert_ptr_equal(other[i].weight.at[k].tensor, &own);
            assert_ptr_equal(other[i].weight.at[WEIGHTS + k].tensor, more + i);
        }
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        others_are_as_they_were) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
