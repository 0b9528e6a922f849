/* SPDX-License-Identifier: 0BSD
 * Reset of every Cortex-M: the vector table, the FPU and Helium on where there are any, and the
 * memory protection unit in the forms of ARMv7-M and ARMv8-M. */
#include "board.h"

void reset(void);

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define MPU_TYPE REGISTER(0xE000ED90u)
#define MPU_CTRL REGISTER(0xE000ED94u)
#define MPU_RNR REGISTER(0xE000ED98u)
#define MPU_RBAR REGISTER(0xE000ED9Cu)
#define MPU_RASR REGISTER(0xE000EDA0u) /* ARMv8-M: RLAR */
#define MPU_MAIR0 REGISTER(0xE000EDC0u)
#define CPACR REGISTER(0xE000ED88u)

static void barrier(void)
{
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

/* Region `number`: [base, base + 2^log2) can be read and executed, no more. */
static void read_only(uint32_t number, uint32_t base, uint32_t log2)
{
    MPU_RNR = number;
#if __ARM_ARCH >= 8
    MPU_RBAR = base | 3u << 1; /* read only for all */
    MPU_RASR = (base + ((UINT32_C(1) << log2) - 32u)) | 1u;
#else
    MPU_RBAR = base;
    MPU_RASR = 6u << 24 | (log2 - 1) << 1 | 1u; /* read only for all */
#endif
}

int protect_constants(void)
{
    if (MPU_TYPE == 0)
        return 0;
#if __ARM_ARCH >= 8
    MPU_MAIR0 = 0x44; /* normal memory, not cached */
#endif
    read_only(0, CODE_BASE, CODE_LOG2);
    read_only(1, CONST_BASE, CONST_LOG2);
    MPU_CTRL = 5; /* on; elsewhere as without it */
    barrier();
    return 1;
}

void reset(void)
{
#if defined __ARM_FP || defined __ARM_FEATURE_MVE
    CPACR |= 15u << 20; /* coprocessors 10 and 11 */
    barrier();
#endif
    start();
}

typedef void handler(void);

__attribute__((used, section(".vectors"))) static const struct {
    uint32_t *stack;
    handler *entry[15];
} vectors = {
    link_stack_top,
    { reset, fault, fault, fault, fault, fault, fault, 0, 0, 0, fault, fault, 0,
      fault, fault },
};
