/* SPDX-License-Identifier: Apache-2.0
 * Templates: what replaces what, and each way in which a template and what it is filled with do not
 * fit together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "emit/template.h"

typedef struct Case {
    const char *name;
    const char *text;
    const char *fault; /* its beginning; NULL: none */
} Case;

static const Case cases[] = {
    { "fits", "//@ one\n", NULL },
    { "a mark without section", "//@ one\n//@ two\n", "no such section: two" },
    { "a section without mark", "x\n", "kws: " },
    { "a section used twice", "//@ one\n//@ one\n", "kws: " },
    { "a mark in a branch that is left out", "#if MODEL_NO\n//@ one\n#endif\n",
      NULL },
    { "an unknown condition", "//@ one\n#if MODEL_MAYBE\n#endif\n",
      "no such condition: MODEL_MAYBE" },
    { "a condition without end", "//@ one\n#if MODEL_NO\n", "kws: " },
    { "an end without condition", "//@ one\n#endif\n", "without #if" },
    { "an example without end", "//@ one {\nx\n", "kws: " },
};

static const Condition conditions[] = {
    { "MODEL_YES", true },
    { "MODEL_NO", false },
    { NULL, false },
};

/* One section, "one", and the two conditions. */
static const char *fault_of(Arena *arena, const char *text)
{
    Text one = text_new(arena);
    text_put(&one, "made\n");
    const Section sections[] = { { "one", one }, { NULL, { 0 } } };
    const Filling filling = {
        .model = "kws",
        .condition = conditions,
        .section = sections,
    };
    return template_fault(arena, text, &filling);
}

static void test_faults(void **state)
{
    (void)state;
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *test = cases + i;
        const char *fault = fault_of(&arena, test->text);
        if (!test->fault && fault)
            fail_msg("%s: %s", test->name, fault);
        if (test->fault && !fault)
            fail_msg("%s: no fault", test->name);
        if (test->fault && strncmp(fault, test->fault, strlen(test->fault)))
            fail_msg("%s: %s", test->name, fault);
    }
    arena_free(&arena);
}

static const char TEMPLATE[] =
    "model_run MODEL_OK xmodel_a model.h\n"
    "#if MODEL_YES\nyes\n#else\nno\n#endif\n"
    "#if !MODEL_YES\nno\n#else\nyes\n#endif\n"
    "#if MODEL_NO\n#if MODEL_YES\nno\n#endif\n#endif\n"
    "#ifdef INLAY_CHECK\nkept\n#endif\n"
    "//@ {\nexample\n//@ }\n"
    "//@ one {\n#if MODEL_YES\nexample\n//@ }\n"
    "f(model_memory *arena)\n";

static const char EXPECTED[] = "kws_run KWS_OK xmodel_a kws.h\n"
                               "yes\nyes\n"
                               "#ifdef INLAY_CHECK\nkept\n#endif\n"
                               "made\n"
                               "f(void *arena)\n";

static void test_filled(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Text one = text_new(&arena);
    text_put(&one, "made\n");
    const Section sections[] = { { "one", one }, { NULL, { 0 } } };
    const Filling filling = {
        .model = "kws",
        .word = (const Word[]){ { "model_memory", "void" }, { NULL, NULL } },
        .condition = conditions,
        .section = sections,
    };
    assert_null(template_fault(&arena, TEMPLATE, &filling));
    assert_string_equal(template_filled(&arena, TEMPLATE, &filling).at,
                        EXPECTED);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
