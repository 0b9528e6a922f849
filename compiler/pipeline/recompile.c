/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/recompile.h"

#include "base/json_memory.h"

void recompile_open(const Compile *beside, Recompile *again, Stage last)
{
    again->last = last;
    again->options = *beside->options;
    again->options.quiet = 1;
    again->options.hash_model = 0;
    beside->call->open(&again->compile, &again->options);
    again->compile.given = beside->given;
}

static void run_stages(void *context)
{
    Recompile *again = context;
    again->compile.call->to(&again->compile, again->last);
}

Status recompile_run(Recompile *again, bool quiet)
{
    Diag diag = { .out = diag_now->out, .quiet = quiet };
    return protect(&diag, run_stages, again);
}

static void close_compile(void *context)
{
    Recompile *again = context;
    again->compile.call->close(&again->compile);
}

void recompile_close(Compile *beside, Recompile *again)
{
    Diag diag = { .out = diag_now->out };
    protect(&diag, close_compile, again);
    json_memory_use(&beside->store.scratch);
}
