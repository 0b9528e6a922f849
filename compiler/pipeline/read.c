/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/read.h"

#include "onnx/reader.h"
#include "pipeline/constants.h"
#include "pipeline/io_forms.h"
#include "pipeline/overrides.h"

void read_model(Compile *compile)
{
    const Options *options = compile->options;
    const ReadOptions how = {
        .external_dir = options->external_dir,
        .no_external = options->no_external,
    };
    compile->graph =
        onnx_read(&compile->arena, &compile->store, options->model, &how);
    if (options->hash_model)
        constants_hash(compile, compile->model_sha256);
    graph_count_uses(compile->graph);
    override_inputs(compile->graph, options);
    io_forms(compile->graph, options);
    graph_sort(compile->graph);
}
