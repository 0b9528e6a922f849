/* SPDX-License-Identifier: Apache-2.0
 * check: models against limits, one compile after the other. */
#include "base/json_memory.h"
#include "cli/budgets.h"
#include "cli/options.h"
#include "ir/traffic.h"
#include "pipeline/code_size.h"
#include "pipeline/limits.h"

_Static_assert((int)FIGURE_MACS == (int)SIZE_LIMITS,
               "the first figures are the sizes that limits.h knows");

/* One model's compile, which may fail alone. */
typedef struct Trial {
    const Budget *budget;
    Verdict *verdict;
    Compile compile;
} Trial;

static void measure(void *context)
{
    Trial *trial = context;
    Compile *compile = &trial->compile;
    Figure *figure = trial->verdict->figure;
    SizeLimit limits[SIZE_LIMITS];
    compile_open(compile, &trial->budget->options);
    compile_to(compile, STAGE_LAYOUT);
    size_limits(compile, limits);
    for (int i = 0; i < SIZE_LIMITS; i++) {
        figure[i].value = limits[i].bytes;
        figure[i].unknown = limits[i].unknown;
    }
    figure[FIGURE_MACS].value = (uint64_t)program_macs(compile->program);
    figure[FIGURE_TRAFFIC].value = (uint64_t)program_traffic(compile->program);
    figure[FIGURE_CODE].unknown = !compile->options->cc;
    if (compile->options->cc)
        figure[FIGURE_CODE].value = code_size(compile);
}

static void close_trial(void *context)
{
    compile_close(context);
}

static Verdict check_one(Compile *outer, const Budget *budget)
{
    Verdict verdict = { .model = budget->model };
    Trial trial = { .budget = budget, .verdict = &verdict };
    Diag diag = { .out = diag_now->out };
    verdict.status = (int)protect(&diag, measure, &trial);
    protect(&diag, close_trial, &trial.compile);
    json_memory_use(&outer->store.scratch);
    /* Without memory the verdicts cannot be written either: one message is enough. */
    if (verdict.status == STATUS_MEMORY)
        fail_now(STATUS_MEMORY);
    for (int i = 0; i < FIGURES && !verdict.status; i++) {
        verdict.figure[i].limited = budget->limited[i];
        verdict.figure[i].most = budget->most[i];
    }
    return verdict;
}

static bool any_limit(const Budgets *budgets)
{
    for (size_t i = 0; i < budgets->n; i++)
        for (int k = 0; k < FIGURES; k++)
            if (budgets->at[i].limited[k])
                return true;
    return false;
}

/* That of the one model where it does not compile; of several one is a fault like any other. */
static Status status_of(const Verdicts *verdicts)
{
    if (verdicts->n == 1 && verdicts->at->status)
        return (Status)verdicts->at->status;
    return STATUS_LIMIT;
}

static void complain(Arena *arena, const Verdict *verdict)
{
    const Loc loc = { .file = verdict->model, .byte = -1, .node = -1 };
    for (int i = 0; i < FIGURES; i++)
        if (!figure_holds(verdict->figure + i))
            error_at(STATUS_LIMIT, loc, NULL, "%s",
                     verdict_complaint(arena, verdict, i));
}

void cmd_check(Compile *compile)
{
    const Options *options = compile->options;
    Arena *arena = &compile->arena;
    Budgets budgets = budgets_read(arena, options);
    if (options->baseline)
        budgets_baseline(arena, options->baseline, &budgets);
    if (!any_limit(&budgets) && !options->json && !options->format)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "check needs --max-arena, --max-weights, --max-ram, "
                "--max-stack, --max-macs, --max-traffic, --max-code, "
                "--baseline or @budgets.json");
    Verdict *verdict = NEW_ARRAY(arena, Verdict, budgets.n + 1);
    for (size_t i = 0; i < budgets.n; i++)
        verdict[i] = check_one(compile, budgets.at + i);
    const Verdicts verdicts = { verdict, budgets.n };
    verdicts_print(&compile->results, &verdicts,
                   options->json ? FORMAT_JSON : options->format);
    if (verdicts_hold(&verdicts))
        return;
    for (size_t i = 0; i < budgets.n; i++)
        complain(arena, verdict + i);
    fail_now(status_of(&verdicts));
}
