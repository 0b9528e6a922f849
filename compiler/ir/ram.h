/* SPDX-License-Identifier: Apache-2.0
 * What a planned program takes of RAM in all: its arena, its stack, and the caller's values. */
#ifndef INLAY_IR_RAM_H
#define INLAY_IR_RAM_H

#include "ir/program.h"

typedef struct RamUse {
    /* what changes from step to step, scratch and counters included */
    int64_t arena;
    int64_t values; /* inputs and results that lie with the caller */
    /* of a run at most; -1: not known for this family or one of its kernels */
    int64_t stack;
    int64_t total; /* all of these, without a stack that is not known */
    /* compiler and levels of optimization that the stack is of */
    const char *how;
} RamUse;

RamUse program_ram(const Program *program);

/* Bytes of stack that a call of the kernel takes at most, -1: not known. */
int64_t kernel_stack(const char *kernel, const Family *family);

#endif
