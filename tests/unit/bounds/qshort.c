/* SPDX-License-Identifier: Apache-2.0
 * The bounds of products of numbers of 16 bits, counted by hand. */
#include "products.h"

#include "kernels/qshort_params.h"

/* 6 channels become 5, 2 rows of 4 pixels, windows of 1 x 3: 18 taps, filled up to 20. */
static const inlay_qshort_params whole = {
    .id = 1,
    .ih = 2,
    .iw = 4,
    .od = 1,
    .oh = 2,
    .ow = 4,
    .kd = 1,
    .kh = 1,
    .kw = 3,
    .sd = 1,
    .sh = 1,
    .sw = 1,
    .dd = 1,
    .dh = 1,
    .dw = 1,
    .pw = 1,
    .groups = 1,
    .ic = 6,
    .oc = 5,
    .width = 4,
    .lo = -32768,
    .hi = 32767,
    .scales = 8,
    .gather = 2,
};

enum { OPERANDS = 6 };

/* Elements of each operand: 8 channels of 20 weights, their biases, factors and places, and the
 * windows of two pixels. */
static const int64_t count[OPERANDS] = { 40, 48, 160, 8, 16, 40 };
static const DType type[OPERANDS] = { DT_I16, DT_U16, DT_I8,
                                      DT_I32, DT_I32, DT_U16 };

static Step *make_product(World *w, inlay_qshort_params *params)
{
    enum { IMAGES = 2 };
    world_open(w, 1);
    Tensor *x = add_input(w, 2, 4, 6);
    Tensor *y = add_image(w, 2, 4, 5);
    x->dtype = DT_U16;
    y->dtype = DT_I16;
    const In in = { x, window(1, 0, 1), REUSE_ROWS };
    Step *step = add_step(w, kernel_find("qconv_short"), y, 1, &in, 0);
    Operand *operand = NEW_ARRAY(&w->arena, Operand, OPERANDS);
    memcpy(operand, step->operand, IMAGES * sizeof *operand);
    for (int k = 0; k < IMAGES; k++)
        operand[k].row_bytes = tensor_bytes(operand[k].tensor) / 2;
    for (int k = IMAGES; k < OPERANDS; k++)
        operand[k] = constant_operand(w, count[k], type[k]);
    step->operand = operand;
    step->n_operand = OPERANDS;
    step->params = params;
    return step;
}

static const Change changes[] = {
    { 0, 4, NULL },
    { 0, 8, "it has blocks of another width than its kernel" },
    { 0, 16, "it has another number of scales than channels" },
    { 1, 1, NULL },
    { 1, 2, "its weights are packed in no known way" },
    { 2, 1, NULL },
    { 2, 0, "it gathers no windows, but has to" },
    { 2, 7, NULL },
    { 3, 1, NULL },
    { 3, 9, "it has another number of scales than channels" },
    { 4, 0x8000, NULL },
    { 4, 128, "it has codes of no known kind" },
    { 5, 32768, "a zero point is no code" },
    { 6, 40000, "its results are no codes" },
    { 7, 4, "its weights has 160 elements, 192 are read" },
};

static void weights_and_windows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        World w;
        inlay_qshort_params p = whole;
        Step *step = make_product(&w, &p);
        int32_t *const field[] = { &p.width, &p.crossed, &p.gather, &p.scales,
                                   &p.flip,  &p.zero,    &p.hi,     &p.kw };
        *field[changes[i].field] = changes[i].value;
        assert_said(&w, step, changes[i].why);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_and_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
