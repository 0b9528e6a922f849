/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/check_tables.h"

#include <inttypes.h>

#include "base/size.h"

/* The tensor that an operand is in; NULL where it is not in the arena. */
static const Tensor *arena_root(const Operand *operand, int64_t *at)
{
    if (!operand->tensor)
        return NULL;
    const Tensor *root = tensor_root(operand->tensor, at);
    *at += operand->offset;
    return root->storage == STORE_ARENA ? root : NULL;
}

/* ---- what the C compiler checks ---- */

Text check_asserts(const Emitter *emitter)
{
    const Plan *plan = &emitter->program->plan;
    Text text = text_new(emitter->arena);
    text_print(&text,
               "INLAY_ASSERT(%s_align, %s_ARENA_ALIGN == %" PRId64 "u);\n",
               emitter->name, emitter->upper, plan->arena_align);
    for (int i = 0; i < program_regions(emitter->program); i++)
        text_print(&text, "INLAY_ASSERT(%s_arena_%d, %s == %" PRId64 "u);\n",
                   emitter->name, i, memory_macro(emitter, i),
                   program_region_size(emitter->program, i));
    return text;
}

static void put_placed(Text *text, const Emitter *emitter, const Step *step,
                       const Operand *operand, const Tensor *root)
{
    const int number = emitter->first_step + step->index;
    const char *variant =
        emitter->first_step ? arena_printf(emitter->arena, "_%d", number) : "";
    text_print(text, "PLACED(%d%s, %" PRId64 "u, %" PRId64 "u, %s); /* ",
               root->id, variant, root->offset, operand_extent(operand, root),
               memory_macro(emitter, root->region));
    if (operand->scratch) {
        text_print(text, "scratch of step %d: ", number);
        put_shape(text, root);
    } else {
        put_tensor(text, emitter, root);
    }
    text_put(text, " */\n");
}

static void put_places(Text *text, const Emitter *emitter)
{
    const Program *program = emitter->program;
    const int ids = graph_root(program->graph)->next_id;
    bool *seen = NEW_ARRAY(emitter->arena, bool, ids + 1);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            int64_t at;
            const Tensor *root = arena_root(step->operand + k, &at);
            if (!root || seen[root->id])
                continue;
            seen[root->id] = true;
            put_placed(text, emitter, step, step->operand + k, root);
        }
    }
}

Text check_places(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    Emitter own;
    for (size_t v = 0; emitter_of_variant(emitter, v, &own); v++)
        put_places(&text, &own);
    return text;
}

/* ---- rules ---- */

static void put_row_table(Text *text, const Step *step, int k)
{
    const RowRule *rule = &step->operand[k].rule;
    if (rule->kind != ROWS_TABLE)
        return;
    text_print(text, "static const int32_t rows%d_%d[] = {", step->index, k);
    for (int32_t unit = 0; unit < step->units; unit++)
        text_print(text, "%s %d, %d", unit ? "," : "", rule->table[unit].lo,
                   rule->table[unit].hi);
    text_put(text, " };\n");
}

/* Is row u of the operand all that unit u touches? */
static bool goes_by_row(const Step *step, const Operand *operand)
{
    const RowKind kind = operand->rule.kind;
    if (operand->rows != step->units)
        return false;
    if (operand->write)
        return !step->accumulates;
    return kind == ROWS_SAME || kind == ROWS_UNIT;
}

static const char *does(const Step *step, const Operand *operand)
{
    const bool by_row = goes_by_row(step, operand);
    if (operand->scratch)
        return "INLAY_READ | INLAY_WRITE | INLAY_SCRATCH";
    if (operand->write && step->accumulates)
        return "INLAY_WRITE | INLAY_SUM";
    if (operand->write && operand->read)
        return by_row ? "INLAY_READ | INLAY_WRITE | INLAY_BY_ROW"
                      : "INLAY_READ | INLAY_WRITE";
    if (operand->write)
        return by_row ? "INLAY_WRITE | INLAY_BY_ROW" : "INLAY_WRITE";
    return by_row ? "INLAY_READ | INLAY_BY_ROW" : "INLAY_READ";
}

static void put_number(Text *text, const char *member, int64_t number)
{
    if (number)
        text_print(text, ", .%s = %" PRId64, member, number);
}

/* inlay_rule.kind */
enum { RULE_WINDOW = 2, RULE_TABLE = 3 };

static void put_row_rule(Text *text, const Step *step, int k)
{
    const RowRule *rule = &step->operand[k].rule;
    if (rule->kind == ROWS_TABLE)
        text_print(text, ", .kind = %d, .table = rows%d_%d", RULE_TABLE,
                   step->index, k);
    if (rule->kind != ROWS_WINDOW)
        return;
    put_number(text, "kind", RULE_WINDOW);
    put_number(text, "stride", rule->stride);
    put_number(text, "pad", rule->pad);
    put_number(text, "extent", rule->extent);
}

static void put_rule(Text *text, const Emitter *emitter, const Step *step,
                     int k)
{
    const Operand *operand = step->operand + k;
    int64_t at;
    const Tensor *root = arena_root(operand, &at);
    if (!root) {
        text_put(text, "    { .tensor = 0 },\n");
        return;
    }
    const int64_t bits = dtype_bits(operand->tensor->dtype);
    text_print(text, "    { .tensor = %d, .does = %s", root->id + 1,
               does(step, operand));
    put_number(text, "rows", operand->rows);
    put_row_rule(text, step, k);
    put_number(text, "at", at);
    put_number(text, "row", operand->row_bytes);
    put_number(text, "pitch", operand_pitch(operand));
    put_number(text, "part", operand->part * bits / 8);
    text_put(text, " }, /* ");
    put_tensor(text, emitter, operand->tensor);
    text_put(text, " */\n");
}

static void put_step(CheckTables *tables, const Emitter *emitter,
                     const Step *step)
{
    Text *rules = &tables->rules;
    for (int k = 0; k < step->n_operand; k++)
        put_row_table(rules, step, k);
    text_print(rules, "static const struct inlay_rule rules%d[] = {\n",
               step->index);
    for (int k = 0; k < step->n_operand; k++)
        put_rule(rules, emitter, step, k);
    if (!step->n_operand)
        text_put(rules, "    { .tensor = 0 }\n");
    text_put(rules, "};\n");
    text_print(&tables->steps, "    rules%d,\n", step->index);
    text_print(&tables->counts, "    %d,\n", step->n_operand);
}

/* ---- lives ---- */

typedef struct Life {
    const Tensor *tensor; /* NULL: none, or it lives to the end */
    int32_t last;
    int64_t extent;
} Life;

/* The last step of each tensor, by its number. */
static Life *find_lives(Arena *arena, const Program *program)
{
    const int ids = graph_root(program->graph)->next_id;
    Life *life = NEW_ARRAY(arena, Life, ids + 1);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            int64_t at;
            const Operand *operand = step->operand + k;
            const Tensor *root = arena_root(operand, &at);
            if (!root || operand->scratch)
                continue;
            const int64_t extent = operand_extent(operand, root);
            life[root->id] = (Life){ root, (int32_t)i, extent };
        }
    }
    return life;
}

static void put_life(Text *text, const Emitter *emitter, const Life *life)
{
    const Program *program = emitter->program;
    const Tensor *tensor = life->tensor;
    text_print(text, "    { .step = %d, .base = %d, .tensor = %d", life->last,
               program_base(program, tensor), tensor->id + 1);
    put_number(text, "off", tensor->offset);
    put_number(text, "extent", life->extent);
    put_number(text, "bytes", tensor_bytes(tensor));
    text_put(text, " }, /* ");
    put_tensor(text, emitter, tensor);
    text_put(text, " */\n");
}

/* Inputs that the caller wrote into the arena are there before the first step. */
static void put_first_lives(Text *text, const Emitter *emitter)
{
    const Program *program = emitter->program;
    const Graph *graph = program->graph;
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *input = graph->input.at[i];
        const Life life = { input, -1, tensor_bytes(input) };
        if (input->storage == STORE_ARENA && graph_in_form(graph, i) != IO_ROWS)
            put_life(text, emitter, &life);
    }
}

/* What is not needed any more after a step; where steps jump that is not known. */
static void put_last_lives(Text *text, const Emitter *emitter)
{
    const Program *program = emitter->program;
    const Graph *graph = program->graph;
    Life *life = find_lives(emitter->arena, program);
    for (size_t i = 0; i < graph->input.n; i++)
        if (program->plan.preserve_input)
            life[graph->input.at[i]->id].tensor = NULL;
    for (size_t i = 0; i < graph->output.n; i++)
        life[graph->output.at[i]->id].tensor = NULL;
    for (size_t i = 0; i < graph->state.n; i++)
        life[graph->input.at[graph->state.at[i].in]->id].tensor = NULL;
    const int ids =
        program_jumps(program) ? 0 : graph_root(program->graph)->next_id;
    for (int i = 0; i < ids; i++)
        if (life[i].tensor)
            put_life(text, emitter, life + i);
}

static bool is_state(const Graph *graph, size_t out)
{
    for (size_t i = 0; i < graph->state.n; i++)
        if (graph->state.at[i].out == out)
            return true;
    return false;
}

/* Results that the caller reads in the arena are there when all steps are done; where steps jump
 * some of it may not be. */
static void put_results(Text *text, const Emitter *emitter)
{
    const Program *program = emitter->program;
    const Graph *graph = program->graph;
    const size_t results = program_jumps(program) ? 0 : graph->output.n;
    for (size_t i = 0; i < results; i++) {
        const Tensor *output = graph->output.at[i];
        const int32_t steps = (int32_t)program->step.n;
        const Life life = { output, steps, tensor_bytes(output) };
        if (output->storage == STORE_ARENA && !is_state(graph, i))
            put_life(text, emitter, &life);
    }
}

CheckTables check_tables(const Emitter *emitter)
{
    Arena *arena = emitter->arena;
    const Program *program = emitter->program;
    CheckTables tables = {
        .rules = text_new(arena),
        .steps = text_new(arena),
        .counts = text_new(arena),
        .lives = text_new(arena),
        .areas = text_new(arena),
        .tags = text_new(arena),
    };
    for (size_t i = 0; i < program->step.n; i++)
        put_step(&tables, emitter, program->step.at[i]);
    if (!program->step.n) {
        text_put(&tables.steps, "    NULL\n");
        text_put(&tables.counts, "    0\n");
    }
    put_first_lives(&tables.lives, emitter);
    put_last_lives(&tables.lives, emitter);
    put_results(&tables.lives, emitter);
    for (int i = 0; i <= program_regions(program); i++)
        text_print(&tables.areas, "    %" PRId64 "u,\n",
                   program_region_start(program, i));
    text_print(&tables.tags, "static uint32_t check_tags[%" PRId64 "];\n",
               i64_max(1, program->plan.arena_size));
    return tables;
}
