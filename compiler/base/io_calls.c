/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
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

bool io_program(char *to, size_t room)
{
    uint32_t length = (uint32_t)room;
    return !_NSGetExecutablePath(to, &length);
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

bool io_program(char *to, size_t room)
{
    static const char link[] = "/proc/self/exe";
    if (room < sizeof link)
        return false;
    memcpy(to, link, sizeof link);
    return true;
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
_Thread_local const IoCalls *io_calls_test;

int io_open(int folder, const char *path, int flags)
{
    int fd;
    do
        fd = io_calls()->openat(folder, path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}
