/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: the words of a command line, one a line, run in a folder of its own. It holds m.onnx
 * and v.pb, a tensor for its input (the files that INLAY_FUZZ_MODEL and INLAY_FUZZ_VALUE name).
 * Words with a slash are left out: nothing outside is read or written. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command_line.h"
#include "target.h"

enum { MOST_WORDS = 24, ROOM = 4096 };

static char home[] = "/dev/shm/inlay-options-XXXXXX";

/* Everything but the two files that are there from the start. */
static void sweep(bool all)
{
    DIR *d = opendir(".");
    char command[600];
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            (!all &&
             (!strcmp(e->d_name, "m.onnx") || !strcmp(e->d_name, "v.pb"))))
            continue;
        if (!remove(e->d_name))
            continue;
        snprintf(command, sizeof command, "cd %s && rm -rf -- *", home);
        if (all && system(command))
            break;
    }
    if (d)
        closedir(d);
}

static void leave(void)
{
    sweep(true);
    rmdir(home);
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    if (!in || !out)
        abort();
    const size_t n = fread(bytes, 1, sizeof bytes, in);
    if (fwrite(bytes, 1, n, out) != n || fclose(out) || fclose(in))
        abort();
}

static void enter(void)
{
    const char *model = getenv("INLAY_FUZZ_MODEL"),
               *value = getenv("INLAY_FUZZ_VALUE");
    if (!model || !value || !mkdtemp(home) || chdir(home))
        abort();
    copy(model, "m.onnx");
    copy(value, "v.pb");
    stdout = nowhere();
    atexit(leave);
}

/* The words; how many. */
static int split(char *text, char **word)
{
    int n = 1;
    char *rest = text;
    word[0] = "inlay";
    while (n < MOST_WORDS && (word[n] = strsep(&rest, "\n")))
        n++;
    word[n] = NULL;
    return n;
}

static bool harmless(char **word)
{
    for (int i = 1; word[i]; i++)
        if (strchr(word[i], '/') || !strcmp(word[i], "-") ||
            strstr(word[i], "..") || !strcmp(word[i], "compile"))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool entered;
    char text[ROOM], *word[MOST_WORDS + 1];
    if (!entered)
        enter();
    entered = true;
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    const int n = split(text, word);
    if (!harmless(word))
        return 0;
    const Status status = command_line(n, word, nowhere());
    if (status != STATUS_CANNOT_CREATE)
        judge(status);
    sweep(false);
    return 0;
}
