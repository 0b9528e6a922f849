/* SPDX-License-Identifier: Apache-2.0
 * From the planner's items to the problem of the regions: what is read and written how often, and
 * what is pinned. */
#include "plan/region.h"

#include <inttypes.h>

#include "base/size.h"

/* Bytes that the units of the step read and write through an operand, row by row. */
static int64_t traffic_of(const Items *all, const Touch *touch)
{
    const Operand *o = touch->operand;
    const Step *s = all->program->step.at[touch->step];
    const int64_t ways = o->read && o->write ? 2 : 1;
    if (!touch->by_row || o->scratch)
        return i64_mul(i64_mul(ways, o->scratch ? s->units : 1), tensor_bytes(o->tensor));
    if (touch->all_units)
        return i64_mul(ways, i64_mul(o->row_bytes, o->rows));
    int64_t rows = 0;
    for (int32_t u = 0; u < s->units; u++) {
        const Rows r = touch_rows(all, touch, u);
        rows += i64_max(0, r.hi - r.lo);
    }
    const int64_t bytes = i64_mul(i64_mul(ways, rows), o->row_bytes);
    return o->part && o->pixel ? bytes / o->pixel * o->part : bytes;
}

/* The counters are read and written at every entry of a list. */
static int64_t traffic_of_counters(const Slot *slot, size_t slots)
{
    int64_t calls = 0;
    for (size_t i = 0; i < slots; i++)
        calls += slot[i].stream ? slot[i].stream->calls : 0;
    return 4 * calls;
}

static void set_pins(const Items *all, const PlanOptions *opt, int32_t *pin)
{
    Graph *g = all->program->graph;
    for (int k = 0; k < opt->pins; k++) {
        Tensor *t = graph_find(g, opt->pin[k].tensor);
        const Item *it = item_of(all, t);
        if (!it || it->outside)
            fail_at(STATUS_CONFIG, LOC_NONE,
                    "the report lists what lies in the arena; names of the model that passes took "
                    "away are gone",
                    "--pin: \"%s\" does not lie in the arena", opt->pin[k].tensor);
        pin[it - all->item.at] = opt->pin[k].region;
    }
}

void regions_require(const Plan *plan)
{
    const RegionUse *worst = plan->region.at;
    for (size_t k = 1; k < plan->region.n; k++)
        if (plan->region.at[k].size - plan->region.at[k].capacity > worst->size - worst->capacity)
            worst = plan->region.at + k;
    if (!plan->region_missing)
        return;
    fail_at(STATUS_LIMIT, LOC_NONE,
            "a larger region, another one, fewer pins, inputs and results with the caller (--io), "
            "or strips (--arena-limit, the sum of the regions)",
            "the plan does not fit the regions: %" PRId64
            " bytes are missing; in the best assignment found \"%s\" needs %" PRId64
            " bytes (lower bound %" PRId64 ") and has %" PRId64,
            plan->region_missing, worst->name, worst->size, worst->lower_bound, worst->capacity);
}

RegionPlan regions_find(Arena *arena, const Items *all, const PlaceItem *item, int n,
                        const PlaceArc *arc, int n_arc, const Slot *slot, size_t slots,
                        const PlanOptions *opt)
{
    int64_t *traffic = NEW_ARRAY(arena, int64_t, n + 1);
    int32_t *pin = NEW_ARRAY(arena, int32_t, n + 1);
    for (size_t i = 0; i < all->touch.n; i++) {
        const Touch *t = all->touch.at + i;
        traffic[t->item] = i64_add(traffic[t->item], traffic_of(all, t));
    }
    for (int i = 0; i < n; i++)
        pin[i] = i < (int)all->item.n && all->item.at[i].scratch ? REGION_FASTEST : REGION_ANY;
    if (n > (int)all->item.n) {
        traffic[n - 1] = traffic_of_counters(slot, slots);
        pin[n - 1] = 0;
    }
    set_pins(all, opt, pin);
    const RegionProblem problem = { .item = item,
                                    .n = n,
                                    .arc = arc,
                                    .n_arc = n_arc,
                                    .traffic = traffic,
                                    .pin = pin,
                                    .region = opt->region,
                                    .regions = opt->regions };
    return region_plan(arena, &problem);
}
