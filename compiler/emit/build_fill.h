/* SPDX-License-Identifier: Apache-2.0
 * What each file of the output folder beside the code is filled with: its template's sections. */
#ifndef INLAY_EMIT_BUILD_FILL_H
#define INLAY_EMIT_BUILD_FILL_H

#include "emit/golden.h"
#include "emit/group.h"
#include "emit/template.h"

/* What the files are of: a model with its test, or several models. */
typedef struct Content {
    Arena *arena;
    Output *output;       /* with what was written so far */
    const Golden *golden; /* NULL: of several */
    const Group *group;   /* NULL: of one */
} Content;

/* The template `file`, filled in. */
typedef Text FillFunction(const Content *content, const Filling *filling,
                          const char *file);

FillFunction fill_plain;
FillFunction fill_golden;
FillFunction fill_selftest;
FillFunction fill_rust;
FillFunction fill_readme;
FillFunction fill_cmake;
FillFunction fill_meson;
FillFunction fill_pack;
FillFunction fill_example;
FillFunction fill_device;
FillFunction fill_linux;
FillFunction fill_partitions;

#endif
