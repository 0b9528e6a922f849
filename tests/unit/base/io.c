/* SPDX-License-Identifier: Apache-2.0
 * Files and output folders: statuses, load modes, and what is left behind when any
 * system call fails, does part of its work, or is interrupted. */
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
#include "base/io.h"
#include "base/io_calls.h"
#include "base/signals.h"

/* --- a folder for each test, and its content as text --- */

static char *scratch(void)
{
    const char *root = getenv("TMPDIR");
    static char path[4096];
    snprintf(path, sizeof path, "%s/inlay-io-XXXXXX", root && *root ? root : "/tmp");
    char *made = mkdtemp(path);
    assert_non_null(made);
    assert_int_equal(chdir(made), 0);
    return path;
}

static void remove_scratch(char *path)
{
    char command[4200];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* "name=content;" for each file of a folder and one level below, sorted. */
static void listing(const char *dir, char *to, size_t room, int depth)
{
    struct dirent **entry;
    const int n = scandir(dir, &entry, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        char path[4096], text[64] = "";
        snprintf(path, sizeof path, "%s/%s", dir, name);
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

static const char *tree(void)
{
    static char text[4096];
    text[0] = 0;
    listing(".", text, sizeof text, 0);
    return text;
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* --- running what may fail --- */

static char message[1024];

static Status run(void (*body)(void *), void *context)
{
    FILE *out = tmpfile();
    Diag d = { .out = out };
    const Status s = protect(&d, body, context);
    rewind(out);
    message[fread(message, 1, sizeof message - 1, out)] = 0;
    fclose(out);
    return s;
}

typedef struct Open {
    Arena *arena;
    const char *path;
    LoadMode mode;
    File *file;
} Open;

static void open_one(void *context)
{
    Open *o = context;
    o->file = file_open(o->arena, o->path, o->mode);
}

static Status try_open(Arena *a, const char *path, LoadMode mode)
{
    Open o = { a, path, mode, NULL };
    const Status s = run(open_one, &o);
    if (s == STATUS_OK)
        file_close(o.file);
    return s;
}

static void opening_has_documented_statuses(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    put("file", "hello");
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    const int before = open_descriptors();
    for (LoadMode m = LOAD_STREAM; m <= LOAD_EAGER; m++) {
        assert_int_equal(try_open(&a, "file", m), STATUS_OK);
        assert_int_equal(try_open(&a, "none", m), STATUS_NO_INPUT);
        assert_int_equal(try_open(&a, "file/none", m), STATUS_NO_INPUT);
        assert_int_equal(try_open(&a, "loop", m), STATUS_NO_INPUT);
        assert_int_equal(try_open(&a, "folder", m), STATUS_MALFORMED);
        assert_int_equal(try_open(&a, "pipe", m), STATUS_MALFORMED);
        assert_int_equal(try_open(&a, "/dev/null", m), STATUS_MALFORMED);
    }
    assert_non_null(strstr(message, "/dev/null"));
    assert_int_equal(open_descriptors(), before);
    arena_free(&a);
    remove_scratch(path);
}

typedef struct Read {
    File *file;
    uint64_t at;
    size_t n;
    char to[64];
} Read;

static void read_some(void *context)
{
    Read *r = context;
    file_read(r->file, r->at, r->to, r->n);
}

static void reads_are_exact_in_all_modes(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    put("file", "0123456789");
    put("empty", "");
    for (LoadMode m = LOAD_STREAM; m <= LOAD_EAGER; m++) {
        Read r = { .file = file_open(&a, "file", m), .at = 3, .n = 4 };
        assert_int_equal(r.file->size, 10);
        assert_int_equal(r.file->whole != NULL, m != LOAD_STREAM);
        assert_int_equal(run(read_some, &r), STATUS_OK);
        assert_memory_equal(r.to, "3456", 5);
        assert_int_equal(r.file->bytes_read >= 4, 1);
        r.at = 8;
        assert_int_equal(run(read_some, &r), STATUS_MALFORMED);
        r.at = UINT64_MAX - 1;
        assert_int_equal(run(read_some, &r), STATUS_MALFORMED);
        file_close(r.file);
        File *e = file_open(&a, "empty", m);
        file_read(e, 0, NULL, 0);
        file_close(e);
    }
    Read r = { .file = file_open(&a, "file", LOAD_STREAM), .at = 0, .n = 10 };
    assert_int_equal(truncate("file", 5), 0);
    assert_int_equal(run(read_some, &r), STATUS_IO);
    assert_non_null(strstr(message, "shortened while it was read"));
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
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
    bool dribble; /* reads and writes do at most three bytes, every other one is interrupted */
    unsigned tick;
} fault;

static bool fails(Call c)
{
    if (fault.left[c] < 0 || fault.left[c]-- > 0)
        return false;
    errno = fault.error;
    return true;
}

static int f_openat(int d, const char *p, int flags, mode_t m)
{
    return fails(CALL_OPEN) ? -1 : io_system.openat(d, p, flags, m);
}
static int f_close(int fd)
{
    const bool bad = fails(CALL_CLOSE);
    const int error = errno, r = io_system.close(fd);
    if (bad)
        errno = error;
    return bad ? -1 : r;
}
static int f_fstat(int fd, struct stat *s)
{
    return fails(CALL_STAT) ? -1 : io_system.fstat(fd, s);
}
static int f_fstatat(int d, const char *p, struct stat *s, int flags)
{
    return fails(CALL_STATAT) ? -1 : io_system.fstatat(d, p, s, flags);
}
static bool interrupted(void)
{
    if (!fault.dribble || fault.tick++ % 2)
        return false;
    errno = EINTR;
    return true;
}
static ssize_t f_pread(int fd, void *to, size_t n, off_t at)
{
    if (fails(CALL_READ) || interrupted())
        return -1;
    return io_system.pread(fd, to, fault.dribble && n > 3 ? 3 : n, at);
}
static ssize_t f_pwrite(int fd, const void *from, size_t n, off_t at)
{
    if (fails(CALL_WRITE) || interrupted())
        return -1;
    return io_system.pwrite(fd, from, fault.dribble && n > 3 ? 3 : n, at);
}
static int f_mkdirat(int d, const char *p, mode_t m)
{
    return fails(CALL_MKDIR) ? -1 : io_system.mkdirat(d, p, m);
}
static int f_renameat(int d, const char *p, int e, const char *q)
{
    return fails(CALL_RENAME) ? -1 : io_system.renameat(d, p, e, q);
}
static int f_linkat(int d, const char *p, int e, const char *q, int flags)
{
    return fails(CALL_LINK) ? -1 : io_system.linkat(d, p, e, q, flags);
}
static int f_unlinkat(int d, const char *p, int flags)
{
    return fails(CALL_UNLINK) ? -1 : io_system.unlinkat(d, p, flags);
}

static int f_exchange(int d, const char *p, const char *q)
{
    return fails(CALL_EXCHANGE) ? -1 : io_system.exchange(d, p, q);
}
static ssize_t f_getdents(int fd, void *to, size_t n)
{
    return fails(CALL_LISTING) ? -1 : io_system.getdents(fd, to, n);
}
static int f_flock(int fd, int how)
{
    return fails(CALL_LOCK) ? -1 : io_system.flock(fd, how);
}
static int f_fsync(int fd)
{
    return fails(CALL_SYNC) ? -1 : io_system.fsync(fd);
}
static int f_fchmod(int fd, mode_t m)
{
    return fails(CALL_MODE) ? -1 : io_system.fchmod(fd, m);
}

static void inject(Call c, int after, int error)
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

static void heal(void)
{
    io_calls_test = NULL;
}

/* --- files that shrink while they are read whole --- */

static ssize_t f_shrinking_pread(int fd, void *to, size_t n, off_t at)
{
    assert_int_equal(truncate("file", 4), 0);
    return io_system.pread(fd, to, n > 4 ? 4 : n, at);
}

static void files_that_shrink_are_read_errors(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    IoCalls calls = io_system;
    calls.pread = f_shrinking_pread;
    put("file", "0123456789");
    io_calls_test = &calls;
    assert_int_equal(try_open(&a, "file", LOAD_EAGER), STATUS_IO);
    heal();
    assert_non_null(strstr(message, "shortened while it was read"));
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
}

/* --- output folders --- */

typedef struct Make {
    Arena arena;
    Output *out;
    const char *dir, *a, *b;
    const Written *former; /* ended by a NULL name */
} Make;

static void make(void *context)
{
    Make *m = context;
    m->out = output_begin(&m->arena, m->dir);
    File *f = output_create(m->out, "src/a.bin");
    file_write(f, 4, m->a + 4, strlen(m->a) - 4);
    file_write(f, 0, m->a, 4);
    if (m->b)
        output_text(m->out, "b.txt", m->b, strlen(m->b));
    output_text(m->out, "src/c.h", "same", 4);
    for (const Written *w = m->former; w && w->name; w++)
        output_forget(m->out, w);
    output_commit(m->out);
}

static Status make_after(const char *dir, const char *a, const char *b, const Written *former)
{
    Make m = { .dir = dir, .a = a, .b = b, .former = former };
    const Status s = run(make, &m);
    output_abort(m.out);
    file_close_all(&m.arena);
    arena_free(&m.arena);
    return s;
}

static Status make_folder(const char *dir, const char *a, const char *b)
{
    return make_after(dir, a, b, NULL);
}

static void begin_other(void *context)
{
    Make *m = context;
    m->out = output_begin(&m->arena, "other");
}

/* What a failure left goes when the next compile begins. */
static void begin_and_abort(void)
{
    Make m = { .dir = "other" };
    assert_int_equal(run(begin_other, &m), STATUS_OK);
    output_abort(m.out);
    arena_free(&m.arena);
}

static void new_folders_appear_whole(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    assert_string_equal(tree(), "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    assert_int_equal(make_folder("deep/er/out", "hello world", "bee"), STATUS_CANNOT_CREATE);
    assert_int_equal(make_folder("out/b.txt", "hello world", "bee"), STATUS_CANNOT_CREATE);
    assert_int_equal(make_folder("", "hello world", "bee"), STATUS_CANNOT_CREATE);
    assert_string_equal(tree(), "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    assert_int_equal(make_folder("two/", "hello world", "bee"), STATUS_OK);
    assert_string_equal(tree(), "out/;b.txt=bee;src/;a.bin=hello "
                                "world;c.h=same;two/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

static void existing_folders_keep_what_is_equal(void **state)
{
    (void)state;
    char *path = scratch();
    struct stat old_b, old_c, b, c;
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    put("out/own", "mine");
    assert_int_equal(symlink("own", "out/link"), 0);
    assert_int_equal(stat("out/b.txt", &old_b), 0);
    assert_int_equal(stat("out/src/c.h", &old_c), 0);
    assert_int_equal(make_folder("out", "other world", "bee"), STATUS_OK);
    assert_int_equal(stat("out/b.txt", &b), 0);
    assert_int_equal(stat("out/src/c.h", &c), 0);
    assert_int_equal(old_b.st_ino, b.st_ino);
    assert_int_equal(old_c.st_ino, c.st_ino);
    assert_string_equal(tree(),
                        "out/;b.txt=bee;link=mine;own=mine;src/;a.bin=other world;c.h=same;");
    assert_int_equal(symlink("out", "alias"), 0);
    assert_int_equal(make_folder("alias", "hello world", "wasp"), STATUS_OK);
    assert_string_equal(tree(),
                        "alias/;b.txt=wasp;link=mine;own=mine;src/;a.bin=hello world;c.h=same;"
                        "out/;b.txt=wasp;link=mine;own=mine;src/;a.bin=hello world;c.h=same;");
    remove_scratch(path);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    char *path = scratch();
    assert_int_equal(mkdir("out", 0777), 0);
    assert_int_equal(mkdir("away", 0777), 0);
    put("victim", "safe");
    assert_int_equal(symlink("../victim", "out/b.txt"), 0);
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    assert_string_equal(tree(),
                        "away/;out/;b.txt=bee;src/;a.bin=hello world;c.h=same;victim=safe;");
    assert_int_equal(mkdir("two", 0777), 0);
    assert_int_equal(symlink("../away", "two/src"), 0);
    assert_int_equal(make_folder("two", "hello world", "bee"), STATUS_CANNOT_CREATE);
    assert_int_equal(unlink("two/src"), 0);
    assert_string_equal(tree(),
                        "away/;out/;b.txt=bee;src/;a.bin=hello world;c.h=same;two/;victim=safe;");
    assert_int_equal(mkdir("two/b.txt", 0777), 0);
    assert_int_equal(make_folder("two", "hello world", "bee"), STATUS_CANNOT_CREATE);
    assert_string_equal(
        tree(), "away/;out/;b.txt=bee;src/;a.bin=hello world;c.h=same;two/;b.txt/;victim=safe;");
    remove_scratch(path);
}

/* Each call fails in turn, once the first time it is made, once the second ...: the folder is as it
 * was, or complete. */
static void failures_leave_the_folder_as_it_was(void **state)
{
    (void)state;
    static const char BEFORE[] = "out/;b.txt=old;keep=k;src/;a.bin=old;",
                      AFTER[] = "out/;b.txt=bee;keep=k;src/;a.bin=hello world;c.h=same;";
    char *path = scratch();
    const int before = open_descriptors();
    for (Call c = CALL_OPEN; c < CALLS; c++) {
        for (int after = 0; after < 30; after++) {
            assert_int_equal(mkdir("out", 0777), 0);
            assert_int_equal(mkdir("out/src", 0777), 0);
            put("out/b.txt", "old");
            put("out/src/a.bin", "old");
            put("out/keep", "k");
            inject(c, after, EIO);
            const Status s = make_folder("out", "hello world", "bee");
            const bool untouched = fault.left[c] >= 0;
            heal();
            assert_true(s == STATUS_OK || s == STATUS_CANNOT_CREATE || s == STATUS_IO);
            begin_and_abort();
            assert_string_equal(tree(), s == STATUS_OK ? AFTER : BEFORE);
            assert_int_equal(system("rm -rf out"), 0);
            if (untouched)
                break;
        }
    }
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

static void failures_leave_no_new_folder(void **state)
{
    (void)state;
    char *path = scratch();
    for (Call c = CALL_OPEN; c < CALLS; c++) {
        for (int after = 0; after < 30; after++) {
            inject(c, after, EACCES);
            const Status s = make_folder("out", "hello world", "bee");
            const bool untouched = fault.left[c] >= 0;
            heal();
            begin_and_abort();
            assert_string_equal(
                tree(), s == STATUS_OK ? "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;" : "");
            assert_int_equal(system("rm -rf out"), 0);
            if (untouched)
                break;
        }
    }
    remove_scratch(path);
}

/* --- files of earlier compiles, and what the dead left --- */

static Written written_in(const char *dir, const char *name, const char *text)
{
    Make m = { .dir = dir };
    Written w;
    m.out = output_begin(&m.arena, dir);
    output_text(m.out, name, text, strlen(text));
    assert_true(output_written(m.out, 0, &w));
    assert_false(output_written(m.out, 1, &(Written){ 0 }));
    assert_int_equal(w.bytes, strlen(text));
    output_abort(m.out);
    arena_free(&m.arena);
    w.name = name;
    return w;
}

/* In both ways to put files in place: as a whole, and one by one. */
static void earlier_files_go_unless_they_were_changed(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        char *path = scratch();
        const Written former[] = { written_in("out", "b.txt", "bee"),
                                   written_in("out", "src/old.h", "old"),
                                   written_in("out", "src/mine.h", "a"),
                                   written_in("out", "src/c.h", "same"),
                                   written_in("out", "own/x", "x"),
                                   { .name = "../b.txt" },
                                   { .name = "/etc/none" },
                                   { .name = "src/../own" },
                                   { .name = "none.txt" },
                                   { 0 } };
        assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
        put("out/src/old.h", "old");
        put("out/src/mine.h", "b");
        put("out/keep", "k");
        if (way) {
            assert_int_equal(mkdir("out/own", 0777), 0);
            put("out/own/x", "x");
        }
        assert_int_equal(make_after("out", "other world", NULL, former), STATUS_OK);
        assert_string_equal(tree(), way ? "out/;keep=k;own/;x=x;src/;a.bin=other world;c.h=same;"
                                          "mine.h=b;"
                                        : "out/;keep=k;src/;a.bin=other world;c.h=same;mine.h=b;");
        remove_scratch(path);
    }
}

static void folders_of_others_are_not_exchanged(void **state)
{
    (void)state;
    char *path = scratch();
    struct stat before, after;
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    put("out/link-me", "k");
    assert_int_equal(stat("out", &before), 0);
    assert_int_equal(make_folder("out", "hello there", "bee"), STATUS_OK);
    assert_int_equal(stat("out", &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino); /* exchanged */
    assert_int_equal(make_folder("out", "hello there", "bee"), STATUS_OK);
    assert_int_equal(stat("out", &before), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* nothing is new */
    assert_int_equal(mkdir("out/own", 0777), 0);
    put("out/own/x", "x");
    assert_int_equal(make_folder("out", "hello again", "bee"), STATUS_OK);
    assert_int_equal(chdir("out"), 0);
    assert_int_equal(make_folder(".", "hello a4ain", "bee"), STATUS_OK);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(stat("out", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_string_equal(tree(),
                        "out/;b.txt=bee;link-me=k;own/;x=x;src/;a.bin=hello a4ain;c.h=same;");
    remove_scratch(path);
}

static void what_the_dead_left_is_swept(void **state)
{
    (void)state;
    char *path = scratch();
    static const char *const hidden[] = { ".inlay-00000000", ".inlay-0123abcd", ".inlay-mine",
                                          ".inlay-0123abcde" };
    char name[64];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s/src", hidden[i]);
        assert_int_equal(mkdir(hidden[i], 0777), 0);
        assert_int_equal(mkdir(name, 0777), 0);
        strcat(name, "/x.bin");
        put(name, "x");
    }
    put("victim", "safe");
    assert_int_equal(symlink("../victim", ".inlay-00000000/link"), 0);
    assert_int_equal(symlink(".", ".inlay-ffffffff"), 0);
    const int alive = open(".inlay-0123abcd", O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(alive, LOCK_EX | LOCK_NB), 0);
    begin_and_abort();
    unlink(".inlay-ffffffff");
    assert_string_equal(tree(), ".inlay-0123abcd/;src/;x.bin=x;.inlay-0123abcde/;src/;x.bin=x;"
                                ".inlay-mine/;src/;x.bin=x;victim=safe;");
    close(alive);
    remove_scratch(path);
}

static void die_by(int number)
{
    Arena a = { 0 };
    signals_install();
    Output *o = output_begin(&a, "out");
    File *f = output_create(o, "src/a.bin");
    file_write(f, 0, "hello", 5);
    raise(number);
    _exit(99);
}

static void signals_remove_what_is_half_done(void **state)
{
    (void)state;
    static const int number[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGXCPU };
    char *path = scratch();
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        int status = 0;
        const struct rlimit no_core = { 0, 0 };
        const pid_t child = fork();
        if (!child) {
            setrlimit(RLIMIT_CORE, &no_core);
            signal(number[i], SIG_DFL); /* a script's background has some ignored */
            die_by(number[i]);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number[i]);
        assert_string_equal(tree(), "");
    }
    remove_scratch(path);
}

static void full_disks_are_named(void **state)
{
    (void)state;
    char *path = scratch();
    inject(CALL_WRITE, 1, ENOSPC);
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_IO);
    heal();
    assert_non_null(strstr(message, "out/src/a.bin"));
    assert_non_null(strstr(message, "No space left"));
    assert_string_equal(tree(), "");
    remove_scratch(path);
}

static void partial_and_interrupted_calls_are_resumed(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    inject(CALLS, 0, 0);
    fault.dribble = true;
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    assert_int_equal(make_folder("out", "hello there", "bee"), STATUS_OK);
    Read r = { .file = file_open(&a, "out/src/a.bin", LOAD_STREAM), .at = 1, .n = 10 };
    assert_int_equal(run(read_some, &r), STATUS_OK);
    assert_memory_equal(r.to, "ello there", 10);
    heal();
    assert_string_equal(tree(), "out/;b.txt=bee;src/;a.bin=hello there;c.h=same;");
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
}

static void make_temporary(void *context)
{
    Arena *a = context;
    (void)file_temporary(a);
}

static void temporary_files_leave_nothing(void **state)
{
    (void)state;
    char *path = scratch(), text[6] = "";
    Arena a = { 0 };
    const char *old = getenv("TMPDIR");
    char *saved = old ? strdup(old) : NULL;
    setenv("TMPDIR", ".", 1);
    File *f = file_temporary(&a);
    file_write(f, 10, "there", 5);
    file_write(f, 0, "hello", 5);
    file_read(f, 10, text, 5);
    assert_string_equal(text, "there");
    assert_int_equal(f->size, 15);
    assert_string_equal(tree(), "");
    setenv("TMPDIR", "./none", 1);
    assert_int_equal(run(make_temporary, &a), STATUS_CANNOT_CREATE);
    if (saved)
        setenv("TMPDIR", saved, 1);
    else
        unsetenv("TMPDIR");
    free(saved);
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_has_documented_statuses),
        cmocka_unit_test(reads_are_exact_in_all_modes),
        cmocka_unit_test(files_that_shrink_are_read_errors),
        cmocka_unit_test(new_folders_appear_whole),
        cmocka_unit_test(existing_folders_keep_what_is_equal),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(failures_leave_the_folder_as_it_was),
        cmocka_unit_test(failures_leave_no_new_folder),
        cmocka_unit_test(earlier_files_go_unless_they_were_changed),
        cmocka_unit_test(folders_of_others_are_not_exchanged),
        cmocka_unit_test(what_the_dead_left_is_swept),
        cmocka_unit_test(signals_remove_what_is_half_done),
        cmocka_unit_test(full_disks_are_named),
        cmocka_unit_test(partial_and_interrupted_calls_are_resumed),
        cmocka_unit_test(temporary_files_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
