/* SPDX-License-Identifier: Apache-2.0
 * The model of a compile under way, compiled once more beside it with other options. */
#ifndef INLAY_PIPELINE_RECOMPILE_H
#define INLAY_PIPELINE_RECOMPILE_H

#include "pipeline/state.h"

typedef struct Recompile {
    Compile compile;
    Options options; /* may be changed between open and run */
    Stage last;      /* of those that run */
} Recompile;

/* With the options of `beside`, without its progress and its hashes. Whatever becomes of it, it is
 * to be closed. */
void recompile_open(const Compile *beside, Recompile *again, Stage last);
/* 0, or the status of what failed; `quiet`: nothing is printed. */
Status recompile_run(Recompile *again, bool quiet);
void recompile_close(Compile *beside, Recompile *again);

#endif
