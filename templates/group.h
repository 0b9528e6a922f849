/* SPDX-License-Identifier: 0BSD */
//@ about
#ifndef MODEL_H
#define MODEL_H

//@ headers {
#include "example.h"
//@ }

/* One arena for all models: everything of them that changes at run time. */
//@ sizes {
#define MODEL_ARENA_SIZE 256u
#define MODEL_ARENA_ALIGN 16u
//@ }

/* For definitions of the arena: a section of your linker's script, where you define this before or
 * by -D. */
#ifndef MODEL_ARENA_ATTR
#define MODEL_ARENA_ATTR
#endif

/* Where each model's arena begins in it: the address that its functions take, which is aligned as
 * they want it. The models run one after the other, each run to its end, slices and rows included,
 * before another begins: results and inputs that lie in an arena are gone then, states are not. */
//@ together {
/* Alive at once: a, b. */
//@ }
//@ offsets {
#define MODEL_KWS_OFFSET 0u
//@ }

#endif
