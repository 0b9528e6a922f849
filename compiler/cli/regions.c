/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/regions.h"

#include <ctype.h>
#include <string.h>

#include "cli/numbers.h"

enum { MOST_REGIONS = 8, LONGEST_NAME = 20, MOST_COST = 1000000 };

static _Noreturn void misuse(const char *text, const char *why)
{
    fail_at(STATUS_USAGE, LOC_NONE,
            "--region DTCM:64K:1 --region SRAM:512K:4; a name is letters, digits and _",
            "--region \"%s\": %s", text, why);
}

/* Lower case: it becomes a member's name. */
static const char *name_of(Arena *arena, const char *text, size_t n)
{
    char *name = arena_text(arena, text, n);
    if (!n || n > LONGEST_NAME || !isalpha((unsigned char)*text))
        misuse(text, "no name of 1 to 20 letters, digits and _");
    for (char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_')
            misuse(text, "no name of 1 to 20 letters, digits and _");
        *c = (char)tolower((unsigned char)*c);
    }
    return name;
}

static Region parse(Arena *arena, const char *text, int place)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        misuse(text, "no size");
    Region r = { .name = name_of(arena, text, (size_t)(colon - text)), .cost = place + 1 };
    long long size;
    const char *at = bytes_read(colon + 1, &size);
    if (!at || !size)
        misuse(text, "the size is no number of bytes");
    r.size = size;
    if (*at == ':')
        at = number_read(at + 1, MOST_COST, &r.cost);
    if (!at || !r.cost)
        misuse(text, "the cost is no number from 1 to 1000000");
    if (*at)
        misuse(text, "there is more than a name, a size and a cost");
    return r;
}

void region_check(Arena *arena, const char *text)
{
    (void)parse(arena, text, 0);
}

static int find_region(const PlanOptions *p, const char *name)
{
    for (int i = 0; i < p->regions; i++)
        if (strlen(name) == strlen(p->region[i].name)) {
            size_t k = 0;
            while (name[k] && tolower((unsigned char)name[k]) == p->region[i].name[k])
                k++;
            if (!name[k])
                return i;
        }
    return -1;
}

static void add_pins(Arena *arena, const Options *options, PlanOptions *p)
{
    VEC(RegionPin) pin = { 0 };
    for (const char **s = options->pin; s && *s; s++) {
        const char *eq = strrchr(*s, '=');
        const int region = eq && eq != *s ? find_region(p, eq + 1) : -1;
        if (region < 0)
            fail_at(STATUS_USAGE, LOC_NONE, "--pin TENSOR=REGION, after --region REGION:SIZE",
                    "--pin \"%s\": no such region", *s);
        VEC_PUSH(arena, &pin, ((RegionPin){ arena_text(arena, *s, (size_t)(eq - *s)), region }));
    }
    p->pin = pin.at;
    p->pins = (int)pin.n;
}

void region_options(Arena *arena, const Options *options, PlanOptions *plan)
{
    VEC(Region) region = { 0 };
    for (const char **s = options->region; s && *s; s++) {
        const Region r = parse(arena, *s, (int)region.n);
        plan->region = region.at;
        plan->regions = (int)region.n;
        if (find_region(plan, r.name) >= 0)
            misuse(*s, "that name is taken");
        if (region.n == MOST_REGIONS)
            misuse(*s, "more than 8 regions");
        VEC_PUSH(arena, &region, r);
    }
    plan->region = region.at;
    plan->regions = (int)region.n;
    add_pins(arena, options, plan);
}
