/* SPDX-License-Identifier: Apache-2.0
 * Runs a model step by step, with all tensors apart, and hands each step to a judge that may run it
 * again elsewhere. */
#ifndef TEST_BENCH_H
#define TEST_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cli/options.h"
#include "eval/eval.h"
#include "prove/replay.h"

enum { BENCH_ALIGN = 64, MOST_RUNS = 2 };

typedef struct Bench Bench;
/* The step has run in `real`; before[k]: what operand k, if it is updated, held before. */
typedef void Judge(Bench *b, const Step *s, unsigned char *const *before);

struct Bench {
    Program *program;
    Arena *arena;
    Judge *judge;
    inlay_model model;
    void **real,
        **box; /* base pointers: of the run, and as much memory for the judge */
    bool *made;       /* by tensor id: a step before has written some of it */
    const Step *step; /* under way, with its direction */
    bool backward;
    int rubbish; /* the byte that fills what is closed */
    int steps, runs, faults;
};

static inline bool fault(Bench *b, int k, int32_t unit, const char *what)
{
    const Step *s = b->step;
    if (b->faults++ < 20)
        fprintf(stderr, "step %d, %s (%s), operand %d, unit %d of %d%s: %s\n",
                s->index, s->kernel->name, step_name(s), k, unit, s->units,
                b->backward ? " backward" : "", what);
    return false;
}

static inline const Tensor *root_of(const Operand *o, int64_t *at)
{
    int64_t in;
    const Tensor *root = tensor_root(o->tensor, &in);
    *at = in + o->offset;
    return root;
}

static inline bool changes(const Operand *o)
{
    int64_t at;
    return o->tensor && root_of(o, &at)->storage != STORE_WEIGHTS;
}

static inline unsigned char *root_bytes(void *const *base, const Program *p,
                                        const Tensor *root)
{
    return (unsigned char *)base[program_base(p, root)] +
           (root->storage == STORE_ARENA ? root->offset : 0);
}

/* Equal, or left as they were (rubbish): what a tensor holds beside its values may be anything. */
static inline bool same_if_made(const unsigned char *want,
                                const unsigned char *got, int64_t n,
                                int rubbish)
{
    for (int64_t i = 0; i < n; i++)
        if (want[i] != got[i] && got[i] != rubbish)
            return false;
    return true;
}

/* What the step updates, as it was, and what others made of a result that its units gather (strips
 * of planes); it must be read before the step runs. */
static inline unsigned char **copy_before(const Bench *b, const Step *s)
{
    unsigned char **before =
        NEW_ARRAY(b->arena, unsigned char *, s->n_operand + 1);
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        int64_t at;
        if (!changes(o) || !o->write || o->scratch)
            continue;
        if (o->read || (b->made[root_of(o, &at)->id] && !by_row(s, o)))
            before[k] = arena_copy(
                b->arena, root_bytes(b->real, b->program, root_of(o, &at)),
                (size_t)tensor_bytes(root_of(o, &at)));
    }
    return before;
}

/* What the kernel returns. */
static inline int run_step(Bench *b, const Step *s, bool judged)
{
    const ArenaMark mark = arena_mark(b->arena);
    unsigned char **before = copy_before(b, s);
    const inlay_step *own = b->model.step + s->index;
    const int r = own->run(b->real, own, 0, own->units);
    b->step = s;
    b->backward = false;
    if (r >= 0 && judged)
        b->judge(b, s, before);
    for (int k = 0; k < s->n_operand; k++)
        if (changes(s->operand + k) && s->operand[k].write)
            b->made[root_of(s->operand + k, &(int64_t){ 0 })->id] = true;
    arena_release(b->arena, mark);
    return r;
}

static inline void place_apart(Program *p)
{
    for (size_t i = 0; i < p->step.n; i++) {
        p->step.at[i]->backward = false;
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            Operand *o = p->step.at[i]->operand + k;
            int64_t at;
            if (!o->tensor)
                continue;
            o->ring = 0;
            o->slots = NULL;
            Tensor *root = tensor_root(o->tensor, &at);
            root->placed = false;
            root->region = 0;
        }
    }
    p->plan.region.n = p->plan.segment.n = 0;
    p->plan.arena_size = eval_place_apart(p);
    program_link(p);
}

static inline void *area(Arena *a, int64_t bytes)
{
    unsigned char *p = arena_alloc(a, (size_t)bytes + BENCH_ALIGN);
    return p + (BENCH_ALIGN - (uintptr_t)p % BENCH_ALIGN) % BENCH_ALIGN;
}

static inline void **bases(Bench *b, void *weights, void *const *in)
{
    const Program *p = b->program;
    const Graph *g = p->graph;
    void **base = NEW_ARRAY(b->arena, void *, program_bases(p) + 1);
    base[INLAY_WEIGHTS] = weights;
    base[INLAY_ARENA] = area(b->arena, p->plan.arena_size);
    for (size_t i = 0; i < g->input.n; i++) {
        base[INLAY_ARENA + 1 + i] =
            area(b->arena, tensor_bytes(g->input.at[i]));
        memcpy(base[INLAY_ARENA + 1 + i], in[i],
               (size_t)tensor_bytes(g->input.at[i]));
    }
    for (size_t i = 0; i < g->output.n; i++)
        base[INLAY_ARENA + 1 + g->input.n + i] =
            area(b->arena, tensor_bytes(g->output.at[i]));
    return base;
}

typedef struct BenchRun {
    Compile compile;
    Judge *judge;
} BenchRun;

static inline void run_model(void *context)
{
    BenchRun *run = context;
    Compile *c = &run->compile;
    compile_to(c, STAGE_LAYOUT);
    Program *p = c->program;
    Bench b = { .program = p, .arena = &c->arena, .judge = run->judge };
    void **in = run_inputs(c);
    place_apart(p);
    void *weights = eval_weights(&c->arena, p);
    b.model = program_model(&c->arena, p);
    b.made = NEW_ARRAY(&c->arena, bool, graph_root(p->graph)->next_id + 1);
    b.real = bases(&b, weights, in);
    b.box = bases(&b, weights, in);
    int *runs = NEW_ARRAY(&c->arena, int, p->step.n + 1);
    for (int32_t i = 0; i < (int32_t)p->step.n;) {
        const int r = run_step(&b, p->step.at[i], runs[i]++ < MOST_RUNS);
        if (r < 0)
            fail_at(STATUS_LIMIT, LOC_NONE, NULL,
                    "the run ended with code %d: %s", -r, eval_error_text(-r));
        i = r ? r - 1 : i + 1;
    }
    printf("%d steps, %d runs, %d faults\n", b.steps, b.runs, b.faults);
    if (b.faults)
        fail_now(STATUS_INTERNAL);
}

static inline void clean(void *context)
{
    compile_close(context);
}

static inline int bench_main(int argc, char **argv, Judge *judge)
{
    Options o;
    BenchRun run = { .judge = judge };
    Diag d = { .out = stderr };
    Arena words = { 0 };
    options_parse(&words, &o, argc, argv);
    compile_open(&run.compile, &o);
    protect(&d, run_model, &run);
    protect(&d, clean, &run.compile);
    arena_free(&words);
    return (int)d.status;
}

#endif
