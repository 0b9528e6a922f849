/* SPDX-License-Identifier: Apache-2.0
 * How many random cases a test tries: INLAY_CASES, or the usual number. */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include <stdlib.h>

static inline int cases(int usual)
{
    const char *n = getenv("INLAY_CASES");
    return n ? atoi(n) : usual;
}

#endif
