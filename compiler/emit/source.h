/* SPDX-License-Identifier: Apache-2.0
 * NAME.h and NAME.c, and the runtime's headers they include. Knows no operator by name. */
#ifndef INLAY_EMIT_SOURCE_H
#define INLAY_EMIT_SOURCE_H

#include "base/io.h"
#include "emit/weights.h"
#include "ir/program.h"

/* The program must be planned, its weights laid out, and linked. `form` is that of the weights, not
 * WEIGHTS_AUTO. With `checks` NAME_plan_check.h is written, too, which -DINLAY_CHECK needs. */
void emit_source(const Program *program, Output *output, const char *name,
                 WeightsForm form, bool checks);

#endif
