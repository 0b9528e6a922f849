/* SPDX-License-Identifier: 0BSD
 * Reset of a RISC-V core in machine mode: gp, sp, the FPU on, traps to fault(); read-only memory
 * by physical memory protection. */
#include "board.h"
#include "semihosting.h"

void reset(void);

/* What marks a semihosting call is not compressed and lies in one page. */
__attribute__((naked, noinline, aligned(16))) uintptr_t
semi_call(uintptr_t operation, const void *block)
{
    (void)operation;
    (void)block;
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop\n"
                     "ret");
}

/* What covers [base, base + 2^log2), as an address register of the protection says it. */
static uintptr_t power_of_two(uintptr_t base, uint32_t log2)
{
    return base >> 2 | ((((uintptr_t)1 << log2) - 1) >> 3);
}

int protect_constants(void)
{
    /* locked, so that it binds machine mode too; a power of two; read and execute */
    const uintptr_t entry = 0x80u | 3u << 3 | 5u;
    const uintptr_t code = power_of_two(CODE_BASE, CODE_LOG2);
    const uintptr_t constants = power_of_two(CONST_BASE, CONST_LOG2);
    __asm__ volatile("csrw pmpaddr0, %0" ::"r"(code));
    __asm__ volatile("csrw pmpaddr1, %0" ::"r"(constants));
    __asm__ volatile("csrw pmpcfg0, %0" ::"r"(entry | entry << 8));
    __asm__ volatile("sfence.vma" ::: "memory");
    return 1;
}

__attribute__((naked, used, section(".vectors"))) void reset(void)
{
    __asm__ volatile(".option push\n"
                     ".option norelax\n"
                     "la gp, __global_pointer$\n"
                     ".option pop\n"
                     "la sp, link_stack_top\n"
                     "la t0, fault\n"
                     "csrw mtvec, t0\n"
                     "li t0, 0x6600\n" /* mstatus: FPU and vectors */
                     "csrs mstatus, t0\n"
                     "j start");
}
