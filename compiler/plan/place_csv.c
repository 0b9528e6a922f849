/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing of MiniMalloc's CSV. Times may be any 64-bit numbers: only
 * their order matters, so where they do not fit an item's steps they are ranked. */
#include "plan/place_csv.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
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

static const char *const FORM =
    "the first line names the columns id, lower, upper, size and, optional, alignment, "
    "hint, gaps, offset";

#define MALFORMED(r, where, ...) \
    fail_at(STATUS_MALFORMED, (Loc){ .file = (r)->path, .byte = (where) - (r)->text, .node = -1 }, \
            FORM, __VA_ARGS__)

/* ---- fields ---- */

/* Puts the next line that is not empty in *line, without its end; false at the end of the text. */
static bool next_line(Reader *r, const char **from, CsvField *line)
{
    while (*from < r->end) {
        const char *text = *from, *stop = memchr(text, '\n', (size_t)(r->end - text));
        if (!stop)
            stop = r->end;
        *from = stop < r->end ? stop + 1 : stop;
        r->line++;
        if (stop > text && stop[-1] == '\r')
            stop--;
        *line = (CsvField){ text, (size_t)(stop - text) };
        if (line->length)
            return true;
    }
    return false;
}

static CsvField trimmed(CsvField f)
{
    while (f.length && (*f.text == ' ' || *f.text == '\t'))
        f = (CsvField){ f.text + 1, f.length - 1 };
    while (f.length && (f.text[f.length - 1] == ' ' || f.text[f.length - 1] == '\t'))
        f.length--;
    return f;
}

static int split(Reader *r, CsvField line)
{
    int n = 0;
    for (const char *p = line.text, *end = p + line.length;; n++) {
        const char *stop = memchr(p, ',', (size_t)(end - p));
        const size_t length = (size_t)((stop ? stop : end) - p);
        VEC_PUSH(r->a, &r->csv->field, trimmed((CsvField){ p, length }));
        if (!stop)
            return n + 1;
        p = stop + 1;
    }
}

static bool is_text(CsvField f, const char *text)
{
    return f.length == strlen(text) && !memcmp(f.text, text, f.length);
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
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *p = s;
    *out = v;
    return true;
}

static int64_t number(const Reader *r, CsvField f, const char *what)
{
    const char *p = f.text, *end = p + f.length;
    int64_t v = 0;
    if (!take_number(&p, end, &v) || p != end)
        MALFORMED(r, f.text, "line %d: %s is not a whole number: \"%.*s\"", r->line, what,
                  f.length < 40 ? (int)f.length : 40, f.text);
    return v;
}

/* ---- the header ---- */

static void name_column(Reader *r, CsvField f, int index)
{
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        if (!is_text(f, NAMES[k].name))
            continue;
        if (r->at[NAMES[k].column] >= 0)
            MALFORMED(r, f.text, "column \"%s\" is given twice", NAMES[k].name);
        r->at[NAMES[k].column] = index;
        if (NAMES[k].inclusive)
            r->inclusive = 1;
        return;
    }
}

static void read_header(Reader *r, const char **from)
{
    static const char *const needed[] = { "id", "lower", "upper", "size" };
    CsvField line;
    if (r->end - *from >= 3 && !memcmp(*from, "\xef\xbb\xbf", 3))
        *from += 3;
    if (!next_line(r, from, &line))
        MALFORMED(r, r->text, "the file is empty");
    for (int k = 0; k < COLUMNS; k++)
        r->at[k] = -1;
    r->csv->columns = split(r, line);
    for (int k = 0; k < r->csv->columns; k++)
        name_column(r, r->csv->field.at[k], k);
    for (int k = 0; k <= COL_SIZE; k++)
        if (r->at[k] < 0)
            MALFORMED(r, r->text, "column \"%s\" is missing", needed[k]);
    r->csv->offset_column = r->at[COL_OFFSET];
}

/* ---- rows ---- */

static bool take_gap(const Reader *r, const char **p, const char *end, int64_t size, Gap *gap)
{
    *gap = (Gap){ 0 };
    if (!take_number(p, end, &gap->begin) || *p == end || *(*p)++ != '-')
        return false;
    if (!take_number(p, end, &gap->end) || gap->end > INT64_MAX - r->inclusive)
        return false;
    gap->end += r->inclusive;
    if (gap->begin >= gap->end)
        return false;
    if (*p == end || **p == ' ')
        return true;
    if (*(*p)++ != '@' || !take_number(p, end, &gap->low) || *p == end || *(*p)++ != ':')
        return false;
    if (!take_number(p, end, &gap->high) || (*p < end && **p != ' '))
        return false;
    return 0 <= gap->low && gap->low <= gap->high && gap->high <= size;
}

static int by_begin(const void *a, const void *b)
{
    const Gap *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void read_gaps(Reader *r, CsvField f, int64_t size, Span *span)
{
    span->first_gap = r->gap.n;
    if (!f.length)
        return;
    for (const char *p = f.text, *end = p + f.length; p < end;) {
        Gap gap;
        if (*p == ' ') {
            p++;
            continue;
        }
        if (!take_gap(r, &p, end, size, &gap))
            MALFORMED(r, f.text,
                      "line %d: gaps are windows lo-hi or lo-hi@wlo:whi within the item's size",
                      r->line);
        VEC_PUSH(r->a, &r->gap, gap);
    }
    span->gaps = r->gap.n - span->first_gap;
    if (span->gaps < 2)
        return;
    Gap *gap = r->gap.at + span->first_gap;
    qsort(gap, span->gaps, sizeof *gap, by_begin);
    for (size_t k = 1; k < span->gaps; k++)
        if (gap[k].begin < gap[k - 1].end)
            MALFORMED(r, f.text, "line %d: gaps overlap", r->line);
}

static CsvField column(const Reader *r, const CsvField *row, int k)
{
    return r->at[k] < 0 ? (CsvField){ r->text, 0 } : row[r->at[k]];
}

static void read_span(Reader *r, const CsvField *row, const PlaceItem *item)
{
    const CsvField upper = column(r, row, COL_UPPER), gaps = column(r, row, COL_GAPS);
    Span span = { .begin = number(r, column(r, row, COL_LOWER), "the begin"),
                  .end = number(r, upper, "the end") };
    if (__builtin_add_overflow(span.end, r->inclusive, &span.end) || span.end < span.begin)
        MALFORMED(r, upper.text, "line %d: the lifetime ends before it begins", r->line);
    read_gaps(r, gaps, item->size, &span);
    VEC_PUSH(r->a, &r->span, span);
}

static void read_row(Reader *r, const CsvField *row)
{
    const CsvField align = column(r, row, COL_ALIGNMENT), hint = column(r, row, COL_HINT);
    const CsvField offset = column(r, row, COL_OFFSET), size = column(r, row, COL_SIZE);
    PlaceItem item = { .size = number(r, size, "the size"), .align = 1 };
    if (item.size < 0)
        MALFORMED(r, size.text, "line %d: the size is negative", r->line);
    if (align.length)
        item.align = number(r, align, "the alignment");
    if (item.align < 1)
        MALFORMED(r, align.text, "line %d: the alignment is not positive", r->line);
    item.pinned = offset.length > 0;
    if (item.pinned)
        item.pin = number(r, offset, "the offset");
    if (item.pin < 0 || item.pin % item.align)
        MALFORMED(r, offset.text, "line %d: the offset is no multiple of the alignment", r->line);
    read_span(r, row, &item);
    VEC_PUSH(r->a, &r->csv->item, item);
    if (r->at[COL_HINT] >= 0) {
        const int64_t h = hint.length ? number(r, hint, "the hint") : INT64_MAX;
        VEC_PUSH(r->a, &r->csv->hint, h < 0 ? INT64_MAX : h);
    }
}

static void read_rows(Reader *r, const char *from)
{
    CsvField line;
    while (next_line(r, &from, &line)) {
        const size_t first = r->csv->field.n;
        const int n = split(r, line);
        if (n != r->csv->columns)
            MALFORMED(r, line.text, "line %d has %d fields, the header %d", r->line, n,
                      r->csv->columns);
        if (r->csv->item.n == INT_MAX / 8)
            MALFORMED(r, line.text, "line %d: too many items", r->line);
        read_row(r, r->csv->field.at + first);
    }
}

/* ---- times to steps ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

typedef struct Clock {
    int64_t base;
    int64_t *rank; /* NULL: a step is a time less base */
    size_t n;
} Clock;

static int32_t step_at(const Clock *c, int64_t time)
{
    if (!c->rank)
        return (int32_t)(time - c->base);
    const int64_t *at = bsearch(&time, c->rank, c->n, sizeof time, by_value);
    return (int32_t)(at - c->rank);
}

static Clock set_clock(Reader *r)
{
    Clock c = { .rank = NEW_ARRAY(r->a, int64_t, 2 * (r->span.n + r->gap.n) + 1) };
    for (size_t k = 0; k < r->span.n; k++) {
        c.rank[c.n++] = r->span.at[k].begin;
        c.rank[c.n++] = r->span.at[k].end;
    }
    for (size_t k = 0; k < r->gap.n; k++) {
        c.rank[c.n++] = r->gap.at[k].begin;
        c.rank[c.n++] = r->gap.at[k].end;
    }
    if (c.n == 0)
        return c;
    qsort(c.rank, c.n, sizeof *c.rank, by_value);
    c.base = c.rank[0];
    int64_t range;
    if (!__builtin_sub_overflow(c.rank[c.n - 1], c.base, &range) && range < INT32_MAX)
        c.rank = NULL;
    size_t kept = 0;
    for (size_t k = 0; c.rank && k < c.n; k++)
        if (kept == 0 || c.rank[k] != c.rank[kept - 1])
            c.rank[kept++] = c.rank[k];
    c.n = kept;
    return c;
}

/* Whole between the gaps; in a gap, its window if it has one. */
static void set_parts(Reader *r, PlaceItem *item, const Span *span, const Clock *c)
{
    const Gap *gap = r->gap.at + span->first_gap;
    PlacePart *part = NEW_ARRAY(r->a, PlacePart, 2 * span->gaps + 1);
    int n = 0;
    int64_t now = span->begin;
    for (size_t k = 0; k < span->gaps; k++) {
        const int64_t begin = i64_max(gap[k].begin, now), end = i64_min(gap[k].end, span->end);
        if (begin >= end)
            continue;
        if (now < begin)
            part[n++] = (PlacePart){ 0, item->size, step_at(c, now), step_at(c, begin) };
        if (gap[k].low < gap[k].high)
            part[n++] = (PlacePart){ gap[k].low, gap[k].high - gap[k].low, step_at(c, begin),
                                     step_at(c, end) };
        now = end;
    }
    if (now < span->end)
        part[n++] = (PlacePart){ 0, item->size, step_at(c, now), step_at(c, span->end) };
    item->part = part;
    item->parts = n;
    if (n == 0)
        item->end = item->begin;
}

PlaceCsv *place_csv_read(Arena *a, const char *path, const char *text, size_t length)
{
    Reader r = {
        .a = a, .path = path, .text = text, .end = text + length, .csv = NEW(a, PlaceCsv)
    };
    const char *from = text;
    read_header(&r, &from);
    read_rows(&r, from);
    const Clock c = set_clock(&r);
    for (size_t k = 0; k < r.csv->item.n; k++) {
        PlaceItem *item = &r.csv->item.at[k];
        const Span *span = &r.span.at[k];
        item->begin = step_at(&c, span->begin);
        item->end = step_at(&c, span->end);
        if (span->gaps)
            set_parts(&r, item, span, &c);
    }
    return r.csv;
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
