/* SPDX-License-Identifier: 0BSD */
//@ about
#include "model.h"

#ifdef MODEL_ON_STEP
/* -DMODEL_ON_STEP=FUNCTION: it comes after each call of a step of the model that runs, which of a
 * stream are many. */
void MODEL_ON_STEP(int32_t step);
#define INLAY_ON_STEP(step) MODEL_ON_STEP(step)
#endif
/* The runtime and the kernels of all models, once. */
//@ includes {
#include "inlay.h"
//@ }

/* Of each model its tables and functions. */
//@ models {
#include "example.h"
//@ }
