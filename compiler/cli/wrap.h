/* SPDX-License-Identifier: Apache-2.0
 * Words in lines, for what is read on a terminal. */
#ifndef INLAY_CLI_WRAP_H
#define INLAY_CLI_WRAP_H

#include "emit/text.h"

/* Puts `words` into lines between two columns, and ends the last one; the text has reached column
 * `left`. */
void put_wrapped(Text *text, const char *words, int left, int right);

#endif
