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

void stats_stage(Compile *c, Stage stage)
{
    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (c->clock.running < STAGES) {
        c->clock.wall[c->clock.running] += wall - c->clock.wall_began;
        c->clock.cpu[c->clock.running] += cpu - c->clock.cpu_began;
    }
    c->clock.running = stage;
    if (stage < STAGES)
        c->arena.doing = c->store.scratch.doing = doing[stage];
    c->clock.wall_began = wall;
    c->clock.cpu_began = cpu;
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

static uint64_t peak_allocated(const Compile *c)
{
    return c->arena.peak > c->store.scratch.peak ? c->arena.peak : c->store.scratch.peak;
}

void stats_print(Compile *c)
{
    pieces_print(&c->results,
                 "memory    %12" PRIu64 " bytes allocated at the peak, %" PRIu64
                 " in all; resident %" PRIu64 "\n",
                 peak_allocated(c), c->arena.total + c->store.scratch.total, peak_resident());
    const IoCount io = io_count();
    pieces_print(&c->results, "files     %12" PRIu64 " bytes read, %" PRIu64 " written\n",
                 io.read - c->io_before.read, io.written - c->io_before.written);
    pieces_print(&c->results,
                 "constants %12" PRIu64 " bytes read, %" PRIu64 " written, %" PRIu64
                 " through a temporary file\n",
                 c->store.bytes_read, c->store.bytes_written, c->store.bytes_spilled);
    for (int i = 0; i < STAGES; i++)
        pieces_print(&c->results, "%-9s %12.3f s, %.3f s of CPU\n", stage_name[i], c->clock.wall[i],
                     c->clock.cpu[i]);
}

json_t *stats_json(const Compile *c)
{
    json_t *o = manifest_made(json_object()), *stages = manifest_made(json_object());
    manifest_set(o, "peak_allocated", json_integer((json_int_t)peak_allocated(c)));
    manifest_set(o, "total_allocated",
                 json_integer((json_int_t)(c->arena.total + c->store.scratch.total)));
    manifest_set(o, "peak_resident", json_integer((json_int_t)peak_resident()));
    const IoCount io = io_count();
    manifest_set(o, "bytes_read", json_integer((json_int_t)(io.read - c->io_before.read)));
    manifest_set(o, "bytes_written", json_integer((json_int_t)(io.written - c->io_before.written)));
    manifest_set(o, "constant_bytes_read", json_integer((json_int_t)c->store.bytes_read));
    manifest_set(o, "constant_bytes_written", json_integer((json_int_t)c->store.bytes_written));
    manifest_set(o, "bytes_spilled", json_integer((json_int_t)c->store.bytes_spilled));
    for (int i = 0; i < STAGES; i++) {
        json_t *s = manifest_made(json_object());
        manifest_set(s, "seconds", json_real(c->clock.wall[i]));
        manifest_set(s, "cpu_seconds", json_real(c->clock.cpu[i]));
        manifest_set(stages, stage_name[i], s);
    }
    manifest_set(o, "stages", stages);
    return o;
}

/* --- progress --- */

static void note(Store *s)
{
    Compile *c = s->progress_context;
    const Work *w = &s->work;
    const double t = now(CLOCK_MONOTONIC), since = t - c->clock.noted;
    if (!w->done)
        c->clock.work_began = t;
    const double took = t - c->clock.work_began, done = (double)w->done, all = (double)w->all;
    s->work.next = w->done + PROGRESS_STEP;
    if (!w->all || took < FIRST_NOTE || since < NEXT_NOTE)
        return;
    c->clock.noted = t;
    const double rate = done / took;
    fprintf(stderr, "\r\033[K%3.0f %% of %.0f MiB %s, %.0f MiB/s, %.0f s left ",
            all > 0 ? 100 * done / all : 100, all / 1048576, w->doing, rate / 1048576,
            rate > 0 && all > done ? (all - done) / rate : 0);
    c->clock.noting = true;
}

void progress_begin(Compile *c)
{
    if (!isatty(STDERR_FILENO))
        return;
    c->store.progress_context = c;
    c->store.progress = note;
}

void progress_end(Compile *c)
{
    c->store.progress = NULL;
    if (c->clock.noting)
        fputs("\r\033[K", stderr);
    c->clock.noting = false;
}
