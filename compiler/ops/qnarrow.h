/* SPDX-License-Identifier: Apache-2.0
 * Packed weights of 4 or 2 bits, of which some channels at a time become bytes when it runs. */
#ifndef INLAY_OPS_QNARROW_H
#define INLAY_OPS_QNARROW_H

#include "ops/qlayout.h"

typedef struct inlay_qnarrow_params inlay_qnarrow_params;

/* What is taken off weights of this type so that bytes with a sign hold them. */
int32_t qnarrow_off(DType type);
/* The parameters of a step with such weights. */
inlay_qnarrow_params qnarrow_params(const Packing *packing);
/* Its weights, of those that are packed as bytes. */
Recipe *qnarrow_packed(const Packing *packing, const Recipe *bytes);
/* Adds its panel, the last operand. */
void qnarrow_panel(Lower *lower, Step *step);
/* Does a step of packed weights make a row pixel by pixel? Not with several panels: then no byte of
 * the row may lie over one that it is made of. */
bool qnarrow_by_pixel(const Step *step);

#endif
