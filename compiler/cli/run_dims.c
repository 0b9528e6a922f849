/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_dims.h"

#include "cli/value_files.h"

/* Files hold what the model's inputs are, not what is made of it on the way. */
static bool are_plain(const Options *options)
{
    const bool streamed = options->stream && *options->stream;
    const bool made = options->preprocess && *options->preprocess;
    return !streamed && !made;
}

static bool is_open(const Tensor *input)
{
    return input->shape.rank > 0 && !shape_known(&input->shape);
}

static bool any_open(const Graph *graph)
{
    for (size_t i = 0; i < graph->input.n; i++)
        if (is_open(graph->input.at[i]))
            return true;
    return false;
}

bool run_dims(Compile *compile, const char *const *file)
{
    const Graph *graph = compile->graph;
    const size_t count = graph->input.n;
    const Tensors inputs = { graph->input.at, graph_own_inputs(graph), NULL };
    if (!are_plain(compile->options) || !any_open(graph))
        return false;
    GivenShape *given = NEW_ARRAY(&compile->arena, GivenShape, count);
    for (size_t i = 0; i < inputs.n; i++) {
        const char *place;
        given[i].said =
            is_open(inputs.at[i]) &&
            values_shape(compile, &inputs, file, i, &given[i].shape, &place);
    }
    compile->given = given;
    return true;
}
