/* SPDX-License-Identifier: Apache-2.0
 * The system calls of io.c as one table, so that a test can make any of them fail, do half its work
 * or be interrupted. io_calls.c fills it for POSIX, io_calls_windows.c for Windows. Included by
 * base/, onnx/ and tests only. */
#ifndef INLAY_BASE_IO_CALLS_H
#define INLAY_BASE_IO_CALLS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef _WIN32
#include "base/io_windows.h"
#else
#include <dirent.h>
#include <sys/file.h>
#endif

/* What systems call by other names; Windows' are in io_windows.h. */
#ifndef _WIN32
typedef struct stat IoStat;
#endif
#ifdef __APPLE__
typedef struct dirent IoEntry;
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#elif !defined(_WIN32)
typedef struct dirent64 IoEntry;
#endif

typedef struct IoCalls {
    int (*openat)(int folder, const char *path, int flags, mode_t mode);
    /* openat2() that follows no link and stays beneath the folder; NULL: there is none */
    int (*open_beneath)(int folder, const char *path, int flags);
    int (*close)(int);
    int (*fstat)(int, IoStat *);
    int (*fstatat)(int folder, const char *path, IoStat *to, int flags);
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*pread)(int, void *, size_t, off_t);
    ssize_t (*pwrite)(int, const void *, size_t, off_t);
    off_t (*lseek)(int, off_t, int);
    /* entries of a folder, IoEntry of d_reclen bytes each, as many as there is room for */
    ssize_t (*getdents)(int fd, void *to, size_t n);
    int (*flock)(int, int);
    int (*fsync)(int);
    int (*fchmod)(int, mode_t);
    int (*mkdirat)(int, const char *, mode_t);
    int (*renameat)(int from, const char *a, int to, const char *b);
    int (*exchange)(int, const char *, const char *);
    int (*linkat)(int, const char *, int, const char *, int);
    int (*unlinkat)(int, const char *, int);
} IoCalls;

/* The system's own. */
extern const IoCalls io_system;
/* What this thread uses instead; NULL: io_system. */
extern _Thread_local const IoCalls *io_calls_test;

static inline const IoCalls *io_calls(void)
{
    return io_calls_test ? io_calls_test : &io_system;
}

/* The real path of what is there, of less than `room` bytes, with '/' between folders; false: errno
 * says why. */
bool io_real_path(const char *path, char *to, size_t room);
/* Where temporary files go: TMPDIR, or what the system has for them. */
const char *io_temporary_folder(void);
/* A new file in the folder, gone when it is closed; below 0: errno says why. */
int io_temporary(const char *folder);
/* openat() that is not stopped by signals; always close-on-exec. */
int io_open(int folder, const char *path, int flags);

#endif
