/* SPDX-License-Identifier: 0BSD
 * One loop, y[i] = INLAY_FORMULA for all i < n. Before it is included:
 *
 *   INLAY_LOOP        the name of the function
 *   INLAY_Y           the type of y
 *   INLAY_ARGUMENTS   its further arguments
 *   INLAY_LET         statements before the formula, where there are any
 *   INLAY_FORMULA     in terms of i and of those
 *
 * Where there are vectors, elements go in blocks that compilers turn into them even if the result
 * overwrites an operand: a block is read whole before it is written. */
#ifndef INLAY_LET
#define INLAY_LET (void)0
#endif

INLAY_INLINE void INLAY_LOOP(INLAY_Y *y, int32_t n, INLAY_ARGUMENTS)
{
    int32_t done = 0;
#ifdef INLAY_BLOCK
    for (; done + INLAY_BLOCK <= n; done += INLAY_BLOCK) {
        INLAY_Y block[INLAY_BLOCK];
        int32_t k;
        INLAY_ROLLED
        for (k = 0; k < INLAY_BLOCK; k++) {
            const int32_t i = done + k;
            INLAY_LET;
            block[k] = (INLAY_Y)(INLAY_FORMULA);
        }
        memcpy(y + done, block, sizeof block);
    }
#endif
    for (; done < n; done++) {
        const int32_t i = done;
        INLAY_LET;
        y[i] = (INLAY_Y)(INLAY_FORMULA);
    }
}

#undef INLAY_LOOP
#undef INLAY_ARGUMENTS
#undef INLAY_LET
