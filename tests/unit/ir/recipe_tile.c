/* SPDX-License-Identifier: Apache-2.0
 * Reading plans of random boxes: a box that guards cut never needs more buffer than its tile,
 * and every element lies in the buffer where the reads put it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/recipe_tile.h"

static int64_t pick(uint64_t *state, int64_t low, int64_t high)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)(*state >> 33) % (high - low + 1);
}

/* Do the reads of the plan bring address `want` to buffer index `at`? */
static bool is_read(const Part *p, const Box *b, const ReadPlan *r,
                    int64_t want, int64_t at)
{
    int64_t first = r->first, row = at / r->pitch, column = at % r->pitch;
    for (int j = 0; j < r->outer; j++) {
        const int k = r->factor[j];
        first += llabs(p->at.step[k]) * (row % b->n[k]);
        row /= b->n[k];
    }
    return row == 0 && column < r->span && first + column == want;
}

static void check_elements(const Part *p, int rank, const Box *b,
                           const ReadPlan *r)
{
    const int64_t n = box_count(b, rank);
    for (int64_t e = 0; e < n; e++) {
        int64_t address = p->at.base, at = r->origin, rest = e;
        for (int k = rank; k-- > 0; rest /= b->n[k]) {
            address += p->at.step[k] * (b->at[k] + rest % b->n[k]);
            at += r->step[k] * (rest % b->n[k]);
        }
        assert_true(at >= 0 && at < r->need);
        assert_true(is_read(p, b, r, address, at));
    }
}

static void cut_boxes_fit_their_tile(void **state)
{
    (void)state;
    static const int64_t steps[] = { 0,  1,  2,  3,   5,    7,
                                     16, 40, 64, 300, 1100, 5000 };
    static const DType types[] = {
        DT_U8, DT_F16, DT_F32, DT_F64, DT_I4, DT_C128
    };
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) {
        Source source = { .dtype = types[pick(&random, 0, 5)] };
        Part p = { .source = &source, .at = { .base = pick(&random, 0, 100) } };
        const int rank = (int)pick(&random, 1, 4);
        Box tile = { { 0 }, { 0 } }, b = { { 0 }, { 0 } };
        for (int k = 0; k < rank; k++) {
            p.at.step[k] =
                steps[pick(&random, 0, 11)] * (pick(&random, 0, 3) ? 1 : -1);
            tile.at[k] = pick(&random, 0, 3);
            tile.n[k] = pick(&random, 1, 9);
            b.n[k] = pick(&random, 1, tile.n[k]);
            b.at[k] = tile.at[k] + pick(&random, 0, tile.n[k] - b.n[k]);
        }
        const ReadPlan whole = read_plan(&p, rank, tile.n, &tile),
                       part = read_plan(&p, rank, tile.n, &b);
        assert_true(part.need <= whole.need);
        check_elements(&p, rank, &tile, &whole);
        check_elements(&p, rank, &b, &part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        cut_boxes_fit_their_tile) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
