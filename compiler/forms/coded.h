/* SPDX-License-Identifier: Apache-2.0
 * Weights that are coded in flash (--code-weights): which of them, and their bytes. The payloads go
 * by in pieces, twice: once they are counted, once they are coded. */
#ifndef INLAY_FORMS_CODED_H
#define INLAY_FORMS_CODED_H

#include "ir/program.h"

/* Chooses by the bytes that it saves which constants are coded (WeightSlot.coded): of a program as
 * it was lowered, before fetch_steps(). */
void coded_choose(Program *program);
/* Codes those that steps fetch into Program.coded, and fills in where the pieces of those steps
 * begin. */
void coded_write(Program *program);

#endif
