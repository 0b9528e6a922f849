/* SPDX-License-Identifier: 0BSD
 * Text, files and exit status through the debugger (semihosting of Arm and RISC-V), for firmware
 * under qemu. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stddef.h>
#include <stdint.h>

enum {
    SEMI_OPEN = 0x01,
    SEMI_CLOSE = 0x02,
    SEMI_WRITE0 = 0x04,
    SEMI_WRITE = 0x05,
    SEMI_READ = 0x06,
    SEMI_SEEK = 0x0A,
    SEMI_EXIT_EXTENDED = 0x20
};

/* How a file is opened: "rb" and "wb". */
enum { SEMI_READ_BINARY = 1, SEMI_WRITE_BINARY = 5 };

#if defined __arm__
static inline uintptr_t semi_call(uintptr_t operation, const void *block)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
#else
/* start_riscv.c: the three instructions may not lie across a page. */
uintptr_t semi_call(uintptr_t operation, const void *block);
#endif

static inline void semi_text(const char *text)
{
    semi_call(SEMI_WRITE0, text);
}

/* " " and eight hexadecimal digits. */
static inline void semi_hex(uint32_t value)
{
    char text[10];
    int i;
    text[0] = ' ';
    for (i = 8; i > 0; i--) {
        text[i] = "0123456789abcdef"[value & 15u];
        value >>= 4;
    }
    text[9] = 0;
    semi_text(text);
}

static inline void semi_exit(uint32_t status)
{
    /* the application has ended by itself */
    const uintptr_t block[2] = { 0x20026u, status };
    semi_call(SEMI_EXIT_EXTENDED, block);
    for (;;) {
    }
}

/* A file in the folder of the emulator, to be read; (uintptr_t)-1: there is none. */
static inline uintptr_t semi_open(const char *path, size_t path_length)
{
    const uintptr_t name[3] = { (uintptr_t)path, SEMI_READ_BINARY,
                                path_length };
    return semi_call(SEMI_OPEN, name);
}

/* Reads n bytes of a file at byte `at`; returns 0 if that did not work. */
static inline int semi_read(uintptr_t file, size_t at, void *to, size_t n)
{
    const uintptr_t place[2] = { file, at };
    const uintptr_t content[3] = { file, (uintptr_t)to, n };
    return !semi_call(SEMI_SEEK, place) && !semi_call(SEMI_READ, content);
}

/* Writes a file in the folder of the emulator; returns 0 if that did not work. */
static inline int semi_save(const char *path, size_t path_length,
                            const void *data, size_t bytes)
{
    const uintptr_t name[3] = { (uintptr_t)path, SEMI_WRITE_BINARY,
                                path_length };
    const uintptr_t file = semi_call(SEMI_OPEN, name);
    const uintptr_t content[3] = { file, (uintptr_t)data, bytes };
    const uintptr_t left = semi_call(SEMI_WRITE, content);
    semi_call(SEMI_CLOSE, &file);
    return file != (uintptr_t)-1 && left == 0;
}

#endif
