/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/values.h"

Values values_inputs(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    return (Values){ "in", "IN", graph->input.at, graph->input.n,
                     graph->in_numbers };
}

Values values_outputs(const Emitter *emitter)
{
    const Graph *graph = emitter->program->graph;
    return (Values){ "out", "OUT", graph->output.at, graph_results(graph),
                     graph->out_numbers };
}

bool value_inside(const Tensor *tensor)
{
    return tensor->storage == STORE_ARENA;
}

size_t values_inside(const Values *values)
{
    size_t found = 0;
    for (size_t i = 0; i < values->count; i++)
        found += value_inside(values->tensor[i]);
    return found;
}

int64_t value_length(const Tensor *tensor)
{
    return tensor_bytes(tensor) / dtype_element(tensor->dtype);
}

bool value_by_row(const Emitter *emitter, const Tensor *tensor)
{
    return emitter->pushed && emitter->pushed->operand[0].tensor == tensor;
}
