/* SPDX-License-Identifier: Apache-2.0
 * A timer of Windows' own threads. */
#include "base/ticks.h"

#include "base/io_windows.h"

typedef struct Ticks {
    Tick *call;
    void *context;
    HANDLE timer;
} Ticks;
static _Thread_local Ticks ticks;

/* Consoles take the sequence that clears a line when they are asked to. */
static void ask_for_sequences(void)
{
    const HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode = 0;
    if (GetConsoleMode(console, &mode))
        SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

bool ticks_begin(Tick *tick, void *context)
{
    ask_for_sequences();
    ticks.call = tick;
    ticks.context = context;
    return true;
}

static void CALLBACK on_timer(void *own, BOOLEAN fired)
{
    const Ticks *of = own;
    (void)fired;
    of->call(of->context);
}

void ticks_every(int first, int next)
{
    if (ticks.timer)
        DeleteTimerQueueTimer(NULL, ticks.timer, INVALID_HANDLE_VALUE);
    ticks.timer = NULL;
    if (first)
        CreateTimerQueueTimer(&ticks.timer, NULL, on_timer, &ticks,
                              (DWORD)first, (DWORD)next, WT_EXECUTEDEFAULT);
}

void ticks_end(void)
{
    ticks_every(0, 0);
}
