/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/plan_options.h"

#include <ctype.h>
#include <string.h>

#include "pipeline/numbers.h"
#include "pipeline/values.h"

enum { MOST_REGIONS = 8, LONGEST_NAME = 20, MOST_COST = 1000000 };

static _Noreturn void misuse(const char *text, const char *why)
{
    fail_at(STATUS_USAGE, LOC_NONE,
            "--region DTCM:64K:1 --region SRAM:512K:4; a name is letters, "
            "digits and _",
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

static Region parse_region(Arena *arena, const char *text, int place)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        misuse(text, "no size");
    Region r = { .name = name_of(arena, text, (size_t)(colon - text)),
                 .cost = place + 1 };
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
    (void)parse_region(arena, text, 0);
}

/* Names are compared without regard to capital letters. */
static bool same_name(const char *name, const char *lower)
{
    while (*name && tolower((unsigned char)*name) == *lower) {
        name++;
        lower++;
    }
    return *name == *lower;
}

static int find_region(const PlanOptions *plan, const char *name)
{
    for (int i = 0; i < plan->regions; i++)
        if (same_name(name, plan->region[i].name))
            return i;
    return -1;
}

static RegionPin parse_pin(Arena *arena, const PlanOptions *plan,
                           const char *text)
{
    const char *equals = strrchr(text, '=');
    const bool named = equals && equals != text;
    const int region = named ? find_region(plan, equals + 1) : -1;
    if (region < 0)
        fail_at(STATUS_USAGE, LOC_NONE,
                "--pin TENSOR=REGION, after --region REGION:SIZE",
                "--pin \"%s\": no such region", text);
    const size_t length = (size_t)(equals - text);
    return (RegionPin){ arena_text(arena, text, length), region };
}

static void add_pins(Arena *arena, const Options *options, PlanOptions *plan)
{
    VEC(RegionPin) pin = { 0 };
    for (const char **text = options->pin; text && *text; text++)
        VEC_PUSH(arena, &pin, parse_pin(arena, plan, *text));
    plan->pin = pin.at;
    plan->pins = (int)pin.n;
}

static void add_regions(Arena *arena, const Options *options, PlanOptions *plan)
{
    VEC(Region) region = { 0 };
    for (const char **text = options->region; text && *text; text++) {
        const Region added = parse_region(arena, *text, (int)region.n);
        if (find_region(plan, added.name) >= 0)
            misuse(*text, "that name is taken");
        if (region.n == MOST_REGIONS)
            misuse(*text, "more than 8 regions");
        VEC_PUSH(arena, &region, added);
        plan->region = region.at;
        plan->regions = (int)region.n;
    }
}

enum { ARENA_ALIGN = 16 };

/* The planner takes 0 for no limit: where no byte is allowed, it gets a limit of one byte, which
 * cannot be used either. */
static int64_t arena_limit(const Options *options)
{
    return options->arena_limit ? i64_max(*options->arena_limit, 1) : 0;
}

/* Streams are lists of rows, whose number is not known. */
static PlanLevel level_of_lengths(const Compile *compile, PlanLevel asked)
{
    const PlanLevel most = compile->each_apart ? PLAN_ORDER : PLAN_OVERLAP;
    return asked && asked < most ? asked : most;
}

PlanOptions plan_options(Compile *compile)
{
    const Options *options = compile->options;
    PlanOptions plan = {
        .align = ARENA_ALIGN,
        .arena_limit = arena_limit(options),
        .curve = options->curve != 0,
        .preserve_input = options->preserve_input,
        .slices = options->slices,
        .level = options->per_step ? PLAN_SIMPLE : (PlanLevel)options->plan,
        .goal = (PlanGoal)options->optimize,
        .effort = (int32_t)value_read_effort(options->effort),
        .known = compile->known,
    };
    if (compile->lengths || compile->apart)
        plan.level = level_of_lengths(compile, plan.level);
    plan.as_lowered = compile->lengths || compile->apart;
    if (options->threads) {
        const ThreadsValue value = value_read_threads(options->threads);
        plan.threads = value.threads;
        plan.split_work = value.work;
    }
    add_regions(&compile->arena, options, &plan);
    add_pins(&compile->arena, options, &plan);
    return plan;
}
