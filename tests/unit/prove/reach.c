/* SPDX-License-Identifier: Apache-2.0
 * How far a step reaches, as stated and as its kernel says, and kernels that cannot do it. */
#include "../plan/programs.h"

#include "bounds/reach.h"
#include "prove/reach.h"

static bool wrong;
static bool left_out; /* the second step has no input */
static int64_t rows;

/* All of the result's 48 bytes; of each of the input's rows, of 12, the first 4. */
static void reaches(Bounds *bounds)
{
    bounds->wrong = wrong ? "has a part that it cannot have" : NULL;
    bounds->reach[0].name = "y";
    bounds->reach[0].hi = 48;
    bounds->reach[1].name = "x";
    bounds->reach[1].hi = 4;
    bounds->reach[1].by_row = true;
    bounds->reach[1].rows = rows;
}

static const KernelRow kernel = {
    .name = "reaches",
    .operands = "..?",
    .bounds = reaches,
};

typedef struct Stated {
    Program *program;
    Claim claim;
} Stated;

static void prove(void *context)
{
    const Stated *stated = context;
    claim_reach(stated->program, &stated->claim, "m.json");
}

/* Of two steps, of which the first is as it is stated. */
static void expect(int64_t y, int64_t x, const char *want)
{
    World w;
    char *said;
    size_t length;
    world_open(&w, 1);
    const In in = { add_image(&w, 4, 3, 1), { .kind = ROWS_ALL }, REUSE_NONE };
    ClaimOperand operand[][2] = {
        { { .reach = 48 }, { .reach = rows ? 12 * rows - 8 : 0 } },
        { { .reach = y }, { .reach = x } },
    };
    ClaimStep step[2] = { { .kernel = "reaches" }, { .kernel = "reaches" } };
    for (int i = 0; i < 2; i++) {
        add_step(&w, &kernel, add_image(&w, 4, 3, 1), 1, &in, 0);
        step[i].operand.at = operand[i];
        step[i].operand.n = 2;
    }
    if (left_out)
        w.program.step.at[1]->operand[1].tensor = NULL;
    Stated stated = { .program = &w.program };
    stated.claim.step.at = step;
    stated.claim.step.n = 2;
    Diag diag = { .out = open_memstream(&said, &length) };
    const Status status = protect(&diag, prove, &stated);
    fclose(diag.out);
    assert_int_equal(status, want ? STATUS_LIMIT : STATUS_OK);
    assert_true(!want || strstr(said, want));
    free(said);
    world_close(&w);
}

static void as_it_is_stated(void **state)
{
    (void)state;
    wrong = false;
    rows = 0;
    expect(48, 0, NULL);
    rows = 3;
    expect(48, 28, NULL);
    expect(47, 28,
           "step 1 (reaches), operand 0: it reaches 48 bytes, the "
           "manifest states 47");
    expect(48, 29, "operand 1: it reaches 28 bytes, the manifest states 29");
    expect(-1, 28, "operand 0: how far it reaches is not stated");
}

static void what_is_left_out_reaches_nothing(void **state)
{
    (void)state;
    rows = 3;
    left_out = true;
    expect(48, -1, NULL);
    left_out = false;
}

static void kernels_that_cannot(void **state)
{
    (void)state;
    wrong = true;
    expect(48, 28, "step 0 (reaches): has a part that it cannot have");
    wrong = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_is_stated),
        cmocka_unit_test(what_is_left_out_reaches_nothing),
        cmocka_unit_test(kernels_that_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
