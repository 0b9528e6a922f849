/* SPDX-License-Identifier: Apache-2.0
 * What it takes for a constant to be coded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/coded.h"

static void test_pays(void **unused)
{
    (void)unused;
    assert_true(coded_pays(3200, 3004));
    assert_false(coded_pays(3200, 3005));
    assert_true(coded_pays(256, 152));
    assert_false(coded_pays(256, 153));
    assert_false(coded_pays(64, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pays) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
