/* SPDX-License-Identifier: Apache-2.0
 * Files that are read or written at positions; output folders are output.c's. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "base/io_calls.h"

_Static_assert(sizeof(off_t) == 8, "files above 2 GiB need a 64-bit off_t");

_Thread_local const IoCalls *io_calls_test;
static _Thread_local File *open_files;
static _Thread_local IoCount counted;

IoCount io_count(void)
{
    return counted;
}
void io_count_read(uint64_t n)
{
    counted.read += n;
}

static Loc at_file(const char *path)
{
    Loc loc = LOC_NONE;
    loc.file = path;
    return loc;
}

int io_open(int folder, const char *path, int flags)
{
    int fd;
    do
        fd = io_calls()->openat(folder, path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

File *file_new(Arena *arena, const char *path)
{
    File *file = NEW(arena, File);
    *file = (File){
        .path = path,
        .fd = -1,
        .arena = arena,
        .next = open_files,
    };
    open_files = file;
    return file;
}

int file_release(File *file)
{
    File **link = &open_files;
    while (*link && *link != file)
        link = &(*link)->next;
    if (!*link)
        return 0;
    *link = file->next;
    file->whole = NULL;
    const int result = file->fd >= 0 ? io_calls()->close(file->fd) : 0;
    file->fd = -1;
    return result;
}

static _Noreturn void fail_open(const char *path, int error)
{
    Loc loc = at_file(path);
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        fail_at(STATUS_NO_INPUT, loc, NULL, "cannot open: %s", strerror(error));
    case ENXIO:
        fail_at(STATUS_MALFORMED, loc, NULL, "not a regular file");
    default:
        fail_at(STATUS_IO, loc, NULL, "cannot open: %s", strerror(error));
    }
}

static _Noreturn void fail_read(const char *path, int error)
{
    fail_at(STATUS_IO, at_file(path), NULL, "cannot read: %s", strerror(error));
}

static void load_whole(Arena *arena, File *file, LoadMode mode)
{
    if (mode == LOAD_STREAM)
        return;
    if (file->size > SIZE_MAX / 2)
        fail_memory(file->size,
                    "the file does not fit this machine's address space");
    uint8_t *bytes = arena_alloc(arena, (size_t)file->size);
    file_read(file, 0, bytes, (size_t)file->size);
    file->whole = bytes;
}

void file_take(File *file, Arena *arena, int fd, LoadMode mode)
{
    IoStat st;
    file->fd = fd;
    if (io_calls()->fstat(fd, &st))
        fail_read(file->path, errno);
    if (!S_ISREG(st.st_mode)) {
        file_release(file);
        fail_at(STATUS_MALFORMED, at_file(file->path), NULL,
                "not a regular file");
    }
    file->size = (uint64_t)st.st_size;
    load_whole(arena, file, mode);
}

File *file_open(Arena *arena, const char *path, LoadMode mode)
{
    File *file = file_new(arena, path);
    /* Non-blocking: opening a named pipe must not wait for its writer, it is refused below. */
    const int fd = io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        const int error = errno;
        file_release(file);
        fail_open(path, error);
    }
    file_take(file, arena, fd, mode);
    return file;
}

File *file_create(Arena *arena, const char *path)
{
    File *file = file_new(arena, path);
    file->fd = io_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC | O_NOCTTY);
    if (file->fd < 0) {
        const int error = errno;
        file_release(file);
        fail_at(STATUS_CANNOT_CREATE, at_file(path), NULL, "cannot create: %s",
                strerror(error));
    }
    return file;
}

bool file_exists(const char *path)
{
    IoStat st;
    return !io_calls()->fstatat(AT_FDCWD, path, &st, 0);
}

void file_close(File *file)
{
    if (!file)
        return;
    const char *path = file->path;
    const bool written = file->bytes_written > 0;
    if (file_release(file) && written && errno != EINTR) {
        fail_at(STATUS_IO, at_file(path), NULL, "cannot write: %s",
                strerror(errno));
    }
}

void file_close_all(const Arena *arena)
{
    for (File *file = open_files, *next; file; file = next) {
        next = file->next;
        if (file->arena == arena)
            (void)file_release(file);
    }
}

static _Noreturn void fail_beyond(const File *file, uint64_t at, uint64_t n)
{
    fail_at(STATUS_MALFORMED, at_file(file->path), "the file is cut off",
            "%" PRIu64 " bytes at %" PRIu64 " lie beyond the end", n, at);
}

static _Noreturn void fail_shrunk(const File *file, uint64_t at)
{
    fail_at(STATUS_IO, at_file(file->path),
            "it is changed by another program; try again afterwards",
            "the file was shortened while it was read: it had %" PRIu64
            " bytes and ends at or before byte %" PRIu64,
            file->size, at);
}

void file_read(File *file, uint64_t at, void *to, size_t n)
{
    if (at > file->size || n > file->size - at)
        fail_beyond(file, at, n);
    file->bytes_read += n;
    if (file->whole) { /* counted when it was read */
        if (n)
            memcpy(to, file->whole + at, n);
        return;
    }
    counted.read += n;
    for (unsigned char *p = to; n;) {
        const ssize_t k = io_calls()->pread(file->fd, p, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            fail_read(file->path, errno);
        if (k == 0)
            fail_shrunk(file, at);
        p += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
}

static _Noreturn void fail_write(const File *file, uint64_t at, int error)
{
    const bool full = error == ENOSPC || error == EDQUOT;
    fail_at(STATUS_IO, at_file(file->path),
            full ? "free some space, or name another folder with -o (TMPDIR "
                   "for temporary files)"
                 : NULL,
            "cannot write at byte %" PRIu64 ": %s", at, strerror(error));
}

void file_write(File *file, uint64_t at, const void *from, size_t n)
{
    if (at > INT64_MAX || n > INT64_MAX - at)
        fail_write(file, at, EFBIG);
    file->bytes_written += n;
    counted.written += n;
    if (at + n > file->size)
        file->size = at + n;
    for (const unsigned char *p = from; n;) {
        const ssize_t k = io_calls()->pwrite(file->fd, p, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            fail_write(file, at, k ? errno : ENOSPC);
        p += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
}

File *file_temporary(Arena *arena)
{
    const char *folder = io_temporary_folder();
    File *file = file_new(arena, "temporary file");
    file->fd = io_temporary(folder);
    if (file->fd < 0) {
        const int error = errno;
        file_release(file);
        fail_at(STATUS_CANNOT_CREATE, at_file(folder),
                "name a folder for temporary files in TMPDIR",
                "cannot create a temporary file: %s", strerror(error));
    }
    return file;
}
