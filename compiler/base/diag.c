/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"

_Thread_local Diag *diag_now;

Status protect(Diag *diag, void (*body)(void *), void *context)
{
    Diag *outer = diag_now;
    jmp_buf *outer_frame = diag->frame;
    jmp_buf here;
    diag->frame = &here;
    if (outer && !diag->at.file)
        diag->at = outer->at;
    diag_now = diag;
    if (setjmp(here) == 0)
        body(context);
    diag_now = outer;
    diag->frame = outer_frame;
    return diag->status;
}

/* Model text may hold terminal escapes: everything unprintable is shown as \xNN. */
static void print_escaped(FILE *f, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '\n' || (*p >= 0x20 && *p != 0x7f && *p < 0x80))
            fputc(*p, f);
        else
            fprintf(f, "\\x%02x", *p);
    }
}

static void print_loc(FILE *f, Loc loc)
{
    if (loc.file) {
        print_escaped(f, loc.file);
        fputs(": ", f);
    }
    if (loc.byte >= 0)
        fprintf(f, "byte %" PRId64 ": ", loc.byte);
    const bool named = loc.name && *loc.name;
    if (loc.node >= 0)
        fprintf(f, "node %" PRId64 "%s", loc.node, named || loc.op ? " " : "");
    if (named) {
        fputc('"', f);
        print_escaped(f, loc.name);
        fputs(loc.op ? "\" " : "\"", f);
    }
    if (loc.op) {
        fputc('(', f);
        print_escaped(f, loc.op);
        fputc(')', f);
    }
    if (loc.node >= 0 || named || loc.op)
        fputs(": ", f);
}

/* The first error of a quiet attempt, for who made the attempt. */
static void note_why(Diag *diag, Loc loc, const char *format, va_list args)
{
    const size_t size = sizeof diag->why;
    const char *name = loc.name && *loc.name ? loc.name : NULL;
    size_t used = 0;
    if (*diag->why)
        return;
    if (loc.op)
        snprintf(diag->why, size, "%s%s%s(%s): ", name ? "\"" : "",
                 name ? name : "", name ? "\" " : "", loc.op);
    used = strlen(diag->why);
    vsnprintf(diag->why + used, size - used, format, args);
}

static void report(Loc loc, const char *kind, const char *help,
                   const char *format, va_list args)
{
    FILE *f = diag_now && diag_now->out ? diag_now->out : stderr;
    if (diag_now && diag_now->quiet) {
        if (!strcmp(kind, "error"))
            note_why(diag_now, loc, format, args);
        return;
    }
    progress_pause();
    char text[2048];
    vsnprintf(text, sizeof text, format, args);
    fputs("inlay: ", f);
    print_loc(f, loc);
    fprintf(f, "%s: ", kind);
    print_escaped(f, text);
    fputc('\n', f);
    if (help) {
        fputs("  help: ", f);
        print_escaped(f, help);
        fputc('\n', f);
    }
    progress_resume();
}

void fail_now(Status s)
{
    if (!diag_now || !diag_now->frame)
        exit((int)s);
    if (!diag_now->status)
        diag_now->status = s;
    longjmp(*diag_now->frame, 1);
}

void fail_at(Status status, Loc loc, const char *help, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(loc, "error", help, format, args);
    va_end(args);
    fail_now(status);
}

void diag_work(Loc loc)
{
    if (diag_now)
        diag_now->at = loc;
}

Loc diag_place(void)
{
    return diag_now && diag_now->at.file ? diag_now->at : LOC_NONE;
}

void fail_memory(uint64_t bytes, const char *why)
{
    fail_at(STATUS_MEMORY, diag_place(), NULL,
            "cannot allocate %" PRIu64 " bytes: %s", bytes, why);
}

void fail_overflow(void)
{
    fail_at(STATUS_MALFORMED, diag_place(),
            "check the dimensions and attributes of the model",
            "a size computed from the model is out of range");
}

void error_at(Status s, Loc loc, const char *help, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(loc, "error", help, format, args);
    va_end(args);
    if (!diag_now)
        return;
    diag_now->errors++;
    if (!diag_now->status)
        diag_now->status = s;
}

void note_at(Loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(loc, "note", NULL, format, args);
    va_end(args);
}

void warn_at(Loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(loc, "warning", NULL, format, args);
    va_end(args);
    if (diag_now)
        diag_now->warnings++;
}

void fail_if_errors(void)
{
    if (diag_now && diag_now->errors)
        fail_now(diag_now->status);
}
