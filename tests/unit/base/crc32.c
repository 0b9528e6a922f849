/* SPDX-License-Identifier: Apache-2.0
 * The CRC in all its forms: the published value, and the same for every length, place and cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc32.h"

enum { LONGEST = 700 };

static uint32_t of_pieces(const uint8_t *p, size_t n, size_t cut)
{
    Crc32 c;
    crc32_begin(&c);
    crc32_add(&c, p, cut);
    crc32_add(&c, p + cut, n - cut);
    return c.value;
}

static void the_published_value(void **state)
{
    (void)state;
    const uint8_t *nine = (const uint8_t *)"123456789";
    assert_int_equal(inlay_crc_small(0, nine, 9), 0xcbf43926u);
    assert_int_equal(inlay_crc(nine, 9), 0xcbf43926u);
    assert_int_equal(of_pieces(nine, 9, 4), 0xcbf43926u);
}

static void all_forms_agree(void **state)
{
    (void)state;
    uint8_t bytes[LONGEST + 16];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    for (size_t n = 0; n <= LONGEST; n++) {
        const uint8_t *p = bytes + n % 16;
        const uint32_t want = inlay_crc_small(0, p, n);
        assert_int_equal(inlay_crc(p, n), want);
        assert_int_equal(of_pieces(p, n, 0), want);
        assert_int_equal(of_pieces(p, n, n / 3), want);
        assert_int_equal(of_pieces(p, n, n), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_value),
        cmocka_unit_test(all_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
