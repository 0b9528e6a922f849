/* SPDX-License-Identifier: Apache-2.0
 * Output folders: what is left behind when any system call fails, does part of its work, or is
 * interrupted; files of earlier compiles, other users' folders, signals. */
#include "calls.h"

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

static Status make_after(const char *dir, const char *a, const char *b,
                         const Written *former)
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

static void begin_there(void *context)
{
    Make *m = context;
    m->out = output_begin(&m->arena, m->dir);
}

/* What a failure left goes when the next compile begins. */
static void begin_and_abort(void)
{
    Make m = { .dir = "other" };
    assert_int_equal(run(begin_there, &m), STATUS_OK);
    output_abort(m.out);
    arena_free(&m.arena);
}

static void new_folders_appear_whole(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    assert_string_equal(tree(),
                        "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    assert_int_equal(make_folder("out/b.txt", "hello world", "bee"),
                     STATUS_CANNOT_CREATE);
    assert_int_equal(make_folder("", "hello world", "bee"),
                     STATUS_CANNOT_CREATE);
    assert_string_equal(tree(),
                        "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    assert_int_equal(make_folder("two/", "hello world", "bee"), STATUS_OK);
    assert_string_equal(
        tree(),
        "out/;b.txt=bee;src/;a.bin=hello "
        "world;c.h=same;two/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

/* Folders on the way are made with the folder itself, not before. */
static void folders_on_the_way_are_made(void **state)
{
    (void)state;
    static const char *const bad[] = { "file/x/out", "a/b/.", "a/b/.." };
    char *path = scratch();
    char longest[300];
    const int before = open_descriptors();
    put("file", "mine");
    Make m = { .dir = "a//b/../b/out" };
    assert_int_equal(run(begin_there, &m), STATUS_OK);
    output_abort(m.out);
    arena_free(&m.arena);
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "a/", 2);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(make_folder(longest, "hello world", "bee"),
                     STATUS_CANNOT_CREATE);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(make_folder(bad[i], "hello world", "bee"),
                         STATUS_CANNOT_CREATE);
    assert_string_equal(tree(), "file=mine;");
    assert_int_equal(make_folder("a//b/../out/", "hello world", "bee"),
                     STATUS_OK);
    assert_string_equal(tree(), "a/;b/;out/;b.txt=bee;src/;file=mine;");
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

static void begin_temporary(void *context)
{
    Make *m = context;
    m->out = output_begin_temporary(&m->arena);
    output_text(m->out, "src/a.c", "int a;", 6);
}

/* Other programs find the files; nothing is left of them. */
static void temporary_folders_go(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    Make m = { 0 };
    setenv("TMPDIR", ".", 1);
    assert_int_equal(run(begin_temporary, &m), STATUS_OK);
    assert_int_equal(access(output_temporary(m.out, "src/a.c"), R_OK), 0);
    output_abort(m.out);
    assert_string_equal(tree(), "");
    setenv("TMPDIR", "no/such/folder", 1);
    assert_int_equal(run(begin_temporary, &m), STATUS_CANNOT_CREATE);
    unsetenv("TMPDIR");
    arena_free(&m.arena);
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
    assert_string_equal(
        tree(),
        "out/;b.txt=bee;link=mine;own=mine;src/;a.bin=other world;c.h=same;");
    assert_int_equal(symlink("out", "alias"), 0);
    assert_int_equal(make_folder("alias", "hello world", "wasp"), STATUS_OK);
    assert_string_equal(
        tree(),
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
    assert_string_equal(
        tree(),
        "away/;out/;b.txt=bee;src/;a.bin=hello world;c.h=same;victim=safe;");
    assert_int_equal(mkdir("two", 0777), 0);
    assert_int_equal(symlink("../away", "two/src"), 0);
    assert_int_equal(make_folder("two", "hello world", "bee"),
                     STATUS_CANNOT_CREATE);
    assert_int_equal(unlink("two/src"), 0);
    assert_string_equal(tree(), "away/;out/;b.txt=bee;src/;a.bin=hello "
                                "world;c.h=same;two/;victim=safe;");
    assert_int_equal(mkdir("two/b.txt", 0777), 0);
    assert_int_equal(make_folder("two", "hello world", "bee"),
                     STATUS_CANNOT_CREATE);
    assert_string_equal(tree(), "away/;out/;b.txt=bee;src/;a.bin=hello "
                                "world;c.h=same;two/;b.txt/;victim=safe;");
    remove_scratch(path);
}

/* Each call fails in turn, once the first time it is made, once the second ...: the folder is as it
 * was, or complete. */
static void failures_leave_the_folder_as_it_was(void **state)
{
    (void)state;
    static const char
        BEFORE[] = "out/;b.txt=old;keep=k;src/;a.bin=old;",
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
            assert_true(s == STATUS_OK || s == STATUS_CANNOT_CREATE ||
                        s == STATUS_IO);
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
                tree(), s == STATUS_OK
                            ? "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;"
                            : "");
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
/* Of output_has_other(). */
static const char *const own[] = { "m.json", "library.json", NULL };

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
        assert_int_equal(make_after("out", "other world", NULL, former),
                         STATUS_OK);
        assert_string_equal(
            tree(), "out/;keep=k;src/;a.bin=other world;c.h=same;mine.h=b;");
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
    assert_string_equal(
        tree(),
        "out/;b.txt=bee;link-me=k;own/;x=x;src/;a.bin=hello a4ain;c.h=same;");
    remove_scratch(path);
}

static void what_the_dead_left_is_swept(void **state)
{
    (void)state;
    char *path = scratch();
    static const char *const hidden[] = { ".inlay-00000000", ".inlay-0123abcd",
                                          ".inlay-mine", ".inlay-0123abcde" };
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
    assert_string_equal(
        tree(), ".inlay-0123abcd/;src/;x.bin=x;.inlay-0123abcde/;src/;x.bin=x;"
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
    static const int number[] = { SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                  SIGPIPE, SIGXFSZ, SIGXCPU };
    char *path = scratch();
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        int status = 0;
        const struct rlimit no_core = { 0, 0 };
        const pid_t child = fork();
        if (!child) {
            setrlimit(RLIMIT_CORE, &no_core);
            signal(number[i],
                   SIG_DFL); /* a script's background has some ignored */
            die_by(number[i]);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number[i]);
        assert_string_equal(tree(), "");
    }
    remove_scratch(path);
}

/* --- every call fails in every way while a folder with a past is made anew --- */

/* All that an output folder can do, in one go. */
static void renew(void *context)
{
    Make *m = context;
    Written written;
    m->out = output_begin(&m->arena, "out");
    char *former = output_former(m->out, "m.json", 6);
    if (former)
        assert_string_equal(former, "{\"old\"");
    assert_null(output_former(m->out, "none.json", 6));
    (void)output_has_other(m->out, ".json", own);
    output_text(m->out, "src/a.bin", "hello", 5);
    output_text(m->out, "b.txt", "bee", 3);
    output_text(m->out, "m.json", "{\"new\"}", 7);
    output_text(m->out, "src/b.bin", "new", 3);
    for (size_t i = 0; i < 4; i++)
        assert_true(output_written(m->out, i, &written));
    assert_false(output_written(m->out, 4, &written));
    for (const Written *w = m->former; w->name; w++)
        output_forget(m->out, w);
    output_commit(m->out);
}

static void past(bool others)
{
    assert_int_equal(mkdir("out", 0777), 0);
    assert_int_equal(mkdir("out/src", 0777), 0);
    put("out/b.txt", "bee");
    put("out/m.json", "{\"old\"}");
    put("out/src/a.bin", "old");
    put("out/src/gone.h", "gone");
    if (others) {
        assert_int_equal(mkdir("out/own", 0777), 0);
        put("out/own/x", "x");
    }
}

/* on: from then on. */
static void renew_with(bool others, Call call, int after, int error, bool on,
                       const Written *former)
{
    char before[512];
    char behind[512];
    snprintf(before, sizeof before,
             "out/;b.txt=bee;m.json={\"old\"};%ssrc/;a.bin=old;gone.h=gone;",
             others ? "own/;x=x;" : "");
    snprintf(behind, sizeof behind,
             "out/;b.txt=bee;m.json={\"new\"};%ssrc/;a.bin=hello;b.bin=new;",
             others ? "own/;x=x;" : "");
    Make m = { .former = former };
    inject(call, after, error);
    fault.on = on;
    const Status status = run(renew, &m);
    output_abort(m.out);
    heal();
    file_close_all(&m.arena);
    arena_free(&m.arena);
    begin_and_abort();
    assert_true(status == STATUS_OK || status == STATUS_IO ||
                status == STATUS_CANNOT_CREATE || status == STATUS_MEMORY);
    const char *now = tree();
    if (status != STATUS_OK) {
        assert_string_equal(now, before);
    } else if (strcmp(now, behind)) { /* what could not be looked at stays */
        assert_non_null(strstr(now, "gone.h=gone;"));
        assert_non_null(strstr(now, "a.bin=hello;"));
    }
}

static void every_call_fails_in_every_way(void **state)
{
    (void)state;
    static const int errors[] = { EIO, EINTR, EINVAL, EEXIST, EWOULDBLOCK };
    char *path = scratch();
    const Written former[] = { written_in("other", "src/gone.h", "gone"),
                               { .name = "src/" },
                               { .name = "src/.x" },
                               { .name = "" },
                               { .name = "a/b/c" },
                               { 0 } };
    const int before = open_descriptors();
    for (int others = 0; others < 2; others++)
        for (Call call = CALL_OPEN; call < CALLS; call++)
            for (int i = 0; i < 5; i++)
                for (int after = 0; after < 60; after++) {
                    past(others);
                    renew_with(others, call, after, errors[i], false, former);
                    const bool untouched = fault.left[call] >= 0;
                    folder_remove(AT_FDCWD, "out");
                    if (untouched)
                        break;
                }
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

/* What was put in place is taken back where a kind of call has begun to fail for good. */
static void calls_fail_from_then_on(void **state)
{
    (void)state;
    static const Call calls[] = { CALL_RENAME, CALL_UNLINK, CALL_LINK };
    char *path = scratch();
    const Written former[] = { written_in("other", "src/gone.h", "gone"),
                               { 0 } };
    for (int others = 0; others < 2; others++)
        for (int i = 0; i < 3; i++)
            for (int after = 0; after < 60; after++) {
                past(others);
                renew_with(others, calls[i], after, EIO, true, former);
                const bool untouched = fault.left[calls[i]] > 0;
                folder_remove(AT_FDCWD, "out");
                if (untouched)
                    break;
            }
    remove_scratch(path);
}

/* --- folders and signals --- */

static bool count_one(void *context, const char *name)
{
    (void)name;
    ++*(int *)context;
    return true;
}

static off_t f_lseek(int fd, off_t at, int from)
{
    (void)fd;
    (void)at;
    (void)from;
    errno = EIO;
    return -1;
}

static void folders_are_listed(void **state)
{
    (void)state;
    char *path = scratch();
    put("a", "1");
    put("b", "2");
    const int fd = open(".", O_RDONLY | O_DIRECTORY);
    int n = 0;
    assert_true(folder_each(fd, count_one, &n));
    assert_int_equal(n, 2);
    assert_true(folder_each(fd, count_one, &n)); /* from the start again */
    assert_int_equal(n, 4);
    inject(CALL_LISTING, 0, EINTR);
    assert_true(folder_each(fd, count_one, &n));
    assert_int_equal(n, 6);
    inject(CALL_LISTING, 0, EIO);
    assert_false(folder_each(fd, count_one, &n));
    IoCalls calls = io_system;
    calls.lseek = f_lseek;
    io_calls_test = &calls;
    assert_false(folder_each(fd, count_one, &n));
    heal();
    assert_int_equal(n, 6);
    close(fd);
    remove_scratch(path);
}

static void names_that_are_hidden(void **state)
{
    (void)state;
    assert_true(folder_is_hidden_name(".inlay-0123abcd"));
    assert_false(folder_is_hidden_name(".inlay-0123abc"));
    assert_false(folder_is_hidden_name(".inlay-0123abcde"));
    assert_false(folder_is_hidden_name(".inlay-0123abcdx"));
    assert_false(folder_is_hidden_name(".inlay-0123abcX"));
    assert_false(folder_is_hidden_name("xinlay-0123abcd"));
    assert_false(folder_is_hidden_name(""));
}

/* What another user left, and what cannot be looked at or locked, stays. */
static void sweeping_is_careful(void **state)
{
    (void)state;
    static const char name[] = ".inlay-00000001";
    char *path = scratch();
    const int fd = open(".", O_RDONLY | O_DIRECTORY);
    static const Call calls[] = { CALL_STAT, CALL_LOCK, CALL_OPEN };
    assert_int_equal(mkdir(name, 0777), 0);
    for (int i = 0; i < 3; i++) {
        inject(calls[i], 0, EIO);
        folder_sweep(fd);
        heal();
        assert_int_equal(access(name, F_OK), 0);
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(name, 12345, 12345), 0);
        folder_sweep(fd);
        assert_int_equal(access(name, F_OK), 0);
        assert_int_equal(chown(name, 0, 0), 0);
    }
    inject(CALL_LOCK, 0, EINTR);
    folder_sweep(fd);
    heal();
    assert_int_not_equal(access(name, F_OK), 0);
    close(fd);
    remove_scratch(path);
}

/* Held signals come when they are let; to let none is nothing. */
static void signals_are_held(void **state)
{
    (void)state;
    signals_let();
    signals_hold();
    signals_hold();
    sigset_t now;
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &now), 0);
    assert_int_equal(sigismember(&now, SIGTERM), 1);
    signals_let();
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &now), 0);
    assert_int_equal(sigismember(&now, SIGTERM), 0);
}

/* --- what is in an output folder --- */

static void former_texts(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    Output *o = output_begin(&a, "new"); /* there is no folder of before */
    assert_null(output_former(o, "m.json", 9));
    assert_false(output_has_other(o, ".json", own));
    output_abort(o);
    output_abort(o);
    output_abort(NULL);
    assert_int_equal(mkdir("out", 0777), 0);
    assert_int_equal(mkdir("out/folder.json", 0777), 0);
    put("out/m.json", "0123456789");
    o = output_begin(&a, "out/");
    assert_string_equal(output_former(o, "m.json", 4), "0123");
    assert_string_equal(output_former(o, "m.json", 10), "0123456789");
    assert_string_equal(output_former(o, "m.json", 11), "0123456789");
    assert_null(output_former(o, "folder.json", 11));
    assert_true(output_has_other(o, ".json", own));
    assert_false(output_has_other(o, ".json5", own));
    assert_false(output_has_other(o, "a-much-longer-ending", own));
    output_abort(o);
    assert_int_equal(rmdir("out/folder.json"), 0);
    o = output_begin(&a, "out");
    assert_false(output_has_other(o, ".json", own));
    output_text(o, "x", "", 0);
    Written written;
    assert_true(output_written(o, 0, &written));
    assert_int_equal(written.bytes, 0);
    assert_int_equal(strlen(written.sum), 16);
    output_abort(o);
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
}

/* The sum is of the first and the last 64 KiB. */
static void sums_of_long_files(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    enum { LONG = 200000 };
    char *text = malloc(LONG);
    char first[17] = "";
    static const struct {
        int place;
        bool seen;
    } changes[] = { { -1, false },     { 0, true },       { 65535, true },
                    { 65536, false },  { 134463, false }, { 134464, true },
                    { LONG - 1, true } };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        Output *o = output_begin(&a, "out");
        memset(text, 'x', LONG);
        if (changes[i].place >= 0)
            text[changes[i].place] = 'y';
        output_text(o, "long", text, LONG);
        Written written;
        assert_true(output_written(o, 0, &written));
        if (i == 0)
            strcpy(first, written.sum);
        assert_int_equal(strcmp(first, written.sum) != 0, changes[i].seen);
        output_abort(o);
    }
    free(text);
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
}

static void begin_named(void *context)
{
    Make *m = context;
    m->out = output_begin(&m->arena, m->dir);
}

static Status begins(const char *dir)
{
    Make m = { .dir = dir };
    const Status status = run(begin_named, &m);
    output_abort(m.out);
    file_close_all(&m.arena);
    arena_free(&m.arena);
    return status;
}

/* A folder of the root, one on a device of its own, one that holds nothing ours. */
static void unusual_places(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    const Status root = begins("/inlay-unit-none");
    assert_true(root == STATUS_OK || root == STATUS_CANNOT_CREATE);
    const Status device = begins("/dev/shm");
    assert_true(device == STATUS_OK || device == STATUS_CANNOT_CREATE);
    assert_int_equal(begins("/"), geteuid() ? STATUS_CANNOT_CREATE : STATUS_OK);
    assert_int_equal(mkdir("out", 0777), 0);
    inject(CALL_MKDIR, 0, EACCES); /* not beside it: within */
    assert_int_equal(begins("out"), STATUS_OK);
    heal();
    assert_string_equal(tree(), "out/;");
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

static int f_always_locked(int fd, int how)
{
    (void)fd;
    (void)how;
    errno = EWOULDBLOCK;
    return -1;
}

static int gone_left;

static int f_gone(int fd, struct stat *to)
{
    const int result = io_system.fstat(fd, to);
    if (gone_left-- > 0)
        to->st_nlink = 0;
    return result;
}

/* Hidden folders that another always takes, or that were swept away while they were made. */
static void hidden_folders_that_are_taken(void **state)
{
    (void)state;
    char *path = scratch();
    IoCalls calls = io_system;
    calls.flock = f_always_locked;
    io_calls_test = &calls;
    assert_int_equal(begins("out"), STATUS_CANNOT_CREATE);
    calls = io_system;
    calls.fstat = f_gone;
    gone_left = 3;
    assert_int_equal(begins("out"), STATUS_OK);
    heal();
    assert_string_equal(tree(), "");
    remove_scratch(path);
}

static void make_much(void *context)
{
    Make *m = context;
    m->out = output_begin(&m->arena, "out");
    for (int i = 0; i < 40; i++)
        output_text(m->out, arena_printf(&m->arena, "f%d/x%d", i / 2, i), m->a,
                    strlen(m->a));
    output_commit(m->out);
}

/* Many folders; long files that are the same, or differ late. */
static void much_is_made(void **state)
{
    (void)state;
    char *path = scratch();
    static char text[40001];
    struct stat before;
    struct stat behind;
    memset(text, 'x', sizeof text - 1);
    for (int round = 0; round < 3; round++) {
        Make m = { .a = text };
        if (round == 2)
            text[39999] = 'y';
        assert_int_equal(run(make_much, &m), STATUS_OK);
        file_close_all(&m.arena);
        arena_free(&m.arena);
        assert_int_equal(stat("out/f19/x39", &behind), 0);
        if (round)
            assert_int_equal(before.st_ino == behind.st_ino, round == 1);
        before = behind;
    }
    remove_scratch(path);
}

static void ask_former(void *context)
{
    Make *m = context;
    m->out = output_begin(&m->arena, "out");
    if (m->a)
        inject(CALL_OPEN, 0, atoi(m->a));
    assert_null(output_former(m->out, m->b, 9));
}

static void former_files_that_are_none(void **state)
{
    (void)state;
    char *path = scratch();
    assert_int_equal(mkdir("out", 0777), 0);
    put("out/a", "1");
    assert_int_equal(symlink("a", "out/link"), 0);
    static const struct {
        const char *name;
        int error;
        Status status;
    } asked[] = { { "link", 0, 0 },
                  { "a/x", 0, 0 },
                  { "a", ENXIO, 0 },
                  { "a", ENOENT, 0 },
                  { "a", EACCES, STATUS_IO } };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        char error[16];
        snprintf(error, sizeof error, "%d", asked[i].error);
        Make m = { .a = asked[i].error ? error : NULL, .b = asked[i].name };
        assert_int_equal(run(ask_former, &m), asked[i].status);
        heal();
        output_abort(m.out);
        arena_free(&m.arena);
    }
    remove_scratch(path);
}

/* What is another's by kind, size, or place stays. */
static void former_files_that_stay(void **state)
{
    (void)state;
    char *path = scratch();
    Written real = written_in("other", "x", "x");
    Written longer = real;
    longer.bytes = 2;
    longer.name = "y";
    Written folder = real;
    folder.name = "own";
    Written away = real;
    away.name = "src/none";
    const Written former[] = { longer, folder, away, { 0 } };
    assert_int_equal(mkdir("out", 0777), 0);
    assert_int_equal(mkdir("out/own", 0777), 0);
    put("out/y", "x");
    assert_int_equal(make_after("out", "hello world", "bee", former),
                     STATUS_OK);
    assert_string_equal(
        tree(), "out/;b.txt=bee;own/;src/;a.bin=hello world;c.h=same;y=x;");
    remove_scratch(path);
}

static void syncing_that_is_not_known(void **state)
{
    (void)state;
    static const int errors[] = { EINVAL, ENOTSUP, ENOSYS, EROFS, EINTR };
    char *path = scratch();
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        inject(CALL_SYNC, 0, errors[i]);
        assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
        heal();
        folder_remove(AT_FDCWD, "out");
    }
    remove_scratch(path);
}

static bool race_makes_it;
static int race_error;

static int f_race(int from, const char *name, int to, const char *base)
{
    if (!strcmp(base, "out")) {
        if (race_makes_it) {
            assert_int_equal(mkdir("out", 0777), 0);
            put("out/theirs", "t");
        }
        errno = race_error;
        return -1;
    }
    return io_system.renameat(from, name, to, base);
}

/* Another made the folder meanwhile, and perhaps removed it again. */
static void a_folder_that_came_meanwhile(void **state)
{
    (void)state;
    char *path = scratch();
    static const int errors[] = { ENOTEMPTY, EEXIST, EIO };
    for (int i = 0; i < 6; i++) {
        IoCalls calls = io_system;
        const int made = i % 2 && i < 4;
        calls.renameat = f_race;
        race_makes_it = i % 2;
        race_error = errors[i / 2];
        io_calls_test = &calls;
        const Status status = make_folder("out", "hello world", "bee");
        heal();
        assert_int_equal(status, made ? STATUS_OK : STATUS_CANNOT_CREATE);
        if (i < 5)
            assert_string_equal(tree(), made
                                            ? "out/;b.txt=bee;src/;a.bin=hello "
                                              "world;c.h=same;theirs=t;"
                                            : "");
        folder_remove(AT_FDCWD, "out");
    }
    remove_scratch(path);
}

static int f_no_mkdir(int in, const char *path, mode_t mode)
{
    (void)in;
    (void)path;
    (void)mode;
    errno = EACCES;
    return -1;
}

/* No room beside the folder: the new files are made within it, or nowhere. */
static void made_within(void **state)
{
    (void)state;
    char *path = scratch();
    assert_int_equal(mkdir("out", 0777), 0);
    put("out/b.txt", "old");
    IoCalls calls = io_system;
    calls.mkdirat = f_no_mkdir;
    io_calls_test = &calls;
    assert_int_equal(make_folder("out", "hello world", "bee"),
                     STATUS_CANNOT_CREATE);
    heal();
    assert_string_equal(tree(), "out/;b.txt=old;");
    inject(CALL_MKDIR, 0, EACCES);
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    heal();
    assert_string_equal(tree(),
                        "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;");
    remove_scratch(path);
}

/* Where there are no links the file of before is moved aside; it comes back if all fails. */
/* Where there are no links, renames save what is replaced; whichever of them fails, alone or with
 * all after it, all is as it was. */
static void no_second_links(void **state)
{
    (void)state;
    static const struct {
        bool has_links;
        int rename; /* that fails; negative: none */
    } cases[] = { { false, -1 }, { false, 0 }, { false, 1 }, { true, 2 } };
    char *path = scratch();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool right = cases[i].rename < 0;
        assert_int_equal(mkdir("out", 0777), 0);
        put("out/b.txt", "old");
        inject(CALL_EXCHANGE, 0, EPERM);
        fault.left[CALL_LINK] = cases[i].has_links ? -1 : 0;
        fault.left[CALL_RENAME] = cases[i].rename;
        fault.on = cases[i].has_links;
        const Status status = make_folder("out", "hello world", "bee");
        heal();
        assert_int_equal(status, right ? STATUS_OK : STATUS_CANNOT_CREATE);
        assert_string_equal(
            tree(), right ? "out/;b.txt=bee;src/;a.bin=hello world;c.h=same;"
                          : "out/;b.txt=old;");
        folder_remove(AT_FDCWD, "out");
    }
    remove_scratch(path);
}

/* A folder on the way that cannot be made, and a root that is not found. */
static void ways_that_are_closed(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        inject(CALL_MKDIR, i, ENOSPC);
        const Status status = make_folder("a/b/out", "hello world", "bee");
        heal();
        assert_int_equal(status, STATUS_CANNOT_CREATE);
        assert_string_equal(tree(), "");
    }
    inject(CALL_OPEN, 0, ENOENT);
    assert_int_equal(begins("/inlay-unit-none"), STATUS_CANNOT_CREATE);
    heal();
    assert_string_equal(tree(), "");
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

typedef struct Look {
    Make make;
    const char *name;
    bool there;
} Look;

static void reopen(void *context)
{
    Look *l = context;
    file_close(output_reopen(l->make.out, l->name));
}

static void look(void *context)
{
    Look *l = context;
    l->there = output_there(l->make.out, l->name);
}

static bool is_there(Look *l, const char *name)
{
    l->name = name;
    assert_int_equal(run(look, l), STATUS_OK);
    return l->there;
}

/* What lies in the folder of before, and what is written already. */
static void files_are_looked_at(void **state)
{
    (void)state;
    char *path = scratch();
    Look l = { .make = { .dir = "out" } };
    assert_int_equal(run(begin_there, &l.make), STATUS_OK);
    assert_false(is_there(&l, "b.txt"));
    output_abort(l.make.out);
    assert_int_equal(make_folder("out", "hello world", "bee"), STATUS_OK);
    assert_int_equal(run(begin_there, &l.make), STATUS_OK);
    output_text(l.make.out, "now", "now", 3);
    assert_true(is_there(&l, "b.txt") && is_there(&l, "src/a.bin"));
    assert_false(is_there(&l, "a.txt") || is_there(&l, "b.txt/c"));
    inject(CALL_STATAT, 0, EIO);
    assert_int_equal(run(look, &l), STATUS_IO);
    heal();
    l.name = "now";
    assert_int_equal(run(reopen, &l), STATUS_OK);
    l.name = "then";
    assert_int_equal(run(reopen, &l), STATUS_CANNOT_CREATE);
    output_abort(l.make.out);
    file_close_all(&l.make.arena);
    arena_free(&l.make.arena);
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
    Read r = { .file = file_open(&a, "out/src/a.bin", LOAD_STREAM),
               .at = 1,
               .n = 10 };
    assert_int_equal(run(read_some, &r), STATUS_OK);
    assert_memory_equal(r.to, "ello there", 10);
    heal();
    assert_string_equal(tree(),
                        "out/;b.txt=bee;src/;a.bin=hello there;c.h=same;");
    file_close_all(&a);
    arena_free(&a);
    remove_scratch(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_folders_appear_whole),
        cmocka_unit_test(folders_on_the_way_are_made),
        cmocka_unit_test(temporary_folders_go),
        cmocka_unit_test(existing_folders_keep_what_is_equal),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(failures_leave_the_folder_as_it_was),
        cmocka_unit_test(failures_leave_no_new_folder),
        cmocka_unit_test(earlier_files_go_unless_they_were_changed),
        cmocka_unit_test(folders_of_others_are_not_exchanged),
        cmocka_unit_test(what_the_dead_left_is_swept),
        cmocka_unit_test(signals_remove_what_is_half_done),
        cmocka_unit_test(every_call_fails_in_every_way),
        cmocka_unit_test(calls_fail_from_then_on),
        cmocka_unit_test(folders_are_listed),
        cmocka_unit_test(names_that_are_hidden),
        cmocka_unit_test(sweeping_is_careful),
        cmocka_unit_test(signals_are_held),
        cmocka_unit_test(former_texts),
        cmocka_unit_test(sums_of_long_files),
        cmocka_unit_test(unusual_places),
        cmocka_unit_test(hidden_folders_that_are_taken),
        cmocka_unit_test(much_is_made),
        cmocka_unit_test(former_files_that_are_none),
        cmocka_unit_test(former_files_that_stay),
        cmocka_unit_test(syncing_that_is_not_known),
        cmocka_unit_test(a_folder_that_came_meanwhile),
        cmocka_unit_test(made_within),
        cmocka_unit_test(no_second_links),
        cmocka_unit_test(ways_that_are_closed),
        cmocka_unit_test(files_are_looked_at),
        cmocka_unit_test(full_disks_are_named),
        cmocka_unit_test(partial_and_interrupted_calls_are_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
