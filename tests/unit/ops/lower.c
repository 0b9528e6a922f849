/* SPDX-License-Identifier: Apache-2.0
 * Steps as they are lowered: a kernel that does not exist for a node's element types. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kernels/copy.h"
#include "ops/lower.h"

typedef struct Case {
    const char *kernel;
    Arena arena;
    Step *step;
} Case;

static void lower_one(void *context)
{
    Case *c = context;
    Program program = { 0 };
    Graph graph = { .file = "model.onnx" };
    Node node = { .graph = &graph, .name = "odd", .op_type = "Copy" };
    Lower lower = {
        .arena = &c->arena,
        .program = &program,
        .node = &node,
    };
    const inlay_copy_params params = { 4 };
    c->step = lower_step(&lower, c->kernel, &params);
    assert_string_equal(c->step->kernel->name, c->kernel);
}

static Status lower_as(const char *kernel, char *text, size_t room)
{
    FILE *out = fmemopen(text, room, "w");
    Diag diag = { .out = out };
    Case c = { .kernel = kernel };
    const Status status = protect(&diag, lower_one, &c);
    arena_free(&c.arena);
    fclose(out);
    return status;
}

static void test_unknown(void **state)
{
    char text[512] = "";
    (void)state;
    assert_int_equal(lower_as("copy", text, sizeof text), STATUS_OK);
    assert_int_equal(lower_as("copy_q7", text, sizeof text),
                     STATUS_UNSUPPORTED);
    assert_non_null(strstr(text, "odd"));
    assert_non_null(strstr(text, "copy_q7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_unknown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
