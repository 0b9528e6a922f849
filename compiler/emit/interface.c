/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/interface.h"

#include <inttypes.h>
#include <string.h>

#include "emit/lengths.h"
#include "emit/values.h"
#include "ir/lengths.h"

/* Are there members of the caller's structure: values that are no states? */
static bool has_members(const Values *values)
{
    for (size_t i = 0; i < values->count; i++)
        if (!values->tensor[i]->state)
            return true;
    return false;
}

bool has_states(const Emitter *emitter)
{
    return emitter->program->graph->state.n != 0;
}

bool inputs_inside(const Emitter *emitter)
{
    const Values inputs = values_inputs(emitter);
    const size_t by_row = emitter->pushed ? 1 : 0;
    const size_t states = emitter->program->graph->state.n;
    return values_inside(&inputs) > by_row + states;
}

bool outputs_inside(const Emitter *emitter)
{
    const Values outputs = values_outputs(emitter);
    return values_inside(&outputs) > emitter->program->graph->state.n;
}

bool has_buffers(const Emitter *emitter)
{
    const Values inputs = values_inputs(emitter);
    const Values outputs = values_outputs(emitter);
    return values_inside(&inputs) < inputs.count ||
           values_inside(&outputs) < outputs.count;
}

/* ---- states ---- */

static const Tensor *state_input(const Graph *graph, size_t i)
{
    return graph->input.at[graph->state.at[i].in];
}

Text interface_states(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < graph->state.n; i++) {
        const State *state = graph->state.at + i;
        const Tensor *input = state_input(graph, i);
        const char *start = arena_printf(emitter->arena, "#define %s_STATE%zu",
                                         emitter->upper, i);
        text_print(&text, "%s_OFFSET %" PRId64 "u     /* ", start,
                   input->offset);
        text_comment(&text, input->name);
        text_print(&text, ": in%zu of a run is out%zu of the run before */\n",
                   state->in, state->out);
        text_print(&text, "%s_SIZE %" PRId64 "u     /* bytes */\n", start,
                   tensor_bytes(input));
    }
    return text;
}

Text interface_reset(const Emitter *emitter)
{
    const Program *program = emitter->program;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < program->graph->state.n; i++) {
        const Tensor *input = state_input(program->graph, i);
        text_print(&text,
                   "    memset((unsigned char *)frame.base[%d] + "
                   "%s_STATE%zu_OFFSET, 0, %s_STATE%zu_SIZE);\n",
                   program_base(program, input), emitter->upper, i,
                   emitter->upper, i);
    }
    return text;
}

/* ---- members ---- */

Text interface_arenas(const Emitter *emitter)
{
    const Plan *plan = &emitter->program->plan;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *region = plan->region.at + i;
        text_print(&text,
                   "    void *arena_%s;  /* %" PRId64 " bytes of %" PRId64
                   "%s */\n",
                   region->name, region->size, region->capacity,
                   region->size ? "" : ": NULL");
    }
    return text;
}

/* The dimensions as they lie in the arena, and which of the model's they are. */
static void put_order(Text *text, const Tensor *tensor)
{
    text_print(text, " as %s, which are dimensions ",
               shape_text(text->arena, &tensor->shape));
    for (int k = 0; k < tensor->shape.rank; k++)
        text_print(text, "%s%d", k ? ", " : "", tensor->perm[k]);
}

/* Its type and place and, as a comment, name and shape in the model. */
static void put_member(Text *text, const Emitter *emitter, const Values *values,
                       size_t i, const char *constant)
{
    const Tensor *tensor = values->tensor[i];
    if (tensor->state)
        return;
    text_print(text, "    %s%s *%s%zu;  /* ", constant,
               dtype_ctype(tensor->dtype), values->kind, i);
    text_comment(text, tensor->name);
    text_put(text, ": ");
    put_shape(text, tensor);
    text_print(text, ", %" PRId64 " bytes", tensor_bytes(tensor));
    if (tensor->words)
        text_print(text, ", numbers of %s_%s%zu_LABELS", emitter->upper,
                   values->upper, i);
    if (value_by_row(emitter, tensor))
        text_put(text, "; NULL: it comes row by row");
    else if (value_inside(tensor))
        text_put(text, "; NULL: it lies in the arena");
    if (tensor->perm)
        put_order(text, tensor);
    text_put(text, " */\n");
}

Text interface_inputs(const Emitter *emitter)
{
    const Values inputs = values_inputs(emitter);
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < inputs.count; i++)
        put_member(&text, emitter, &inputs, i, "const ");
    put_length_members(&text, emitter);
    if (!has_members(&inputs))
        text_put(&text,
                 "    const void *none; /* the model has no inputs */\n");
    return text;
}

Text interface_outputs(const Emitter *emitter)
{
    const Values outputs = values_outputs(emitter);
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < outputs.count; i++) {
        const Tensor *tensor = outputs.tensor[i];
        put_member(&text, emitter, &outputs, i, "");
        if (tensor->dynamic || lengths_give_dims(emitter, i))
            text_print(&text,
                       "    int64_t *out%zu_dims;    /* gets the %d real "
                       "dimensions; may be NULL */\n",
                       i, tensor->shape.rank);
    }
    if (outputs.count && !has_members(&outputs))
        text_put(&text, "    void *none; /* all results are states */\n");
    return text;
}

/* ---- statements ---- */

const char *interface_memory(const Emitter *emitter)
{
    if (!has_regions(emitter))
        return "void";
    return arena_printf(emitter->arena, "const %s_arenas", emitter->name);
}

Text interface_regions(const Emitter *emitter)
{
    const Plan *plan = &emitter->program->plan;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < plan->region.n; i++) {
        const char *name = plan->region.at[i].name;
        text_print(&text,
                   "    if (!error)\n        error = take_memory(frame, "
                   "BASE_ARENA_%s, arena->arena_%s, %s);\n",
                   text_upper(emitter->arena, name), name,
                   memory_macro(emitter, (int)i));
    }
    return text;
}

Text interface_lenders(const Emitter *emitter)
{
    const Program *program = emitter->program;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < program->lender.n; i++) {
        const char *name = program->lender.at[i];
        text_print(&text,
                   "    frame->base[BASE_OF_%s] = (void "
                   "*)(uintptr_t)%s_weights_data;\n",
                   text_upper(emitter->arena, name), name);
    }
    return text;
}

Text interface_dims(const Emitter *emitter)
{
    const Values outputs = values_outputs(emitter);
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < outputs.count; i++)
        if (outputs.tensor[i]->dynamic)
            text_print(&text,
                       "    int64_t out%zu_dims[%d]; /* for a caller who gives "
                       "no room for them */\n",
                       i, outputs.tensor[i]->shape.rank);
    if (has_lengths(emitter))
        text_print(&text, "    int32_t dim[%d]; /* the lengths of the run */\n",
                   emitter->program->lengths->n);
    return text;
}

/* Each is in a buffer of the caller, or NULL where it lies in the arena. */
static void put_pointers(Text *text, const Values *values)
{
    const bool some_given = values_inside(values) < values->count;
    const char *kind = values->kind;
    for (size_t i = 0; i < values->count; i++) {
        if (values->tensor[i]->state)
            continue;
        if (!value_inside(values->tensor[i]))
            text_print(text,
                       "    wrong |= missing(frame, BASE_%s%zu, %s->%s%zu);\n",
                       values->upper, i, kind, kind, i);
        else if (some_given)
            text_print(text, "    wrong |= %s->%s%zu != NULL;\n", kind, kind,
                       i);
        else
            text_print(text, "    wrong |= %s && %s->%s%zu;\n", kind, kind,
                       kind, i);
    }
}

/* The structure of the values must be there if one of them lies outside of the arena. */
static void put_structure(Text *text, const Emitter *emitter,
                          const Values *values)
{
    if (!has_members(values))
        text_print(text, "    (void)%s;\n", values->kind);
    else if (values_inside(values) < values->count)
        text_print(text, "    if (!%s)\n        return %s_E_ARG;\n",
                   values->kind, emitter->upper);
}

static size_t put_dims(Text *text, const Values *outputs)
{
    size_t place = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        if (!outputs->tensor[i]->dynamic)
            continue;
        text_print(text,
                   "    frame->base[BASE_DIMS%zu] = out && out->out%zu_dims ? "
                   "out->out%zu_dims : frame->out%zu_dims;\n",
                   place++, i, i, i);
    }
    return place;
}

Text interface_values(const Emitter *emitter)
{
    const Values inputs = values_inputs(emitter);
    const Values outputs = values_outputs(emitter);
    Text text = text_new(emitter->arena);
    put_structure(&text, emitter, &inputs);
    put_structure(&text, emitter, &outputs);
    put_pointers(&text, &inputs);
    put_pointers(&text, &outputs);
    put_length_values(&text, emitter);
    if (!put_dims(&text, &outputs) && !has_buffers(emitter))
        text_put(&text, "    (void)frame;\n");
    return text;
}
