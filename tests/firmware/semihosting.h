/* SPDX-License-Identifier: 0BSD
 * Text and exit status through the debugger (Arm semihosting), for firmware under qemu. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

enum { SEMI_WRITE0 = 0x04, SEMI_EXIT_EXTENDED = 0x20 };

static inline uint32_t semi_call(uint32_t operation, const void *block)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static inline void semi_text(const char *s)
{
    semi_call(SEMI_WRITE0, s);
}

/* Eight hexadecimal digits. */
static inline void semi_hex(uint32_t v)
{
    char text[9];
    int i;
    for (i = 7; i >= 0; i--, v >>= 4)
        text[i] = "0123456789abcdef"[v & 15u];
    text[8] = 0;
    semi_text(text);
}

static inline void semi_exit(uint32_t status)
{
    const uint32_t block[2] = {
        0x20026u, status
    }; /* the application has ended by itself */
    semi_call(SEMI_EXIT_EXTENDED, block);
    for (;;) {
    }
}

#endif
