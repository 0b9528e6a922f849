/* SPDX-License-Identifier: Apache-2.0
 * Messages letter by letter, the status that remains, and frames inside one another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/size.h"

/* What a body printed and how it ended. */
typedef struct Outcome {
    Diag diag;
    Status status;
    char *text;
    size_t length;
} Outcome;

static Outcome run(void (*body)(void *), void *context, bool quiet)
{
    Outcome outcome = { .diag = { .quiet = quiet } };
    outcome.diag.out = open_memstream(&outcome.text, &outcome.length);
    outcome.status = protect(&outcome.diag, body, context);
    fclose(outcome.diag.out);
    assert_null(diag_now);
    return outcome;
}

static void expect(void (*body)(void *), void *context, Status status,
                   const char *text)
{
    Outcome outcome = run(body, context, false);
    assert_int_equal(outcome.status, status);
    assert_string_equal(outcome.text, text);
    free(outcome.text);
}

static void fail_there(void *context)
{
    const Loc *loc = context;
    fail_at(STATUS_MALFORMED, *loc, "do that", "what %d", 7);
}

static void every_part_of_a_place(void **state)
{
    (void)state;
    Loc loc = LOC_NONE;
    expect(fail_there, &loc, 65, "inlay: error: what 7\n  help: do that\n");
    loc.file = "m.onnx";
    expect(fail_there, &loc, 65,
           "inlay: m.onnx: error: what 7\n  help: do that\n");
    loc.byte = 0;
    expect(fail_there, &loc, 65,
           "inlay: m.onnx: byte 0: error: what 7\n  help: do that\n");
    loc.byte = -1;
    loc.name = "";
    expect(fail_there, &loc, 65,
           "inlay: m.onnx: error: what 7\n  help: do that\n");
    loc.name = "w";
    expect(fail_there, &loc, 65,
           "inlay: m.onnx: \"w\": error: what 7\n  help: do that\n");
    loc.node = 0;
    loc.name = NULL;
    expect(fail_there, &loc, 65,
           "inlay: m.onnx: node 0: error: what 7\n  help: do that\n");
    loc.name = "conv1";
    loc.op = "Conv";
    expect(fail_there, &loc, 65,
           "inlay: m.onnx: node 0 \"conv1\" (Conv): error: what 7\n"
           "  help: do that\n");
    loc = LOC_NONE;
    loc.op = "Conv";
    expect(fail_there, &loc, 65,
           "inlay: (Conv): error: what 7\n  help: do that\n");
}

static void print_text(void *context)
{
    warn_at(LOC_NONE, "%s", (const char *)context);
}

static void unprintable_bytes_are_escaped(void **state)
{
    (void)state;
    expect(print_text, " ~\x1f\x7f\x80\xff\t\n", 0,
           "inlay: warning:  ~\\x1f\\x7f\\x80\\xff\\x09\n\n");
    Loc loc = { .file = "\x1b", .name = "\x02", .op = "\x03", .byte = -1 };
    expect(fail_there, &loc, 65,
           "inlay: \\x1b: node 0 \"\\x02\" (\\x03): error: what 7\n"
           "  help: do that\n");
}

static void several(void *context)
{
    const int *errors = context;
    warn_at(LOC_NONE, "careful");
    fail_if_errors();
    for (int i = 0; i < *errors; i++)
        error_at(i ? STATUS_MEMORY : STATUS_UNSUPPORTED, LOC_NONE, NULL,
                 "no %d", i);
    fail_if_errors();
    warn_at(LOC_NONE, "done");
}

static void errors_are_collected(void **state)
{
    (void)state;
    int errors = 2;
    Outcome outcome = run(several, &errors, false);
    assert_int_equal(outcome.status, STATUS_UNSUPPORTED);
    assert_int_equal(outcome.diag.errors, 2);
    assert_int_equal(outcome.diag.warnings, 1);
    assert_string_equal(outcome.text,
                        "inlay: warning: careful\ninlay: error: no 0\n"
                        "inlay: error: no 1\n");
    free(outcome.text);
    errors = 0;
    outcome = run(several, &errors, true);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.diag.warnings, 2);
    assert_string_equal(outcome.text, "");
    free(outcome.text);
}

static void fail_inside(void *context)
{
    Diag *own = context;
    Loc loc = LOC_NONE;
    assert_int_equal(protect(own, fail_there, &loc), STATUS_MALFORMED);
    assert_ptr_not_equal(diag_now, own);
    own->status = 0;
    assert_int_equal(protect(own, several, &(int){ 0 }), 0);
    fail_overflow();
}

static void frames_nest(void **state)
{
    (void)state;
    Diag inner = { .quiet = true };
    expect(fail_inside, &inner, STATUS_MALFORMED,
           "inlay: error: a size computed from the model is out of range\n"
           "  help: check the dimensions and attributes of the model\n");
    assert_null(inner.frame);
    assert_string_equal(inner.why, "what 7");
}

static void where(void *context)
{
    const char **file = context;
    *file = diag_place().file;
}

static void work_inside(void *context)
{
    Loc loc = LOC_NONE;
    Diag own = { .quiet = true };
    const char *file;
    loc.file = "outer";
    diag_work(loc);
    assert_int_equal(protect(&own, where, &file), 0);
    assert_string_equal(file, "outer");
    own.at.file = "inner";
    assert_int_equal(protect(&own, where, &file), 0);
    assert_string_equal(file, "inner");
    *(bool *)context = true;
}

/* A frame inside another works at what that works at, or at a place of its own. */
static void places_nest(void **state)
{
    (void)state;
    bool done = false;
    free(run(work_inside, &done, false).text);
    assert_true(done);
}

/* An attempt prints nothing, and keeps its first error with the operator where it lies. */
static void attempts_keep_why(void **state)
{
    (void)state;
    Loc loc = LOC_NONE;
    loc.name = "conv1";
    loc.op = "Conv";
    Outcome outcome = run(fail_there, &loc, true);
    assert_string_equal(outcome.text, "");
    assert_string_equal(outcome.diag.why, "\"conv1\" (Conv): what 7");
    free(outcome.text);
    loc.name = "";
    outcome = run(fail_there, &loc, true);
    assert_string_equal(outcome.diag.why, "(Conv): what 7");
    free(outcome.text);
}

static void fail_for_memory(void *context)
{
    (void)context;
    fail_memory(12, "there is none");
}

static void memory_and_first_status(void **state)
{
    (void)state;
    expect(fail_for_memory, NULL, STATUS_MEMORY,
           "inlay: error: cannot allocate 12 bytes: there is none\n");
}

/* A Diag that no protect() has set ends the process as well. */
static int ends_in(Diag *diag)
{
    int status;
    const pid_t child = fork();
    if (!child) {
        diag_now = diag;
        fail_now(STATUS_CONFIG);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* Without a frame the process ends, and messages go to stderr. */
static void without_a_frame(void **state)
{
    (void)state;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        warn_at(LOC_NONE, "nobody counts this");
        fail_if_errors();
        error_at(STATUS_IO, LOC_NONE, NULL, "nor this");
        Diag without = { .quiet = true };
        if (ends_in(&without) != STATUS_CONFIG)
            _exit(2);
        fail_now(STATUS_CONFIG);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), STATUS_CONFIG);
}

/* --- base/size.h --- */

typedef struct Sum {
    char sign;
    int64_t a, b;
} Sum;

static void compute(void *context)
{
    const Sum *sum = context;
    switch (sum->sign) {
    case '+':
        (void)i64_add(sum->a, sum->b);
        break;
    case '-':
        (void)i64_sub(sum->a, sum->b);
        break;
    case '*':
        (void)i64_mul(sum->a, sum->b);
        break;
    case 's':
        (void)size_add((size_t)sum->a, (size_t)sum->b);
        break;
    case 'm':
        (void)size_mul((size_t)sum->a, (size_t)sum->b);
        break;
    case 'a':
        (void)size_align((size_t)sum->a, (size_t)sum->b);
        break;
    default:
        (void)i32_checked(sum->a);
    }
}

static void sums_that_do_not_fit(void **state)
{
    (void)state;
    static const Sum wrong[] = {
        { '+', INT64_MAX, 1 },
        { '-', INT64_MIN, 1 },
        { '*', INT64_MAX, 2 },
        { 's', -1, 1 },
        { 'm', -1, 2 },
        { 'a', -1, 16 },
        { '3', (int64_t)INT32_MAX + 1, 0 },
        { '3', (int64_t)INT32_MIN - 1, 0 },
    };
    static const Sum right[] = {
        { '+', INT64_MAX, 0 }, { '-', INT64_MIN, 0 }, { '*', INT64_MAX, 1 },
        { 's', -2, 1 },        { 'm', -1, 1 },        { 'a', -16, 16 },
        { '3', INT32_MAX, 0 }, { '3', INT32_MIN, 0 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Sum sum = wrong[i];
        Outcome outcome = run(compute, &sum, true);
        assert_int_equal(outcome.status, STATUS_MALFORMED);
        free(outcome.text);
        sum = right[i];
        outcome = run(compute, &sum, true);
        assert_int_equal(outcome.status, 0);
        free(outcome.text);
    }
}

static void rounding_and_saturation(void **state)
{
    (void)state;
    assert_int_equal(size_align(0, 8), 0);
    assert_int_equal(size_align(1, 8), 8);
    assert_int_equal(size_align(8, 8), 8);
    assert_int_equal(i64_ceil_div(7, 2), 4);
    assert_int_equal(i64_ceil_div(-7, 2), -3);
    assert_int_equal(i64_ceil_div(6, 2), 3);
    assert_int_equal(i64_floor_div(7, 2), 3);
    assert_int_equal(i64_floor_div(-7, 2), -4);
    assert_int_equal(i64_floor_div(-6, 2), -3);
    assert_true(sat_add(INT64_MAX, 1) == INT64_MAX);
    assert_true(sat_add(INT64_MIN, -1) == INT64_MIN);
    assert_int_equal(sat_add(2, 3), 5);
    assert_true(sat_mul(INT64_MAX, 2) == INT64_MAX);
    assert_true(sat_mul(INT64_MAX, -2) == INT64_MIN);
    assert_true(sat_mul(INT64_MIN, 2) == INT64_MIN);
    assert_true(sat_mul(INT64_MIN, -2) == INT64_MAX);
    assert_int_equal(sat_mul(2, 3), 6);
    assert_int_equal(i64_max(1, 2), 2);
    assert_int_equal(i64_min(1, 2), 1);
    assert_int_equal(i64_sub(1, 2), -1);
    assert_int_equal(i32_checked(-5), -5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_a_place),
        cmocka_unit_test(unprintable_bytes_are_escaped),
        cmocka_unit_test(errors_are_collected),
        cmocka_unit_test(frames_nest),
        cmocka_unit_test(places_nest),
        cmocka_unit_test(attempts_keep_why),
        cmocka_unit_test(memory_and_first_status),
        cmocka_unit_test(without_a_frame),
        cmocka_unit_test(sums_that_do_not_fit),
        cmocka_unit_test(rounding_and_saturation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
