/* SPDX-License-Identifier: Apache-2.0
 * Templates are files of the language that they make, and can be read and compiled as they stand:
 *
 *   //@ name         the line is replaced by the section of that name
 *   //@ name {       this line and what follows, an example, up to the line `//@ }` are replaced
 *   //@ {            the same, by nothing
 *   #@ name          the same as the first, in languages whose comments begin with #
 *   #if MODEL_X      up to #else or #endif: only where the condition MODEL_X is met; `#if !MODEL_X`
 *
 * Words of the filling's list are replaced as wholes. Other identifiers that begin with model_ or
 * MODEL_ take the model's prefix, as do file names that begin with `model.`. */
#ifndef INLAY_EMIT_TEMPLATE_H
#define INLAY_EMIT_TEMPLATE_H

#include <stdbool.h>

#include "emit/text.h"

typedef struct Section {
    const char *name;
    Text text;
} Section;

typedef struct Condition {
    const char *name;
    bool met;
} Condition;

typedef struct Word {
    const char *name;
    const char *with;
} Word;

/* What a template is filled with. Lists end with a NULL name. */
typedef struct Filling {
    const char *model;
    const Word *word;           /* may be NULL */
    const Condition *condition; /* may be NULL */
    const Section *section;     /* each must be used, and none may be missing */
} Filling;

/* The template built in as `file`, filled in. What template_fault() finds is our bug (assert). */
Text template_fill(Arena *arena, const char *file, const Filling *filling);
/* The same of a template's text. */
Text template_filled(Arena *arena, const char *text, const Filling *filling);

/* Of a template's text: a mark without section or condition, a section that no mark names, an
 * example or condition without end. NULL: all fits. */
const char *template_fault(Arena *arena, const char *text,
                           const Filling *filling);

#endif
