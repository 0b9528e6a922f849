/* SPDX-License-Identifier: Apache-2.0
 * How an operator goes along an axis whose elements come one after the other, as steps of a signal
 * do: which steps of an operand a step of the result needs (passes/stream.c). */
#ifndef INLAY_OPS_STEPS_H
#define INLAY_OPS_STEPS_H

#include "ops/ops.h"

/* What is left of a node once its operand holds only some steps. */
typedef enum StepsForm {
    STEPS_NODE,   /* the node as it is */
    STEPS_WINDOW, /* without padding along the axis */
    STEPS_PAD,    /* the same of a Pad */
    STEPS_VIEW,   /* a Reshape */
    STEPS_SLICE,  /* what it cuts of the other axes */
} StepsForm;

/* Step j of the result is made of steps j * stride - before to j * stride - before + reach - 1 of
 * the operand, and of `parts` results to a step. */
struct Stepping {
    int axis;      /* of the results */
    int64_t reach; /* 1: a step by itself */
    int64_t stride;
    int64_t before; /* padding in front; negative: steps left out */
    /* more than 1: a step becomes so many; reach and stride are 1 */
    int64_t parts;
    bool all; /* each operand has that axis */
    StepsForm form;
};

/* Of axis `axis` of operand k. False: a step of the results may need all steps, or the node is one
 * of which nothing is known. */
bool steps_along(const Node *node, int k, int axis, Stepping *steps);
/* Is operand k the same for all steps, where it is a constant? */
bool steps_shared(const Node *node, int k, const Stepping *steps);
/* What a Pad puts around its operand, by axis; false: a run decides. */
bool pad_amounts(const Node *node, int64_t *before, int64_t *after);
/* The sizes of a Split's parts; NULL: it says none, or they are known only at run time. */
const int64_t *split_parts(const Node *node, int64_t *count);

#endif
