/* SPDX-License-Identifier: Apache-2.0
 * Into a folder that cannot be exchanged each file is renamed on its own, the file it replaces
 * being kept until all are in place, so that everything can be put back. Nothing is removed that
 * was not created here. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/output_parts.h"

/* The name among the new files of one that was there before. */
static void name_saved(Output *output, Entry *e)
{
    e->saved =
        arena_printf(output->arena, ".old-%zu", (size_t)(e - output->entry.at));
}

/* Keeps the file that is to be replaced: a second link, or where there are none a rename. */
static void save_old(Output *output, Entry *e)
{
    name_saved(output, e);
    if (io_calls()->linkat(output->target, e->name, output->build, e->saved,
                           0) &&
        io_calls()->renameat(output->target, e->name, output->build, e->saved))
        output_fail(output_shown(output, e->name), NULL);
    e->state = SAVED;
}

static void place_file(Output *output, Entry *entry)
{
    IoStat old;
    const bool there = !io_calls()->fstatat(output->target, entry->name, &old,
                                            AT_SYMLINK_NOFOLLOW);
    if (!there && errno != ENOENT)
        output_fail(output_shown(output, entry->name), NULL);
    if (there && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        output_fail(output_shown(output, entry->name),
                    "a folder of that name is in the way");
    }
    if (there && output_unchanged(output, entry->name, &old)) {
        entry->state = UNCHANGED;
        return;
    }
    if (there)
        save_old(output, entry);
    if (io_calls()->renameat(output->build, entry->name, output->target,
                             entry->name))
        output_fail(output_shown(output, entry->name), NULL);
    entry->state = there ? REPLACED : PLACED;
}

static void place_folder(Output *output, Entry *entry)
{
    IoStat st;
    if (!io_calls()->mkdirat(output->target, entry->name, 0777)) {
        entry->state = PLACED;
        return;
    }
    if (errno != EEXIST || io_calls()->fstatat(output->target, entry->name, &st,
                                               AT_SYMLINK_NOFOLLOW))
        output_fail(output_shown(output, entry->name), NULL);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        output_fail(output_shown(output, entry->name),
                    "a file or link of that name is in the way");
    }
    entry->state = UNCHANGED;
}

/* A file of an earlier compile goes, by a rename: where files can be removed no more, those that
 * were put in place could not be taken back either. */
static void take_away(Output *output, const Written *former)
{
    VEC_PUSH(output->arena, &output->entry,
             ((Entry){ .name = former->name, .gone = true }));
    Entry *e = output->entry.at + output->entry.n - 1;
    name_saved(output, e);
    if (!io_calls()->renameat(output->target, e->name, output->build, e->saved))
        e->state = SAVED;
    else if (errno != ENOENT)
        output_fail(output_shown(output, e->name), NULL);
}

/* The folders before the slashes of a file that went: those that are empty go too. */
static void drop_folders(Output *output, const char *name)
{
    char folder[PATH_MAX]; /* an arena could fail: it is too late */
    assert(strlen(name) < sizeof folder); /* the file was there */
    strcpy(folder, name);
    for (char *at = strrchr(folder, '/'); at; at = strrchr(folder, '/')) {
        *at = 0;
        (void)io_calls()->unlinkat(output->target, folder, AT_REMOVEDIR);
    }
}

/* Nothing fails after this. */
static void drop_empty(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++)
        if (output->entry.at[i].gone)
            drop_folders(output, output->entry.at[i].name);
}

void output_place(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++) {
        Entry *e = output->entry.at + i;
        if (e->file)
            place_file(output, e);
        else
            place_folder(output, e);
    }
    for (size_t i = 0; i < output->former.n; i++)
        if (output_goes(output, output->former.at + i))
            take_away(output, output->former.at + i);
    drop_empty(output);
    (void)io_calls()->fsync(output->target);
}

/* Where renames have begun to fail. */
static void link_back(const Output *output, const Entry *entry)
{
    (void)io_calls()->unlinkat(output->target, entry->name, 0);
    (void)io_calls()->linkat(output->build, entry->saved, output->target,
                             entry->name, 0);
}

static void put_back(Output *output, const Entry *entry)
{
    if (entry->state == PLACED)
        (void)io_calls()->unlinkat(output->target, entry->name,
                                   entry->file ? 0 : AT_REMOVEDIR);
    if ((entry->state == REPLACED || entry->state == SAVED) &&
        io_calls()->renameat(output->build, entry->saved, output->target,
                             entry->name))
        link_back(output, entry);
}

void output_put_back(Output *output)
{
    for (size_t i = output->entry.n; i-- > 0;)
        put_back(output, output->entry.at + i);
}
