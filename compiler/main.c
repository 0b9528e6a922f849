/* SPDX-License-Identifier: Apache-2.0
 * The program; cli/command_line.c is all of it. */
#include "base/signals.h"
#include "cli/command_line.h"

int main(int argc, char **argv)
{
    signals_install();
    return (int)command_line(argc, argv, stderr);
}
