/* SPDX-License-Identifier: Apache-2.0
 * The table of stacks: rows are found by name, families without a column are not guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/ram.h"

static const char *const names[] = {
#define STACK_FAMILY(name, ...)
#define STACK(title, ...) #title,
#include "ir/stack.def"
#undef STACK_FAMILY
#undef STACK
};

static const int32_t first[] = {
#define STACK_FAMILY(name, ...)
#define FIRST(first, ...) first
#define STACK(title, ...) FIRST(__VA_ARGS__, 0),
#include "ir/stack.def"
#undef STACK_FAMILY
#undef STACK
};

static const Family *first_column(void)
{
    static const char *const families[] = {
#define STACK_FAMILY(name, ...) #name,
#define STACK(title, ...)
#include "ir/stack.def"
#undef STACK_FAMILY
#undef STACK
    };
    return family_named(families[0]);
}

static void each_row_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(kernel_stack(names[i], first_column()), first[i]);
}

static void what_is_not_there_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(kernel_stack("none", first_column()), -1);
    assert_int_equal(kernel_stack("", first_column()), -1);
    assert_int_equal(kernel_stack("zzz", first_column()), -1);
    assert_int_equal(kernel_stack("run", family_named("arm64")), -1);
}

/* No machine is named: the most of all. */
static void portable_is_the_most(void **state)
{
    const Family *portable = family_named("portable");
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const int64_t bytes = kernel_stack(names[i], portable);
        assert_true(bytes < 0 || bytes >= first[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_found),
        cmocka_unit_test(what_is_not_there_is_not_known),
        cmocka_unit_test(portable_is_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
