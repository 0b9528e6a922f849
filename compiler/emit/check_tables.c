/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/check_tables.h"

#include <inttypes.h>

#include "base/size.h"

/* The tensor that an operand is in; NULL where it is not in the arena. */
static const Tensor *arena_root(const Operand *operand, int64_t *at)
{
    if (!operand->tensor)
        return NULL;
    const Tensor *t = tensor_root(operand->tensor, at);
    *at += operand->offset;
    return t->storage == STORE_ARENA ? t : NULL;
}

static void print_table(Text *text, const Step *step, int k)
{
    const Operand *o = step->operand + k;
    if (o->rule.kind != ROWS_TABLE)
        return;
    text_print(text, "static const int32_t rows%d_%d[] = {", step->index, k);
    for (int32_t u = 0; u < step->units; u++)
        text_print(text, "%s %d, %d", u ? "," : "", o->rule.table[u].lo, o->rule.table[u].hi);
    text_put(text, " };\n");
}

static const char *does(const Step *step, const Operand *operand)
{
    const bool row =
        operand->rows == step->units &&
        (operand->write ? !step->accumulates
                        : operand->rule.kind == ROWS_SAME || operand->rule.kind == ROWS_UNIT);
    if (operand->scratch)
        return "INLAY_READ | INLAY_WRITE | INLAY_SCRATCH";
    if (operand->write && step->accumulates)
        return "INLAY_WRITE | INLAY_SUM";
    if (operand->write && operand->read)
        return row ? "INLAY_READ | INLAY_WRITE | INLAY_BY_ROW" : "INLAY_READ | INLAY_WRITE";
    if (operand->write)
        return row ? "INLAY_WRITE | INLAY_BY_ROW" : "INLAY_WRITE";
    return row ? "INLAY_READ | INLAY_BY_ROW" : "INLAY_READ";
}

static void print_rule(Text *text, const Step *step, int k)
{
    const Operand *o = step->operand + k;
    int64_t at;
    const Tensor *root = arena_root(o, &at);
    if (!root) {
        text_put(text, "\n    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },");
        return;
    }
    const int kind = o->rule.kind == ROWS_WINDOW ? 2 : o->rule.kind == ROWS_TABLE ? 3 : 0;
    const int64_t part = o->part * (int64_t)dtype_bits(o->tensor->dtype) / 8;
    text_print(text, "\n    { %du, %s, %d, %d, %d, %d, %d, ", root->id + 1, does(step, o), o->rows,
               kind, o->rule.stride, o->rule.pad, o->rule.extent);
    if (kind == 3)
        text_print(text, "rows%d_%d", step->index, k);
    else
        text_put(text, "0");
    text_print(text, ", %" PRId64 "u, %" PRId64 "u, %" PRId64 "u, %" PRId64 "u },", at,
               o->row_bytes, operand_pitch(o), part);
}

typedef struct Life {
    const Tensor *tensor;
    int32_t first, last;
    int64_t extent;
} Life;

static bool jumps(const Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        if (program->step.at[i]->control || program->step.at[i]->loop_end >= 0)
            return true;
    return false;
}

/* What is there before the first step, and what dies after a step, unless steps jump. */
static int print_lives(Text *text, Arena *arena, const Program *program)
{
    const Graph *g = program->graph;
    Life *life = NEW_ARRAY(arena, Life, graph_root(program->graph)->next_id + 1);
    int n = 0;
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++) {
            int64_t at;
            const Operand *o = program->step.at[i]->operand + k;
            const Tensor *root = arena_root(o, &at);
            if (!root || o->scratch)
                continue;
            life[root->id] = (Life){ root, 0, (int32_t)i,
                                     o->ring ? o->ring * o->row_bytes : tensor_bytes(root) };
        }
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *v = g->input.at[i];
        if (v->storage == STORE_ARENA && graph_in_form(g, i) != IO_ROWS)
            text_print(text, "\n    { -1, %d, %du, %" PRId64 "u, %" PRId64 "u, %" PRId64 "u },",
                       program_base(program, v), v->id + 1, v->offset, tensor_bytes(v),
                       tensor_bytes(v)),
                n++;
        if (program->plan.preserve_input)
            life[v->id].tensor = NULL;
    }
    for (size_t i = 0; i < g->output.n; i++)
        life[g->output.at[i]->id].tensor = NULL;
    const int ids = jumps(program) ? 0 : graph_root(program->graph)->next_id;
    for (int i = 0; i < ids; i++) {
        const Life *l = life + i;
        if (!l->tensor)
            continue;
        text_print(text, "\n    { %d, %d, %du, %" PRId64 "u, %" PRId64 "u, %" PRId64 "u },",
                   l->last, program_base(program, l->tensor), i + 1, l->tensor->offset, l->extent,
                   tensor_bytes(l->tensor));
        n++;
    }
    return n;
}

Text check_tables(Arena *arena, const Program *program)
{
    Text text = text_new(arena);
    Text list = text_new(arena);
    Text count = text_new(arena);
    text_put(&text, "#ifdef INLAY_CHECK\n");
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *s = program->step.at[i];
        for (int k = 0; k < s->n_operand; k++)
            print_table(&text, s, k);
        text_print(&text, "static const struct inlay_rule rule%zu[] = {", i);
        for (int k = 0; k < s->n_operand; k++)
            print_rule(&text, s, k);
        if (!s->n_operand)
            text_put(&text, " { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }");
        text_put(&text, "\n};\n");
        text_print(&list, "%s rule%zu", i ? "," : "", i);
        text_print(&count, "%s %d", i ? "," : "", s->n_operand);
    }
    if (!program->step.n)
        text_put(&list, " 0"), text_put(&count, " 0");
    text_print(&text,
               "static const struct inlay_rule *const check_rule[] = {%s };\nstatic const int32_t "
               "check_rules[] = {%s };\n",
               list.at, count.at);
    text_put(&text, "static const struct inlay_life check_life[] = {");
    print_lives(&text, arena, program);
    text_put(&text, "\n    { -2, 0, 0, 0, 0, 0 }\n};\nstatic const size_t check_area[] = {");
    for (int r = 0; r <= program_regions(program); r++)
        text_print(&text, "%s %" PRId64 "u", r ? "," : "", program_region_start(program, r));
    text_print(&text, " };\nstatic uint32_t check_tags[%" PRId64 "];\n#endif\n",
               i64_max(1, program->plan.arena_size));
    return text;
}

/* The macro with the bytes of the arena, or of a region of it. */
static const char *size_macro(Arena *arena, const Program *program, const char *upper, int region)
{
    if (!program->plan.region.n)
        return arena_printf(arena, "%s_ARENA_SIZE", upper);
    return arena_printf(arena, "%s_ARENA_%s_SIZE", upper,
                        text_upper(arena, program->plan.region.at[region].name));
}

Text check_asserts(Arena *arena, const Program *program, const char *name, const char *upper)
{
    Text text = text_new(arena);
    bool *seen = NEW_ARRAY(arena, bool, graph_root(program->graph)->next_id + 1);
    text_print(&text,
               "INLAY_ASSERT(%s_floats, sizeof(float) == 4 && sizeof(double) == 8 && "
               "sizeof(int64_t) == 8);\n",
               name);
    text_print(&text, "INLAY_ASSERT(%s_align, %s_ARENA_ALIGN == %" PRId64 "u);\n", name, upper,
               program->plan.arena_align);
    for (int i = 0; i < program_regions(program); i++)
        text_print(&text, "INLAY_ASSERT(%s_arena_%d, %s == %" PRId64 "u);\n", name, i,
                   size_macro(arena, program, upper, i),
                   program->plan.region.n ? program->plan.region.at[i].size
                                          : program->plan.arena_size);
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++) {
            int64_t at;
            const Operand *o = program->step.at[i]->operand + k;
            const Tensor *root = arena_root(o, &at);
            if (!root || seen[root->id])
                continue;
            seen[root->id] = true;
            text_print(&text,
                       "INLAY_ASSERT(%s_tensor_%d, %" PRId64 "u %% %s_ARENA_ALIGN == 0 && %" PRId64
                       "u + %" PRId64 "u <= %s);\n",
                       name, root->id, root->offset, upper, root->offset,
                       o->ring ? o->ring * o->row_bytes : tensor_bytes(root),
                       size_macro(arena, program, upper, root->region));
        }
    return text;
}

Text check_members(Arena *arena, const Program *program)
{
    Text text = text_new(arena);
    text_print(&text,
               "\n#ifdef INLAY_CHECK\n    , check_rule, check_rules, check_life, (int32_t)(sizeof "
               "check_life / sizeof *check_life), %d, check_area, check_tags\n#endif\n",
               program_regions(program));
    return text;
}
