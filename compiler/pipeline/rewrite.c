/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/rewrite.h"

#include <string.h>

#include "ir/family.h"
#include "passes/passes.h"
#include "pipeline/banks.h"
#include "pipeline/open_dims.h"
#include "pipeline/preprocess.h"
#include "pipeline/recompute.h"
#include "schedule/options.h"

static bool is_named(const char *const *name, const char *pass)
{
    for (; name && *name; name++)
        if (!strcmp(*name, pass))
            return true;
    return false;
}

/* It makes steps of more rows, which are of use in streams alone. */
static bool goes_layer_by_layer(const Options *options)
{
    return (PlanGoal)options->optimize == PLAN_SPEED && !options->max_arena;
}

bool rewrite_buys_time(const Options *options)
{
    return goes_layer_by_layer(options) && !options->max_weights &&
           !options->window && !options->code_weights;
}

const char *const *rewrite_without(const Compile *compile)
{
    const Options *options = compile->options;
    const char **name = options->without;
    size_t n = 0;
    if (!goes_layer_by_layer(options) || is_named(name, "heads"))
        return name;
    while (name && name[n])
        n++;
    const char **all = NEW_ARRAY(compile->graph->arena, const char *, n + 2);
    for (size_t i = 0; i < n; i++)
        all[i] = name[i];
    all[n] = "heads";
    return all;
}

/* Passes that look at one graph at a time run on every subgraph too, inner ones first. */
static void run_pass(Graph *root, const PassRow *pass)
{
    if (pass->whole) {
        pass->run(root);
        return;
    }
    for (size_t i = root->all.n; i-- > 0;)
        if (!graph_gone(root->all.at[i]))
            pass->run(root->all.at[i]);
}

static bool is_last(const Options *options, const PassRow *pass)
{
    return options->dump_after && !strcmp(options->dump_after, pass->name);
}

void rewrite_graph(Compile *compile)
{
    int count;
    const PassRow *pass = pass_rows(&count);
    const char *const *without = rewrite_without(compile);
    const Family *family = family_of_target(compile->options->target);
    settle_inputs(compile);
    preprocess_inputs(compile);
    banks_choose(compile);
    recompute_choose(compile);
    compile->graph->banks = *compile->banks;
    compile->graph->recompute = compile->recompute;
    compile->graph->float_shorts = family->float_vectors;
    for (; count--; pass++) {
        if (pass->required || !is_named(without, pass->name))
            run_pass(compile->graph, pass);
        if (is_last(compile->options, pass))
            return;
    }
}
