/* SPDX-License-Identifier: Apache-2.0
 * Files that say what models may take: budgets, and what `inlay check --json` printed before. */
#ifndef INLAY_CLI_BUDGETS_H
#define INLAY_CLI_BUDGETS_H

#include <jansson.h>

#include "cli/verdict.h"
#include "pipeline/options.h"

/* A model to be checked, with its options and limits. */
typedef struct Budget {
    const char *model;
    Options options;
    bool limited[FIGURES];
    uint64_t most[FIGURES];
} Budget;

typedef struct Budgets {
    Budget *at;
    size_t n;
} Budgets;

/* The models of the command line: files, and lists of them, as @budgets.json. Fails with 78 where
 * a list is none. */
Budgets budgets_read(Arena *arena, const Options *options);

/* Nothing may be more than it was. */
void budgets_baseline(Arena *arena, const char *path, Budgets *budgets);

#endif
