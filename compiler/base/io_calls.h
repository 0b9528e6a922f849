/* SPDX-License-Identifier: Apache-2.0
 * The system calls of io.c as one table, so that a test can make any of them
 * fail, do half its work or be interrupted. Included by base/, onnx/external.c and tests only. */
#ifndef INLAY_BASE_IO_CALLS_H
#define INLAY_BASE_IO_CALLS_H

#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

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
    ssize_t (*getdents)(int fd, void *to, size_t n);
    __typeof__(flock) *flock;
    __typeof__(fsync) *fsync;
    __typeof__(fchmod) *fchmod;
    __typeof__(mkdirat) *mkdirat;
    __typeof__(renameat) *renameat;
    int (*exchange)(int in, const char *a, const char *b); /* renameat2() */
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

/* openat() that is not stopped by signals; always close-on-exec. */
int io_open(int folder, const char *path, int flags);

#endif
