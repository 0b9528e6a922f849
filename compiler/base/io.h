/* SPDX-License-Identifier: Apache-2.0
 * File access in one place: positioned reads with exact lengths, scattered
 * writes, and output folders that appear whole or not at all.
 * Failures end in fail_at() with the file's name and the documented status. */
#ifndef INLAY_BASE_IO_H
#define INLAY_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* How input files are reached: read through windows (the memory promise holds), or read whole.
 * Files are never mapped: another process that shortens one would end this one by a signal. */
typedef enum LoadMode { LOAD_STREAM, LOAD_EAGER } LoadMode;

typedef struct File File;
struct File {
    const char *path; /* as shown in messages; borrowed */
    int fd;
    uint64_t size;
    const uint8_t *whole; /* the content in LOAD_EAGER, else NULL */
    uint64_t bytes_read, bytes_written;
    const Arena *arena; /* these two are io.c's: the list of open files */
    File *next;
};

/* Opens a regular file for reading: status 66 if there is none, 65 if it is no regular file, 74 if
 * it cannot be read. The File lives in the arena; its descriptor is closed by file_close(). */
File *file_open(Arena *arena, const char *path, LoadMode mode);
void file_close(File *file);
/* Is there something at that path? */
bool file_exists(const char *path);
/* The same in two steps, for who opens it himself: memory is taken before there is a descriptor, so
 * that none is lost where there is no memory. */
File *file_new(Arena *arena, const char *path);
void file_take(File *file, Arena *arena, int fd, LoadMode mode);
/* Closes what is still open of the Files of arena `a`, as after a failure; before arena_free(). */
void file_close_all(const Arena *arena);
/* Closes it without ever failing; what close() returned. */
int file_release(File *file);
/* Reads exactly n bytes at offset `at`; what lies beyond the end is malformed (65), a read that
 * fails or finds the file shorter than when it was opened is 74. */
void file_read(File *file, uint64_t at, void *to, size_t n);
/* An unnamed temporary file (TMPDIR) for data that does not fit the window. */
File *file_temporary(Arena *arena);
/* A new file of that name, or an old one that is emptied: status 73 where there can be none. */
File *file_create(Arena *arena, const char *path);
/* Writes exactly n bytes at offset `at`. */
void file_write(File *file, uint64_t at, const void *from, size_t n);

/* Bytes that went through all files of this thread since it began: read from them,
 * and written, temporary files and standard input included. */
typedef struct IoCount {
    uint64_t read, written;
} IoCount;
IoCount io_count(void);
/* Bytes that came from elsewhere: a pipe. */
void io_count_read(uint64_t n);

/* An output folder under construction: files are written to a hidden folder beside `dir`, which
 * takes its place by output_commit(); until then `dir` is as it was. What others have in `dir`
 * stays. */
typedef struct Output Output;
Output *output_begin(Arena *arena, const char *dir);
/* One in TMPDIR for files that nobody keeps: it ends with output_abort(). The path of such a file,
 * for other programs. */
Output *output_begin_temporary(Arena *arena);
const char *output_temporary(Output *output, const char *name);
/* Creates DIR/name (name may hold OUTPUT_DEEPEST folders: "examples/x/x.h"); they are made as
 * needed. Status 73. */
enum { OUTPUT_DEEPEST = 4 };
File *output_create(Output *output, const char *name);
/* A whole text file at once. */
void output_text(Output *output, const char *name, const char *text,
                 size_t length);
/* May a file be called so? */
bool output_takes(const char *name);
/* A file that was created and closed, to be read; before output_commit(). */
File *output_reopen(Output *output, const char *name);
/* A file as it was written. The sum is of its first and last 64 KiB: enough to see that it was
 * changed, at any size. */
typedef struct Written {
    const char *name;
    uint64_t bytes;
    char sum[17];
} Written;
/* File number i of those created so far, which are closed; false: there are no more. */
bool output_written(Output *output, size_t i, Written *written);
/* The beginning of a text file of DIR, at most `most` bytes; NULL: there is none. */
char *output_former(Output *output, const char *name, size_t most);
/* Does DIR itself hold a file whose name ends so, but for those of the list (ended by NULL)? */
bool output_has_other(Output *output, const char *ending,
                      const char *const *own);
/* Does DIR hold something of that name? Is it the file as it was written? */
bool output_there(Output *output, const char *name);
bool output_is_still(Output *output, const Written *written);
/* DIR holds a file of an earlier compile: output_commit() removes it, unless it is written again or
 * is not as it was. */
void output_forget(Output *output, const Written *written);
void output_commit(Output *output);
/* Removes what was written, after a failure; safe to call at any time, also after output_commit().
 */
void output_abort(Output *output);

#endif
