/* SPDX-License-Identifier: Apache-2.0
 * The program; cli/command_line.c is all of it. */
#include <stdio.h>

#include "base/process.h"
#include "base/signals.h"
#include "cli/command_line.h"

int main(int argc, char **argv)
{
    process_begin(&argc, &argv);
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* not a call for each letter */
    signals_install();
    return (int)command_line(argc, argv, stderr);
}
