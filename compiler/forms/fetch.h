/* SPDX-License-Identifier: Apache-2.0
 * Weights that are streamed: steps that read their constants into a window of the arena before they
 * run. Those that fit into it are read as they are; of larger ones so many channels of the result
 * at a time as fit, where the kernel says that it can make some by themselves. */
#ifndef INLAY_FORMS_FETCH_H
#define INLAY_FORMS_FETCH_H

#include "ir/program.h"

typedef struct FetchOptions {
    int64_t window;   /* bytes that a step's window has at most */
    int64_t resident; /* bytes of constants that stay where pointers reach */
    /* steps are not to be made unit by unit, which would read them again */
    bool whole;
    /* only constants that are coded (forms/coded.h) are fetched; what fits no window is not coded,
     * whatever `resident` is */
    bool coded;
    const int64_t *room; /* then the window of each step; NULL: `window` */
} FetchOptions;

/* Changes steps of a program as it was lowered, and fills in program->stream. Constants of which no
 * step fetches all that it reads stay in the code: those that kernels believe, those of loops and
 * branches, little ones, and what was asked for, where it saves most. A constant that fits no
 * window fails with 69. */
void fetch_steps(Program *program, const FetchOptions *options);
/* Is the operand fetched? */
bool fetch_has(const Step *step, int operand);

#endif
