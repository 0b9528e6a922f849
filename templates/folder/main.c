/* SPDX-License-Identifier: 0BSD
 * Runs the model once on made-up inputs, and says whether it gives what it should. model_golden.h
 * shows how a run is called. */
#include <stdio.h>

#include "model_golden.h"

int main(void)
{
    const int status = model_golden();
    printf("model_name: %s (%d)\n", status ? "WRONG" : "right", status);
    return status != 0;
}
