/* SPDX-License-Identifier: Apache-2.0
 * Into a folder that cannot be exchanged each file is renamed on its own, the file it replaces
 * being kept until all are in place, so that everything can be put back. Nothing is removed that
 * was not created here. */
#include <errno.h>
#include <fcntl.h>

#include "base/output_parts.h"

/* Keeps the file that is to be replaced: a second link, or where there are none a rename. */
static void save_old(Output *o, Entry *e)
{
    e->saved = arena_printf(o->arena, ".old-%zu", (size_t)(e - o->entry.at));
    if (io_calls()->linkat(o->target, e->name, o->build, e->saved, 0) &&
        io_calls()->renameat(o->target, e->name, o->build, e->saved))
        output_fail(output_shown(o, e->name), NULL);
    e->state = SAVED;
}

static void place_file(Output *o, Entry *e)
{
    struct stat old;
    const bool there = !io_calls()->fstatat(o->target, e->name, &old, AT_SYMLINK_NOFOLLOW);
    if (!there && errno != ENOENT)
        output_fail(output_shown(o, e->name), NULL);
    if (there && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        output_fail(output_shown(o, e->name), "a folder of that name is in the way");
    }
    if (there && output_unchanged(o, e->name, &old)) {
        e->state = UNCHANGED;
        return;
    }
    if (there)
        save_old(o, e);
    if (io_calls()->renameat(o->build, e->name, o->target, e->name))
        output_fail(output_shown(o, e->name), NULL);
    e->state = there ? REPLACED : PLACED;
}

static void place_folder(Output *o, Entry *e)
{
    struct stat st;
    if (!io_calls()->mkdirat(o->target, e->name, 0777)) {
        e->state = PLACED;
        return;
    }
    if (errno != EEXIST || io_calls()->fstatat(o->target, e->name, &st, AT_SYMLINK_NOFOLLOW))
        output_fail(output_shown(o, e->name), NULL);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        output_fail(output_shown(o, e->name), "a file or link of that name is in the way");
    }
    e->state = UNCHANGED;
}

/* A file of an earlier compile goes. */
static void take_away(Output *o, const Written *former)
{
    VEC_PUSH(o->arena, &o->entry, ((Entry){ .name = former->name, .gone = true }));
    Entry *e = o->entry.at + o->entry.n - 1;
    save_old(o, e);
    if (io_calls()->unlinkat(o->target, e->name, 0) && errno != ENOENT)
        output_fail(output_shown(o, e->name), NULL);
}

void output_place(Output *o)
{
    for (size_t i = 0; i < o->entry.n; i++) {
        Entry *e = o->entry.at + i;
        if (e->file)
            place_file(o, e);
        else
            place_folder(o, e);
    }
    for (size_t i = 0; i < o->former.n; i++)
        if (output_goes(o, o->former.at + i))
            take_away(o, o->former.at + i);
    (void)io_calls()->fsync(o->target);
}

static void put_back(Output *o, const Entry *e)
{
    if (e->state == PLACED)
        (void)io_calls()->unlinkat(o->target, e->name, e->file ? 0 : AT_REMOVEDIR);
    if (e->state == REPLACED || e->state == SAVED)
        (void)io_calls()->renameat(o->build, e->saved, o->target, e->name);
}

void output_put_back(Output *o)
{
    for (size_t i = o->entry.n; i-- > 0;)
        put_back(o, o->entry.at + i);
}
