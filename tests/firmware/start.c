/* SPDX-License-Identifier: 0BSD
 * Start-up of a Cortex-M4F without any library: the vector table, the FPU, .data and .bss, a
 * painted stack. Faults end the run with status 97. */
#include <stdint.h>

#include "semihosting.h"

extern uint32_t link_data_load[], link_data[], link_data_end[], link_bss[],
    link_bss_end[], link_stack[], link_stack_top[];

int main(void);
void reset(void);
uint32_t stack_used(void);

enum { PAINT = 0x5AFEC0DE };

void reset(void)
{
    volatile uint32_t *const cpacr = (volatile uint32_t *)0xE000ED88u;
    const uint32_t *from = link_data_load;
    uint32_t *p;
    *cpacr |= 15u << 20; /* coprocessors 10 and 11: the FPU */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    /* This frame lies at the top; what is below is free. */
    for (p = link_stack; p < (uint32_t *)__builtin_frame_address(0) - 32; p++)
        *p = PAINT;
    for (p = link_data; p < link_data_end; p++)
        *p = *from++;
    for (p = link_bss; p < link_bss_end; p++)
        *p = 0;
    semi_exit((uint32_t)main());
}

/* Bytes of stack touched since reset. */
uint32_t stack_used(void)
{
    const uint32_t *p = link_stack;
    while (p < link_stack_top && *p == PAINT)
        p++;
    return (uint32_t)((uintptr_t)link_stack_top - (uintptr_t)p);
}

static void fault(void)
{
    semi_text("fault\n");
    semi_exit(97);
}

typedef void handler(void);

__attribute__((used, section(".vectors"))) static const struct {
    uint32_t *stack;
    handler *entry[15];
} vectors = {
    link_stack_top,
    { reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0,
      fault, fault },
};
