/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: the bytes of a model file -> `analyze --json`. What is accepted has a manifest that is
 * JSON. */
#include <jansson.h>

#include "cli/command_line.h"
#include "target.h"
#include "wire_mutator.h"

static void check_json(const char *text, size_t n)
{
    json_error_t error;
    json_set_alloc_funcs(malloc, free); /* the commands give it an arena */
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!j) {
        fprintf(stderr, "the manifest is no JSON: line %d: %s\n", error.line,
                error.text);
        abort();
    }
    json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Held file;
    held_set(&file, data, size);
    char *const argv[] = { "inlay",        "analyze", file.path, "--json",
                           "--max-memory", "64M",     NULL };
    char *text = NULL;
    size_t n = 0;
    stdout = open_memstream(&text, &n);
    const Status status = command_line(6, argv, nowhere());
    fclose(stdout);
    stdout = NULL;
    judge(status);
    if (status == STATUS_USAGE)
        abort();
    if (!status)
        check_json(text, n);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    const size_t n = seed % 8 ? wire_mutate(data, size, max_size, seed) : 0;
    return n ? n : LLVMFuzzerMutate(data, size, max_size);
}
