/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bytes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *bytes_read(const char *text, long long *bytes)
{
    static const char letters[] = "KMG";
    const long long most = 1ll << 50;
    char *end;
    errno = 0;
    *bytes = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : -1;
    if (*bytes < 0 || errno)
        return NULL;
    const char *letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    for (const char *l = letters; letter && l <= letter && *bytes < most; l++)
        *bytes *= 1024;
    return *bytes < most ? end + (letter != NULL) : NULL;
}
