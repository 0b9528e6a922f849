/* SPDX-License-Identifier: Apache-2.0
 * The tables by which a program built with -DINLAY_CHECK watches its own plan
 * (runtime/inlay_check.h). */
#ifndef INLAY_EMIT_CHECK_TABLES_H
#define INLAY_EMIT_CHECK_TABLES_H

#include "emit/text.h"
#include "ir/program.h"

/* In #ifdef INLAY_CHECK: of each step's operands the rule of their rows, and the lives of the
 * tensors. */
Text check_tables(Arena *arena, const Program *program);
/* What the C compiler can check of the plan: tensors lie aligned and within the arena, element
 * types have their sizes. */
Text check_asserts(Arena *arena, const Program *program, const char *name, const char *upper);
/* The rest of the inlay_model's initializer, in #ifdef INLAY_CHECK. */
Text check_members(Arena *arena, const Program *program);

#endif
