/* SPDX-License-Identifier: 0BSD
 * One inference on a Cortex-M4 under `-icount shift=0`: prints a sum over the bits of the outputs
 * and the ticks it took, one for every 40 instructions. case.h, which the benchmark writes, names
 * the model and holds the input. */
#include <stdint.h>

#include "case.h"
#include "semihosting.h"

uint32_t stack_used(void);

static union {
    unsigned char bytes[CASE_ARENA_SIZE + 16];
    double align[2];
} arena __attribute__((aligned(CASE_ARENA_ALIGN)));
static float result[CASE_OUT];

int main(void)
{
    static const case_inputs in = { case_input };
    const case_outputs out = { result };
    volatile uint32_t *const control = (volatile uint32_t *)0xE000E010u,
                             *const reload = control + 1,
                             *const value = control + 2;
    const unsigned char *bytes = (const unsigned char *)result;
    uint32_t i, sum = 2166136261u, ticks;
    int code;
    *reload = 0xFFFFFFu;
    *value = 0;
    *control = 5; /* on, by the processor's clock */
    ticks = *value;
    code = case_run(arena.bytes, &in, &out);
    ticks = (ticks - *value) & 0xFFFFFFu;
    for (i = 0; i < sizeof result; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    semi_text("sum ");
    semi_hex(sum);
    semi_text(" ticks ");
    semi_hex(ticks);
    semi_text(" stack ");
    semi_hex(stack_used());
    semi_text("\n");
    return code;
}
