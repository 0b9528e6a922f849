/* SPDX-License-Identifier: Apache-2.0
 * Text in pieces: around the size of the buffer, through the file, and to a stream that is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/pieces.h"

enum { ROOM = 64 * 1024 };

static char *sent(const Pieces *pieces, size_t *length)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, length);
    pieces_send(pieces, to);
    fclose(to);
    return text;
}

static char letter(size_t i)
{
    return (char)('a' + i % 23);
}

/* n letters, `part` at a time. */
static void check(size_t n, size_t part)
{
    Arena arena = { 0 };
    Pieces pieces = { .arena = &arena };
    char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = letter(i);
    for (size_t i = 0; i < n; i += part)
        pieces_put(&pieces, text + i, n - i < part ? n - i : part);
    assert_int_equal(pieces.file != NULL, n > ROOM);
    size_t length;
    char *got = sent(&pieces, &length);
    assert_int_equal(length, n);
    assert_memory_equal(got, text, n);
    free(got);
    free(text);
    file_close_all(&arena);
    arena_free(&arena);
}

static void every_length_comes_out(void **state)
{
    (void)state;
    static const size_t length[] = { 0,        1,        4095,        4096,
                                     4097,     ROOM - 1, ROOM,        ROOM + 1,
                                     2 * ROOM, 200000,   3 * ROOM + 1 };
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        check(length[i], 1000000);
        check(length[i], 7001);
        check(length[i], 1);
    }
}

static void printed_and_sunk(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Pieces pieces = { .arena = &arena };
    const Sink sink = pieces_sink(&pieces);
    pieces_print(&pieces, "%d-%s;", 5, "x");
    sink.put(sink.to, "end", 2);
    pieces_flush(&pieces);
    assert_int_equal(pieces.n, 0);
    assert_int_equal(pieces.file->size, 6);
    for (int i = 0; i < 1500; i++)
        pieces_put(&pieces, "456", 3);
    pieces_flush(&pieces);
    pieces_print(&pieces, "!");
    size_t length;
    char *got = sent(&pieces, &length);
    assert_int_equal(length, 6 + 4500 + 1);
    assert_memory_equal(got, "5-x;en456456", 12);
    assert_string_equal(got + 4500, "456456!");
    free(got);
    file_close_all(&arena);
    arena_free(&arena);
}

static void send_to_broken(void *context)
{
    FILE *to = fopen("/dev/null", "r"); /* not for writing */
    fputc('x', to);
    pieces_send(context, to);
}

static void send_to_full(void *context)
{
    FILE *full = fopen("/dev/full", "w");
    if (full)
        pieces_send(context, full);
}

/* An error of before shows, too. */
static void an_old_error_is_an_error(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Diag diag = { .quiet = true };
    Pieces pieces = { .arena = &arena };
    assert_int_equal(protect(&diag, send_to_broken, &pieces), STATUS_IO);
    arena_free(&arena);
}

/* Short text fails when the stream is flushed, long text when it is written. */
static void a_full_stream_is_an_error(void **state)
{
    (void)state;
    static const size_t length[] = { 1, ROOM - 1, ROOM + 5 };
    for (size_t i = 0; i < 3; i++) {
        Arena arena = { 0 };
        Diag diag = { .quiet = true };
        Pieces pieces = { .arena = &arena };
        for (size_t k = 0; k < length[i]; k++)
            pieces_put(&pieces, "x", 1);
        assert_int_equal(protect(&diag, send_to_full, &pieces), STATUS_IO);
        file_close_all(&arena);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_comes_out),
        cmocka_unit_test(printed_and_sunk),
        cmocka_unit_test(a_full_stream_is_an_error),
        cmocka_unit_test(an_old_error_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
