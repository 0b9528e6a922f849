/* SPDX-License-Identifier: Apache-2.0
 * A command line from its words to its exit status. */
#ifndef INLAY_CLI_COMMAND_LINE_H
#define INLAY_CLI_COMMAND_LINE_H

#include "base/diag.h"

/* Parses, runs one command, frees all. Results go to stdout, messages to `messages`. */
Status command_line(int argc, char *const *argv, FILE *messages);

#endif
