/* SPDX-License-Identifier: Apache-2.0
 * One line on stderr, where that is a terminal, about what takes longer than half a second. A timer
 * writes it: whatever the program is busy with need not know. It goes before a message is printed,
 * and at the end. */
#ifndef INLAY_BASE_PROGRESS_H
#define INLAY_BASE_PROGRESS_H

#include <stdint.h>

/* Between these two the line may appear; not where stderr is no terminal. */
void progress_begin(void);
void progress_end(void);
/* What is done from now on: "planning". The text is borrowed; NULL: nothing. */
void progress_doing(const char *what);
/* How far it is with bytes of something: "of weights written". Done is all: it goes on without. */
void progress_bytes(const char *what, uint64_t done, uint64_t all);
/* The line goes, and does not come back before it is let: a message is printed between the two. */
void progress_pause(void);
void progress_resume(void);

#endif
