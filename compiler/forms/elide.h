/* SPDX-License-Identifier: Apache-2.0
 * Copies that need not be made: the inputs of a concatenation are written in place, as parts of the
 * pixels of its result or as blocks of it; channels and rows that a slice takes are read where they
 * lie. */
#ifndef INLAY_FORMS_ELIDE_H
#define INLAY_FORMS_ELIDE_H

#include "ir/program.h"

/* What becomes of a step that copies. */
typedef enum ElideWay {
    ELIDE_NOT,
    ELIDE_IN_PLACE,
    ELIDE_BUT_FIRST, /* a concatenation of channels: its first input is copied as soon as it is made
                      */
} ElideWay;

/* How many ways there are for step of the program: 1 (none but ELIDE_NOT), 2 or 3. */
int elide_ways(const Program *program, const Step *step);
/* The program's steps anew, in `a`, way[i] being done about step i where it can be; with the
 * constants that they need. False: nothing changes, or steps jump. */
bool elide_copies(Arena *arena, const Program *program, const uint8_t *way,
                  Steps *out);

#endif
