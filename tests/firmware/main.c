/* SPDX-License-Identifier: 0BSD
 * One inference on a Cortex-M4: prints the outputs as words, the stack it took, and ends with
 * run()'s code. case.h, which the test writes, names the model and holds the input. */
#include <stdint.h>

#include "case.h"
#include "semihosting.h"

uint32_t stack_used(void);

/* Rubbish at first: the content of the arena before a run does not matter. */
static union {
    unsigned char bytes[CASE_ARENA_SIZE + 16];
    double align[2];
} arena __attribute__((aligned(CASE_ARENA_ALIGN)));
static float result[CASE_OUT];

static uint32_t word(float v)
{
    union {
        float f;
        uint32_t u;
    } x;
    x.f = v;
    return x.u;
}

int main(void)
{
    static const case_inputs in = { case_input };
    const case_outputs out = { result };
    uint32_t i;
    int code;
    for (i = 0; i < sizeof arena.bytes; i++)
        arena.bytes[i] = 0xA5;
    code = case_run(arena.bytes, &in, &out);
    for (i = CASE_ARENA_SIZE; i < sizeof arena.bytes; i++)
        if (arena.bytes[i] != 0xA5)
            code = 94;
    semi_text("result");
    for (i = 0; i < CASE_OUT; i++) {
        semi_text(" ");
        semi_hex(word(result[i]));
    }
    semi_text("\nstack ");
    semi_hex(stack_used());
    semi_text("\n");
    return code;
}
