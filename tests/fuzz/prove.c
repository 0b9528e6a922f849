/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a manifest -> `prove`. The first byte says which of the models below
 * INLAY_FUZZ_MODELS it is for. Its own mutations know numbers. */
#include <glob.h>
#include <string.h>

#include "cli/command_line.h"
#include "target.h"

/* The models in order of their names: '0' is the first one. */
static const char *model_of(uint8_t which)
{
    static glob_t found;
    const char *folder = getenv("INLAY_FUZZ_MODELS");
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/*.onnx", folder ? folder : ".");
    if (!found.gl_pathc && glob(pattern, 0, NULL, &found)) {
        fprintf(stderr, "no models below INLAY_FUZZ_MODELS\n");
        exit(1);
    }
    return found.gl_pathv[(uint8_t)(which - '0') % found.gl_pathc];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Held file;
    if (!size)
        return 0;
    stdout = nowhere();
    held_set(&file, data + 1, size - 1);
    char *const argv[] = { "inlay",   "prove",
                           file.path, (char *)model_of(data[0]),
                           "--json",  "--max-memory",
                           "64M",     NULL };
    const Status status = command_line(7, argv, nowhere());
    judge(status);
    if (status == STATUS_USAGE)
        abort();
    return 0;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* A number of the text from `at` on: *at is where it begins; its length, 0 where there is none. */
static size_t number_from(const uint8_t *data, size_t size, size_t *at)
{
    size_t n = 0;
    while (*at < size && !is_digit(data[*at]))
        ++*at;
    while (*at + n < size && is_digit(data[*at + n]))
        n++;
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    static const char *const ends[] = { "0",
                                        "1",
                                        "2",
                                        "255",
                                        "2147483647",
                                        "2147483648",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "1e3",
                                        "null",
                                        "[]" };
    const uint64_t state =
        seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    size_t at = size > 1 ? 1 + (state >> 20) % (size - 1) : 0;
    const size_t length = at ? number_from(data, size, &at) : 0;
    if (!length || seed % 4 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    char text[32];
    const long long old = atoll(memcpy(memset(text, 0, sizeof text), data + at,
                                       length < 20 ? length : 20));
    if (seed % 4 == 1)
        snprintf(text, sizeof text, "%s",
                 ends[(state >> 40) % (sizeof ends / sizeof *ends)]);
    else
        snprintf(text, sizeof text, "%lld",
                 (long long)((uint64_t)old + (state >> 40) % 33 - 16));
    const size_t n = strlen(text);
    if (size - length + n > max_size)
        return size;
    memmove(data + at + n, data + at + length, size - at - length);
    memcpy(data + at, text, n);
    return size - length + n;
}
