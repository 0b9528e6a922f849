/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/limits.h"

#include <inttypes.h>

#include "base/limits.h"
#include "emit/peak.h"
#include "ir/ram.h"

/* ---- the steps ---- */

static void limit_tensor(const Step *step, Tensor *tensor)
{
    int64_t at;
    const Tensor *root = tensor_root(tensor, &at);
    const int64_t bytes = tensor_bytes(root);
    if (root->storage == STORE_ARENA && bytes > LIMIT_ARENA)
        fail_at(STATUS_UNSUPPORTED, node_loc(step->node), NULL,
                "a tensor of %" PRId64
                " bytes: no arena is larger than %" PRId64,
                bytes, LIMIT_ARENA);
}

void limit_steps(const Program *program)
{
    int64_t rows = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        rows += step->units;
        if (rows > LIMIT_ROWS)
            fail_at(STATUS_UNSUPPORTED, node_loc(step->node), NULL,
                    "up to this node results have more than %d rows",
                    LIMIT_ROWS);
        for (int k = 0; k < step->n_operand; k++)
            if (step->operand[k].tensor)
                limit_tensor(step, step->operand[k].tensor);
    }
}

/* ---- the arena ---- */

/* Most blocks of the peak that a message names. */
enum { PEAK_BLOCKS = 12 };

static _Noreturn void fail_arena_limit(Compile *compile, long long limit)
{
    const Plan *plan = &compile->program->plan;
    const Peak peak = peak_find(compile->program);
    const Text blocks = peak_text(&compile->arena, &peak, PEAK_BLOCKS);
    fail_at(STATUS_LIMIT, LOC_NONE,
            arena_printf(&compile->arena,
                         "the tensors at the peak (analyze --advice tries what "
                         "would save memory):\n%s",
                         blocks.at),
            "the smallest arena found is %" PRId64
            " bytes (lower bound %" PRId64 "), the limit is %lld",
            plan->arena_size, plan->lower_bound, limit);
}

void limit_arena(Compile *compile)
{
    const Plan *plan = &compile->program->plan;
    const long long *limit = compile->options->arena_limit;
    if (limit && plan->arena_size > *limit)
        fail_arena_limit(compile, *limit);
    if (plan->arena_size > LIMIT_ARENA)
        fail_at(STATUS_UNSUPPORTED, diag_place(), NULL,
                "an arena of %" PRId64 " bytes: none is larger than %" PRId64,
                plan->arena_size, LIMIT_ARENA);
}

/* ---- the weights ---- */

void limit_weights(const Compile *compile)
{
    const uint64_t bytes = compile->program->weight_bytes;
    const uint64_t file = compile->store.input_bytes;
    if (bytes / LIMIT_WEIGHTS_OF_BYTE >
        file + LIMIT_WEIGHTS / LIMIT_WEIGHTS_OF_BYTE)
        fail_at(STATUS_UNSUPPORTED, diag_place(), NULL,
                "constants of %" PRIu64 " bytes, of files of %" PRIu64, bytes,
                file);
}

/* ---- --max-arena, --max-weights, --max-ram, --max-stack ---- */

void size_limits(const Compile *compile, SizeLimit limits[SIZE_LIMITS])
{
    const RamUse ram = program_ram(compile->program);
    limits[0] = (SizeLimit){
        .what = "arena",
        .bytes = (uint64_t)compile->program->plan.arena_size,
        .most = compile->options->max_arena,
    };
    limits[1] = (SizeLimit){
        .what = "weights",
        .bytes = compile->program->weight_bytes,
        .most = compile->options->max_weights,
    };
    limits[2] = (SizeLimit){
        .what = "ram",
        .bytes = (uint64_t)ram.total,
        .most = compile->options->max_ram,
    };
    limits[3] = (SizeLimit){
        .what = "stack",
        .bytes = (uint64_t)i64_max(ram.stack, 0),
        .unknown = ram.stack < 0,
        .most = compile->options->max_stack,
    };
}

bool size_holds(const SizeLimit *limit)
{
    if (!limit->most)
        return true;
    return !limit->unknown && limit->bytes <= (uint64_t)*limit->most;
}

static void report_size(const SizeLimit *limit)
{
    if (limit->unknown)
        error_at(STATUS_LIMIT, LOC_NONE, "name one by --target: cortex-m4",
                 "%s: not known for this target, %lld are allowed", limit->what,
                 *limit->most);
    else
        error_at(STATUS_LIMIT, LOC_NONE, NULL,
                 "%s: %" PRIu64 " bytes are needed, %lld are allowed",
                 limit->what, limit->bytes, *limit->most);
}

void limit_sizes(Compile *compile)
{
    SizeLimit limits[SIZE_LIMITS];
    size_limits(compile, limits);
    for (const SizeLimit *limit = limits; limit < limits + SIZE_LIMITS; limit++)
        if (!size_holds(limit))
            report_size(limit);
    fail_if_errors();
}
