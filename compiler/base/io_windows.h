/* SPDX-License-Identifier: Apache-2.0
 * The names of POSIX that io_calls.h uses, on Windows: its own functions stand behind them. */
#ifndef INLAY_BASE_IO_WINDOWS_H
#define INLAY_BASE_IO_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <windows.h>

/* Characters of a path, with its end. */
enum { IO_WIDE_PATH = 4096 };

/* Flags of openat(), in bits that the C library leaves free. */
#define O_DIRECTORY 0x01000000
#define O_NOFOLLOW 0x02000000
#define O_NONBLOCK 0
#define O_NOCTTY 0
#define O_CLOEXEC O_NOINHERIT
#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_REMOVEDIR 0x200
#define LOCK_EX 2
#define LOCK_NB 4
#ifndef ELOOP
#define ELOOP 114
#endif
#ifndef ENOTSUP
#define ENOTSUP 129
#endif
#ifndef EWOULDBLOCK
#define EWOULDBLOCK 140
#endif
#define EDQUOT ENOSPC
#undef PATH_MAX
#define PATH_MAX IO_WIDE_PATH
#undef NAME_MAX
#define NAME_MAX (3 * 255) /* bytes of UTF-8 */

typedef struct IoStat {
    uint64_t st_dev;
    uint64_t st_ino;
    int64_t st_size;
    mode_t st_mode;
    unsigned st_uid; /* always that of geteuid() */
    unsigned st_nlink;
    struct timespec st_mtim;
    struct timespec st_ctim;
} IoStat;

typedef struct IoEntry {
    uint16_t d_reclen;
    char d_name[NAME_MAX + 1];
} IoEntry;

static inline unsigned geteuid(void)
{
    return 0;
}

#endif
