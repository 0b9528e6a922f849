/* SPDX-License-Identifier: Apache-2.0
 * Which operators may be computed in pieces: elements first .. first + n - 1 of the results along
 * one axis from such elements of the operands. Constants of any size are computed so
 * (eval/pieces.c). */
#ifndef INLAY_OPS_CUT_H
#define INLAY_OPS_CUT_H

#include "ops/ops.h"

enum {
    CUT_WHOLE = -1, /* every piece needs all of the operand */
    CUT_NEVER = -2, /* the node has no such pieces */
};

/* The axis of operand k that is cut as the axis of the results is, or one of these. An axis from
 * the results' rank on is one that the node goes through for each of its elements: what pieces
 * along it make is brought together by the operator OpRow.join. */
int cut_axis(const Node *node, int axis, int k);

#endif
