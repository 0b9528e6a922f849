/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/group.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "emit/template.h"

/* ---- what is known of the models ---- */

static void note_states(GroupModel *model, const Graph *graph)
{
    for (size_t i = 0; i < graph->state.n; i++) {
        const Tensor *state = graph->input.at[graph->state.at[i].in];
        const int64_t end = i64_add(state->offset, tensor_bytes(state));
        if (!i || state->offset < model->kept)
            model->kept = state->offset;
        model->kept_end = i64_max(model->kept_end, end);
    }
}

void group_add(Group *group, const Emitter *emitter)
{
    const Program *program = emitter->program;
    GroupModel model = {
        .name = arena_text(group->arena, emitter->name, strlen(emitter->name)),
        .arena_size = program->plan.arena_size,
        .arena_align = program->plan.arena_align,
        .weight_bytes = program->weight_bytes,
        .form = emitter->form,
        .macs = program_macs(program),
        .steps = (int64_t)program->step.n,
    };
    note_states(&model, program->graph);
    VEC_PUSH(group->arena, &group->model, model);
    runtime_add(&group->use, emitter);
}

GroupModel *group_last(const Group *group)
{
    return group->model.at + group->model.n - 1;
}

uint64_t group_weights(const Group *group)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < group->model.n; i++)
        sum = size_add(sum, group->model.at[i].weight_bytes);
    return sum;
}

int64_t group_macs(const Group *group)
{
    int64_t sum = 0;
    for (size_t i = 0; i < group->model.n; i++)
        sum = i64_add(sum, group->model.at[i].macs);
    return sum;
}

/* ---- sections of the templates ---- */

static Text about(const Group *group)
{
    Text text = text_new(group->arena);
    text_print(&text,
               "/* Made by Inlay %s from %zu ONNX models; do not edit.\n"
               " * %" PRId64 " bytes of arena for all, %" PRIu64
               " bytes of weights. */\n",
               INLAY_VERSION, group->model.n, group->arena_size,
               group_weights(group));
    return text;
}

static Text sizes(const Group *group)
{
    Text text = text_new(group->arena);
    const char *upper = text_upper(group->arena, group->name);
    text_print(&text, "#define %s_ARENA_SIZE %" PRId64 "u\n", upper,
               group->arena_size);
    text_print(&text, "#define %s_ARENA_ALIGN %" PRId64 "u\n", upper,
               group->arena_align);
    return text;
}

static Text offsets(const Group *group)
{
    Text text = text_new(group->arena);
    const char *upper = text_upper(group->arena, group->name);
    for (size_t i = 0; i < group->model.n; i++) {
        const GroupModel *model = group->model.at + i;
        text_print(&text, "#define %s_%s_OFFSET %" PRId64 "u\n", upper,
                   text_upper(group->arena, model->name), model->offset);
    }
    return text;
}

void group_names(Text *text, const Group *group, uint64_t set)
{
    const char *separator = "";
    for (size_t i = 0; i < group->model.n; i++) {
        if (!(set >> i & 1))
            continue;
        text_print(text, "%s%s", separator, group->model.at[i].name);
        separator = ", ";
    }
}

static Text together(const Group *group)
{
    Text text = text_new(group->arena);
    for (size_t i = 0; i < group->together.n; i++) {
        text_put(&text, "/* Alive at once: ");
        group_names(&text, group, group->together.at[i]);
        text_put(&text, ". */\n");
    }
    return text;
}

/* #include "NAME and `end`" of each model */
static Text lines(const Group *group, const char *end)
{
    Text text = text_new(group->arena);
    for (size_t i = 0; i < group->model.n; i++)
        text_print(&text, "#include \"%s%s\"\n", group->model.at[i].name, end);
    return text;
}

/* ---- files ---- */

static void write_filled(const Group *group, Output *output,
                         const Section *sections, const char *template,
                         const char *end)
{
    const Filling filling = { .model = group->name, .section = sections };
    const Text text = template_fill(group->arena, template, &filling);
    const char *file = arena_printf(group->arena, "src/%s%s", group->name, end);
    output_text(output, file, text.at, text.n);
}

void group_emit(const Group *group, Output *output)
{
    const Section header[] = {
        { "about", about(group) },       { "headers", lines(group, ".h") },
        { "sizes", sizes(group) },       { "offsets", offsets(group) },
        { "together", together(group) }, { NULL, { 0 } },
    };
    const Section source[] = {
        { "about", about(group) },
        { "includes", runtime_includes(&group->use) },
        { "models", lines(group, ".inc.h") },
        { NULL, { 0 } },
    };
    write_filled(group, output, header, "group.h", ".h");
    write_filled(group, output, source, "group.c", ".c");
    runtime_copy(&group->use, output);
}
