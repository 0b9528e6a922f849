/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a TensorProto whose values lie in another file, and that file's content: one byte of
 * its length, the content, the message. The folder holds w.bin (the content), sub/w.bin, a link
 * that leads outside, a pipe and a folder; a file outside holds a secret that no values may
 * show. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/recipe.h"
#include "onnx/reader.h"
#include "target.h"
#include "wire_mutator.h"

enum { MOST_BYTES = 1 << 16 };
static const char SECRET[] = "\xF3secret outside of the folder\xF3";

typedef struct Trial {
    Arena arena;
    Store store;
    const char *path;
} Trial;

static void write_file(const char *path, const void *data, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
        abort();
}

/* Once: the folder is the working directory's `model`. It goes when the process ends. */
static char home[] = "/dev/shm/inlay-external-XXXXXX";

static void clean_up(void)
{
    static const char *const names[] = { "model/sub/w.bin", "model/sub",
                                         "model/w.bin",     "model/link",
                                         "model/pipe",      "model",
                                         "secret",          "." };
    for (size_t i = 0; i < sizeof names / sizeof *names - 1; i++)
        remove(names[i]);
    rmdir(home);
}

static void make_folder(void)
{
    if (!mkdtemp(home) || chdir(home) || mkdir("model", 0700) ||
        mkdir("model/sub", 0700))
        abort();
    write_file("secret", SECRET, sizeof SECRET - 1);
    write_file("model/sub/w.bin", "0123456789abcdef", 16);
    if (symlink("../secret", "model/link") || mkfifo("model/pipe", 0600))
        abort();
    atexit(clean_up);
}

static void read_values(void *context)
{
    static const ReadOptions here = { .external_dir = "model" };
    Trial *t = context;
    const Recipe *r =
        onnx_read_tensor(&t->arena, &t->store, t->path, &here, NULL);
    const int64_t n = recipe_bytes(r);
    if (n > MOST_BYTES)
        return;
    const void *values = recipe_values(&t->store, &t->arena, r);
    if (memmem(values, (size_t)n, "secret outside", 14))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Held file;
    static bool made;
    const size_t content = size && data[0] < size ? data[0] : 0;
    if (!made)
        make_folder();
    made = true;
    if (!size || memmem(data, size, "secret outside", 14))
        return 0;
    write_file("model/w.bin", data + 1, content);
    held_set(&file, data + 1 + content, size - 1 - content);
    Trial t = { .path = file.path, .arena = { .budget = 64 << 20 } };
    t.store = (Store){ .arena = &t.arena, .window = 1 << 16 };
    Diag d = { .out = nowhere() };
    protect(&d, read_values, &t);
    file_close_all(&t.arena);
    arena_free(&t.store.scratch);
    arena_free(&t.arena);
    judge(d.status);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    const size_t front = size && data[0] < size ? 1u + data[0] : 0;
    if (!front || seed % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t n =
        wire_mutate(data + front, size - front, max_size - front, seed);
    return n ? front + n : LLVMFuzzerMutate(data, size, max_size);
}
