/* SPDX-License-Identifier: Apache-2.0
 * Declares every function that ops.def names; each family's file includes it. */
#ifndef INLAY_OPS_FAMILIES_H
#define INLAY_OPS_FAMILIES_H

#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/ops.h"

ConstantFn no_constant; /* the operator has no recipe of its own */

#define OP(name, domain, since, until, min_in, max_in, min_out, max_out, types, flags, infer, \
           lower, constant, attributes) \
    InferFn infer; \
    LowerFn lower; \
    ConstantFn constant;
#include "ops/ops.def"
#undef OP

#endif
