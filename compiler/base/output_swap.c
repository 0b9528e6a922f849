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

static bool same_folder(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_ours_to_move(Output *o, struct stat *target)
{
    struct stat here;
    return o->hidden_in == o->parent && !io_calls()->fstat(o->target, target) &&
           target->st_uid == geteuid() && !io_calls()->fstatat(AT_FDCWD, ".", &here, 0) &&
           !same_folder(target, &here);
}

/* ---- files of others ---- */

typedef struct Keeping {
    Output *o;
    const char *part; /* "" or "src/" */
} Keeping;

static bool goes(Output *o, const char *name)
{
    for (size_t i = 0; i < o->former.n; i++)
        if (!strcmp(o->former.at[i].name, name))
            return output_goes(o, o->former.at + i);
    return false;
}

static bool keep_one(void *context, const char *leaf)
{
    const Keeping *k = context;
    Output *o = k->o;
    const char *name = arena_printf(o->arena, "%s%s", k->part, leaf);
    struct stat st;
    const Entry *e = output_find(o, name);
    if (!e && goes(o, name))
        return true;
    if (io_calls()->fstatat(o->target, name, &st, AT_SYMLINK_NOFOLLOW))
        return false;
    if (e)
        return !S_ISDIR(st.st_mode) == (e->file != NULL);
    if (S_ISDIR(st.st_mode) || io_calls()->linkat(o->target, name, o->build, name, 0))
        return false;
    VEC_PUSH(o->arena, &o->kept, name);
    return true;
}

static void drop_kept(Output *o)
{
    while (o->kept.n)
        (void)io_calls()->unlinkat(o->build, o->kept.at[--o->kept.n], 0);
}

static bool keep_part(Output *o, const char *folder)
{
    Keeping k = { o, *folder ? arena_printf(o->arena, "%s/", folder) : "" };
    const char *path = *folder ? folder : ".";
    const int fd = io_open(o->target, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return *folder && errno == ENOENT;
    const bool all = folder_each(fd, keep_one, &k);
    io_calls()->close(fd);
    return all;
}

static bool keep_all(Output *o)
{
    if (!keep_part(o, ""))
        return false;
    for (size_t i = 0; i < o->entry.n; i++)
        if (!o->entry.at[i].file && !keep_part(o, o->entry.at[i].name))
            return false;
    return true;
}

/* ---- files that are as they were ---- */

/* Those stay the very files, so that nothing is built again for them. Returns whether all are. */
static bool find_unchanged(Output *o)
{
    bool all = true;
    for (size_t i = 0; i < o->entry.n; i++) {
        Entry *e = o->entry.at + i;
        struct stat old;
        if (e->file && !io_calls()->fstatat(o->target, e->name, &old, AT_SYMLINK_NOFOLLOW) &&
            output_unchanged(o, e->name, &old))
            e->state = UNCHANGED;
        all &= !e->file || e->state == UNCHANGED;
    }
    for (size_t i = 0; i < o->former.n; i++)
        all &= !output_goes(o, o->former.at + i);
    return all;
}

static const char SAME[] = ".same";

static void take_old(Output *o, const char *name)
{
    if (io_calls()->linkat(o->target, name, o->build, SAME, 0))
        return;
    if (io_calls()->renameat(o->build, SAME, o->build, name))
        (void)io_calls()->unlinkat(o->build, SAME, 0);
}

static void take_unchanged(Output *o)
{
    for (size_t i = 0; i < o->entry.n; i++)
        if (o->entry.at[i].state == UNCHANGED)
            take_old(o, o->entry.at[i].name);
}

static void forget_unchanged(Output *o)
{
    for (size_t i = 0; i < o->entry.n; i++)
        o->entry.at[i].state = NEW_FILE;
}

/* ---- the folders themselves ---- */

/* The new folder gets the mode of the old one and is on the disk before it is seen. */
static bool finish_folder(Output *o, const char *name)
{
    struct stat st;
    const int fd = io_open(o->build, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool fine = true;
    if (!io_calls()->fstatat(o->target, name, &st, AT_SYMLINK_NOFOLLOW))
        fine = !io_calls()->fchmod(fd, st.st_mode & 07777);
    (void)io_calls()->fsync(fd);
    io_calls()->close(fd);
    return fine;
}

static bool finish_folders(Output *o)
{
    for (size_t i = 0; i < o->entry.n; i++)
        if (!o->entry.at[i].file && !finish_folder(o, o->entry.at[i].name))
            return false;
    return finish_folder(o, ".");
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
    const Rescue *r = context;
    char name[2 * NAME_MAX + 2];
    struct stat st;
    snprintf(name, sizeof name, "%s%s", r->part, leaf); /* an arena could fail: it is too late */
    if (io_calls()->fstatat(r->o->build, name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) {
        for (size_t i = 0; i < r->o->former.n; i++)
            if (!strcmp(r->o->former.at[i].name, name))
                return true;
        (void)io_calls()->renameat(r->old, leaf, r->o->build, name);
    }
    return true;
}

static void rescue(Output *o)
{
    Rescue top = { o, o->target, "" };
    (void)folder_each(o->target, rescue_one, &top);
    for (size_t i = 0; i < o->entry.n; i++) {
        if (o->entry.at[i].file)
            continue;
        const char *folder = o->entry.at[i].name;
        const int fd = io_open(o->target, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        char part[NAME_MAX + 2];
        Rescue r = { o, fd, part };
        snprintf(part, sizeof part, "%s/", folder);
        if (fd < 0)
            continue;
        (void)folder_each(fd, rescue_one, &r);
        io_calls()->close(fd);
    }
}

bool output_swap(Output *o)
{
    struct stat target;
    if (!is_ours_to_move(o, &target))
        return false;
    if (find_unchanged(o))
        return true; /* nothing to do: the hidden folder goes */
    if (!keep_all(o) || !finish_folders(o)) {
        drop_kept(o);
        forget_unchanged(o);
        return false;
    }
    take_unchanged(o);
    (void)folder_lock(o->target); /* as it is about to be the hidden one */
    if (io_calls()->exchange(o->parent, o->hidden, o->base)) {
        drop_kept(o);
        forget_unchanged(o);
        return false;
    }
    (void)io_calls()->fsync(o->parent);
    rescue(o);
    return true;
}
