/* SPDX-License-Identifier: 0BSD */
//@ about
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

//@ sizes

/* What a run returns. */
enum {
    MODEL_OK = 0,
    MODEL_E_ARG = 1,    /* the arena, the weights, an input or an output is NULL */
    MODEL_E_ALIGN = 2,  /* arena or weights are not at MODEL_ARENA_ALIGN or MODEL_WEIGHTS_ALIGN */
    MODEL_E_SHAPE = 3,  /* a value read at run time asks for another shape than was compiled */
    MODEL_E_INDEX = 4,  /* an index read at run time lies outside its tensor */
    MODEL_E_CHECK = 6,  /* built with -DINLAY_CHECK: a row that a step needs is not in the arena */
    MODEL_E_WEIGHTS = 7 /* the weights are those of another model or layout, cut off or damaged */
};

//@ structs

/* Computes the outputs from the inputs. All working memory is `arena`; what it holds before and
 * after does not matter, but for inputs and results that lie in it. Buffers may not overlap. No
 * heap, no mutable static data: calls in different arenas may run at once. */
//@ run

#ifdef __cplusplus
}
#endif
#endif
