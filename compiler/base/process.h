/* SPDX-License-Identifier: Apache-2.0
 * What the system knows of the program that runs. process.c is for POSIX, process_windows.c for
 * Windows. */
#ifndef INLAY_BASE_PROCESS_H
#define INLAY_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* The first thing a program does. Its words become UTF-8 with '/' between folders, and what it
 * reads and writes is bytes, where the system has other customs. */
void process_begin(int *words, char ***word);
/* The path of its file, of less than `room` bytes; false: it is not known. */
bool process_path(char *to, size_t room);
/* Runs a command, written as for the system's shell, with these words behind it (ended by NULL);
 * what it prints goes to standard error. Its exit status, 0: it is well; 127: there is none. */
int process_run(Arena *arena, const char *command, const char *const *word);
/* The most memory that it has had in RAM, in bytes; 0: it is not known. */
uint64_t process_peak_resident(void);

#endif
