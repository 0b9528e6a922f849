/* SPDX-License-Identifier: Apache-2.0
 * For the tests of files and folders: a folder for each, its content as text, and system calls of
 * which any can fail, do part of its work, or be interrupted. */
#ifndef INLAY_TEST_BASE_CALLS_H
#define INLAY_TEST_BASE_CALLS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/folder.h"
#include "base/io.h"
#include "base/io_calls.h"
#include "base/signals.h"

/* --- a folder for each test, and its content as text --- */

static inline char *scratch(void)
{
    const char *root = getenv("TMPDIR");
    static char path[4096];
    snprintf(path, sizeof path, "%s/inlay-io-XXXXXX",
             root && *root ? root : "/tmp");
    char *made = mkdtemp(path);
    assert_non_null(made);
    assert_int_equal(chdir(made), 0);
    return path;
}

static inline void remove_scratch(char *path)
{
    char command[4200];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static inline void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* "name=content;" for each file of a folder and one level below, sorted. */
static inline void listing(const char *dir, char *to, size_t room, int depth)
{
    struct dirent **entry;
    const int n = scandir(dir, &entry, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        char path[4096], text[64] = "";
        const int length = snprintf(path, sizeof path, "%s/%s", dir, name);
        assert_true(length > 0 && (size_t)length < sizeof path);
        if (strcmp(name, ".") && strcmp(name, "..")) {
            DIR *d = opendir(path);
            FILE *f = d ? NULL : fopen(path, "r");
            if (f && !fgets(text, sizeof text, f))
                text[0] = 0;
            if (f)
                fclose(f);
            const size_t used = strlen(to);
            snprintf(to + used, room - used, d ? "%s/;" : "%s=%s;", name, text);
            if (d)
                closedir(d);
            if (d && depth < 2)
                listing(path, to, room, depth + 1);
        }
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

static inline const char *tree(void)
{
    static char text[4096];
    text[0] = 0;
    listing(".", text, sizeof text, 0);
    return text;
}

static inline int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* --- running what may fail --- */

static char message[1024];

static inline Status run(void (*body)(void *), void *context)
{
    FILE *out = tmpfile();
    Diag d = { .out = out };
    const Status s = protect(&d, body, context);
    rewind(out);
    message[fread(message, 1, sizeof message - 1, out)] = 0;
    fclose(out);
    return s;
}

typedef struct Read {
    File *file;
    uint64_t at;
    size_t n;
    char to[64];
} Read;

static inline void read_some(void *context)
{
    Read *r = context;
    errno = EINTR; /* of an earlier call: it means nothing here */
    file_read(r->file, r->at, r->to, r->n);
}

/* --- injected faults --- */

typedef enum Call {
    CALL_OPEN,
    CALL_CLOSE,
    CALL_STAT,
    CALL_STATAT,
    CALL_READ,
    CALL_WRITE,
    CALL_MKDIR,
    CALL_RENAME,
    CALL_EXCHANGE,
    CALL_LISTING,
    CALL_LOCK,
    CALL_SYNC,
    CALL_MODE,
    CALL_LINK,
    CALL_UNLINK,
    CALLS
} Call;

static struct {
    int left[CALLS]; /* calls until one fails; negative: none */
    int error;
    /* reads and writes do at most three bytes, every other one is interrupted */
    bool dribble;
    bool on; /* all after the first that fails, too */
    unsigned tick;
} fault;

static inline bool fails(Call c)
{
    if (fault.left[c]) {
        fault.left[c] -= fault.left[c] > 0;
        return false;
    }
    fault.left[c] -= !fault.on;
    errno = fault.error;
    return true;
}

static inline int f_openat(int d, const char *p, int flags, mode_t m)
{
    return fails(CALL_OPEN) ? -1 : io_system.openat(d, p, flags, m);
}
static inline int f_close(int fd)
{
    const bool bad = fails(CALL_CLOSE);
    const int error = errno, r = io_system.close(fd);
    if (bad)
        errno = error;
    return bad ? -1 : r;
}
static inline int f_fstat(int fd, struct stat *s)
{
    return fails(CALL_STAT) ? -1 : io_system.fstat(fd, s);
}
static inline int f_fstatat(int d, const char *p, struct stat *s, int flags)
{
    return fails(CALL_STATAT) ? -1 : io_system.fstatat(d, p, s, flags);
}
static inline bool interrupted(void)
{
    if (!fault.dribble || fault.tick++ % 2)
        return false;
    errno = EINTR;
    return true;
}
static inline ssize_t f_pread(int fd, void *to, size_t n, off_t at)
{
    if (fails(CALL_READ) || interrupted())
        return -1;
    return io_system.pread(fd, to, fault.dribble && n > 3 ? 3 : n, at);
}
static inline ssize_t f_pwrite(int fd, const void *from, size_t n, off_t at)
{
    if (fails(CALL_WRITE) || interrupted())
        return -1;
    return io_system.pwrite(fd, from, fault.dribble && n > 3 ? 3 : n, at);
}
static inline int f_mkdirat(int d, const char *p, mode_t m)
{
    return fails(CALL_MKDIR) ? -1 : io_system.mkdirat(d, p, m);
}
static inline int f_renameat(int d, const char *p, int e, const char *q)
{
    return fails(CALL_RENAME) ? -1 : io_system.renameat(d, p, e, q);
}
static inline int f_linkat(int d, const char *p, int e, const char *q,
                           int flags)
{
    return fails(CALL_LINK) ? -1 : io_system.linkat(d, p, e, q, flags);
}
static inline int f_unlinkat(int d, const char *p, int flags)
{
    return fails(CALL_UNLINK) ? -1 : io_system.unlinkat(d, p, flags);
}

static inline int f_exchange(int d, const char *p, const char *q)
{
    return fails(CALL_EXCHANGE) ? -1 : io_system.exchange(d, p, q);
}
static inline ssize_t f_getdents(int fd, void *to, size_t n)
{
    return fails(CALL_LISTING) ? -1 : io_system.getdents(fd, to, n);
}
static inline int f_flock(int fd, int how)
{
    return fails(CALL_LOCK) ? -1 : io_system.flock(fd, how);
}
/* Not for the disk, which no test reads behind the system's back: waiting took nearly all time. */
static inline int f_fsync(int fd)
{
    (void)fd;
    return fails(CALL_SYNC) ? -1 : 0;
}
static inline int f_fchmod(int fd, mode_t m)
{
    return fails(CALL_MODE) ? -1 : io_system.fchmod(fd, m);
}

static inline void inject(Call c, int after, int error)
{
    static IoCalls calls;
    calls = io_system;
    calls.openat = f_openat;
    calls.close = f_close;
    calls.fstat = f_fstat;
    calls.fstatat = f_fstatat;
    calls.pread = f_pread;
    calls.pwrite = f_pwrite;
    calls.mkdirat = f_mkdirat;
    calls.renameat = f_renameat;
    calls.exchange = f_exchange;
    calls.getdents = f_getdents;
    calls.flock = f_flock;
    calls.fsync = f_fsync;
    calls.fchmod = f_fchmod;
    calls.linkat = f_linkat;
    calls.unlinkat = f_unlinkat;
    memset(&fault, 0, sizeof fault);
    for (int i = 0; i < CALLS; i++)
        fault.left[i] = -1;
    if (c < CALLS)
        fault.left[c] = after;
    fault.error = error;
    io_calls_test = &calls;
}

static inline void heal(void)
{
    io_calls_test = NULL;
}

#endif
