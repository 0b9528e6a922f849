/* SPDX-License-Identifier: Apache-2.0
 * MiniMalloc's CSV form of an offset problem, read and written. Columns in any
 * order: id, lower (begin, start), upper (end: inclusive), size and, optional,
 * alignment, hint, gaps, offset; others are kept. A given offset pins its item,
 * an empty one does not. Gaps are windows of time, parted by spaces: `lo-hi`, in
 * which the item takes nothing, and `lo-hi@wlo:whi`, in which it takes only its
 * bytes [wlo, whi). */
#ifndef INLAY_PLACE_CSV_H
#define INLAY_PLACE_CSV_H

#include <stddef.h>

#include "base/pieces.h"
#include "base/vec.h"
#include "place/place.h"

typedef struct CsvField {
    const char *text; /* borrowed, not ended by NUL */
    size_t length;
} CsvField;

typedef struct PlaceCsv {
    int columns, offset_column; /* -1: none */
    VEC(CsvField) field;        /* row by row, the header first */
    VEC(PlaceItem) item;
    VEC(int64_t) hint; /* one an item, or none */
} PlaceCsv;

/* The text must outlive the result. What is malformed ends in fail_at() with status 65; `path` is
 * for messages. */
PlaceCsv *place_csv_read(Arena *arena, const char *path, const char *text,
                         size_t length);
/* The same rows with their offsets. */
void place_csv_write(const PlaceCsv *csv, const int64_t *offset, Sink out);

#endif
