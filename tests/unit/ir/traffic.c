/* SPDX-License-Identifier: Apache-2.0
 * Bytes that steps read and write, counted by hand for a step of each kind of operand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/traffic.h"

enum { ROW = 16, ROWS = 8, UNITS = 4 };

static Tensor tensor_of(int64_t bytes, int storage)
{
    return (Tensor){
        .dtype = DT_U8,
        .shape = { .rank = 1, .dim = { bytes } },
        .storage = storage,
    };
}

static int64_t traffic_of(Operand operand)
{
    const Step step = { .units = UNITS };
    Tensor tensor = tensor_of(ROW * ROWS, STORE_ARENA);
    if (!operand.tensor)
        operand.tensor = &tensor;
    return operand_traffic(&step, &operand);
}

static Operand rows_by(RowRule rule)
{
    return (
        Operand){ .read = true, .rule = rule, .rows = ROWS, .row_bytes = ROW };
}

static void what_is_left_out_is_nothing(void **state)
{
    const Step step = { .units = UNITS };
    const Operand none = { .read = true };
    (void)state;
    assert_int_equal(operand_traffic(&step, &none), 0);
}

/* Units 0 to 3 need rows -1 to 1, 1 to 3, 3 to 5, 5 to 7; there is no row -1. */
static void rows_of_a_window(void **state)
{
    const RowRule rule = {
        .kind = ROWS_WINDOW, .stride = 2, .pad = 1, .extent = 3
    };
    const Operand operand = rows_by(rule);
    (void)state;
    assert_int_equal(operand_rows_read(&operand, 0).lo, 0);
    assert_int_equal(operand_rows_read(&operand, 0).hi, 2);
    assert_int_equal(operand_rows_read(&operand, 3).hi, ROWS);
    assert_int_equal(traffic_of(operand), (2 + 3 + 3 + 3) * ROW);
}

static void rows_of_a_table(void **state)
{
    static const Rows table[UNITS] = { { 0, 8 }, { 2, 3 }, { 5, 5 }, { 7, 8 } };
    (void)state;
    assert_int_equal(
        traffic_of(rows_by((RowRule){ .kind = ROWS_TABLE, .table = table })),
        (8 + 1 + 0 + 1) * ROW);
}

/* Every unit reads all of it. */
static void rows_without_a_rule(void **state)
{
    (void)state;
    assert_int_equal(traffic_of(rows_by((RowRule){ .kind = ROWS_ALL })),
                     UNITS * ROWS * ROW);
}

static void part_of_each_pixel(void **state)
{
    Operand operand = rows_by((RowRule){ .kind = ROWS_UNIT });
    (void)state;
    operand.pixel = 8;
    operand.part = 2;
    assert_int_equal(traffic_of(operand), UNITS * ROW / 4);
}

static void constants_are_read_once(void **state)
{
    Tensor weights = tensor_of(1000, STORE_WEIGHTS);
    Operand operand = rows_by((RowRule){ .kind = ROWS_ALL });
    (void)state;
    operand.tensor = &weights;
    assert_int_equal(traffic_of(operand), 1000);
}

static void results_are_written_once(void **state)
{
    Operand operand = rows_by((RowRule){ .kind = ROWS_UNIT });
    (void)state;
    operand.write = true;
    assert_int_equal(traffic_of(operand), 2 * ROWS * ROW);
    operand.read = false;
    assert_int_equal(traffic_of(operand), ROWS * ROW);
}

static void scratch_is_used_by_each_unit(void **state)
{
    Tensor scratch = tensor_of(10, STORE_ARENA);
    const Operand operand = {
        .tensor = &scratch, .read = true, .write = true, .scratch = true
    };
    (void)state;
    assert_int_equal(traffic_of(operand), UNITS * 2 * 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_nothing),
        cmocka_unit_test(rows_of_a_window),
        cmocka_unit_test(rows_of_a_table),
        cmocka_unit_test(rows_without_a_rule),
        cmocka_unit_test(part_of_each_pixel),
        cmocka_unit_test(constants_are_read_once),
        cmocka_unit_test(results_are_written_once),
        cmocka_unit_test(scratch_is_used_by_each_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
