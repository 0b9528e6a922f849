/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_line.h"

#include "cli/options.h"

typedef struct Job {
    int argc;
    char *const *argv;
    Arena arena; /* of the options */
    Options options;
    Compile compile;
} Job;

static void run(void *context)
{
    Job *j = context;
    const Command *command = options_parse(&j->arena, &j->options, j->argc, j->argv);
    compile_open(&j->compile, &j->options);
    if (command->reads_model)
        compile_read(&j->compile);
    command->run(&j->compile);
}

static void close_all(void *context)
{
    compile_close(context);
}

static void flush(void *context)
{
    (void)context;
    if (fflush(stdout) || ferror(stdout))
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write to standard output");
}

Status command_line(int argc, char *const *argv, FILE *messages)
{
    Job j = { .argc = argc, .argv = argv };
    Diag d = { .out = messages };
    protect(&d, run, &j);
    protect(&d, close_all, &j.compile);
    protect(&d, flush, NULL);
    arena_free(&j.arena);
    return d.status;
}
