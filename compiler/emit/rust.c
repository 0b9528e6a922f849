/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/rust.h"

#include <inttypes.h>
#include <string.h>

#include "emit/lengths.h"
#include "emit/values.h"

/* float, double, uint8_t ... int64_t */
static const char *rust_type(Arena *arena, DType dtype)
{
    const char *type = dtype_ctype(dtype);
    if (!strcmp(type, "float"))
        return "f32";
    if (!strcmp(type, "double"))
        return "f64";
    const bool is_unsigned = *type == 'u';
    const char *bits = type + strlen(is_unsigned ? "uint" : "int");
    return arena_printf(arena, "%c%.*s", is_unsigned ? 'u' : 'i',
                        (int)strcspn(bits, "_"), bits);
}

static void put_constant(Text *text, const char *name, int64_t value)
{
    text_print(text, "pub const %s: usize = %" PRId64 ";\n", name, value);
}

static void put_lengths(Text *text, const char *kind, Tensor *const *tensor,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_constant(text, arena_printf(text->arena, "%s%zu_LENGTH", kind, i),
                     value_length(tensor[i]));
}

Text rust_sizes(const Emitter *emitter)
{
    const Program *program = emitter->program;
    const Plan *plan = &program->plan;
    const Graph *graph = program->graph;
    Text text = text_new(emitter->arena);
    if (!has_regions(emitter))
        put_constant(&text, "ARENA_SIZE", plan->arena_size);
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *region = plan->region.at + i;
        const char *upper = text_upper(emitter->arena, region->name);
        put_constant(&text,
                     arena_printf(emitter->arena, "ARENA_%s_SIZE", upper),
                     region->size);
    }
    put_constant(&text, "ARENA_ALIGN", plan->arena_align);
    put_constant(&text, "WEIGHTS_SIZE", (int64_t)program->weight_bytes);
    put_lengths(&text, "IN", graph->input.at, graph->input.n);
    put_lengths(&text, "OUT", graph->output.at, graph_results(graph));
    return text;
}

Text rust_align(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    text_print(&text, "#[repr(C, align(%" PRId64 "))]\n",
               emitter->program->plan.arena_align);
    return text;
}

Text rust_arenas(const Emitter *emitter)
{
    const Plan *plan = &emitter->program->plan;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(&text, "    pub arena_%s: *mut c_void,\n",
                   plan->region.at[i].name);
    return text;
}

static void put_member(Text *text, const Tensor *tensor, const char *kind,
                       size_t i)
{
    if (tensor->state)
        return;
    text_put(text, "    /// \"");
    text_comment(text, tensor->name);
    text_put(text, "\": ");
    put_shape(text, tensor);
    text_print(text, "\n    pub %s%zu: *%s %s,\n", kind, i,
               *kind == 'i' ? "const" : "mut",
               rust_type(text->arena, tensor->dtype));
}

Text rust_inputs(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < graph->input.n; i++)
        put_member(&text, graph->input.at[i], "in", i);
    put_length_fields(&text, emitter);
    if (graph->input.n == graph->state.n)
        text_put(&text, "    pub none: *const c_void,\n");
    return text;
}

Text rust_outputs(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < graph_results(graph); i++) {
        const Tensor *tensor = graph->output.at[i];
        put_member(&text, tensor, "out", i);
        if (tensor->dynamic || lengths_give_dims(emitter, i))
            text_print(&text,
                       "    /// Gets the real dimensions; may be NULL.\n"
                       "    pub out%zu_dims: *mut i64,\n",
                       i);
    }
    if (graph->state.n && graph_results(graph) == graph->state.n)
        text_put(&text, "    pub none: *mut c_void,\n");
    return text;
}
