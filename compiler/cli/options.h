/* SPDX-License-Identifier: Apache-2.0
 * One table of commands and one of options. A row says for which commands an option is and which
 * values it takes; the parser, --help and `inlay help --json` read the same rows. Whatever a
 * command would not use is refused with status 64. */
#ifndef INLAY_CLI_OPTIONS_H
#define INLAY_CLI_OPTIONS_H

#include "cli/values.h"
#include "pipeline/compile.h"

typedef void CommandFn(Compile *c);

typedef struct Command {
    const char *name;
    const char *operand; /* "" none, "[X]" one or none, "X Y" two, "X..." any */
    const char *what;
    CommandFn *run;
} Command;

typedef enum OptionKind {
    OPTION_FLAG,  /* int: 1 */
    OPTION_TEXT,  /* const char * */
    OPTION_LIST,  /* const char **, ended by NULL: may be given several times */
    OPTION_BYTES, /* const long long * */
    OPTION_CHOICE, /* int: the place in `choice`, from `first` on */
    OPTION_SET, /* int: a bit for each place in `choice` that is named, by commas */
    OPTION_HELP,
    OPTION_VERSION,
} OptionKind;

typedef struct OptionRow {
    const char *name;
    char letter; /* 0: none */
    OptionKind kind;
    uint32_t commands; /* a bit for each command, by its place in the table */
    size_t at;         /* in Options */
    const char *value; /* what --help calls it; NULL: takes none */
    const char *const *choice; /* ended by NULL; NULL: free text */
    int first;
    OptionCheck *check; /* may be NULL */
    const char *what;
} OptionRow;

/* What holds between two options of a command; NULL: of every command that has both. */
typedef struct OptionRule {
    const char *command, *option;
    /* "first|second": one of two will do; `value` is the first's */
    const char *other;
    enum { RULE_NEEDS, RULE_EXCLUDES } kind;
    /* of the other, a choice, or some: "blob|stream"; NULL: any */
    const char *value;
} OptionRule;

const Command *command_rows(int *count);
const OptionRow *option_rows(int *count);
const OptionRule *option_rules(int *count);
/* Does it decide what the code is, rather than how files are read or what is said of it? */
bool option_shapes(const OptionRow *row);
/* May it stand with a model in a list of `check`? */
bool option_of_entry(const OptionRow *row);
/* Is it about one model: its name, its tensors? Behind one of several models it is for that one. */
bool option_of_model(const OptionRow *row);

/* Parses. Misuse fails with 64; --help and --version are commands as well. Text in `options` is
 * argv's, lists are the arena's. */
const Command *options_parse(Arena *arena, Options *options, int argc,
                             char *const *argv);

/* The commands. */
CommandFn cmd_compile, cmd_analyze, cmd_check, cmd_diff, cmd_steps, cmd_run,
    cmd_test, cmd_ops, cmd_dump, cmd_passes, cmd_place, cmd_prove, cmd_explain,
    cmd_help, cmd_version, cmd_weights;
/* run: the values of --input, one for each input of the model. */
void **run_inputs(Compile *compile);

#endif
