/* SPDX-License-Identifier: Apache-2.0
 * The nearest name to a mistyped one, and where none is near enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/nearest.h"

static const char *const names[] = {
    "max-arena", "weights", "without", "effort", "name", "x", NULL,
};

static void expect(const char *text, const char *name)
{
    const char *found = nearest(text, names);
    if (!name) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, name);
}

/* One letter too many, one too few, another one, and two in the wrong order. */
static void a_slip_is_found(void **state)
{
    (void)state;
    expect("weightss", "weights");
    expect("weigts", "weights");
    expect("wcights", "weights");
    expect("wieghts", "weights");
    expect("max-arnea", "max-arena");
    expect("max_arena", "max-arena");
    expect("name", "name");
    expect("namf", "name");
}

/* A quarter of the letters and one more may differ. */
static void a_limit_of_changes(void **state)
{
    (void)state;
    expect("wxyghts", "weights");
    expect("wxyzhts", NULL);
    expect("nbcd", NULL);
    expect("nbce", "name");
    expect("y", NULL);
    expect("", NULL);
}

static void a_beginning_is_enough(void **state)
{
    (void)state;
    expect("max", "max-arena");
    expect("wit", "without");
    expect("eff", "effort");
    expect("ma", NULL);
}

/* The first of equals; what is longer than any name has none. */
static void ties_and_lengths(void **state)
{
    (void)state;
    static const char *const equal[] = { "abcd", "abce", NULL };
    assert_string_equal(nearest("abcf", equal), "abcd");
    static const char *const both[] = { "abxxx", "abcxx", NULL };
    assert_string_equal(nearest("abcxy", both), "abcxx");
    char text[130];
    for (int i = 0; i < 129; i++)
        text[i] = 'a';
    text[129] = 0;
    const char *const itself[] = { text, NULL };
    assert_null(nearest(text, itself));
    assert_null(nearest("aaaaa", itself));
    text[128] = 0;
    assert_ptr_equal(nearest(text, itself), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_is_found),
        cmocka_unit_test(a_limit_of_changes),
        cmocka_unit_test(a_beginning_is_enough),
        cmocka_unit_test(ties_and_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
