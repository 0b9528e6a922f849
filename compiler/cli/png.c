/* SPDX-License-Identifier: Apache-2.0
 * PNG by libpng: levels as they are in the file, 8 bits each, palettes spelt out. No colour is
 * changed: gamma and profiles are left alone, as they were when the model was trained. */
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "cli/file_values.h"

/* What libpng's callbacks are given. */
typedef struct PngFile {
    const ValueFile *of;
    uint64_t at;
} PngFile;

static _Noreturn void fail(png_structp png, png_const_charp what)
{
    const PngFile *from = png_get_error_ptr(png);
    fail_at(STATUS_MALFORMED, value_place(from->of->path), NULL,
            "is no PNG that can be read (%s)", what);
}

static void keep_silent(png_structp png, png_const_charp what)
{
    (void)png;
    (void)what;
}

static png_voidp take(png_structp png, png_alloc_size_t bytes)
{
    const PngFile *from = png_get_mem_ptr(png);
    return arena_alloc(from->of->arena, bytes);
}

static void give(png_structp png, png_voidp at)
{
    (void)png;
    (void)at;
}

static void read_bytes(png_structp png, png_bytep to, size_t count)
{
    PngFile *from = png_get_io_ptr(png);
    if (count > from->of->file->size - from->at)
        fail(png, "it is cut off");
    file_read(from->of->file, from->at, to, count);
    from->at += count;
}

/* Levels of 8 bits, in as many channels as the model takes: grey for a model of colours is all
 * three, and transparency goes where no fourth channel is wanted. */
static void ask_for_bytes(png_structp png, png_infop info, int64_t wanted)
{
    const int64_t plane = (int64_t)png_get_image_width(png, info) *
                          png_get_image_height(png, info);
    png_set_expand(png);
    png_set_scale_16(png);
    if (wanted >= 3 * plane)
        png_set_gray_to_rgb(png);
    if (wanted != 4 * plane)
        png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static void read_rows(Arena *arena, png_structp png, Picture *picture)
{
    const size_t bytes = (size_t)(picture->width * picture->channels);
    unsigned char *all = arena_array(arena, (size_t)picture->height, bytes);
    png_bytep *row = NEW_ARRAY(arena, png_bytep, picture->height);
    for (int64_t i = 0; i < picture->height; i++)
        row[i] = all + (size_t)i * bytes;
    png_read_image(png, row);
    png_read_end(png, NULL);
    picture->pixel = all;
}

FileValues png_read(const ValueFile *of)
{
    PngFile from = { .of = of };
    png_structp png = png_create_read_struct_2(
        PNG_LIBPNG_VER_STRING, &from, fail, keep_silent, &from, take, give);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info)
        value_fail(of->path, "cannot be read by this libpng");
    png_set_read_fn(png, &from, read_bytes);
    png_set_user_limits(png, LARGEST_SIDE, LARGEST_SIDE);
    png_read_info(png, info);
    ask_for_bytes(png, info, tensor_count(of->wanted));
    Picture picture = {
        .channels = png_get_channels(png, info),
        .width = png_get_image_width(png, info),
        .height = png_get_image_height(png, info),
    };
    picture_check(of, &picture);
    read_rows(of->arena, png, &picture);
    return picture_values(of, &picture);
}
