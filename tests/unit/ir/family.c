/* SPDX-License-Identifier: Apache-2.0
 * Targets and their families: each name has one, widths are those that kernels read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/family.h"

static void each_target_has_a_family(void **state)
{
    (void)state;
    for (size_t i = 0; target_names[i]; i++) {
        const Family *family = family_of_target(target_names[i]);
        assert_non_null(family);
        assert_ptr_equal(family, family_named(family->name));
        assert_ptr_equal(family, family_of_target(family_target(family)));
        assert_true(family->float_width == 16 || family->float_width == 4);
        assert_true(family->byte_width == 16 || family->byte_width == 4);
        assert_true(family->byte_depth >= 1 && family->byte_depth <= 16);
        assert_true(!family->needs == !family->without);
    }
}

static void names_that_are_none(void **state)
{
    static const char *const names[] = { "",      "cortex-m44", "rv",    "rv3",
                                         "rv32!", "rv16i",      "X86-64" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(family_of_target(names[i]));
    assert_null(family_named("none"));
}

static void no_target_is_this_host(void **state)
{
    (void)state;
    assert_ptr_equal(family_of_target(NULL), family_of_target("host"));
    assert_ptr_equal(family_of_target("generic"), family_of_target("host"));
    assert_ptr_equal(family_of_target("rv32imc"), family_of_target("rv32"));
    assert_ptr_equal(family_of_target("rv64gc"), family_of_target("rv64"));
    assert_string_equal(family_of_target("cortex-m7")->machine, "arm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_target_has_a_family),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(no_target_is_this_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
