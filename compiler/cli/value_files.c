/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/value_files.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "base/size.h"
#include "ir/convert.h"
#include "cli/npz.h"
#include "pipeline/numbers.h"

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
            fail_at(STATUS_MALFORMED, value_place(path), NULL,
                    "holds a number that %s has not, the type of \"%s\"",
                    dtype_name(to), tensor->name);
        in += (size_t)run * width(from->dtype);
    }
    return all;
}

/* The C API takes float16 and bfloat16 as uint16, and NumPy writes bfloat16 so; words are their
 * codes. */
static bool is_same_type(DType given, const Tensor *tensor)
{
    const DType wanted = tensor->dtype;
    const bool half = wanted == DT_F16 || wanted == DT_BF16;
    return given == wanted || (half && given == DT_U16) ||
           (tensor->words && given == DT_STRING);
}

bool value_fits(const FileValues *values, const Tensor *tensor)
{
    return (is_same_type(values->dtype, tensor) ||
            may_convert(values, tensor->dtype)) &&
           shape_count(&values->shape) == tensor_count(tensor);
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

void *value_fit(Arena *arena, const char *path, const FileValues *values,
                const Tensor *tensor)
{
    const Shape wanted = tensor_model_shape(tensor);
    const bool same = is_same_type(values->dtype, tensor);
    if (!same && !may_convert(values, tensor->dtype))
        fail_at(STATUS_MALFORMED, value_place(path), NULL,
                "holds %s, \"%s\" is %s", dtype_name(values->dtype),
                tensor->name,
                dtype_name(tensor->words ? DT_STRING : tensor->dtype));
    if (shape_count(&values->shape) != tensor_count(tensor))
        fail_at(STATUS_MALFORMED, value_place(path),
                "`inlay analyze MODEL.onnx` lists inputs and results with "
                "their shapes; --shape gives open ones",
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
    return value_fit(arena, "random", &values, tensor);
}

static const char RANDOM[] = "random:";

static bool is_made(const char *word)
{
    return !strcmp(word, "zeros") || !strncmp(word, RANDOM, sizeof RANDOM - 1);
}

/* NULL: the word names a file. */
static void *made(Arena *arena, const Tensor *tensor, const char *word)
{
    int64_t seed;
    if (!is_made(word))
        return NULL;
    if (!strcmp(word, "zeros")) {
        const size_t bytes = (size_t)tensor_bytes(tensor);
        return memset(arena_alloc(arena, bytes + 1), 0, bytes + 1);
    }
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

/* The tensor so many times as long along the axis. */
static Tensor stretched(const Tensor *tensor, const Series *series)
{
    Tensor longer = *tensor;
    longer.shape = tensor_model_shape(tensor);
    longer.perm = NULL;
    longer.shape.dim[series->axis] =
        i64_mul(longer.shape.dim[series->axis], series->times);
    return longer;
}

/* As what the values are read: as often the tensor as they fill it. */
static Tensor fitting(const Tensor *tensor, Series *series,
                      const FileValues *found)
{
    const int64_t own = tensor_count(tensor);
    if (!series || series->axis < 0)
        return *tensor;
    const int64_t given = shape_count(&found->shape);
    series->times = 1;
    if (own && given && given % own == 0)
        series->times = given / own;
    return stretched(tensor, series);
}

static FileValues read_one(Compile *compile, const Tensor *tensor,
                           const char *path)
{
    Arena *arena = &compile->arena;
    File *file = file_open(arena, path, LOAD_STREAM);
    const FileValues found = file_values(&(ValueFile){
        .arena = arena,
        .store = &compile->store,
        .path = path,
        .file = file,
        .wanted = tensor,
    });
    file_close(file);
    return found;
}

static bool is_picture(Arena *arena, const char *path)
{
    File *file = file_open(arena, path, LOAD_STREAM);
    const bool picture = file_is_picture(file);
    file_close(file);
    return picture;
}

static void *load_one(Compile *compile, const Tensor *tensor, Series *series,
                      const char *path)
{
    Arena *arena = &compile->arena;
    const bool longer = series && series->axis >= 0;
    const Tensor wanted = longer ? stretched(tensor, series) : *tensor;
    void *values = made(arena, &wanted, path);
    if (values)
        return values;
    const FileValues found = read_one(compile, &wanted, path);
    const Tensor fit = fitting(tensor, series, &found);
    return value_fit(arena, path, &found, &fit);
}

/* ---- several values of one archive ---- */

static bool knows_any(const Npz *npz, const Tensors *wanted)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (npz_find(npz, wanted->at[i]->name))
            return true;
    return false;
}

static const NpzMember *member_for(const Npz *npz, const Tensors *wanted,
                                   size_t i)
{
    const char *name = wanted->at[i]->name;
    if (npz->members == wanted->n && !knows_any(npz, wanted))
        return npz->member + i;
    const NpzMember *member = npz_find(npz, name);
    if (!member)
        fail_at(STATUS_MALFORMED, value_place(npz->path),
                "numpy.savez(FILE, **{\"name\": values, ...}) gives them names",
                "there is no \"%s\" in it", name);
    return member;
}

/* Of a member that holds the tensor's values, in the widest type, and a head. */
static uint64_t most_bytes(const Tensor *tensor)
{
    enum { WIDEST = 16, HEAD = 1 << 16 };
    if (tensor->dtype == DT_STRING || !shape_known(&tensor->shape))
        return UINT64_MAX;
    return (uint64_t)tensor_count(tensor) * WIDEST + HEAD;
}

static void *load_member(Compile *compile, const Npz *npz,
                         const Tensors *wanted, size_t i)
{
    Arena *arena = &compile->arena;
    const NpzMember *member = member_for(npz, wanted, i);
    const char *place;
    Series *series = wanted->series ? wanted->series + i : NULL;
    const uint64_t most = series ? UINT64_MAX : most_bytes(wanted->at[i]);
    const FileValues found =
        npz_read(arena, &compile->store, npz, member, most, &place);
    const Tensor fit = fitting(wanted->at[i], series, &found);
    return value_fit(arena, place, &found, &fit);
}

bool values_shape(Compile *compile, const Tensors *wanted,
                  const char *const *file, size_t i, Shape *shape,
                  const char **place)
{
    Arena *arena = &compile->arena;
    FileValues found;
    if (value_is_archive(arena, file[0])) {
        const Npz *npz = npz_open(arena, file[0]);
        const NpzMember *member = member_for(npz, wanted, i);
        found =
            npz_read(arena, &compile->store, npz, member, UINT64_MAX, place);
    } else if (is_made(file[i]) || (!shape_known(&wanted->at[i]->shape) &&
                                    is_picture(arena, file[i]))) {
        return false;
    } else {
        found = read_one(compile, wanted->at[i], file[i]);
        *place = file[i];
    }
    *shape = found.shape;
    return true;
}

/* A word that is no file, and nearly one that stands for values. */
static void refuse_misspelt(const char *path)
{
    static const char *const words[] = { "zeros", "random", "random:1", NULL };
    const char *meant = nearest(path, words);
    if (meant && !is_made(path) && !file_exists(path))
        fail_at(STATUS_USAGE, LOC_NONE,
                "zeros; random:1, with any number as its seed; or a file",
                "there is no file \"%s\": did you mean %s?", path,
                *meant == 'z' ? "zeros" : "random:1");
}

bool value_is_archive(Arena *arena, const char *word)
{
    refuse_misspelt(word);
    return !is_made(word) && npz_is(arena, word);
}

void **values_load(Compile *compile, const Tensors *wanted,
                   const char *const *file)
{
    Arena *arena = &compile->arena;
    void **values = NEW_ARRAY(arena, void *, wanted->n + 1);
    const Npz *npz = NULL;
    if (wanted->n && value_is_archive(arena, file[0]))
        npz = npz_open(arena, file[0]);
    for (size_t i = 0; i < wanted->n; i++) {
        Series *series = wanted->series ? wanted->series + i : NULL;
        values[i] = npz ? load_member(compile, npz, wanted, i)
                        : load_one(compile, wanted->at[i], series, file[i]);
    }
    return values;
}
