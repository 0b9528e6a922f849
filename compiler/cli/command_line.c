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

/* A gate that does not hold has its verdict printed; what fails prints nothing. */
static void send(void *context)
{
    const Compile *c = context;
    pieces_send(&c->results, stdout);
}

Status command_line(int argc, char *const *argv, FILE *messages)
{
    Job j = { .argc = argc, .argv = argv };
    Diag d = { .out = messages };
    const Status status = protect(&d, run, &j);
    if (status == STATUS_OK || status == STATUS_LIMIT)
        protect(&d, send, &j.compile);
    protect(&d, close_all, &j.compile);
    arena_free(&j.arena);
    return d.status;
}
