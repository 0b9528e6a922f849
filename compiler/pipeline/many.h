/* SPDX-License-Identifier: Apache-2.0
 * Several models into one folder: each goes through all stages by itself, one after the other, so
 * that the compiler's memory is that of the largest; then what they share is written. */
#ifndef INLAY_PIPELINE_MANY_H
#define INLAY_PIPELINE_MANY_H

#include "pipeline/compile.h"

/* Settles names and sets of models; what does not go with several models fails with 64. */
void many_begin(Compile *all);
/* Fills compile->out and compile->group, for output_commit(). Where models fail, what is wrong with
 * all of them is said. */
void compile_many(Compile *all);

#endif
