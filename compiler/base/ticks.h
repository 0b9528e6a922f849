/* SPDX-License-Identifier: Apache-2.0
 * A clock that calls a function while the program is busy with something else. ticks.c is for
 * POSIX, ticks_windows.c for Windows. */
#ifndef INLAY_BASE_TICKS_H
#define INLAY_BASE_TICKS_H

#include <stdbool.h>

/* Called in a handler of signals or in another thread: it may do hardly anything but write(). */
typedef void Tick(void *context);

/* From now on ticks_every() counts; false: there is no such clock. One at a time. */
bool ticks_begin(Tick *tick, void *context);
/* The first call after so many milliseconds, the next ones after `next` each; 0 and 0: none. */
void ticks_every(int first, int next);
void ticks_end(void);

#endif
