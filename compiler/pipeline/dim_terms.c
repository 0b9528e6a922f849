/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/dim_terms.h"

#include <string.h>

#include "pipeline/numbers.h"

static const char operators[] = "+-*/";

bool dim_is_terms(const char *text)
{
    return strpbrk(text, operators) != NULL;
}

/* The sum of what is read so far: done, and the term that may go on. */
typedef struct Sum {
    int64_t done, term;
    bool known;
} Sum;

static void end_term(Sum *sum)
{
    sum->done += sum->term;
    sum->term = 0;
}

/* Each number is a dimension at most, so that no product of two is too large. */
static void keep_small(Sum *sum)
{
    const bool large = sum->term > INT32_MAX || sum->term < -INT32_MAX ||
                       sum->done > INT32_MAX || sum->done < -INT32_MAX;
    if (!large)
        return;
    *sum = (Sum){ .known = false };
}

static void take(Sum *sum, char op, int64_t factor)
{
    switch (op) {
    case '*':
        sum->term *= factor;
        break;
    case '/':
        sum->known = sum->known && factor > 0 && sum->term >= 0;
        sum->term = sum->known ? sum->term / factor : 0;
        break;
    default:
        end_term(sum);
        sum->term = op == '-' ? -factor : factor;
    }
    keep_small(sum);
}

/* A number or a name between operators, without the blanks around it. */
static const char *factor_text(Arena *arena, const char *text)
{
    text += strspn(text, " ");
    size_t length = strcspn(text, operators);
    while (length && text[length - 1] == ' ')
        length--;
    return arena_text(arena, text, length);
}

static const int64_t *factor_value(const char *factor, DimLookup *lookup,
                                   const void *context, int64_t *number)
{
    const char *end = number_read(factor, INT32_MAX, number);
    if (end && !*end)
        return number;
    return *factor ? lookup(context, factor) : NULL;
}

bool dim_terms(Arena *arena, const char *text, DimLookup *lookup,
               const void *context, int64_t *value)
{
    Sum sum = { .known = true };
    char op = '+';
    *value = -1;
    for (;;) {
        int64_t number;
        const int64_t *factor =
            factor_value(factor_text(arena, text), lookup, context, &number);
        if (!factor)
            return false;
        sum.known = sum.known && *factor >= 0;
        take(&sum, op, sum.known ? *factor : 0);
        text += strcspn(text, operators);
        if (!*text)
            break;
        op = *text++;
        text += op == '/' && *text == '/';
    }
    end_term(&sum);
    keep_small(&sum);
    if (sum.known && sum.done >= 0)
        *value = sum.done;
    return true;
}
