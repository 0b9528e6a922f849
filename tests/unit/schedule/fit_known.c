/* SPDX-License-Identifier: Apache-2.0
 * Layouts that are remembered: a pool that is met again gets the layout that a search finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mix.h"
#include "base/size.h"
#include "schedule/fit_known.h"

enum { POOLS = 400, AGAIN = 100, CALLS = 48, ROWS = 24, UNIT = 4 };

/* From 0 to n - 1. */
static int64_t pick(uint64_t *seed, int64_t n)
{
    *seed = mix_number(*seed, n);
    return (int64_t)(*seed % (uint64_t)n);
}

/* Rows of a random pool, with the bytes alive at once. */
static Deal random_deal(Arena *arena, const Stream *stream, uint64_t *seed)
{
    Deal deal = {
        .arena = arena,
        .stream = stream,
        .rows = 1 + (int32_t)pick(seed, ROWS),
        .unit = UNIT,
    };
    int64_t alive[CALLS] = { 0 };
    deal.row = NEW_ARRAY(arena, Row, deal.rows);
    for (int32_t i = 0; i < deal.rows; i++) {
        const int32_t first = (int32_t)pick(seed, CALLS);
        const int32_t most = CALLS - first;
        deal.row[i] = (Row){
            .first = first,
            .last = first + (int32_t)pick(seed, most),
            .bytes = UNIT * (1 + pick(seed, 16)),
            .over = -1,
            .under = -1,
        };
        for (int32_t k = first; k <= deal.row[i].last; k++) {
            alive[k] += deal.row[i].bytes;
            deal.alive = i64_max(deal.alive, alive[k]);
        }
    }
    return deal;
}

static Row *copy_rows(const Deal *deal)
{
    const size_t bytes = (size_t)deal->rows * sizeof *deal->row;
    return arena_copy(deal->arena, deal->row, bytes);
}

/* Once it is found, and once remembered. Returns the bytes of the pool. */
static int64_t compare(FitsKnown *known, const Deal *deal, const DealAim *aim)
{
    Deal again = *deal;
    again.row = copy_rows(deal);
    const int64_t pool = deal_fit(deal, aim);
    assert_int_equal(deal_fit_known(known, &again, aim), pool);
    for (int32_t i = 0; i < deal->rows && pool <= aim->most; i++)
        assert_int_equal(again.row[i].at, deal->row[i].at);
    return pool;
}

static void compare_pool(FitsKnown *known, const Deal *deal, uint64_t *seed)
{
    DealAim aim = {
        .effort = pick(seed, 2) ? DEAL_QUICK : DEAL_CLOSE,
        .most = deal->alive + UNIT * pick(seed, 8),
    };
    for (int i = 0; i < 3; i++) {
        const int64_t pool = compare(known, deal, &aim);
        aim.enough = pool + UNIT * pick(seed, 8);
    }
    aim.most += UNIT;
    compare(known, deal, &aim);
    deal->row->bytes += UNIT;
    compare(known, deal, &aim);
}

/* There is room for fewer pools than these, so that some are forgotten. */
static void pools_get_their_layouts(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        const Stream stream = { .calls = CALLS, .backward = backward };
        Arena arena = { 0 };
        FitsKnown *known = fits_known_new(&arena, 1);
        const Deal first = random_deal(&arena, &stream, &seed);
        for (int i = 0; i < POOLS; i++) {
            const Deal deal = random_deal(&arena, &stream, &seed);
            compare_pool(known, &deal, &seed);
            if (i % AGAIN == 0)
                compare(known, &first, &(DealAim){ .most = first.alive });
        }
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_get_their_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
