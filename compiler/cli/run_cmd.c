/* SPDX-License-Identifier: Apache-2.0
 * run: the model executed here by the runtime's own kernels, on TensorProto files. */
#include <inttypes.h>
#include <string.h>

#include "cli/options.h"
#include "eval/eval.h"
#include "onnx/reader.h"
#include "onnx/tensor_file.h"

/* The C API takes float16 and bfloat16 as uint16, and NumPy writes bfloat16 so. */
static bool fits_type(const Tensor *tensor, DType given)
{
    const DType wanted = tensor->dtype;
    const bool half = wanted == DT_F16 || wanted == DT_BF16;
    return given == wanted || (half && given == DT_U16);
}

static void *load_input(Compile *compile, const Tensor *tensor,
                        const char *path)
{
    Arena *arena = &compile->arena;
    Store *store = &compile->store;
    Recipe *recipe = onnx_read_tensor(arena, store, path, NULL, NULL);
    const DType given = recipe_dtype(recipe);
    const Shape shape = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    const Shape wanted = tensor_model_shape(tensor);
    const Loc loc = {
        .file = path,
        .byte = -1,
        .node = -1,
    };
    const char *name = tensor->name;
    if (!fits_type(tensor, given))
        fail_at(STATUS_MALFORMED, loc, NULL, "holds %s, input \"%s\" is %s",
                dtype_name(given), name, dtype_name(tensor->dtype));
    if (recipe_count(recipe) != tensor_count(tensor))
        fail_at(STATUS_MALFORMED, loc, NULL, "has shape %s, input \"%s\" is %s",
                shape_text(arena, &shape), name, shape_text(arena, &wanted));
    return recipe_values(store, arena, recipe);
}

void **run_inputs(Compile *compile)
{
    const Graph *graph = compile->graph;
    const char **file = compile->options->input;
    const size_t count = graph->input.n;
    size_t given = 0;
    while (file && file[given])
        given++;
    if (given != count)
        fail_at(STATUS_USAGE, LOC_NONE,
                "give each with --input FILE.pb, in the order of the model",
                "the model has %zu inputs, %zu were given", count, given);
    void **values = NEW_ARRAY(&compile->arena, void *, count + 1);
    for (size_t i = 0; i < count; i++)
        values[i] = load_input(compile, graph->input.at[i], file[i]);
    return values;
}

/* Most values of a result that are printed. */
enum { MOST_VALUES = 16 };

static void print_value(Pieces *to, DType dtype, const void *values, int64_t i)
{
    if (dtype == DT_F32)
        pieces_print(to, " %g", (double)((const float *)values)[i]);
    if (dtype == DT_I64)
        pieces_print(to, " %" PRId64, ((const int64_t *)values)[i]);
}

static void print_output(Pieces *to, const Tensor *tensor, const void *values)
{
    const int64_t count = tensor_count(tensor);
    pieces_print(to, "%s: %s %s", tensor->name, dtype_name(tensor->dtype),
                 shape_text(to->arena, &tensor->shape));
    for (int64_t i = 0; i < count && i < MOST_VALUES; i++)
        print_value(to, tensor->dtype, values, i);
    pieces_print(to, "%s\n", count > MOST_VALUES ? " ..." : "");
}

/* Result i with the size that it has now. */
static Tensor real_output(const Graph *graph, size_t i, void *const *out)
{
    Tensor tensor = *graph->output.at[i];
    tensor.shape = tensor_model_shape(&tensor);
    if (!tensor.dynamic)
        return tensor;
    const int64_t *dims = out[graph_dims_place(graph, i)];
    for (int k = 0; k < tensor.shape.rank; k++)
        tensor.shape.dim[k] = dims[k];
    return tensor;
}

static void print_outputs(Compile *compile, void *const *out)
{
    const Graph *graph = compile->graph;
    const size_t count = graph_results(graph);
    for (size_t i = 0; i < count; i++) {
        const Tensor tensor = real_output(graph, i, out);
        print_output(&compile->results, &tensor, out[i]);
    }
}

static void write_output(Compile *compile, size_t i, void *const *out)
{
    Arena *arena = &compile->arena;
    const char *name = arena_printf(arena, "output_%zu.pb", i);
    const Tensor tensor = real_output(compile->graph, i, out);
    File *file = output_create(compile->out, name);
    onnx_write_tensor(arena, file, &tensor, out[i]);
    file_close(file);
}

static void write_outputs(Compile *compile, void *const *out)
{
    const size_t count = graph_results(compile->graph);
    compile->out = output_begin(&compile->arena, compile->options->output);
    for (size_t i = 0; i < count; i++)
        write_output(compile, i, out);
    output_commit(compile->out);
}

/* The results' buffers after a run. */
static void **run(Compile *compile)
{
    Arena *arena = &compile->arena;
    const Graph *graph = compile->graph;
    void **inputs = run_inputs(compile);
    void **outputs = NEW_ARRAY(arena, void *, graph->output.n + 1);
    for (size_t i = 0; i < graph->output.n; i++) {
        const int64_t bytes = tensor_bytes(graph->output.at[i]);
        outputs[i] = arena_alloc(arena, (size_t)bytes);
    }
    const int error = eval_run(compile->program, inputs, outputs);
    if (error)
        fail_at(STATUS_LIMIT, LOC_NONE, NULL, "the run ended with code %d: %s",
                error, eval_error_text(error));
    return outputs;
}

void cmd_run(Compile *compile)
{
    compile_to(compile, STAGE_LAYOUT);
    void **out = run(compile);
    if (compile->options->output)
        write_outputs(compile, out);
    else
        print_outputs(compile, out);
}
