/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/tables.h"

#include <inttypes.h>
#include <string.h>

#include "emit/tables_fetch.h"

/* ---- base pointers ---- */

/* Of constants that are not in the blob; NULL: it is no base of such. */
static const char *constants_name(const Emitter *emitter, int base)
{
    const Program *program = emitter->program;
    const int bases = program_bases(program);
    const int lenders = (int)program->lender.n;
    if (has_code_constants(emitter) && base + 1 == bases)
        return "BASE_CODE";
    if (base < bases - lenders)
        return NULL;
    const char *lender = program->lender.at[base - (bases - lenders)];
    return arena_printf(emitter->arena, "BASE_OF_%s",
                        text_upper(emitter->arena, lender));
}

static const char *base_name(const Emitter *emitter, int base)
{
    const Program *program = emitter->program;
    const Plan *plan = &program->plan;
    const int inputs = (int)program->graph->input.n;
    const int region = base - INLAY_ARENA;
    const int in = region - program_regions(program);
    const int out = in - inputs;
    if (base == INLAY_NONE)
        return "INLAY_NONE";
    if (base == INLAY_WEIGHTS)
        return "BASE_WEIGHTS";
    if (in < 0 && !has_regions(emitter))
        return "BASE_ARENA";
    if (in < 0)
        return arena_printf(
            emitter->arena, "BASE_ARENA_%s",
            text_upper(emitter->arena, plan->region.at[region].name));
    if (out < 0)
        return arena_printf(emitter->arena, "BASE_IN%d", in);
    const int results = (int)graph_results(program->graph);
    if (out < results)
        return arena_printf(emitter->arena, "BASE_OUT%d", out);
    const char *constants = constants_name(emitter, base);
    if (constants)
        return constants;
    return arena_printf(emitter->arena, "BASE_DIMS%d", out - results);
}

Text table_bases(const Emitter *emitter)
{
    const int bases = program_bases(emitter->program);
    Text text = text_new(emitter->arena);
    text_put(&text, "    BASE_WEIGHTS = INLAY_WEIGHTS,\n");
    text_print(&text, "    %s = INLAY_ARENA,\n",
               base_name(emitter, INLAY_ARENA));
    for (int base = INLAY_ARENA + 1; base < bases; base++)
        text_print(&text, "    %s,\n", base_name(emitter, base));
    return text;
}

/* ---- operands ---- */

static bool step_has_slots(const Step *step)
{
    for (int k = 0; k < step->n_operand; k++)
        if (step->operand[k].slots)
            return true;
    return false;
}

static bool program_has_slots(const Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        if (step_has_slots(program->step.at[i]))
            return true;
    return false;
}

bool table_has_slots(const Emitter *emitter)
{
    Emitter own;
    for (size_t v = 0; emitter_of_variant(emitter, v, &own); v++)
        if (program_has_slots(own.program))
            return true;
    return false;
}

/* Tables of slots are named for the first operand whose rows have them. */
static const char *slots_name(const Emitter *emitter, const RowSlots *slots)
{
    const Program *program = emitter->program;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            if (step->operand[k].slots == slots)
                return arena_printf(emitter->arena, "slots%d_%d",
                                    emitter->first_step + step->index, k);
    }
    return NULL;
}

/* What tells the same place from another, for tables that are stored once. */
static void put_place(Text *text, const Emitter *emitter, const inlay_ref *ref,
                      const Operand *operand)
{
    text_put(text, "{ ");
    if (ref->off)
        text_print(text, ".off = %zu, ", ref->off);
    if (ref->row)
        text_print(text, ".row = %zu, ", ref->row);
    text_print(text, ".cap = %d, ", ref->cap);
    if (ref->pix)
        text_print(text, ".pix = %d, ", ref->pix);
    text_print(text, ".base = %s", base_name(emitter, ref->base));
    if (operand && operand->slots)
        text_print(text, ", .unit = %d, .slot = %s", operand->slots->unit,
                   slots_name(emitter, operand->slots));
    text_put(text, " },");
}

static void put_operand_note(Text *text, const Emitter *emitter,
                             const Step *step, int k)
{
    const Operand *operand = step->operand + k;
    const Tensor *tensor = operand->tensor;
    if (!tensor) {
        text_put(text, "left out");
        return;
    }
    if (operand->scratch) {
        text_put(text, "scratch: ");
        put_shape(text, tensor);
        return;
    }
    if (k < step->n_out)
        put_result(text, emitter, tensor);
    else
        put_tensor(text, emitter, tensor);
    if (operand->ring && operand->ring < operand->rows)
        text_print(text, ", a ring of %d of %d rows", operand->ring,
                   operand->rows);
    if (operand->slots)
        text_print(text, ", rows in slots of a pool of %" PRId64 " bytes",
                   operand->slots->pool);
}

static void put_operands(Text *text, const Emitter *emitter, const Step *step,
                         bool notes)
{
    for (int k = 0; k < step->n_operand; k++) {
        text_put(text, "    ");
        put_place(text, emitter, &step->operand[k].ref, step->operand + k);
        if (notes) {
            text_put(text, " /* ");
            put_operand_note(text, emitter, step, k);
            text_put(text, " */");
        }
        text_put(text, "\n");
    }
}

/* ---- steps ---- */

/* The number of the first table that reads like this one: it is stored once. */
static int first_like(Arena *arena, Map *seen, const char *key, int number)
{
    const int *had = map_get(seen, key);
    if (had)
        return *had;
    int *own = NEW(arena, int);
    *own = number;
    map_put(seen, key, own);
    return number;
}

/* 0: Conv "conv1" */
static void put_step(Text *text, const Emitter *emitter, const Step *step)
{
    text_print(text, "%d: ", emitter->first_step + step->index);
    text_comment(text, step_name(step));
    if (step->node && *step->node->name) {
        text_put(text, " \"");
        text_comment(text, step->node->name);
        text_put(text, "\"");
    }
}

static const Tensor *first_input(const Step *step)
{
    for (int k = step->n_out; k < step->n_operand; k++)
        if (step->operand[k].tensor && !step->operand[k].scratch)
            return step->operand[k].tensor;
    return NULL;
}

/* From the first operand to the first result. */
static void put_shapes(Text *text, const Step *step)
{
    const Tensor *in = first_input(step);
    const Tensor *out = step->n_out ? step->operand->tensor : NULL;
    if (in)
        text_print(text, ", %s", shape_text(text->arena, &in->shape));
    if (out)
        text_print(text, " to %s", shape_text(text->arena, &out->shape));
}

static void put_step_row(Text *text, const Emitter *emitter, const Step *step,
                         int params, int operands)
{
    const int32_t backward = step_backward(step);
    text_put(text, "    /* ");
    put_step(text, emitter, step);
    put_shapes(text, step);
    if (step->fetch)
        table_fetch_row(text, emitter->program, step);
    else
        text_print(text, " */\n    { .run = inlay_%s, .params = &params%d",
                   step->kernel->name, params);
    if (step->n_operand)
        text_print(text, ", .ref = operands%d", operands);
    text_print(text, ", .units = %d", step->units);
    if (backward)
        text_print(text, ", .backward = %s",
                   backward == INLAY_BACKWARD ? "INLAY_BACKWARD"
                                              : "INLAY_UNIT_BY_UNIT");
    text_put(text, " },\n");
}

typedef struct StepWriter {
    const Emitter *emitter;
    Map params;
    Map operands;
    StepTables made;
} StepWriter;

enum { SLOTS_OF_LINE = 16 };

/* In units behind the begin of the pool. */
static void put_slots(Text *text, const RowSlots *slots, const char *name)
{
    text_print(text, "static const uint16_t %s[] = {", name);
    for (int32_t r = 0; r < slots->rows; r++)
        text_print(text, "%s%u,", r % SLOTS_OF_LINE ? " " : "\n    ",
                   slots->slot[r]);
    text_put(text, "\n};\n\n");
}

/* The tables that are named for operands of the step. */
static void add_slots(StepWriter *writer, const Step *step)
{
    const Emitter *emitter = writer->emitter;
    for (int k = 0; k < step->n_operand; k++) {
        const RowSlots *slots = step->operand[k].slots;
        if (!slots)
            continue;
        const char *own = arena_printf(emitter->arena, "slots%d_%d",
                                       emitter->first_step + step->index, k);
        if (!strcmp(slots_name(emitter, slots), own))
            put_slots(&writer->made.tables, slots, own);
    }
}

static void put_fetch(Text *text, const Emitter *emitter, const Step *step,
                      int params)
{
    if (!step->fetch)
        return;
    const Step last = step_piece(text->arena, step, true);
    table_fetch(text, step, params, table_params(text->arena, &last).at);
    if (emitter->program->stream.coded)
        table_coded(text, step);
}

/* Its tables, those that no step before has: parameters of the text `fields`, unless an earlier
 * step's are numbered `params`. */
static void put_tables(StepWriter *writer, const Step *step, const char *fields,
                       int params, bool own_operands)
{
    Text *text = &writer->made.tables;
    const Emitter *emitter = writer->emitter;
    const int index = emitter->first_step + step->index;
    if (params != index && !own_operands && !step->fetch)
        return;
    text_put(text, "/* Step ");
    put_step(text, emitter, step);
    text_put(text, " */\n");
    if (params == index)
        text_print(text, "static const inlay_%s_params params%d = {\n%s\n};\n",
                   step->kernel->params, index, fields);
    if (own_operands) {
        text_print(text, "static const inlay_ref operands%d[] = {\n", index);
        put_operands(text, emitter, step, true);
        text_put(text, "};\n");
    }
    put_fetch(text, emitter, step, params);
    text_put(text, "\n");
}

static void add_step(StepWriter *writer, const Step *step)
{
    const Emitter *emitter = writer->emitter;
    Arena *arena = emitter->arena;
    const char *type = step->kernel->params;
    const Step *own = table_own(arena, step);
    const char *fields = table_params(arena, own).at;
    Text places = text_new(arena);
    text_put(&places, "");
    put_operands(&places, emitter, step, false);
    const char *key = arena_printf(arena, "%s %s", type, fields);
    const int index = emitter->first_step + step->index;
    const int params = first_like(arena, &writer->params, key, index);
    const int operands = first_like(arena, &writer->operands, places.at, index);
    put_step_row(&writer->made.steps, emitter, step, params, operands);
    put_tables(writer, step, fields, params,
               operands == index && step->n_operand);
}

/* Its operands for each thread but the first, where they differ. */
static void put_own(Text *text, const Emitter *emitter, const Step *step)
{
    const Program *program = emitter->program;
    const inlay_split split =
        program_split(emitter->arena, program, step->index);
    const int32_t others = program->plan.threads - 1;
    if (!split.own)
        return;
    text_print(text, "static const inlay_ref own%d[] = {\n", split.step);
    for (int32_t k = 0; k < others * split.operands; k++) {
        text_put(text, "    ");
        put_place(text, emitter, split.own + k, NULL);
        text_put(text, "\n");
    }
    text_put(text, "};\n\n");
}

static void add_steps(StepWriter *writer)
{
    const Program *program = writer->emitter->program;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        add_slots(writer, step);
        add_step(writer, step);
        if (step->split)
            put_own(&writer->made.tables, writer->emitter, step);
    }
}

StepTables table_steps(const Emitter *emitter)
{
    Arena *arena = emitter->arena;
    Emitter own;
    StepWriter writer = {
        .emitter = &own,
        .params = map_new(arena),
        .operands = map_new(arena),
        .made = { text_new(arena), text_new(arena) },
    };
    for (size_t v = 0; emitter_of_variant(emitter, v, &own); v++)
        add_steps(&writer);
    if (!writer.made.steps.n)
        text_put(&writer.made.steps, "    { .units = 0 }\n");
    return writer.made;
}

/* ---- segments ---- */

enum { ENTRIES_OF_LINE = 32 };

static Text list_text(Arena *arena, const Segment *segment)
{
    const int32_t entries =
        segment->prologue + segment->period + segment->epilogue;
    Text text = text_new(arena);
    for (int32_t i = 0; i < entries; i++) {
        const char *separator = i ? ", " : "    ";
        if (i && i % ENTRIES_OF_LINE == 0)
            separator = ",\n    ";
        text_print(&text, "%s%u", separator, segment->list[i]);
    }
    return text;
}

static void put_count(Text *text, const char *member, int32_t count)
{
    if (count)
        text_print(text, ", .%s = %d", member, count);
}

/* `list`: the number of its list. */
static void put_segment(Text *text, const Segment *segment, int list)
{
    const int32_t last = segment->first + segment->count - 1;
    const char *how = segment->list ? "row by row" : "one after the other";
    text_print(text, "    /* steps %d to %d, %s */\n", segment->first, last,
               how);
    text_print(text, "    { .first = %d, .count = %d", segment->first,
               segment->count);
    put_count(text, "prologue", segment->prologue);
    put_count(text, "period", segment->period);
    put_count(text, "repeats", segment->repeats);
    put_count(text, "epilogue", segment->epilogue);
    if (segment->list)
        text_print(text, ", .list = list%d", list);
    text_put(text, " },\n");
}

SegmentTables table_segments(const Emitter *emitter)
{
    Arena *arena = emitter->arena;
    const Plan *plan = &emitter->program->plan;
    Map seen = map_new(arena);
    SegmentTables made = { text_new(arena), text_new(arena) };
    for (int i = 0; i < (int)plan->segment.n; i++) {
        const Segment *segment = plan->segment.at + i;
        int list = i;
        if (segment->list) {
            const Text text = list_text(arena, segment);
            list = first_like(arena, &seen, text.at, i);
            if (list == i)
                text_print(&made.lists,
                           "static const uint8_t list%d[] = {\n%s\n};\n", i,
                           text.at);
        }
        put_segment(&made.segments, segment, list);
    }
    return made;
}

Text table_splits(const Emitter *emitter)
{
    Arena *arena = emitter->arena;
    const Program *program = emitter->program;
    Text text = text_new(arena);
    for (size_t i = 0; i < program->step.n; i++) {
        if (!program->step.at[i]->split)
            continue;
        const inlay_split split = program_split(arena, program, (int32_t)i);
        text_print(&text, "    { .step = %d", split.step);
        if (split.own)
            text_print(&text, ", .operands = %d, .own = own%d", split.operands,
                       split.step);
        text_put(&text, " },\n");
    }
    if (!text.n)
        text_put(&text, "    { .step = -1 }\n");
    return text;
}

Text table_counts(const Emitter *emitter)
{
    const Plan *plan = &emitter->program->plan;
    Text text = text_new(emitter->arena);
    text_print(&text, "    .steps = %zu,\n", emitter->program->step.n);
    if (plan->segment.n)
        text_print(&text,
                   "    .segments = %zu,\n    .state = %" PRId64
                   "u, /* of the arena: where the row counters lie */\n",
                   plan->segment.n, plan->state);
    return text;
}
