/* SPDX-License-Identifier: Apache-2.0
 * The self-test of a model on its device (--emit=selftest): tables of what each step's word is
 * summed up from. The run itself is the golden one (emit/golden.h). */
#ifndef INLAY_EMIT_SELFTEST_H
#define INLAY_EMIT_SELFTEST_H

#include "emit/golden.h"

/* Ends with a message where the interface of the model has no place for a self-test. */
void selftest_refuse(const Emitter *emitter);

/* Parts of NAME_selftest.h: the results of each step, its summed step, and the table of these. */
Text selftest_sums(const Golden *golden);
Text selftest_summed(const Golden *golden);
Text selftest_steps(const Golden *golden);

#endif
