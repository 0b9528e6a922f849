/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/macros.h"

#include <inttypes.h>
#include <string.h>

#include "emit/blob.h"
#include "emit/lengths.h"
#include "emit/seal.h"
#include "emit/values.h"
#include "ir/lengths.h"
#include "ir/ram.h"
#include "ir/words.h"

/* What kernels need: that of the widest element. */
enum { WEIGHTS_LEAST_ALIGN = 8 };

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
        if (!value_inside(tensor) || value_by_row(emitter, tensor))
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
               start, value_length(tensor));
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

typedef void PutValue(Text *text, const Emitter *emitter, const Values *values,
                      size_t i);

static void put_all(Text *text, const Emitter *emitter, PutValue *put)
{
    const Values inputs = values_inputs(emitter);
    const Values outputs = values_outputs(emitter);
    for (size_t i = 0; i < inputs.count; i++)
        put(text, emitter, &inputs, i);
    for (size_t i = 0; i < outputs.count; i++)
        put(text, emitter, &outputs, i);
}

Text macros_facts(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    put_all(&text, emitter, put_facts);
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

Text macros_labels(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    put_all(&text, emitter, put_labels);
    return text;
}

bool has_labels(const Emitter *emitter)
{
    const Values inputs = values_inputs(emitter);
    const Values outputs = values_outputs(emitter);
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

Text macros_sizes(const Emitter *emitter)
{
    const Values inputs = values_inputs(emitter);
    const Values outputs = values_outputs(emitter);
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

Text macros_rows(const Emitter *emitter)
{
    const Step *step = emitter->pushed;
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

Text macros_units(const Emitter *emitter)
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

Text macros_threads(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    text_print(&text, "#define %s_THREADS %d /* parts at most */\n",
               emitter->upper, emitter->program->plan.threads);
    return text;
}
