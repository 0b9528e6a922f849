/* SPDX-License-Identifier: Apache-2.0
 * How the generated code watches its own plan: what the C compiler can check of it, and the tables
 * of NAME_plan_check.h for a program built with -DINLAY_CHECK (runtime/inlay_check.h). */
#ifndef INLAY_EMIT_CHECK_TABLES_H
#define INLAY_EMIT_CHECK_TABLES_H

#include "emit/emitter.h"

/* Assertions of NAME.c: the header is that of the same compile. */
Text check_asserts(const Emitter *emitter);
/* The same: each tensor lies aligned and within its memory. */
Text check_places(const Emitter *emitter);

/* The sections of NAME_plan_check.h. */
typedef struct CheckTables {
    Text rules;  /* of each step's operands */
    Text steps;  /* the names of those tables */
    Text counts; /* and their lengths */
    Text lives;
    Text areas;
    Text tags;
} CheckTables;
CheckTables check_tables(const Emitter *emitter);

#endif
