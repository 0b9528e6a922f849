/* SPDX-License-Identifier: Apache-2.0
 * One option table feeds the parser and --help; one command table names what can be done. */
#ifndef INLAY_CLI_OPTIONS_H
#define INLAY_CLI_OPTIONS_H

#include "compile.h"

typedef void CommandFn(Compile *c);

typedef struct Command {
    const char *name, *operand, *what;
    CommandFn *run;
    bool reads_model; /* the operand is a model; the Compile is open when run() is called */
} Command;

const Command *command_find(const char *name); /* NULL: none */
const Command *command_rows(int *count);

/* Parses; prints help or version and leaves with 0 where asked. Leaves with 64 on misuse.
 * Text in `o` is owned by the process (popt) and lives until its end. */
const Command *options_parse(Options *o, int argc, const char **argv);

/* The commands. */
CommandFn cmd_compile, cmd_analyze, cmd_check, cmd_run, cmd_ops, cmd_dump, cmd_place, cmd_prove;
/* run: the values of --input, one for each input of the model. */
void **run_inputs(Compile *c);

#endif
