/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/words.h"

#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "base/limits.h"
#include "base/map.h"

struct Words {
    Map code_of; /* text -> const int64_t * */
    VEC(const char *) text;
};

static Words *words_of(Store *store)
{
    if (!store->words) {
        store->words = NEW(store->arena, Words);
        store->words->code_of = map_new(store->arena);
    }
    return store->words;
}

int64_t words_code(Store *store, const char *text)
{
    Words *words = words_of(store);
    const int64_t *known = map_get(&words->code_of, text);
    if (known)
        return *known;
    if (words->text.n == LIMIT_WORDS)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE, NULL,
                "the model has more than %d different strings", LIMIT_WORDS);
    const char *kept = arena_text(store->arena, text, strlen(text));
    int64_t *code = NEW(store->arena, int64_t);
    *code = (int64_t)words->text.n;
    map_put(&words->code_of, kept, code);
    VEC_PUSH(store->arena, &words->text, kept);
    return *code;
}

const char *const *words_all(const Store *store, int64_t *count)
{
    *count = store->words ? (int64_t)store->words->text.n : 0;
    return *count ? store->words->text.at : NULL;
}

static bool is_known(const Store *store, int64_t code)
{
    int64_t count;
    (void)words_all(store, &count);
    return code >= 0 && code < count;
}

const char *words_text(Arena *arena, const Store *store, int64_t code)
{
    int64_t count;
    const char *const *word = words_all(store, &count);
    if (is_known(store, code))
        return word[code];
    return arena_printf(arena, "%" PRId64, code);
}

Recipe *words_integers(Store *store, Recipe *recipe)
{
    if (!recipe || recipe_dtype(recipe) != DT_STRING)
        return recipe;
    return recipe_bits(store, recipe, DT_I64, recipe_rank(recipe),
                       recipe_dims(recipe));
}
