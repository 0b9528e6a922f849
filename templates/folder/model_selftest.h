/* SPDX-License-Identifier: 0BSD */
//@ about
/* The self-test: the run of model_golden.h, and a word of 32 bits for what each step of it wrote.
 * model.c includes it where it is compiled with -DMODEL_SELFTEST. */
#ifndef MODEL_SELFTEST_H
#define MODEL_SELFTEST_H

#ifdef INLAY_CHECK
#error "-DMODEL_SELFTEST does not go with -DINLAY_CHECK, which watches the steps themselves"
#endif
#include "inlay_sums.h"

#define MODEL_GOLDEN_PARTS
#include "model_golden.h"

/* Of each step: the results whose bytes or numbers are added up. */
//@ sums {
static const inlay_sum sums0[] = {
    { .operand = 0, .kind = INLAY_SUM_F32, .size = 4, .rows = 1, .by_row = 1, .row = 12u },
};
//@ }
static const inlay_summed summed[] = {
//@ summed {
    { .step = steps + 0, .sum = sums0, .sums = 1, .base = BASES, .word = 0 },
//@ }
};
static const inlay_step summed_steps[] = {
//@ steps {
    { .run = inlay_summed_run, .params = summed + 0, .units = 1 },
//@ }
};

/* model_run() with those steps. */
static int run_summed(model_memory *arena, const model_inputs *in, const model_outputs *out,
        uint32_t *sums)
{
    model_frame frame;
    void *base[BASES + 1];
    inlay_model summing = model_steps;
    int error = take_arena(&frame, arena);
#if MODEL_HAS_WEIGHTS
    if (!error)
        error = take_weights(&frame, model_weights_data);
#endif
    if (!error)
        error = take_values(&frame, in, out);
    if (error)
        return error;
    memcpy(base, frame.base, sizeof frame.base);
    base[BASES] = sums;
    summing.step = summed_steps;
    return inlay_run(&summing, base);
}

int model_selftest(model_memory *arena, uint32_t *sums)
{
//@ buffers {
    static float in0[3];
    static float out0[3];
    static const double want0[] = { 0.5 };
//@ }
    model_inputs in;
    model_outputs out;
    uint32_t r = 1;
    uint32_t i;
    int status;
    int wrong = 0;
    if (!sums)
        return MODEL_E_ARG;
    memset(sums, 0, MODEL_STEPS * sizeof *sums);
//@ inputs {
    in.in0 = in0;
    for (i = 0; i < 3u; i++) {
        r = model_golden_next(r);
        in0[i] = (float)r;
    }
//@ }
//@ outputs {
    out.out0 = out0;
    out.out0_dims = NULL;
//@ }
    status = run_summed(arena, &in, &out, sums);
    if (status)
        return status;
//@ compare {
    for (i = 0; i < 1u; i++)
        wrong |= model_golden_differs((double)out0[i], want0[i], 1e-3, 1e-3);
//@ }
    return wrong ? MODEL_GOLDEN_DIFFERS : 0;
}

#endif
