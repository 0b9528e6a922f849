/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing of MiniMalloc's CSV. Times may be any 64-bit numbers: only
 * their order matters, so where they do not fit an item's steps they are ranked. */
#include "place/csv.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/limits.h"
#include "base/size.h"

enum {
    COL_ID,
    COL_LOWER,
    COL_UPPER,
    COL_SIZE,
    COL_ALIGNMENT,
    COL_HINT,
    COL_GAPS,
    COL_OFFSET,
    COLUMNS
};

static const struct {
    const char *name;
    int column;
    bool inclusive;
} NAMES[] = {
    { "id", COL_ID, false },         { "buffer", COL_ID, false },
    { "buffer_id", COL_ID, false },  { "lower", COL_LOWER, false },
    { "begin", COL_LOWER, false },   { "start", COL_LOWER, false },
    { "upper", COL_UPPER, false },   { "end", COL_UPPER, true },
    { "size", COL_SIZE, false },     { "alignment", COL_ALIGNMENT, false },
    { "hint", COL_HINT, false },     { "gaps", COL_GAPS, false },
    { "offset", COL_OFFSET, false },
};

typedef struct Gap {
    int64_t begin, end, low, high;
} Gap;

typedef struct Span { /* an item as the file has it */
    int64_t begin, end;
    size_t first_gap, gaps;
} Span;

typedef struct Reader {
    Arena *a;
    const char *path, *text, *end;
    PlaceCsv *csv;
    int line;
    int at[COLUMNS];   /* which column of the file; -1: none */
    int64_t inclusive; /* 1: the last step is given, not the one after it */
    VEC(Span) span;
    VEC(Gap) gap;
} Reader;

static const char *const FORM = "the first line names the columns id, lower, "
                                "upper, size and, optional, alignment, "
                                "hint, gaps, offset";

#define MALFORMED(r, where, ...) \
    fail_at( \
        STATUS_MALFORMED, \
        (Loc){ .file = (r)->path, .byte = (where) - (r)->text, .node = -1 }, \
        FORM, __VA_ARGS__)

/* ---- fields ---- */

/* Puts the next line that is not empty in *line, without its end; false at the end of the text. */
static bool next_line(Reader *reader, const char **from, CsvField *line)
{
    while (*from < reader->end) {
        const char *text = *from;
        const char *stop = memchr(text, '\n', (size_t)(reader->end - text));
        if (!stop)
            stop = reader->end;
        *from = stop < reader->end ? stop + 1 : stop;
        reader->line++;
        if (stop > text && stop[-1] == '\r')
            stop--;
        *line = (CsvField){ text, (size_t)(stop - text) };
        if (line->length)
            return true;
    }
    return false;
}

static CsvField trimmed(CsvField field)
{
    while (field.length && (*field.text == ' ' || *field.text == '\t'))
        field = (CsvField){ field.text + 1, field.length - 1 };
    while (field.length && (field.text[field.length - 1] == ' ' ||
                            field.text[field.length - 1] == '\t'))
        field.length--;
    return field;
}

static int split(Reader *reader, CsvField line)
{
    int n = 0;
    for (const char *p = line.text, *end = p + line.length;; n++) {
        const char *stop = memchr(p, ',', (size_t)(end - p));
        const size_t length = (size_t)((stop ? stop : end) - p);
        VEC_PUSH(reader->a, &reader->csv->field,
                 trimmed((CsvField){ p, length }));
        if (!stop)
            return n + 1;
        p = stop + 1;
    }
}

static bool is_text(CsvField field, const char *text)
{
    return field.length == strlen(text) &&
           !memcmp(field.text, text, field.length);
}

/* A decimal number at *p; false if there is none or it leaves 64 bits. */
static bool take_number(const char **p, const char *end, int64_t *out)
{
    const char *s = *p;
    const bool minus = s < end && *s == '-';
    int64_t v = 0;
    s += minus;
    if (s == end || *s < '0' || *s > '9')
        return false;
    for (; s < end && *s >= '0' && *s <= '9'; s++) {
        const int64_t digit = minus ? '0' - *s : *s - '0';
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *p = s;
    *out = v;
    return true;
}

static int64_t number(const Reader *reader, CsvField field, const char *what)
{
    const char *p = field.text;
    const char *end = p + field.length;
    int64_t v = 0;
    if (!take_number(&p, end, &v) || p != end)
        MALFORMED(reader, field.text,
                  "line %d: %s is not a whole number: \"%.*s\"", reader->line,
                  what, field.length < 40 ? (int)field.length : 40, field.text);
    return v;
}

/* ---- the header ---- */

static void name_column(Reader *reader, CsvField field, int index)
{
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        if (!is_text(field, NAMES[k].name))
            continue;
        if (reader->at[NAMES[k].column] >= 0)
            MALFORMED(reader, field.text, "column \"%s\" is given twice",
                      NAMES[k].name);
        reader->at[NAMES[k].column] = index;
        if (NAMES[k].inclusive)
            reader->inclusive = 1;
        return;
    }
}

static void read_header(Reader *reader, const char **from)
{
    static const char *const needed[] = { "id", "lower", "upper", "size" };
    CsvField line;
    if (reader->end - *from >= 3 && !memcmp(*from, "\xef\xbb\xbf", 3))
        *from += 3;
    if (!next_line(reader, from, &line))
        MALFORMED(reader, reader->text, "the file is empty");
    for (int k = 0; k < COLUMNS; k++)
        reader->at[k] = -1;
    reader->csv->columns = split(reader, line);
    for (int k = 0; k < reader->csv->columns; k++)
        name_column(reader, reader->csv->field.at[k], k);
    for (int k = 0; k <= COL_SIZE; k++)
        if (reader->at[k] < 0)
            MALFORMED(reader, reader->text, "column \"%s\" is missing",
                      needed[k]);
    reader->csv->offset_column = reader->at[COL_OFFSET];
}

/* ---- rows ---- */

static bool take_gap(const Reader *reader, const char **p, const char *end,
                     int64_t size, Gap *gap)
{
    *gap = (Gap){ 0 };
    if (!take_number(p, end, &gap->begin) || *p == end || *(*p)++ != '-')
        return false;
    if (!take_number(p, end, &gap->end) ||
        gap->end > INT64_MAX - reader->inclusive)
        return false;
    gap->end += reader->inclusive;
    if (gap->begin >= gap->end)
        return false;
    if (*p == end || **p == ' ')
        return true;
    if (*(*p)++ != '@' || !take_number(p, end, &gap->low) || *p == end ||
        *(*p)++ != ':')
        return false;
    if (!take_number(p, end, &gap->high) || (*p < end && **p != ' '))
        return false;
    return 0 <= gap->low && gap->low <= gap->high && gap->high <= size;
}

static int by_begin(const void *a, const void *b)
{
    const Gap *x = a;
    const Gap *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The cost of parts that exclude each other grows with the square of their number. */
static void add_gap(Reader *reader, const Gap *gap, const char *at)
{
    const Loc loc = { .file = reader->path,
                      .byte = at - reader->text,
                      .node = -1 };
    VEC_PUSH(reader->a, &reader->gap, *gap);
    if (reader->gap.n > LIMIT_GAPS)
        fail_at(STATUS_UNSUPPORTED, loc, NULL, "more than %d gaps", LIMIT_GAPS);
}

static void read_gaps(Reader *reader, CsvField field, int64_t size, Span *span)
{
    span->first_gap = reader->gap.n;
    if (!field.length)
        return;
    for (const char *p = field.text, *end = p + field.length; p < end;) {
        Gap gap;
        if (*p == ' ') {
            p++;
            continue;
        }
        if (!take_gap(reader, &p, end, size, &gap))
            MALFORMED(reader, field.text,
                      "line %d: gaps are windows lo-hi or lo-hi@wlo:whi within "
                      "the item's size",
                      reader->line);
        add_gap(reader, &gap, p);
    }
    span->gaps = reader->gap.n - span->first_gap;
    if (span->gaps < 2)
        return;
    Gap *gap = reader->gap.at + span->first_gap;
    qsort(gap, span->gaps, sizeof *gap, by_begin);
    for (size_t k = 1; k < span->gaps; k++)
        if (gap[k].begin < gap[k - 1].end)
            MALFORMED(reader, field.text, "line %d: gaps overlap",
                      reader->line);
}

static CsvField column(const Reader *reader, const CsvField *row, int k)
{
    return reader->at[k] < 0 ? (CsvField){ reader->text, 0 }
                             : row[reader->at[k]];
}

static void read_span(Reader *reader, const CsvField *row,
                      const PlaceItem *item)
{
    const CsvField upper = column(reader, row, COL_UPPER);
    const CsvField gaps = column(reader, row, COL_GAPS);
    Span span = { .begin = number(reader, column(reader, row, COL_LOWER),
                                  "the begin"),
                  .end = number(reader, upper, "the end") };
    if (__builtin_add_overflow(span.end, reader->inclusive, &span.end) ||
        span.end < span.begin)
        MALFORMED(reader, upper.text,
                  "line %d: the lifetime ends before it begins", reader->line);
    read_gaps(reader, gaps, item->size, &span);
    VEC_PUSH(reader->a, &reader->span, span);
}

static int64_t read_size(const Reader *reader, const CsvField *row)
{
    const CsvField field = column(reader, row, COL_SIZE);
    const int64_t size = number(reader, field, "the size");
    if (size < 0)
        MALFORMED(reader, field.text, "line %d: the size is negative",
                  reader->line);
    return size;
}

static int64_t read_alignment(const Reader *reader, const CsvField *row)
{
    const CsvField field = column(reader, row, COL_ALIGNMENT);
    const int64_t align =
        field.length ? number(reader, field, "the alignment") : 1;
    if (align < 1)
        MALFORMED(reader, field.text, "line %d: the alignment is not positive",
                  reader->line);
    return align;
}

/* An offset that is given is the item's. */
static void read_pin(const Reader *reader, const CsvField *row, PlaceItem *item)
{
    const CsvField field = column(reader, row, COL_OFFSET);
    item->pinned = field.length > 0;
    if (item->pinned)
        item->pin = number(reader, field, "the offset");
    if (item->pin < 0 || item->pin % item->align)
        MALFORMED(reader, field.text,
                  "line %d: the offset is no multiple of the alignment",
                  reader->line);
}

/* INT64_MAX: there is none. */
static int64_t read_hint(const Reader *reader, const CsvField *row)
{
    const CsvField field = column(reader, row, COL_HINT);
    const int64_t hint = field.length ? number(reader, field, "the hint") : -1;
    return hint < 0 ? INT64_MAX : hint;
}

static void read_row(Reader *reader, const CsvField *row)
{
    PlaceItem item = { .size = read_size(reader, row) };
    item.align = read_alignment(reader, row);
    read_pin(reader, row, &item);
    read_span(reader, row, &item);
    VEC_PUSH(reader->a, &reader->csv->item, item);
    if (reader->at[COL_HINT] >= 0)
        VEC_PUSH(reader->a, &reader->csv->hint, read_hint(reader, row));
}

static void read_rows(Reader *reader, const char *from)
{
    CsvField line;
    while (next_line(reader, &from, &line)) {
        const size_t first = reader->csv->field.n;
        const int n = split(reader, line);
        if (n != reader->csv->columns)
            MALFORMED(reader, line.text, "line %d has %d fields, the header %d",
                      reader->line, n, reader->csv->columns);
        if (reader->csv->item.n == INT_MAX / 8)
            MALFORMED(reader, line.text, "line %d: too many items",
                      reader->line);
        read_row(reader, reader->csv->field.at + first);
    }
}

/* ---- times to steps ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

typedef struct Clock {
    int64_t base;
    int64_t *rank; /* NULL: a step is a time less base */
    size_t n;
} Clock;

static int32_t step_at(const Clock *clock, int64_t time)
{
    if (!clock->rank)
        return (int32_t)(time - clock->base);
    const int64_t *at =
        bsearch(&time, clock->rank, clock->n, sizeof time, by_value);
    return (int32_t)(at - clock->rank);
}

/* The times of all lives and gaps, rising. */
static void list_times(const Reader *reader, Clock *clock)
{
    const size_t most = 2 * (reader->span.n + reader->gap.n) + 1;
    int64_t *time = NEW_ARRAY(reader->a, int64_t, most);
    size_t n = 0;
    for (size_t k = 0; k < reader->span.n; k++) {
        time[n] = reader->span.at[k].begin;
        time[n + 1] = reader->span.at[k].end;
        n += 2;
    }
    for (size_t k = 0; k < reader->gap.n; k++) {
        time[n] = reader->gap.at[k].begin;
        time[n + 1] = reader->gap.at[k].end;
        n += 2;
    }
    if (n)
        qsort(time, n, sizeof *time, by_value);
    clock->rank = time;
    clock->n = n;
}

static void drop_equal_times(Clock *clock)
{
    int64_t *time = clock->rank;
    size_t kept = 0;
    for (size_t k = 0; k < clock->n; k++) {
        if (kept && time[k] == time[kept - 1])
            continue;
        time[kept] = time[k];
        kept++;
    }
    clock->n = kept;
}

static Clock set_clock(const Reader *reader)
{
    Clock clock = { 0 };
    int64_t range;
    list_times(reader, &clock);
    if (!clock.n)
        return clock;
    const int64_t last = clock.rank[clock.n - 1];
    clock.base = clock.rank[0];
    if (!__builtin_sub_overflow(last, clock.base, &range) && range < INT32_MAX)
        clock.rank = NULL;
    else
        drop_equal_times(&clock);
    return clock;
}

/* The parts of an item, as they are listed. */
typedef struct Parts {
    const Clock *clock;
    PlacePart *at;
    int n;
} Parts;

static void add_part(Parts *parts, int64_t offset, int64_t size, int64_t begin,
                     int64_t end)
{
    parts->at[parts->n] = (PlacePart){
        .offset = offset,
        .size = size,
        .begin = step_at(parts->clock, begin),
        .end = step_at(parts->clock, end),
    };
    parts->n++;
}

/* Whole between the gaps; in a gap, its window if it has one. */
static void list_parts(Parts *parts, const PlaceItem *item, const Span *span,
                       const Gap *gap)
{
    int64_t now = span->begin;
    for (size_t k = 0; k < span->gaps; k++) {
        const int64_t begin = i64_max(gap[k].begin, now);
        const int64_t end = i64_min(gap[k].end, span->end);
        const int64_t window = gap[k].high - gap[k].low;
        if (begin >= end)
            continue;
        if (now < begin)
            add_part(parts, 0, item->size, now, begin);
        if (window > 0)
            add_part(parts, gap[k].low, window, begin, end);
        now = end;
    }
    if (now < span->end)
        add_part(parts, 0, item->size, now, span->end);
}

static void set_parts(Reader *reader, PlaceItem *item, const Span *span,
                      const Clock *clock)
{
    Parts parts = {
        .clock = clock,
        .at = NEW_ARRAY(reader->a, PlacePart, 2 * span->gaps + 1),
    };
    list_parts(&parts, item, span, reader->gap.at + span->first_gap);
    item->part = parts.at;
    item->parts = parts.n;
    if (!parts.n)
        item->end = item->begin;
}

PlaceCsv *place_csv_read(Arena *arena, const char *path, const char *text,
                         size_t length)
{
    Reader reader = { .a = arena,
                      .path = path,
                      .text = text,
                      .end = text + length,
                      .csv = NEW(arena, PlaceCsv) };
    const char *from = text;
    read_header(&reader, &from);
    read_rows(&reader, from);
    const Clock clock = set_clock(&reader);
    for (size_t k = 0; k < reader.csv->item.n; k++) {
        PlaceItem *item = &reader.csv->item.at[k];
        const Span *span = &reader.span.at[k];
        item->begin = step_at(&clock, span->begin);
        item->end = step_at(&clock, span->end);
        if (span->gaps)
            set_parts(&reader, item, span, &clock);
    }
    return reader.csv;
}

static void put_text(Sink out, const char *text)
{
    out.put(out.to, text, strlen(text));
}

static void put_offset(Sink out, int64_t offset)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, offset);
    put_text(out, number);
}

void place_csv_write(const PlaceCsv *csv, const int64_t *offset, Sink out)
{
    const CsvField *f = csv->field.at;
    for (size_t row = 0; row <= csv->item.n; row++) {
        for (int k = 0; k < csv->columns; k++, f++) {
            put_text(out, k ? "," : "");
            if (row && k == csv->offset_column)
                put_offset(out, offset[row - 1]);
            else
                out.put(out.to, f->text, f->length);
        }
        if (csv->offset_column < 0)
            put_text(out, row ? "," : ",offset");
        if (csv->offset_column < 0 && row)
            put_offset(out, offset[row - 1]);
        put_text(out, "\n");
    }
}
