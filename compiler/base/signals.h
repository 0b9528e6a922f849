/* SPDX-License-Identifier: Apache-2.0
 * Signals that end the program: what it has half done is removed first, and then the signal does
 * what it would have done. */
#ifndef INLAY_BASE_SIGNALS_H
#define INLAY_BASE_SIGNALS_H

/* For programs, once at their start: INT, TERM, HUP, QUIT, PIPE, XCPU and XFSZ, those of them that
 * are not ignored. */
void signals_install(void);

/* From now on folder `name` of the open folder `in` is removed by a signal; one at a time. */
void signals_guard(int in, const char *name);
void signals_unguard(void);
/* Signals wait until they are let in again; twice is as once. */
void signals_hold(void);
void signals_let(void);

#endif
