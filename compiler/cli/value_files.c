/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/value_files.h"

#include <math.h>
#include <string.h>

#include "ir/convert.h"
#include "onnx/reader.h"
#include "pipeline/numbers.h"

enum { LARGEST_FILE = 1 << 30 };

static Loc at_file(const char *path)
{
    return (Loc){ .file = path, .byte = -1, .node = -1 };
}

void value_fail(const char *path, const char *what)
{
    fail_at(STATUS_MALFORMED, at_file(path), NULL, "%s", what);
}

char *value_text(Arena *arena, File *file)
{
    if (file->size > LARGEST_FILE)
        value_fail(file->path, "is too large for a value");
    char *text = arena_alloc(arena, (size_t)file->size + 1);
    file_read(file, 0, text, (size_t)file->size);
    text[file->size] = 0;
    return text;
}

/* ---- into the type that is wanted ---- */

static bool is_float(DType dtype)
{
    return dtype == DT_F32 || dtype == DT_F64 || dtype == DT_F16 ||
           dtype == DT_BF16;
}

static bool may_convert(const FileValues *from, DType to)
{
    const bool packed = dtype_bits(to) < 8 || dtype_bits(from->dtype) < 8;
    if (packed || !convert_possible(from->dtype, to))
        return false;
    return from->any_type || is_float(from->dtype) == is_float(to);
}

static size_t width(DType dtype)
{
    return (size_t)dtype_bits(dtype) / 8;
}

/* Do integers come back as they were? */
static bool is_kept(DType from, const char *in, DType to, const char *out,
                    int count)
{
    char again[CONVERT_RUN * sizeof(int64_t)];
    if (is_float(to))
        return true;
    convert_run(to, out, from, again, count);
    return !memcmp(again, in, (size_t)count * width(from));
}

static void *converted(Arena *arena, const char *path, const FileValues *from,
                       const Tensor *tensor)
{
    const DType to = tensor->dtype;
    const int64_t count = shape_count(&from->shape);
    const char *in = from->at;
    char *all = arena_array(arena, (size_t)count + 1, width(to));
    for (int64_t at = 0; at < count; at += CONVERT_RUN) {
        const int64_t left = count - at;
        const int run = left < CONVERT_RUN ? (int)left : CONVERT_RUN;
        char *out = all + (size_t)at * width(to);
        convert_run(from->dtype, in, to, out, run);
        if (!is_kept(from->dtype, in, to, out, run))
            fail_at(STATUS_MALFORMED, at_file(path), NULL,
                    "holds a number that %s has not, the type of \"%s\"",
                    dtype_name(to), tensor->name);
        in += (size_t)run * width(from->dtype);
    }
    return all;
}

/* The C API takes float16 and bfloat16 as uint16, and NumPy writes bfloat16 so. */
static bool is_same_type(DType given, DType wanted)
{
    const bool half = wanted == DT_F16 || wanted == DT_BF16;
    return given == wanted || (half && given == DT_U16);
}

/* Levels and samples as floats. */
static FileValues scaled(Arena *arena, const FileValues *from)
{
    const int64_t count = shape_count(&from->shape);
    const size_t bytes = width(from->dtype);
    double *to = arena_array(arena, (size_t)count + 1, sizeof *to);
    const char *in = from->at;
    for (int64_t i = 0; i < count; i++) {
        convert_run(from->dtype, in + (size_t)i * bytes, DT_F64, to + i, 1);
        to[i] *= from->scale;
    }
    FileValues values = *from;
    values.dtype = DT_F64;
    values.at = to;
    return values;
}

static void *fitted(Arena *arena, const char *path, const FileValues *values,
                    const Tensor *tensor)
{
    const Shape wanted = tensor_model_shape(tensor);
    const bool same = is_same_type(values->dtype, tensor->dtype);
    if (!same && !may_convert(values, tensor->dtype))
        fail_at(STATUS_MALFORMED, at_file(path), NULL, "holds %s, \"%s\" is %s",
                dtype_name(values->dtype), tensor->name,
                dtype_name(tensor->dtype));
    if (shape_count(&values->shape) != tensor_count(tensor))
        fail_at(STATUS_MALFORMED, at_file(path), NULL,
                "has shape %s, \"%s\" is %s", shape_text(arena, &values->shape),
                tensor->name, shape_text(arena, &wanted));
    if (same)
        return values->at;
    if (values->scale == 0.0 || !is_float(tensor->dtype))
        return converted(arena, path, values, tensor);
    const FileValues floats = scaled(arena, values);
    return converted(arena, path, &floats, tensor);
}

/* ---- made values ---- */

/* 0 to 1 for floats, else 0 or 1. */
static void *made_random(Arena *arena, const Tensor *tensor, uint64_t seed)
{
    const int64_t count = tensor_count(tensor);
    const bool real = is_float(tensor->dtype);
    FileValues values = {
        .dtype = DT_F64,
        .shape = shape_of(1, &count),
        .any_type = true,
    };
    double *to = arena_array(arena, (size_t)count + 1, sizeof *to);
    values.at = to;
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) +
               UINT64_C(1442695040888963407);
        const double part = (double)(seed >> 40) / (1 << 24);
        to[i] = real ? part : floor(2 * part);
    }
    return fitted(arena, "random", &values, tensor);
}

/* NULL: the word names a file. */
static void *made(Arena *arena, const Tensor *tensor, const char *word)
{
    static const char RANDOM[] = "random:";
    int64_t seed;
    if (!strcmp(word, "zeros")) {
        const size_t bytes = (size_t)tensor_bytes(tensor);
        return memset(arena_alloc(arena, bytes + 1), 0, bytes + 1);
    }
    if (strncmp(word, RANDOM, sizeof RANDOM - 1))
        return NULL;
    const char *end = number_read(word + sizeof RANDOM - 1, INT32_MAX, &seed);
    if (!end || *end)
        fail_at(STATUS_USAGE, LOC_NONE, "write it as random:1",
                "\"%s\": no seed", word);
    if (dtype_bits(tensor->dtype) < 8 ||
        !convert_possible(DT_F64, tensor->dtype))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "\"%s\" is %s: there are no random values of it", tensor->name,
                dtype_name(tensor->dtype));
    return made_random(arena, tensor, (uint64_t)seed);
}

/* ---- files ---- */

static FileValues tensor_proto(Arena *arena, Store *store, const Tensor *tensor,
                               const char *path)
{
    Recipe *recipe = onnx_read_tensor(arena, store, path, NULL, NULL);
    const DType dtype = recipe_dtype(recipe);
    const bool words = tensor->words && dtype == DT_STRING;
    return (FileValues){
        .dtype = words ? DT_I64 : dtype,
        .shape = shape_of(recipe_rank(recipe), recipe_dims(recipe)),
        .at = recipe_values(store, arena, recipe),
    };
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path);
    const size_t k = strlen(ending);
    return n >= k && !strcmp(path + n - k, ending);
}

static bool is_text(const char *path)
{
    return ends_with(path, ".csv") || ends_with(path, ".txt");
}

/* By its first bytes; a TensorProto has none that are always the same. */
static FileValues read_any(Arena *arena, Store *store, const Tensor *tensor,
                           const char *path)
{
    File *file = file_open(arena, path, LOAD_STREAM);
    char head[4] = "";
    if (file->size >= sizeof head)
        file_read(file, 0, head, sizeof head);
    FileValues values;
    if (!memcmp(head, "\x93NUM", 4))
        values = npy_read(arena, path, file);
    else if (!memcmp(head, "RIFF", 4))
        values = wav_read(arena, path, file);
    else if (head[0] == 'P' && (head[1] == '5' || head[1] == '6'))
        values = picture_read(arena, path, file, tensor);
    else if (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "\x89PNG", 4))
        fail_at(STATUS_UNSUPPORTED, at_file(path),
                "write it as .npy, .pgm or .ppm",
                "archives and compressed pictures are not read");
    else if (is_text(path))
        values = text_read(arena, path, file);
    else
        values = tensor_proto(arena, store, tensor, path);
    file_close(file);
    return values;
}

void *value_load(Arena *arena, Store *store, const Tensor *tensor,
                 const char *path)
{
    void *values = made(arena, tensor, path);
    if (values)
        return values;
    const FileValues found = read_any(arena, store, tensor, path);
    return fitted(arena, path, &found, tensor);
}
