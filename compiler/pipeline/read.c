/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/read.h"

#include "onnx/reader.h"
#include "pipeline/constants.h"
#include "pipeline/cut.h"
#include "pipeline/io_forms.h"
#include "pipeline/lengths.h"
#include "pipeline/overrides.h"
#include "pipeline/rewrite.h"
#include "pipeline/streams.h"

static void read_graph(Compile *compile)
{
    const Options *options = compile->options;
    const ReadOptions how = {
        .external_dir = options->external_dir,
        .no_external = options->no_external,
    };
    compile->graph =
        onnx_read(&compile->arena, &compile->store, options->model, &how);
    compile->graph->kept = compile->kept;
    if (options->hash_model)
        constants_hash(compile, compile->model_sha256);
    graph_count_uses(compile->graph);
    cut_graph(compile);
    override_inputs(compile->graph, options);
    io_forms(compile->graph, options);
    streams_find(compile->graph, options);
    graph_sort(compile->graph);
}

static void infer_whole(void *context)
{
    Compile *compile = context;
    read_graph(compile);
    rewrite_graph(compile);
}

/* --shape of inputs of the whole model alone. */
static const char **shapes_of_whole(Compile *compile)
{
    const Options *options = compile->options;
    VEC(const char *) shape = { 0 };
    for (const char **text = options->shape; text && *text; text++)
        if (!cut_names(&compile->arena, options, *text))
            VEC_PUSH(&compile->arena, &shape, *text);
    VEC_PUSH(&compile->arena, &shape, NULL);
    return shape.at;
}

/* The model as a whole, its types and shapes inferred as far as that goes: where it begins with
 * --from, few files say what a tensor between is. NULL: it does not compile as a whole. */
static const Graph *whole_graph(Compile *compile)
{
    const Options *options = compile->options;
    Diag quiet = { .out = diag_now->out, .quiet = true };
    Options whole = *options;
    whole.from = NULL;
    whole.to = NULL;
    whole.io = NULL;
    whole.state = NULL;
    whole.stream = NULL;
    whole.preprocess = NULL;
    whole.hash_model = 0;
    whole.dump_after = "infer";
    whole.shape = shapes_of_whole(compile);
    compile->options = &whole;
    const Status status = protect(&quiet, infer_whole, compile);
    compile->options = options;
    compile->shape = NULL;
    return status ? NULL : compile->graph;
}

void read_model(Compile *compile)
{
    lengths_begin(compile);
    if (compile->options->from && *compile->options->from)
        compile->whole = whole_graph(compile);
    read_graph(compile);
}
