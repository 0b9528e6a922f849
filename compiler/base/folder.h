/* SPDX-License-Identifier: Apache-2.0
 * Folders under construction: what lies in one, and its removal. Nothing here fails or allocates:
 * a signal's handler may call it. */
#ifndef INLAY_BASE_FOLDER_H
#define INLAY_BASE_FOLDER_H

#include <stdbool.h>

/* Hidden folders are called ".inlay-" and 8 hexadecimal digits. */
enum { HIDDEN_NAME = 16 };
bool folder_is_hidden_name(const char *name);

/* Called for each name but . and ..; false: enough. */
typedef bool FolderVisit(void *context, const char *name);
/* false: the folder could not be read, or a visit ended it. What a visit adds or removes may be
 * seen or not. */
bool folder_each(int fd, FolderVisit *visit, void *context);

/* Removes folder `name` of folder `in` with all files in it and in two floors of folders; what
 * lies deeper stays, and then it stays. A link is removed, not followed. */
void folder_remove(int in, const char *name);
/* Takes the lock that says that the owner of an open folder lives; false: another has it. */
bool folder_lock(int fd);
/* Removes the hidden folders in `in` that are ours and whose owners are dead. */
void folder_sweep(int in);

#endif
