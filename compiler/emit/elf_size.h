/* SPDX-License-Identifier: Apache-2.0
 * What an object file adds to a program. */
#ifndef INLAY_EMIT_ELF_SIZE_H
#define INLAY_EMIT_ELF_SIZE_H

#include "base/io.h"

/* Bytes of its sections of code, constants and first values: what lies in flash. ELF of 32 or 64
 * bits and of either order; fails with 65 where it is none. */
uint64_t elf_flash_bytes(File *object);

#endif
