/* SPDX-License-Identifier: Apache-2.0
 * The arena of a model at each level of the planner, one line a level, tab separated:
 * level, arena, lower bound, optimal or open, scratch that lies in the arena, steps, milliseconds.
 * usage: plan MODEL.onnx [--shape X=..]   (options of `inlay analyze`) */
#include <stdlib.h>
#include <time.h>

#include "cli/options.h"
#include "ops/lower_graph.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "prove/check.h"

typedef struct Job {
    const Options *options;
    PlanLevel level;
    Compile compile;
} Job;

static const char *const LEVEL[] = { "", "simple", "order", "overlap", "stream" };

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int64_t most_scratch(const Program *p)
{
    int64_t most = 0;
    for (size_t i = 0; i < p->step.n; i++) {
        int64_t own = 0;
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            if (p->step.at[i]->operand[k].scratch) own += tensor_bytes(p->step.at[i]->operand[k].tensor);
        if (own > most) most = own;
    }
    return most;
}

static void run(void *context)
{
    Job *j = context;
    Compile *c = &j->compile;
    compile_open(c, j->options);
    compile_read(c);
    compile_passes(c);
    c->program = lower_graph(c->graph, 16);
    const double before = milliseconds();
    plan_program(c->program, &(PlanOptions){ .align = 16, .level = j->level });
    const double after = milliseconds();
    plan_check(c->program);
    const Plan *p = &c->program->plan;
    printf("%s\t%lld\t%lld\t%s\t%lld\t%zu\t%.1f\n", LEVEL[j->level], (long long)p->arena_size, (long long)p->lower_bound,
           p->optimal ? "optimal" : "open", (long long)most_scratch(c->program), c->program->step.n, after - before);
}

static void close_all(void *context) { compile_close(context); }

int main(int argc, char **argv)
{
    const char **args = malloc((size_t)(argc + 2) * sizeof *args);
    Options o;
    Diag d = { .out = stderr };
    args[0] = argv[0];
    args[1] = "analyze";
    for (int i = 1; i <= argc; i++) args[i + 1] = argv[i];
    options_parse(&o, argc + 1, args);
    for (PlanLevel level = PLAN_SIMPLE; level <= PLAN_STREAM && d.status == 0; level++) {
        Job j = { .options = &o, .level = level };
        protect(&d, run, &j);
        protect(&d, close_all, &j.compile);
    }
    free(args);
    return d.status;
}
