/* SPDX-License-Identifier: Apache-2.0
 * What the system says of this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"

static void the_program_itself(void **state)
{
    (void)state;
    char path[32];
    const size_t needed = sizeof "/proc/self/exe";
    assert_true(process_path(path, needed));
    assert_int_equal(access(path, R_OK), 0);
    assert_false(process_path(path, needed - 1));
}

static void the_peak_grows_with_what_is_touched(void **state)
{
    (void)state;
    const size_t bytes = (size_t)64 << 20;
    const uint64_t before = process_peak_resident();
    char *memory = malloc(bytes);
    assert_true(before > 0);
    assert_non_null(memory);
    memset(memory, 1, bytes);
    assert_true(process_peak_resident() >= before + bytes / 2);
    free(memory);
}

static void words_are_as_they_were(void **state)
{
    (void)state;
    char *list[] = { "inlay", "a\\b", NULL };
    char **word = list;
    int words = 2;
    process_begin(&words, &word);
    assert_int_equal(words, 2);
    assert_string_equal(word[1], "a\\b");
}

/* The words come as they are, whatever a shell would make of them. */
static void commands_and_their_status(void **state)
{
    Arena arena = { 0 };
    const char *const odd[] = { "a  b'\"$", NULL };
    const char *const none[] = { NULL };
    (void)state;
    assert_int_equal(process_run(&arena, "exit 3;", none), 3);
    assert_int_equal(process_run(&arena, "./no-such-command", none), 127);
    assert_int_equal(process_run(&arena, "test \"a  b'\\\"\\$\" =", odd), 0);
    assert_int_equal(process_run(&arena, "test 'a b' =", odd), 1);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_itself),
        cmocka_unit_test(the_peak_grows_with_what_is_touched),
        cmocka_unit_test(words_are_as_they_were),
        cmocka_unit_test(commands_and_their_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
