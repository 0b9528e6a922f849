/* SPDX-License-Identifier: Apache-2.0
 * Output folders: built in a hidden folder beside the target, which is locked while its owner
 * lives, and put in place as a whole where that can be (output_swap.c), else file by file
 * (output_place.c). What lies in them already is read in output_examine.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/folder.h"
#include "base/output_parts.h"
#include "base/signals.h"

_Noreturn void output_fail(const char *path, const char *help)
{
    Loc loc = LOC_NONE;
    loc.file = path;
    fail_at(STATUS_CANNOT_CREATE, loc, help, "cannot create: %s",
            strerror(errno));
}

/* The same before there is anything for the caller to abort. */
static _Noreturn void fail_begin(Output *output, const char *help)
{
    const int error = errno;
    output_abort(output);
    errno = error;
    output_fail(output->dir, help);
}

static int open_folder(int in, const char *path, int flags)
{
    return io_open(in, path, O_RDONLY | O_DIRECTORY | flags);
}

/* Opens the deepest folder there is before the name of `own`, and cuts `own` behind it; what is
 * left, returned, may begin with folders that are still to be made. */
static char *open_parent(Output *output, char *own)
{
    char *slash = strrchr(own, '/');
    char *base = slash ? slash + 1 : own;
    while (slash) {
        *slash = 0;
        output->parent = open_folder(AT_FDCWD, slash == own ? "/" : own, 0);
        if (output->parent >= 0 || errno != ENOENT || slash == own)
            return base;
        char *outer = strrchr(own, '/');
        *slash = '/';
        base = outer ? outer + 1 : own;
        base += strspn(base, "/");
        slash = outer;
    }
    output->parent = open_folder(AT_FDCWD, ".", 0);
    return base;
}

/* The path of a new folder ends with its name: what could not be renamed to is refused at once. */
static void check_base(Output *output)
{
    const char *slash = strrchr(output->base, '/');
    const char *name = slash ? slash + 1 : output->base;
    if (*name && strcmp(name, ".") && strcmp(name, ".."))
        return;
    errno = ENOENT;
    fail_begin(output, NULL);
}

/* Splits the target into parent and base; a folder that exists is taken by its real path. */
static void open_target(Output *output)
{
    char path[PATH_MAX];
    const bool exists = io_real_path(output->dir, path, sizeof path);
    if (!exists && errno == ENOMEM)
        fail_memory(PATH_MAX, "the output folder's path does not fit");
    const char *found = exists ? path : output->dir;
    char *own = arena_text(output->arena, found, strlen(found));
    size_t n = strlen(own);
    while (n > 1 && own[n - 1] == '/')
        own[--n] = 0;
    if (exists && (output->target = open_folder(AT_FDCWD, own, 0)) < 0)
        fail_begin(output, "name a folder with -o");
    output->base = open_parent(output, own);
    if (output->parent < 0 && !exists)
        fail_begin(output, NULL);
    if (!exists)
        check_base(output);
}

/* Beside and within the target rename() must work: both in the same file system. */
static bool same_device(int a, int b)
{
    IoStat x, y;
    return a >= 0 && !io_calls()->fstat(a, &x) && !io_calls()->fstat(b, &y) &&
           x.st_dev == y.st_dev;
}

/* The open folder is ours alone, and is still there: another may have swept it away between its
 * making and its lock. Where there are no locks it is trusted. */
static bool is_taken(int fd)
{
    IoStat st;
    if (!folder_lock(fd) && errno == EWOULDBLOCK)
        return false;
    if (io_calls()->fstat(fd, &st))
        return false;
    errno = ENOENT;
    return st.st_nlink;
}

/* Makes the folder; a signal finds it made and guarded, or neither. */
static bool make_guarded(int in, const char *name)
{
    signals_hold();
    const bool made = !io_calls()->mkdirat(in, name, 0777);
    const int error = errno;
    if (made)
        signals_guard(in, name);
    signals_let();
    errno = error;
    return made;
}

static bool try_hidden(Output *output, int in)
{
    if (!make_guarded(in, output->hidden))
        return false;
    output->build = open_folder(in, output->hidden, O_NOFOLLOW);
    if (output->build >= 0 && is_taken(output->build)) {
        output->hidden_in = in;
        return true;
    }
    const int error = errno;
    if (output->build >= 0)
        io_calls()->close(output->build);
    output->build = -1;
    (void)io_calls()->unlinkat(in, output->hidden, AT_REMOVEDIR);
    signals_unguard();
    errno = error;
    return false;
}

static bool make_hidden(Output *output, int in)
{
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &t);
    unsigned seed = (unsigned)t.tv_nsec ^ (unsigned)getpid() * 2654435761u;
    for (int i = 0; i < 100; i++, seed = seed * 1664525u + 1013904223u) {
        output->hidden = arena_printf(output->arena, ".inlay-%08x", seed);
        if (try_hidden(output, in))
            return true;
        if (errno != EEXIST && errno != ENOENT && errno != EWOULDBLOCK)
            return false;
    }
    return false;
}

static Output *new_output(Arena *a, const char *dir)
{
    Output *output = NEW(a, Output);
    *output = (Output){ .arena = a,
                        .dir = dir,
                        .parent = -1,
                        .build = -1,
                        .target = -1,
                        .listed = -1,
                        .hidden_in = -1 };
    return output;
}

Output *output_begin(Arena *a, const char *dir)
{
    Output *output = new_output(a, dir);
    open_target(output);
    if (output->parent >= 0)
        folder_sweep(output->parent);
    if (output->target >= 0)
        folder_sweep(output->target);
    const bool beside =
        output->target < 0 || same_device(output->parent, output->target);
    if (!(beside && make_hidden(output, output->parent)) &&
        !(output->target >= 0 && make_hidden(output, output->target)))
        fail_begin(output, NULL);
    return output;
}

Output *output_begin_temporary(Arena *a)
{
    Output *output = new_output(a, io_temporary_folder());
    output->parent = open_folder(AT_FDCWD, output->dir, 0);
    if (output->parent >= 0)
        folder_sweep(output->parent);
    if (output->parent < 0 || !make_hidden(output, output->parent))
        fail_begin(output, "name a folder for temporary files in TMPDIR");
    return output;
}

const char *output_temporary(Output *output, const char *name)
{
    return arena_printf(output->arena, "%s/%s/%s", output->dir, output->hidden,
                        name);
}

const char *output_shown(Output *output, const char *name)
{
    const size_t n = strlen(output->dir);
    assert(n); /* output_begin() refuses the empty name */
    const char *slash = output->dir[n - 1] == '/' ? "" : "/";
    return arena_printf(output->arena, "%s%s%s", output->dir, slash, name);
}

Entry *output_find(Output *output, const char *name)
{
    for (size_t i = 0; i < output->entry.n; i++)
        if (!strcmp(output->entry.at[i].name, name))
            return output->entry.at + i;
    return NULL;
}

/* A folder, made once. */
static void make_part(Output *output, const char *folder)
{
    if (output_find(output, folder))
        return;
    VEC_PUSH(output->arena, &output->entry, ((Entry){ .name = folder }));
    if (io_calls()->mkdirat(output->build, folder, 0777))
        output_fail(output_shown(output, folder), NULL);
}

/* The folders before the slashes of `name`, the outer one first. */
static void make_parts(Output *output, const char *name)
{
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/'))
        make_part(output, arena_text(output->arena, name, (size_t)(at - name)));
}

/* A path of at most OUTPUT_DEEPEST folders, none of its parts hidden or empty. */
bool output_takes(const char *name)
{
    int slashes = 0;
    for (const char *part = name;; part++) {
        const size_t length = strcspn(part, "/");
        if (!length || *part == '.')
            return false;
        part += length;
        if (!*part)
            return slashes <= OUTPUT_DEEPEST;
        slashes++;
    }
}

File *output_create(Output *output, const char *name)
{
    assert(output_takes(name));
    name = arena_text(output->arena, name, strlen(name));
    make_parts(output, name);
    File *f = file_new(
        output->arena,
        output_shown(output,
                     name)); /* known before it is made, so that it goes */
    VEC_PUSH(output->arena, &output->entry,
             ((Entry){ .name = name, .file = f }));
    f->fd =
        io_open(output->build, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (f->fd < 0)
        output_fail(f->path, NULL);
    return f;
}

File *output_reopen(Output *output, const char *name)
{
    File *file = file_new(output->arena, output_shown(output, name));
    const int fd = io_open(output->build, name, O_RDONLY | O_NOFOLLOW);
    if (fd < 0)
        output_fail(file->path, NULL);
    file_take(file, output->arena, fd, LOAD_STREAM);
    return file;
}

void output_text(Output *output, const char *name, const char *text,
                 size_t length)
{
    File *file = output_create(output, name);
    file_write(file, 0, text, length);
    file_close(file);
}

/* ---- the end ---- */

static void close_files(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++)
        if (output->entry.at[i].file)
            file_close(output->entry.at[i].file);
}

/* On the disk before it is seen; where a file system knows no such thing it is as well. */
static void sync_file(Output *output, const char *name)
{
    const int fd = io_open(output->build, name, O_RDONLY | O_NOFOLLOW);
    int r = fd < 0 ? -1 : io_calls()->fsync(fd);
    while (fd >= 0 && r && errno == EINTR)
        r = io_calls()->fsync(fd);
    const int error = errno;
    if (fd >= 0)
        io_calls()->close(fd);
    if (r && error != EINVAL && error != ENOTSUP && error != ENOSYS &&
        error != EROFS)
        fail_at(
            STATUS_IO,
            (Loc){ .file = output_shown(output, name), .byte = -1, .node = -1 },
            NULL, "cannot write: %s", strerror(error));
}

static void sync_files(Output *output)
{
    for (size_t i = 0; i < output->entry.n; i++)
        sync_file(output, output->entry.at[i].name);
    sync_file(output, ".");
}

static void close_folders(Output *output)
{
    const int all[] = { output->build, output->target, output->parent,
                        output->listed };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            io_calls()->close(all[i]);
    output->build = output->target = output->parent = output->listed = -1;
    output->done = true;
}

static void finish(Output *output)
{
    if (output->hidden_in >= 0)
        folder_remove(output->hidden_in, output->hidden);
    signals_unguard();
    signals_let();
    close_folders(output);
}

/* The folders before the last slash of `base`, the outer one first; those that others made
 * meanwhile are as good. */
static void make_way(Output *output)
{
    const char *base = output->base;
    for (const char *at = strchr(base, '/'); at; at = strchr(at + 1, '/')) {
        const char *folder =
            arena_text(output->arena, base, (size_t)(at - base));
        VEC_PUSH(output->arena, &output->way, folder);
        if (!io_calls()->mkdirat(output->parent, folder, 0777))
            continue;
        output->way.n--;
        if (errno != EEXIST)
            output_fail(output->dir, NULL);
    }
}

/* There is no folder yet; one that another made meanwhile is treated like one of before. */
static void place_new(Output *output)
{
    make_way(output);
    if (!io_calls()->renameat(output->parent, output->hidden, output->parent,
                              output->base)) {
        output->hidden_in = -1;
        (void)io_calls()->fsync(output->parent);
        return;
    }
    if (errno != EEXIST && errno != ENOTEMPTY)
        output_fail(output->dir, NULL);
    output->target = open_folder(output->parent, output->base, O_NOFOLLOW);
    if (output->target < 0)
        output_fail(output->dir, NULL);
}

void output_commit(Output *output)
{
    assert(!output->done);
    close_files(output);
    sync_files(output);
    signals_hold();
    if (output->target < 0)
        place_new(output);
    if (output->target >= 0 && !output_swap(output))
        output_place(output);
    finish(output);
}

void output_abort(Output *output)
{
    if (!output || output->done)
        return;
    for (size_t i = 0; i < output->entry.n; i++)
        if (output->entry.at[i].file)
            (void)file_release(output->entry.at[i].file);
    signals_hold();
    output_put_back(output);
    for (size_t i = output->way.n; i; i--)
        (void)io_calls()->unlinkat(output->parent, output->way.at[i - 1],
                                   AT_REMOVEDIR);
    finish(output);
}
