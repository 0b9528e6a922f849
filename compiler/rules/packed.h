/* SPDX-License-Identifier: Apache-2.0
 * What the packed products of bytes of a program have: the generated file says it to
 * kernels/qout.h, so that kernels have no code for what none has. */
#ifndef INLAY_RULES_PACKED_H
#define INLAY_RULES_PACKED_H

#include "rules/rules.h"

/* Bits INLAY_QUSE_... of qout.h; 0: the step is no such product. */
int32_t packed_uses(Arena *arena, const Step *step);
/* All of them. */
extern const int32_t packed_all;
/* INLAY_QUSE_... from the lowest on, ended by NULL. */
extern const char *const packed_names[];

#endif
