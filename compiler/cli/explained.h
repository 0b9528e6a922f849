/* SPDX-License-Identifier: Apache-2.0
 * What exit statuses, messages and the codes of generated functions mean, and what to do: one table
 * each for `inlay explain` and docs/TROUBLESHOOTING.md. tests/e2e/explain.py brings about each row
 * of statuses and messages. */
#ifndef INLAY_CLI_EXPLAINED_H
#define INLAY_CLI_EXPLAINED_H

#include "base/diag.h"

typedef struct Explained {
    const char *name;
    Status status;
    /* Of a message: its words, with ... where it has those of the model. NULL: a status itself. */
    const char *says;
    const char *what;
    const char *todo;
} Explained;

const Explained *explained_rows(int *count);

/* What a run, or another function of the generated code, returned. */
typedef struct ExplainedRun {
    const char *name; /* without the model's: E_SHAPE of KWS_E_SHAPE */
    int number;
    const char *what;
    const char *todo;
} ExplainedRun;

const ExplainedRun *explained_runs(int *count);

#endif
