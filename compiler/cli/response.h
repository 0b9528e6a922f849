/* SPDX-License-Identifier: Apache-2.0
 * Response files: a word @FILE stands for the words in that file, which blanks and line ends
 * separate; quotes of both kinds and backslashes are as in a shell. A file may name further ones.
 * @NAME.json stays as it is, a list of models of `check`; behind "--" all words do. */
#ifndef INLAY_CLI_RESPONSE_H
#define INLAY_CLI_RESPONSE_H

#include "base/arena.h"

typedef struct Words {
    char *const *at; /* ended by NULL */
    int n;
    const char *const *file; /* those that were read, ended by NULL */
} Words;

Words response_words(Arena *arena, int argc, char *const *argv);

#endif
