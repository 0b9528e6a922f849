/* SPDX-License-Identifier: 0BSD
 * As much of cmocka as the kernels' tests use, on a core without an operating system: a check that
 * fails says where and ends the run. */
#ifndef FIRMWARE_CMOCKA_H
#define FIRMWARE_CMOCKA_H

#include <stdint.h>
#include <string.h>

#include "semihosting.h"

struct CMUnitTest {
    void (*run)(void **state);
};

static inline void cmocka_fail(const char *file, uint32_t line)
{
    semi_text("failed: ");
    semi_text(file);
    semi_hex(line);
    semi_text("\n");
    semi_exit(1);
}

static inline int cmocka_run(const struct CMUnitTest *test, uint32_t count)
{
    void *state = 0;
    uint32_t i;
    for (i = 0; i < count; i++)
        test[i].run(&state);
    semi_text("passed\n");
    return 0;
}

#define assert_true(what) \
    ((what) ? (void)0 : cmocka_fail(__FILE__, (uint32_t)__LINE__))
#define assert_in_range(value, least, most) \
    assert_true((value) >= (least) && (value) <= (most))
#define assert_float_equal(a, b, most) \
    assert_true((a) - (b) <= (most) && (b) - (a) <= (most))
#define assert_memory_equal(a, b, size) assert_true(!memcmp(a, b, size))
#define fail_msg(...) cmocka_fail(__FILE__, (uint32_t)__LINE__)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define cmocka_unit_test(function) \
    { \
        function \
    }
#define cmocka_run_group_tests(tests, setup, teardown) \
    cmocka_run(tests, (uint32_t)(sizeof(tests) / sizeof *(tests)))

#endif
