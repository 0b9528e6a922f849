/* SPDX-License-Identifier: Apache-2.0
 * Where a manifest has inputs and results, against where they lie. */
#include "../plan/programs.h"

#include "prove/values.h"

enum { AT = 64, BYTES = 48, SIZE = AT + BYTES };

/* y, of 48 bytes of region 1, is the only result; the claim has it there. */
typedef struct Values {
    World w;
    Tensor *x, *y;
    Claim claim;
    int64_t offset[2];
    int region[2];
    int32_t placed[8];
} Values;

static void open_values(Values *values)
{
    static const RegionUse regions[] = { { .size = SIZE }, { .size = SIZE } };
    World *w = &values->w;
    memset(values, 0, sizeof *values);
    world_open(w, 1);
    values->x = add_input(w, 4, 3, 1);
    values->y = add_image(w, 4, 3, 1);
    make_output(w, values->y);
    values->x->storage = values->y->storage = STORE_ARENA;
    values->y->offset = values->offset[1] = AT;
    values->y->region = values->region[1] = 1;
    for (size_t i = 0; i < 2; i++)
        VEC_PUSH(&w->arena, &w->program.plan.region, regions[i]);
    values->claim.align = 4;
}

static void match(void *context)
{
    Values *values = context;
    Claim *claim = &values->claim;
    const Loc loc = { .file = "m.json", .byte = -1, .node = -1 };
    claim->in_offset.at = values->offset;
    claim->in_region.at = values->region;
    claim->out_offset.at = values->offset + 1;
    claim->out_region.at = values->region + 1;
    claim->in_offset.n = claim->in_region.n = 1;
    claim->out_offset.n = claim->out_region.n = 1;
    claim_match_values(&values->w.program, claim, values->placed, loc);
}

static void expect(Values *values, const char *want)
{
    char *said;
    size_t length;
    Diag diag = { .out = open_memstream(&said, &length) };
    const Status status = protect(&diag, match, values);
    fclose(diag.out);
    assert_int_equal(status, want ? STATUS_LIMIT : STATUS_OK);
    assert_true(!want || strstr(said, want));
    free(said);
    world_close(&values->w);
}

static void change(Values *values, int change)
{
    switch (change) {
    case 1:
        values->offset[1] = AT - 4;
        break;
    case 2:
        values->region[1] = 0;
        break;
    case 3:
        values->claim.align = 128;
        break;
    case 4:
        values->y->view_of = values->x;
        break;
    case 5:
        values->w.program.plan.region.at[1].size--;
        break;
    default:
        break;
    }
}

static void results_lie_in_one_place(void **state)
{
    (void)state;
    enum { CHANGES = 6 };
    for (int i = 0; i < CHANGES; i++) {
        Values values;
        open_values(&values);
        change(&values, i);
        expect(&values, i ? "output 0 does not lie at " : NULL);
    }
}

/* What no step touches lies where the manifest says, if there is room. */
static void untouched_ones_take_their_place(void **state)
{
    (void)state;
    for (int beyond = 0; beyond < 2; beyond++) {
        Values values;
        open_values(&values);
        values.placed[values.y->id] = -1;
        values.y->offset = 0;
        values.y->region = 0;
        values.offset[1] += 4 * beyond;
        expect(&values, beyond ? "output 0 does not lie at 68" : NULL);
    }
}

/* An input that a step waits for has no place. */
static void rows_have_no_place(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        Values values;
        open_values(&values);
        World *w = &values.w;
        const In in = { values.x, { .kind = ROWS_SAME }, REUSE_NONE };
        Step *step = add_step(w, &kernel_op, values.x, 1, &in, 0);
        step->pushed = i < 2;
        values.offset[0] = i % 2 ? BY_ROWS : 0;
        expect(&values, i == 0   ? "input 0 comes row by row"
                        : i == 3 ? "input 0 does not come row by row"
                                 : NULL);
    }
}

/* Both with the caller, or in the arena. */
static void who_has_them(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        Values values;
        open_values(&values);
        values.x->storage = i & 1 ? STORE_ARENA : STORE_INPUT;
        values.offset[0] = i & 2 ? 0 : WITH_CALLER;
        expect(&values, i == 1   ? "input 0 lies in the arena"
                        : i == 2 ? "input 0 lies in the caller's buffer"
                                 : NULL);
    }
}

static void match_none(void *context)
{
    const Loc loc = { .file = "m.json", .byte = -1, .node = -1 };
    Values *values = context;
    claim_match_values(&values->w.program, &values->claim, values->placed, loc);
}

static void as_many_as_there_are(void **state)
{
    (void)state;
    Diag diag = { .quiet = true };
    Values values;
    open_values(&values);
    assert_int_equal(protect(&diag, match_none, &values), STATUS_CONFIG);
    world_close(&values.w);
}

/* The result is the next run's input, and lies with that. */
static void states_lie_with_their_inputs(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        Values values;
        open_values(&values);
        World *w = &values.w;
        VEC_PUSH(&w->arena, &w->graph->state, ((State){ .out = 0, .in = 0 }));
        values.x->state = values.y->state = true;
        values.y->view_of = values.x;
        values.offset[1] = i == 1 ? 4 : 0;
        values.region[1] = i == 2;
        expect(&values, i ? "output 0 is a state and does not lie" : NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_lie_in_one_place),
        cmocka_unit_test(untouched_ones_take_their_place),
        cmocka_unit_test(rows_have_no_place),
        cmocka_unit_test(who_has_them),
        cmocka_unit_test(as_many_as_there_are),
        cmocka_unit_test(states_lie_with_their_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
