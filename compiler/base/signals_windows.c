/* SPDX-License-Identifier: Apache-2.0
 * Windows tells a console's program of Ctrl-C, of its window being closed and of the session's end
 * in a thread of its own: what is guarded is known to all threads. */
#include "base/signals.h"

#include <string.h>

#include "base/folder.h"
#include "base/io_windows.h"

/* Held by whoever changes what is guarded, and by the handler until the program has ended. */
static CRITICAL_SECTION lock;
static struct {
    bool set;
    int in;
    char name[HIDDEN_NAME];
} guarded;
static _Thread_local bool holding;
static bool installed;

static BOOL WINAPI clean_and_end(DWORD event)
{
    (void)event;
    EnterCriticalSection(&lock);
    if (guarded.set)
        folder_remove(guarded.in, guarded.name);
    ExitProcess(STATUS_CONTROL_C_EXIT);
}

void signals_install(void)
{
    InitializeCriticalSection(&lock);
    installed = SetConsoleCtrlHandler(clean_and_end, TRUE);
}

void signals_hold(void)
{
    if (installed && !holding)
        EnterCriticalSection(&lock);
    holding = true;
}

void signals_let(void)
{
    if (installed && holding)
        LeaveCriticalSection(&lock);
    holding = false;
}

void signals_guard(int in, const char *name)
{
    const bool held = holding;
    signals_hold();
    guarded.in = in;
    strncpy(guarded.name, name, sizeof guarded.name - 1);
    guarded.set = true;
    if (!held)
        signals_let();
}

void signals_unguard(void)
{
    guarded.set = false;
}
