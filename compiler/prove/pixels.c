/* SPDX-License-Identifier: Apache-2.0
 * A unit pixel by pixel, where its row of the result is written over rows that it reads. */
#include "base/size.h"
#include "prove/replay.h"

static int64_t pixel_bytes(const Operand *operand)
{
    return operand->pixel * element_bits(operand) / 8;
}

bool whole_pixels(const Operand *operand)
{
    return !operand->part && !operand->offset && pixel_bytes(operand) &&
           operand->row_bytes % pixel_bytes(operand) == 0;
}

/* Does unit u read bytes of x that it writes? */
static bool reads_over(const Step *step, const Operand *x, int32_t u,
                       const Piece *written)
{
    const Range all = rows_of(step, x, u);
    const Range range = rows_near(x, all, written);
    for (int32_t i = range.lo; i < range.hi; i++) {
        const Piece piece = piece_of(x, i);
        if (piece.begin < written->end && written->begin < piece.end)
            return true;
    }
    return false;
}

/* Are pixels made in the order of the walk? Kernels that cannot go backward make those of a unit
 * forward. Of several units of a call, whose rows have slots, they may be made in any order: a row
 * that is made by itself has nothing to be mixed with. */
static bool keeps_order(const Check *check, const Step *step, const Operand *o)
{
    const bool turned = step->backward && step->units > 1;
    if (turned && !step_reverses(step))
        return false;
    if (o->ref.slot)
        return check->alone;
    return true;
}

bool goes_by_pixels(const Check *check, const Step *step, int32_t u)
{
    const Operand *y = step->operand;
    if (step->n_out != 1 || !watched(y) || !by_row(step, y) || !whole_pixels(y))
        return false;
    if (!keeps_order(check, step, y))
        return false;
    const Piece written = piece_of(y, u);
    bool any = false;
    for (int k = step->n_out; k < step->n_operand; k++) {
        const Operand *x = step->operand + k;
        if (!watched(x) || !x->pixels.tile || unit_in_place(check, y, x, u))
            continue;
        if (!keeps_order(check, step, x) || !whole_pixels(x))
            return false;
        any |= reads_over(step, x, u, &written);
    }
    return any;
}

/* Bytes of columns [lo, hi) of a row. */
static Piece columns_of(const Operand *operand, int32_t row, int64_t lo,
                        int64_t hi)
{
    Piece piece = piece_of(operand, row);
    const int64_t pixel = pixel_bytes(operand);
    const int64_t width = operand->row_bytes / pixel;
    const int64_t first = i64_min(i64_max(lo, 0), width);
    const int64_t end = i64_min(i64_max(hi, 0), width);
    piece.end = piece.begin + end * pixel;
    piece.begin += first * pixel;
    return piece;
}

/* What pixel `at` of the result's row u is made from. */
static bool read_window(Check *check, const Step *step, const Operand *x,
                        int32_t u, int64_t at)
{
    const PixelRule *rule = &x->pixels;
    const int64_t lo = at * rule->stride - rule->pad;
    const int64_t hi = lo + rule->extent;
    const Range range = rows_of(step, x, u);
    for (int32_t i = range.lo; i < range.hi; i++) {
        const Piece w = columns_of(x, i, lo, hi);
        if (w.begin < w.end && !read_piece(check, x, &w))
            return false;
    }
    return true;
}

/* The largest tile in which the kernel makes pixels of its result. */
static int64_t largest_tile(const Step *step)
{
    int64_t most = 1;
    for (int k = 1; k < step->n_operand; k++)
        most = i64_max(most, step->operand[k].pixels.tile);
    return most;
}

/* Pixel `at` of a row of `width` has been written: each input reads, as late as it may, the window
 * of the pixel with which the largest tile that ends here begins. */
static bool read_windows(Check *check, const Step *step, int32_t u, int64_t at,
                         int64_t width)
{
    for (int k = 1; k < step->n_operand; k++) {
        const Operand *x = step->operand + k;
        const int64_t back = x->pixels.tile - 1;
        const int64_t from = step->backward ? at + back : at - back;
        if (!watched(x) || !x->pixels.tile || from < 0 || from >= width)
            continue;
        if (!read_window(check, step, x, u, from))
            return false;
    }
    return true;
}

bool check_pixels(Check *check, const Step *step, int32_t u)
{
    const Operand *y = step->operand;
    const int64_t width = y->row_bytes / pixel_bytes(y);
    const int64_t turns = width + largest_tile(step) - 1;
    for (int64_t i = 0; i < turns; i++) {
        const int64_t at = step->backward ? width - 1 - i : i;
        const Piece w = columns_of(y, u, at, at + 1);
        if (i < width && !write_piece(check, y, &w, 0))
            return false;
        if (!read_windows(check, step, u, at, width))
            return false;
    }
    return true;
}

/* Columns of a row of x that are still needed when pixel c of the result is written. */
static int64_t columns_needed(const Operand *x, int64_t width, int64_t c,
                              bool backward)
{
    const PixelRule *rule = &x->pixels;
    const int64_t columns = x->row_bytes / pixel_bytes(x);
    const int64_t first = i64_max(c - (rule->tile - 1), 0);
    const int64_t last = i64_min(c + rule->tile - 1, width - 1);
    const int64_t begin = first * rule->stride - rule->pad;
    const int64_t end = last * rule->stride - rule->pad + rule->extent;
    if (backward)
        return i64_min(i64_max(end, 0), columns);
    return columns - i64_min(i64_max(begin, 0), columns);
}

/* The same in bytes, over all operands that die. */
static int64_t bytes_needed(const Step *step, int64_t width, int64_t c,
                            bool backward, const int32_t *dying)
{
    int64_t bytes = 0;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *x = step->operand + k;
        if (!dying[k])
            continue;
        const int64_t columns = columns_needed(x, width, c, backward);
        bytes += dying[k] * columns * pixel_bytes(x);
    }
    return bytes;
}

int64_t pixels_saved(const Step *step, bool backward, const int32_t *dying)
{
    const Operand *y = step->operand;
    const int64_t pitch = pixel_bytes(y);
    const int64_t width = y->row_bytes / pitch;
    int64_t all = y->row_bytes;
    int64_t most = 0;
    for (int k = 0; k < step->n_operand; k++)
        all += dying[k] ? dying[k] * step->operand[k].row_bytes : 0;
    for (int64_t c = 0; c < width; c++) {
        const int64_t made = backward ? width - c : c + 1;
        const int64_t needed = bytes_needed(step, width, c, backward, dying);
        most = i64_max(most, made * pitch + needed);
    }
    return all - most;
}
