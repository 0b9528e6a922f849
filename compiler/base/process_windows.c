/* SPDX-License-Identifier: Apache-2.0
 * Paths are UTF-16 here, and a program's words one line. */
#include "base/process.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/io_windows.h"
/* Behind <windows.h>. */
#include <psapi.h>
#include <shellapi.h>

static void use_slashes(char *text)
{
    for (; *text; text++)
        if (*text == '\\')
            *text = '/';
}

/* In memory of the C library, or NULL. */
static char *utf8_of(const wchar_t *wide)
{
    const int room =
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = room > 0 ? malloc((size_t)room) : NULL;
    if (text)
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, room, NULL, NULL);
    return text;
}

/* The words stay until the program ends; where memory is short the C library's are taken. */
static void read_words(int *words, char ***word)
{
    int n = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &n);
    char **made = wide ? calloc((size_t)n + 1, sizeof *made) : NULL;
    for (int i = 0; made && i < n; i++) {
        made[i] = utf8_of(wide[i]);
        if (!made[i])
            return;
        use_slashes(made[i]);
    }
    LocalFree(wide);
    if (!made)
        return;
    *words = n;
    *word = made;
}

void process_begin(int *words, char ***word)
{
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    SetConsoleOutputCP(CP_UTF8);
    read_words(words, word);
}

bool process_path(char *to, size_t room)
{
    wchar_t wide[IO_WIDE_PATH];
    const DWORD n = GetModuleFileNameW(NULL, wide, IO_WIDE_PATH);
    if (!n || n >= IO_WIDE_PATH)
        return false;
    return WideCharToMultiByte(CP_UTF8, 0, wide, -1, to, (int)room, NULL,
                               NULL) > 0;
}

/* The interpreter of commands takes off the outer quotes of its line. */
int process_run(Arena *arena, const char *command, const char *const *word)
{
    const char *line = arena_printf(arena, "\"%s", command);
    for (; *word; word++)
        line = arena_printf(arena, "%s \"%s\"", line, *word);
    return system(arena_printf(arena, "%s 1>&2\"", line));
}

uint64_t process_peak_resident(void)
{
    PROCESS_MEMORY_COUNTERS counters;
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters))
        return 0;
    return counters.PeakWorkingSetSize;
}
