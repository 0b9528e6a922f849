/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit/golden.h"
#include "emit/lengths.h"

/* Of a slot of ESP-IDF: whole pages of a mapping, so that each begins where one does. */
enum { PAGE = 65536, MOST_NOTES = 4096 };

static bool has_dynamic(const Graph *graph)
{
    for (size_t i = 0; i < graph_results(graph); i++)
        if (graph->output.at[i]->dynamic)
            return true;
    return false;
}

bool device_fits(const Emitter *emitter)
{
    return has_slots(emitter) && golden_plain_call(emitter) &&
           !has_dynamic(emitter->program->graph);
}

/* ---- inputs and results, one after the other ---- */

typedef struct Value {
    const Tensor *tensor;
    const char *name;  /* in0, out0 */
    const char *macro; /* of its macros: KWS_IN0 */
} Value;

typedef void PutFunction(Text *text, const Emitter *emitter,
                         const Value *value);

static void each(Text *text, const Emitter *emitter, const char *kind,
                 PutFunction *put)
{
    const Graph *graph = emitter->program->graph;
    const bool is_input = *kind == 'i';
    const size_t count = is_input ? graph->input.n : graph_results(graph);
    for (size_t i = 0; i < count; i++) {
        const Value value = {
            .tensor = is_input ? graph->input.at[i] : graph->output.at[i],
            .name = arena_printf(emitter->arena, "%s%zu", kind, i),
            .macro = arena_printf(emitter->arena, "%s_%s%zu", emitter->upper,
                                  text_upper(emitter->arena, kind), i),
        };
        put(text, emitter, &value);
    }
}

static void put_buffer(Text *text, const Emitter *emitter, const Value *value)
{
    (void)emitter;
    text_print(text, "static %s %s[%s_LENGTH + 1];\n",
               dtype_ctype(value->tensor->dtype), value->name, value->macro);
}

Text device_buffers(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    each(&text, emitter, "in", put_buffer);
    each(&text, emitter, "out", put_buffer);
    return text;
}

static void put_input(Text *text, const Emitter *emitter, const Value *value)
{
    (void)emitter;
    text_print(text, "    in.%s = %s;\n", value->name, value->name);
}

static void put_result_value(Text *text, const Emitter *emitter,
                             const Value *value)
{
    const size_t i = (size_t)strtoul(value->name + strlen("out"), NULL, 10);
    text_print(text, "    out.%s = %s;\n", value->name, value->name);
    if (lengths_give_dims(emitter, i))
        text_print(text, "    out.%s_dims = NULL;\n", value->name);
}

Text device_values(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    if (!emitter->program->graph->input.n)
        text_put(&text, "    in.none = NULL;\n");
    put_length_most(&text, emitter, "in");
    each(&text, emitter, "in", put_input);
    each(&text, emitter, "out", put_result_value);
    return text;
}

/* ---- golden bytes ---- */

static void put_size(Text *text, const Emitter *emitter, const Value *value)
{
    (void)emitter;
    text_print(text, " + %s_SIZE", value->macro);
}

Text device_length(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    text_put(&text, "    if (head.size != 0u");
    each(&text, emitter, "in", put_size);
    each(&text, emitter, "out", put_size);
    text_put(&text, ")\n        return 0;\n");
    return text;
}

static void put_taken(Text *text, const Emitter *emitter, const Value *value)
{
    text_print(text, "    %s_device_take(&note, %s, %s_SIZE);\n", emitter->name,
               value->name, value->macro);
}

Text device_inputs(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    each(&text, emitter, "in", put_taken);
    return text;
}

static void put_compared(Text *text, const Emitter *emitter, const Value *value)
{
    const DType dtype = value->tensor->dtype;
    text_print(text,
               "    for (i = 0; i < %s_LENGTH; i++) {\n"
               "        %s want;\n"
               "        %s_device_take(&note, &want, sizeof want);\n"
               "        wrong |= %s_device_differs((double)%s[i], "
               "(double)want, %s);\n"
               "    }\n",
               value->macro, dtype_ctype(dtype), emitter->name, emitter->name,
               value->name, golden_allowed(dtype));
}

Text device_compare(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    each(&text, emitter, "out", put_compared);
    return text;
}

/* ---- what the examples add ---- */

static void put_ones(Text *text, const Emitter *emitter, const Value *value)
{
    (void)emitter;
    text_print(text,
               "    for (i = 0; i < %s_LENGTH; i++)\n        %s[i] = 1;\n",
               value->macro, value->name);
}

Text device_ones(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    each(&text, emitter, "in", put_ones);
    if (!emitter->program->graph->input.n)
        text_put(&text, "    (void)i;\n");
    return text;
}

Text device_partition(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    const uint64_t slot =
        emitter->program->weight_bytes * 1001 / 1000 + MOST_NOTES + 2048 + PAGE;
    text_print(&text, "weights, data, undefined, , 0x%" PRIx64 "\n",
               slot / PAGE * PAGE * 2);
    return text;
}
