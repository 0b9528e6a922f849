/* SPDX-License-Identifier: Apache-2.0
 * The system calls of io.c as one table, so that a test can make any of them
 * fail, do half its work or be interrupted. Included by base/, onnx/external.c, cli/cache.c and
 * tests only. */
#ifndef INLAY_BASE_IO_CALLS_H
#define INLAY_BASE_IO_CALLS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* What systems call by other names. */
#ifdef __APPLE__
typedef struct dirent IoEntry;
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#else
typedef struct dirent64 IoEntry;
#endif

typedef struct IoCalls {
    int (*openat)(int folder, const char *path, int flags, mode_t mode);
    /* openat2() that follows no link and stays beneath the folder; NULL: there is none */
    int (*open_beneath)(int folder, const char *path, int flags);
    __typeof__(close) *close;
    __typeof__(fstat) *fstat;
    __typeof__(fstatat) *fstatat;
    __typeof__(read) *read;
    __typeof__(pread) *pread;
    __typeof__(pwrite) *pwrite;
    __typeof__(lseek) *lseek;
    /* entries of a folder, IoEntry of d_reclen bytes each, as many as there is room for */
    ssize_t (*getdents)(int fd, void *to, size_t n);
    __typeof__(flock) *flock;
    __typeof__(fsync) *fsync;
    __typeof__(fchmod) *fchmod;
    __typeof__(mkdirat) *mkdirat;
    __typeof__(renameat) *renameat;
    int (*exchange)(int in, const char *a, const char *b);
    __typeof__(linkat) *linkat;
    __typeof__(unlinkat) *unlinkat;
} IoCalls;

/* The system's own. */
extern const IoCalls io_system;
/* What this thread uses instead; NULL: io_system. */
extern _Thread_local const IoCalls *io_calls_test;

static inline const IoCalls *io_calls(void)
{
    return io_calls_test ? io_calls_test : &io_system;
}

/* The path of the program that runs, of less than `room` bytes; false: it is not known. */
bool io_program(char *to, size_t room);
/* openat() that is not stopped by signals; always close-on-exec. */
int io_open(int folder, const char *path, int flags);

#endif
