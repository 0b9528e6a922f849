/* SPDX-License-Identifier: Apache-2.0
 * The published vectors, every length around a block, pieces, and both forms of the block function.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"

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
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
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
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
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

static void forms_agree(void **state)
{
    (void)state;
    static const char *const name[] = { "x86", "arm" };
    uint8_t data[64 * 9];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i + 11);
    for (size_t k = 0; k < 2; k++) {
        if (!sha256_form(name[k]))
            continue;
        for (size_t blocks = 0; blocks <= 9; blocks++) {
            uint32_t a[8] = { 1, 2, 3, 4, 5, 6, 7, 0xffffffff }, b[8];
            memcpy(b, a, sizeof b);
            sha256_form("plain")(a, data, blocks);
            sha256_form(name[k])(b, data, blocks);
            assert_memory_equal(a, b, sizeof a);
        }
    }
    assert_null(sha256_form("none at all"));
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
        cmocka_unit_test(published_vectors),      cmocka_unit_test(million_letters_in_pieces),
        cmocka_unit_test(cuts_do_not_matter),     cmocka_unit_test(forms_agree),
        cmocka_unit_test(files_hash_like_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
