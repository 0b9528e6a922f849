/* SPDX-License-Identifier: Apache-2.0
 * An output folder that exists is exchanged as a whole: whoever looks, and whatever ends the
 * program, finds the old files or the new ones. Files of others are in both meanwhile, by a
 * second link.
 *
 * It cannot be done where others have folders in it (they cannot have second links), where it is
 * this program's working folder (the shell's, with -o .), belongs to another user, or the file
 * system does not know how. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/folder.h"
#include "base/output_parts.h"
#include "base/signals.h"

static bool same_folder(const IoStat *a, const IoStat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_ours_to_move(Output *output, IoStat *target)
{
    IoStat here;
    return output->hidden_in == output->parent &&
           !io_calls()->fstat(output->target, target) &&
           target->st_uid == geteuid() &&
           !io_calls()->fstatat(AT_FDCWD, ".", &here, 0) &&
           !same_folder(target, &here);
}

/* ---- files of others ---- */

typedef struct Keeping {
    Output *o;
    const char *part; /* "" or "src/" */
} Keeping;

static bool goes(Output *output, const char *name)
{
    for (size_t i = 0; i < output->former.n; i++)
        if (!strcmp(output->former.at[i].name, name))
            return output_goes(output, output->former.at + i);
    return false;
}

static bool keep_one(void *context, const char *leaf)
{
    const Keeping *keeping = context;
    Output *output = keeping->o;
    const char *name = arena_printf(output->arena, "%s%s", keeping->part, leaf);
    IoStat st;
    const Entry *entry = output_find(output, name);
    if (!entry && goes(output, name))
        return true;
    if (io_calls()->fstatat(output->target, name, &st, AT_SYMLINK_NOFOLLOW))
        return false;
    if (entry)
        return !S_ISDIR(st.st_mode) == (entry->file != NULL);
    if (S_ISDIR(st.st_mode) ||
        io_calls()->linkat(output->target, name, output->build, name, 0))
        return false;
    VEC_PUSH(output->arena, &output->kept, name);
    return true;
}

static void drop_kept(Output *output)
{
    while (output->kept.n)
        (void)io_calls()->unlinkat(output->build,
                                   output->kept.at[--output->kept.n], 0);
}

static bool keep_part(Output *output, const char *folder)
{
    Keeping keeping = { output, *folder
                                    ? arena_printf(output->arena, "%s/", folder)
                                    : "" };
    const char *path = *folder ? folder : ".";
    output->listed =
        io_open(output->target, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (output->listed < 0)
        return *folder && errno == ENOENT;
    const bool all = folder_each(output->listed, keep_one, &keeping);
    io_calls()->close(output->listed);
    output->listed = -1;
    return all;
}

static bool keep_all(Output *output)
{
    if (!keep_part(output, ""))
        return false;
    for (size_t i = 0; i < output->entry.n; i++)
        if (!output->entry.at[i].file &&
            !keep_part(output, output->entry.at[i].name))
            return false;
    return true;
}

/* ---- files that are as they were ---- */

/* Those stay the very files, so that nothing is built again for them. Returns whether all are. */
static bool find_unchanged(Output *output)
{
    bool all = true;
    for (size_t i = 0; i < output->entry.n; i++) {
        Entry *e = output->entry.at + i;
        IoStat old;
        if (e->file &&
            !io_calls()->fstatat(output->target, e->name, &old,
                                 AT_SYMLINK_NOFOLLOW) &&
            output_unchanged(output, e->name, &old))
            e->state = UNCHANGED;
        all &= !e->file || e->state == UNCHANGED;
    }
    for (size_t i = 0; i < output->former.n; i++)
        all &= !output_goes(output, output->former.at + i);
    return all;
}

static const char SAME[] = ".same";

static void take_old(Output *output, const char *name)
{
    if (io_calls()->linkat(output->target, name, output->build, SAME, 0))
        return;
    if (io_calls()->renameat(output->build, SAME, output->build, name))
        (void)io_calls()->unlinkat(output->build, SAME, 0);
}

static void take_unchanged(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++)
        if (output->entry.at[i].state == UNCHANGED)
            take_old(output, output->entry.at[i].name);
}

static void forget_unchanged(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++)
        output->entry.at[i].state = NEW_FILE;
}

/* ---- the folders themselves ---- */

/* The new folder gets the mode of the old one and is on the disk before it is seen. */
static bool finish_folder(Output *output, const char *name)
{
    IoStat st;
    const int fd =
        io_open(output->build, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool fine = true;
    if (!io_calls()->fstatat(output->target, name, &st, AT_SYMLINK_NOFOLLOW))
        fine = !io_calls()->fchmod(fd, st.st_mode & 07777);
    (void)io_calls()->fsync(fd);
    io_calls()->close(fd);
    return fine;
}

static bool finish_folders(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++)
        if (!output->entry.at[i].file &&
            !finish_folder(output, output->entry.at[i].name))
            return false;
    return finish_folder(output, ".");
}

/* ---- what came while we worked ---- */

typedef struct Rescue {
    Output *o;
    int old;
    const char *part;
} Rescue;

/* A file that another put into the old folder since it was listed goes to the new one. */
static bool rescue_one(void *context, const char *leaf)
{
    const Rescue *rescue = context;
    char name[2 * NAME_MAX + 2];
    IoStat st;
    snprintf(name, sizeof name, "%s%s", rescue->part,
             leaf); /* an arena could fail: it is too late */
    if (io_calls()->fstatat(rescue->o->build, name, &st, AT_SYMLINK_NOFOLLOW) &&
        errno == ENOENT) {
        for (size_t i = 0; i < rescue->o->former.n; i++)
            if (!strcmp(rescue->o->former.at[i].name, name))
                return true;
        (void)io_calls()->renameat(rescue->old, leaf, rescue->o->build, name);
    }
    return true;
}

static void rescue(Output *output)
{
    Rescue top = { output, output->target, "" };
    (void)folder_each(output->target, rescue_one, &top);
    for (size_t i = 0; i < output->entry.n; i++) {
        if (output->entry.at[i].file)
            continue;
        const char *folder = output->entry.at[i].name;
        const int fd = io_open(output->target, folder,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        char part[NAME_MAX + 2];
        Rescue r = { output, fd, part };
        snprintf(part, sizeof part, "%s/", folder);
        if (fd < 0)
            continue;
        (void)folder_each(fd, rescue_one, &r);
        io_calls()->close(fd);
    }
}

bool output_swap(Output *output)
{
    IoStat target;
    if (!is_ours_to_move(output, &target))
        return false;
    if (find_unchanged(output))
        return true; /* nothing to do: the hidden folder goes */
    if (!keep_all(output) || !finish_folders(output)) {
        drop_kept(output);
        forget_unchanged(output);
        return false;
    }
    take_unchanged(output);
    (void)folder_lock(output->target); /* as it is about to be the hidden one */
    if (io_calls()->exchange(output->parent, output->hidden, output->base)) {
        drop_kept(output);
        forget_unchanged(output);
        return false;
    }
    (void)io_calls()->fsync(output->parent);
    rescue(output);
    return true;
}
