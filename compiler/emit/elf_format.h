/* SPDX-License-Identifier: Apache-2.0
 * The parts of an ELF object that elf.c writes, as the System V ABI lays them out (chapter 4);
 * hosts that use another format have no <elf.h>. Numbers are little-endian, as the host's are. */
#ifndef INLAY_EMIT_ELF_FORMAT_H
#define INLAY_EMIT_ELF_FORMAT_H

#include <stdint.h>

enum { ELF_IDENTS = 16, ELF_CLASS_32 = 1, ELF_CLASS_64 = 2, ELF_LITTLE = 1 };
enum { ELF_VERSION = 1, ELF_RELOCATABLE = 1 };

typedef enum ElfMachineNumber {
    ELF_ARM = 40,
    ELF_X86_64 = 62,
    ELF_AARCH64 = 183,
    ELF_RISCV = 243,
} ElfMachineNumber;

typedef enum ElfSectionType {
    ELF_PROGBITS = 1,
    ELF_SYMTAB = 2,
    ELF_STRTAB = 3,
    ELF_NOTE = 7,
} ElfSectionType;

enum { ELF_ALLOC = 2 }; /* flag of a section that is in memory at run time */

/* A symbol that other objects see, of data. */
enum { ELF_GLOBAL_OBJECT = 1 << 4 | 1 };

typedef struct ElfHeader32 {
    uint8_t ident[ELF_IDENTS];
    uint16_t type, machine;
    uint32_t version, entry, program_headers, sections, flags;
    uint16_t header_bytes, program_header_bytes, program_header_count;
    uint16_t section_bytes, section_count, names;
} ElfHeader32;

typedef struct ElfHeader64 {
    uint8_t ident[ELF_IDENTS];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_headers, sections;
    uint32_t flags;
    uint16_t header_bytes, program_header_bytes, program_header_count;
    uint16_t section_bytes, section_count, names;
} ElfHeader64;

typedef struct ElfSection32 {
    uint32_t name, type, flags, address, offset, size, link, info, align;
    uint32_t entry_bytes;
} ElfSection32;

typedef struct ElfSection64 {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t align, entry_bytes;
} ElfSection64;

typedef struct ElfSymbol32 {
    uint32_t name, value, size;
    uint8_t info, other;
    uint16_t section;
} ElfSymbol32;

typedef struct ElfSymbol64 {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, size;
} ElfSymbol64;

_Static_assert(sizeof(ElfHeader32) == 52 && sizeof(ElfHeader64) == 64 &&
                   sizeof(ElfSection32) == 40 && sizeof(ElfSection64) == 64 &&
                   sizeof(ElfSymbol32) == 16 && sizeof(ElfSymbol64) == 24,
               "bytes of the format");

#endif
