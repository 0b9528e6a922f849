/* SPDX-License-Identifier: Apache-2.0
 * The handler runs in the one thread of the program, which is the one that guards a folder. */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/folder.h"

static const int ending[] = { SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                              SIGPIPE, SIGXCPU, SIGXFSZ };
enum { ENDING = sizeof ending / sizeof *ending };

static _Thread_local bool holding;
static _Thread_local sigset_t before; /* then: what is restored */
static _Thread_local struct {
    volatile sig_atomic_t set;
    int in;
    char name[HIDDEN_NAME];
} guarded;

static void clean_and_end(int number)
{
    const int error = errno;
    if (guarded.set) {
        guarded.set = 0;
        folder_remove(guarded.in, guarded.name);
    }
    /* It is blocked here: its own action takes place when the handler returns. */
    signal(number, SIG_DFL);
    raise(number);
    errno = error;
}

void signals_install(void)
{
    struct sigaction now;
    struct sigaction ours = { .sa_handler = clean_and_end };
    sigfillset(&ours.sa_mask);
    for (int i = 0; i < ENDING; i++)
        if (!sigaction(ending[i], NULL, &now) && now.sa_handler == SIG_DFL)
            sigaction(ending[i], &ours, NULL);
}

void signals_guard(int in, const char *name)
{
    guarded.set = 0;
    guarded.in = in;
    strncpy(guarded.name, name, sizeof guarded.name - 1);
    guarded.set = 1;
}

void signals_unguard(void)
{
    guarded.set = 0;
}

void signals_hold(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < ENDING; i++)
        sigaddset(&set, ending[i]);
    if (!holding)
        sigprocmask(SIG_BLOCK, &set, &before);
    holding = true;
}

void signals_let(void)
{
    if (holding)
        sigprocmask(SIG_SETMASK, &before, NULL);
    holding = false;
}
