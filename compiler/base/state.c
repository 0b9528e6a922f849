/* SPDX-License-Identifier: Apache-2.0 */
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/diag.h"
#include "base/io_calls.h"

#define SECOND INT64_C(1000000000)
/* Files get the time of the kernel's last tick, of which there are a hundred a second at least;
 * file systems that know whole seconds alone count in two of them. */
enum { TICK = 20 * 1000 * 1000, SECONDS = 2 };

static _Noreturn void fail_path(Status status, const char *path,
                                const char *what)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const int error = errno;
    fail_at(status, loc, NULL, "%s: %s", what, strerror(error));
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

FileState file_state(const File *file)
{
    IoStat st;
    if (io_calls()->fstat(file->fd, &st))
        fail_path(STATUS_IO, file->path, "cannot read");
    return (FileState){
        .device = (int64_t)st.st_dev,
        .node = (int64_t)st.st_ino,
        .size = (int64_t)st.st_size,
        .modified = nanoseconds(st.st_mtim),
        .changed = nanoseconds(st.st_ctim),
    };
}

bool state_is_equal(const FileState *a, const FileState *b)
{
    return a->device == b->device && a->node == b->node && a->size == b->size &&
           a->modified == b->modified && a->changed == b->changed;
}

bool state_is_settled(const FileState *state, int64_t at)
{
    const int64_t last =
        state->modified > state->changed ? state->modified : state->changed;
    const bool whole =
        state->modified % SECOND == 0 && state->changed % SECOND == 0;
    return last < at - (whole ? SECONDS * SECOND : TICK);
}

int64_t state_now(void)
{
    struct timespec time = { 0, 0 };
    clock_gettime(CLOCK_REALTIME, &time);
    return nanoseconds(time);
}

File *file_try(Arena *arena, const char *path)
{
    IoStat st;
    File *file = file_new(arena, path);
    const int fd = io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    file->fd = fd;
    if (fd >= 0 && !io_calls()->fstat(fd, &st) && S_ISREG(st.st_mode)) {
        file->size = (uint64_t)st.st_size;
        return file;
    }
    (void)file_release(file);
    return NULL;
}

void file_rename(const char *from, const char *to)
{
    if (io_calls()->renameat(AT_FDCWD, from, AT_FDCWD, to))
        fail_path(STATUS_CANNOT_CREATE, to, "cannot create");
}

static void make_one(const char *path)
{
    if (io_calls()->mkdirat(AT_FDCWD, path, 0777) && errno != EEXIST)
        fail_path(STATUS_CANNOT_CREATE, path, "cannot create");
}

void folder_make(Arena *arena, const char *path)
{
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
        if (at > path)
            make_one(arena_text(arena, path, (size_t)(at - path)));
    make_one(path);
}
