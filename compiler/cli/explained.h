/* SPDX-License-Identifier: Apache-2.0
 * What exit statuses and messages mean, and what to do: one table for `inlay explain`, the manual
 * page and docs/TROUBLESHOOTING.md. tests/e2e/explain.py brings about each of its rows. */
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

#endif
