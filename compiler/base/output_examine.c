/* SPDX-License-Identifier: Apache-2.0
 * What lies in output folders: what this compile has written into the hidden one, and what earlier
 * ones left in the target. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/digest.h"
#include "base/folder.h"
#include "base/output_parts.h"

enum { SUMMED = 64 * 1024 };

/* ---- what is in a file ---- */

/* Exactly n bytes; false: an error, or the file is shorter. */
static bool read_all(int fd, unsigned char *to, size_t n, off_t at)
{
    while (n) {
        const ssize_t k = io_calls()->pread(fd, to, n, at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = EIO; /* it was shortened meanwhile */
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
    IoStat st;
    if (io_calls()->fstat(a, &st) || st.st_size != size)
        return false;
    for (off_t at = 0; at < size; at += (off_t)sizeof x) {
        const size_t n =
            size - at < (off_t)sizeof x ? (size_t)(size - at) : sizeof x;
        if (!read_all(a, x, n, at) || !read_all(b, y, n, at) || memcmp(x, y, n))
            return false;
    }
    return true;
}

bool output_unchanged(Output *output, const char *name, const IoStat *old)
{
    if (!S_ISREG(old->st_mode))
        return false;
    const int a = io_open(output->build, name, O_RDONLY | O_NOFOLLOW);
    const int b =
        io_open(output->target, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const bool same = a >= 0 && b >= 0 && same_bytes(a, b, old->st_size);
    if (a >= 0)
        io_calls()->close(a);
    if (b >= 0)
        io_calls()->close(b);
    return same;
}

/* The sum of Written, of an open file of so many bytes. */
static bool sum_file(Output *output, int fd, uint64_t bytes, char sum[17])
{
    const size_t n = bytes < SUMMED ? (size_t)bytes : SUMMED;
    char hex[65];
    Sha256 h;
    const ArenaMark mark = arena_mark(output->arena);
    unsigned char *piece = arena_buffer(output->arena, SUMMED);
    sha256_begin(&h);
    bool fine = read_all(fd, piece, n, 0);
    sha256_add(&h, piece, fine ? n : 0);
    fine = fine && read_all(fd, piece, n, (off_t)(bytes - n));
    sha256_add(&h, piece, fine ? n : 0);
    sha256_end(&h, hex);
    arena_release(output->arena, mark);
    memcpy(sum, hex, 16);
    sum[16] = 0;
    return fine;
}

static _Noreturn void fail_examine(Output *output, const char *name, int error)
{
    fail_at(STATUS_IO,
            (Loc){ .file = output_shown(output, name), .byte = -1, .node = -1 },
            NULL, "cannot read: %s", strerror(error));
}

/* A file that may be there; -1: there is none that could be ours. What cannot be known fails. */
static int open_there(Output *output, int folder, const char *name)
{
    const int fd = io_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const bool none =
        errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO;
    if (fd < 0 && !none)
        fail_examine(output, name, errno);
    return fd;
}

/* The end of work on an open file; did it go well, was there nothing to read, or did it fail? */
static bool close_there(Output *output, int fd, const char *name, bool fine,
                        int error)
{
    io_calls()->close(fd);
    if (!fine && error)
        fail_examine(output, name, error);
    return fine;
}

/* Fills written from a regular file; false: it is none, or not there. */
static bool describe(Output *output, int folder, const char *name,
                     Written *written)
{
    IoStat st;
    const int fd = open_there(output, folder, name);
    if (fd < 0)
        return false;
    errno = 0;
    bool fine = !io_calls()->fstat(fd, &st) && S_ISREG(st.st_mode);
    if (fine) {
        *written = (Written){ .name = name, .bytes = (uint64_t)st.st_size };
        errno = 0;
        fine = sum_file(output, fd, written->bytes, written->sum);
    }
    return close_there(output, fd, name, fine, errno);
}

bool output_written(Output *output, size_t i, Written *written)
{
    size_t files = 0;
    for (size_t k = 0; k < output->entry.n; k++) {
        const Entry *e = output->entry.at + k;
        if (!e->file || files++ != i)
            continue;
        if (!describe(output, output->build, e->name, written))
            fail_examine(output, e->name, ENOENT);
        return true;
    }
    return false;
}

/* ---- what earlier compiles wrote ---- */

char *output_former(Output *output, const char *name, size_t most)
{
    IoStat st;
    const int fd =
        output->target < 0 ? -1 : open_there(output, output->target, name);
    char *text = NULL;
    if (fd < 0)
        return NULL;
    errno = 0;
    bool fine = !io_calls()->fstat(fd, &st) && S_ISREG(st.st_mode);
    if (fine) {
        const size_t n =
            (uint64_t)st.st_size < most ? (size_t)st.st_size : most;
        text = arena_alloc(output->arena, n + 1);
        errno = 0;
        fine = read_all(fd, (unsigned char *)text, n, 0);
    }
    return close_there(output, fd, name, fine, errno) ? text : NULL;
}

typedef struct Search {
    const char *ending;
    const char *const *own;
    bool found;
} Search;

static bool is_among(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name))
        list++;
    return *list != NULL;
}

static bool visit_other(void *context, const char *name)
{
    Search *search = context;
    const size_t n = strlen(name);
    const size_t k = strlen(search->ending);
    search->found |= n >= k && !strcmp(name + n - k, search->ending) &&
                     !is_among(name, search->own);
    return !search->found;
}

bool output_has_other(Output *output, const char *ending,
                      const char *const *own)
{
    Search search = { .ending = ending, .own = own };
    if (output->target >= 0)
        (void)folder_each(output->target, visit_other, &search);
    return search.found;
}

void output_forget(Output *output, const Written *written)
{
    Written own = *written;
    if (!output_takes(written->name))
        return;
    own.name = arena_text(output->arena, written->name, strlen(written->name));
    VEC_PUSH(output->arena, &output->former, own);
}

/* Is it a folder, and no link? */
static bool is_folder(Output *o, const char *folder)
{
    IoStat st;
    if (!io_calls()->fstatat(o->target, folder, &st, AT_SYMLINK_NOFOLLOW))
        return S_ISDIR(st.st_mode);
    if (errno != ENOENT)
        fail_examine(o, folder, errno);
    return false;
}

/* Are those before the slashes of `name` folders? */
static bool is_in_folder(Output *o, const char *name)
{
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/'))
        if (!is_folder(o, arena_text(o->arena, name, (size_t)(at - name))))
            return false;
    return true;
}

bool output_there(Output *output, const char *name)
{
    IoStat st;
    if (output->target < 0)
        return false;
    if (!io_calls()->fstatat(output->target, name, &st, AT_SYMLINK_NOFOLLOW))
        return true;
    if (errno != ENOENT && errno != ENOTDIR)
        fail_examine(output, name, errno);
    return false;
}

bool output_is_still(Output *output, const Written *written)
{
    Written now;
    return is_in_folder(output, written->name) &&
           describe(output, output->target, written->name, &now) &&
           now.bytes == written->bytes && !strcmp(now.sum, written->sum);
}

bool output_goes(Output *output, const Written *former)
{
    return !output_find(output, former->name) &&
           output_is_still(output, former);
}
