/* SPDX-License-Identifier: Apache-2.0
 * Files: statuses, load modes, and what happens when any system call fails. */
#include "calls.h"

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

/* --- single files --- */

static void write_one(void *context)
{
    Open *o = context;
    o->file = file_temporary(o->arena);
    file_write(o->file, 0, "hello", 5);
    file_close(o->file);
}

static void write_far(void *context)
{
    Open *o = context;
    o->file = file_temporary(o->arena);
    file_write(o->file, o->mode == LOAD_EAGER ? UINT64_MAX : INT64_MAX - 3,
               "hello", 5);
}

static void faults_of_single_files(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    Open o = { .arena = &a };
    put("file", "0123456789");
    static const int opening[] = { EACCES, ENAMETOOLONG, ENXIO };
    static const Status status[] = { STATUS_IO, STATUS_NO_INPUT,
                                     STATUS_MALFORMED };
    for (int i = 0; i < 3; i++) {
        inject(CALL_OPEN, 0, opening[i]);
        assert_int_equal(try_open(&a, "file", LOAD_STREAM), status[i]);
    }
    inject(CALL_OPEN, 0, EINTR);
    assert_int_equal(try_open(&a, "file", LOAD_STREAM), STATUS_OK);
    inject(CALL_STAT, 0, EIO);
    assert_int_equal(try_open(&a, "file", LOAD_STREAM), STATUS_IO);
    inject(CALL_READ, 0, EIO);
    assert_int_equal(try_open(&a, "file", LOAD_EAGER), STATUS_IO);
    assert_non_null(strstr(message, "cannot read: Input/output error"));
    inject(CALL_CLOSE, 0, EIO);
    assert_int_equal(try_open(&a, "file", LOAD_STREAM), STATUS_OK);
    inject(CALL_CLOSE, 0, EIO);
    assert_int_equal(run(write_one, &o), STATUS_IO);
    inject(CALL_CLOSE, 0, EINTR);
    assert_int_equal(run(write_one, &o), STATUS_OK);
    inject(CALL_WRITE, 0, EDQUOT);
    assert_int_equal(run(write_one, &o), STATUS_IO);
    assert_non_null(strstr(message, "help: free some space"));
    inject(CALL_WRITE, 0, EIO);
    assert_int_equal(run(write_one, &o), STATUS_IO);
    assert_null(strstr(message, "free some space"));
    inject(CALL_OPEN, 0, EOPNOTSUPP); /* no unnamed files: a named one */
    assert_int_equal(run(write_one, &o), STATUS_OK);
    heal();
    for (LoadMode mode = LOAD_STREAM; mode <= LOAD_EAGER; mode++) {
        o.mode = mode;
        assert_int_equal(run(write_far, &o), STATUS_IO);
        assert_non_null(strstr(message, "File too large"));
    }
    file_close(NULL);
    Arena other = { 0 };
    File *kept = file_open(&other, "file", LOAD_STREAM);
    file_close_all(&a);
    assert_true(kept->fd >= 0);
    file_close_all(&other);
    assert_int_equal(kept->fd, -1);
    file_close(kept); /* twice does nothing */
    arena_free(&a);
    arena_free(&other);
    remove_scratch(path);
}

static void no_temporary_folder_is_tmp(void **state)
{
    (void)state;
    const char *old = getenv("TMPDIR");
    char *saved = old ? strdup(old) : NULL;
    Arena a = { 0 };
    Open o = { .arena = &a };
    unsetenv("TMPDIR");
    assert_int_equal(run(write_one, &o), STATUS_OK);
    setenv("TMPDIR", "", 1);
    assert_int_equal(run(write_one, &o), STATUS_OK);
    if (saved)
        setenv("TMPDIR", saved, 1);
    else
        unsetenv("TMPDIR");
    free(saved);
    arena_free(&a);
}

static ssize_t f_nothing(int fd, const void *from, size_t n, off_t at)
{
    (void)fd;
    (void)from;
    (void)n;
    (void)at;
    return 0;
}

static void a_write_of_nothing_is_a_full_disk(void **state)
{
    (void)state;
    Arena a = { 0 };
    Open o = { .arena = &a };
    IoCalls calls = io_system;
    calls.pwrite = f_nothing;
    io_calls_test = &calls;
    assert_int_equal(run(write_one, &o), STATUS_IO);
    heal();
    assert_non_null(strstr(message, "No space left"));
    file_close_all(&a);
    arena_free(&a);
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

static File *one_of(Arena *a, int kind)
{
    if (kind == 0)
        return file_open(a, "file", LOAD_STREAM);
    return kind == 1 ? file_create(a, "new") : file_temporary(a);
}

/* Where standard input is closed, a file is number 0 like any other. */
static void the_first_descriptor_is_one(void **state)
{
    (void)state;
    char *path = scratch();
    Arena a = { 0 };
    put("file", "hello");
    const int before = dup(STDIN_FILENO);
    for (int i = 0; i < 3; i++) {
        close(STDIN_FILENO);
        File *file = one_of(&a, i);
        assert_int_equal(file->fd, 0);
        file_close(file);
        assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    }
    dup2(before, STDIN_FILENO);
    close(before);
    arena_free(&a);
    remove_scratch(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_has_documented_statuses),
        cmocka_unit_test(reads_are_exact_in_all_modes),
        cmocka_unit_test(files_that_shrink_are_read_errors),
        cmocka_unit_test(faults_of_single_files),
        cmocka_unit_test(no_temporary_folder_is_tmp),
        cmocka_unit_test(a_write_of_nothing_is_a_full_disk),
        cmocka_unit_test(temporary_files_leave_nothing),
        cmocka_unit_test(the_first_descriptor_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
