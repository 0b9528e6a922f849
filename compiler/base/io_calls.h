/* SPDX-License-Identifier: Apache-2.0
 * The system calls of io.c as one table, so that a test can make any of them
 * fail, do half its work or be interrupted. Included by base/, onnx/external.c and tests only. */
#ifndef INLAY_BASE_IO_CALLS_H
#define INLAY_BASE_IO_CALLS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/io.h"

typedef struct IoCalls {
    int (*openat)(int folder, const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    int (*fstat)(int fd, struct stat *to);
    int (*fstatat)(int folder, const char *path, struct stat *to, int flags);
    ssize_t (*read)(int fd, void *to, size_t n);
    ssize_t (*pread)(int fd, void *to, size_t n, off_t at);
    ssize_t (*pwrite)(int fd, const void *from, size_t n, off_t at);
    off_t (*lseek)(int fd, off_t at, int from);
    ssize_t (*getdents)(int fd, void *to, size_t n);
    int (*flock)(int fd, int how);
    int (*fsync)(int fd);
    int (*fchmod)(int fd, mode_t mode);
    int (*mkdirat)(int folder, const char *path, mode_t mode);
    int (*renameat)(int from_folder, const char *from, int to_folder, const char *to);
    int (*exchange)(int in, const char *a, const char *b); /* renameat2() */
    int (*linkat)(int from_folder, const char *from, int to_folder, const char *to, int flags);
    int (*unlinkat)(int folder, const char *path, int flags);
} IoCalls;

/* The system's own. */
extern const IoCalls io_system;
/* What this thread uses instead; NULL: io_system. */
extern _Thread_local const IoCalls *io_calls_test;

static inline const IoCalls *io_calls(void)
{
    return io_calls_test ? io_calls_test : &io_system;
}

/* An open file as io.c keeps it: on a list, so that file_close_all() finds it. */
typedef struct OpenFile OpenFile;
struct OpenFile {
    File file; /* first: a File * is an OpenFile * */
    const Arena *arena;
    OpenFile *next;
};

/* openat() that is not stopped by signals; always close-on-exec. */
int io_open(int folder, const char *path, int flags);
/* Closes and takes off the list; what close() returned. */
int io_release(OpenFile *file);

#endif
