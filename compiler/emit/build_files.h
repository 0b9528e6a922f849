/* SPDX-License-Identifier: Apache-2.0
 * What makes the output folder a library of build systems: their files, a README, and a test of
 * the code on a new target. All are templates of templates/folder/. */
#ifndef INLAY_EMIT_BUILD_FILES_H
#define INLAY_EMIT_BUILD_FILES_H

#include "emit/source.h"

/* Build systems and parts that --emit names, as bits in this order; ended by NULL. */
extern const char *const build_kinds[];

/* Writes the files of these kinds (0: the usual ones). What is in the folder under such a name and
 * was not written by an earlier compile stays, with a note. Of one of several models only its test
 * is written. */
void build_files_emit(Program *program, Output *output,
                      const SourceFacts *facts, unsigned kinds);
/* The rest of it, for all models together. */
void build_files_group(const Group *group, Output *output, unsigned kinds);
/* Is a self-test among the kinds? Then the code has room for it. */
bool build_files_selftest(unsigned kinds);
/* Can there be a file of that kind for several models? */
bool build_files_for_many(int kind);

/* Can a compile of that name have written the file? */
bool build_files_name(Arena *arena, const char *file, const char *name);

#endif
