/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __APPLE__
#include <sys/syscall.h>
#endif
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

static int open_system(int folder, const char *path, int flags, mode_t mode)
{
    return openat(folder, path, flags, mode);
}

static int open_beneath_system(int folder, const char *path, int flags)
{
#ifdef SYS_openat2
    struct open_how how = {
        .flags = (unsigned)flags,
        .resolve =
            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
#else
    (void)folder;
    (void)path;
    (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

#ifdef __APPLE__

/* Of the system's library, which declares it nowhere: readdir() would allocate, and folders are
 * removed in a handler of signals, too. */
ssize_t __getdirentries64(int fd, void *to, size_t n, off_t *at);

static ssize_t getdents_system(int fd, void *to, size_t n)
{
    off_t at;
    return __getdirentries64(fd, to, n, &at);
}

static int exchange_system(int in, const char *a, const char *b)
{
    return renameatx_np(in, a, in, b, RENAME_SWAP);
}

#else

static ssize_t getdents_system(int fd, void *to, size_t n)
{
    return getdents64(fd, to, n);
}

static int exchange_system(int in, const char *a, const char *b)
{
    return renameat2(in, a, in, b, RENAME_EXCHANGE);
}

#endif

const IoCalls io_system = {
    .openat = open_system,
    .open_beneath = open_beneath_system,
    .close = close,
    .fstat = fstat,
    .fstatat = fstatat,
    .read = read,
    .pread = pread,
    .pwrite = pwrite,
    .lseek = lseek,
    .getdents = getdents_system,
    .flock = flock,
    .fsync = fsync,
    .fchmod = fchmod,
    .mkdirat = mkdirat,
    .renameat = renameat,
    .exchange = exchange_system,
    .linkat = linkat,
    .unlinkat = unlinkat,
};

bool io_real_path(const char *path, char *to, size_t room)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return false;
    const size_t n = strlen(real);
    errno = ENAMETOOLONG;
    if (n >= room)
        return false;
    memcpy(to, real, n + 1);
    return true;
}

const char *io_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* A named file that is unlinked at once, where the system has no unnamed ones. */
static int open_unlinked(const char *folder)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/inlay-XXXXXX", folder);
    errno = ENAMETOOLONG;
    if (n < 0 || (size_t)n >= sizeof path)
        return -1;
    const int fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int io_temporary(const char *folder)
{
#ifdef O_TMPFILE
    const int fd = io_open(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_EXCL);
    if (fd >= 0)
        return fd;
#endif
    return open_unlinked(folder);
}
