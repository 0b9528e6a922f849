/* SPDX-License-Identifier: Apache-2.0
 * The timer's handler may call hardly anything: it makes the line itself and writes it. */
#include "base/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"

enum { FIRST = 500, NEXT = 100, LINE = 160 }; /* milliseconds; bytes */
static const char CLEAR[] = "\r\033[K";

static _Thread_local bool begun;
/* Written outside of the handler, read in it: it may see the old or the new of each. */
typedef struct Line {
    volatile sig_atomic_t shown, paused;
    const char *volatile what;
    const char *volatile bytes;      /* NULL: none */
    volatile sig_atomic_t done, all; /* MiB */
    volatile sig_atomic_t ticks;     /* since `what` began, each of NEXT */
} Line;
static _Thread_local Line line;

static size_t put_text(char *to, size_t at, const char *text)
{
    while (*text && at < LINE)
        to[at++] = *text++;
    return at;
}

static size_t put_number(char *to, size_t at, int value)
{
    char digits[12];
    size_t n = sizeof digits - 1;
    digits[n] = 0;
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    return put_text(to, at, digits + n);
}

/* "writing the code and the weights: 37 % of 120 MiB of weights written, 4 s " */
static size_t put_line(char *to, const Line *of)
{
    const int seconds = (int)(((long)of->ticks * NEXT + FIRST + NEXT) / 1000);
    size_t at = put_text(to, 0, CLEAR);
    at = put_text(to, at, of->what);
    if (of->bytes) {
        at = put_text(to, at, ": ");
        at = put_number(to, at, (int)((long)of->done * 100 / of->all));
        at = put_text(to, at, " % of ");
        at = put_number(to, at, of->all);
        at = put_text(to, at, " MiB ");
        at = put_text(to, at, of->bytes);
    }
    at = put_text(to, at, ", ");
    at = put_number(to, at, seconds);
    return put_text(to, at, " s ");
}

static void tick(void *context)
{
    Line *of = context;
    const Line seen =
        *of; /* where ticks are another thread's, it changes meanwhile */
    char text[LINE];
    if (!seen.what || seen.paused)
        return;
    of->ticks = seen.ticks + 1;
    of->shown = 1;
    if (write(STDERR_FILENO, text, put_line(text, &seen)) < 0)
        of->what = NULL;
}

void progress_begin(void)
{
    if (begun || !isatty(STDERR_FILENO))
        return;
    line.what = NULL;
    begun = ticks_begin(tick, &line);
}

static void clear(void)
{
    if (line.shown && write(STDERR_FILENO, CLEAR, sizeof CLEAR - 1) < 0)
        line.what = NULL;
    line.shown = 0;
}

void progress_pause(void)
{
    line.paused = 1;
    clear();
}

void progress_resume(void)
{
    line.paused = 0;
}

void progress_doing(const char *what)
{
    if (!begun)
        return;
    line.what = NULL;
    clear();
    line.bytes = NULL;
    line.ticks = 0;
    line.what = what;
    if (what)
        ticks_every(FIRST, NEXT);
    else
        ticks_every(0, 0);
}

void progress_bytes(const char *what, uint64_t done, uint64_t all)
{
    const uint64_t mib = 1 << 20;
    line.bytes = NULL;
    if (!begun || done >= all || all < mib || all / mib > INT32_MAX)
        return;
    line.done = (sig_atomic_t)(done / mib);
    line.all = (sig_atomic_t)(all / mib);
    line.bytes = what;
}

void progress_end(void)
{
    if (!begun)
        return;
    progress_doing(NULL);
    ticks_end();
    begun = false;
}
