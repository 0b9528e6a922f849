/* SPDX-License-Identifier: 0BSD
 * Runs the model once on made-up inputs, and says whether it gives what it should. model_golden.h
 * shows how a run is called. */
#include <stdio.h>

#include "model_golden.h"

#if MODEL_PRINTS_SUMS
#ifdef MODEL_SELFTEST
static uint32_t sums[MODEL_STEPS + 1];
static MODEL_ARENA_ATTR unsigned char room[MODEL_ARENA_SIZE + MODEL_ARENA_ALIGN];

/* The word of each step, a line each: `inlay steps model_name.json FILE` reads them. */
static int selftest(void)
{
    unsigned char *arena = room;
    int status;
    size_t i;
    while ((uintptr_t)arena % MODEL_ARENA_ALIGN != 0)
        arena++;
    status = model_selftest(arena, sums);
    for (i = 0; i != MODEL_STEPS; i++)
        printf("%08lx\n", (unsigned long)sums[i]);
    return status;
}

#endif
#endif
int main(void)
{
#if MODEL_PRINTS_SUMS
#ifdef MODEL_SELFTEST
    const int tested = selftest();
    if (tested)
        return 1;
#endif
#endif
    const int status = model_golden();
    printf("model_name: %s (%d)\n", status ? "WRONG" : "right", status);
    return status != 0;
}
