/* SPDX-License-Identifier: Apache-2.0
 * Objects are of any machine: their fields are read byte by byte. */
#include "emit/elf_size.h"

#include <string.h>

#include "base/diag.h"
#include "emit/elf_format.h"

/* Where the fields lie, by class. */
typedef struct Fields {
    uint64_t word;                           /* bytes of an offset or a size */
    uint64_t sections, section_bytes, count; /* in the header of the file */
    uint64_t type, flags, size;              /* in that of a section */
} Fields;

static const Fields of_32 = { 4, 32, 46, 48, 4, 8, 20 };
static const Fields of_64 = { 8, 40, 58, 60, 4, 8, 32 };

typedef struct Object {
    File *file;
    const Fields *field;
    bool little;
} Object;

/* Numbers of an object have at most so many bytes. */
enum { WIDEST = 8 };

static uint64_t number_at(const Object *object, uint64_t at, uint64_t bytes)
{
    uint8_t byte[WIDEST];
    uint64_t number = 0;
    file_read(object->file, at, byte, (size_t)bytes);
    for (uint64_t i = 0; i < bytes; i++)
        number = number << 8 | byte[object->little ? bytes - 1 - i : i];
    return number;
}

static uint64_t section_bytes(const Object *object, uint64_t at)
{
    const Fields *field = object->field;
    const uint64_t type = number_at(object, at + field->type, 4);
    const uint64_t flags = number_at(object, at + field->flags, field->word);
    if (type != ELF_PROGBITS || !(flags & ELF_ALLOC))
        return 0;
    return number_at(object, at + field->size, field->word);
}

static Object open_object(File *file)
{
    static const uint8_t magic[] = { 0x7f, 'E', 'L', 'F' };
    const Loc loc = { .file = file->path, .byte = 0, .node = -1 };
    uint8_t ident[ELF_IDENTS] = { 0 };
    if (file->size >= sizeof ident)
        file_read(file, 0, ident, sizeof ident);
    if (memcmp(ident, magic, sizeof magic))
        fail_at(STATUS_MALFORMED, loc, "--cc is to make objects in ELF",
                "the object is no ELF file");
    return (Object){
        .file = file,
        .field = ident[4] == ELF_CLASS_64 ? &of_64 : &of_32,
        .little = ident[5] == ELF_LITTLE,
    };
}

uint64_t elf_flash_bytes(File *file)
{
    const Object object = open_object(file);
    const Fields *field = object.field;
    const uint64_t first = number_at(&object, field->sections, field->word);
    const uint64_t step = number_at(&object, field->section_bytes, 2);
    const uint64_t sections = number_at(&object, field->count, 2);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < sections; i++)
        bytes += section_bytes(&object, first + i * step);
    return bytes;
}
