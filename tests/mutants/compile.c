/* SPDX-License-Identifier: Apache-2.0
 * Runs command lines that standard input names, one a line: NAME LOG and the words of the command,
 * parted by blanks. Each runs in a process of its own, forked from this one, so that a fault ends
 * only that one; messages go to LOG. Prints one line each: NAME, how it ended (its status, or minus
 * the signal), milliseconds of CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command_line.h"

enum { CPU_SECONDS = 20, WORDS = 64 };

static int split(char *line, char **word)
{
    int n = 0;
    char *rest = line;
    while (n < WORDS - 1 && (word[n] = strtok_r(rest, " \n", &rest)))
        n++;
    word[n] = NULL;
    return n;
}

static _Noreturn void child(int argc, char *const *argv, const char *log)
{
    const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
    if (!freopen(log, "w", stderr) || setrlimit(RLIMIT_CPU, &cpu))
        _exit(STATUS_IO);
    const Status status = command_line(argc, argv, stderr);
    fflush(stderr);
    _exit((int)status);
}

static long milliseconds(const struct rusage *r)
{
    return (r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1000 +
           (r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1000;
}

static void wait_for(pid_t process, const char *name)
{
    struct rusage used;
    int how;
    if (wait4(process, &how, 0, &used) != process)
        exit(STATUS_IO);
    printf("%s %d %ld\n", name, WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how),
           milliseconds(&used));
    fflush(stdout);
}

int main(void)
{
    static char line[4096], *word[WORDS];
    while (fgets(line, sizeof line, stdin)) {
        const int words = split(line, word);
        if (words < 3)
            return STATUS_USAGE;
        const pid_t process = fork();
        if (process < 0)
            return STATUS_IO;
        if (!process)
            child(words - 1, word + 1, word[1]); /* LOG stands where the program's name does */
        wait_for(process, word[0]);
    }
    return 0;
}
