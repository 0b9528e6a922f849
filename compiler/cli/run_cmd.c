/* SPDX-License-Identifier: Apache-2.0
 * run: the model executed here by the runtime's own kernels, on TensorProto files. */
#include <inttypes.h>
#include <string.h>

#include "cli/options.h"
#include "eval/eval.h"
#include "onnx/tensor_file.h"

static void *load_input(Compile *c, const Tensor *t, const char *path)
{
    Recipe *r = onnx_read_tensor(&c->arena, &c->store, path, NULL, NULL);
    const Shape s = shape_of(recipe_rank(r), recipe_dims(r)), want = tensor_model_shape(t);
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const bool bits =
        recipe_dtype(r) == DT_U16 &&
        (t->dtype == DT_BF16 ||
         t->dtype == DT_F16); /* as the C API takes them, and as NumPy writes bfloat16 */
    if (recipe_dtype(r) != t->dtype && !bits)
        fail_at(STATUS_MALFORMED, loc, NULL, "holds %s, input \"%s\" is %s",
                dtype_name(recipe_dtype(r)), t->name, dtype_name(t->dtype));
    if (recipe_count(r) != tensor_count(t))
        fail_at(STATUS_MALFORMED, loc, NULL, "has shape %s, input \"%s\" is %s",
                shape_text(&c->arena, &s), t->name, shape_text(&c->arena, &want));
    return recipe_values(&c->store, &c->arena, r);
}

void **run_inputs(Compile *c)
{
    const Graph *g = c->graph;
    size_t given = 0;
    for (const char **f = c->options->input; f && *f; f++)
        given++;
    if (given != g->input.n)
        fail_at(STATUS_USAGE, LOC_NONE, "give each with --input FILE.pb, in the order of the model",
                "the model has %zu inputs, %zu were given", g->input.n, given);
    void **in = NEW_ARRAY(&c->arena, void *, g->input.n + 1);
    for (size_t i = 0; i < g->input.n; i++)
        in[i] = load_input(c, g->input.at[i], c->options->input[i]);
    return in;
}

static void print_output(Pieces *to, const Tensor *t, const void *values)
{
    pieces_print(to, "%s: %s %s", t->name, dtype_name(t->dtype), shape_text(to->arena, &t->shape));
    const int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n && i < 16 && t->dtype == DT_F32; i++)
        pieces_print(to, " %g", (double)((const float *)values)[i]);
    for (int64_t i = 0; i < n && i < 16 && t->dtype == DT_I64; i++)
        pieces_print(to, " %" PRId64, ((const int64_t *)values)[i]);
    pieces_print(to, "%s\n", n > 16 ? " ..." : "");
}

/* Result i with the size that it has now. */
static Tensor real_output(const Graph *g, size_t i, void *const *out)
{
    Tensor t = *g->output.at[i];
    t.shape = tensor_model_shape(&t);
    const int64_t *dims = t.dynamic ? out[graph_dims_place(g, i)] : NULL;
    for (int k = 0; dims && k < t.shape.rank; k++)
        t.shape.dim[k] = dims[k];
    return t;
}

static void print_outputs(Compile *c, void *const *out)
{
    for (size_t i = 0; i < graph_results(c->graph); i++) {
        const Tensor t = real_output(c->graph, i, out);
        print_output(&c->results, &t, out[i]);
    }
}

static void write_outputs(Compile *c, void *const *out)
{
    c->out = output_begin(&c->arena, c->options->output);
    for (size_t i = 0; i < graph_results(c->graph); i++) {
        const Tensor t = real_output(c->graph, i, out);
        File *f = output_create(c->out, arena_printf(&c->arena, "output_%zu.pb", i));
        onnx_write_tensor(&c->arena, f, &t, out[i]);
        file_close(f);
    }
    output_commit(c->out);
}

void cmd_run(Compile *c)
{
    compile_passes(c);
    compile_program(c);
    const Graph *g = c->graph;
    void **in = run_inputs(c), **out = NEW_ARRAY(&c->arena, void *, g->output.n + 1);
    for (size_t i = 0; i < g->output.n; i++)
        out[i] = arena_alloc(&c->arena, (size_t)tensor_bytes(g->output.at[i]));
    const int error = eval_run(c->program, in, out);
    if (error)
        fail_at(STATUS_LIMIT, LOC_NONE, NULL, "the run ended with code %d: %s", error,
                eval_error_text(error));
    if (c->options->output)
        write_outputs(c, out);
    else
        print_outputs(c, out);
}
