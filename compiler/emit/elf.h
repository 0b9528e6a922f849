/* SPDX-License-Identifier: Apache-2.0
 * ELF relocatable objects that hold one constant: written directly, in constant memory. */
#ifndef INLAY_EMIT_ELF_H
#define INLAY_EMIT_ELF_H

#include "base/io.h"

typedef struct ElfMachine ElfMachine;

/* The machine of that name; of NULL: this host. NULL: there is no such machine. */
const ElfMachine *elf_machine(const char *name);
/* Fails with 69, naming the alternative, where `bytes` are more than the object format and linkers
 * take. */
void elf_check(const ElfMachine *machine, uint64_t bytes);
/* Where in the file the constant begins: write it there, then finish. */
uint64_t elf_data_offset(void);
/* Everything around the constant: a read-only section, aligned to 64, with `symbol` over all of it.
 */
void elf_finish(File *file, const ElfMachine *machine, const char *symbol,
                uint64_t bytes);

#endif
