/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hops.h"

#include <string.h>

#include "base/size.h"
#include "cli/value_files.h"
#include "eval/eval.h"

/* A signal may be longer than a hop; made values are as long as it takes to fill the window. */
static Series *series_of(const Graph *graph, size_t count)
{
    Series *series = NEW_ARRAY(graph->arena, Series, count + 1);
    for (size_t i = 0; i < count; i++) {
        const Signal *signal = graph_signal(graph, i);
        series[i].times = graph->signal_runs;
        series[i].axis = -1;
        if (signal)
            series[i].axis = signal->axis;
    }
    return series;
}

/* How many hops all signals have. */
static int64_t common_times(const Series *series, size_t count)
{
    int64_t times = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t own = series[i].times;
        if (series[i].axis < 0)
            continue;
        if (times && own != times)
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "one signal has %lld hops, another %lld", (long long)times,
                    (long long)own);
        times = own;
    }
    return times;
}

void **hops_load(Compile *compile, const char *const *file)
{
    Graph *graph = compile->graph;
    const size_t count = graph_own_inputs(graph);
    Series *series = series_of(graph, count);
    const Tensors wanted = {
        .at = graph->input.at,
        .n = count,
        .series = series,
    };
    void **values = values_load(compile, &wanted, file);
    graph->signal_given = common_times(series, count);
    return values;
}

/* Hop `run` of the values, of which there are `times`. */
static void take_hop(const Tensor *tensor, int axis, int64_t times, int64_t run,
                     const unsigned char *from, unsigned char *to)
{
    const Shape shape = tensor_model_shape(tensor);
    int64_t outer = 1;
    for (int i = 0; i < axis; i++)
        outer *= shape.dim[i];
    const size_t bytes = (size_t)(tensor_bytes(tensor) / outer);
    for (int64_t i = 0; i < outer; i++)
        memcpy(to + (size_t)i * bytes, from + (size_t)(i * times + run) * bytes,
               bytes);
}

/* Buffers of a run: those of signals hold a hop, those of states begin as zeros. */
static void **run_buffers(const Graph *graph, void *const *in)
{
    const size_t own = graph_own_inputs(graph);
    void **buffer = NEW_ARRAY(graph->arena, void *, graph->input.n + 1);
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *tensor = graph->input.at[i];
        const size_t bytes = (size_t)tensor_bytes(tensor);
        if (i < own && !graph_signal(graph, i)) {
            buffer[i] = in[i];
            continue;
        }
        buffer[i] = arena_alloc(graph->arena, bytes + 1);
        memset(buffer[i], 0, bytes);
    }
    return buffer;
}

static void take_hops(const Graph *graph, void *const *in, int64_t run,
                      void *const *buffer)
{
    for (size_t i = 0; i < graph->signal.n; i++) {
        const Signal *signal = graph->signal.at + i;
        const size_t at = signal->in;
        take_hop(graph->input.at[at], signal->axis, graph->signal_given, run,
                 in[at], buffer[at]);
    }
}

/* What the run made is what the next one reads; a state of the model's own, too. */
static void hand_on(const Graph *graph, void *const *buffer, void *const *out)
{
    for (size_t i = 0; i < graph->state.n; i++) {
        const State *state = graph->state.at + i;
        const Tensor *input = graph->input.at[state->in];
        const size_t bytes = (size_t)tensor_bytes(input);
        memcpy(buffer[state->in], out[state->out], bytes);
    }
}

int hops_run(Compile *compile, void *const *in, void *const *out)
{
    const Graph *graph = compile->graph;
    void **buffer = run_buffers(graph, in);
    int error = 0;
    for (int64_t run = 0; run < graph->signal_given && !error; run++) {
        take_hops(graph, in, run, buffer);
        error = eval_run(compile->program, buffer, out);
        hand_on(graph, buffer, out);
    }
    return error;
}
