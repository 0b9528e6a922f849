/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/options.h"

#include "base/size.h"

static int64_t scaled(const PlanOptions *opt, int64_t work)
{
    const int64_t tenths = opt->effort ? opt->effort : EFFORT_USUAL;
    return i64_max(1, work * tenths / EFFORT_USUAL);
}

PlanBudget plan_budget(const PlanOptions *opt)
{
    return (PlanBudget){
        .copies = scaled(opt, 4000),
        .order = scaled(opt, 300000),
        .quick_order = scaled(opt, 20000),
        .slot_order = scaled(opt, 10000),
        .search = { scaled(opt, 800), scaled(opt, 120000) },
        .walks = scaled(opt, 1500000),
        .slot_walks = scaled(opt, 1200000),
        .curve_walks = scaled(opt, 20000000),
        .paths = scaled(opt, 20000000),
        .paths_of_step = scaled(opt, 200),
        .edges = scaled(opt, 524288),
        .placing = scaled(opt, 6250),
        .placing_items = scaled(opt, 500000),
        .pairs = scaled(opt, 262144),
        .pairs_of_item = scaled(opt, 16),
    };
}

bool plan_shares(const PlanOptions *opt, const Program *program)
{
    return program->lowered <= plan_budget(opt).search.steps;
}

/* About two instructions are needed for a MAC. */
bool goal_affords(PlanGoal goal, int64_t cost, int64_t macs)
{
    return goal == PLAN_RAM || (goal == PLAN_BALANCED && cost <= macs / 50);
}
