/* SPDX-License-Identifier: Apache-2.0
 * The figures for people: a line per step and the totals, 80 columns. */
#ifndef INLAY_EMIT_REPORT_H
#define INLAY_EMIT_REPORT_H

#include "emit/text.h"
#include "ir/program.h"

Text report_text(const Program *program, const char *name);

#endif
