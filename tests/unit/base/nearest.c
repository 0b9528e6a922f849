/* SPDX-License-Identifier: Apache-2.0
 * The nearest name to a mistyped one, and where none is near enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
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
    static const char *const two[] = { "relu6-signed", "rem", NULL };
    assert_ptr_equal(nearest("rel", two), two[0]);
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
    static const char *const three[] = { "abc", NULL };
    assert_ptr_equal(nearest("xabc", three), three[0]);
    assert_null(nearest("xyabc", three));
    assert_null(nearest(text, itself));
    assert_null(nearest("aaaaa", itself));
    text[128] = 0;
    assert_ptr_equal(nearest(text, itself), text);
}

typedef struct Unknown {
    Arena arena;
    const char *text;
    const char *const *names;
} Unknown;

static void name_it(void *context)
{
    Unknown *u = context;
    fail_unknown(&u->arena, "no such option:", u->text, u->names);
}

static void expect_advice(const char *text, const char *const *of,
                          const char *want)
{
    char *said = NULL;
    size_t length;
    Unknown u = { .text = text, .names = of };
    Diag diag = { .out = open_memstream(&said, &length) };
    assert_int_equal(protect(&diag, name_it, &u), STATUS_USAGE);
    fclose(diag.out);
    assert_non_null(strstr(said, "no such option: \""));
    assert_non_null(strstr(said, want));
    assert_true(strstr(want, "...") || !strstr(said, "..."));
    free(said);
    arena_free(&u.arena);
}

/* The nearest name, else the first 24 of them. */
static void advice_names_some(void **state)
{
    (void)state;
    static const char *const none[] = { NULL };
    const char *many[26] = { NULL };
    expect_advice("weigts", names, "did you mean weights?");
    expect_advice("zzz", names,
                  "one of: max-arena, weights, without, effort, name, x\n");
    expect_advice("zzz", none, "there is none\n");
    for (int i = 0; i < 24; i++)
        many[i] = i % 2 ? "b" : "a";
    expect_advice("zzz", many, "a, b, a, b, a, b\n");
    many[24] = "c";
    expect_advice("zzz", many, "a, b, a, b, ...\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_is_found),
        cmocka_unit_test(a_limit_of_changes),
        cmocka_unit_test(a_beginning_is_enough),
        cmocka_unit_test(ties_and_lengths),
        cmocka_unit_test(advice_names_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
