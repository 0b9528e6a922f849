/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/lengths.h"

#include <inttypes.h>

#include "base/size.h"
#include "ir/lengths.h"

static const Lengths *lengths_of(const Emitter *emitter)
{
    return emitter->program->lengths;
}

bool lengths_give_dims(const Emitter *emitter, size_t i)
{
    const Graph *graph = emitter->program->graph;
    return has_lengths(emitter) && !graph->output.at[i]->dynamic &&
           lengths_of_result(lengths_of(emitter), i);
}

/* ---- the interface ---- */

void put_length_bounds(Text *text, const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    for (int i = 0; lengths && i < lengths->n; i++)
        text_print(text,
                   "#define %s_DIM%d_LEAST %" PRId32
                   "     /* dim%d of the inputs, at least and at most */\n"
                   "#define %s_DIM%d_MOST %" PRId32 "\n",
                   emitter->upper, i, lengths->of[i].least, i, emitter->upper,
                   i, lengths->of[i].most);
}

void put_length_members(Text *text, const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    for (int i = 0; lengths && i < lengths->n; i++) {
        const Length *length = lengths->of + i;
        text_print(text, "    int32_t dim%d;  /* ", i);
        text_comment(text, length->symbol);
        text_print(text,
                   ", from %" PRId32 " to %" PRId32
                   ": shapes here are those of the most; values lie densely "
                   "in those of this run */\n",
                   length->least, length->most);
    }
}

void put_length_fields(Text *text, const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    for (int i = 0; lengths && i < lengths->n; i++)
        text_print(text, "    pub dim%d: i32,\n", i);
}

void put_length_most(Text *text, const Emitter *emitter, const char *variable)
{
    const Lengths *lengths = lengths_of(emitter);
    for (int i = 0; lengths && i < lengths->n; i++)
        text_print(text, "    %s.dim%d = %s_DIM%d_MOST;\n", variable, i,
                   emitter->upper, i);
}

void put_length_values(Text *text, const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    for (int i = 0; lengths && i < lengths->n; i++)
        text_print(text, "    frame->dim[%d] = in->dim%d;\n", i, i);
    if (lengths)
        text_print(text,
                   "    if (inlay_combination(&%s_lengths, frame->dim) < 0)\n"
                   "        return %s_E_SHAPE;\n",
                   emitter->name, emitter->upper);
}

/* ---- columns ---- */

enum { VALUES_OF_LINE = 12 };

static void put_value(Text *text, int64_t value)
{
    if (value >= INT32_MIN + 1 && value <= INT32_MAX)
        text_print(text, "%" PRId64, value);
    else if (value == INT64_MIN)
        text_put(text, "INT64_MIN");
    else
        text_print(text, "INT64_C(%" PRId64 ")", value);
}

static void put_values(Text *text, const int64_t *value, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        text_put(text, i % VALUES_OF_LINE ? " " : "\n    ");
        put_value(text, value[i]);
        text_put(text, ",");
    }
}

static void put_columns(Text *text, const Lengths *lengths)
{
    for (size_t i = 0; i < lengths->column.n; i++) {
        const Column *column = lengths->column.at + i;
        const int64_t count = column->table ? lengths_combinations(lengths)
                                            : lengths_terms(lengths);
        text_print(text, "static const int64_t column%zu[] = {", i);
        put_values(text, column->table ? column->table : column->term, count);
        text_put(text, "\n};\n");
    }
    text_put(text, "static const inlay_column columns[] = {\n");
    for (size_t i = 0; i < lengths->column.n; i++)
        text_print(text, "    { .%s = column%zu },\n",
                   lengths->column.at[i].table ? "table" : "term", i);
    if (!lengths->column.n)
        text_put(text, "    { .table = NULL }\n");
    text_put(text, "};\n");
}

/* ---- what follows them ---- */

static void put_param(Text *text, const Step *step, const NumberPlace *at,
                      int32_t column)
{
    const FieldRow *field = step->kernel->field + at->place;
    const bool wide = field->size == sizeof(int64_t);
    text_print(text,
               "INLAY_TO_PARAM%d, %" PRId32 ", offsetof(inlay_%s_params, %s)",
               wide ? 64 : 32, column, step->kernel->params, field->name);
    if (at->part)
        text_print(text, " + %zu", (size_t)at->part * field->size);
}

static void put_ref(Text *text, const NumberPlace *at, int32_t column)
{
    static const char *const name[REF_PARTS] = {
        [REF_OFF] = "off",
        [REF_ROW] = "row",
        [REF_CAP] = "cap",
        [REF_PIX] = "pix",
    };
    const bool is_size = at->part == REF_OFF || at->part == REF_ROW;
    text_print(text, "%s, %" PRId32 ", offsetof(inlay_ref, %s)",
               is_size ? "INLAY_TO_REF_SIZE" : "INLAY_TO_REF32", column,
               name[at->part]);
    if (at->place)
        text_print(text, " + %" PRId32 " * sizeof(inlay_ref)", at->place);
}

static void put_following(Text *text, const Variant *variant,
                          const Following *following)
{
    const NumberPlace *at = &following->at;
    const Step *step = variant->program->step.at[at->step];
    text_put(text, "    { ");
    if (at->kind == NUMBER_UNITS)
        text_print(text, "INLAY_TO_UNITS, %" PRId32 ", 0", following->column);
    else if (at->kind == NUMBER_PARAM)
        put_param(text, step, at, following->column);
    else
        put_ref(text, at, following->column);
    text_put(text, " },\n");
}

/* Those of the steps; dims of results are no step's. */
static size_t steps_follow(const Variant *variant)
{
    size_t count = variant->follows.n;
    while (count && variant->follows.at[count - 1].at.kind == NUMBER_DIM)
        count--;
    return count;
}

static void put_followings(Text *text, const Variant *variant, size_t number)
{
    const size_t count = steps_follow(variant);
    text_print(text, "static const inlay_following following%zu[] = {\n",
               number);
    for (size_t i = 0; i < count; i++)
        put_following(text, variant, variant->follows.at + i);
    if (!count)
        text_put(text, "    { 0, 0, 0 }\n");
    text_put(text, "};\n");
}

static void put_follower(Text *text, const Variant *variant, const Step *step,
                         size_t first, size_t end)
{
    bool params = false;
    bool refs = false;
    for (size_t i = first; i < end; i++) {
        const NumberKind kind = variant->follows.at[i].at.kind;
        params = params || kind == NUMBER_PARAM;
        refs = refs || kind == NUMBER_REF;
    }
    text_print(text, "    { %zu, ", first);
    if (params)
        text_print(text, "sizeof(inlay_%s_params), ", step->kernel->params);
    else
        text_put(text, "0, ");
    text_print(text, "%d },\n", refs ? step->n_operand : 0);
}

static void put_followers(Text *text, const Variant *variant, size_t number)
{
    const Program *program = variant->program;
    const size_t count = steps_follow(variant);
    size_t next = 0;
    text_print(text, "static const inlay_follower follower%zu[] = {\n", number);
    for (size_t i = 0; i < program->step.n; i++) {
        const size_t first = next;
        while (next < count && variant->follows.at[next].at.step == (int32_t)i)
            next++;
        put_follower(text, variant, program->step.at[i], first, next);
    }
    text_print(text, "    { %zu, 0, 0 },\n};\n", count);
}

/* ---- variants ---- */

static void put_variants(Text *text, const Lengths *lengths)
{
    size_t first = 0;
    text_put(text, "static const inlay_variant variants[] = {\n");
    for (size_t v = 0; v < lengths->variant.n; v++) {
        const Variant *variant = lengths->variant.at[v];
        const size_t steps = variant->program->step.n;
        text_put(text, "    /* up to ");
        text_comment(text, lengths_text(lengths, variant->member.at[0]));
        text_print(text,
                   " */\n    { .step = steps + %zu, .follower = follower%zu, "
                   ".following = following%zu, .steps = %zu, .first = %zu },\n",
                   first, v, v, steps, first);
        first += steps;
    }
    text_put(text, "};\n");
}

static void put_variant_of(Text *text, const Lengths *lengths)
{
    const int64_t count = lengths_combinations(lengths);
    text_put(text, "static const uint8_t variant_of[] = {");
    for (int64_t i = 0; i < count; i++)
        text_print(text, "%s%u,", i % (2 * VALUES_OF_LINE) ? " " : "\n    ",
                   lengths->variant_of[i]);
    text_put(text, "\n};\n");
}

static void put_bounds(Text *text, const Lengths *lengths)
{
    text_put(text, "static const inlay_length bounds[] = {\n");
    for (int i = 0; i < lengths->n; i++)
        text_print(text, "    { %" PRId32 ", %" PRId32 " },\n",
                   lengths->of[i].least, lengths->of[i].most);
    text_put(text, "};\n");
}

static Text tables(const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    Text text = text_new(emitter->arena);
    if (!lengths)
        return text;
    put_columns(&text, lengths);
    for (size_t v = 0; v < lengths->variant.n; v++) {
        put_followings(&text, lengths->variant.at[v], v);
        put_followers(&text, lengths->variant.at[v], v);
    }
    put_variants(&text, lengths);
    put_bounds(&text, lengths);
    if (lengths->variant.n > 1)
        put_variant_of(&text, lengths);
    text_print(&text,
               "static const inlay_lengths %s_lengths = {\n"
               "    .length = bounds,\n    .column = columns,\n"
               "    .variant_of = %s,\n    .variant = variants,\n"
               "    .lengths = %d,\n    .columns = %zu,\n};\n",
               emitter->name, lengths->variant.n > 1 ? "variant_of" : "NULL",
               lengths->n, lengths->column.n);
    return text;
}

/* ---- a run ---- */

static Text room(const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    Text text = text_new(emitter->arena);
    if (!lengths)
        return text;
    text_print(&text,
               "    int64_t number[%zu];\n    int64_t params[%" PRId64
               "];\n    inlay_ref ref[%" PRId64 "];\n",
               lengths->column.n + 1,
               i64_ceil_div(lengths_params(lengths), 8) + 1,
               lengths_refs(lengths) + 1);
    return text;
}

/* The dims of a result in one variant. */
static void put_dims(Text *text, const Variant *variant, size_t i)
{
    const Graph *graph = variant->program->graph;
    const Shape shape = tensor_model_shape(graph->output.at[i]);
    for (int k = 0; k < shape.rank; k++) {
        const int32_t column = lengths_dim(variant, i, k);
        text_print(text, "            out->out%zu_dims[%d] = ", i, k);
        if (column < 0)
            text_print(text, "%" PRId64 ";\n", shape.dim[k]);
        else
            text_print(text, "number[%" PRId32 "];\n", column);
    }
}

static Text results(const Emitter *emitter)
{
    const Lengths *lengths = lengths_of(emitter);
    Text text = text_new(emitter->arena);
    if (!lengths)
        return text;
    const size_t count = graph_results(emitter->program->graph);
    for (size_t i = 0; i < count; i++) {
        if (!lengths_give_dims(emitter, i))
            continue;
        text_print(&text, "    if (out->out%zu_dims)\n", i);
        text_put(&text, "        switch (variant) {\n");
        for (size_t v = 0; v < lengths->variant.n; v++) {
            if (v + 1 == lengths->variant.n)
                text_put(&text, "        default:\n");
            else
                text_print(&text, "        case %zu:\n", v);
            put_dims(&text, lengths->variant.at[v], i);
            text_put(&text, "            break;\n");
        }
        text_put(&text, "        }\n");
    }
    return text;
}

LengthTables table_lengths(const Emitter *emitter)
{
    return (LengthTables){ tables(emitter), room(emitter), results(emitter) };
}
