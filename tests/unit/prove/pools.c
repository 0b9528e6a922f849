/* SPDX-License-Identifier: Apache-2.0
 * Pools end with the last row of all the tensors that share them, and others do not count. */
#include "../plan/programs.h"

#include "prove/pools.h"

enum { ALIGN = 8 };

static const uint16_t low[] = { 0, 1, 0, 1 };
static const uint16_t high[] = { 2, 3, 2, 3 };

/* Of four rows of 8 bytes in slots of 4: the first ends at byte 12, the second at 20. */
typedef struct Two {
    RowSlots slots[2];
    int64_t offset;
    int region;
} Two;

static bool tight(const Two *two)
{
    World w;
    world_open(&w, 1);
    const In x = { add_image(&w, 4, 2, 1), { .kind = ROWS_SAME }, REUSE_ROWS };
    Tensor *y = add_image(&w, 4, 2, 1);
    Operand *operand = add_step(&w, &kernel_op, y, 1, &x, 0)->operand;
    operand[0].slots = two->slots;
    operand[1].slots = two->slots + 1;
    x.tensor->offset = two->offset;
    x.tensor->region = two->region;
    const bool all = pools_are_tight(&w.arena, &w.program, ALIGN);
    world_close(&w);
    return all;
}

static RowSlots slots_of(const uint16_t *slot, int64_t pool)
{
    return (RowSlots){ .rows = 4, .unit = 4, .pool = pool, .slot = slot };
}

static void pools_end_with_their_rows(void **state)
{
    (void)state;
    const RowSlots a = slots_of(low, 24);
    const RowSlots b = slots_of(high, 24);
    assert_true(tight(&(Two){ { a, b }, 0, 0 }));
    assert_true(tight(&(Two){ { b, a }, 0, 0 }));
    /* the first by itself, which needs 16 bytes */
    assert_false(tight(&(Two){ { a, b }, 32, 0 }));
    assert_false(tight(&(Two){ { a, b }, 0, 1 }));
    assert_false(tight(&(Two){ { a, slots_of(high, 32) }, 0, 0 }));
    assert_false(tight(&(Two){ { a, a }, 0, 0 }));
    assert_true(tight(&(Two){ { slots_of(low, 16), b }, 0, 1 }));
}

enum { POOLS = 5 };

/* One row after the other of these pools, of which `none` has no slots. */
static bool all_tight(const RowSlots *slots, const int64_t *offset, int none,
                      int of)
{
    World w;
    world_open(&w, 1);
    for (int k = 0; k < POOLS; k++) {
        const In x = { add_image(&w, 4, 2, 1), { .kind = ROWS_SAME }, 0 };
        Tensor *y = add_image(&w, 4, 2, 1);
        Operand *operand = add_step(&w, &kernel_op, y, 1, &x, 0)->operand;
        operand[of].tensor->offset = offset[k];
        operand[of].slots = k == none ? NULL : slots + k;
    }
    const bool all = pools_are_tight(&w.arena, &w.program, ALIGN);
    world_close(&w);
    return all;
}

/* Of two pools each ends with the first of its highest rows; slots behind the last row are none. */
static void pools_by_themselves(void **state)
{
    (void)state;
    static const uint16_t first[] = { 3, 2, 1, 0, 9 };
    static const int64_t offset[] = { 0, 32, 0, 32, 32 };
    RowSlots slots[POOLS];
    for (int k = 0; k < POOLS; k++)
        slots[k] = slots_of(k == 2 || k == 3 ? first : low, 24);
    for (int none = -1; none < POOLS; none++)
        for (int of = 0; of < 2; of++)
            assert_true(all_tight(slots, offset, none, of) ==
                        (none != 2 && none != 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_end_with_their_rows),
        cmocka_unit_test(pools_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
