/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/report.h"

#include <inttypes.h>

#include "base/size.h"
#include "emit/islands.h"
#include "emit/palettes.h"
#include "emit/peak.h"
#include "emit/state_offers.h"
#include "emit/weights.h"
#include "ir/lengths.h"
#include "ir/ram.h"
#include "rules/rules.h"

static const char *optimal(bool is_optimal)
{
    return is_optimal ? "optimal" : "open";
}

static void put_weights(Text *text, const Program *program)
{
    text_print(text, "weights   %" PRIu64 " bytes, constant",
               program->weight_bytes);
    if (program->weights_alike)
        text_put(text, ", fewer if those that look alike are equal");
    if (!weights_linkable(program))
        text_put(text, ", too many to be linked: --weights bin");
    text_put(text, "\n");
}

/* Those of fewer bits in the file. */
static void put_widened(Text *text, const Graph *graph)
{
    if (graph->widened)
        text_print(text,
                   "%-9s %d of fewer than 8 bits are bytes for the products "
                   "of integers: %" PRId64 " more\n",
                   "", graph->widened, graph->widened_bytes);
}

/* Weights that come through windows. */
static void put_stream(Text *text, const StreamUse *use)
{
    if (!use->asked && !use->coded)
        return;
    text_print(text,
               "%-9s through a window of %" PRId64 " bytes: %" PRId64
               " %s in a run, in %d pieces for %d steps\n",
               "", use->window, use->traffic, use->coded ? "decoded" : "read",
               use->pieces, use->steps);
    if (use->kept)
        text_print(text,
                   "%-9s %" PRId64 " bytes stay in the code (--resident)\n", "",
                   use->kept);
}

/* What decoding a value takes on Cortex-M4 at -O2, in tenths of an instruction; a table for each
 * constant comes to it (tests/firmware/decode.py). */
static uint64_t decoding_tenths(const Coded *coded)
{
    enum { CLASSES = 121, JOINED = 140, ESCAPE = 1050 };
    enum { OF_BYTES = 51, OF_WIDER = 59 }; /* by palettes */
    static const uint64_t group[] = { [3] = 470, [4] = 390, [5] = 420 };
    const uint64_t values = (uint64_t)coded->values;
    if (coded->palette)
        return coded->width > 1 ? OF_WIDER : OF_BYTES;
    if (!coded->paired)
        return CLASSES + (coded->width > 1 ? JOINED : 0);
    return group[coded->pair.low] / PAIR_GROUP +
           coded->pair.escapes * ESCAPE / values;
}

/* What comes beside the coded bytes: how far numbers were moved, or a bound. */
static void put_beside(Text *text, const WeightSlot *slot)
{
    const Palette *palette = slot->palette;
    if (palette)
        text_print(text, "%d values a channel, off by %.2f %%, at most %.0f %%",
                   palette->values, 100 * palette->error, 100 * palette->most);
    else
        text_print(text, "entropy %" PRIu64, slot->coded->bound);
}

/* Those that are coded. */
static void put_coded(Text *text, const Program *program)
{
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *slot = program->weight.at + i;
        const Coded *coded = slot->coded;
        if (!coded)
            continue;
        const uint64_t tenths = decoding_tenths(coded);
        text_print(text, "%-9s %s %s: %" PRIu64 " bytes, coded %" PRIu64 ", ",
                   "", dtype_name(slot->tensor->dtype),
                   shape_text(text->arena, &slot->tensor->shape), coded->plain,
                   coded->bytes);
        put_beside(text, slot);
        text_print(text,
                   ", about %" PRIu64 ".%" PRIu64 " instructions a value\n",
                   tenths / 10, tenths % 10);
    }
}

/* What palettes come to. */
static void put_palettes(Text *text, const Program *program)
{
    const PaletteSum sum = palette_sum(program);
    if (!program->palette.values)
        return;
    text_print(text,
               "palette   %d values a channel, of %d weights with %" PRIu64
               " bytes, now %" PRIu64 "; %d others stay as they are\n",
               program->palette.values, sum.weights, sum.plain, sum.coded,
               program->palettes - sum.weights);
    if (sum.weights)
        text_print(text,
                   "%-9s they are off by %.2f %% of their size (root of the "
                   "mean square), at most by %.0f %%\n",
                   "", 100 * sum.error, 100 * sum.most);
}

static void put_regions(Text *text, const Plan *plan)
{
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *region = plan->region.at + i;
        text_print(text,
                   "%-9s %s: %" PRId64 " bytes of %" PRId64
                   ", lower bound %" PRId64 "\n",
                   i ? "" : "regions", region->name, region->size,
                   region->capacity, region->lower_bound);
        text_print(text,
                   "%-9s   cost %" PRId64 ", %" PRId64 " bytes of traffic\n",
                   "", region->cost, region->traffic);
    }
    if (plan->region.n)
        text_print(text,
                   "traffic   costs %" PRId64
                   ", no assignment less than %" PRId64 ": %s\n",
                   plan->region_cost, plan->region_least,
                   optimal(plan->region_cost == plan->region_least));
}

/* Two bounds: of offsets, for this order and these streams, and of any schedule of the steps. */
static void put_arena(Text *text, const Plan *plan)
{
    const int64_t size = plan->arena_size;
    text_print(text, "arena     %" PRId64 " bytes: ", size);
    if (size == plan->bound_schedules) {
        text_put(text, "optimal, no schedule of these steps needs less\n");
        return;
    }
    if (plan->optimal)
        text_put(text, "placed optimally");
    else
        text_print(text, "placed within %.2f %% of the bound %" PRId64,
                   plan_above(size, plan->lower_bound), plan->lower_bound);
    text_print(text,
               "\n          at most %.1f %% above any schedule (%" PRId64 ")\n",
               plan_above(size, plan->bound_schedules), plan->bound_schedules);
}

static void put_ram(Text *text, const Program *program)
{
    const RamUse use = program_ram(program);
    text_print(text, "RAM       %" PRId64 " bytes in all\n", use.total);
    text_print(text, "%14" PRId64 "  arena\n", use.arena);
    text_print(text, "%14" PRId64 "  inputs and results with the caller\n",
               use.values);
    if (use.stack >= 0)
        text_print(text, "%14" PRId64 "  stack at most (%s)\n", use.stack,
                   use.how);
    else
        text_put(text, "             ?  stack: not known for this target\n");
}

static void head(Text *text, const Program *program, const char *name)
{
    const Plan *plan = &program->plan;
    const int64_t macs = program_macs(program);
    text_print(text, "model     %s (opset %" PRId64 ")\n", name,
               graph_opset(program->graph, ""));
    text_print(text, "steps     %zu, %" PRId64 " multiply-accumulates\n",
               program->step.n, macs);
    put_weights(text, program);
    put_widened(text, program->graph);
    put_stream(text, &program->stream);
    put_coded(text, program);
    put_palettes(text, program);
    put_arena(text, plan);
    put_regions(text, plan);
    put_ram(text, program);
}

/* Where a value lies, if not with the caller. */
static void place(Text *text, const Program *program, const Step *pushed,
                  const Tensor *v)
{
    const Operand *rows =
        pushed && pushed->operand[0].tensor == v ? pushed->operand : NULL;
    if (rows)
        text_print(text, ", %d rows of %" PRId64 " bytes, %d of them held",
                   program_rows(program, pushed), rows->row_bytes,
                   rows->ring ? rows->ring : rows->rows);
    else if (v->storage == STORE_ARENA)
        text_print(text, ", in %s%s at %" PRId64,
                   program->plan.region.n ? "region " : "the arena",
                   program->plan.region.n
                       ? program->plan.region.at[v->region].name
                       : "",
                   v->offset);
    if (v->perm)
        text_print(text, ", as %s", shape_text(text->arena, &v->shape));
}

static void values(Text *text, const Program *program, const char *kind,
                   Tensor *const *v, size_t n)
{
    const Step *pushed = program_pushed(program);
    for (size_t i = 0; i < n; i++) {
        text_print(text, "%-9s %zu ", kind, i);
        text_cut(text, v[i]->name, 30);
        const Shape shape = tensor_model_shape(v[i]);
        text_print(text, ": %s %s, %" PRId64 " bytes%s",
                   dtype_name(v[i]->dtype), shape_text(text->arena, &shape),
                   tensor_bytes(v[i]), v[i]->dynamic ? " at most" : "");
        place(text, program, pushed, v[i]);
        text_put(text, "\n");
    }
}

/* Those that each run is given. */
static void lengths(Text *text, const Lengths *of)
{
    for (int i = 0; of && i < of->n; i++) {
        text_print(text, "length    %d ", i);
        text_cut(text, of->of[i].symbol, 30);
        text_print(text,
                   ": from %" PRId32 " to %" PRId32
                   ", what is here is for the most; %zu variant%s\n",
                   of->of[i].least, of->of[i].most, of->variant.n,
                   of->variant.n > 1 ? "s" : "");
    }
}

/* Few enough to be read at a glance. */
enum { PEAK_BLOCKS = 6 };

static void peak(Text *text, const Program *program)
{
    const Peak found = peak_find(program);
    const Text more = peak_text(text->arena, &found, PEAK_BLOCKS);
    if (more.n)
        text_add(text, more.at, more.n);
}

/* What a quantized model still computes with floats. */
static void floats(Text *text, const Program *program)
{
    const Islands islands = islands_find(program);
    const Text more = islands_text(program, &islands, PEAK_BLOCKS);
    if (more.n)
        text_add(text, more.at, more.n);
}

/* What convolutions on transformed tiles take for their speed. */
static void transformed(Text *text, const Program *program)
{
    enum { WEIGHTS = 2 }; /* the operand */
    int steps = 0;
    int64_t weights = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        const int64_t own = rules_transformed(step);
        if (!own)
            continue;
        steps++;
        weights = i64_add(weights, own);
        bytes = i64_add(bytes, tensor_bytes(step->operand[WEIGHTS].tensor));
    }
    if (!steps)
        return;
    text_print(text,
               "winograd  %d of %zu steps: %" PRId64
               " bytes of weights instead of %" PRId64 "\n",
               steps, program->step.n, bytes, i64_mul(weights, 4));
    text_put(text, "          results to 1e-5 of the largest; the exact sums: "
                   "--without=winograd\n");
}

static void put_more_work(Text *text, const Program *program,
                          const Alternative *found)
{
    const int64_t macs = program_macs(program);
    if (found->macs > macs && macs)
        text_print(text, "%16s(%.3f of the multiplications)\n", "",
                   (double)found->macs / (double)macs);
}

/* What other options save, as they were tried. */
static void advice(Text *text, const Program *program)
{
    const Advice *advice = program->advice;
    if (!advice)
        return;
    text_print(text, "advice    %s of %d other options that were tried\n",
               advice->found.n ? "RAM in all with those that save some,"
                               : "none saves RAM,",
               advice->tried);
    for (size_t i = 0; i < advice->found.n; i++) {
        const Alternative *found = advice->found.at + i;
        text_print(text, "%14" PRId64 "  ", found->ram);
        text_cut(text, found->options, 62);
        text_put(text, "\n");
        put_more_work(text, program, found);
    }
}

/* Plans from the cheapest to the smallest; the one taken is marked. */
static void curve(Text *text, const Plan *plan)
{
    if (!plan->curve.n)
        return;
    text_print(text, "\n%-6s %14s %10s %10s %10s %10s\n", "curve",
               "arena bytes", "MACs", "streamed", "strips", "steps");
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *c = plan->curve.at + i;
        text_print(text, "%6s %14" PRId64 " %9.3fx %10d %10d %10d\n",
                   c->chosen ? "*" : "", c->arena, curve_factor(plan, c),
                   c->streamed, c->strips, c->steps);
    }
}

static void steps(Text *text, const Program *program)
{
    text_print(text, "\n%5s  %-20s %-24s %12s %12s\n", "step", "operator",
               "kernel", "MACs", "live bytes");
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *s = program->step.at[i];
        text_print(text,
                   "%5zu  %-20.20s %-24.24s %12" PRId64 " %12" PRId64 "\n", i,
                   step_name(s), s->kernel->name, s->macs,
                   program->plan.live ? program->plan.live[i] : 0);
    }
}

static void signals(Text *text, const Graph *graph)
{
    for (size_t i = 0; i < graph->signal.n; i++) {
        const Signal *signal = graph->signal.at + i;
        text_put(text, i ? "          " : "stream    ");
        text_cut(text, graph->input.at[signal->in]->name, 30);
        text_print(text,
                   ": a run takes %" PRId64
                   " new steps along dimension %d, the model's window has "
                   "%" PRId64 "%s\n",
                   signal->hop, signal->axis, signal->window,
                   signal->endless ? "; endless" : "");
    }
    if (graph->signal.n)
        text_print(text,
                   "          %" PRId64
                   " runs fill it; steps of the past are kept in %zu states\n",
                   graph->signal_runs,
                   graph_results(graph) - graph_own_results(graph));
}

static void states(Text *text, const Program *program)
{
    const StateOffers offers = state_offers(program->graph);
    if (offers.n)
        text_put(text, "state     may be inputs of the next run; they stay in "
                       "the arena with\n");
    for (size_t i = 0; i < offers.n; i++) {
        const StateOffer *offer = offers.at + i;
        text_put(text, "          --state ");
        text_cut(text, offer->out->name, 30);
        text_put(text, "=");
        text_cut(text, offer->in->name, 30);
        text_print(text, ", %" PRId64 " bytes\n", tensor_bytes(offer->in));
    }
}

Text report_text(const Program *program, const char *name)
{
    Text text = text_new(program->graph->arena);
    head(&text, program, name);
    values(&text, program, "input", program->graph->input.at,
           program->graph->input.n);
    lengths(&text, program->lengths);
    values(&text, program, "output", program->graph->output.at,
           graph_results(program->graph));
    signals(&text, program->graph);
    if (!program->lengths)
        states(&text, program);
    peak(&text, program);
    advice(&text, program);
    floats(&text, program);
    transformed(&text, program);
    curve(&text, &program->plan);
    steps(&text, program);
    return text;
}
