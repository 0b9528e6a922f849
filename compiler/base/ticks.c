/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ticks.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static _Thread_local struct {
    Tick *call;
    void *context;
    struct sigaction before;
} ticks;

static void on_alarm(int number)
{
    const int error = errno;
    (void)number;
    ticks.call(ticks.context);
    errno = error;
}

bool ticks_begin(Tick *tick, void *context)
{
    struct sigaction ours = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigemptyset(&ours.sa_mask);
    ticks.call = tick;
    ticks.context = context;
    return !sigaction(SIGALRM, &ours, &ticks.before);
}

void ticks_every(int first, int next)
{
    const struct itimerval timer = {
        .it_interval = { 0, next * 1000 },
        .it_value = { 0, first * 1000 },
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

void ticks_end(void)
{
    ticks_every(0, 0);
    sigaction(SIGALRM, &ticks.before, NULL);
}
