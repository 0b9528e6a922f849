/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/code_size.h"

#include <string.h>

#include "base/process.h"
#include "emit/elf_size.h"
#include "pipeline/write.h"

static bool is_source(const char *name)
{
    const size_t n = strlen(name);
    return n > 2 && !strcmp(name + n - 2, ".c");
}

static _Noreturn void fail_command(const char *command, const char *how)
{
    fail_at(STATUS_CONFIG, LOC_NONE,
            "name the compiler with its options, as in "
            "--cc='arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -Os'",
            "--cc=%s %s", command, how);
}

/* Bytes of one source file's object. */
static uint64_t object_bytes(Compile *compile, const char *source)
{
    Arena *arena = &compile->arena;
    const char *command = compile->options->cc;
    const char *object = arena_printf(arena, "%s.o", source);
    const char *const word[] = { "-c", source, "-o", object, NULL };
    if (process_run(arena, command, word))
        fail_command(command, "failed");
    if (!file_exists(object))
        fail_command(command, "makes no object");
    File *file = file_open(arena, object, LOAD_STREAM);
    const uint64_t bytes = elf_flash_bytes(file);
    file_close(file);
    return bytes;
}

uint64_t code_size(Compile *compile)
{
    Written written;
    uint64_t bytes = 0;
    compile->out = output_begin_temporary(&compile->arena);
    write_code(compile);
    for (size_t i = 0; output_written(compile->out, i, &written); i++) {
        const char *path = output_temporary(compile->out, written.name);
        bytes += is_source(path) ? object_bytes(compile, path) : 0;
    }
    output_abort(compile->out);
    if (!bytes)
        fail_command(compile->options->cc, "makes no code: is it -flto?");
    return bytes;
}
