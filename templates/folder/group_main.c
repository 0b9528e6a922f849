/* SPDX-License-Identifier: 0BSD
 * Runs each model once on made-up inputs, and says whether it gives what it should. The headers
 * ..._golden.h show how a run is called. */
#include <stdio.h>

//@ headers {
#include "kws_golden.h"
//@ }

#define TEST(model) failed |= report(#model, model##_golden())

static int report(const char *name, int status)
{
    printf("%s: %s (%d)\n", name, status ? "WRONG" : "right", status);
    return status != 0;
}

int main(void)
{
    int failed = 0;
//@ tests {
    TEST(kws);
//@ }
    return failed;
}
