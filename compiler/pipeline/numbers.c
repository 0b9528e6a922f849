/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/numbers.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

const char *number_read(const char *text, int64_t most, int64_t *number)
{
    const char *digit = text;
    *number = 0;
    for (; isdigit((unsigned char)*digit); digit++) {
        const int value = *digit - '0';
        if (*number > (most - value) / 10)
            return NULL;
        *number = *number * 10 + value;
    }
    return digit == text ? NULL : digit;
}

const char *bytes_read(const char *text, long long *bytes)
{
    static const char letters[] = "KMG";
    const int64_t most = (INT64_C(1) << 50) - 1;
    int64_t number;
    const char *end = number_read(text, most, &number);
    if (!end)
        return NULL;
    const char *letter =
        *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    for (const char *l = letters; letter && l <= letter; l++) {
        if (number > most / 1024)
            return NULL;
        number *= 1024;
    }
    *bytes = number;
    return end + (letter != NULL);
}
