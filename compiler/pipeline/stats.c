/* SPDX-License-Identifier: Apache-2.0
 * Figures of the compile itself. Times are for people: nothing of them enters the output folder. */
#include "pipeline/stats.h"

#include <inttypes.h>
#include <time.h>

#include "base/process.h"
#include "base/progress.h"
#include "emit/manifest.h"

typedef struct StageText {
    const char *name;
    const char *doing;
} StageText;

static const StageText texts[STAGES] = {
    [STAGE_READ] = { "read", "reading the model" },
    [STAGE_PASSES] = { "passes", "rewriting the graph" },
    [STAGE_LOWER] = { "lower", "choosing kernels" },
    [STAGE_PLAN] = { "plan", "planning" },
    [STAGE_CHECK] = { "check", "proving the plan" },
    [STAGE_ADVICE] = { "advice", "trying other options" },
    [STAGE_LAYOUT] = { "layout", "laying out the weights" },
    [STAGE_LIMITS] = { "limits", "comparing sizes with limits" },
    [STAGE_WRITE] = { "write", "writing the code and the weights" },
    [STAGE_REPORT] = { "report", "writing the reports" },
};

static double now(clockid_t which)
{
    struct timespec t = { 0, 0 };
    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void stats_stage(Compile *compile, Stage stage)
{
    StageClock *clock = &compile->clock;
    const double wall = now(CLOCK_MONOTONIC);
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (clock->running < STAGES) {
        clock->wall[clock->running] += wall - clock->wall_began;
        clock->cpu[clock->running] += cpu - clock->cpu_began;
    }
    if (stage < STAGES) {
        compile->arena.doing = texts[stage].doing;
        compile->store.scratch.doing = texts[stage].doing;
    }
    progress_doing(stage < STAGES ? texts[stage].doing : NULL);
    clock->running = stage;
    clock->wall_began = wall;
    clock->cpu_began = cpu;
}

/* What a compile took, in bytes. */
typedef struct Figures {
    uint64_t peak_allocated;
    uint64_t total_allocated;
    uint64_t peak_resident;
    uint64_t read;
    uint64_t written;
} Figures;

static Figures figures_of(const Compile *compile)
{
    const Arena *arena = &compile->arena;
    const Arena *scratch = &compile->store.scratch;
    const IoCount before = compile->io_before;
    const IoCount after = io_count();
    const bool of_arena = arena->peak > scratch->peak;
    return (Figures){
        .peak_allocated = of_arena ? arena->peak : scratch->peak,
        .total_allocated = arena->total + scratch->total,
        .peak_resident = process_peak_resident(),
        .read = after.read - before.read,
        .written = after.written - before.written,
    };
}

void stats_print(Compile *compile)
{
    const Figures figures = figures_of(compile);
    const Store *store = &compile->store;
    Pieces *to = &compile->results;
    pieces_print(to,
                 "memory    %12" PRIu64 " bytes allocated at the peak, %" PRIu64
                 " in all; resident %" PRIu64 "\n",
                 figures.peak_allocated, figures.total_allocated,
                 figures.peak_resident);
    pieces_print(to,
                 "files     %12" PRIu64 " bytes read, %" PRIu64 " written\n",
                 figures.read, figures.written);
    pieces_print(to,
                 "constants %12" PRIu64 " bytes read, %" PRIu64
                 " written, %" PRIu64 " through a temporary file\n",
                 store->bytes_read, store->bytes_written, store->bytes_spilled);
    for (int i = 0; i < STAGES; i++)
        pieces_print(to, "%-9s %12.3f s, %.3f s of CPU\n", texts[i].name,
                     compile->clock.wall[i], compile->clock.cpu[i]);
}

static json_t *stages_json(const StageClock *clock)
{
    json_t *stages = manifest_made(json_object());
    for (int i = 0; i < STAGES; i++) {
        json_t *stage = manifest_made(json_object());
        manifest_set(stage, "seconds", json_real(clock->wall[i]));
        manifest_set(stage, "cpu_seconds", json_real(clock->cpu[i]));
        manifest_set(stages, texts[i].name, stage);
    }
    return stages;
}

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
    manifest_set(object, key, json_integer((json_int_t)bytes));
}

json_t *stats_json(const Compile *compile)
{
    const Figures figures = figures_of(compile);
    const Store *store = &compile->store;
    json_t *object = manifest_made(json_object());
    set_bytes(object, "peak_allocated", figures.peak_allocated);
    set_bytes(object, "total_allocated", figures.total_allocated);
    set_bytes(object, "peak_resident", figures.peak_resident);
    set_bytes(object, "bytes_read", figures.read);
    set_bytes(object, "bytes_written", figures.written);
    set_bytes(object, "constant_bytes_read", store->bytes_read);
    set_bytes(object, "constant_bytes_written", store->bytes_written);
    set_bytes(object, "bytes_spilled", store->bytes_spilled);
    manifest_set(object, "stages", stages_json(&compile->clock));
    return object;
}
