/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/state_offers.h"

#include <ctype.h>
#include <string.h>

/* A word of a name that tells its side, or its time, and not what it is. */
static bool is_side_word(const char *word)
{
    static const char *const words[] = {
        "in",       "input", "inputs",  "old",     "prev",
        "previous", "past",  "out",     "output",  "outputs",
        "new",      "next",  "present", "updated", "n",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

/* Appends the word, in lower case, to what is left of the name. */
static void keep_word(char *stem, const char *word, size_t length)
{
    const size_t begin = strlen(stem);
    char *to = stem + begin;
    for (size_t i = 0; i < length; i++)
        to[i] = (char)tolower((unsigned char)word[i]);
    to[length] = 0;
    if (is_side_word(to))
        *to = 0;
    else
        strcat(to, " ");
}

static size_t word_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]))
        n++;
    /* "hN", "stateN": N for the new one */
    if (n > 1 && text[n - 1] == 'N' && islower((unsigned char)text[n - 2]))
        n--;
    return n;
}

/* What is left of a name without the words that tell its side, each word with a blank behind. */
static const char *stem_of(Arena *arena, const char *name)
{
    char *stem = NEW_ARRAY(arena, char, 2 * strlen(name) + 2);
    while (*name) {
        const size_t n = word_length(name);
        if (n)
            keep_word(stem, name, n);
        name += n ? n : 1;
    }
    return stem;
}

static bool is_alike(const Tensor *out, const Tensor *in)
{
    return out->dtype == in->dtype && !out->sequence && !in->sequence &&
           !out->dynamic && shape_equal(&out->shape, &in->shape) &&
           in->shape.rank > 1;
}

typedef struct Sides {
    const Graph *graph;
    const char **in, **out; /* stems */
    size_t results;
} Sides;

static bool says_the_same(const Sides *sides, size_t out, size_t in)
{
    const char *stem = sides->out[out];
    return *stem && !strcmp(stem, sides->in[in]);
}

/* How many inputs have the shape of the result, and how many results that of the input. */
static size_t count_alike(const Sides *sides, size_t out, size_t in)
{
    const Graph *graph = sides->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->input.n; i++)
        count += is_alike(graph->output.at[out], graph->input.at[i]);
    for (size_t i = 0; i < sides->results; i++)
        count += is_alike(graph->output.at[i], graph->input.at[in]);
    return count;
}

/* The first input is what the network is for. */
static bool are_alone(const Sides *sides, size_t out, size_t in)
{
    return in && sides->results > 1 && count_alike(sides, out, in) == 2;
}

typedef bool IsPair(const Sides *sides, size_t out, size_t in);

static const char **stems_of(Arena *arena, Tensor *const *tensor, size_t n)
{
    const char **stem = NEW_ARRAY(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        stem[i] = stem_of(arena, tensor[i]->name);
    return stem;
}

/* The first input that is left and makes a pair with the result. */
static void offer(const Sides *sides, IsPair *is_pair, bool *taken, size_t out,
                  StateOffers *offers)
{
    const Graph *graph = sides->graph;
    for (size_t in = 0; in < graph->input.n; in++) {
        const StateOffer found = {
            .out = graph->output.at[out],
            .in = graph->input.at[in],
        };
        if (taken[in] || !is_alike(found.out, found.in) ||
            !is_pair(sides, out, in))
            continue;
        VEC_PUSH(graph->arena, offers, found);
        taken[in] = true;
        return;
    }
}

static StateOffers list_offers(const Sides *sides, IsPair *is_pair)
{
    const Graph *graph = sides->graph;
    StateOffers offers = { 0 };
    bool *taken = NEW_ARRAY(graph->arena, bool, graph->input.n + 1);
    for (size_t out = 0; out < sides->results; out++)
        offer(sides, is_pair, taken, out, &offers);
    if (offers.n == graph->input.n)
        offers.n = 0;
    return offers;
}

StateOffers state_offers(const Graph *graph)
{
    Arena *arena = graph->arena;
    const size_t results = graph_results(graph);
    const Sides sides = {
        .graph = graph,
        .in = stems_of(arena, graph->input.at, graph->input.n),
        .out = stems_of(arena, graph->output.at, results),
        .results = results,
    };
    if (graph->state.n)
        return (StateOffers){ 0 };
    const StateOffers offers = list_offers(&sides, says_the_same);
    return offers.n ? offers : list_offers(&sides, are_alone);
}
