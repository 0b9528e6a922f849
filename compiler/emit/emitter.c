/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/emitter.h"

#include <string.h>

#include "ir/lengths.h"

static void note_makers(Emitter *emitter, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || !operand->write)
            continue;
        int64_t at;
        const Tensor *root = tensor_root(operand->tensor, &at);
        if (!emitter->maker[root->id])
            emitter->maker[root->id] = step;
    }
}

Emitter emitter_new(const Program *program, const char *name, WeightsForm form)
{
    Arena *arena = program->graph->arena;
    const int tensors = graph_root(program->graph)->next_id;
    Emitter emitter = {
        .arena = arena,
        .program = program,
        .name = name,
        .upper = text_upper(arena, name),
        .form = form,
        .model_sha256 = "",
        .pushed = program_pushed(program),
        .maker = NEW_ARRAY(arena, const Step *, tensors + 1),
    };
    if (program->lengths && program == program->lengths->all)
        return emitter; /* ids are those of one variant */
    for (size_t i = 0; i < program->step.n; i++)
        note_makers(&emitter, program->step.at[i]);
    return emitter;
}

bool emitter_of_variant(const Emitter *emitter, size_t v, Emitter *own)
{
    const Lengths *lengths = emitter->program->lengths;
    if (!lengths) {
        *own = *emitter;
        return !v;
    }
    if (v >= lengths->variant.n)
        return false;
    const Program *program = lengths->variant.at[v]->program;
    *own = emitter_new(program, emitter->name, emitter->form);
    own->grouped = emitter->grouped;
    own->model_sha256 = emitter->model_sha256;
    for (size_t i = 0; i < v; i++)
        own->first_step += (int)lengths->variant.at[i]->program->step.n;
    return true;
}

bool has_doubles(const Emitter *emitter)
{
    const Program *program = emitter->program;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            const Tensor *tensor = step->operand[k].tensor;
            if (tensor && (tensor->dtype == DT_F64 || tensor->dtype == DT_C128))
                return true;
        }
    }
    return false;
}

const char *memory_macro(const Emitter *emitter, int region)
{
    const Plan *plan = &emitter->program->plan;
    if (!has_regions(emitter))
        return arena_printf(emitter->arena, "%s_ARENA_SIZE", emitter->upper);
    return arena_printf(
        emitter->arena, "%s_ARENA_%s_SIZE", emitter->upper,
        text_upper(emitter->arena, plan->region.at[region].name));
}

/* Is the name one that graph_add_tensor() made up? */
static bool is_unnamed(Arena *arena, const Tensor *tensor)
{
    return !strcmp(tensor->name, arena_printf(arena, "_%d", tensor->id));
}

void put_shape(Text *text, const Tensor *tensor)
{
    const Shape shape = tensor_model_shape(tensor);
    text_print(text, "%s %s", dtype_name(tensor->dtype),
               shape_text(text->arena, &shape));
}

/* What the tensor is called, and NULL where it has no name of the model. */
static const char *name_of(const Emitter *emitter, const Tensor *tensor)
{
    int64_t at;
    const Tensor *root = tensor_root((Tensor *)tensor, &at);
    if (!is_unnamed(emitter->arena, tensor))
        return tensor->name;
    return is_unnamed(emitter->arena, root) ? NULL : root->name;
}

static void put_quoted(Text *text, const char *name)
{
    text_put(text, "\"");
    text_comment(text, name);
    text_put(text, "\"");
}

void put_tensor(Text *text, const Emitter *emitter, const Tensor *tensor)
{
    int64_t at;
    const char *name = name_of(emitter, tensor);
    const Step *maker = emitter->maker[tensor_root((Tensor *)tensor, &at)->id];
    if (name)
        put_quoted(text, name);
    else if (maker)
        text_print(text, "made by step %d", emitter->first_step + maker->index);
    else
        text_put(text, "constant");
    text_put(text, ": ");
    put_shape(text, tensor);
}

void put_result(Text *text, const Emitter *emitter, const Tensor *tensor)
{
    const char *name = name_of(emitter, tensor);
    text_put(text, name ? "result " : "result");
    if (name)
        put_quoted(text, name);
    text_put(text, ": ");
    put_shape(text, tensor);
}
