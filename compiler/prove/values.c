/* SPDX-License-Identifier: Apache-2.0
 * Those in the caller's buffers have no place that could be wrong; those in the arena have. */
#include "prove/values.h"

#include <inttypes.h>

/* The model's inputs, or its results, and where the manifest has them. */
typedef struct Values {
    Program *program;
    const Step *pushed; /* takes an input row by row; or NULL */
    const Claim *claim;
    Loc loc;
    /* by tensor id: -1: no step touches it */
    const int32_t *placed;
    const char *kind;
    Tensor *const *tensor;
    size_t n, claimed;
    const int64_t *offset;
    const int *region;
} Values;

/* A state of the next run lies where that of this one does, which was looked at before. */
static void match_state(const Values *values, size_t i)
{
    Tensor *tensor = values->tensor[i];
    program_place_states(values->program);
    if (tensor->offset != values->offset[i] ||
        tensor->region != values->region[i])
        fail_at(STATUS_LIMIT, values->loc, NULL,
                "%s %zu is a state and does not lie at its input's place",
                values->kind, i);
}

/* One in the arena lies where the caller is told. */
static void match_home(const Values *values, size_t i)
{
    Tensor *tensor = values->tensor[i];
    const int64_t offset = values->offset[i];
    const int region = values->region[i];
    if (tensor_is_renewed(tensor)) {
        match_state(values, i);
        return;
    }
    if (values->placed[tensor->id] < 0) { /* no step touches it */
        tensor->offset = offset;
        tensor->region = region;
    }
    const int64_t room =
        program_region_size(values->program, region) - tensor_bytes(tensor);
    if (tensor->offset != offset || tensor->region != region ||
        offset % values->claim->align || tensor->view_of || offset > room)
        fail_at(STATUS_LIMIT, values->loc, NULL,
                "%s %zu does not lie at %" PRId64, values->kind, i, offset);
}

static void match_value(const Values *values, size_t i)
{
    const Tensor *tensor = values->tensor[i];
    const Step *pushed = values->pushed;
    const bool rows = pushed && pushed->operand[0].tensor == tensor;
    const bool in_arena = tensor->storage == STORE_ARENA;
    if (rows != (values->offset[i] == BY_ROWS))
        fail_at(STATUS_LIMIT, values->loc, NULL, "%s %zu %s row by row",
                values->kind, i, rows ? "comes" : "does not come");
    if (rows)
        return;
    if (in_arena != (values->offset[i] >= 0))
        fail_at(STATUS_LIMIT, values->loc, NULL, "%s %zu lies in the %s",
                values->kind, i, in_arena ? "arena" : "caller's buffer");
    if (in_arena)
        match_home(values, i);
}

static void match_values(const Values *values)
{
    if (values->n != values->claimed)
        fail_at(STATUS_CONFIG, values->loc,
                "give the model that it was made from",
                "the manifest has %zu %ss, the model has %zu", values->claimed,
                values->kind, values->n);
    for (size_t i = 0; i < values->n; i++)
        match_value(values, i);
}

void claim_match_values(Program *program, const Claim *claim,
                        const int32_t *placed, Loc loc)
{
    const Graph *graph = program->graph;
    Values values = {
        .program = program,
        .pushed = program_pushed(program),
        .claim = claim,
        .loc = loc,
        .placed = placed,
        .kind = "input",
        .tensor = graph->input.at,
        .n = graph->input.n,
        .claimed = claim->in_offset.n,
        .offset = claim->in_offset.at,
        .region = claim->in_region.at,
    };
    match_values(&values);
    values.kind = "output";
    values.tensor = graph->output.at;
    values.n = graph_results(graph);
    values.claimed = claim->out_offset.n;
    values.offset = claim->out_offset.at;
    values.region = claim->out_region.at;
    match_values(&values);
}
