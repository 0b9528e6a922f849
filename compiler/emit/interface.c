/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/interface.h"

#include <inttypes.h>
#include <string.h>

#include "emit/blob.h"
#include "emit/lengths.h"
#include "emit/seal.h"
#include "ir/lengths.h"
#include "ir/ram.h"
#include "ir/words.h"

/* What kernels need: that of the widest element. */
enum { WEIGHTS_LEAST_ALIGN = 8 };

/* The model's inputs, or its results. */
typedef struct Values {
    const char *kind;  /* "in" */
    const char *upper; /* "IN" */
    Tensor *const *tensor;
    size_t count;
    const IntegerScale *const
        *numbers; /* what the integers of each stand for */
} Values;

static Values inputs_of(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    return (Values){ "in", "IN", graph->input.at, graph->input.n,
                     graph->in_numbers };
}

static Values outputs_of(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    return (Values){ "out", "OUT", graph->output.at, graph_results(graph),
                     graph->out_numbers };
}

static bool is_inside(const Tensor *tensor)
{
    return tensor->storage == STORE_ARENA;
}

static size_t count_inside(const Values *values)
{
    size_t found = 0;
    for (size_t i = 0; i < values->count; i++)
        found += is_inside(values->tensor[i]);
    return found;
}

/* Are there members of the caller's structure: values that are no states? */
static bool has_members(const Values *values)
{
    for (size_t i = 0; i < values->count; i++)
        if (!values->tensor[i]->state)
            return true;
    return false;
}

static bool comes_by_row(const Emitter *emitter, const Tensor *tensor)
{
    const Step *step = program_pushed(emitter->program);
    return step && step->operand[0].tensor == tensor;
}

bool has_states(const Emitter *emitter)
{
    return emitter->program->graph->state.n != 0;
}

bool inputs_inside(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
    const size_t by_row = program_pushed(emitter->program) ? 1 : 0;
    const size_t states = emitter->program->graph->state.n;
    return count_inside(&inputs) > by_row + states;
}

bool outputs_inside(const Emitter *emitter)
{
    const Values outputs = outputs_of(emitter);
    return count_inside(&outputs) > emitter->program->graph->state.n;
}

bool has_buffers(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
    const Values outputs = outputs_of(emitter);
    return count_inside(&inputs) < inputs.count ||
           count_inside(&outputs) < outputs.count;
}

int64_t interface_length(const Tensor *tensor)
{
    return tensor_bytes(tensor) / dtype_element(tensor->dtype);
}

/* ---- macros ---- */

static void put_memory_sizes(Text *text, const Emitter *emitter)
{
    const Plan *plan = &emitter->program->plan;
    if (!has_regions(emitter))
        text_print(text,
                   "#define %s_ARENA_SIZE %" PRId64
                   "u     /* bytes; everything that changes at run time, "
                   "scratch included */\n",
                   emitter->upper, plan->arena_size);
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(text,
                   "#define %s %" PRId64 "u     /* bytes of arena_%s */\n",
                   memory_macro(emitter, (int)i), plan->region.at[i].size,
                   plan->region.at[i].name);
    text_print(text, "#define %s_ARENA_ALIGN %" PRId64 "u\n", emitter->upper,
               plan->arena_align);
    text_print(text, "#define %s_STEPS %zu\n", emitter->upper,
               emitter->program->step.n);
}

static void put_offsets(Text *text, const Emitter *emitter,
                        const Values *values)
{
    const Plan *plan = &emitter->program->plan;
    for (size_t i = 0; i < values->count; i++) {
        const Tensor *tensor = values->tensor[i];
        if (!is_inside(tensor) || comes_by_row(emitter, tensor))
            continue;
        text_print(text, "#define %s_%s%zu_OFFSET %" PRId64 "u     ",
                   emitter->upper, values->upper, i, tensor->offset);
        if (has_regions(emitter))
            text_print(text, "/* bytes into arena_%s */\n",
                       plan->region.at[tensor->region].name);
        else
            text_put(text, "/* bytes into the arena */\n");
    }
}

enum { LONGEST_NAME = 500 }; /* in a string: C promises a line of 4095 bytes */

/* What it is called in the model, and its type, for C and for tools. */
static void put_identity(Text *text, const Tensor *tensor, const char *start)
{
    if (strlen(tensor->name) <= LONGEST_NAME) {
        text_print(text, "%s_NAME ", start);
        text_literal(text, tensor->name);
        text_put(text, "\n");
    }
    text_print(text, "%s_CTYPE %s\n", start, dtype_ctype(tensor->dtype));
    text_print(text, "%s_DTYPE \"%s\"\n", start, dtype_name(tensor->dtype));
}

/* Name, type, length and shape of a value and, of integers, what they stand for. */
static void put_facts(Text *text, const Emitter *emitter, const Values *values,
                      size_t i)
{
    const Tensor *tensor = values->tensor[i];
    const IntegerScale *numbers = values->numbers[i];
    const Shape shape = tensor_model_shape(tensor);
    const char *start = arena_printf(emitter->arena, "#define %s_%s%zu",
                                     emitter->upper, values->upper, i);
    put_identity(text, tensor, start);
    text_print(text, "%s_SIZE %" PRId64 "u      /* bytes */\n", start,
               tensor_bytes(tensor));
    text_print(text, "%s_LENGTH %" PRId64 "u    /* elements of its C type */\n",
               start, interface_length(tensor));
    text_print(text, "%s_RANK %d\n", start, shape.rank);
    for (int k = 0; k < shape.rank; k++)
        text_print(text, "%s_DIM%d %" PRId64 "\n", start, k, shape.dim[k]);
    if (!numbers)
        return;
    text_print(text,
               "%s_SCALE %.8ef     /* it stands for (integer - zero point) "
               "* scale */\n",
               start, (double)numbers->scale);
    text_print(text, "%s_ZERO_POINT %" PRId32 "\n", start, numbers->zero);
}

/* Of inputs of which a run takes only the new steps. */
static void put_signals(Text *text, const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    for (size_t i = 0; i < graph->signal.n; i++) {
        const Signal *signal = graph->signal.at + i;
        text_print(text,
                   "#define %s_IN%zu_HOP %" PRId64
                   "     /* new steps that a run takes along dimension %d; the "
                   "model's window has %" PRId64 " */\n",
                   emitter->upper, signal->in, signal->hop, signal->axis,
                   signal->window);
    }
    if (graph->signal.n)
        text_print(text,
                   "#define %s_FULL_RUNS %" PRId64
                   "     /* from this run after a reset on a result is of "
                   "nothing but steps that were given */\n",
                   emitter->upper, graph->signal_runs);
}

Text interface_facts(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
    const Values outputs = outputs_of(emitter);
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < inputs.count; i++)
        put_facts(&text, emitter, &inputs, i);
    for (size_t i = 0; i < outputs.count; i++)
        put_facts(&text, emitter, &outputs, i);
    put_signals(&text, emitter);
    return text;
}

/* All words of the model: the file does not say which of them a value can be. */
static void put_labels(Text *text, const Emitter *emitter, const Values *values,
                       size_t i)
{
    int64_t count;
    const char *const *word = words_all(emitter->program->graph->store, &count);
    if (!values->tensor[i]->words || !count)
        return;
    const char *name = arena_printf(emitter->arena, "%s_%s%zu_LABELS",
                                    emitter->upper, values->upper, i);
    text_print(text, "#define %s_COUNT %" PRId64 "\n", name, count);
    text_print(text, "static const char *const %s[] = {\n", name);
    for (int64_t k = 0; k < count; k++) {
        text_put(text, "    ");
        text_literal(text, word[k]);
        text_put(text, ",\n");
    }
    text_put(text, "};\n");
}

Text interface_labels(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
    const Values outputs = outputs_of(emitter);
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < inputs.count; i++)
        put_labels(&text, emitter, &inputs, i);
    for (size_t i = 0; i < outputs.count; i++)
        put_labels(&text, emitter, &outputs, i);
    return text;
}

bool has_labels(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
    const Values outputs = outputs_of(emitter);
    for (size_t i = 0; i < inputs.count; i++)
        if (inputs.tensor[i]->words)
            return true;
    for (size_t i = 0; i < outputs.count; i++)
        if (outputs.tensor[i]->words)
            return true;
    return false;
}

/* What a run takes of RAM beside the arena, and in all. */
static void put_ram(Text *text, const Emitter *emitter)
{
    const RamUse use = program_ram(emitter->program);
    if (use.stack >= 0)
        text_print(text,
                   "#define %s_STACK_SIZE %" PRId64
                   "u     /* bytes of a run at most: %s */\n",
                   emitter->upper, use.stack, use.how);
    text_print(text,
               "#define %s_RAM_SIZE %" PRId64
               "u     /* arena, %sinputs and results with the caller */\n",
               emitter->upper, use.total, use.stack >= 0 ? "stack, " : "");
}

/* What the code was made from, and for. */
static void put_origin(Text *text, const Emitter *emitter)
{
    text_print(text, "#define %s_INLAY_VERSION \"%s\"\n", emitter->upper,
               INLAY_VERSION);
    if (*emitter->model_sha256)
        text_print(text, "#define %s_MODEL_SHA256 \"%s\"\n", emitter->upper,
                   emitter->model_sha256);
    text_print(text,
               "#define %s_FAMILY \"%s\"     /* targets that the weights are "
               "packed for */\n",
               emitter->upper, emitter->program->family->name);
}

/* Size and place of the weights, and by what their layout is known. */
static void put_weights(Text *text, const Emitter *emitter)
{
    text_print(text,
               "#define %s_WEIGHTS_SIZE %" PRIu64 "u   /* bytes, constant */\n",
               emitter->upper, emitter->program->weight_bytes);
    if (!has_weights(emitter))
        return;
    if (weights_streamed(emitter))
        text_print(text,
                   "#define %s_WINDOW_SIZE %" PRId64
                   "u     /* bytes of the arena that they are read into */\n",
                   emitter->upper, emitter->program->stream.window);
    else
        text_print(text, "#define %s_WEIGHTS_ALIGN %du\n", emitter->upper,
                   WEIGHTS_LEAST_ALIGN);
    text_print(text,
               "#define %s_LAYOUT_HASH UINT64_C(0x%016" PRIx64
               ")     /* of the weights: those of another are refused */\n",
               emitter->upper, seal_layout(emitter->program));
    if (weights_blob(emitter))
        text_print(
            text,
            "#define %s_BLOB_SIZE %" PRIu64
            "u     /* bytes of %s.blob: the weights behind its head */\n",
            emitter->upper, blob_size(emitter->program), emitter->name);
}

Text interface_sizes(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
    const Values outputs = outputs_of(emitter);
    Text text = text_new(emitter->arena);
    put_memory_sizes(&text, emitter);
    put_length_bounds(&text, emitter);
    put_ram(&text, emitter);
    put_origin(&text, emitter);
    put_weights(&text, emitter);
    put_offsets(&text, emitter, &inputs);
    put_offsets(&text, emitter, &outputs);
    return text;
}

Text interface_rows(const Emitter *emitter)
{
    const Step *step = program_pushed(emitter->program);
    Text text = text_new(emitter->arena);
    if (!step)
        return text;
    const int slot = step->operand[0].tensor->slot;
    text_print(&text, "#define %s_IN%d_ROWS %" PRId32 "u\n", emitter->upper,
               slot, program_rows(emitter->program, step));
    text_print(&text, "#define %s_IN%d_ROW_SIZE %" PRId64 "u /* bytes */\n",
               emitter->upper, slot, step->operand[0].row_bytes);
    return text;
}

Text interface_units(const Emitter *emitter)
{
    const Program *program = emitter->program;
    Text text = text_new(emitter->arena);
    text_print(&text,
               "#define %s_UNITS %" PRId64
               " /* of a run; where there are loops, of one that makes each "
               "round once */\n#define %s_UNIT_MACS %" PRId64
               " /* multiplications of the largest unit */\n",
               emitter->upper, program_units(program), emitter->upper,
               program_unit_macs(program));
    return text;
}

Text interface_threads(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    text_print(&text, "#define %s_THREADS %d /* parts at most */\n",
               emitter->upper, emitter->program->plan.threads);
    return text;
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
    if (comes_by_row(emitter, tensor))
        text_put(text, "; NULL: it comes row by row");
    else if (is_inside(tensor))
        text_put(text, "; NULL: it lies in the arena");
    if (tensor->perm)
        put_order(text, tensor);
    text_put(text, " */\n");
}

Text interface_inputs(const Emitter *emitter)
{
    const Values inputs = inputs_of(emitter);
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
    const Values outputs = outputs_of(emitter);
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
    const Values outputs = outputs_of(emitter);
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
    const bool some_given = count_inside(values) < values->count;
    const char *kind = values->kind;
    for (size_t i = 0; i < values->count; i++) {
        if (values->tensor[i]->state)
            continue;
        if (!is_inside(values->tensor[i]))
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
    else if (count_inside(values) < values->count)
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
    const Values inputs = inputs_of(emitter);
    const Values outputs = outputs_of(emitter);
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
