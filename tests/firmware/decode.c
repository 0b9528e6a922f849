/* SPDX-License-Identifier: 0BSD
 * Decodes the weights of each step of a model that is compiled with --code-weights, its pieces one
 * after the other and without its kernel, between the markers of icount.c. Compiled with the
 * generated source in it, whose tables are its own. */
#include "net.c"

#include "board.h"
#include "semihosting.h"

static union {
    unsigned char bytes[NET_ARENA_SIZE];
    double align;
} arena __attribute__((aligned(NET_ARENA_ALIGN)));

static __attribute__((noinline)) void decode(void *const *base,
                                             const inlay_step *step)
{
    const inlay_decoding *decoding = (const inlay_decoding *)step->params;
    inlay_fetching fetching = { 0 };
    int32_t piece;
    fetching.pieces = decoding->pieces;
    fetching.base = base;
    fetching.step = step;
    __asm__ volatile("mov r10, r10" ::: "memory");
    for (piece = 0; piece < decoding->pieces->pieces; piece++)
        inlay_decode_piece(&fetching, decoding, piece);
    __asm__ volatile("mov r11, r11" ::: "memory");
}

int main(void)
{
    void *base[BASES] = { 0 };
    size_t i;
    base[BASE_WEIGHTS] = (void *)(uintptr_t)net_weights_data;
    base[BASE_ARENA] = arena.bytes;
    for (i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].run == inlay_decoded)
            decode(base, steps + i);
    return 0;
}
