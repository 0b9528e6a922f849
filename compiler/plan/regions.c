/* SPDX-License-Identifier: Apache-2.0
 * From the planner's items to the problem of the regions: what is read and written how often, and
 * what is pinned. */
#include "plan/regions.h"

#include <inttypes.h>

#include "base/size.h"
#include "ir/traffic.h"

/* The counters are read and written at every entry of a list. */
static int64_t traffic_of_counters(const Schedule *schedule)
{
    int64_t calls = 0;
    for (size_t i = 0; i < schedule->slot.n; i++) {
        const Stream *stream = schedule->slot.at[i].stream;
        calls += stream ? stream->calls : 0;
    }
    return 4 * calls;
}

static void set_pins(const Items *all, const PlanOptions *opt, int32_t *pin)
{
    Graph *graph = all->program->graph;
    for (int k = 0; k < opt->pins; k++) {
        Tensor *tensor = graph_find(graph, opt->pin[k].tensor);
        const Item *item = item_of(all, tensor);
        if (!item || item->outside)
            fail_at(STATUS_CONFIG, LOC_NONE,
                    "the report lists what lies in the arena; names of the "
                    "model that passes took "
                    "away are gone",
                    "--pin: \"%s\" does not lie in the arena",
                    opt->pin[k].tensor);
        pin[item - all->item.at] = opt->pin[k].region;
    }
}

static int64_t missing_in(const RegionUse *region)
{
    return region->size - region->capacity;
}

void regions_require(const Plan *plan)
{
    const RegionUse *worst = plan->region.at;
    for (size_t k = 1; k < plan->region.n; k++)
        if (missing_in(plan->region.at + k) > missing_in(worst))
            worst = plan->region.at + k;
    if (!plan->region_missing)
        return;
    fail_at(
        STATUS_LIMIT, LOC_NONE,
        "a larger region, another one, fewer pins, inputs and results with the "
        "caller (--io), "
        "or strips (--arena-limit, the sum of the regions)",
        "the plan does not fit the regions: %" PRId64
        " bytes are missing; in the best assignment found \"%s\" needs %" PRId64
        " bytes (lower bound %" PRId64 ") and has %" PRId64,
        plan->region_missing, worst->name, worst->size, worst->lower_bound,
        worst->capacity);
}

static int64_t *traffic_of_items(const Trial *trial)
{
    const Items *all = &trial->all;
    int64_t *traffic = NEW_ARRAY(trial->arena, int64_t, trial->item.n + 1);
    for (size_t i = 0; i < all->touch.n; i++) {
        const Touch *touch = all->touch.at + i;
        const int32_t host = all->item.at[touch->item].host;
        const int32_t item = host ? host - 1 : touch->item;
        const Step *step = items_step(all, touch->step);
        const int64_t bytes = operand_traffic(step, touch->operand);
        traffic[item] = i64_add(traffic[item], bytes);
    }
    if (trial->item.n > all->item.n)
        traffic[all->item.n] = traffic_of_counters(&trial->schedule);
    return traffic;
}

static int32_t *pins_of_items(const Trial *trial)
{
    const size_t items = trial->all.item.n;
    int32_t *pin = NEW_ARRAY(trial->arena, int32_t, trial->item.n + 1);
    for (size_t i = 0; i < items; i++) {
        const bool scratch = trial->all.item.at[i].scratch;
        pin[i] = scratch ? REGION_FASTEST : REGION_ANY;
    }
    if (trial->item.n > items)
        pin[items] = 0;
    set_pins(&trial->all, &trial->opt, pin);
    return pin;
}

RegionPlan regions_find(const Trial *trial)
{
    const RegionProblem problem = {
        .item = trial->item.at,
        .n = (int)trial->item.n,
        .arc = trial->arc.at,
        .n_arc = (int)trial->arc.n,
        .traffic = traffic_of_items(trial),
        .pin = pins_of_items(trial),
        .region = trial->opt.region,
        .regions = trial->opt.regions,
    };
    return region_plan(trial->arena, &problem);
}
