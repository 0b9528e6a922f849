/* SPDX-License-Identifier: Apache-2.0
 * Is a file what it was, without reading it? A file system says of each which one it is, how long,
 * and when it was changed; who writes to a file cannot keep the last from moving on. That answer
 * is taken only where so much time lay between the change and the look at it that a second change
 * would have another time. */
#ifndef INLAY_BASE_STATE_H
#define INLAY_BASE_STATE_H

#include "base/io.h"

typedef struct FileState {
    int64_t device, node, size;
    int64_t modified, changed; /* nanoseconds of the clock */
} FileState;

FileState file_state(const File *file);
bool state_is_equal(const FileState *a, const FileState *b);
/* At time `at`, was the last change long enough ago? */
bool state_is_settled(const FileState *state, int64_t at);
/* Of the clock that files have, in nanoseconds. */
int64_t state_now(void);

/* A regular file, opened; NULL: there is none that can be. */
File *file_try(Arena *arena, const char *path);
/* Takes the place of what is there; both of one folder. Status 73. */
void file_rename(const char *from, const char *to);
/* Makes the folder, and those on the way to it. Status 73. */
void folder_make(Arena *arena, const char *path);

#endif
