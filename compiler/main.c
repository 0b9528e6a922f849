/* SPDX-License-Identifier: Apache-2.0
 * The program; cli/command_line.c is all of it. */
#include "cli/command_line.h"

int main(int argc, char **argv)
{
    return (int)command_line(argc, argv, stderr);
}
