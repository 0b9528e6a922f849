/* SPDX-License-Identifier: 0BSD */
//@ about
#include "model.h"

//@ includes

//@ weights

//@ params

//@ refs

//@ steps

//@ segments

//@ model

int model_run(void *arena, const model_inputs *in, const model_outputs *out)
{
    void *base[MODEL_BASES];
//@ bases
    return inlay_run(&model_steps, base);
}
