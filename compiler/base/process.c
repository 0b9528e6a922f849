/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A block of at least so many bytes goes back to the system when it is freed. */
enum { LARGE_BLOCK = 128 * 1024 };

/* Left alone, glibc keeps blocks as large as the largest that was freed, up to 32 MiB: memory that
 * one stage has done with would be held beside that of the next. */
static void return_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
#endif
}

void process_begin(int *words, char ***word)
{
    (void)words;
    (void)word;
    return_freed_memory();
}

bool process_path(char *to, size_t room)
{
#ifdef __APPLE__
    uint32_t length = (uint32_t)room;
    return !_NSGetExecutablePath(to, &length);
#else
    static const char link[] = "/proc/self/exe";
    if (room < sizeof link)
        return false;
    memcpy(to, link, sizeof link);
    return true;
#endif
}

/* POSIX has no header that declares it. */
extern char **environ;

/* What a shell says of a command that it cannot run. */
enum { NOT_RUN = 127 };

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return NOT_RUN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_RUN;
}

int process_run(Arena *arena, const char *command, const char *const *word)
{
    enum { SHELL_WORDS = 4, MOST_WORDS = 16 };
    char *all[SHELL_WORDS + MOST_WORDS + 1] = {
        "sh", "-c", arena_printf(arena, "%s \"$@\"", command), "sh"
    };
    posix_spawn_file_actions_t actions;
    pid_t child;
    for (int i = 0; i < MOST_WORDS && word[i]; i++)
        all[SHELL_WORDS + i] = arena_text(arena, word[i], strlen(word[i]));
    if (posix_spawn_file_actions_init(&actions))
        return NOT_RUN;
    const bool made =
        !posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
                                          STDOUT_FILENO) &&
        !posix_spawn(&child, "/bin/sh", &actions, NULL, all, environ);
    posix_spawn_file_actions_destroy(&actions);
    return made ? wait_for(child) : NOT_RUN;
}

/* The kernel's own high-water mark of this program's memory; 0: it has none. getrusage() would also
 * count what the process held before it became this program: a parent that forks passes its size
 * on. */
static uint64_t high_water(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

uint64_t process_peak_resident(void)
{
    struct rusage usage;
    const uint64_t peak = high_water();
    if (peak)
        return peak;
    if (getrusage(RUSAGE_SELF, &usage))
        return 0;
#ifdef __APPLE__
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}
