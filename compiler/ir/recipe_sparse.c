/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors become dense constants: small ones in memory, others in the spill
 * file, where what is never written reads as zero. Values and indices are read some
 * thousands at a time; the result goes through a window that moves forward only. */
#include <string.h>

#include "base/size.h"
#include "ir/recipe_form.h"

enum { FEW = 4096 /* values at a time */, VIEW = 256 * 1024 /* bytes of the result in sight */ };

typedef struct Dense {
    Store *store;
    const SparseParts *parts;
    Source *value, *index;
    int width;           /* numbers of an index; 0: it is flat */
    int64_t count, last; /* elements; the last place that was set */
    size_t size;         /* of an element */
    uint64_t at;         /* in the spill file */
    int64_t begin, end;  /* elements in sight */
    int64_t low, high;   /* of these, from the first that was set to behind the last */
    uint8_t *view;
} Dense;

static void flush(Dense *d)
{
    Store *s = d->store;
    const size_t skip = (size_t)(d->low - d->begin) * d->size;
    if (d->low < d->high)
        file_write(s->spill, d->at + (uint64_t)d->low * d->size, d->view + skip,
                   (size_t)(d->high - d->low) * d->size);
    memset(d->view + skip, 0, (size_t)(d->high - d->low) * d->size);
}

/* Moves the window so that it begins with this place. */
static void look_at(Dense *d, int64_t place)
{
    flush(d);
    d->begin = d->low = d->high = place;
    d->end = i64_min(d->count, place + VIEW / (int64_t)d->size);
}

/* NULL, or what is wrong. */
static const char *put(Dense *d, int64_t place, const uint8_t *value)
{
    if (place < 0 || place >= d->count)
        return "an index is out of range";
    if (place <= d->last)
        return "its indices are not in ascending order";
    if (place >= d->end)
        look_at(d, place);
    memcpy(d->view + (size_t)(place - d->begin) * d->size, value, d->size);
    d->last = place;
    d->high = place + 1;
    return NULL;
}

/* The place that an index names; -1: out of range. */
static int64_t place_of(const Dense *d, const int64_t *index)
{
    int64_t place = 0;
    if (!d->width)
        return index[0];
    for (int i = 0; i < d->width; i++) {
        if (index[i] < 0 || index[i] >= d->parts->dims[i])
            return -1;
        place = place * d->parts->dims[i] + index[i];
    }
    return place;
}

static const char *put_all(Dense *d, int64_t n, uint8_t *value, int64_t *index)
{
    const int64_t each = d->width ? d->width : 1;
    const char *wrong = NULL;
    for (int64_t i = 0; i < n && !wrong; i += FEW) {
        const int64_t few = i64_min(n - i, FEW);
        source_read(d->store, d->value, i, few, value);
        source_read(d->store, d->index, i * each, few * each, index);
        for (int64_t k = 0; k < few && !wrong; k++)
            wrong = put(d, place_of(d, index + k * each), value + (size_t)k * d->size);
    }
    return wrong;
}

/* Room for the result: all of it is in sight, or it is in the spill file. */
static Source begin_dense(Dense *d, DType t, Span *span)
{
    Store *s = d->store;
    Source result = { .dtype = t, .count = d->count };
    const uint64_t bytes = (uint64_t)d->count * d->size;
    if (bytes <= SMALL_BYTES) {
        result.memory = d->view = arena_alloc(s->arena, (size_t)bytes);
        d->end = d->count;
        return result;
    }
    d->at = spill_room(s, bytes);
    file_write(s->spill, d->at + bytes - 1, "", 1); /* its full length; holes are zero */
    *span = (Span){ d->at, bytes };
    result.file = s->spill;
    result.span = span;
    result.spans = 1;
    return result;
}

static Source *plain_source(Store *s, const Recipe *r)
{
    return recipe_plain(r) ? r->source : recipe_spill(s, r)->source;
}

Recipe *recipe_sparse(Store *s, const SparseParts *p, const char **wrong)
{
    const DType t = recipe_dtype(p->values);
    Dense d = { .store = s,
                .parts = p,
                .value = plain_source(s, p->values),
                .index = plain_source(s, p->indices),
                .width = recipe_rank(p->indices) == 2 ? p->rank : 0,
                .count = 1,
                .last = -1,
                .size = (size_t)dtype_bits(t) / 8 };
    Span span;
    for (int i = 0; i < p->rank; i++)
        d.count = i64_mul(d.count, p->dims[i]);
    const Source result = begin_dense(&d, t, &span);
    const ArenaMark mark = arena_mark(s->arena);
    if (!d.view)
        d.view = arena_alloc(s->arena, VIEW);
    source_open(s, d.value);
    source_open(s, d.index);
    uint8_t *value = arena_buffer(s->arena, FEW * d.size);
    int64_t *index = arena_buffer(s->arena, FEW * sizeof *index * (size_t)(d.width ? d.width : 1));
    *wrong = put_all(&d, recipe_count(p->values), value, index);
    if (result.file)
        flush(&d);
    source_close(d.value);
    source_close(d.index);
    arena_release(s->arena, mark);
    return recipe_source(s, &result, p->rank, p->dims);
}
