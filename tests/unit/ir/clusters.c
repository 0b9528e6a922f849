/* SPDX-License-Identifier: Apache-2.0
 * Clusters against all ways to cut a few numbers; few different ones, which stay as they are; and
 * more than there is room for, whose clusters are near to what they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/clusters.h"
#include "random_bytes.h"

enum { FEW = 12, MANY = 5 * CLUSTER_POINTS };

static double cost(const float *number, int n, const float *value, int values)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const int at = cluster_nearest(value, values, number[i]);
        const double off = (double)number[i] - (double)value[at];
        sum += off * off;
    }
    return sum;
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a;
    const float y = *(const float *)b;
    return (x > y) - (x < y);
}

static double cost_of_run(const float *number, int n)
{
    double sum = 0;
    double cost = 0;
    for (int i = 0; i < n; i++)
        sum += (double)number[i];
    for (int i = 0; i < n; i++) {
        const double off = (double)number[i] - sum / n;
        cost += off * off;
    }
    return cost;
}

/* The least cost of numbers in order, cut into at most so many runs: bit i of a mask cuts before
 * number i + 1. */
static double least_cost(const float *number, int n, int runs)
{
    double least = -1;
    for (uint32_t mask = 0; mask < 1u << (n - 1); mask++) {
        double sum = 0;
        int begin = 0;
        if (__builtin_popcount(mask) >= runs)
            continue;
        for (int i = 1; i <= n; i++)
            if (i == n || mask >> (i - 1) & 1) {
                sum += cost_of_run(number + begin, i - begin);
                begin = i;
            }
        if (least < 0 || sum < least)
            least = sum;
    }
    return least;
}

static float number_between(uint32_t kinds)
{
    return (float)(int)(next(kinds) - kinds / 2) / 7;
}

static Arena arena;

static void test_least(void **unused)
{
    Clusters *clusters = clusters_new(&arena);
    (void)unused;
    for (int round = 0; round < 600; round++) {
        float number[FEW];
        float value[CLUSTERS_MOST];
        const int n = 1 + (int)next(FEW);
        const int most = 1 + (int)next(5);
        const uint32_t kinds = 2 + next(round % 2 ? 8 : 2000);
        for (int i = 0; i < n; i++)
            number[i] = number_between(kinds);
        clusters_begin(clusters);
        clusters_add(clusters, number, n);
        const int values = clusters_find(clusters, most, value);
        assert_in_range(values, 1, most);
        for (int i = 1; i < values; i++)
            assert_true(value[i - 1] < value[i]);
        const double got = cost(number, n, value, values);
        qsort(number, (size_t)n, sizeof *number, by_size);
        const double least = least_cost(number, n, most);
        assert_true(got <= least * (1 + 1e-6) + 1e-9);
    }
}

/* No more different numbers than there may be values: they are these, bit by bit. */
static void test_few(void **unused)
{
    static const float kind[4] = { -0.0f, 0.1f, -3e30f, 1e-30f };
    Clusters *clusters = clusters_new(&arena);
    float value[4];
    (void)unused;
    for (int i = 0; i < MANY; i++)
        clusters_add(clusters, kind + next(4), 1);
    assert_true(clusters_few(clusters, 4));
    assert_false(clusters_few(clusters, 3));
    assert_int_equal(clusters_find(clusters, 4, value), 4);
    assert_memory_equal(value, &kind[2], sizeof *value);
    assert_memory_equal(value + 1, &kind[0], sizeof *value);
    assert_memory_equal(value + 2, &kind[3], sizeof *value);
    assert_memory_equal(value + 3, &kind[1], sizeof *value);
}

/* More different numbers than there is room for: as far apart as evenly spread ones must be. */
static void test_many(void **unused)
{
    Clusters *clusters = clusters_new(&arena);
    float *number = malloc(MANY * sizeof *number);
    float value[CLUSTERS_MOST];
    (void)unused;
    assert_non_null(number);
    for (int i = 0; i < MANY; i++)
        number[i] = 1.0f + (float)((i * 7919) % MANY) / MANY;
    clusters_add(clusters, number, MANY);
    assert_false(clusters_few(clusters, MANY));
    assert_int_equal(clusters_find(clusters, CLUSTERS_MOST, value),
                     CLUSTERS_MOST);
    const double step = 1.0 / CLUSTERS_MOST;
    const double least = MANY * step * step / 12;
    const double got = cost(number, MANY, value, CLUSTERS_MOST);
    assert_true(got < least * 1.001 && got > least * 0.999);
    free(number);
}

/* A value that must be there costs no more than to give one of the best for it. */
static void test_fixed(void **unused)
{
    Clusters *clusters = clusters_new(&arena);
    (void)unused;
    for (int round = 0; round < 300; round++) {
        float number[FEW * 4];
        float value[CLUSTERS_MOST];
        const float fixed = number_between(9);
        const int n = 1 + (int)next(FEW * 4);
        const int most = 2 + (int)next(4);
        for (int i = 0; i < n; i++)
            number[i] = number_between(500);
        clusters_begin(clusters);
        clusters_add(clusters, number, n);
        int values = clusters_find(clusters, most - 1, value);
        value[values] = fixed;
        const double less = cost(number, n, value, values + 1);
        values = clusters_find_with(clusters, most, fixed, value);
        assert_in_range(values, 1, most);
        assert_true(value[cluster_nearest(value, values, fixed)] == fixed);
        if (most == 2)
            assert_true(cost(number, n, value, values) <= less * 1.5 + 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_fixed),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(&arena);
    return failed;
}
