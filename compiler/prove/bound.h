/* SPDX-License-Identifier: Apache-2.0
 * The lower bound of a plan, counted again from the lives of its rows. */
#ifndef INLAY_PROVE_BOUND_H
#define INLAY_PROVE_BOUND_H

#include "ir/program.h"

/* Bytes that no placement goes below, whatever the offsets: with this order, these streams, rings
 * and scratch, all of whole alignments, apart from each other; only what dies in a step or a stream
 * may lie under what is born in it, row by row. The program is planned and linked. */
int64_t plan_lower_bound(const Program *program);

#endif
