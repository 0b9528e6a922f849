/* SPDX-License-Identifier: Apache-2.0
 * Errors: one located format, one way out.
 * fail_at() and its kin collect the message and jump to the protect() frame of
 * the compile; nothing but the arena owns memory, so nothing leaks. The user's
 * file is wrong: fail. Our code is wrong: assert. */
#ifndef INLAY_BASE_DIAG_H
#define INLAY_BASE_DIAG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of the contract. */
typedef enum Status {
    STATUS_OK = 0,
    STATUS_LIMIT =
        1, /* a limit or comparison that was asked for does not hold */
    STATUS_USAGE = 64,
    STATUS_MALFORMED = 65,
    STATUS_NO_INPUT = 66,
    STATUS_UNSUPPORTED = 69,
    STATUS_INTERNAL = 70,
    STATUS_MEMORY = 71,
    STATUS_CANNOT_CREATE = 73,
    STATUS_IO = 74,
    STATUS_CONFIG = 78,
} Status;

/* Where in the user's input an error lies. Unset parts are NULL or -1. */
typedef struct Loc {
    const char *file;
    int64_t byte;     /* offset in the file */
    int64_t node;     /* index in the graph's file order */
    const char *name; /* of the node or tensor */
    const char *op;   /* operator type */
} Loc;

#define LOC_NONE ((Loc){ .byte = -1, .node = -1 })

typedef struct Diag {
    jmp_buf *frame; /* where fail_at() returns to */
    Status status;  /* of the first failure */
    FILE *out;      /* messages go here: stderr */
    bool quiet; /* nothing is printed: an attempt whose failure is an answer */
    int errors, warnings;
    Loc at;        /* of diag_work() */
    char why[256]; /* what a quiet attempt did not print: its first error */
} Diag;

/* The Diag that fail_...() reports to; set by protect(). One compile runs at a time in a thread. */
extern _Thread_local Diag *diag_now;

/* What is worked at from here on: failures that know no place of their own name it. */
void diag_work(Loc loc);
/* That, or LOC_NONE. */
Loc diag_place(void);

/* Runs body(context); 0 or the status of the failure that ended it. Frames may nest. */
Status protect(Diag *diag, void (*body)(void *), void *context);

/* Print and leave: "inlay: FILE: node 12 "conv1" (Conv): text" and, after a line "help: ", the
 * remedy. `help` may be NULL. The format's text is trusted, its arguments are escaped as they are
 * printed. */
_Noreturn void fail_at(Status status, Loc loc, const char *help,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void fail_memory(uint64_t bytes, const char *why);
_Noreturn void fail_overflow(void);

/* Print one of several errors and go on; leave with fail_now() when the phase is complete. */
void error_at(Status status, Loc loc, const char *help, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* For what the user may want otherwise, and need not. */
void note_at(Loc loc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void warn_at(Loc loc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Leaves if an error was reported. */
void fail_if_errors(void);
/* Leaves with status, the message having been printed already. */
_Noreturn void fail_now(Status status);

#endif
