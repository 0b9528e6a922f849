/* SPDX-License-Identifier: Apache-2.0
 * Figures of the compile itself. Times are for people: nothing of them enters the output folder. */
#include "cli/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"

enum { PROGRESS_STEP = 4 << 20 };
static const double FIRST_NOTE = 0.5, NEXT_NOTE = 0.1; /* seconds */

static const char *const stage_name[STAGES] = { "read", "passes", "plan", "write" };
static const char *const doing[STAGES] = { "reading the model", "rewriting the graph",
                                           "lowering and planning", "writing the output" };

static double now(clockid_t clock)
{
    struct timespec t = { 0, 0 };
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void stats_stage(Compile *compile, Stage stage)
{
    const double wall = now(CLOCK_MONOTONIC);
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (compile->clock.running < STAGES) {
        compile->clock.wall[compile->clock.running] += wall - compile->clock.wall_began;
        compile->clock.cpu[compile->clock.running] += cpu - compile->clock.cpu_began;
    }
    compile->clock.running = stage;
    if (stage < STAGES)
        compile->arena.doing = compile->store.scratch.doing = doing[stage];
    compile->clock.wall_began = wall;
    compile->clock.cpu_began = cpu;
}

/* The kernel's own high-water mark of this program's memory; 0: it has none. getrusage() would also
 * count what the process held before it became this program: a parent that forks passes its size
 * on. */
static uint64_t high_water(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Of the process, in bytes. */
static uint64_t peak_resident(void)
{
    struct rusage u;
    const uint64_t peak = high_water();
    if (peak)
        return peak;
    return getrusage(RUSAGE_SELF, &u) ? 0 : (uint64_t)u.ru_maxrss * 1024;
}

static uint64_t peak_allocated(const Compile *compile)
{
    return compile->arena.peak > compile->store.scratch.peak ? compile->arena.peak
                                                             : compile->store.scratch.peak;
}

void stats_print(Compile *compile)
{
    pieces_print(&compile->results,
                 "memory    %12" PRIu64 " bytes allocated at the peak, %" PRIu64
                 " in all; resident %" PRIu64 "\n",
                 peak_allocated(compile), compile->arena.total + compile->store.scratch.total,
                 peak_resident());
    const IoCount io = io_count();
    pieces_print(&compile->results, "files     %12" PRIu64 " bytes read, %" PRIu64 " written\n",
                 io.read - compile->io_before.read, io.written - compile->io_before.written);
    pieces_print(&compile->results,
                 "constants %12" PRIu64 " bytes read, %" PRIu64 " written, %" PRIu64
                 " through a temporary file\n",
                 compile->store.bytes_read, compile->store.bytes_written,
                 compile->store.bytes_spilled);
    for (int i = 0; i < STAGES; i++)
        pieces_print(&compile->results, "%-9s %12.3f s, %.3f s of CPU\n", stage_name[i],
                     compile->clock.wall[i], compile->clock.cpu[i]);
}

json_t *stats_json(const Compile *compile)
{
    json_t *object = manifest_made(json_object());
    json_t *stages = manifest_made(json_object());
    manifest_set(object, "peak_allocated", json_integer((json_int_t)peak_allocated(compile)));
    manifest_set(object, "total_allocated",
                 json_integer((json_int_t)(compile->arena.total + compile->store.scratch.total)));
    manifest_set(object, "peak_resident", json_integer((json_int_t)peak_resident()));
    const IoCount io = io_count();
    manifest_set(object, "bytes_read",
                 json_integer((json_int_t)(io.read - compile->io_before.read)));
    manifest_set(object, "bytes_written",
                 json_integer((json_int_t)(io.written - compile->io_before.written)));
    manifest_set(object, "constant_bytes_read",
                 json_integer((json_int_t)compile->store.bytes_read));
    manifest_set(object, "constant_bytes_written",
                 json_integer((json_int_t)compile->store.bytes_written));
    manifest_set(object, "bytes_spilled", json_integer((json_int_t)compile->store.bytes_spilled));
    for (int i = 0; i < STAGES; i++) {
        json_t *s = manifest_made(json_object());
        manifest_set(s, "seconds", json_real(compile->clock.wall[i]));
        manifest_set(s, "cpu_seconds", json_real(compile->clock.cpu[i]));
        manifest_set(stages, stage_name[i], s);
    }
    manifest_set(object, "stages", stages);
    return object;
}

/* --- progress --- */

static void note(Store *store)
{
    Compile *compile = store->progress_context;
    const Work *w = &store->work;
    const double t = now(CLOCK_MONOTONIC);
    const double since = t - compile->clock.noted;
    if (!w->done)
        compile->clock.work_began = t;
    const double took = t - compile->clock.work_began;
    const double done = (double)w->done;
    const double all = (double)w->all;
    store->work.next = w->done + PROGRESS_STEP;
    if (!w->all || took < FIRST_NOTE || since < NEXT_NOTE)
        return;
    compile->clock.noted = t;
    const double rate = done / took;
    fprintf(stderr, "\r\033[K%3.0f %% of %.0f MiB %s, %.0f MiB/s, %.0f s left ",
            all > 0 ? 100 * done / all : 100, all / 1048576, w->doing, rate / 1048576,
            rate > 0 && all > done ? (all - done) / rate : 0);
    compile->clock.noting = true;
}

void progress_begin(Compile *compile)
{
    if (!isatty(STDERR_FILENO))
        return;
    compile->store.progress_context = compile;
    compile->store.progress = note;
}

void progress_end(Compile *compile)
{
    compile->store.progress = NULL;
    if (compile->clock.noting)
        fputs("\r\033[K", stderr);
    compile->clock.noting = false;
}
