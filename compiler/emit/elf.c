/* SPDX-License-Identifier: Apache-2.0
 * The object says that it needs no executable stack and does not stand in the way
 * of branch protection (the property is the AND over all objects of a program). */
#include "emit/elf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"

enum { DATA_AT = 64, LARGE_SECTION = 0x10000000 };
#define NEAR_LIMIT \
    (UINT64_C(0x7fffffff) - 0xffff) /* code reaches 2 GiB less its own size */

struct ElfMachine {
    const char *name;
    uint16_t machine;
    int bits;
    uint32_t flags;
    uint32_t property; /* type of the feature-AND property, 0: none */
    uint32_t features;
};

static const ElfMachine machines[] = {
    { "x86-64", EM_X86_64, 64, 0, 0xc0000002, 3 },   /* IBT, SHSTK */
    { "aarch64", EM_AARCH64, 64, 0, 0xc0000000, 7 }, /* BTI, PAC, GCS */
    { "arm", EM_ARM, 32, 0x05000000, 0,
      0 }, /* EABI 5; no float ABI, as there is no code */
    { "riscv32", EM_RISCV, 32, 0, 0, 0 },
    { "riscv64", EM_RISCV, 64, 0, 0, 0 },
};

static const char *host_name(void)
{
#if defined __aarch64__
    return "aarch64";
#elif defined __arm__
    return "arm";
#elif defined __riscv
    return sizeof(void *) == 8 ? "riscv64" : "riscv32";
#else
    return "x86-64";
#endif
}

const ElfMachine *elf_machine(const char *name)
{
    if (!name)
        name = host_name();
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (!strcmp(machines[i].name, name))
            return machines + i;
    return NULL;
}

void elf_check(const ElfMachine *m, uint64_t bytes)
{
    if (bytes <= NEAR_LIMIT || m->machine == EM_X86_64)
        return;
    fail_at(STATUS_UNSUPPORTED, LOC_NONE, "use --weights=bin and map the file",
            "weights above 2 GiB cannot be linked from an object file on %s",
            m->name);
}

uint64_t elf_data_offset(void)
{
    return DATA_AT;
}

/* --- layout --- */

enum {
    S_NULL,
    S_DATA,
    S_NOTE,
    S_STACK,
    S_SYMBOLS,
    S_STRINGS,
    S_NAMES,
    SECTIONS
};

typedef struct Object {
    File *file;
    const ElfMachine *m;
    uint64_t at; /* end of what is written */
    Elf64_Shdr section[SECTIONS];
    char names[256];
    uint32_t names_n;
} Object;

static uint64_t put(Object *object, const void *bytes, size_t n, uint64_t align)
{
    const uint64_t at = (object->at + align - 1) / align * align;
    file_write(object->file, at, bytes, n);
    object->at = at + n;
    return at;
}

static void name_section(Object *object, int i, const char *name)
{
    const size_t n = strlen(name) + 1;
    memcpy(object->names + object->names_n, name, n);
    object->section[i].sh_name = object->names_n;
    object->names_n += (uint32_t)n;
}

static void add_section(Object *object, int i, const char *name, Elf64_Shdr s,
                        const void *bytes, size_t n)
{
    object->section[i] = s;
    if (*name)
        name_section(object, i, name);
    object->section[i].sh_offset = put(object, bytes, n, s.sh_addralign);
    object->section[i].sh_size = n;
}

/* Words of the note: name size, description size, type, "GNU", then the property, padded to a word
 * of the machine. */
static void add_note(Object *object)
{
    const uint32_t note[] = {
        4, 16, 5, 0x00554e47, object->m->property, 4, object->m->features, 0
    };
    const Elf64_Shdr s = { .sh_type = SHT_NOTE,
                           .sh_flags = SHF_ALLOC,
                           .sh_addralign = 8 };
    add_section(object, S_NOTE, ".note.gnu.property", s, note, sizeof note);
}

static void add_symbol(Object *object, const char *symbol, uint64_t bytes)
{
    char strings[80] = { 0 };
    const int n = snprintf(strings + 1, sizeof strings - 1, "%s", symbol);
    const unsigned char info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    const Elf64_Sym wide[2] = {
        { 0 },
        { .st_name = 1, .st_info = info, .st_shndx = S_DATA, .st_size = bytes }
    };
    const Elf32_Sym narrow[2] = { { 0 },
                                  { .st_name = 1,
                                    .st_info = info,
                                    .st_shndx = S_DATA,
                                    .st_size = (Elf32_Word)bytes } };
    const bool is_wide = object->m->bits == 64;
    const size_t size = is_wide ? sizeof *wide : sizeof *narrow;
    const Elf64_Shdr s = { .sh_type = SHT_SYMTAB,
                           .sh_link = S_STRINGS,
                           .sh_info = 1,
                           .sh_addralign = 8,
                           .sh_entsize = size };
    add_section(object, S_SYMBOLS, ".symtab", s,
                is_wide ? (const void *)wide : narrow, 2 * size);
    add_section(object, S_STRINGS, ".strtab",
                (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_addralign = 1 },
                strings, (size_t)n + 2);
}

static void add_headers_64(Object *object)
{
    Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
                                  EV_CURRENT },
                     .e_type = ET_REL,
                     .e_machine = object->m->machine,
                     .e_version = EV_CURRENT,
                     .e_flags = object->m->flags,
                     .e_ehsize = sizeof h,
                     .e_shentsize = sizeof *object->section,
                     .e_shnum = SECTIONS,
                     .e_shstrndx = S_NAMES };
    h.e_shoff = put(object, object->section, sizeof object->section, 8);
    file_write(object->file, 0, &h, sizeof h);
}

static void add_headers_32(Object *object)
{
    Elf32_Shdr narrow[SECTIONS];
    for (int i = 0; i < SECTIONS; i++) {
        const Elf64_Shdr *s = object->section + i;
        narrow[i] = (Elf32_Shdr){ s->sh_name,
                                  s->sh_type,
                                  (Elf32_Word)s->sh_flags,
                                  0,
                                  (Elf32_Off)s->sh_offset,
                                  (Elf32_Word)s->sh_size,
                                  s->sh_link,
                                  s->sh_info,
                                  (Elf32_Word)s->sh_addralign,
                                  (Elf32_Word)s->sh_entsize };
    }
    Elf32_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB,
                                  EV_CURRENT },
                     .e_type = ET_REL,
                     .e_machine = object->m->machine,
                     .e_version = EV_CURRENT,
                     .e_flags = object->m->flags,
                     .e_ehsize = sizeof h,
                     .e_shentsize = sizeof *narrow,
                     .e_shnum = SECTIONS,
                     .e_shstrndx = S_NAMES };
    h.e_shoff = (Elf32_Off)put(object, narrow, sizeof narrow, 8);
    file_write(object->file, 0, &h, sizeof h);
}

static void describe_data(Object *object, uint64_t bytes)
{
    const bool large = bytes > NEAR_LIMIT;
    object->section[S_DATA] = (Elf64_Shdr){
        .sh_type = SHT_PROGBITS,
        .sh_flags = SHF_ALLOC | (large ? LARGE_SECTION : 0),
        .sh_offset = DATA_AT,
        .sh_size = bytes,
        .sh_addralign = 64,
    };
    name_section(object, S_DATA, large ? ".lrodata" : ".rodata");
}

/* The last section: the names of all. */
static void add_names(Object *object)
{
    Elf64_Shdr *names = object->section + S_NAMES;
    name_section(object, S_NAMES, ".shstrtab");
    names->sh_type = SHT_STRTAB;
    names->sh_addralign = 1;
    names->sh_size = object->names_n;
    names->sh_offset = put(object, object->names, object->names_n, 1);
}

void elf_finish(File *file, const ElfMachine *machine, const char *symbol,
                uint64_t bytes)
{
    const Elf64_Shdr text = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 };
    Object object = {
        .file = file,
        .m = machine,
        .at = DATA_AT + bytes,
        .names_n = 1,
    };
    describe_data(&object, bytes);
    if (machine->property)
        add_note(&object);
    else
        add_section(&object, S_NOTE, ".comment", text, "", 0);
    add_section(&object, S_STACK, ".note.GNU-stack", text, "", 0);
    add_symbol(&object, symbol, bytes);
    add_names(&object);
    if (machine->bits == 64)
        add_headers_64(&object);
    else
        add_headers_32(&object);
}
