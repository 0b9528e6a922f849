/* SPDX-License-Identifier: Apache-2.0
 * NumPy's .npy: a header that is the text of a Python dictionary, then the values. */
#include <inttypes.h>
#include <string.h>

#include "cli/value_files.h"
#include "emit/text.h"

enum { FIXED = 10, LONG_FIXED = 12, ALIGN = 64 };

/* '<f4' and the like: little-endian, or of one byte. */
typedef struct NpyType {
    const char *name;
    DType dtype;
} NpyType;

/* clang-format off */
static const NpyType types[] = {
    { .name = "f4", .dtype = DT_F32 },
    { .name = "f8", .dtype = DT_F64 },
    { .name = "f2", .dtype = DT_F16 },
    { .name = "i1", .dtype = DT_I8 },
    { .name = "i2", .dtype = DT_I16 },
    { .name = "i4", .dtype = DT_I32 },
    { .name = "i8", .dtype = DT_I64 },
    { .name = "u1", .dtype = DT_U8 },
    { .name = "u2", .dtype = DT_U16 },
    { .name = "u4", .dtype = DT_U32 },
    { .name = "u8", .dtype = DT_U64 },
    { .name = "b1", .dtype = DT_BOOL },
    { .name = "c8", .dtype = DT_C64 },
    { .name = "c16", .dtype = DT_C128 },
};
/* clang-format on */

enum { TYPES = sizeof types / sizeof *types };

/* What stands behind 'KEY': in the header. */
static const char *find_key(const char *path, const char *header,
                            const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at, ':') : NULL;
    if (!at)
        value_fail(path, "is no .npy file that can be read");
    at++;
    return at + strspn(at, " ");
}

static DType type_of(const char *path, const char *descr)
{
    const char *name = descr + 1;
    if (*descr != '\'' || !strchr("<|", *name))
        value_fail(path, "holds values that are no plain little-endian ones");
    name++;
    for (int i = 0; i < TYPES; i++) {
        const size_t length = strlen(types[i].name);
        if (!strncmp(name, types[i].name, length) && name[length] == '\'')
            return types[i].dtype;
    }
    value_fail(path, "holds values of a type that is not read");
}

static Shape shape_read(const char *path, const char *at)
{
    Shape shape = shape_scalar();
    if (*at++ != '(')
        value_fail(path, "has no shape");
    while (*at != ')') {
        int64_t dim = 0;
        const size_t digits = strspn(at, "0123456789");
        if (!digits || digits > 12 || shape.rank == MAX_RANK)
            value_fail(path, "has a shape that is not read");
        for (size_t i = 0; i < digits; i++)
            dim = dim * 10 + (at[i] - '0');
        shape.dim[shape.rank++] = dim;
        at += digits;
        at += strspn(at, ", ");
    }
    return shape;
}

static uint32_t little(const char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

/* The dictionary, and where the values begin. */
typedef struct Header {
    const char *text;
    uint64_t end;
} Header;

static Header header_of(Arena *arena, const char *path, const char *all,
                        uint64_t size)
{
    if (size < LONG_FIXED)
        value_fail(path, "is cut off");
    const bool is_long = all[6] > 1;
    const size_t fixed = is_long ? LONG_FIXED : FIXED;
    const uint64_t length = little(all + 8, is_long ? 4 : 2);
    const uint64_t end = fixed + length;
    if (end > size)
        value_fail(path, "is cut off");
    return (Header){
        .text = arena_text(arena, all + fixed, (size_t)length),
        .end = end,
    };
}

/* Bytes of the values; far more than `most` is no number of them. */
static uint64_t bytes_of(const char *path, const FileValues *values,
                         uint64_t most)
{
    uint64_t bytes = (uint64_t)dtype_bits(values->dtype) / 8;
    for (int i = 0; i < values->shape.rank; i++) {
        bytes *= (uint64_t)values->shape.dim[i];
        if (bytes > most)
            value_fail(path, "holds fewer values than its shape says");
    }
    return bytes;
}

FileValues npy_read(Arena *arena, const char *path, File *file)
{
    const char *all = value_text(arena, file);
    const Header header = header_of(arena, path, all, file->size);
    const char *order = find_key(path, header.text, "'fortran_order'");
    const char *descr = find_key(path, header.text, "'descr'");
    const char *shape = find_key(path, header.text, "'shape'");
    const uint64_t left = file->size - header.end;
    if (strncmp(order, "False", 5))
        value_fail(path, "is in Fortran's order: save numpy.ascontiguousarray");
    FileValues values = {
        .dtype = type_of(path, descr),
        .shape = shape_read(path, shape),
    };
    if (bytes_of(path, &values, left) != left)
        value_fail(path, "holds other values than its shape says");
    values.at = arena_alloc(arena, (size_t)left + 1); /* aligned */
    memcpy(values.at, all + header.end, (size_t)left);
    return values;
}

/* As NumPy has them: types that it has not are unsigned integers of their width. */
static const char *descr_of(DType dtype)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return dtype_bits(dtype) == 16 ? "u2" : "u1";
}

static Text header_text(Arena *arena, const char *descr, const Shape *shape)
{
    const bool is_byte = !strcmp(descr + 1, "1");
    Text text = text_new(arena);
    text_add(&text, "\x93NUMPY\1\0\0\0", FIXED);
    text_print(&text, "{'descr': '%c%s', ", is_byte ? '|' : '<', descr);
    text_put(&text, "'fortran_order': False, 'shape': (");
    for (int i = 0; i < shape->rank; i++)
        text_print(&text, "%" PRId64 ",", shape->dim[i]);
    text_put(&text, "), }");
    while ((text.n + 1) % ALIGN)
        text_put(&text, " ");
    text_put(&text, "\n");
    const size_t length = text.n - FIXED;
    text.at[8] = (char)(length & 0xff);
    text.at[9] = (char)(length >> 8);
    return text;
}

void npy_write(Arena *arena, File *file, const Tensor *tensor,
               const void *values)
{
    const size_t bytes = (size_t)tensor_bytes(tensor);
    const int64_t packed = (int64_t)bytes;
    const bool whole = dtype_bits(tensor->dtype) >= 8;
    const Shape shape = whole ? tensor->shape : shape_of(1, &packed);
    const Text text = header_text(arena, descr_of(tensor->dtype), &shape);
    file_write(file, 0, text.at, text.n);
    file_write(file, text.n, values, bytes);
}
