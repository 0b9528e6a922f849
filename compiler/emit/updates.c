/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/updates.h"

#include <inttypes.h>

const char *const update_policies[] = { "none", "dirty-tag", "fence", NULL };

static void fill_spans(StepSpan *spans, StepSpan with)
{
    for (int32_t i = with.first; i < with.end; i++)
        spans[i] = with;
}

/* By step: the steps that may be called before all of its units are made, its own among them. */
static const StepSpan *step_spans(const Program *program)
{
    const int32_t n = (int32_t)program->step.n;
    StepSpan *spans = NEW_ARRAY(program->graph->arena, StepSpan, n + 1);
    if (program_jumps(program)) {
        fill_spans(spans, (StepSpan){ 0, n });
        return spans;
    }
    for (int32_t i = 0; i < n; i++)
        spans[i] = (StepSpan){ i, i + 1 };
    for (size_t k = 0; k < program->plan.segment.n; k++) {
        const Segment *segment = program->plan.segment.at + k;
        const int32_t end = segment->first + segment->count;
        if (segment->list)
            fill_spans(spans, (StepSpan){ segment->first, end });
    }
    return spans;
}

static void add_use(StepSpan *use, StepSpan span)
{
    if (use->first == use->end)
        *use = span;
    if (span.first < use->first)
        use->first = span.first;
    if (span.end > use->end)
        use->end = span.end;
}

StepSpan *update_uses(const Program *program)
{
    Arena *arena = program->graph->arena;
    const int ids = graph_root(program->graph)->next_id;
    StepSpan *of_tensor = NEW_ARRAY(arena, StepSpan, ids + 1);
    StepSpan *uses = NEW_ARRAY(arena, StepSpan, program->weight.n + 1);
    const StepSpan *spans = step_spans(program);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            Tensor *tensor = step->operand[k].tensor;
            int64_t at;
            if (tensor)
                add_use(of_tensor + tensor_root(tensor, &at)->id, spans[i]);
        }
    }
    for (size_t i = 0; i < program->weight.n; i++)
        uses[i] = of_tensor[program->weight.at[i].tensor->id];
    return uses;
}

void update_report(Text *text, const Program *program)
{
    const StepSpan *uses = update_uses(program);
    text_put(text,
             "\nWeights that may be replaced while runs use them, and the "
             "steps of their first\nand last use (a stream and loops count "
             "as a whole):\n  number       bytes  steps\n");
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *slot = program->weight.at + i;
        if (!slot->tensor->region && uses[i].first < uses[i].end)
            text_print(text,
                       "  %6zu  %10" PRIu64 "  %" PRId32 " to %" PRId32 "\n", i,
                       slot->bytes, uses[i].first, uses[i].end - 1);
    }
}

static void put_tensor_row(Text *text, const WeightSlot *slot, StepSpan use)
{
    const bool in_code = slot->tensor->region != 0;
    text_print(
        text, "    { %" PRIu64 "u, %" PRIu64 "u, %" PRId32 ", %" PRId32 " },\n",
        in_code ? 0 : slot->offset, in_code ? 0 : slot->bytes, use.first,
        use.end);
}

Text update_tables(const Emitter *emitter)
{
    const Program *program = emitter->program;
    const int32_t n = (int32_t)program->step.n;
    Text text = text_new(emitter->arena);
    if (!has_updates(emitter))
        return text;
    const StepSpan *uses = update_uses(program);
    const StepSpan *spans = step_spans(program);
    text_put(&text, "static const inlay_tensor tensors[] = {\n");
    for (size_t i = 0; i < program->weight.n; i++)
        put_tensor_row(&text, program->weight.at + i, uses[i]);
    text_put(&text, "};\nstatic const inlay_span spans[] = {\n");
    for (int32_t i = 0; i < n; i++) {
        const StepSpan span = spans[i];
        const int32_t next = span.end < n ? spans[span.end].end : n;
        text_print(&text, "    { %" PRId32 ", %" PRId32 ", %" PRId32 " },\n",
                   span.first, span.end, next);
    }
    text_put(&text, "};\n");
    return text;
}

Text update_tensors(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    text_print(&text,
               "#define %s_TENSORS %zu /* constants, by their numbers in "
               "%s.json and `inlay weights info` */\n",
               emitter->upper, emitter->program->weight.n, emitter->name);
    return text;
}
