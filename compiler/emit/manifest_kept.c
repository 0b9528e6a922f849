/* SPDX-License-Identifier: Apache-2.0
 * What goes on from run to run: states, and signals of which a run takes the new steps. */
#include "emit/manifest.h"

static void put_number(json_t *object, const char *key, json_int_t number)
{
    json_t *value = json_integer(number);
    manifest_set(object, key, value);
}

/* Bytes of the arena that survive from run to run. */
static json_t *state_facts(const Program *program)
{
    const Graph *graph = program->graph;
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < graph->state.n; i++) {
        const State *state = graph->state.at + i;
        const Tensor *input = graph->input.at[state->in];
        json_t *object = manifest_made(json_object());
        put_number(object, "input", (json_int_t)state->in);
        put_number(object, "output", (json_int_t)state->out);
        put_number(object, "offset", input->offset);
        if (program->plan.region.n)
            put_number(object, "region", input->region);
        put_number(object, "bytes", tensor_bytes(input));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *signal_facts(const Signal *signal)
{
    json_t *object = manifest_made(json_object());
    put_number(object, "input", (json_int_t)signal->in);
    put_number(object, "axis", signal->axis);
    put_number(object, "hop", signal->hop);
    put_number(object, "window", signal->window);
    json_t *endless = json_boolean(signal->endless);
    manifest_set(object, "endless", endless);
    return object;
}

/* Inputs of which a run takes only new steps, and when results are those of whole windows. */
static json_t *signals_facts(const Graph *graph)
{
    json_t *object = manifest_made(json_object());
    json_t *inputs = manifest_made(json_array());
    json_t *delay = manifest_made(json_array());
    for (size_t i = 0; i < graph->signal.n; i++)
        json_array_append_new(inputs, signal_facts(graph->signal.at + i));
    for (size_t i = 0; i < graph_own_results(graph); i++)
        json_array_append_new(delay, json_integer(graph->signal_delay[i]));
    put_number(object, "runs", graph->signal_runs);
    manifest_set(object, "inputs", inputs);
    manifest_set(object, "delay", delay);
    return object;
}

void manifest_kept(ManifestText *manifest, const Program *program)
{
    const Graph *graph = program->graph;
    if (graph->state.n)
        manifest_key(manifest, "states", state_facts(program));
    if (graph->signal.n)
        manifest_key(manifest, "stream", signals_facts(graph));
}
