/* SPDX-License-Identifier: Apache-2.0
 * What the steps need in any order and with any streams. */
#ifndef INLAY_PROVE_SCHEDULES_H
#define INLAY_PROVE_SCHEDULES_H

#include "ir/program.h"

/* Bytes that no schedule of these steps goes below, whatever their order, streams, rings and
 * offsets: each step makes a first unit, and then the rows are there that it reads, or makes, its
 * scratch, and all of what is complete before and wholly read after it in every order. Nothing is
 * computed twice. */
int64_t schedules_bound(const Program *program);

#endif
