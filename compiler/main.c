/* SPDX-License-Identifier: Apache-2.0
 * The command line: parse, run one command inside the protect() frame, clean up, say how it went.
 */
#include <stdlib.h>

#include "cli/options.h"

typedef struct Job {
    const Command *command;
    const Options *options;
    Compile compile;
} Job;

static void run(void *context)
{
    Job *j = context;
    compile_open(&j->compile, j->options);
    if (j->command->reads_model)
        compile_read(&j->compile);
    j->command->run(&j->compile);
}

static void flush(void *context)
{
    (void)context;
    if (fflush(stdout) || ferror(stdout))
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write to standard output");
}

static void close_all(void *context)
{
    compile_close(context);
}

int main(int argc, char **argv)
{
    Options o;
    Diag d = { .out = stderr };
    Job j = { .command = options_parse(&o, argc, (const char **)argv), .options = &o };
    protect(&d, run, &j);
    protect(&d, close_all, &j.compile);
    protect(&d, flush, NULL);
    return (int)d.status;
}
