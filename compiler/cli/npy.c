/* SPDX-License-Identifier: Apache-2.0
 * NumPy's .npy: a header that is the text of a Python dictionary, then the values. */
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "cli/file_values.h"
#include "cli/word_files.h"
#include "emit/text.h"
#include "pipeline/numbers.h"

enum { FIXED = 10, LONG_FIXED = 12, ALIGN = 64 };

/* '<f4' and the like: little-endian, or of one byte. */
typedef struct NpyType {
    const char *name;
    DType dtype;
} NpyType;

/* clang-format off */
static const NpyType types[] = {
    { "f4", DT_F32 },
    { "f8", DT_F64 },
    { "f2", DT_F16 },
    { "i1", DT_I8 },
    { "i2", DT_I16 },
    { "i4", DT_I32 },
    { "i8", DT_I64 },
    { "u1", DT_U8 },
    { "u2", DT_U16 },
    { "u4", DT_U32 },
    { "u8", DT_U64 },
    { "b1", DT_BOOL },
    { "c8", DT_C64 },
    { "c16", DT_C128 },
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

static bool has_no_values(const Shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (!shape->dim[i])
            return true;
    return false;
}

/* Bytes of the values; far more than `most` is no number of them. */
static uint64_t bytes_of(const char *path, const FileValues *values,
                         uint64_t most)
{
    uint64_t bytes = (uint64_t)dtype_bits(values->dtype) / 8;
    if (has_no_values(&values->shape))
        return 0;
    for (int i = 0; i < values->shape.rank; i++) {
        bytes *= (uint64_t)values->shape.dim[i];
        if (bytes > most)
            value_fail(path, "holds fewer values than its shape says");
    }
    return bytes;
}

/* Texts of so many characters, each four bytes, as codes of words. */
static FileValues text_values(Arena *arena, Store *store, const char *path,
                              const Shape *shape, const char *from,
                              uint64_t left, int64_t length)
{
    FileValues values = { .dtype = DT_STRING, .shape = *shape };
    FileValues letters = { .dtype = DT_I32, .shape = *shape };
    if (shape->rank == MAX_RANK)
        value_fail(path, "has a shape that is not read");
    letters.shape.dim[letters.shape.rank++] = length;
    if (bytes_of(path, &letters, left) != left)
        value_fail(path, "holds other values than its shape says");
    const int64_t count = shape_count(shape);
    int64_t *code = NEW_ARRAY(arena, int64_t, count + 1);
    for (int64_t i = 0; i < count; i++)
        code[i] =
            word_of_letters(arena, store, path, from + 4 * i * length, length);
    values.at = code;
    return values;
}

/* Of '<U12' 12; -1: it is no text. */
static int64_t letters_of(const char *descr)
{
    int64_t length;
    if (strncmp(descr, "'<U", 3))
        return -1;
    const char *end = number_read(descr + 3, INT32_MAX, &length);
    return end && *end == '\'' ? length : -1;
}

/* Values whose first index goes fastest, so that the last one does. */
static void copy_turned(unsigned char *to, const char *from, const Shape *shape,
                        size_t bytes)
{
    int64_t stride[MAX_RANK + 1] = { 1 };
    int64_t index[MAX_RANK] = { 0 };
    int64_t at = 0;
    if (has_no_values(shape))
        return;
    const int64_t count = shape_count(shape);
    for (int i = 0; i < shape->rank; i++)
        stride[i + 1] = stride[i] * shape->dim[i];
    for (int64_t k = 0; k < count; k++) {
        memcpy(to + (size_t)k * bytes, from + (size_t)at * bytes, bytes);
        for (int i = shape->rank - 1; i >= 0; i--) {
            at += stride[i];
            if (++index[i] < shape->dim[i])
                break;
            at -= stride[i + 1];
            index[i] = 0;
        }
    }
}

static FileValues number_values(Arena *arena, const char *path,
                                const FileValues *kind, const char *from,
                                uint64_t left, bool turned)
{
    FileValues values = *kind;
    const size_t width = (size_t)dtype_bits(values.dtype) / 8;
    if (bytes_of(path, &values, left) != left)
        value_fail(path, "holds other values than its shape says");
    values.at = arena_alloc(arena, (size_t)left + 1); /* aligned */
    if (turned)
        copy_turned(values.at, from, &values.shape, width);
    else
        memcpy(values.at, from, (size_t)left);
    return values;
}

FileValues npy_values(Arena *arena, Store *store, const char *path,
                      const char *all, uint64_t size)
{
    const Header header = header_of(arena, path, all, size);
    const char *order = find_key(path, header.text, "'fortran_order'");
    const char *descr = find_key(path, header.text, "'descr'");
    const char *at = find_key(path, header.text, "'shape'");
    const uint64_t left = size - header.end;
    const char *from = all + header.end;
    const int64_t letters = letters_of(descr);
    const Shape shape = shape_read(path, at);
    const bool turned = strncmp(order, "False", 5) != 0;
    if (letters >= 0 && turned)
        value_fail(path, "is in Fortran's order: save numpy.ascontiguousarray");
    if (letters >= 0)
        return text_values(arena, store, path, &shape, from, left, letters);
    const FileValues kind = { .dtype = type_of(path, descr), .shape = shape };
    return number_values(arena, path, &kind, from, left, turned);
}

FileValues npy_read(const ValueFile *from)
{
    return npy_values(from->arena, from->store, from->path,
                      value_text(from->arena, from->file), from->file->size);
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

/* All texts as long as the longest; NumPy has none of length 0. */
static int64_t longest_of(const Letters *text, int64_t count)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < count; i++)
        longest = i64_max(longest, text[i].n);
    return longest;
}

static void put_text(unsigned char *to, const Letters *text)
{
    for (int64_t k = 0; k < text->n; k++)
        for (int i = 0; i < 4; i++)
            to[4 * k + i] = (unsigned char)(text->at[k] >> 8 * i);
}

static void write_texts(Arena *arena, File *file, const Tensor *tensor,
                        const int64_t *code)
{
    const int64_t count = tensor_count(tensor);
    Letters *text = NEW_ARRAY(arena, Letters, count + 1);
    for (int64_t i = 0; i < count; i++)
        text[i] = word_letters(arena, tensor->graph->store, code[i]);
    const int64_t longest = longest_of(text, count);
    const char *descr = arena_printf(arena, "U%" PRId64, longest);
    const Text head = header_text(arena, descr, &tensor->shape);
    const size_t bytes = size_mul((size_t)longest, 4);
    unsigned char *all = arena_array(arena, (size_t)count + 1, bytes);
    for (int64_t i = 0; i < count; i++)
        put_text(all + (size_t)i * bytes, text + i);
    file_write(file, 0, head.at, head.n);
    file_write(file, head.n, all, (size_t)count * bytes);
}

void npy_write(Arena *arena, File *file, const Tensor *tensor,
               const void *values)
{
    const size_t bytes = (size_t)tensor_bytes(tensor);
    const int64_t packed = (int64_t)bytes;
    const bool whole = dtype_bits(tensor->dtype) >= 8;
    const Shape shape = whole ? tensor->shape : shape_of(1, &packed);
    if (tensor->words) {
        write_texts(arena, file, tensor, values);
        return;
    }
    const Text text = header_text(arena, descr_of(tensor->dtype), &shape);
    file_write(file, 0, text.at, text.n);
    file_write(file, text.n, values, bytes);
}
