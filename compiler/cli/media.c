/* SPDX-License-Identifier: Apache-2.0
 * Sound, pictures and numbers as text. Samples and levels are scaled where floats are wanted:
 * sound to -1 ... 1, pictures to 0 ... 1; for integers they are taken as they are. */
#include <stdlib.h>
#include <string.h>

#include "cli/file_values.h"

static uint32_t little(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static FileValues list_of(DType dtype, int64_t count, void *at)
{
    return (FileValues){
        .dtype = dtype,
        .shape = shape_of(1, &count),
        .at = at,
        .any_type = true,
    };
}

/* ---- sound ---- */

typedef struct Sound {
    uint32_t format; /* 1: integers, 3: floats */
    uint32_t bits;
    const unsigned char *data;
    uint32_t bytes;
} Sound;

/* Chunks: four letters, a length, so many bytes, and one more where it is odd. */
static Sound read_chunks(const unsigned char *all, uint64_t size)
{
    Sound sound = { 0 };
    for (uint64_t at = 12; at + 8 <= size;) {
        const unsigned char *chunk = all + at;
        const uint32_t length = little(chunk + 4, 4);
        const uint64_t left = size - at - 8;
        if (!memcmp(chunk, "fmt ", 4) && length >= 16 && left >= 16) {
            sound.format = little(chunk + 8, 2);
            sound.bits = little(chunk + 22, 2);
        }
        if (!memcmp(chunk, "data", 4)) {
            sound.data = chunk + 8;
            sound.bytes = length < left ? length : (uint32_t)left;
        }
        at += 8 + (uint64_t)length + (length & 1);
    }
    return sound;
}

FileValues wav_read(const ValueFile *from)
{
    const unsigned char *all =
        (const unsigned char *)value_text(from->arena, from->file);
    const Sound sound = read_chunks(all, from->file->size);
    const bool is_float = sound.format == 3 && sound.bits == 32;
    if (!sound.data || !(is_float || (sound.format == 1 && sound.bits == 16)))
        value_fail(from->path,
                   "is no WAV file of 16-bit integers or 32-bit floats");
    const int64_t count = sound.bytes / (sound.bits / 8);
    void *to = arena_alloc(from->arena, (size_t)sound.bytes + 4);
    memcpy(to, sound.data, sound.bytes);
    FileValues values = list_of(is_float ? DT_F32 : DT_I16, count, to);
    values.scale = is_float ? 0 : 1.0 / 32768;
    return values;
}

/* ---- pictures ---- */

/* A number of the head, behind blanks and comments. */
static int64_t head_number(const char *path, const char **at)
{
    *at += strspn(*at, " \t\r\n");
    while (**at == '#') {
        *at += strcspn(*at, "\n");
        *at += strspn(*at, " \t\r\n");
    }
    char *end;
    const long number = strtol(*at, &end, 10);
    if (end == *at || number < 1 || number > LARGEST_SIDE)
        value_fail(path, "is no picture that can be read");
    *at = end;
    return number;
}

static bool channels_first(const Tensor *wanted, int64_t channels)
{
    const Shape shape = tensor_model_shape(wanted);
    return shape.rank >= 3 && shape.dim[shape.rank - 3] == channels &&
           shape.dim[shape.rank - 1] != channels;
}

static Picture read_picture(const ValueFile *from)
{
    const char *path = from->path;
    const char *all = value_text(from->arena, from->file);
    const char *at = all + 2;
    Picture picture = { .channels = all[1] == '6' ? 3 : 1 };
    picture.width = head_number(path, &at);
    picture.height = head_number(path, &at);
    const int64_t levels = head_number(path, &at);
    const int64_t plane = picture.width * picture.height;
    const uint64_t begin = (uint64_t)(at + 1 - all);
    const uint64_t end = begin + (uint64_t)(plane * picture.channels);
    if (levels != 255)
        value_fail(path, "has not the levels 0 to 255");
    if (end > from->file->size)
        value_fail(path, "is cut off");
    picture.pixel = (const unsigned char *)at + 1;
    return picture;
}

/* Channel by channel. */
static void copy_planes(unsigned char *to, const Picture *picture)
{
    const int64_t plane = picture->width * picture->height;
    const unsigned char *from = picture->pixel;
    for (int64_t i = 0; i < plane; i++)
        for (int64_t k = 0; k < picture->channels; k++)
            to[k * plane + i] = *from++;
}

void picture_check(const ValueFile *from, const Picture *picture)
{
    const int64_t dims[] = { picture->channels, picture->height,
                             picture->width };
    const Shape shape = shape_of(3, dims);
    const Shape model = tensor_model_shape(from->wanted);
    if (shape_count(&shape) == tensor_count(from->wanted))
        return;
    fail_at(STATUS_MALFORMED, value_place(from->path),
            "scale and crop it to the model's size first",
            "has shape %s, \"%s\" is %s", shape_text(from->arena, &shape),
            from->wanted->name, shape_text(from->arena, &model));
}

FileValues picture_values(const ValueFile *from, const Picture *picture)
{
    const int64_t channels = picture->channels;
    const int64_t count = picture->width * picture->height * channels;
    const int64_t plain[] = { picture->height, picture->width, channels };
    const int64_t turned[] = { channels, picture->height, picture->width };
    const bool planes = channels_first(from->wanted, channels);
    unsigned char *to = arena_alloc(from->arena, (size_t)count + 1);
    if (planes)
        copy_planes(to, picture);
    else
        memcpy(to, picture->pixel, (size_t)count);
    FileValues values = list_of(DT_U8, count, to);
    values.shape = shape_of(3, planes ? turned : plain);
    values.scale = 1.0 / 255;
    return values;
}

FileValues netpbm_read(const ValueFile *from)
{
    const Picture picture = read_picture(from);
    picture_check(from, &picture);
    return picture_values(from, &picture);
}

/* ---- text ---- */

static const char BETWEEN[] = " \t\r\n,;";

/* What follows the number; NULL: there is none. */
static const char *read_number(const char *at, double *number)
{
    char *end;
    *number = strtod(at, &end);
    return end > at && (!*end || strchr(BETWEEN, *end)) ? end : NULL;
}

/* Numbers behind one another; a first line of names is left out. */
FileValues text_read(const ValueFile *from)
{
    const char *at = value_text(from->arena, from->file);
    const size_t most = (size_t)from->file->size / 2 + 2;
    double *to = arena_array(from->arena, most, sizeof *to);
    int64_t count = 0;
    if (!read_number(at + strspn(at, BETWEEN), to))
        at += strcspn(at, "\n");
    for (at += strspn(at, BETWEEN); *at; at += strspn(at, BETWEEN)) {
        at = read_number(at, to + count++);
        if (!at)
            value_fail(from->path, "holds what is no number");
    }
    return list_of(DT_F64, count, to);
}
