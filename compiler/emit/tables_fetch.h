/* SPDX-License-Identifier: Apache-2.0
 * The tables of steps that read their constants through a window. */
#ifndef INLAY_EMIT_TABLES_FETCH_H
#define INLAY_EMIT_TABLES_FETCH_H

#include "emit/text.h"
#include "ir/program.h"

/* The step whose parameters its kernel is given: itself, or a piece of it. */
const Step *table_own(Arena *arena, const Step *step);
/* What it fetches, as piecesN; `params` is the number of the parameters of a piece, `end` the
 * fields of those of the last one. */
void table_fetch(Text *text, const Step *step, int params, const char *end);
/* Of a step that decodes, codedN and decodingN, behind piecesN. */
void table_coded(Text *text, const Step *step);
/* The end of the comment, kernel and parameters of its row. */
void table_fetch_row(Text *text, const Program *program, const Step *step);

#endif
