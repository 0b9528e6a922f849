/* SPDX-License-Identifier: Apache-2.0
 * Combinations of lengths and their numbers; columns: a polynomial where one is right for all
 * members of a variant, else a table; nothing follows that is the same for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/lengths.h"

enum { COMBINATIONS = 4 * 3 };

typedef int64_t Formula(int64_t t, int64_t s);

static int64_t product(int64_t t, int64_t s)
{
    return 3 * t * s + t + 5;
}

static int64_t triangle(int64_t t, int64_t s)
{
    return t * (t + 1) / 2 + s * s;
}

static int64_t half(int64_t t, int64_t s)
{
    return (t + 1) / 2 + 0 * s;
}

static int64_t same(int64_t t, int64_t s)
{
    return 7 + 0 * t * s;
}

/* T from 1 to 4, S from 0 to 2, and a program without steps whose result has one dimension. */
static Lengths *new_lengths(Arena *arena)
{
    static Store store;
    Lengths *lengths = NEW(arena, Lengths);
    Variant *variant = NEW(arena, Variant);
    memset(&store, 0, sizeof store);
    store.arena = arena;
    Graph *graph = graph_new(arena, &store, "test", NULL);
    Tensor *result = graph_add_tensor(graph, "y", DT_F32, shape_vector(1));
    VEC_PUSH(arena, &graph->output, result);
    variant->program = NEW(arena, Program);
    variant->program->graph = graph;
    *lengths = (Lengths){
        .arena = arena,
        .n = 2,
        .of = { { "T", 1, 4 }, { "S", 0, 2 } },
    };
    VEC_PUSH(arena, &lengths->variant, variant);
    return lengths;
}

static void add_members(Lengths *lengths, Formula *formula)
{
    Variant *variant = lengths->variant.at[0];
    for (int32_t i = COMBINATIONS; i-- > 0;) {
        int32_t length[MOST_LENGTHS];
        int64_t *number = NEW_ARRAY(lengths->arena, int64_t, 1);
        lengths_at(lengths, i, length);
        *number = formula(length[0], length[1]);
        VEC_PUSH(lengths->arena, &variant->member, i);
        VEC_PUSH(lengths->arena, &variant->numbers, number);
    }
    lengths_settle(lengths);
}

/* What the code makes of the column. */
static int64_t value_of(const Lengths *lengths, const Column *column, int32_t i)
{
    int32_t length[MOST_LENGTHS];
    const int64_t *term = column->term;
    if (column->table)
        return column->table[i];
    lengths_at(lengths, i, length);
    const int64_t t = length[0];
    const int64_t s = length[1];
    return (term[0] + term[1] * t + term[2] * s + term[3] * t * t +
            term[4] * t * s + term[5] * s * s) /
           2;
}

static void check(Formula *formula, bool is_table)
{
    Arena arena = { 0 };
    Lengths *lengths = new_lengths(&arena);
    add_members(lengths, formula);
    assert_int_equal(lengths->column.n, 1);
    const Column *column = lengths->column.at;
    assert_int_equal(column->table != NULL, is_table);
    for (int32_t i = 0; i < COMBINATIONS; i++) {
        int32_t length[MOST_LENGTHS];
        lengths_at(lengths, i, length);
        assert_int_equal(value_of(lengths, column, i),
                         formula(length[0], length[1]));
    }
    assert_true(lengths_of_result(lengths, 0));
    assert_int_equal(lengths_dim(lengths->variant.at[0], 0, 0), 0);
    arena_free(&arena);
}

static void polynomials(void **state)
{
    (void)state;
    check(product, false);
    check(triangle, false);
}

static void tables(void **state)
{
    (void)state;
    check(half, true);
}

static void what_is_the_same_follows_nothing(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Lengths *lengths = new_lengths(&arena);
    add_members(lengths, same);
    assert_int_equal(lengths->column.n, 0);
    assert_int_equal(lengths_dim(lengths->variant.at[0], 0, 0), -1);
    arena_free(&arena);
}

static void combinations(void **state)
{
    (void)state;
    Arena arena = { 0 };
    const Lengths *lengths = new_lengths(&arena);
    int32_t length[MOST_LENGTHS];
    assert_int_equal(lengths_combinations(lengths), COMBINATIONS);
    lengths_at(lengths, 0, length);
    assert_int_equal(length[0], 1);
    assert_int_equal(length[1], 0);
    lengths_at(lengths, 5, length);
    assert_int_equal(length[0], 2);
    assert_int_equal(length[1], 1);
    assert_string_equal(lengths_text(lengths, 11), "T=4, S=2");
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combinations),
        cmocka_unit_test(polynomials),
        cmocka_unit_test(tables),
        cmocka_unit_test(what_is_the_same_follows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
