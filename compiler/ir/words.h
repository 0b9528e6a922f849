/* SPDX-License-Identifier: Apache-2.0
 * The words of a model. No string reaches the device: a word is computed as its code, an int64
 * that counts from 0 in the order in which words are met. Equal words are equal codes,
 * and whoever calls the model finds code and word in the generated header.
 *
 * An element of DT_STRING is such a code; lowering makes it DT_I64. */
#ifndef INLAY_IR_WORDS_H
#define INLAY_IR_WORDS_H

#include "ir/recipe.h"

/* The code of a word, new or not; `text` is copied. Too many words fail with 69. */
int64_t words_code(Store *store, const char *text);
/* All words by their codes, the store's; *count of them. */
const char *const *words_all(const Store *store, int64_t *count);
/* The word of a code, or the number itself as text where no word has it. */
const char *words_text(Arena *arena, const Store *store, int64_t code);
/* Codes as the integers that they are: DT_I64 of the same shape; others as they are. */
Recipe *words_integers(Store *store, Recipe *recipe);

#endif
