/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/report.h"

#include <inttypes.h>

#include "base/size.h"
#include "emit/peak.h"
#include "emit/weights.h"

static void head(Text *t, const Program *p, const char *name)
{
    const Plan *plan = &p->plan;
    int64_t macs = 0;
    for (size_t i = 0; i < p->step.n; i++)
        macs = i64_add(macs, p->step.at[i]->macs);
    text_print(t, "model     %s (opset %" PRId64 ")\n", name, graph_opset(p->graph, ""));
    text_print(t, "steps     %zu, %" PRId64 " multiply-accumulates\n", p->step.n, macs);
    text_print(t, "weights   %" PRIu64 " bytes, constant%s%s\n", p->weight_bytes,
               p->weights_alike ? ", fewer if those that look alike are equal" : "",
               weights_linkable(p) ? "" : ", too many to be linked: --weights bin");
    text_print(t, "arena     %" PRId64 " bytes, lower bound %" PRId64 ": %s\n", plan->arena_size,
               plan->lower_bound, plan->optimal ? "optimal" : "open");
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        text_print(t,
                   "%-9s %s: %" PRId64 " bytes of %" PRId64 ", lower bound %" PRId64
                   "\n%-9s   cost %" PRId64 ", %" PRId64 " bytes of traffic\n",
                   i ? "" : "regions", r->name, r->size, r->capacity, r->lower_bound, "", r->cost,
                   r->traffic);
    }
    if (plan->region.n)
        text_print(t, "traffic   costs %" PRId64 ", no assignment less than %" PRId64 ": %s\n",
                   plan->region_cost, plan->region_least,
                   plan->region_cost == plan->region_least ? "optimal" : "open");
}

/* Where a value lies, if not with the caller. */
static void place(Text *t, const Program *p, const Tensor *v)
{
    const Step *pushed = program_pushed(p);
    const Operand *rows = pushed && pushed->operand[0].tensor == v ? pushed->operand : NULL;
    if (rows)
        text_print(t, ", %d rows of %" PRId64 " bytes, %d of them held", program_rows(p, pushed),
                   rows->row_bytes, rows->ring ? rows->ring : rows->rows);
    else if (v->storage == STORE_ARENA)
        text_print(t, ", in %s%s at %" PRId64, p->plan.region.n ? "region " : "the arena",
                   p->plan.region.n ? p->plan.region.at[v->region].name : "", v->offset);
    if (v->perm)
        text_print(t, ", as %s", shape_text(t->arena, &v->shape));
}

static void values(Text *t, const Program *p, const char *kind, Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_print(t, "%-9s %zu ", kind, i);
        text_cut(t, v[i]->name, 30);
        const Shape shape = tensor_model_shape(v[i]);
        text_print(t, ": %s %s, %" PRId64 " bytes%s", dtype_name(v[i]->dtype),
                   shape_text(t->arena, &shape), tensor_bytes(v[i]),
                   v[i]->dynamic ? " at most" : "");
        place(t, p, v[i]);
        text_put(t, "\n");
    }
}

/* Few enough to be read at a glance. */
enum { PEAK_BLOCKS = 6 };

static void peak(Text *t, const Program *p)
{
    const Peak found = peak_find(p);
    const Text more = peak_text(t->arena, &found, PEAK_BLOCKS);
    if (more.n)
        text_add(t, more.at, more.n);
}

/* Plans from the cheapest to the smallest; the one taken is marked. */
static void curve(Text *t, const Plan *plan)
{
    if (!plan->curve.n)
        return;
    text_print(t, "\n%-6s %14s %10s %10s %10s %10s\n", "curve", "arena bytes", "MACs", "streamed",
               "strips", "steps");
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *c = plan->curve.at + i;
        text_print(t, "%6s %14" PRId64 " %9.3fx %10d %10d %10d\n", c->chosen ? "*" : "", c->arena,
                   curve_factor(plan, c), c->streamed, c->strips, c->steps);
    }
}

static void steps(Text *t, const Program *p)
{
    text_print(t, "\n%5s  %-20s %-24s %12s %12s\n", "step", "operator", "kernel", "MACs",
               "live bytes");
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *s = p->step.at[i];
        text_print(t, "%5zu  %-20.20s %-24.24s %12" PRId64 " %12" PRId64 "\n", i, step_name(s),
                   s->kernel->name, s->macs, p->plan.live ? p->plan.live[i] : 0);
    }
}

Text report_text(const Program *p, const char *name)
{
    Text t = text_new(p->graph->arena);
    head(&t, p, name);
    values(&t, p, "input", p->graph->input.at, p->graph->input.n);
    values(&t, p, "output", p->graph->output.at, graph_results(p->graph));
    peak(&t, p);
    curve(&t, &p->plan);
    steps(&t, p);
    return t;
}
