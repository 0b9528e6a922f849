/* SPDX-License-Identifier: Apache-2.0 */
#include "place/sections.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    if (x == y)
        return 0;
    return x < y ? -1 : 1;
}

static int32_t *borders(Arena *arena, const Problem *problem, int *count)
{
    const size_t times = 2 * (size_t)problem->n;
    int32_t *time = NEW_ARRAY(arena, int32_t, times);
    int n = 0;
    for (int i = 0; i < problem->n; i++) {
        time[n] = problem->begin[i];
        time[n + 1] = problem->end[i];
        n += 2;
    }
    if (problem->n)
        qsort(time, times, sizeof *time, by_value);
    n = 0;
    for (size_t k = 0; k < times; k++) {
        if (n && time[k] == time[n - 1])
            continue;
        time[n] = time[k];
        n++;
    }
    *count = n;
    return time;
}

static int index_of(const int32_t *time, int n, int32_t t)
{
    const int32_t *at = bsearch(&t, time, (size_t)n, sizeof t, by_value);
    return (int)(at - time);
}

static void list_births(Sections *sections, int items)
{
    int32_t *birth = sections->birth;
    for (int i = 0; i < items; i++)
        birth[sections->first[i] + 1]++;
    for (int s = 0; s < sections->n; s++)
        birth[s + 1] += birth[s];
    for (int i = items - 1; i >= 0; i--) {
        int32_t *at = birth + sections->first[i] + 1;
        --*at;
        sections->born[*at] = i;
    }
    for (int s = 0; s < sections->n; s++)
        birth[s] = birth[s + 1];
    birth[sections->n] = items;
}

Sections place_sections(Arena *arena, const Problem *problem)
{
    int n;
    const int32_t *border = borders(arena, problem, &n);
    Sections sections = {
        .n = n ? n - 1 : 0,
        .first = NEW_ARRAY(arena, int32_t, problem->n),
        .last = NEW_ARRAY(arena, int32_t, problem->n),
        .birth = NEW_ARRAY(arena, int32_t, n + 1),
        .born = NEW_ARRAY(arena, int32_t, problem->n),
    };
    for (int i = 0; i < problem->n; i++) {
        sections.first[i] = index_of(border, n, problem->begin[i]);
        sections.last[i] = index_of(border, n, problem->end[i]);
    }
    list_births(&sections, problem->n);
    return sections;
}
