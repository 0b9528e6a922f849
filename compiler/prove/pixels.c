/* SPDX-License-Identifier: Apache-2.0
 * A unit pixel by pixel, where its row of the result is written over rows that it reads. */
#include "base/size.h"
#include "prove/replay.h"

static int64_t pixel_bytes(const Operand *o)
{
    return o->pixel * element_bits(o) / 8;
}

bool whole_pixels(const Operand *o)
{
    return !o->part && !o->offset && pixel_bytes(o) && o->row_bytes % pixel_bytes(o) == 0;
}

bool goes_by_pixels(const Step *s, int32_t u)
{
    const Operand *y = s->operand;
    if (s->n_out != 1 || !y->tensor || !watched(y) || !by_row(s, y) || !whole_pixels(y))
        return false;
    const Piece w = piece_of(y, u);
    bool any = false;
    for (int k = s->n_out; k < s->n_operand; k++) {
        const Operand *x = s->operand + k;
        if (!x->tensor || !x->pixels.tile || !watched(x) || in_place(s, y, x))
            continue;
        if (!whole_pixels(x))
            return false;
        const Range r = rows_of(s, x, u);
        for (int32_t i = r.lo; i < r.hi; i++) {
            const Piece p = piece_of(x, i);
            any |= p.begin < w.end && w.begin < p.end;
        }
    }
    return any;
}

/* Bytes of columns [lo, hi) of a row. */
static Piece columns_of(const Operand *o, int32_t row, int64_t lo, int64_t hi)
{
    Piece p = piece_of(o, row);
    const int64_t width = o->row_bytes / pixel_bytes(o), begin = p.begin;
    p.begin = begin + i64_min(i64_max(lo, 0), width) * pixel_bytes(o);
    p.end = begin + i64_min(i64_max(hi, 0), width) * pixel_bytes(o);
    return p;
}

/* What pixel `at` of the result's row u is made from. */
static bool read_window(Check *c, const Step *s, const Operand *x, int32_t u, int64_t at)
{
    const PixelRule *p = &x->pixels;
    const Range r = rows_of(s, x, u);
    for (int32_t i = r.lo; i < r.hi; i++) {
        const Piece w =
            columns_of(x, i, at * p->stride - p->pad, at * p->stride - p->pad + p->extent);
        if (w.begin < w.end && !read_piece(c, x, &w))
            return false;
    }
    return true;
}

bool check_pixels(Check *c, const Step *s, int32_t u)
{
    const Operand *y = s->operand;
    const int64_t width = y->row_bytes / pixel_bytes(y);
    int64_t most = 1;
    for (int k = 1; k < s->n_operand; k++)
        most = i64_max(most, s->operand[k].pixels.tile);
    for (int64_t i = 0; i < width + most - 1; i++) {
        const int64_t at = s->backward ? width - 1 - i : i;
        const Piece w = columns_of(y, u, at, at + 1);
        if (i < width && !write_piece(c, y, &w, 0))
            return false;
        for (int k = 1; k < s->n_operand; k++) {
            const Operand *x = s->operand + k;
            const int64_t back = x->pixels.tile - 1, from = s->backward ? at + back : at - back;
            if (!watched(x) || !x->pixels.tile || from < 0 || from >= width)
                continue;
            if (!read_window(c, s, x, u, from))
                return false;
        }
    }
    return true;
}

/* Columns of a row of x that are still needed when pixel c of the result is written. */
static int64_t columns_needed(const Operand *x, int64_t width, int64_t c, bool backward)
{
    const PixelRule *p = &x->pixels;
    const int64_t columns = x->row_bytes / pixel_bytes(x), first = i64_max(c - (p->tile - 1), 0),
                  last = i64_min(c + p->tile - 1, width - 1);
    const int64_t end = i64_min(i64_max(last * p->stride - p->pad + p->extent, 0), columns);
    return backward ? end : columns - i64_min(i64_max(first * p->stride - p->pad, 0), columns);
}

int64_t pixels_saved(const Step *s, bool backward, const int32_t *dying)
{
    const Operand *y = s->operand;
    const int64_t pitch = pixel_bytes(y), width = y->row_bytes / pitch;
    int64_t all = y->row_bytes, most = 0;
    for (int k = 0; k < s->n_operand; k++)
        all += dying[k] ? dying[k] * s->operand[k].row_bytes : 0;
    for (int64_t c = 0; c < width; c++) {
        int64_t now = (backward ? width - c : c + 1) * pitch;
        for (int k = 0; k < s->n_operand; k++)
            if (dying[k])
                now += dying[k] * columns_needed(s->operand + k, width, c, backward) *
                       pixel_bytes(s->operand + k);
        most = i64_max(most, now);
    }
    return all - most;
}
