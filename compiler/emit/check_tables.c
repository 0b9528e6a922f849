/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/check_tables.h"

#include <inttypes.h>

#include "base/size.h"

/* The tensor that an operand is in; NULL where it is not in the arena. */
static const Tensor *arena_root(const Operand *o, int64_t *at)
{
    if (!o->tensor)
        return NULL;
    const Tensor *t = tensor_root(o->tensor, at);
    *at += o->offset;
    return t->storage == STORE_ARENA ? t : NULL;
}

static void print_table(Text *t, const Step *s, int k)
{
    const Operand *o = s->operand + k;
    if (o->rule.kind != ROWS_TABLE)
        return;
    text_print(t, "static const int32_t rows%d_%d[] = {", s->index, k);
    for (int32_t u = 0; u < s->units; u++)
        text_print(t, "%s %d, %d", u ? "," : "", o->rule.table[u].lo, o->rule.table[u].hi);
    text_put(t, " };\n");
}

static const char *does(const Step *s, const Operand *o)
{
    const bool row =
        o->rows == s->units &&
        (o->write ? !s->accumulates : o->rule.kind == ROWS_SAME || o->rule.kind == ROWS_UNIT);
    if (o->scratch)
        return "INLAY_READ | INLAY_WRITE | INLAY_SCRATCH";
    if (o->write && s->accumulates)
        return "INLAY_WRITE | INLAY_SUM";
    if (o->write && o->read)
        return row ? "INLAY_READ | INLAY_WRITE | INLAY_BY_ROW" : "INLAY_READ | INLAY_WRITE";
    if (o->write)
        return row ? "INLAY_WRITE | INLAY_BY_ROW" : "INLAY_WRITE";
    return row ? "INLAY_READ | INLAY_BY_ROW" : "INLAY_READ";
}

static void print_rule(Text *t, const Step *s, int k)
{
    const Operand *o = s->operand + k;
    int64_t at;
    const Tensor *root = arena_root(o, &at);
    if (!root) {
        text_put(t, "\n    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },");
        return;
    }
    const int kind = o->rule.kind == ROWS_WINDOW ? 2 : o->rule.kind == ROWS_TABLE ? 3 : 0;
    const int64_t part = o->part * (int64_t)dtype_bits(o->tensor->dtype) / 8;
    text_print(t, "\n    { %du, %s, %d, %d, %d, %d, %d, ", root->id + 1, does(s, o), o->rows, kind,
               o->rule.stride, o->rule.pad, o->rule.extent);
    if (kind == 3)
        text_print(t, "rows%d_%d", s->index, k);
    else
        text_put(t, "0");
    text_print(t, ", %" PRId64 "u, %" PRId64 "u, %" PRId64 "u, %" PRId64 "u },", at, o->row_bytes,
               operand_pitch(o), part);
}

typedef struct Life {
    const Tensor *tensor;
    int32_t first, last;
    int64_t extent;
} Life;

static bool jumps(const Program *p)
{
    for (size_t i = 0; i < p->step.n; i++)
        if (p->step.at[i]->control || p->step.at[i]->loop_end >= 0)
            return true;
    return false;
}

/* What is there before the first step, and what dies after a step, unless steps jump. */
static int print_lives(Text *t, Arena *a, const Program *p)
{
    const Graph *g = p->graph;
    Life *life = NEW_ARRAY(a, Life, graph_root(p->graph)->next_id + 1);
    int n = 0;
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            int64_t at;
            const Operand *o = p->step.at[i]->operand + k;
            const Tensor *root = arena_root(o, &at);
            if (!root || o->scratch)
                continue;
            life[root->id] = (Life){ root, 0, (int32_t)i,
                                     o->ring ? o->ring * o->row_bytes : tensor_bytes(root) };
        }
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *v = g->input.at[i];
        if (v->storage == STORE_ARENA && graph_in_form(g, i) != IO_ROWS)
            text_print(t, "\n    { -1, %d, %du, %" PRId64 "u, %" PRId64 "u, %" PRId64 "u },",
                       program_base(p, v), v->id + 1, v->offset, tensor_bytes(v), tensor_bytes(v)),
                n++;
        if (p->plan.preserve_input)
            life[v->id].tensor = NULL;
    }
    for (size_t i = 0; i < g->output.n; i++)
        life[g->output.at[i]->id].tensor = NULL;
    const int ids = jumps(p) ? 0 : graph_root(p->graph)->next_id;
    for (int i = 0; i < ids; i++) {
        const Life *l = life + i;
        if (!l->tensor)
            continue;
        text_print(t, "\n    { %d, %d, %du, %" PRId64 "u, %" PRId64 "u, %" PRId64 "u },", l->last,
                   program_base(p, l->tensor), i + 1, l->tensor->offset, l->extent,
                   tensor_bytes(l->tensor));
        n++;
    }
    return n;
}

Text check_tables(Arena *a, const Program *p)
{
    Text t = text_new(a), list = text_new(a), count = text_new(a);
    text_put(&t, "#ifdef INLAY_CHECK\n");
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *s = p->step.at[i];
        for (int k = 0; k < s->n_operand; k++)
            print_table(&t, s, k);
        text_print(&t, "static const struct inlay_rule rule%zu[] = {", i);
        for (int k = 0; k < s->n_operand; k++)
            print_rule(&t, s, k);
        if (!s->n_operand)
            text_put(&t, " { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }");
        text_put(&t, "\n};\n");
        text_print(&list, "%s rule%zu", i ? "," : "", i);
        text_print(&count, "%s %d", i ? "," : "", s->n_operand);
    }
    if (!p->step.n)
        text_put(&list, " 0"), text_put(&count, " 0");
    text_print(&t,
               "static const struct inlay_rule *const check_rule[] = {%s };\nstatic const int32_t "
               "check_rules[] = {%s };\n",
               list.at, count.at);
    text_put(&t, "static const struct inlay_life check_life[] = {");
    print_lives(&t, a, p);
    text_put(&t, "\n    { -2, 0, 0, 0, 0, 0 }\n};\nstatic const size_t check_area[] = {");
    for (int r = 0; r <= program_regions(p); r++)
        text_print(&t, "%s %" PRId64 "u", r ? "," : "", program_region_start(p, r));
    text_print(&t, " };\nstatic uint32_t check_tags[%" PRId64 "];\n#endif\n",
               i64_max(1, p->plan.arena_size));
    return t;
}

/* The macro with the bytes of the arena, or of a region of it. */
static const char *size_macro(Arena *a, const Program *p, const char *upper, int region)
{
    if (!p->plan.region.n)
        return arena_printf(a, "%s_ARENA_SIZE", upper);
    return arena_printf(a, "%s_ARENA_%s_SIZE", upper,
                        text_upper(a, p->plan.region.at[region].name));
}

Text check_asserts(Arena *a, const Program *p, const char *name, const char *upper)
{
    Text t = text_new(a);
    bool *seen = NEW_ARRAY(a, bool, graph_root(p->graph)->next_id + 1);
    text_print(&t,
               "INLAY_ASSERT(%s_floats, sizeof(float) == 4 && sizeof(double) == 8 && "
               "sizeof(int64_t) == 8);\n",
               name);
    text_print(&t, "INLAY_ASSERT(%s_align, %s_ARENA_ALIGN == %" PRId64 "u);\n", name, upper,
               p->plan.arena_align);
    for (int i = 0; i < program_regions(p); i++)
        text_print(&t, "INLAY_ASSERT(%s_arena_%d, %s == %" PRId64 "u);\n", name, i,
                   size_macro(a, p, upper, i),
                   p->plan.region.n ? p->plan.region.at[i].size : p->plan.arena_size);
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            int64_t at;
            const Operand *o = p->step.at[i]->operand + k;
            const Tensor *root = arena_root(o, &at);
            if (!root || seen[root->id])
                continue;
            seen[root->id] = true;
            text_print(&t,
                       "INLAY_ASSERT(%s_tensor_%d, %" PRId64 "u %% %s_ARENA_ALIGN == 0 && %" PRId64
                       "u + %" PRId64 "u <= %s);\n",
                       name, root->id, root->offset, upper, root->offset,
                       o->ring ? o->ring * o->row_bytes : tensor_bytes(root),
                       size_macro(a, p, upper, root->region));
        }
    return t;
}

Text check_members(Arena *a, const Program *p)
{
    Text t = text_new(a);
    text_print(&t,
               "\n#ifdef INLAY_CHECK\n    , check_rule, check_rules, check_life, (int32_t)(sizeof "
               "check_life / sizeof *check_life), %d, check_area, check_tags\n#endif\n",
               program_regions(p));
    return t;
}
