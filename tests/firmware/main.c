/* SPDX-License-Identifier: 0BSD
 * One inference on a bare core. Saves the outputs as files out0, out1, ..., prints the stack that
 * the run took, and ends with its code. case.h, which the test writes, names the model, its
 * inputs and its outputs. Instructions between the two markers are the run. */
#include "board.h"
#include "case.h"
#include "semihosting.h"

enum { PAINT = 0x5AFEC0DE, RUBBISH = 0xA5, GUARD = 16 };

/* Rubbish at first: the content of the arena before a run does not matter. */
static union {
    unsigned char bytes[CASE_ARENA_SIZE + GUARD];
    double align[2];
} arena __attribute__((aligned(CASE_ARENA_ALIGN)));

/* Instructions that do nothing, which no compiler makes: count.c looks for them. */
static inline void mark_begin(void)
{
#if defined __arm__
    __asm__ volatile("mov r10, r10" ::: "memory");
#else
    __asm__ volatile("slti x0, x0, 0x35" ::: "memory");
#endif
}

static inline void mark_end(void)
{
#if defined __arm__
    __asm__ volatile("mov r11, r11" ::: "memory");
#else
    __asm__ volatile("slti x0, x0, 0x36" ::: "memory");
#endif
}

/* Runs the model; *stack: the bytes below this function's own frame that it touched. */
static __attribute__((noinline)) int run(uint32_t *stack)
{
    volatile uint32_t *p;
    uint32_t *top;
    int code;
#if defined __arm__
    __asm__ volatile("mov %0, sp" : "=r"(top));
#else
    __asm__ volatile("mv %0, sp" : "=r"(top));
#endif
    for (p = link_stack; p < top; p++)
        *p = PAINT;
    mark_begin();
    code = case_run(arena.bytes, &case_in, &case_out);
    mark_end();
    for (p = link_stack; p < top && *p == PAINT; p++) {
    }
    *stack = (uint32_t)((uintptr_t)top - (uintptr_t)p);
    return code;
}

#ifdef CASE_SELFTEST
/* The self-test, and the word of each step, a line each. */
static int selftest(void)
{
    static uint32_t word[CASE_STEPS];
    const int code = CASE_SELFTEST(arena.bytes, word);
    uint32_t i;
    for (i = 0; i < CASE_STEPS; i++) {
        semi_hex(word[i]);
        semi_text("\n");
    }
    return code;
}

#endif
int main(void)
{
    uint32_t i;
    uint32_t stack;
    int code;
    for (i = 0; i < sizeof arena.bytes; i++)
        arena.bytes[i] = RUBBISH;
    if (protect_constants())
        semi_text("protected\n");
#ifdef CASE_WRITES_WEIGHTS
    /* The test of the test: this must not come back. */
    *(volatile unsigned char *)(uintptr_t)CASE_WRITES_WEIGHTS = 1;
    semi_text("written\n");
#endif
    code = run(&stack);
#ifdef CASE_SELFTEST
    if (!code)
        code = selftest();
#endif
    for (i = CASE_ARENA_SIZE; i < sizeof arena.bytes; i++)
        if (arena.bytes[i] != RUBBISH)
            code = 94;
    if (!case_save())
        code = 95;
    semi_text("stack");
    semi_hex(stack);
    semi_text("\n");
    return code;
}
