/* SPDX-License-Identifier: Apache-2.0
 * The bounds of quantization, counted by hand: elements, and the scales that go with them. */
#include "../plan/programs.h"

#include "bounds/bounds.h"
#include "kernels/quant.h"

/* x [2][6][4] with a scale and a zero point for two elements of the axis each: [2][3][4]. */
static const inlay_quant_params blocked = {
    .outer = 2,
    .axis = 6,
    .inner = 4,
    .block = 2,
    .so = 12,
    .sa = 4,
    .si = 1,
    .lo = 0,
    .hi = 255,
};

static Step *make_quantize(World *w, inlay_quant_params *params)
{
    static const DType type[] = { DT_U8, DT_F32, DT_F32, DT_U8 };
    world_open(w, 1);
    const In in[] = {
        { add_image(w, 2, 6, 4), { .kind = ROWS_ALL }, REUSE_NONE },
        { add_image(w, 2, 3, 4), { .kind = ROWS_ALL }, REUSE_NONE },
        { add_image(w, 2, 3, 4), { .kind = ROWS_ALL }, REUSE_NONE },
    };
    Tensor *y = add_image(w, 2, 6, 4);
    Step *step = add_step(w, kernel_find("quantize_u8"), y, 3, in, 0);
    step->units = 1;
    step->params = params;
    for (int k = 0; k < 4; k++) {
        Operand *operand = step->operand + k;
        operand->tensor->dtype = type[k];
        operand->rows = 1;
        operand->row_bytes = tensor_bytes(operand->tensor);
    }
    return step;
}

typedef struct Change {
    int field;
    int32_t value;
    int operand;
    const char *why; /* NULL: it is right */
} Change;

static const Change changes[] = {
    { 0, 2, 0, NULL },
    { 0, 3, 0, "its result has 48 elements, 72 are written" },
    { 0, -1, -1, "a size is negative" },
    { 1, 7, 0, "its result has 48 elements, 56 are written" },
    { 1, 5, 0, NULL },
    { 2, 5, 0, "its result has 48 elements, 60 are written" },
    { 3, 1, 2, "its scale has 24 elements, 36 are read" },
    { 3, 0, -1, "a stride or a divisor is not positive" },
    { 3, 3, 0, NULL },
    { 4, 13, 2, "its scale has 24 elements, 25 are read" },
    { 4, -12, 2, "its scale begins at 0, and is read from -12 elements on" },
    { 5, 5, 2, "its scale has 24 elements, 26 are read" },
    { 6, 2, 2, "its scale has 24 elements, 27 are read" },
};

static void elements_and_scales(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        World w;
        inlay_quant_params params = blocked;
        Step *step = make_quantize(&w, &params);
        int32_t *const field[] = { &params.outer, &params.axis, &params.inner,
                                   &params.block, &params.so,   &params.sa,
                                   &params.si };
        *field[changes[i].field] = changes[i].value;
        const BoundsFault fault = bounds_object(&w.arena, &w.program, step);
        if (changes[i].why) {
            assert_non_null(fault.why);
            assert_string_equal(fault.why, changes[i].why);
            assert_int_equal(fault.operand, changes[i].operand);
        } else {
            assert_null(fault.why);
        }
        world_close(&w);
    }
}

/* One scale for all is one, whatever the sizes; a short zero point is seen. */
static void one_scale(void **state)
{
    (void)state;
    World w;
    inlay_quant_params params = blocked;
    Step *step = make_quantize(&w, &params);
    params.so = 0;
    params.sa = 0;
    params.si = 0;
    for (int k = 2; k < 4; k++) {
        step->operand[k].tensor->shape = shape_vector(1);
        step->operand[k].row_bytes = tensor_bytes(step->operand[k].tensor);
    }
    assert_null(bounds_object(&w.arena, &w.program, step).why);
    params.si = 1;
    step->operand[2].tensor->shape = shape_vector(4);
    step->operand[2].row_bytes = 16;
    assert_string_equal(bounds_object(&w.arena, &w.program, step).why,
                        "its zero point has 1 elements, 4 are read");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_and_scales),
        cmocka_unit_test(one_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
