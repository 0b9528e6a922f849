/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/source.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "emit/check_tables.h"
#include "emit/group.h"
#include "emit/interface.h"
#include "emit/lengths.h"
#include "emit/macros.h"
#include "emit/own_names.h"
#include "emit/seal.h"
#include "emit/selftest.h"
#include "emit/tables.h"
#include "emit/template.h"
#include "emit/updates.h"

/* Most conditions and sections of the templates, and their end. */
enum { CONDITIONS = 29, SECTIONS = 25 };

static Text about(const Emitter *emitter)
{
    const Program *program = emitter->program;
    Text text = text_new(emitter->arena);
    text_print(&text,
               "/* Made by Inlay %s from an ONNX model; do not edit.\n"
               " * %zu steps, %" PRIu64 " bytes of weights, %" PRId64
               " bytes of arena. */\n",
               INLAY_VERSION, program->step.n, program->weight_bytes,
               program->plan.arena_size);
    return text;
}

/* By what the weights are known. */
static Text seal(const Emitter *emitter)
{
    uint64_t words[3];
    Text text = text_new(emitter->arena);
    if (!has_weights(emitter))
        return text;
    seal_words(emitter->program, words);
    text_print(&text,
               "    UINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64
               "), UINT64_C(%" PRIu64 ")\n",
               words[0], words[1], words[2]);
    return text;
}

/* The runtime, and the end of the compilation for a machine that cannot read the packed weights. */
static Text includes(const Emitter *emitter, const RuntimeUse *use)
{
    const Family *of = emitter->program->family;
    Text text = use ? runtime_includes(use) : text_new(emitter->arena);
    if (has_weights(emitter) && of->needs)
        text_print(&text, "#if !(%s)\n#error \"%s: %s\"\n#endif\n", of->needs,
                   of->name, of->without);
    return text;
}

/* Where a run stands that waits, in the arena, and the step that it waits for. */
static Text run_state(const Emitter *emitter)
{
    const Program *program = emitter->program;
    const Step *step = emitter->pushed;
    Text text = text_new(emitter->arena);
    text_print(&text, "enum { RUN_STATE = %" PRId64, program->plan.place);
    if (step)
        text_print(&text, ", ROW_STEP = %d", step->index);
    text_put(&text, " };\n");
    return text;
}

/* ---- files ---- */

static const char *file_name(const Emitter *emitter, const char *end)
{
    return arena_printf(emitter->arena, "src/%s%s", emitter->name, end);
}

/* A template and its sections, as src/NAME and `end`. */
static void write_filled(const Emitter *emitter, Output *output,
                         Filling filling, const char *name, const char *end)
{
    const Text text = template_fill(emitter->arena, name, &filling);
    output_text(output, file_name(emitter, end), text.at, text.n);
}

/* The same, with names of its own where others share the source file. */
static void write_own(const Emitter *emitter, Output *output, Filling filling,
                      const char *name, const char *end)
{
    Text text = template_fill(emitter->arena, name, &filling);
    if (emitter->grouped)
        text = own_names(emitter->arena, &text, emitter->name);
    output_text(output, file_name(emitter, end), text.at, text.n);
}

static void write_header(const Emitter *emitter, Output *output,
                         const Filling *common)
{
    const Section sections[] = {
        { "about", about(emitter) },
        { "sizes", macros_sizes(emitter) },
        { "facts", macros_facts(emitter) },
        { "tensors", update_tensors(emitter) },
        { "labels", macros_labels(emitter) },
        { "states", interface_states(emitter) },
        { "arenas", interface_arenas(emitter) },
        { "inputs", interface_inputs(emitter) },
        { "outputs", interface_outputs(emitter) },
        { "rows", macros_rows(emitter) },
        { "units", macros_units(emitter) },
        { "threads", macros_threads(emitter) },
        { NULL, { 0 } },
    };
    Filling filling = *common;
    filling.section = sections;
    write_filled(emitter, output, filling, "model.h", ".h");
}

/* The tables of steps; behind them others follow. */
static Section *put_tables(const Emitter *emitter, Section *to)
{
    const StepTables tables = table_steps(emitter);
    const SegmentTables segments = table_segments(emitter);
    const LengthTables lengths = table_lengths(emitter);
    const Section sections[] = {
        { "bases", table_bases(emitter) }, { "tables", tables.tables },
        { "steps", tables.steps },         { "lists", segments.lists },
        { "segments", segments.segments }, { "splits", table_splits(emitter) },
        { "lengths", lengths.tables },     { "room", lengths.room },
        { "results", lengths.results },    { "counts", table_counts(emitter) },
    };
    memcpy(to, sections, sizeof sections);
    return to + sizeof sections / sizeof *sections;
}

/* `use`: what it takes of the runtime; NULL: the file that includes it does. */
static void write_code(const Emitter *emitter, Output *output,
                       const Filling *common, const RuntimeUse *use)
{
    Section all[SECTIONS];
    Section *to = put_tables(emitter, all);
    const Section sections[] = {
        { "about", about(emitter) },
        { "includes", includes(emitter, use) },
        { "seal", seal(emitter) },
        { "updates", update_tables(emitter) },
        { "asserts", check_asserts(emitter) },
        { "places", check_places(emitter) },
        { "dims", interface_dims(emitter) },
        { "regions", interface_regions(emitter) },
        { "lenders", interface_lenders(emitter) },
        { "values", interface_values(emitter) },
        { "run_state", run_state(emitter) },
        { "reset", interface_reset(emitter) },
        { NULL, { 0 } },
    };
    const size_t count = sizeof sections / sizeof *sections;
    assert((size_t)(to - all) + count <= SECTIONS);
    memcpy(to, sections, sizeof sections);
    Filling filling = *common;
    filling.section = all;
    write_own(emitter, output, filling, "model.c", use ? ".c" : ".inc.h");
}

static void write_checks(const Emitter *emitter, Output *output,
                         const Filling *common)
{
    const CheckTables tables = check_tables(emitter);
    const Section sections[] = {
        { "about", about(emitter) }, { "rules", tables.rules },
        { "steps", tables.steps },   { "counts", tables.counts },
        { "lives", tables.lives },   { "areas", tables.areas },
        { "tags", tables.tags },     { NULL, { 0 } },
    };
    Filling filling = *common;
    filling.section = sections;
    write_own(emitter, output, filling, "model_plan_check.h", "_plan_check.h");
}

/* What a file is made of goes when it is written: values and steps may be thousands. */
static void write_files(const Emitter *emitter, Output *output,
                        const Filling *common, const SourceFacts *facts)
{
    RuntimeUse use = runtime_use(emitter->arena);
    runtime_add(&use, emitter);
    Emitter brief = *emitter;
    brief.arena = &emitter->program->graph->store->scratch;
    const ArenaMark mark = arena_mark(brief.arena);
    write_header(&brief, output, common);
    arena_release(brief.arena, mark);
    write_code(&brief, output, common, facts->group ? NULL : &use);
    arena_release(brief.arena, mark);
    if (facts->checks)
        write_checks(&brief, output, common);
    arena_release(brief.arena, mark);
    if (facts->group)
        group_add(facts->group, emitter);
    else
        runtime_copy(&use, output);
}

static Emitter emitter_of(const Program *program, const SourceFacts *facts)
{
    Emitter emitter = emitter_new(program, facts->name, facts->form);
    emitter.model_sha256 = facts->model_sha256;
    emitter.slots = facts->slots;
    emitter.updates = facts->updates;
    emitter.grouped = facts->group != NULL;
    emitter.selftest = facts->selftest;
    return emitter;
}

/* What its weights are; behind them others follow. */
static Condition *put_weights_conditions(const Emitter *emitter, Condition *to)
{
    const Condition conditions[] = {
        { "MODEL_HAS_WEIGHTS", has_weights(emitter) },
        { "MODEL_WEIGHTS_BYTES", weights_bytes(emitter) },
        { "MODEL_WEIGHTS_APART", weights_apart(emitter) },
        { "MODEL_WEIGHTS_BLOB", weights_blob(emitter) },
        { "MODEL_WEIGHTS_STREAM", weights_streamed(emitter) },
        { "MODEL_LIVE", has_updates(emitter) },
        { "MODEL_FENCE", emitter->updates == UPDATE_FENCE },
        { "MODEL_HAS_CONSTANTS", has_code_constants(emitter) },
        { "MODEL_WEIGHTS_OBJECT", weights_object(emitter) },
    };
    memcpy(to, conditions, sizeof conditions);
    return to + sizeof conditions / sizeof *conditions;
}

/* Which of the caller's values lie in the arena. */
static Condition *put_place_conditions(const Emitter *emitter, Condition *to)
{
    const Condition conditions[] = {
        { "MODEL_INPUTS_INSIDE", inputs_inside(emitter) },
        { "MODEL_INPUTS_STAY", emitter->program->plan.preserve_input },
        { "MODEL_OUTPUTS_INSIDE", outputs_inside(emitter) },
    };
    memcpy(to, conditions, sizeof conditions);
    return to + sizeof conditions / sizeof *conditions;
}

/* What the model has beside them. */
static void put_conditions(const Emitter *emitter, Condition *all)
{
    const Program *program = emitter->program;
    Condition *to = put_weights_conditions(emitter, all);
    to = put_place_conditions(emitter, to);
    const Condition conditions[] = {
        { "MODEL_HAS_REGIONS", has_regions(emitter) },
        { "MODEL_HAS_LABELS", has_labels(emitter) },
        { "MODEL_BY_ROWS", emitter->pushed != NULL },
        { "MODEL_SLICED", program_sliced(program) },
        { "MODEL_SHARED", program->plan.threads != 0 },
        { "MODEL_WAITS", program->plan.place_bytes != 0 },
        { "MODEL_HAS_STATES", has_states(emitter) },
        { "MODEL_HAS_SEGMENTS", program->plan.segment.n != 0 },
        { "MODEL_HAS_BUFFERS", has_buffers(emitter) },
        { "MODEL_HAS_DOUBLES", has_doubles(emitter) },
        { "MODEL_GROUPED", emitter->grouped },
        { "MODEL_HAS_LENGTHS", has_lengths(emitter) },
        { "MODEL_HAS_SELFTEST", emitter->selftest },
        { "MODEL_BORROWS", program->lender.n != 0 },
        { NULL, false },
    };
    const size_t count = sizeof conditions / sizeof *conditions;
    assert((size_t)(to - all) + count <= CONDITIONS);
    memcpy(to, conditions, sizeof conditions);
}

void emit_source(const Program *program, Output *output,
                 const SourceFacts *facts)
{
    const Emitter emitter = emitter_of(program, facts);
    if (facts->selftest)
        selftest_refuse(&emitter);
    Condition conditions[CONDITIONS];
    put_conditions(&emitter, conditions);
    const bool streamed = weights_streamed(&emitter);
    const Word words[3] = {
        { "model_memory", interface_memory(&emitter) },
        { "model_source", streamed ? "inlay_source" : "void" },
    };
    const Filling common = {
        .model = facts->name,
        .word = words,
        .condition = conditions,
    };
    write_files(&emitter, output, &common, facts);
}
