/* SPDX-License-Identifier: Apache-2.0
 * Where the elements of a tensor lie. Whole and packed fields are noted as spans
 * of the file and never read. Elements that come one by one, or in very many
 * chunks, are copied together: small ones into memory, others into the spill file. */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "onnx/read.h"

enum {
    MOST_SPANS = 64,    /* chunks of one field that are noted */
    GATHER = 64 * 1024, /* bytes gathered in memory */
    COPY = 4096,
};
#define TENSOR_LIMIT (INT64_C(1) << 40) /* bytes of one tensor */

static Loc draft_loc(const Reader *r)
{
    return reader_loc(r, r->tensor.at, r->tensor.name);
}

static uint64_t spill_space(Store *s, uint64_t n)
{
    if (!s->spill)
        s->spill = file_temporary(s->arena);
    const uint64_t at = s->spill_size;
    s->spill_size += n;
    s->bytes_spilled += n;
    return at;
}

/* Moves the gathered bytes to the end of the tensor's run in the spill file; nothing else spills
 * meanwhile. */
static void flush(Reader *r)
{
    TensorDraft *d = &r->tensor;
    if (!d->gather.n)
        return;
    const uint64_t at = spill_space(r->store, d->gather.n);
    file_write(r->store->spill, at, d->gather.at, d->gather.n);
    if (!d->spilled)
        d->spill.offset = at;
    d->spilled = r->store->spill;
    d->spill.length += d->gather.n;
    d->gather.n = 0;
}

static void gather(Reader *r, const uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        VEC_PUSH(r->arena, &r->tensor.gather, p[i]);
    if (r->tensor.gather.n >= GATHER)
        flush(r);
}

static void gather_span(Reader *r, Span s)
{
    while (s.length) {
        const uint64_t n = s.length < COPY ? s.length : COPY;
        gather(r, wire_view(&r->wire, s.offset, n), n);
        s.offset += n;
        s.length -= n;
    }
}

/* A single number again as the bytes it has when packed. */
static void gather_number(Reader *r, const WireEvent *e)
{
    uint8_t p[10];
    uint64_t n = 0, x = e->value;
    const bool fixed = e->field == TENSOR_FLOAT_DATA || e->field == TENSOR_DOUBLE_DATA;
    if (fixed) {
        for (; n < (e->field == TENSOR_FLOAT_DATA ? 4u : 8u); n++, x >>= 8)
            p[n] = (uint8_t)x;
    } else {
        for (; x > 127; x >>= 7)
            p[n++] = (uint8_t)(x | 128);
        p[n++] = (uint8_t)x;
    }
    gather(r, p, n);
}

static void start_gathering(Reader *r)
{
    TensorDraft *d = &r->tensor;
    if (d->gathered)
        return;
    d->gathered = true;
    for (size_t i = 0; i < d->span.n; i++)
        gather_span(r, d->span.at[i]);
}

void data_field(Reader *r, const WireEvent *e)
{
    TensorDraft *d = &r->tensor;
    if (e->type == WIRE_RANGE && !e->length && e->field != TENSOR_RAW_DATA &&
        e->field != TENSOR_STRING_DATA)
        return;
    if (e->field == TENSOR_RAW_DATA && !e->length && d->field)
        return; /* some writers always write the field */
    if (d->field == TENSOR_RAW_DATA && !d->span.at[0].length)
        d->span.n = 0, d->field = 0;
    if (d->field && (d->field != e->field || e->field == TENSOR_RAW_DATA))
        fail_at(STATUS_MALFORMED, reader_loc(r, e->at, d->name), NULL,
                "the tensor's data are given twice");
    d->field = e->field;
    if (e->field == TENSOR_STRING_DATA)
        return;
    if (e->type == WIRE_NUMBER || d->span.n == MOST_SPANS)
        start_gathering(r);
    const Span s = { e->at, e->length };
    if (!d->gathered)
        VEC_PUSH(r->arena, &d->span, s);
    else if (e->type == WIRE_NUMBER)
        gather_number(r, e);
    else
        gather_span(r, s);
}

/* Elements by the dimensions. */
static int64_t count_elements(const Reader *r, DType t)
{
    const TensorDraft *d = &r->tensor;
    int64_t n = 1;
    bool too_many = false, empty = false;
    for (int i = 0; i < d->rank; i++) {
        if (d->dims[i] < 0)
            fail_at(STATUS_MALFORMED, draft_loc(r), NULL, "dimension %d is %" PRId64, i,
                    d->dims[i]);
        if (d->dims[i] > INT32_MAX)
            fail_at(STATUS_UNSUPPORTED, draft_loc(r), NULL,
                    "dimension %d is %" PRId64 "; the greatest supported is %d", i, d->dims[i],
                    INT32_MAX);
        too_many |= __builtin_mul_overflow(n, d->dims[i] ? d->dims[i] : 1, &n);
        empty |= !d->dims[i];
    }
    if (empty)
        return 0;
    if (too_many || n > TENSOR_LIMIT || dtype_bytes(t, n) > TENSOR_LIMIT)
        fail_at(STATUS_UNSUPPORTED, draft_loc(r), NULL,
                "the tensor has more than %" PRId64 " bytes", TENSOR_LIMIT);
    return n;
}

static const char *field_name(int field)
{
    switch (field) {
    case TENSOR_RAW_DATA:
        return "raw_data";
    case TENSOR_FLOAT_DATA:
        return "float_data";
    case TENSOR_INT32_DATA:
        return "int32_data";
    case TENSOR_INT64_DATA:
        return "int64_data";
    case TENSOR_DOUBLE_DATA:
        return "double_data";
    case TENSOR_UINT64_DATA:
        return "uint64_data";
    default:
        return "string_data";
    }
}

/* The typed field that ONNX prescribes for elements of this type. */
static int typed_field(DType t)
{
    switch (t) {
    case DT_F32:
    case DT_C64:
        return TENSOR_FLOAT_DATA;
    case DT_F64:
    case DT_C128:
        return TENSOR_DOUBLE_DATA;
    case DT_I64:
        return TENSOR_INT64_DATA;
    case DT_U32:
    case DT_U64:
        return TENSOR_UINT64_DATA;
    case DT_STRING:
        return TENSOR_STRING_DATA;
    default:
        return TENSOR_INT32_DATA;
    }
}

/* Numbers of a typed field that hold `count` elements: of packed types a number holds one byte. */
static int64_t count_numbers(DType t, int64_t count)
{
    return dtype_bits(t) < 8 ? dtype_bytes(t, count) : count;
}

/* Varints take 1 to 10 bytes each; everything else has its exact size. */
static void check_size(const Reader *r, DType t, int64_t count, uint64_t found)
{
    const TensorDraft *d = &r->tensor;
    const uint64_t exact = (uint64_t)dtype_bytes(t, count);
    const bool varints = d->field == TENSOR_INT32_DATA || d->field == TENSOR_INT64_DATA ||
                         d->field == TENSOR_UINT64_DATA;
    if (!varints && found != exact)
        fail_at(STATUS_MALFORMED, draft_loc(r), NULL,
                "the tensor needs %" PRIu64 " bytes (%" PRId64
                " elements of %s), but its %s has %" PRIu64,
                exact, count, dtype_name(t), d->field ? field_name(d->field) : "data", found);
    const uint64_t numbers = (uint64_t)count_numbers(t, count);
    if (varints && (found < numbers || found / 10 > numbers || (found && !numbers)))
        fail_at(STATUS_MALFORMED, draft_loc(r), NULL,
                "the tensor needs %" PRIu64 " numbers, but its %s has %" PRIu64
                " bytes, which cannot be so many",
                numbers, field_name(d->field), found);
}

static _Noreturn void fail_numbers(const Reader *r, int64_t count, const char *found)
{
    fail_at(STATUS_MALFORMED, draft_loc(r), NULL,
            "the tensor needs %" PRId64 " numbers, but its %s has %s", count,
            field_name(r->tensor.field), found);
}

/* Gathered varints as the little-endian elements they stand for. */
static uint8_t *decode_varints(const Reader *r, DType t, int64_t count)
{
    const TensorDraft *d = &r->tensor;
    const int64_t numbers = count_numbers(t, count),
                  width = dtype_bits(t) < 8 ? 1 : dtype_bits(t) / 8;
    uint8_t *out = NEW_ARRAY(r->arena, uint8_t, numbers * width);
    size_t at = 0;
    for (int64_t i = 0; i < numbers; i++) {
        uint64_t x = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (at == d->gather.n)
                fail_numbers(r, numbers, "fewer");
            const uint8_t b = d->gather.at[at++];
            if (shift == 63 && b > 1)
                fail_numbers(r, numbers, "one of more than 64 bits");
            x |= (uint64_t)(b & 127) << shift;
            if (b < 128)
                break;
        }
        for (int k = 0; k < width; k++)
            out[i * width + k] = (uint8_t)(x >> (8 * k));
    }
    if (at != d->gather.n)
        fail_numbers(r, numbers, "more");
    return out;
}

/* The source of the draft's data. */
static Recipe *source(Reader *r, DType t, int64_t count)
{
    TensorDraft *d = &r->tensor;
    const bool fixed = d->field == TENSOR_RAW_DATA || d->field == TENSOR_FLOAT_DATA ||
                       d->field == TENSOR_DOUBLE_DATA;
    if (d->spilled)
        flush(r);
    if (d->gathered && !d->spilled)
        return recipe_memory(r->store, t, d->rank, d->dims,
                             fixed ? d->gather.at : decode_varints(r, t, count));
    Source s = { .dtype = t,
                 .count = count,
                 .encoding = fixed ? ENC_FIXED : ENC_VARINT,
                 .file = r->file,
                 .span = d->span.at,
                 .spans = (int)d->span.n };
    if (d->spilled) {
        s.file = d->spilled;
        s.span = &d->spill;
        s.spans = 1;
    }
    return recipe_source(r->store, &s, d->rank, d->dims); /* copies the spans */
}

static Recipe *external_source(Reader *r, DType t, int64_t count)
{
    TensorDraft *d = &r->tensor;
    if (d->field)
        fail_at(STATUS_MALFORMED, draft_loc(r), NULL, "the tensor has external data and %s as well",
                field_name(d->field));
    if (t == DT_STRING)
        fail_at(STATUS_MALFORMED, draft_loc(r), NULL, "strings cannot be external data");
    Span span;
    File *f =
        external_find(&r->external, draft_loc(r), &d->ref, (uint64_t)dtype_bytes(t, count), &span);
    if (!count)
        return recipe_memory(r->store, t, d->rank, d->dims, "");
    const Source s = {
        .dtype = t, .count = count, .encoding = ENC_FIXED, .file = f, .span = &span, .spans = 1
    };
    return recipe_source(r->store, &s, d->rank, d->dims);
}

Recipe *data_recipe(Reader *r, DType t)
{
    TensorDraft *d = &r->tensor;
    const int64_t count = count_elements(r, t);
    if (d->external)
        return external_source(r, t, count);
    if (d->field && d->field != TENSOR_RAW_DATA && d->field != typed_field(t))
        fail_at(STATUS_MALFORMED, draft_loc(r), NULL, "elements of %s cannot be given as %s",
                dtype_name(t), field_name(d->field));
    if (t == DT_STRING) {
        if (d->field == TENSOR_RAW_DATA)
            fail_at(STATUS_MALFORMED, draft_loc(r), NULL, "strings cannot be given as raw_data");
        return NULL;
    }
    uint64_t found = d->gather.n + d->spill.length;
    if (!d->gathered)
        for (size_t i = 0; i < d->span.n; i++)
            found += d->span.at[i].length;
    check_size(r, t, count, found);
    if (!count)
        return recipe_memory(r->store, t, d->rank, d->dims, "");
    return source(r, t, count);
}
