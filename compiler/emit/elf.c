/* SPDX-License-Identifier: Apache-2.0
 * The object says that it needs no executable stack and does not stand in the way
 * of branch protection (the property is the AND over all objects of a program). */
#include "emit/elf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"
#include "emit/elf_format.h"

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
    { "x86-64", ELF_X86_64, 64, 0, 0xc0000002, 3 },   /* IBT, SHSTK */
    { "aarch64", ELF_AARCH64, 64, 0, 0xc0000000, 7 }, /* BTI, PAC, GCS */
    { "arm", ELF_ARM, 32, 0x05000000, 0,
      0 }, /* EABI 5; no float ABI, as there is no code */
    { "riscv32", ELF_RISCV, 32, 0, 0, 0 },
    { "riscv64", ELF_RISCV, 64, 0, 0, 0 },
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
    if (bytes <= NEAR_LIMIT || m->machine == ELF_X86_64)
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
    ElfSection64 section[SECTIONS];
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
    object->section[i].name = object->names_n;
    object->names_n += (uint32_t)n;
}

static void add_section(Object *object, int i, const char *name, ElfSection64 s,
                        const void *bytes, size_t n)
{
    object->section[i] = s;
    if (*name)
        name_section(object, i, name);
    object->section[i].offset = put(object, bytes, n, s.align);
    object->section[i].size = n;
}

/* Words of the note: name size, description size, type, "GNU", then the property, padded to a word
 * of the machine. */
static void add_note(Object *object)
{
    const uint32_t note[] = {
        4, 16, 5, 0x00554e47, object->m->property, 4, object->m->features, 0
    };
    const ElfSection64 s = { .type = ELF_NOTE, .flags = ELF_ALLOC, .align = 8 };
    add_section(object, S_NOTE, ".note.gnu.property", s, note, sizeof note);
}

static void add_symbol(Object *object, const char *symbol, uint64_t bytes)
{
    char strings[80] = { 0 };
    const int n = snprintf(strings + 1, sizeof strings - 1, "%s", symbol);
    const unsigned char info = ELF_GLOBAL_OBJECT;
    const ElfSymbol64 wide[2] = {
        { 0 }, { .name = 1, .info = info, .section = S_DATA, .size = bytes }
    };
    const ElfSymbol32 narrow[2] = {
        { 0 },
        { .name = 1, .info = info, .section = S_DATA, .size = (uint32_t)bytes }
    };
    const bool is_wide = object->m->bits == 64;
    const size_t size = is_wide ? sizeof *wide : sizeof *narrow;
    const ElfSection64 s = { .type = ELF_SYMTAB,
                             .link = S_STRINGS,
                             .info = 1,
                             .align = 8,
                             .entry_bytes = size };
    add_section(object, S_SYMBOLS, ".symtab", s,
                is_wide ? (const void *)wide : narrow, 2 * size);
    add_section(object, S_STRINGS, ".strtab",
                (ElfSection64){ .type = ELF_STRTAB, .align = 1 }, strings,
                (size_t)n + 2);
}

static void add_headers_64(Object *object)
{
    ElfHeader64 h = { .ident = { 0x7f, 'E', 'L', 'F', ELF_CLASS_64, ELF_LITTLE,
                                 ELF_VERSION },
                      .type = ELF_RELOCATABLE,
                      .machine = object->m->machine,
                      .version = ELF_VERSION,
                      .flags = object->m->flags,
                      .header_bytes = sizeof h,
                      .section_bytes = sizeof *object->section,
                      .section_count = SECTIONS,
                      .names = S_NAMES };
    h.sections = put(object, object->section, sizeof object->section, 8);
    file_write(object->file, 0, &h, sizeof h);
}

static void add_headers_32(Object *object)
{
    ElfSection32 narrow[SECTIONS];
    for (int i = 0; i < SECTIONS; i++) {
        const ElfSection64 *s = object->section + i;
        narrow[i] = (ElfSection32){ s->name,
                                    s->type,
                                    (uint32_t)s->flags,
                                    0,
                                    (uint32_t)s->offset,
                                    (uint32_t)s->size,
                                    s->link,
                                    s->info,
                                    (uint32_t)s->align,
                                    (uint32_t)s->entry_bytes };
    }
    ElfHeader32 h = { .ident = { 0x7f, 'E', 'L', 'F', ELF_CLASS_32, ELF_LITTLE,
                                 ELF_VERSION },
                      .type = ELF_RELOCATABLE,
                      .machine = object->m->machine,
                      .version = ELF_VERSION,
                      .flags = object->m->flags,
                      .header_bytes = sizeof h,
                      .section_bytes = sizeof *narrow,
                      .section_count = SECTIONS,
                      .names = S_NAMES };
    h.sections = (uint32_t)put(object, narrow, sizeof narrow, 8);
    file_write(object->file, 0, &h, sizeof h);
}

static void describe_data(Object *object, uint64_t bytes)
{
    const bool large = bytes > NEAR_LIMIT;
    object->section[S_DATA] = (ElfSection64){
        .type = ELF_PROGBITS,
        .flags = ELF_ALLOC | (large ? LARGE_SECTION : 0),
        .offset = DATA_AT,
        .size = bytes,
        .align = 64,
    };
    name_section(object, S_DATA, large ? ".lrodata" : ".rodata");
}

/* The last section: the names of all. */
static void add_names(Object *object)
{
    ElfSection64 *names = object->section + S_NAMES;
    name_section(object, S_NAMES, ".shstrtab");
    names->type = ELF_STRTAB;
    names->align = 1;
    names->size = object->names_n;
    names->offset = put(object, object->names, object->names_n, 1);
}

void elf_finish(File *file, const ElfMachine *machine, const char *symbol,
                uint64_t bytes)
{
    const ElfSection64 text = { .type = ELF_PROGBITS, .align = 1 };
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
