/* SPDX-License-Identifier: Apache-2.0
 * Steps that do several steps of the program, or a piece of one: their operands, one by one, and
 * the claims that do not hold. */
#include "../plan/programs.h"

#include "kernels/dwpw_f32.h"
#include "prove/joined.h"
#include "rules/rules.h"

enum { OPERANDS = 8, CHUNK = 5 };

static bool fits_always(const Step *first, const Step *second)
{
    (void)first;
    (void)second;
    return true;
}

static void join_nothing(const Step *first, const Step *second, void *params)
{
    *(inlay_dwpw_params *)params = (inlay_dwpw_params){ .channels = 3 };
    (void)first;
    (void)second;
}

static const PairRule pairs[] = {
    {
        .second = "second",
        .both = "dwpw",
        .fits = fits_always,
        .join = join_nothing,
    },
    { 0 },
};
static const KernelRules rules = { .pairs = pairs };
static const KernelRow first_kernel = { .name = "first", .rules = &rules };
static const KernelRow second_kernel = { .name = "second_f32" };

/* x -> first -> between -> second -> y, each with constants; the claim that they are one. */
typedef struct Pair {
    World w;
    Tensor *x, *between, *y;
    Step *step[2];
    ClaimStep claim;
    ClaimOperand operand[OPERANDS];
    int32_t lowered[3];
} Pair;

static Step *add_half(World *w, const KernelRow *row, Tensor *y, Tensor *x)
{
    const In in[] = {
        { x, { .kind = ROWS_SAME }, REUSE_ELEMENTWISE },
        { add_image(w, 1, 1, 1), { .kind = ROWS_ALL }, REUSE_NONE },
        { add_image(w, 1, 1, 1), { .kind = ROWS_ALL }, REUSE_NONE },
        { add_image(w, 1, 1, 1), { .kind = ROWS_ALL }, REUSE_NONE },
    };
    return add_step(w, row, y, 4, in, 0);
}

static void open_pair(Pair *pair)
{
    World *w = &pair->w;
    world_open(w, 1);
    pair->x = add_image(w, 4, 6, 3);
    pair->between = add_image(w, 4, 6, 3);
    pair->y = add_image(w, 4, 6, 7);
    pair->step[0] = add_half(w, &first_kernel, pair->between, pair->x);
    pair->step[1] = add_half(w, &second_kernel, pair->y, pair->between);
    memset(pair->operand, 0, sizeof pair->operand);
    pair->operand[OPERANDS - 1].given = true;
    pair->operand[OPERANDS - 1].row = CHUNK * 12; /* pixels of 3 int32 */
    pair->lowered[0] = 0;
    pair->lowered[1] = 1;
    pair->claim = (ClaimStep){ .units = 4 };
    pair->claim.lowered.at = pair->lowered;
    pair->claim.lowered.n = 2;
    pair->claim.operand.at = pair->operand;
    pair->claim.operand.n = OPERANDS;
}

static Step *join(Pair *pair, const char **why)
{
    World *w = &pair->w;
    return step_joined(&w->arena, &w->program, pair->step, &pair->claim, why);
}

static void operands_of_both(void **state)
{
    (void)state;
    Pair pair;
    const char *why;
    open_pair(&pair);
    Step *both = join(&pair, &why);
    assert_null(why);
    assert_string_equal(both->kernel->name, "dwpw_f32");
    assert_int_equal(both->n_operand, OPERANDS);
    assert_int_equal(both->room, OPERANDS);
    const Operand *first = pair.step[0]->operand;
    const Operand *second = pair.step[1]->operand;
    const Operand *const from[] = {
        second,     first + 1,  first + 2,  first + 3,
        second + 2, second + 3, second + 4,
    };
    for (int k = 0; k < OPERANDS - 1; k++)
        assert_ptr_equal(both->operand[k].tensor, from[k]->tensor);
    const Operand *x = both->operand + 1;
    assert_int_equal(x->reuse, REUSE_ROWS);
    assert_int_equal(x->pixels.stride, 1);
    assert_int_equal(x->pixels.extent, 1);
    assert_int_equal(x->pixels.tile, CHUNK);
    const Operand *scratch = both->operand + OPERANDS - 1;
    assert_true(scratch->scratch && scratch->read && scratch->write);
    assert_int_equal(scratch->rows, 1);
    assert_int_equal(scratch->pixel, 1);
    assert_int_equal(scratch->row_bytes, CHUNK * 12);
    assert_int_equal(tensor_bytes(scratch->tensor), CHUNK * 12);
    assert_int_equal(scratch->tensor->storage, STORE_ARENA);
    assert_int_equal(scratch->tensor->slot, -1);
    assert_int_equal(both->n_lowered, 2);
    assert_int_equal(both->lowered[0], 0);
    assert_int_equal(both->lowered[1], 1);
    const inlay_dwpw_params *params = both->params;
    assert_int_equal(params->channels, 3);
    assert_int_equal(params->chunk, CHUNK);
    world_close(&pair.w);
}

/* What the second has more stands before the scratch. */
static void more_operands_of_the_second(void **state)
{
    (void)state;
    Pair pair;
    const char *why;
    open_pair(&pair);
    Step *second = pair.step[1];
    Operand *more = NEW_ARRAY(&pair.w.arena, Operand, 6);
    ClaimOperand *claimed = NEW_ARRAY(&pair.w.arena, ClaimOperand, 9);
    memcpy(more, second->operand, 5 * sizeof *more);
    more[5] = operand_of(add_image(&pair.w, 1, 1, 1));
    second->operand = more;
    second->n_operand = 6;
    claimed[8] = pair.operand[OPERANDS - 1];
    pair.claim.operand.at = claimed;
    pair.claim.operand.n = 9;
    const Step *both = join(&pair, &why);
    assert_null(why);
    assert_int_equal(both->n_operand, 9);
    assert_ptr_equal(both->operand[6].tensor, more[4].tensor);
    assert_ptr_equal(both->operand[7].tensor, more[5].tensor);
    assert_true(both->operand[8].scratch);
    world_close(&pair.w);
}

/* Other reuse than element by element stays, with its own columns. */
static void windows_stay(void **state)
{
    (void)state;
    Pair pair;
    const char *why;
    open_pair(&pair);
    Operand *x = pair.step[0]->operand + 1;
    x->reuse = REUSE_PIXELS;
    x->pixels = (PixelRule){ .stride = 2, .pad = 1, .extent = 3, .tile = 9 };
    const Step *both = join(&pair, &why);
    assert_int_equal(both->operand[1].reuse, REUSE_PIXELS);
    assert_int_equal(both->operand[1].pixels.stride, 2);
    assert_int_equal(both->operand[1].pixels.pad, 1);
    assert_int_equal(both->operand[1].pixels.extent, 3);
    assert_int_equal(both->operand[1].pixels.tile, CHUNK);
    world_close(&pair.w);
}

static void change_rows(Pair *pair, int change)
{
    Operand *x = pair->step[1]->operand + 1;
    switch (change) {
    case 0:
        pair->claim.lowered.n = 3;
        break;
    case 1:
        pair->claim.lowered.n = 1;
        break;
    case 2:
        pair->lowered[0] = 1;
        break;
    case 3:
        x->tensor = pair->x;
        break;
    case 4:
        pair->between->view_of = pair->x;
        break;
    case 5:
        pair->between->storage = STORE_OUTPUT;
        break;
    case 6:
        pair->between->slot = 0;
        break;
    case 7:
        pair->step[0]->units = 3;
        break;
    case 8:
        pair->step[0]->operand->rows = 3;
        break;
    case 9:
        x->rows = 3;
        break;
    case 10:
        pair->step[1]->operand->rows = 3;
        break;
    case 11:
        pair->step[0]->operand->tensor = x->tensor = NULL;
        break;
    case 12:
        x->rule.kind = ROWS_ALL;
        break;
    case 13:
        x->rule = window(2, 0, 1);
        break;
    case 14:
        x->rule = window(1, 1, 1);
        break;
    case 15:
        x->rule = window(1, 0, 2);
        break;
    default:
        x->rule.kind = ROWS_UNIT;
    }
}

static void cannot_be_one(void **state)
{
    (void)state;
    enum { CHANGES = 17 };
    for (int change = 0; change < CHANGES; change++) {
        Pair pair;
        const char *why = NULL;
        open_pair(&pair);
        change_rows(&pair, change);
        assert_null(join(&pair, &why));
        assert_string_equal(why, "does steps that cannot be one");
        world_close(&pair.w);
    }
}

/* Windows of one row, and all rows of one. */
static void may_be_one(void **state)
{
    (void)state;
    Pair pair;
    const char *why;
    open_pair(&pair);
    pair.step[1]->operand[1].rule = window(1, 0, 1);
    assert_non_null(join(&pair, &why));
    assert_null(why);
    for (int k = 0; k < 2; k++) {
        pair.step[k]->units = 1;
        pair.step[k]->operand[0].rows = 1;
        pair.step[k]->operand[1].rows = 1;
    }
    pair.step[1]->operand[1].rule.kind = ROWS_ALL;
    assert_non_null(join(&pair, &why));
    assert_null(why);
    world_close(&pair.w);
}

typedef struct ScratchCase {
    int64_t row, pixel;
    bool given, constant, right;
} ScratchCase;

static void scratch_holds_pixels(void **state)
{
    (void)state;
    static const ScratchCase each[] = {
        { 12, 3, true, false, true },
        { 24, 3, true, false, true },
        { 0, 3, true, false, false },
        { 13, 3, true, false, false },
        { 12, 3, false, false, false },
        { 12, 3, true, true, false },
        { 7, 0, true, false, true },
        { 12, 0, false, false, false },
        { INT32_MAX, 0, true, false, true },
        { INT64_C(2147483640), 3, true, false, true },
        { INT64_C(2147483652), 3, true, false, false },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        Pair pair;
        const char *why;
        open_pair(&pair);
        ClaimOperand *scratch = pair.operand + OPERANDS - 1;
        scratch->row = each[i].row;
        scratch->given = each[i].given;
        scratch->constant = each[i].constant;
        pair.step[0]->operand->pixel = each[i].pixel;
        const Step *both = join(&pair, &why);
        assert_true(!!both == each[i].right);
        if (!each[i].right)
            assert_string_equal(why,
                                "has a scratch that holds no whole pixels");
        world_close(&pair.w);
    }
}

static void operands_are_counted(void **state)
{
    (void)state;
    for (size_t n = OPERANDS - 1; n < OPERANDS + 2; n++) {
        Pair pair;
        const char *why;
        open_pair(&pair);
        pair.claim.operand.n = n;
        const Step *both = join(&pair, &why);
        assert_true(!!both == (n == OPERANDS));
        if (n != OPERANDS)
            assert_string_equal(why,
                                "does not have the operands of the two steps");
        world_close(&pair.w);
    }
}

/* The copy of one of three images alone. */
static void pieces_of_a_concatenation(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x[] = { add_image(&w, 4, 6, 1), add_image(&w, 4, 6, 2),
                    add_image(&w, 4, 6, 3) };
    Tensor *y = add_concat(&w, 3, x);
    const Step *whole = w.program.step.at[0];
    const Step *again = step_again(&w.arena, &w.program, whole, 0);
    assert_ptr_not_equal(again->operand, whole->operand);
    assert_ptr_not_equal(again->params, whole->params);
    assert_int_equal(again->n_operand, 5);
    assert_int_equal(again->room, 5);
    const Step *step = step_again(&w.arena, &w.program, whole, 3);
    assert_int_equal(step->n_operand, 3);
    assert_int_equal(step->piece, 3);
    assert_ptr_equal(step->operand[0].tensor, y);
    assert_int_equal(step->operand[0].part, 3);
    assert_int_equal(step->operand[0].offset, 12);
    assert_int_equal(step->operand[0].row_bytes, 6 * 24);
    assert_true(step->operand[0].strided);
    assert_ptr_equal(step->operand[1].tensor, x[2]);
    const Operand *table = step->operand + 2;
    const int64_t *size =
        recipe_values(&w.store, &w.arena, table->tensor->value);
    assert_int_equal(*size, 12);
    assert_int_equal(tensor_count(table->tensor), 1);
    assert_int_equal(table->tensor->storage, STORE_WEIGHTS);
    assert_true(table->read);
    assert_int_equal(table->rows, 1);
    assert_int_equal(table->pixel, 1);
    assert_int_equal(table->row_bytes, 8);
    const inlay_concat_params *params = step->params;
    assert_int_equal(params->inputs, 1);
    assert_int_equal(params->bytes, 12);
    assert_int_equal(((inlay_concat_params *)whole->params)->inputs, 3);
    world_close(&w);
}

/* Of images one behind the other: a block of its bytes. */
static void pieces_that_are_blocks(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x[] = { add_image(&w, 4, 6, 1), add_image(&w, 4, 6, 2) };
    add_concat(&w, 2, x);
    Step *whole = w.program.step.at[0];
    inlay_concat_params *params = whole->params;
    params->size = 0;
    params->pieces = 1;
    whole->units = 1;
    const Step *step = step_again(&w.arena, &w.program, whole, 2);
    assert_int_equal(step->operand[0].part, 0);
    assert_int_equal(step->operand[0].offset, 4 * 6 * 4);
    assert_int_equal(step->operand[0].row_bytes, 4 * 6 * 2 * 4);
    assert_int_equal(((inlay_concat_params *)step->params)->bytes,
                     4 * 6 * 2 * 4);
    x[1]->dtype = DT_I8;
    step = step_again(&w.arena, &w.program, whole, 2);
    assert_true(step->operand[0].strided);
    x[1]->dtype = DT_I4; /* has no elements of whole bytes */
    step = step_again(&w.arena, &w.program, whole, 2);
    assert_false(step->operand[0].strided);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_both),
        cmocka_unit_test(more_operands_of_the_second),
        cmocka_unit_test(windows_stay),
        cmocka_unit_test(cannot_be_one),
        cmocka_unit_test(may_be_one),
        cmocka_unit_test(scratch_holds_pixels),
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(pieces_of_a_concatenation),
        cmocka_unit_test(pieces_that_are_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
