/* SPDX-License-Identifier: Apache-2.0
 * States of a model whose runs are given lengths: one place in the arena, whatever the length. */
#ifndef INLAY_PIPELINE_LENGTHS_STATES_H
#define INLAY_PIPELINE_LENGTHS_STATES_H

#include "ir/lengths.h"

/* The planned program, whose plan is that of a new variant at `combination`, has its states at the
 * beginning of the arena, one behind the other, as all variants have; status 69 where one of them
 * has another size than in the first variant. */
void lengths_place_states(const Lengths *lengths, Program *program,
                          int32_t combination);

#endif
