/* SPDX-License-Identifier: Apache-2.0
 * run and test: the model executed here by the runtime's own kernels, its results printed, written
 * or compared. */
#include <string.h>

#include "base/progress.h"
#include "cli/compare.h"
#include "cli/hops.h"
#include "cli/options.h"
#include "cli/per_step.h"
#include "cli/results.h"
#include "cli/run_dims.h"
#include "cli/run_lengths.h"
#include "cli/value_files.h"
#include "eval/eval.h"
#include "onnx/tensor_file.h"
#include "pipeline/banks.h"

static size_t list_length(const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

/* The files of the inputs, as many as there are. */
static const char *const *input_files(Compile *compile)
{
    const char *const *file = (const char *const *)compile->options->input;
    const size_t count = graph_own_inputs(compile->graph);
    const size_t given = list_length(file);
    const bool all_in_one =
        given == 1 && count > 1 && value_is_archive(&compile->arena, file[0]);
    if (given != count && !all_in_one)
        fail_at(STATUS_USAGE, LOC_NONE,
                "give each with --input FILE (.pb, .npy, .csv, .wav, .png), "
                "zeros or random:1, in the order of the model; or all in one "
                ".npz",
                "the model has %zu %s, %zu were given", count,
                count == 1 ? "input" : "inputs", given);
    return file;
}

static void **load_inputs(Compile *compile, const char *const *file)
{
    const Graph *graph = compile->graph;
    if (graph->signal.n)
        return hops_load(compile, file);
    return values_load(compile,
                       &(Tensors){ .at = graph->input.at, .n = graph->input.n },
                       file);
}

void **run_inputs(Compile *compile)
{
    return load_inputs(compile, input_files(compile));
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

/* All of them. */
static Tensor **real_outputs(Compile *compile, void *const *out)
{
    Arena *arena = &compile->arena;
    const size_t count = graph_own_results(compile->graph);
    Tensor **all = NEW_ARRAY(arena, Tensor *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const Tensor tensor = real_output(compile->graph, i, out);
        all[i] = arena_copy(arena, &tensor, sizeof tensor);
    }
    return all;
}

static void print_outputs(Compile *compile, void *const *out)
{
    Tensor *const *result = real_outputs(compile, out);
    const size_t count = graph_own_results(compile->graph);
    const Options *options = compile->options;
    if (options->top || options->labels) {
        top_print(compile, result, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++)
        value_print(&compile->results, result[i], out[i]);
}

static void write_output(Compile *compile, size_t i, void *const *out)
{
    Arena *arena = &compile->arena;
    const bool npy = compile->options->npy;
    const char *kind = npy ? "npy" : "pb";
    const char *name = arena_printf(arena, "output_%zu.%s", i, kind);
    const Tensor tensor = real_output(compile->graph, i, out);
    File *file = output_create(compile->out, name);
    if (npy)
        npy_write(arena, file, &tensor, out[i]);
    else
        onnx_write_tensor(arena, file, &tensor, out[i]);
    file_close(file);
}

static void write_outputs(Compile *compile, void *const *out)
{
    const size_t count = graph_own_results(compile->graph);
    compile->out = output_begin(&compile->arena, compile->options->output);
    for (size_t i = 0; i < count; i++)
        write_output(compile, i, out);
    output_commit(compile->out);
}

static void **new_outputs(Compile *compile)
{
    Arena *arena = &compile->arena;
    const Graph *graph = compile->graph;
    void **outputs = NEW_ARRAY(arena, void *, graph->output.n + 1);
    for (size_t i = 0; i < graph->output.n; i++) {
        const int64_t bytes = tensor_bytes(graph->output.at[i]);
        outputs[i] = arena_alloc(arena, (size_t)bytes);
    }
    return outputs;
}

/* The results' buffers after a run. */
static void **run(Compile *compile, void *const *inputs)
{
    void **outputs = new_outputs(compile);
    progress_doing("running the model");
    const int error = compile->graph->signal.n
                          ? hops_run(compile, inputs, outputs)
                          : eval_run(compile->program, inputs, outputs);
    if (error)
        fail_at(STATUS_LIMIT, LOC_NONE, NULL, "the run ended with code %d: %s",
                error, eval_error_text(error));
    return outputs;
}

/* Are the results those of the files, one for each? */
static bool compare_results(Compile *compile, void *const *out,
                            const char *const *file)
{
    Tensor *const *result = real_outputs(compile, out);
    const Tolerance tolerance = tolerance_of(compile->options);
    const bool archive = file[0] && value_is_archive(&compile->arena, file[0]);
    const size_t count =
        archive ? graph_own_results(compile->graph) : list_length(file);
    void **want =
        values_load(compile, &(Tensors){ .at = result, .n = count }, file);
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all &= compare_values(&compile->results, result[i], out[i], want[i],
                              tolerance);
    return all;
}

static _Noreturn void fail_differs(const char *what)
{
    fail_at(STATUS_LIMIT, LOC_NONE,
            "--rtol and --atol say how far values may be off", "%s", what);
}

static void run_per_step(Compile *compile, const char *const *expected)
{
    void **in = run_inputs(compile);
    void **out = new_outputs(compile);
    if (expected[1] || !value_is_archive(&compile->arena, expected[0]))
        fail_at(STATUS_MALFORMED, value_place(expected[0]),
                "numpy.savez writes them",
                "--per-step takes the values of one .npz");
    if (!per_step_run(compile, expected[0], in, out))
        fail_differs("a step does not make what is expected");
}

/* With what the files make of lengths within bounds. */
static void run_model(Compile *compile)
{
    const char *const *expected = (const char *const *)compile->options->expect;
    if (list_length(expected) > graph_own_results(compile->graph))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "the model has %zu results, %zu are expected",
                graph_own_results(compile->graph), list_length(expected));
    if (compile->options->per_step) {
        run_per_step(compile, expected);
        return;
    }
    void **out = run(compile, run_inputs(compile));
    if (compile->options->output)
        write_outputs(compile, out);
    else if (!expected)
        print_outputs(compile, out);
    if (expected && !compare_results(compile, out, expected))
        fail_differs("a result is not what is expected");
}

static void run_one(void *context)
{
    Recompile *one = context;
    run_model(&one->compile);
}

void cmd_run(Compile *compile)
{
    banks_skip(compile);
    compile_to(compile, STAGE_READ);
    run_dims(compile, input_files(compile));
    if (!compile->lengths) {
        compile_to(compile, STAGE_LAYOUT);
        run_model(compile);
        return;
    }
    Recompile *one = run_lengths(compile, input_files(compile));
    Diag inner = { .out = diag_now->out };
    const Status status = protect(&inner, run_one, one);
    run_recompile_close(compile, one);
    if (status)
        fail_now(status);
}

/* ---- test ---- */

/* FOLDER/KIND_i.pb for i from 0 on, as far as there are any; ended by NULL. */
static const char **set_files(Arena *arena, const char *folder,
                              const char *kind, size_t most)
{
    const char **file = NEW_ARRAY(arena, const char *, most + 1);
    for (size_t i = 0; i < most; i++) {
        file[i] = arena_printf(arena, "%s/%s_%zu.pb", folder, kind, i);
        if (!file_exists(file[i])) {
            file[i] = NULL;
            break;
        }
    }
    return file;
}

typedef struct TestSet {
    Compile *compile;
    const char *const *in, *const *want;
    bool right;
} TestSet;

static void run_set(void *context)
{
    TestSet *set = context;
    void **in = load_inputs(set->compile, set->in);
    set->right =
        compare_results(set->compile, run(set->compile, in), set->want);
}

/* The model for what the files of a set say; NULL: it is the same for all. */
static Recompile *recompile_for(Compile *compile, const char *const *in)
{
    const bool open = run_dims(compile, in);
    if (compile->lengths || !open)
        return run_lengths(compile, in);
    Recompile *one = NEW(&compile->arena, Recompile);
    recompile_open(compile, one, STAGE_LAYOUT);
    banks_skip(&one->compile);
    const Status status = recompile_run(one, false);
    one->compile.results = compile->results;
    if (status) {
        recompile_close(compile, one);
        fail_now(status);
    }
    return one;
}

/* Each set may have lengths of its own. */
static bool compare_set(Compile *compile, const char *const *in,
                        const char *const *want)
{
    Recompile *one = recompile_for(compile, in);
    if (!one)
        compile_to(compile, STAGE_LAYOUT);
    TestSet set = {
        .compile = one ? &one->compile : compile,
        .in = in,
        .want = want,
    };
    Diag inner = { .out = diag_now->out };
    const Status status = protect(&inner, run_set, &set);
    run_recompile_close(compile, one);
    if (status)
        fail_now(status);
    return set.right;
}

static bool test_set(Compile *compile, const char *folder)
{
    Arena *arena = &compile->arena;
    const Graph *graph = compile->graph;
    const size_t results = graph_own_results(graph);
    const char **in = set_files(arena, folder, "input", graph->input.n);
    const char **want = set_files(arena, folder, "output", results);
    if (list_length(in) < graph->input.n)
        fail_at(STATUS_NO_INPUT, LOC_NONE, NULL, "%s: there is no input_%zu.pb",
                folder, list_length(in));
    if (!want[0])
        fail_at(STATUS_NO_INPUT, LOC_NONE, NULL, "%s: there is no output_0.pb",
                folder);
    pieces_print(&compile->results, "%s:\n", folder);
    return compare_set(compile, in, want);
}

/* The folder of the model's file, with its slash. */
static const char *folder_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_text(arena, path, (size_t)(slash + 1 - path)) : "";
}

void cmd_test(Compile *compile)
{
    Arena *arena = &compile->arena;
    const char *beside = folder_of(arena, compile->options->model);
    size_t sets = 0;
    size_t wrong = 0;
    banks_skip(compile);
    compile_to(compile, STAGE_READ);
    for (;; sets++) {
        const char *folder =
            arena_printf(arena, "%stest_data_set_%zu", beside, sets);
        if (!file_exists(folder))
            break;
        wrong += !test_set(compile, folder);
    }
    if (!sets)
        fail_at(STATUS_NO_INPUT, LOC_NONE,
                "input_0.pb ... and output_0.pb ... lie in it",
                "there is no folder %stest_data_set_0 beside the model",
                beside);
    pieces_print(&compile->results, "%zu of %zu sets are right\n", sets - wrong,
                 sets);
    if (wrong)
        fail_differs("a test data set has other results");
}
