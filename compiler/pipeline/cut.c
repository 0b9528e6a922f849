/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/cut.h"

#include <string.h>

#include "base/nearest.h"
#include "passes/passes.h"
#include "pipeline/values.h"

/* The tensor of that name that a node of the model makes. */
static Tensor *find_made(Graph *graph, const char *flag, const char *name)
{
    Arena *arena = graph->arena;
    Tensor *tensor = graph_find(graph, name);
    VEC(const char *) names = { 0 };
    if (tensor && tensor->producer)
        return tensor;
    for (size_t i = 0; i < graph->tensor.n; i++)
        if (graph->tensor.at[i]->producer)
            VEC_PUSH(arena, &names, graph->tensor.at[i]->name);
    VEC_PUSH(arena, &names, NULL);
    fail_unknown(arena, arena_printf(arena, "%s: no node makes", flag), name,
                 names.at);
}

static void end_at(Graph *graph, const char **name)
{
    graph->output.n = 0;
    for (; *name; name++) {
        Tensor *tensor = find_made(graph, "--to", *name);
        if (graph_is_output(graph, tensor))
            fail_at(STATUS_USAGE, LOC_NONE, NULL, "--to %s is given twice",
                    *name);
        VEC_PUSH(graph->arena, &graph->output, tensor);
    }
}

bool cut_names(Arena *arena, const Options *options, const char *shape)
{
    char *name;
    if (!strchr(shape, '='))
        return true;
    (void)value_divide(arena, shape, &name);
    for (const char **from = options->from; from && *from; from++)
        if (!strcmp(*from, name))
            return true;
    return false;
}

static bool is_shaped(Arena *arena, const Options *options, const char *name)
{
    char *named;
    for (const char **text = options->shape; text && *text; text++) {
        if (!strchr(*text, '='))
            return true;
        (void)value_divide(arena, *text, &named);
        if (!strcmp(named, name))
            return true;
    }
    return false;
}

/* The node keeps its place for the result, which becomes another tensor. */
static void take_from_producer(Graph *graph, Tensor *tensor)
{
    Node *node = tensor->producer;
    const Shape unknown = { .rank = -1 };
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] == tensor) {
            node->out[i] = graph_add_tensor(graph, NULL, DT_NONE, unknown);
            node->out[i]->producer = node;
        }
    tensor->producer = NULL;
}

/* Its type and shape are those that the file declares, else those of the whole model. Without a
 * type it is float32, as most are; without a shape it is for --shape to say. */
static void make_input(Compile *compile, Tensor *tensor)
{
    Graph *graph = compile->graph;
    const Tensor *inferred =
        compile->whole ? graph_find((Graph *)compile->whole, tensor->name)
                       : NULL;
    const bool shaped =
        is_shaped(&compile->arena, compile->options, tensor->name);
    take_from_producer(graph, tensor);
    tensor->shape = *tensor->declared;
    tensor->dtype = tensor->declared_dtype;
    if (inferred && tensor->dtype == DT_NONE)
        tensor->dtype = inferred->dtype;
    if (inferred && !shaped && !shape_known(&tensor->shape))
        tensor->shape = inferred->shape;
    if (tensor->dtype == DT_NONE) {
        tensor->dtype = DT_F32;
        note_at((Loc){ graph->file, -1, -1, tensor->name, NULL },
                "the file does not say the type of this tensor: float32 is "
                "assumed");
    }
    VEC_PUSH(graph->arena, &graph->input, tensor);
}

/* In front: they are what the caller gives, the others what is needed besides. */
static void begin_at(Compile *compile, const char **name)
{
    Graph *graph = compile->graph;
    const size_t before = graph->input.n;
    Tensor **old =
        arena_copy(graph->arena, graph->input.at, before * sizeof *old);
    graph->input.n = 0;
    for (; *name; name++)
        make_input(compile, find_made(graph, "--from", *name));
    for (size_t i = 0; i < before; i++)
        VEC_PUSH(graph->arena, &graph->input, old[i]);
}

/* For the manifest: what was inferred stands for itself. */
static void keep_shapes(Compile *compile)
{
    const Graph *graph = compile->graph;
    Arena *arena = &compile->arena;
    VEC(const char *) shape = { 0 };
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *input = graph->input.at[i];
        const char *dims = value_shape_text(arena, &input->shape);
        if (shape_known(&input->shape))
            VEC_PUSH(arena, &shape,
                     arena_printf(arena, "%s=%s", input->name, dims));
    }
    for (const char **text = compile->options->shape; text && *text; text++)
        VEC_PUSH(arena, &shape, *text);
    VEC_PUSH(arena, &shape, NULL);
    compile->shape = shape.at;
}

/* What reads what is counted anew until nothing more goes: a subgraph reads, too. */
static void drop_dead(Graph *graph)
{
    size_t before;
    graph_sort(graph);
    do {
        before = graph->node.n;
        graph_count_uses(graph);
        pass_dead(graph);
    } while (graph->node.n < before);
    graph_count_uses(graph);
}

static void drop_inputs(Graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph->input.at[i]->uses)
            graph->input.at[count++] = graph->input.at[i];
    graph->input.n = count;
}

void cut_graph(Compile *compile)
{
    const Options *options = compile->options;
    Graph *graph = compile->graph;
    const bool begins = options->from && *options->from;
    const bool ends = options->to && *options->to;
    if (!begins && !ends)
        return;
    if (ends)
        end_at(graph, options->to);
    if (begins)
        begin_at(compile, options->from);
    drop_dead(graph);
    drop_inputs(graph);
    if (begins)
        keep_shapes(compile);
}
