/* SPDX-License-Identifier: Apache-2.0
 * Words and their codes: equal words have one code, codes count from 0 and stay, constants of words
 * become integers and nothing else does; too many words end with a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/limits.h"
#include "ir/words.h"
#include "world.h"

static void equal_words_have_one_code(void **state)
{
    (void)state;
    World world;
    char text[] = "yes";
    int64_t count;
    open_world(&world);
    assert_null(words_all(&world.store, &count));
    assert_int_equal(count, 0);
    assert_int_equal(words_code(&world.store, text), 0);
    assert_int_equal(words_code(&world.store, ""), 1);
    text[0] = 'Y'; /* the word was copied */
    assert_int_equal(words_code(&world.store, "yes"), 0);
    assert_int_equal(words_code(&world.store, text), 2);
    const char *const *word = words_all(&world.store, &count);
    assert_int_equal(count, 3);
    assert_string_equal(word[0], "yes");
    assert_string_equal(word[1], "");
    assert_string_equal(word[2], "Yes");
    close_world(&world);
}

static void constants_become_integers(void **state)
{
    (void)state;
    static const int64_t want[] = { 0, 1, 0 }, count = 3;
    static const float number = 1.0f;
    World world;
    open_world(&world);
    Recipe *words = recipe_memory(&world.store, DT_STRING, 1, &count, want);
    Recipe *codes = words_integers(&world.store, words);
    assert_int_equal(recipe_dtype(codes), DT_I64);
    assert_int_equal(recipe_count(codes), 3);
    const int64_t *value = recipe_values(&world.store, &world.arena, codes);
    assert_memory_equal(value, want, sizeof want);
    Recipe *other = recipe_memory(&world.store, DT_F32, 0, NULL, &number);
    assert_ptr_equal(words_integers(&world.store, other), other);
    assert_null(words_integers(&world.store, NULL));
    close_world(&world);
}

static void fill(void *context)
{
    World *world = context;
    char text[16];
    for (int i = 0; i <= LIMIT_WORDS; i++) {
        snprintf(text, sizeof text, "%d", i);
        words_code(&world->store, text);
    }
}

static void too_many_end(void **state)
{
    (void)state;
    World world;
    int64_t count;
    Diag diag = { .quiet = true };
    open_world(&world);
    assert_int_equal(protect(&diag, fill, &world), STATUS_UNSUPPORTED);
    words_all(&world.store, &count);
    assert_int_equal(count, LIMIT_WORDS);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_words_have_one_code),
        cmocka_unit_test(constants_become_integers),
        cmocka_unit_test(too_many_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
