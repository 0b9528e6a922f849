/* SPDX-License-Identifier: Apache-2.0
 * Words of a run in the forms of files: cells of text, and the letters of NumPy's texts. */
#ifndef INLAY_CLI_WORD_FILES_H
#define INLAY_CLI_WORD_FILES_H

#include "cli/file_values.h"

/* Code points. */
typedef struct Letters {
    uint32_t *at;
    int64_t n;
} Letters;

/* Four little-endian bytes each, zeros behind the last one; the word's code. */
int64_t word_of_letters(Arena *arena, Store *store, const char *path,
                        const char *at, int64_t most);
Letters word_letters(Arena *arena, const Store *store, int64_t code);

#endif
