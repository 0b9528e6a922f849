/* SPDX-License-Identifier: Apache-2.0
 * Who wrote each byte last, against an array of bytes; and as few spans as there are owners, in
 * whatever order their bytes are written, for each write costs as much as there are spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "prove/shadow.h"

enum { BYTES = 60, WRITES = 40, ROUNDS = 500, PIXELS = 1000 };

typedef struct Owner {
    int64_t delta;
    int32_t tag;
} Owner;

static int setup(void **state)
{
    Shadow *shadow = calloc(1, sizeof *shadow);
    shadow->arena = calloc(1, sizeof *shadow->arena);
    *state = shadow;
    return 0;
}

static int teardown(void **state)
{
    Shadow *shadow = *state;
    arena_free(shadow->arena);
    free(shadow->arena);
    free(shadow);
    return 0;
}

static bool owned(const Owner *byte, int64_t begin, int64_t end, Owner owner)
{
    for (int64_t i = begin; i < end; i++)
        if (byte[i].tag != owner.tag || byte[i].delta != owner.delta)
            return false;
    return true;
}

/* Sorted, none empty, and no two that could be one. */
static void in_order(const Shadow *shadow)
{
    const ShadowSpan *span = shadow->span.at;
    for (size_t i = 0; i < shadow->span.n; i++) {
        assert_true(span[i].begin < span[i].end);
        if (!i)
            continue;
        assert_true(span[i - 1].end <= span[i].begin);
        assert_false(span[i - 1].end == span[i].begin &&
                     span[i - 1].tag == span[i].tag &&
                     span[i - 1].delta == span[i].delta);
    }
}

static void as_bytes(void **state)
{
    Shadow *shadow = *state;
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        Owner byte[BYTES] = { { 0, 0 } };
        shadow->span.n = 0;
        for (int i = 0; i < WRITES; i++) {
            const int64_t begin = rand() % BYTES;
            const int64_t end = begin + rand() % (BYTES - (int)begin + 1);
            const Owner owner = { rand() % 2, 1 + rand() % 3 };
            const bool has =
                shadow_owns(shadow, begin, end, owner.delta, owner.tag);
            assert_int_equal(has, owned(byte, begin, end, owner));
            shadow_write(shadow, begin, end, owner.delta, owner.tag);
            for (int64_t k = begin; k < end; k++)
                byte[k] = owner;
            in_order(shadow);
        }
    }
}

/* Pixel i * step of a row, modulo its width: forwards, backwards, and from all sides. */
static void write_row(Shadow *shadow, int step, int32_t tag)
{
    for (int i = 0; i < PIXELS; i++) {
        const int at = i * step % PIXELS;
        shadow_write(shadow, 4 * at, 4 * at + 4, 0, tag);
    }
}

static void one_owner_is_one_span(void **state)
{
    Shadow *shadow = *state;
    const int steps[] = { 1, PIXELS - 1, 3, 7, 333 };
    for (int i = 0; i < 5; i++) {
        write_row(shadow, steps[i], i + 1);
        assert_int_equal(shadow->span.n, 1);
    }
}

/* A row written from its end over another: never more than the two owners' spans. */
static void backwards_over_another(void **state)
{
    Shadow *shadow = *state;
    shadow_write(shadow, 0, 8 * PIXELS, 0, 1);
    for (int at = PIXELS - 1; at >= 0; at--) {
        shadow_write(shadow, 4 * at, 4 * at + 4, 16, 2);
        assert_true(shadow->span.n <= 3);
    }
    assert_true(shadow_owns(shadow, 0, 4 * PIXELS, 16, 2));
    assert_true(shadow_owns(shadow, 4 * PIXELS, 8 * PIXELS, 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(one_owner_is_one_span, setup, teardown),
        cmocka_unit_test_setup_teardown(backwards_over_another, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
