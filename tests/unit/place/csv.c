/* SPDX-License-Identifier: Apache-2.0
 * MiniMalloc's CSV, read and written, and the command on top: what it prints
 * and which status it returns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/io.h"
#include "cli/place_cmd.h"
#include "place/csv.h"

typedef struct Reading {
    Arena arena;
    const char *text;
    PlaceCsv *csv;
} Reading;

static void read_body(void *context)
{
    Reading *r = context;
    r->csv = place_csv_read(&r->arena, "test.csv", r->text, strlen(r->text));
}

static Status read_text(Reading *r, const char *text)
{
    FILE *nowhere = fopen("/dev/null", "w");
    Diag diag = { .out = nowhere };
    *r = (Reading){ .text = text };
    const Status status = protect(&diag, read_body, r);
    fclose(nowhere);
    return status;
}

static void test_columns(void **state)
{
    Reading r;
    (void)state;
    assert_int_equal(read_text(&r, "size,name,upper,id,lower,alignment\r\n4,x,"
                                   "9,a,3,16\r\n\r\n5,y,4,b,-1,1"),
                     STATUS_OK);
    assert_int_equal(r.csv->item.n, 2);
    const PlaceItem *item = r.csv->item.at;
    assert_true(item[0].size == 4 && item[0].align == 16 &&
                item[0].begin == 4 && item[0].end == 10 && !item[0].pinned);
    assert_true(item[1].size == 5 && item[1].align == 1 && item[1].begin == 0 &&
                item[1].end == 5);
    arena_free(&r.arena);
}

static void test_inclusive_end(void **state)
{
    Reading r;
    (void)state;
    assert_int_equal(read_text(&r, "id,start,end,size,gaps\na,0,8,4,2-3\n"),
                     STATUS_OK);
    const PlaceItem *item = r.csv->item.at;
    assert_true(item->end == 9 && item->parts == 2);
    assert_true(item->part[0].end == 2 && item->part[1].begin == 4 &&
                item->part[1].end == 9);
    arena_free(&r.arena);
}

static void test_gaps(void **state)
{
    Reading r;
    (void)state;
    assert_int_equal(
        read_text(&r,
                  "id,lower,upper,size,gaps\na,0,10,8,6-8@2:5 2-4\nb,0,5,1,\n"),
        STATUS_OK);
    const PlaceItem *item = r.csv->item.at;
    static const PlacePart want[] = {
        { 0, 8, 0, 2 }, { 0, 8, 4, 6 }, { 2, 3, 6, 8 }, { 0, 8, 8, 10 }
    };
    assert_int_equal(item[0].parts, 4);
    assert_memory_equal(item[0].part, want, sizeof want);
    assert_int_equal(item[1].parts, 0);
    arena_free(&r.arena);
}

/* Only the order of times matters: they may need more than 32 bits. */
static void test_long_times(void **state)
{
    Reading r;
    (void)state;
    assert_int_equal(
        read_text(&r, "id,lower,upper,size\na,-9000000000000000000,0,1\nb,0,"
                      "9000000000000000000,1\n"),
        STATUS_OK);
    const PlaceItem *item = r.csv->item.at;
    assert_true(item[0].begin == 0 && item[0].end == 1 && item[1].begin == 1 &&
                item[1].end == 2);
    arena_free(&r.arena);
}

static void test_malformed(void **state)
{
    static const char *const bad[] = {
        "",
        "\n\n",
        "id,lower,upper\na,0,1\n",
        "id,lower,upper,size,size\na,0,1,2,2\n",
        "id,lower,upper,size\na,0,1\n",
        "id,lower,upper,size\na,0,1,2,3\n",
        "id,lower,upper,size\na,0,1,x\n",
        "id,lower,upper,size\na,0,1,\n",
        "id,lower,upper,size\na,0,1,-2\n",
        "id,lower,upper,size\na,3,1,2\n",
        "id,lower,upper,size\na,0,1,9999999999999999999\n",
        "id,lower,upper,size,alignment\na,0,1,2,0\n",
        "id,lower,upper,size,alignment,offset\na,0,1,2,4,2\n",
        "id,lower,upper,size,offset\na,0,1,2,-1\n",
        "id,lower,upper,size,gaps\na,0,9,2,5\n",
        "id,lower,upper,size,gaps\na,0,9,2,5-3\n",
        "id,lower,upper,size,gaps\na,0,9,2,1-3 2-4\n",
        "id,lower,upper,size,gaps\na,0,9,2,1-3@0:3\n",
        "id,lower,upper,size,gaps\na,0,9,2,1-3@2\n",
        "id,lower,end,size\na,0,9223372036854775807,2\n",
    };
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        Reading r;
        if (read_text(&r, bad[k]) != STATUS_MALFORMED)
            fail_msg("taken for good: %s", bad[k]);
        arena_free(&r.arena);
    }
}

/* ---- the command ---- */

static char *write_file(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "%s", "place-test-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

typedef struct Placing {
    Arena arena;
    const char *path;
    int64_t capacity;
    Sink out;
} Placing;

static void place_protected(void *context)
{
    Placing *p = context;
    place_file(&p->arena, p->path, p->capacity, 10, p->out);
}

static void put_file(void *to, const char *text, size_t n)
{
    fwrite(text, 1, n, to);
}

static int place_command(const char *path, int64_t capacity, FILE *out)
{
    Placing p = { .path = path,
                  .capacity = capacity,
                  .out = { put_file, out } };
    Diag diag = { .out = stderr };
    const Status status = protect(&diag, place_protected, &p);
    file_close_all(&p.arena);
    arena_free(&p.arena);
    return (int)status;
}

/* Runs the command on the text; what it printed is left in `printed`. */
static int run(const char *text, int64_t capacity, char *printed, size_t room)
{
    char *path = write_file(text);
    FILE *out = tmpfile();
    assert_non_null(out);
    const int status = place_command(path, capacity, out);
    rewind(out);
    printed[fread(printed, 1, room - 1, out)] = '\0';
    fclose(out);
    unlink(path);
    return status;
}

static const char *const EXAMPLE =
    "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

static void test_command(void **state)
{
    char text[512];
    Reading r;
    (void)state;
    assert_int_equal(run(EXAMPLE, -1, text, sizeof text), 0);
    assert_int_equal(strncmp(text, "id,lower,upper,size,offset\nb1,0,3,4,", 36),
                     0);
    assert_int_equal(read_text(&r, text), STATUS_OK);
    int64_t offset[5];
    for (int i = 0; i < 5; i++) {
        assert_true(r.csv->item.at[i].pinned);
        offset[i] = r.csv->item.at[i].pin;
    }
    assert_true(place_holds(r.csv->item.at, 5, NULL, 0, offset, 12));
    arena_free(&r.arena);
    char again[512];
    assert_int_equal(run(text, 12, again, sizeof again),
                     0); /* its own answer is kept */
    assert_string_equal(again, text);
}

static void test_command_status(void **state)
{
    char text[512];
    (void)state;
    assert_int_equal(run(EXAMPLE, 12, text, sizeof text), 0);
    assert_int_equal(run(EXAMPLE, 11, text, sizeof text), STATUS_LIMIT);
    assert_string_equal(text, "");
    assert_int_equal(run(EXAMPLE, 0, text, sizeof text), STATUS_LIMIT);
    assert_int_equal(run("id,lower\n", -1, text, sizeof text),
                     STATUS_MALFORMED);
    assert_int_equal(run("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n",
                         -1, text, sizeof text),
                     STATUS_MALFORMED);
    assert_int_equal(run("id,lower,upper,size,offset\na,0,2,4,6\nb,1,3,6,\n",
                         10, text, sizeof text),
                     0);
    assert_string_equal(text,
                        "id,lower,upper,size,offset\na,0,2,4,6\nb,1,3,6,0\n");
    assert_int_equal(place_command("no-such-file.csv", -1, stdout),
                     STATUS_NO_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_inclusive_end),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_long_times),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_command_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
