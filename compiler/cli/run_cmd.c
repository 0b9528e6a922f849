/* SPDX-License-Identifier: Apache-2.0
 * run: the model executed here by the runtime's own kernels, on TensorProto files. */
#include <inttypes.h>
#include <string.h>

#include "cli/options.h"
#include "eval/eval.h"
#include "onnx/tensor_file.h"

static void *load_input(Compile *compile, const Tensor *tensor, const char *path)
{
    Recipe *recipe = onnx_read_tensor(&compile->arena, &compile->store, path, NULL, NULL);
    const Shape shape = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    const Shape want = tensor_model_shape(tensor);
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const bool bits =
        recipe_dtype(recipe) == DT_U16 &&
        (tensor->dtype == DT_BF16 ||
         tensor->dtype == DT_F16); /* as the C API takes them, and as NumPy writes bfloat16 */
    if (recipe_dtype(recipe) != tensor->dtype && !bits)
        fail_at(STATUS_MALFORMED, loc, NULL, "holds %s, input \"%s\" is %s",
                dtype_name(recipe_dtype(recipe)), tensor->name, dtype_name(tensor->dtype));
    if (recipe_count(recipe) != tensor_count(tensor))
        fail_at(STATUS_MALFORMED, loc, NULL, "has shape %s, input \"%s\" is %s",
                shape_text(&compile->arena, &shape), tensor->name,
                shape_text(&compile->arena, &want));
    return recipe_values(&compile->store, &compile->arena, recipe);
}

void **run_inputs(Compile *compile)
{
    const Graph *g = compile->graph;
    size_t given = 0;
    for (const char **f = compile->options->input; f && *f; f++)
        given++;
    if (given != g->input.n)
        fail_at(STATUS_USAGE, LOC_NONE, "give each with --input FILE.pb, in the order of the model",
                "the model has %zu inputs, %zu were given", g->input.n, given);
    void **in = NEW_ARRAY(&compile->arena, void *, g->input.n + 1);
    for (size_t i = 0; i < g->input.n; i++)
        in[i] = load_input(compile, g->input.at[i], compile->options->input[i]);
    return in;
}

static void print_output(Pieces *to, const Tensor *tensor, const void *values)
{
    pieces_print(to, "%s: %s %s", tensor->name, dtype_name(tensor->dtype),
                 shape_text(to->arena, &tensor->shape));
    const int64_t n = tensor_count(tensor);
    for (int64_t i = 0; i < n && i < 16 && tensor->dtype == DT_F32; i++)
        pieces_print(to, " %g", (double)((const float *)values)[i]);
    for (int64_t i = 0; i < n && i < 16 && tensor->dtype == DT_I64; i++)
        pieces_print(to, " %" PRId64, ((const int64_t *)values)[i]);
    pieces_print(to, "%s\n", n > 16 ? " ..." : "");
}

/* Result i with the size that it has now. */
static Tensor real_output(const Graph *graph, size_t i, void *const *out)
{
    Tensor tensor = *graph->output.at[i];
    tensor.shape = tensor_model_shape(&tensor);
    const int64_t *dims = tensor.dynamic ? out[graph_dims_place(graph, i)] : NULL;
    for (int k = 0; dims && k < tensor.shape.rank; k++)
        tensor.shape.dim[k] = dims[k];
    return tensor;
}

static void print_outputs(Compile *compile, void *const *out)
{
    for (size_t i = 0; i < graph_results(compile->graph); i++) {
        const Tensor tensor = real_output(compile->graph, i, out);
        print_output(&compile->results, &tensor, out[i]);
    }
}

static void write_outputs(Compile *compile, void *const *out)
{
    compile->out = output_begin(&compile->arena, compile->options->output);
    for (size_t i = 0; i < graph_results(compile->graph); i++) {
        const Tensor tensor = real_output(compile->graph, i, out);
        File *file = output_create(compile->out, arena_printf(&compile->arena, "output_%zu.pb", i));
        onnx_write_tensor(&compile->arena, file, &tensor, out[i]);
        file_close(file);
    }
    output_commit(compile->out);
}

void cmd_run(Compile *compile)
{
    compile_passes(compile);
    compile_program(compile);
    const Graph *g = compile->graph;
    void **in = run_inputs(compile);
    void **out = NEW_ARRAY(&compile->arena, void *, g->output.n + 1);
    for (size_t i = 0; i < g->output.n; i++)
        out[i] = arena_alloc(&compile->arena, (size_t)tensor_bytes(g->output.at[i]));
    const int error = eval_run(compile->program, in, out);
    if (error)
        fail_at(STATUS_LIMIT, LOC_NONE, NULL, "the run ended with code %d: %s", error,
                eval_error_text(error));
    if (compile->options->output)
        write_outputs(compile, out);
    else
        print_outputs(compile, out);
}
