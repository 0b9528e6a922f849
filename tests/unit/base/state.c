/* SPDX-License-Identifier: Apache-2.0
 * What tells of a file without reading it: each way to change one changes its state, and a state
 * is trusted only a while after the change. */
#include "calls.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#include "base/state.h"

typedef struct Look {
    Arena arena;
    const char *path, *other;
    FileState state;
    bool found;
} Look;

static void look(void *context)
{
    Look *l = context;
    File *file = file_try(&l->arena, l->path);
    l->found = file != NULL;
    if (file)
        l->state = file_state(file);
    file_close(file);
}

static Look look_at(const char *path)
{
    Look l = { .path = path };
    assert_int_equal(run(look, &l), STATUS_OK);
    arena_free(&l.arena);
    return l;
}

static void tick(void)
{
    const struct timespec some = { 0, 30 * 1000 * 1000 };
    nanosleep(&some, NULL);
}

static void every_change_is_seen(void **state)
{
    (void)state;
    char *path = scratch();
    put("a", "one");
    put("b", "one");
    const FileState first = look_at("a").state;
    const FileState again = look_at("a").state;
    assert_true(state_is_equal(&first, &again));
    tick();
    put("a", "two");
    const FileState written = look_at("a").state;
    assert_false(state_is_equal(&first, &written));
    tick();
    const struct timespec old[2] = {
        { written.modified / 1000000000, written.modified % 1000000000 },
        { written.modified / 1000000000, written.modified % 1000000000 }
    };
    put("a", "six");
    assert_int_equal(utimensat(AT_FDCWD, "a", old, 0), 0);
    const FileState dated = look_at("a").state;
    assert_int_equal(dated.modified, written.modified);
    assert_false(state_is_equal(&dated, &written));
    const FileState other = look_at("b").state;
    assert_false(state_is_equal(&first, &other));
    remove_scratch(path);
}

/* Each of its numbers tells. */
static void all_of_a_state_counts(void **state)
{
    (void)state;
    const FileState one = { 1, 2, 3, 4, 5 };
    const FileState others[] = { { 0, 2, 3, 4, 5 },
                                 { 1, 0, 3, 4, 5 },
                                 { 1, 2, 0, 4, 5 },
                                 { 1, 2, 3, 0, 5 },
                                 { 1, 2, 3, 4, 0 } };
    assert_true(state_is_equal(&one, &one));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(state_is_equal(&one, &others[i]));
}

static void states_that_are_not_told(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    put("a", "one");
    Look l = { .path = "a" };
    const int input = dup(STDIN_FILENO);
    close(STDIN_FILENO); /* so that the file is number 0 */
    assert_true(look_at("a").found);
    dup2(input, STDIN_FILENO);
    close(input);
    inject(CALL_STAT, 0, EIO);
    assert_false(look_at("a").found);
    inject(CALL_STAT, 1, EIO);
    assert_int_equal(run(look, &l), STATUS_IO);
    heal();
    file_close_all(&l.arena);
    arena_free(&l.arena);
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

static void states_settle(void **state)
{
    (void)state;
    const int64_t second = 1000000000, then = 1000 * second + 1;
    const FileState fine = { .modified = then, .changed = then };
    const FileState coarse = { .modified = 999 * second,
                               .changed = 1000 * second };
    const FileState moved = { .modified = 1, .changed = then };
    assert_false(state_is_settled(&fine, then));
    assert_false(state_is_settled(&fine, then + second / 100));
    assert_true(state_is_settled(&fine, then + second / 10));
    assert_false(state_is_settled(&fine, then - second));
    assert_false(state_is_settled(&moved, then + second / 100));
    assert_true(state_is_settled(&moved, then + second / 10));
    assert_false(state_is_settled(&coarse, coarse.changed + second));
    assert_true(state_is_settled(&coarse, coarse.changed + 3 * second));
    assert_false(state_is_settled(&coarse, coarse.changed + 2 * second));
    assert_true(state_is_settled(&coarse, coarse.changed + 2 * second + 1));
    const FileState half = { .modified = coarse.modified, .changed = then };
    assert_false(state_is_settled(&half, then + second / 100));
    assert_true(state_is_settled(&half, then + second / 10));
    const int64_t now = state_now();
    assert_true(now > 1500000000 * second && state_now() >= now);
}

static void only_regular_files_are_tried(void **state)
{
    (void)state;
    char *path = scratch();
    const int before = open_descriptors();
    put("a", "one");
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_true(look_at("a").found);
    assert_int_equal(look_at("a").state.size, 3);
    static const char *const none[] = { "folder", "pipe", "nothing", "a/b",
                                        "/dev/null" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(look_at(none[i]).found);
    assert_int_equal(open_descriptors(), before);
    remove_scratch(path);
}

static void rename_it(void *context)
{
    const Look *l = context;
    file_rename(l->path, l->other);
}

static void make_it(void *context)
{
    Look *l = context;
    folder_make(&l->arena, l->path);
}

static Status made(const char *path)
{
    Look l = { .path = path };
    const Status status = run(make_it, &l);
    arena_free(&l.arena);
    return status;
}

static void names_and_folders(void **state)
{
    (void)state;
    char *path = scratch();
    put("a", "one");
    put("b", "two");
    Look l = { .path = "a", .other = "b" };
    assert_int_equal(run(rename_it, &l), STATUS_OK);
    assert_string_equal(tree(), "b=one;");
    assert_int_equal(run(rename_it, &l), STATUS_CANNOT_CREATE);
    assert_int_equal(made("x/y//"), STATUS_OK);
    assert_int_equal(made("x/y"), STATUS_OK);
    assert_int_equal(made("b/z"), STATUS_CANNOT_CREATE);
    char absolute[PATH_MAX + 8];
    snprintf(absolute, sizeof absolute, "%s/x/y", path);
    assert_int_equal(made(absolute), STATUS_OK);
    assert_string_equal(tree(), "b=one;x/;y/;");
    remove_scratch(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_seen),
        cmocka_unit_test(all_of_a_state_counts),
        cmocka_unit_test(states_that_are_not_told),
        cmocka_unit_test(states_settle),
        cmocka_unit_test(only_regular_files_are_tried),
        cmocka_unit_test(names_and_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
