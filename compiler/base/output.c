/* SPDX-License-Identifier: Apache-2.0
 * Output folders: built in a hidden folder beside the target, put in place by
 * renaming. Into a folder that exists each file is renamed on its own, the file
 * it replaces being kept until all are in place, so that output_abort() can put
 * everything back. Nothing is removed that was not created here. */
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
#include "base/io.h"
#include "base/io_calls.h"
#include "base/vec.h"

typedef enum State {
    NEW_FILE,  /* in the hidden folder */
    SAVED,     /* and the file it replaces is in the hidden folder too, as `saved` */
    PLACED,    /* in the target; nothing was there before */
    REPLACED,  /* in the target, the former file is `saved` */
    UNCHANGED, /* the target has the same bytes: dropped */
} State;

typedef struct Entry {
    const char *name, *saved;
    File *file; /* NULL: a folder */
    State state;
} Entry;

struct Output {
    Arena *arena;
    const char *dir;           /* as the user wrote it, for messages */
    const char *base;          /* last component of the target, in folder `parent` */
    int parent, build, target; /* descriptors; target -1: it did not exist */
    char *hidden;              /* name of the build folder */
    int hidden_in;             /* the folder it lies in: parent or target */
    VEC(Entry) entry;
    bool done;
};

static _Noreturn void fail_create(const char *path, const char *help)
{
    Loc loc = LOC_NONE;
    loc.file = path;
    fail_at(STATUS_CANNOT_CREATE, loc, help, "cannot create: %s", strerror(errno));
}

/* The same before there is anything for the caller to abort. */
static _Noreturn void fail_begin(Output *o, const char *help)
{
    const int error = errno;
    output_abort(o);
    errno = error;
    fail_create(o->dir, help);
}

static int open_folder(int in, const char *path, int flags)
{
    return io_open(in, path, O_RDONLY | O_DIRECTORY | flags);
}

/* Splits the target into parent and base; a folder that exists is taken by its real path. */
static void open_target(Output *o)
{
    char path[PATH_MAX];
    const bool exists = realpath(o->dir, path) != NULL;
    if (!exists && errno == ENOMEM)
        fail_memory(PATH_MAX, "the output folder's path does not fit");
    char *own = arena_text(o->arena, exists ? path : o->dir, strlen(exists ? path : o->dir));
    size_t n = strlen(own);
    while (n > 1 && own[n - 1] == '/')
        own[--n] = 0;
    char *slash = strrchr(own, '/');
    o->base = slash ? slash + 1 : own;
    const char *parent = !slash ? "." : slash == own ? "/" : own;
    if (exists && (o->target = open_folder(AT_FDCWD, own, 0)) < 0)
        fail_begin(o, "name a folder with -o");
    if (slash && slash != own)
        *slash = 0;
    o->parent = open_folder(AT_FDCWD, parent, 0);
    if (o->parent < 0 && !exists)
        fail_begin(o, "the folder that is to hold it must exist");
    if (!exists && !*o->base) {
        errno = ENOENT;
        fail_begin(o, NULL);
    }
}

/* Beside and within the target rename() must work: both in the same file system. */
static bool same_device(int a, int b)
{
    struct stat x, y;
    return a >= 0 && !io_calls()->fstat(a, &x) && !io_calls()->fstat(b, &y) && x.st_dev == y.st_dev;
}

static bool make_hidden(Output *o, int in)
{
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &t);
    unsigned seed = (unsigned)t.tv_nsec ^ (unsigned)getpid() * 2654435761u;
    for (int i = 0; i < 100; i++, seed = seed * 1664525u + 1013904223u) {
        o->hidden = arena_printf(o->arena, ".inlay-%08x", seed);
        if (!io_calls()->mkdirat(in, o->hidden, 0777)) {
            o->hidden_in = in;
            return true;
        }
        if (errno != EEXIST)
            return false;
    }
    return false;
}

Output *output_begin(Arena *a, const char *dir)
{
    Output *o = NEW(a, Output);
    *o = (Output){
        .arena = a, .dir = dir, .parent = -1, .build = -1, .target = -1, .hidden_in = -1
    };
    open_target(o);
    const bool beside = o->target < 0 || same_device(o->parent, o->target);
    if (!(beside && make_hidden(o, o->parent)) && !(o->target >= 0 && make_hidden(o, o->target)))
        fail_begin(o, NULL);
    o->build = open_folder(o->hidden_in, o->hidden, O_NOFOLLOW);
    if (o->build < 0)
        fail_begin(o, NULL);
    return o;
}

static const char *shown(Output *o, const char *name)
{
    const size_t n = strlen(o->dir);
    return arena_printf(o->arena, "%s%s%s", o->dir, n && o->dir[n - 1] == '/' ? "" : "/", name);
}

static Entry *find_entry(Output *o, const char *name)
{
    for (size_t i = 0; i < o->entry.n; i++)
        if (!strcmp(o->entry.at[i].name, name))
            return o->entry.at + i;
    return NULL;
}

/* The folder before the slash of `name`, made once. */
static void make_part(Output *o, const char *name)
{
    const char *slash = strchr(name, '/');
    if (!slash)
        return;
    char *folder = arena_text(o->arena, name, (size_t)(slash - name));
    if (find_entry(o, folder))
        return;
    VEC_PUSH(o->arena, &o->entry, ((Entry){ .name = folder }));
    if (io_calls()->mkdirat(o->build, folder, 0777))
        fail_create(shown(o, folder), NULL);
}

File *output_create(Output *o, const char *name)
{
    const char *slash = strchr(name, '/');
    assert(*name && *name != '/' && *name != '.' &&
           !(slash && (strchr(slash + 1, '/') || slash[1] == '.' || !slash[1])));
    name = arena_text(o->arena, name, strlen(name));
    make_part(o, name);
    File *f = file_new(o->arena, shown(o, name)); /* known before it is made, so that it goes */
    VEC_PUSH(o->arena, &o->entry, ((Entry){ .name = name, .file = f }));
    f->fd = io_open(o->build, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (f->fd < 0)
        fail_create(f->path, NULL);
    return f;
}

void output_text(Output *o, const char *name, const char *text, size_t length)
{
    File *f = output_create(o, name);
    file_write(f, 0, text, length);
    file_close(f);
}

/* --- into a folder that exists --- */

/* Exactly n bytes; false: an error, or the file is shorter. */
static bool read_all(int fd, unsigned char *to, size_t n, off_t at)
{
    while (n) {
        const ssize_t k = io_calls()->pread(fd, to, n, at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        to += k;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

/* Do both files hold the same bytes? Where one cannot be read they do not. */
static bool same_bytes(int a, int b, off_t size)
{
    unsigned char x[16384], y[sizeof x];
    struct stat st;
    if (io_calls()->fstat(a, &st) || st.st_size != size)
        return false;
    for (off_t at = 0; at < size; at += (off_t)sizeof x) {
        const size_t n = size - at < (off_t)sizeof x ? (size_t)(size - at) : sizeof x;
        if (!read_all(a, x, n, at) || !read_all(b, y, n, at) || memcmp(x, y, n))
            return false;
    }
    return true;
}

static bool is_unchanged(Output *o, const char *name, const struct stat *old)
{
    if (!S_ISREG(old->st_mode))
        return false;
    const int a = io_open(o->build, name, O_RDONLY | O_NOFOLLOW);
    const int b = io_open(o->target, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const bool same = a >= 0 && b >= 0 && same_bytes(a, b, old->st_size);
    if (a >= 0)
        io_calls()->close(a);
    if (b >= 0)
        io_calls()->close(b);
    return same;
}

/* Keeps the file that is to be replaced: a second link, or where there are none a rename. */
static void save_old(Output *o, Entry *e)
{
    e->saved = arena_printf(o->arena, ".old-%zu", (size_t)(e - o->entry.at));
    if (io_calls()->linkat(o->target, e->name, o->build, e->saved, 0) &&
        io_calls()->renameat(o->target, e->name, o->build, e->saved))
        fail_create(shown(o, e->name), NULL);
    e->state = SAVED;
}

static void place_file(Output *o, Entry *e)
{
    struct stat old;
    const bool there = !io_calls()->fstatat(o->target, e->name, &old, AT_SYMLINK_NOFOLLOW);
    if (!there && errno != ENOENT)
        fail_create(shown(o, e->name), NULL);
    if (there && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        fail_create(shown(o, e->name), "a folder of that name is in the way");
    }
    if (there && is_unchanged(o, e->name, &old)) {
        (void)io_calls()->unlinkat(o->build, e->name, 0);
        e->state = UNCHANGED;
        return;
    }
    if (there)
        save_old(o, e);
    if (io_calls()->renameat(o->build, e->name, o->target, e->name))
        fail_create(shown(o, e->name), NULL);
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
        fail_create(shown(o, e->name), NULL);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        fail_create(shown(o, e->name), "a file or link of that name is in the way");
    }
    e->state = UNCHANGED;
}

static void close_files(Output *o)
{
    for (size_t i = 0; i < o->entry.n; i++)
        if (o->entry.at[i].file)
            file_close(o->entry.at[i].file);
}

static void close_folders(Output *o)
{
    const int all[] = { o->build, o->target, o->parent };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            io_calls()->close(all[i]);
    o->build = o->target = o->parent = -1;
    o->done = true;
}

/* What is left in the hidden folder, newest first, then the folder itself. */
static void remove_hidden(Output *o)
{
    for (size_t i = o->entry.n; o->build >= 0 && i-- > 0;) {
        const Entry *e = o->entry.at + i;
        if (e->saved)
            (void)io_calls()->unlinkat(o->build, e->saved, 0);
        if (!e->file)
            (void)io_calls()->unlinkat(o->build, e->name, AT_REMOVEDIR);
        else if (e->state == NEW_FILE || e->state == SAVED)
            (void)io_calls()->unlinkat(o->build, e->name, 0);
    }
    if (o->hidden_in >= 0)
        (void)io_calls()->unlinkat(o->hidden_in, o->hidden, AT_REMOVEDIR);
}

static void place_all(Output *o)
{
    for (size_t i = 0; i < o->entry.n; i++) {
        Entry *e = o->entry.at + i;
        if (e->file)
            place_file(o, e);
        else
            place_folder(o, e);
    }
    remove_hidden(o);
}

void output_commit(Output *o)
{
    assert(!o->done);
    close_files(o);
    if (o->target >= 0) {
        place_all(o);
    } else if (io_calls()->renameat(o->parent, o->hidden, o->parent, o->base)) {
        if (errno != EEXIST && errno != ENOTEMPTY)
            fail_create(o->dir, NULL);
        o->target = open_folder(o->parent, o->base, O_NOFOLLOW); /* made by another meanwhile */
        if (o->target < 0)
            fail_create(o->dir, NULL);
        place_all(o);
    }
    close_folders(o);
}

/* Puts one entry of the target back as it was. */
static void put_back(Output *o, const Entry *e)
{
    if (e->state == PLACED)
        (void)io_calls()->unlinkat(o->target, e->name, e->file ? 0 : AT_REMOVEDIR);
    if (e->state == REPLACED || e->state == SAVED)
        (void)io_calls()->renameat(o->build, e->saved, o->target, e->name);
}

void output_abort(Output *o)
{
    if (!o || o->done)
        return;
    for (size_t i = 0; i < o->entry.n; i++)
        if (o->entry.at[i].file)
            (void)io_release((OpenFile *)o->entry.at[i].file);
    for (size_t i = o->entry.n; i-- > 0;)
        put_back(o, o->entry.at + i);
    remove_hidden(o);
    close_folders(o);
}
