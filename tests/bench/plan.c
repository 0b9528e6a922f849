/* SPDX-License-Identifier: Apache-2.0
 * The arena of a model at each level of the planner, one line a level, tab separated: level, arena,
 * lower bound, optimal or open, the arena without scratch and row counters, the same with tiles of
 * one pixel and no alignment beyond an element's, the pixel that is made there where that is most,
 * steps, milliseconds. usage: plan MODEL.onnx [--shape X=..]   (options of `inlay analyze`) */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "cli/options.h"
#include "ops/lower_graph.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "prove/check.h"

typedef struct Job {
    const Options *options;
    PlanLevel level;
    bool bare; /* as papers count: pixels one by one, nothing aligned */
    double milliseconds;
    int64_t net, pixel; /* bytes */
    Compile compile;
} Job;

static const char *const LEVEL[] = { "", "simple", "order", "overlap",
                                     "stream" };

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void pixel_by_pixel(Program *p)
{
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            if (p->step.at[i]->operand[k].pixels.tile > 1)
                p->step.at[i]->operand[k].pixels.tile = 1;
}

/* Bytes of the arena that blocks hold during a step. */
static int64_t bytes_in_use(const Program *p, bool *used, int32_t step,
                            bool tensors_only)
{
    int64_t bytes = 0;
    memset(used, 0, (size_t)p->plan.arena_size / 4 + 1);
    for (size_t i = 0; i < p->plan.block.n; i++) {
        const Block *b = p->plan.block.at + i;
        if (b->first > step || b->end <= step ||
            (tensors_only && (b->scratch || !b->tensor)))
            continue;
        memset(used + b->offset / 4, 1,
               (size_t)(b->offset + b->bytes + 3) / 4 - (size_t)b->offset / 4);
    }
    for (int64_t i = 0; i < p->plan.arena_size / 4; i++)
        bytes += used[i] ? 4 : 0;
    return bytes;
}

/* A pixel of what a step makes over its input, pixel by pixel. */
static int64_t pixel_of(const Step *s)
{
    const Operand *y = s->operand;
    return s->n_operand > 1 && y->tensor && s->operand[1].pixels.tile
               ? y->pixel * dtype_bits(y->tensor->dtype) / 8
               : 0;
}

/* The arena without scratch and row counters; what placement leaves unused counts. *pixel: the
 * largest at the peak. */
static int64_t net_of(const Program *p, int64_t *pixel)
{
    bool *used = malloc((size_t)p->plan.arena_size / 4 + 1);
    int64_t all = 0, tensors = 0;
    for (int32_t s = 0; s < (int32_t)p->step.n; s++) {
        if (p->plan.live[s] < tensors)
            continue;
        const int64_t own = bytes_in_use(p, used, s, true);
        all = i64_max(all, bytes_in_use(p, used, s, false));
        if (own > tensors)
            *pixel = 0;
        if (own >= tensors)
            *pixel = i64_max(*pixel, pixel_of(p->step.at[s]));
        tensors = i64_max(tensors, own);
    }
    free(used);
    return p->plan.arena_size - (all - tensors);
}

static void run(void *context)
{
    Job *j = context;
    Compile *c = &j->compile;
    compile_open(c, j->options);
    compile_to(c, STAGE_PASSES);
    const LowerOptions options = {
        .family = family_of_target(NULL),
        .narrow = true,
    };
    c->program = lower_graph(c->graph, &options);
    if (j->bare)
        pixel_by_pixel(c->program);
    const double before = milliseconds();
    plan_program(c->program, &(PlanOptions){ .align = j->bare ? 4 : 16,
                                             .level = j->level });
    j->milliseconds = milliseconds() - before;
    plan_check(c->program);
    j->net = net_of(c->program, &j->pixel);
}

static void close_all(void *context)
{
    compile_close(context);
}

static void print(const Job *j, const Job *bare)
{
    const Plan *p = &j->compile.program->plan;
    printf("%s\t%lld\t%lld\t%s\t%lld\t%lld\t%lld\t%zu\t%.1f\n", LEVEL[j->level],
           (long long)p->arena_size, (long long)p->lower_bound,
           p->optimal ? "optimal" : "open", (long long)j->net,
           (long long)bare->net, (long long)bare->pixel,
           j->compile.program->step.n, j->milliseconds);
}

/* A level: as it is, and as papers count. */
static void level(Diag *d, const Options *o, PlanLevel l)
{
    Job bare = { .options = o, .level = l, .bare = true },
        real = { .options = o, .level = l };
    protect(d, run, &bare);
    protect(d, close_all, &bare.compile);
    if (d->status == 0)
        protect(d, run, &real);
    if (d->status == 0)
        print(&real, &bare);
    protect(d, close_all, &real.compile);
}

int main(int argc, char **argv)
{
    Arena words = { 0 };
    char **args = NEW_ARRAY(&words, char *, argc + 2);
    Options o;
    Diag d = { .out = stderr };
    args[0] = argv[0];
    args[1] = (char[]){ "analyze" };
    for (int i = 1; i <= argc; i++)
        args[i + 1] = argv[i];
    options_parse(&words, &o, argc + 1, args);
    for (PlanLevel l = PLAN_SIMPLE; l <= PLAN_STREAM && d.status == 0; l++)
        level(&d, &o, l);
    arena_free(&words);
    return (int)d.status;
}
