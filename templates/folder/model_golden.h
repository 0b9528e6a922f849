/* SPDX-License-Identifier: 0BSD */
//@ about
/* One run of the model on made-up inputs, and some of the values that it should give: a test of a
 * new target, and an example of a call. For one source file; nothing else of the model needs it. */
#ifndef MODEL_GOLDEN_H
#define MODEL_GOLDEN_H

#include "model.h"

/* What model_golden() returns where the results are others. */
enum { MODEL_GOLDEN_DIFFERS = -1 };

/* Pseudo-random numbers: the next one, from the last. */
static uint32_t model_golden_next(uint32_t last)
{
    return last * UINT32_C(1664525) + UINT32_C(1013904223);
}

/* By more than `most` and that part of its size? Float arithmetic in another order differs. */
static int model_golden_differs(double got, double want, double most, double part)
{
    const double distance = got < want ? want - got : got - want;
    const double size = want < 0 ? -want : want;
    return !(distance <= most + part * size);
}

#ifndef MODEL_GOLDEN_PARTS
/* 0, a code of model_run(), or MODEL_GOLDEN_DIFFERS. */
static int model_golden(void)
{
#if MODEL_HAS_REGIONS
//@ arenas {
    static unsigned char arena_fast[MODEL_ARENA_FAST_SIZE + MODEL_ARENA_ALIGN];
//@ }
    model_arenas arenas;
    const model_arenas *arena = &arenas;
#else
    static MODEL_ARENA_ATTR unsigned char room[MODEL_ARENA_SIZE + MODEL_ARENA_ALIGN];
    unsigned char *arena = room;
#endif
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
#if MODEL_HAS_REGIONS
//@ regions {
    arenas.arena_fast = arena_fast;
//@ }
#else
    while ((uintptr_t)arena % MODEL_ARENA_ALIGN != 0)
        arena++;
#endif
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
    status = model_run(arena, &in, &out);
    if (status)
        return status;
//@ compare {
    for (i = 0; i < 1u; i++)
        wrong |= model_golden_differs((double)out0[i], want0[i], 1e-3, 1e-3);
//@ }
    return wrong ? MODEL_GOLDEN_DIFFERS : 0;
}
#endif

#endif
