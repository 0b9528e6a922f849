/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io_calls.h"

enum { LISTING = 4096, MOST_PASSES = 10000 };

static const char PREFIX[] = ".inlay-";

bool folder_is_hidden_name(const char *name)
{
    const size_t n = sizeof PREFIX - 1;
    return !strncmp(name, PREFIX, n) &&
           strspn(name + n, "0123456789abcdef") == 8 && !name[n + 8];
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* The visits of one piece of the listing. */
static bool visit_piece(const char *piece, size_t n, FolderVisit *visit,
                        void *context)
{
    for (size_t at = 0; at < n;) {
        const IoEntry *d = (const void *)(piece + at);
        if (!is_dots(d->d_name) && !visit(context, d->d_name))
            return false;
        at += d->d_reclen;
    }
    return true;
}

bool folder_each(int fd, FolderVisit *visit, void *context)
{
    uint64_t piece[LISTING / sizeof(uint64_t)]; /* aligned as entries are */
    if (io_calls()->lseek(fd, 0, SEEK_SET))
        return false;
    for (;;) {
        const ssize_t n = io_calls()->getdents(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return !n;
        if (!visit_piece((const char *)piece, (size_t)n, visit, context))
            return false;
    }
}

static int open_in(int in, const char *name)
{
    return io_open(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/* ---- removal ---- */

typedef struct Removal {
    int fd;
    int removed;
} Removal;

static bool remove_file(void *context, const char *name)
{
    Removal *removal = context;
    removal->removed += !io_calls()->unlinkat(removal->fd, name, 0);
    return true;
}

/* As often as something goes: a listing need not show all while entries vanish. */
static void empty(int fd, FolderVisit *visit)
{
    Removal removal = { fd, 1 };
    for (int pass = 0; pass < MOST_PASSES && removal.removed; pass++) {
        removal.removed = 0;
        (void)folder_each(fd, visit, &removal);
    }
}

/* A file, or a folder once `inner` has removed what is in it. */
static bool remove_either(Removal *removal, const char *name,
                          FolderVisit *inner)
{
    const int before = removal->removed;
    remove_file(removal, name);
    if (removal->removed > before)
        return true;
    const int fd = open_in(removal->fd, name);
    if (fd < 0)
        return true;
    empty(fd, inner);
    io_calls()->close(fd);
    removal->removed += !io_calls()->unlinkat(removal->fd, name, AT_REMOVEDIR);
    return true;
}

/* As deep as output folders are: DIR/examples/NAME/file. */
static bool remove_inner(void *context, const char *name)
{
    return remove_either(context, name, remove_file);
}

static bool remove_outer(void *context, const char *name)
{
    return remove_either(context, name, remove_inner);
}

void folder_remove(int in, const char *name)
{
    const int fd = open_in(in, name);
    if (fd >= 0) {
        empty(fd, remove_outer);
        io_calls()->close(fd);
    }
    (void)io_calls()->unlinkat(in, name, AT_REMOVEDIR);
}

/* ---- what the dead left ---- */

bool folder_lock(int fd)
{
    int r;
    do
        r = io_calls()->flock(fd, LOCK_EX | LOCK_NB);
    while (r && errno == EINTR);
    return !r;
}

static bool sweep_one(void *context, const char *name)
{
    const int in = *(const int *)context;
    if (!folder_is_hidden_name(name))
        return true;
    const int fd = open_in(in, name);
    IoStat st;
    if (fd < 0)
        return true;
    if (!io_calls()->fstat(fd, &st) && st.st_uid == geteuid() &&
        folder_lock(fd))
        folder_remove(in, name);
    io_calls()->close(fd);
    return true;
}

void folder_sweep(int in)
{
    (void)folder_each(in, sweep_one, &in);
}
