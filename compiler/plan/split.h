/* SPDX-License-Identifier: Apache-2.0
 * Steps that threads share. */
#ifndef INLAY_PLAN_SPLIT_H
#define INLAY_PLAN_SPLIT_H

#include "plan/trial.h"

/* Sets Step.split, and Operand.copied of their scratch. The offsets are there. */
void split_steps(const Trial *trial, Program *program);

#endif
