/* SPDX-License-Identifier: Apache-2.0
 * Checked arithmetic at the ends of its types: the last that fits, and the first that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/size.h"

typedef enum What {
    SIZE_ADD,
    SIZE_MUL,
    SIZE_ALIGN,
    I64_ADD,
    I64_SUB,
    I64_MUL,
    I32_CHECKED
} What;

typedef struct Sum {
    What what;
    uint64_t a, b; /* two's complement where they are signed */
    bool fits;
    uint64_t want;
} Sum;

#define MOST UINT64_MAX
#define I64_MOST ((uint64_t)INT64_MAX)
#define I64_LEAST (I64_MOST + 1)

static const Sum sums[] = {
    { SIZE_ADD, MOST - 1, 1, true, MOST },
    { SIZE_ADD, MOST, 1, false, 0 },
    { SIZE_MUL, MOST / 2, 2, true, MOST - 1 },
    { SIZE_MUL, MOST / 2 + 1, 2, false, 0 },
    { SIZE_ALIGN, 0, 16, true, 0 },
    { SIZE_ALIGN, 1, 16, true, 16 },
    { SIZE_ALIGN, 16, 16, true, 16 },
    { SIZE_ALIGN, MOST - 15, 16, true, MOST - 15 },
    { SIZE_ALIGN, MOST - 14, 16, false, 0 },
    { I64_ADD, I64_MOST - 1, 1, true, I64_MOST },
    { I64_ADD, I64_MOST, 1, false, 0 },
    { I64_ADD, I64_LEAST, MOST, false, 0 },
    { I64_SUB, I64_LEAST + 1, 1, true, I64_LEAST },
    { I64_SUB, I64_LEAST, 1, false, 0 },
    { I64_SUB, 3, 5, true, MOST - 1 },
    { I64_MUL, I64_MOST / 2, 2, true, I64_MOST - 1 },
    { I64_MUL, I64_LEAST, MOST, false, 0 },
    { I64_MUL, I64_MOST / 2 + 1, 2, false, 0 },
    { I32_CHECKED, INT32_MAX, 0, true, INT32_MAX },
    { I32_CHECKED, (uint64_t)INT32_MAX + 1, 0, false, 0 },
    { I32_CHECKED, MOST - INT32_MAX, 0, true, MOST - INT32_MAX },
    { I32_CHECKED, MOST - INT32_MAX - 1, 0, false, 0 },
};

typedef struct Trial {
    const Sum *sum;
    uint64_t found;
} Trial;

static void add_up(void *context)
{
    Trial *t = context;
    const uint64_t a = t->sum->a, b = t->sum->b;
    const int64_t i = (int64_t)a, k = (int64_t)b;
    switch (t->sum->what) {
    case SIZE_ADD:
        t->found = size_add(a, b);
        break;
    case SIZE_MUL:
        t->found = size_mul(a, b);
        break;
    case SIZE_ALIGN:
        t->found = size_align(a, b);
        break;
    case I64_ADD:
        t->found = (uint64_t)i64_add(i, k);
        break;
    case I64_SUB:
        t->found = (uint64_t)i64_sub(i, k);
        break;
    case I64_MUL:
        t->found = (uint64_t)i64_mul(i, k);
        break;
    case I32_CHECKED:
        t->found = (uint64_t)i32_checked(i);
        break;
    }
}

static void sums_fit_or_fail(void **state)
{
    (void)state;
    FILE *out = tmpfile();
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        Trial t = { .sum = &sums[i] };
        Diag diag = { .out = out };
        const Status status = protect(&diag, add_up, &t);
        assert_int_equal(status, sums[i].fits ? STATUS_OK : STATUS_MALFORMED);
        assert_true(t.found == sums[i].want);
    }
    fclose(out);
}

static void the_furthest_stands_for_all_beyond(void **state)
{
    (void)state;
    assert_true(sat_add(INT64_MAX - 1, 1) == INT64_MAX);
    assert_true(sat_add(INT64_MAX, 1) == INT64_MAX);
    assert_true(sat_add(INT64_MIN, -1) == INT64_MIN);
    assert_true(sat_add(2, -3) == -1);
    assert_true(sat_mul(INT64_MAX, 2) == INT64_MAX);
    assert_true(sat_mul(INT64_MIN, -2) == INT64_MAX);
    assert_true(sat_mul(INT64_MIN, 2) == INT64_MIN);
    assert_true(sat_mul(2, INT64_MIN) == INT64_MIN);
    assert_true(sat_mul(-3, 5) == -15);
}

static void ends_and_quotients(void **state)
{
    (void)state;
    assert_true(i64_max(2, 3) == 3 && i64_max(3, 2) == 3);
    assert_true(i64_min(2, 3) == 2 && i64_min(3, 2) == 2);
    assert_true(i64_ceil_div(7, 3) == 3 && i64_ceil_div(6, 3) == 2);
    assert_true(i64_ceil_div(-7, 3) == -2 && i64_ceil_div(0, 3) == 0);
    assert_true(i64_floor_div(7, 3) == 2 && i64_floor_div(-7, 3) == -3);
    assert_true(i64_floor_div(-6, 3) == -2 && i64_floor_div(0, 3) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_fit_or_fail),
        cmocka_unit_test(the_furthest_stands_for_all_beyond),
        cmocka_unit_test(ends_and_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
