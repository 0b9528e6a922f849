/* SPDX-License-Identifier: Apache-2.0
 * --region, --pin: several memories instead of one arena. */
#ifndef INLAY_CLI_REGIONS_H
#define INLAY_CLI_REGIONS_H

#include "compile.h"

/* Sets region and pin of the plan's options. What is no region fails with 64. */
/* Fails with 64 where the text is no region. */
void region_check(Arena *arena, const char *text);
void region_options(Arena *arena, const Options *options, PlanOptions *plan);

#endif
