/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 and SHA-1: the published vectors, every length around a block, pieces, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"

static void digest(const void *data, size_t n, char hex[65])
{
    Sha256 h;
    sha256_begin(&h);
    sha256_add(&h, data, n);
    sha256_end(&h, hex);
}

static void published_vectors(void **state)
{
    (void)state;
    static const char *const vector[][2] = {
        { "",
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc",
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijkl"
          "mnopjklmnopqklmnopqr"
          "lmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };
    char hex[65];
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        digest(vector[i][0], strlen(vector[i][0]), hex);
        assert_string_equal(hex, vector[i][1]);
    }
}

static void million_letters_in_pieces(void **state)
{
    (void)state;
    char hex[65], letters[1000];
    memset(letters, 'a', sizeof letters);
    Sha256 h;
    sha256_begin(&h);
    size_t left = 1000000;
    for (size_t k = 1; left; k = k * 7 % 997 + 1) {
        const size_t n = k < left ? k : left;
        sha256_add(&h, letters, n);
        left -= n;
    }
    sha256_end(&h, hex);
    assert_string_equal(
        hex,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Wherever the data is cut in two, the digest is that of the whole. */
static void cuts_do_not_matter(void **state)
{
    (void)state;
    uint8_t data[200];
    char whole[65], hex[65];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37);
    for (size_t n = 0; n <= sizeof data; n++) {
        digest(data, n, whole);
        for (size_t cut = 0; cut <= n; cut += 1 + n / 16) {
            Sha256 h;
            sha256_begin(&h);
            sha256_add(&h, data, cut);
            sha256_add(&h, data + cut, n - cut);
            sha256_end(&h, hex);
            assert_string_equal(hex, whole);
        }
    }
}

/* SHA-1 of n times the letter a. */
static void sha1_of_files(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *hex;
    } known[] = {
        { 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
        { 1, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8" },
        { 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a" },
        { 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699" },
        { 63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5" },
        { 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d" },
        { 119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56" },
        { 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f" },
    };
    Arena arena = { 0 };
    char *letters = arena_alloc(&arena, 1000002);
    memset(letters, 'a', 1000002);
    letters[0] = letters[1000001] = 'b';
    File *f = file_temporary(&arena);
    file_write(f, 0, letters, 1000002);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char hex[41];
        Sha1 h;
        sha1_begin(&h);
        sha1_add_file(&h, f, 1, known[i].n);
        sha1_end(&h, hex);
        assert_string_equal(hex, known[i].hex);
    }
    file_close_all(&arena);
    arena_free(&arena);
}

static void files_hash_like_memory(void **state)
{
    (void)state;
    Arena arena = { 0 };
    File *f = file_temporary(&arena);
    enum { N = 200000 };
    uint8_t *data = arena_alloc(&arena, N);
    for (size_t i = 0; i < N; i++)
        data[i] = (uint8_t)(i ^ i >> 8);
    file_write(f, 0, data, N);
    char want[65], hex[65];
    digest(data + 3, N - 5, want);
    Sha256 h;
    sha256_begin(&h);
    sha256_add_file(&h, f, 3, N - 5);
    sha256_end(&h, hex);
    assert_string_equal(hex, want);
    file_close_all(&arena);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(million_letters_in_pieces),
        cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(sha1_of_files),
        cmocka_unit_test(files_hash_like_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
