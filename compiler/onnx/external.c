/* SPDX-License-Identifier: Apache-2.0
 * Opening and checking the files that hold external data. */
#include "onnx/external.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io_calls.h"
#include "base/digest.h"

enum {
    MOST_LOCATION = 4095, /* bytes of a path, as the system allows */
    OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
};

/* A file that a tensor named; all tensors that name it share it. */
typedef struct ExternalFile {
    File *file;
    char sha1[41]; /* "": not computed yet */
} ExternalFile;

/* The folder part of a path. */
static const char *folder_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return arena_text(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

External external_new(Arena *arena, Store *store, const char *model)
{
    return (External){
        .arena = arena,
        .store = store,
        .mode = store->mode,
        .files = map_new(arena),
        .folder = model ? folder_of(arena, model) : NULL,
    };
}

static const char **entry_of(ExternalRef *ref, const char *key)
{
    if (!strcmp(key, "location"))
        return &ref->location;
    if (!strcmp(key, "offset"))
        return &ref->offset;
    if (!strcmp(key, "length"))
        return &ref->length;
    if (!strcmp(key, "checksum"))
        return &ref->checksum;
    return NULL;
}

void external_set(External *x, ExternalRef *ref, Loc loc, const char *key,
                  const char *value)
{
    const char **to = entry_of(ref, key);
    if (to && *to)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "the \"%s\" of external data is given twice", key);
    if (to)
        *to = value;
    else if (!x->warned) {
        x->warned = true;
        warn_at(loc,
                "the entry \"%.64s\" of external data is not known and ignored",
                key);
    }
}

bool external_number(const char *text, uint64_t *value)
{
    uint64_t v = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
            return false;
    }
    *value = v;
    return v <= INT64_MAX;
}

static const char *component_fault(const char *p, size_t n)
{
    if (n == 0)
        return "it has an empty part";
    if (n == 2 && p[0] == '.' && p[1] == '.')
        return "it leads upwards (\"..\")";
    return NULL;
}

const char *external_location_fault(const char *location)
{
    if (!location || !*location)
        return "it is empty";
    if (location[0] == '/')
        return "it is absolute";
    if (((location[0] | 32) >= 'a' && (location[0] | 32) <= 'z') &&
        location[1] == ':')
        return "it names a drive";
    if (strlen(location) > MOST_LOCATION)
        return "it is too long";
    for (const char *p = location; *p; p++) {
        if (*p == '\\')
            return "it contains a backslash";
        if ((unsigned char)*p < 32 || *p == 127)
            return "it contains a control character";
    }
    for (const char *p = location;; p++) {
        const size_t n = strcspn(p, "/");
        const char *fault = component_fault(p, n);
        if (fault)
            return fault;
        p += n;
        if (!*p)
            return NULL;
    }
}

/* One folder after the other, none of them a link: for systems without openat2(). */
static int open_components(int folder, const char *location)
{
    char part[256];
    int at = folder;
    for (;;) {
        const size_t n = strcspn(location, "/");
        const bool last = !location[n];
        int fd = -1;
        errno = ENAMETOOLONG;
        if (n < sizeof part) {
            memcpy(part, location, n);
            part[n] = 0;
            fd = io_open(at, part,
                         last ? OPEN_FLAGS | O_NOFOLLOW
                              : O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        }
        const int error = errno;
        if (at != folder)
            io_calls()->close(at);
        errno = error;
        if (fd < 0 || last)
            return fd;
        at = fd;
        location += n + 1;
    }
}

/* May another way be tried where openat2() failed so? */
static bool is_missing(int error)
{
    return error == ENOSYS || error == EPERM || error == E2BIG;
}

static int open_beneath(const External *x, int folder, const char *location)
{
    int tries = 100;
    if (x->by_components || !io_calls()->open_beneath)
        return open_components(folder, location);
    for (;;) {
        const int fd = io_calls()->open_beneath(folder, location, OPEN_FLAGS);
        if (fd >= 0)
            return fd;
        if (is_missing(errno))
            return open_components(folder, location);
        if ((errno != EINTR && errno != EAGAIN) || !--tries)
            return -1;
    }
}

static _Noreturn void fail_open(Loc loc, const char *folder,
                                const char *location, int error)
{
    switch (error) {
    case ENOENT:
        fail_at(STATUS_NO_INPUT, loc,
                "put the file beside the model, or name its folder with "
                "--external-data-dir",
                "its external data, \"%.255s\" in \"%.1024s\", do not exist",
                location, folder);
    case ELOOP:
    case ENOTDIR:
    case EXDEV:
        fail_at(STATUS_MALFORMED, loc,
                "put a copy of the file itself in the folder",
                "its external data, \"%.255s\" in \"%.1024s\", are reached "
                "through a link or a file",
                location, folder);
    case ENAMETOOLONG:
        fail_at(STATUS_MALFORMED, loc, NULL,
                "the location \"%.255s\" of its external data is too long",
                location);
    case ENXIO:
    case ENODEV:
        fail_at(
            STATUS_MALFORMED, loc, NULL,
            "its external data, \"%.255s\" in \"%.1024s\", are no regular file",
            location, folder);
    default:
        fail_at(STATUS_IO, loc, NULL,
                "its external data, \"%.255s\" in \"%.1024s\", cannot be "
                "opened: %s",
                location, folder, strerror(error));
    }
}

/* Why the open file is not acceptable, or NULL. A second name may belong to somebody's secret. */
static const char *file_fault(const IoStat *st)
{
    if (!S_ISREG(st->st_mode))
        return "are no regular file";
    if (st->st_nlink != 1)
        return "have more than one name (a hard link)";
    return NULL;
}

static File *open_file(const External *x, Loc loc, const char *location)
{
    File *file = file_new(x->arena,
                          arena_printf(x->arena, "%s/%s", x->folder, location));
    const int folder = io_open(AT_FDCWD, x->folder, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        fail_at(
            STATUS_NO_INPUT, loc, NULL,
            "the folder of external data, \"%.1024s\", cannot be opened: %s",
            x->folder, strerror(errno));
    const int fd = open_beneath(x, folder, location);
    const int error = errno;
    io_calls()->close(folder);
    IoStat st;
    if (fd < 0)
        fail_open(loc, x->folder, location, error);
    if (io_calls()->fstat(fd, &st)) {
        const int unknown = errno;
        io_calls()->close(fd);
        fail_open(loc, x->folder, location, unknown);
    }
    const char *fault = file_fault(&st);
    if (fault) {
        io_calls()->close(fd);
        fail_at(STATUS_MALFORMED, loc,
                "put a copy of the file itself in the folder",
                "its external data, \"%.255s\" in \"%.1024s\", %s", location,
                x->folder, fault);
    }
    file_take(file, x->arena, fd, x->mode);
    return file;
}

static ExternalFile *find_file(External *x, Loc loc, const char *location)
{
    ExternalFile *f = map_get(&x->files, location);
    if (f)
        return f;
    f = NEW(x->arena, ExternalFile);
    f->file = open_file(x, loc, location);
    VEC_PUSH(x->arena, &x->store->input, f->file->path);
    x->store->input_bytes += f->file->size;
    map_put(&x->files, location, f);
    return f;
}

static void compute_sha1(ExternalFile *f)
{
    Sha1 h;
    sha1_begin(&h);
    sha1_add_file(&h, f->file, 0, f->file->size);
    sha1_end(&h, f->sha1);
}

static void check_sha1(ExternalFile *file, Loc loc, const char *expected)
{
    bool same = strlen(expected) == 40;
    if (!same || strspn(expected, "0123456789abcdefABCDEF") != 40)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "the checksum \"%.64s\" of its external data is no SHA-1",
                expected);
    if (!*file->sha1)
        compute_sha1(file);
    for (int i = 0; i < 40; i++)
        same &= file->sha1[i] == (expected[i] >= 'A' && expected[i] <= 'F'
                                      ? expected[i] | 32
                                      : expected[i]);
    if (!same)
        fail_at(
            STATUS_MALFORMED, loc,
            "fetch the file again; it is damaged, or belongs to another model",
            "its external data have the checksum %s, not %s", file->sha1,
            expected);
}

static uint64_t number(Loc loc, const char *what, const char *text,
                       uint64_t otherwise)
{
    uint64_t v;
    if (!text)
        return otherwise;
    if (!external_number(text, &v))
        fail_at(STATUS_MALFORMED, loc, NULL,
                "the %s \"%.64s\" of its external data is no number of bytes",
                what, text);
    return v;
}

/* May it have external data, and at that place? */
static void check_allowed(const External *x, Loc loc, const ExternalRef *ref)
{
    if (x->refused)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "it has external data, which --no-external-data refuses");
    if (!x->folder)
        fail_at(STATUS_NO_INPUT, loc,
                "name their folder with --external-data-dir",
                "a model from standard input has external data");
    const char *fault = external_location_fault(ref->location);
    if (fault)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "the location \"%.255s\" of its external data is refused: %s",
                ref->location ? ref->location : "", fault);
}

static void check_inside(const File *file, Loc loc, const Span *span)
{
    if (span->length > file->size || span->offset > file->size - span->length)
        fail_at(STATUS_MALFORMED, loc,
                "the file is cut off, or belongs to another model",
                "its external data, %" PRIu64 " bytes at %" PRIu64
                ", reach beyond the end of \"%.1024s\" (%" PRIu64 " bytes)",
                span->length, span->offset, file->path, file->size);
}

File *external_find(External *x, Loc loc, const ExternalRef *ref,
                    uint64_t bytes, Span *span)
{
    check_allowed(x, loc, ref);
    span->offset = number(loc, "offset", ref->offset, 0);
    span->length = number(loc, "length", ref->length, bytes);
    if (span->length != bytes)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "the tensor needs %" PRIu64
                " bytes, but its external data have %" PRIu64,
                bytes, span->length);
    ExternalFile *found = find_file(x, loc, ref->location);
    check_inside(found->file, loc, span);
    if (ref->checksum && *ref->checksum)
        check_sha1(found, loc, ref->checksum);
    const ExternalRange range = {
        .file = found->file,
        .offset = span->offset,
        .length = span->length,
        .loc = loc,
    };
    if (span->length)
        VEC_PUSH(x->arena, &x->range, range);
    return found->file;
}

static int by_place(const void *a, const void *b)
{
    const ExternalRange *x = a;
    const ExternalRange *y = b;
    const int files = strcmp(x->file->path, y->file->path);
    if (files)
        return files;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->length != y->length)
        return (x->length > y->length) - (x->length < y->length);
    return (x->loc.byte > y->loc.byte) - (x->loc.byte < y->loc.byte);
}

void external_finish(External *x)
{
    if (!x->range.n)
        return;
    qsort(x->range.at, x->range.n, sizeof *x->range.at, by_place);
    for (size_t i = 1; i < x->range.n; i++) {
        const ExternalRange *before = x->range.at + i - 1;
        const ExternalRange *r = x->range.at + i;
        if (before->file != r->file ||
            r->offset - before->offset >= before->length)
            continue;
        if (before->offset == r->offset && before->length == r->length)
            continue;
        fail_at(STATUS_MALFORMED, r->loc,
                "the file that says where the weights lie is damaged, or "
                "belongs to other weights",
                "its external data, %" PRIu64 " bytes at %" PRIu64
                " of \"%.1024s\", overlap those of \"%.255s\", %" PRIu64
                " bytes at %" PRIu64,
                r->length, r->offset, r->file->path, before->loc.name,
                before->length, before->offset);
    }
    arena_drop(x->arena, x->range.at, x->range.room * sizeof *x->range.at);
    memset(&x->range, 0, sizeof x->range);
}
