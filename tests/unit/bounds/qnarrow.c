/* SPDX-License-Identifier: Apache-2.0
 * The bounds of products by weights of few bits, counted by hand: bytes in flash, and those of the
 * panel that they become bytes in. */
#include "products.h"

#include "kernels/qpacked.h"

/* 8 channels become 12, 2 rows of 4 pixels; 96 weights, of 4 channels at a time. */
static const inlay_qnarrow_params whole = {
    .id = 1,
    .ih = 2,
    .iw = 4,
    .od = 1,
    .oh = 2,
    .ow = 4,
    .kd = 1,
    .kh = 1,
    .kw = 1,
    .sd = 1,
    .sh = 1,
    .sw = 1,
    .dd = 1,
    .dh = 1,
    .dw = 1,
    .groups = 1,
    .ic = 8,
    .oc = 12,
    .width = 4,
    .out = INLAY_QOUT_U8,
    .hi = 255,
    .scales = 1,
    .bits = 4,
    .middle = 8,
    .panel = 4,
};

/* Elements of each operand; 0: there is none. */
static const int64_t count[INLAY_QPANEL + 1] = { 96, 64, 96, 12, 1, 0,
                                                 0,  0,  0,  0,  0, 32 };
static const DType type[INLAY_QPANEL + 1] = {
    DT_U8,  DT_U8, DT_U4,  DT_I32, DT_F32, DT_I32,
    DT_I32, DT_U8, DT_F32, DT_F32, DT_U8,  DT_U8,
};

/* A constant, or scratch. */
static Operand operand_at(World *w, int k)
{
    if (!count[k])
        return (Operand){ .rows = 1, .pixel = 1 };
    return constant_operand(w, count[k], type[k]);
}

static Step *make_product(World *w, inlay_qnarrow_params *params)
{
    enum { IMAGES = 2, OPERANDS = INLAY_QPANEL + 1 };
    world_open(w, 1);
    Tensor *x = add_input(w, 2, 4, 8);
    Tensor *y = add_image(w, 2, 4, 12);
    x->dtype = y->dtype = DT_U8;
    const In in = { x, window(1, 0, 1), REUSE_ROWS };
    Step *step = add_step(w, kernel_find("qconv_narrow"), y, 1, &in, 0);
    Operand *operand = NEW_ARRAY(&w->arena, Operand, OPERANDS);
    memcpy(operand, step->operand, IMAGES * sizeof *operand);
    for (int k = IMAGES; k < OPERANDS; k++)
        operand[k] = operand_at(w, k);
    step->operand = operand;
    step->n_operand = OPERANDS;
    step->params = params;
    return step;
}

static const Change changes[] = {
    { 0, 4, NULL },
    { 0, 2, "its weights is of type uint4, which its kernel does not take" },
    { 0, 3, "its weights have no known number of bits" },
    { 0, 8, "its weights have no known number of bits" },
    { 1, 15, NULL },
    { 1, 16, "no weight of its stands for 0" },
    { 1, -1, "no weight of its stands for 0" },
    { 2, 8, "its panel has 32 elements, 64 are read" },
    { 2, 6, "its panels begin within blocks" },
    { 2, 0, "its panel has 32 elements, 96 are read" },
    { 2, -4, "a size is negative" },
};

static void weights_and_panels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        World w;
        inlay_qnarrow_params params = whole;
        Step *step = make_product(&w, &params);
        int32_t *const field[] = { &params.bits, &params.middle,
                                   &params.panel };
        *field[changes[i].field] = changes[i].value;
        assert_said(&w, step, changes[i].why);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_and_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
