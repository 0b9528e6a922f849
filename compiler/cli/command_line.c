/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_line.h"

#include "base/progress.h"
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
    Job *job = context;
    const Command *command =
        options_parse(&job->arena, &job->options, job->argc, job->argv);
    compile_open(&job->compile, &job->options);
    command->run(&job->compile);
}

static void close_all(void *context)
{
    compile_close(context);
}

/* A gate that does not hold has its verdict printed; what fails prints nothing. */
static void send(void *context)
{
    const Compile *compile = context;
    pieces_send(&compile->results, stdout);
}

Status command_line(int argc, char *const *argv, FILE *messages)
{
    Job job = { .argc = argc, .argv = argv };
    Diag diag = { .out = messages };
    const Status status = protect(&diag, run, &job);
    progress_end();
    if (status == STATUS_OK || status == STATUS_LIMIT)
        protect(&diag, send, &job.compile);
    diag.at = LOC_NONE;
    protect(&diag, close_all, &job.compile);
    file_close_all(&job.arena);
    arena_free(&job.arena);
    return diag.status;
}
