/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/rewrite.h"

#include <string.h>

#include "passes/passes.h"
#include "pipeline/open_dims.h"
#include "pipeline/preprocess.h"

static bool is_left_out(const Options *options, const PassRow *pass)
{
    if (pass->required)
        return false;
    for (const char **name = options->without; name && *name; name++)
        if (!strcmp(*name, pass->name))
            return true;
    return false;
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
    settle_inputs(compile);
    preprocess_inputs(compile);
    for (; count--; pass++) {
        if (!is_left_out(compile->options, pass))
            run_pass(compile->graph, pass);
        if (is_last(compile->options, pass))
            return;
    }
}
