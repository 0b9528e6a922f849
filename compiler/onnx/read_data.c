/* SPDX-License-Identifier: Apache-2.0
 * Where the elements of a tensor lie. Whole and packed fields are noted as spans
 * of the file and never read. Elements that come one by one, or in very many
 * chunks, are copied together: small ones into memory, others into the spill file. */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "ir/words.h"
#include "onnx/read.h"

enum {
    MOST_SPANS = 64,    /* chunks of one field that are noted */
    GATHER = 64 * 1024, /* bytes gathered in memory */
    COPY = 4096,
};
#define TENSOR_LIMIT (INT64_C(1) << 40) /* bytes of one tensor */

static Loc draft_loc(const Reader *reader)
{
    return reader_loc(reader, reader->tensor.at, reader->tensor.name);
}

static uint64_t spill_space(Store *store, uint64_t n)
{
    if (!store->spill)
        store->spill = file_temporary(store->arena);
    const uint64_t at = store->spill_size;
    store->spill_size += n;
    store->bytes_spilled += n;
    return at;
}

/* Moves the gathered bytes to the end of the tensor's run in the spill file; nothing else spills
 * meanwhile. */
static void flush(Reader *reader)
{
    TensorDraft *draft = &reader->tensor;
    if (!draft->gather.n)
        return;
    const uint64_t at = spill_space(reader->store, draft->gather.n);
    file_write(reader->store->spill, at, draft->gather.at, draft->gather.n);
    if (!draft->spilled)
        draft->spill.offset = at;
    draft->spilled = reader->store->spill;
    draft->spill.length += draft->gather.n;
    draft->gather.n = 0;
}

static void gather(Reader *reader, const uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        VEC_PUSH(reader->arena, &reader->tensor.gather, p[i]);
    if (reader->tensor.gather.n >= GATHER)
        flush(reader);
}

static void gather_span(Reader *reader, Span span)
{
    while (span.length) {
        const uint64_t n = span.length < COPY ? span.length : COPY;
        gather(reader, wire_view(&reader->wire, span.offset, n), n);
        span.offset += n;
        span.length -= n;
    }
}

/* Do elements have one size, rather than that of their varint? */
static bool is_fixed(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        return true;
    default:
        return false;
    }
}

/* A single number again as the bytes it has when packed. */
static void gather_number(Reader *reader, const WireEvent *event)
{
    uint8_t p[10];
    uint64_t n = 0;
    uint64_t x = event->value;
    if (is_fixed(event->field)) {
        for (; n < event->length; n++) {
            p[n] = (uint8_t)x;
            x >>= 8;
        }
    } else {
        for (; x > 127; x >>= 7)
            p[n++] = (uint8_t)(x | 128);
        p[n++] = (uint8_t)x;
    }
    gather(reader, p, n);
}

/* A string as the code of a word. */
static void gather_word(Reader *reader, const WireEvent *event)
{
    const int64_t code = words_code(reader->store, reader_word(reader, event));
    uint8_t bytes[sizeof code];
    memcpy(bytes, &code, sizeof code);
    reader->tensor.gathered = true;
    gather(reader, bytes, sizeof bytes);
}

static void start_gathering(Reader *reader)
{
    TensorDraft *draft = &reader->tensor;
    if (draft->gathered)
        return;
    draft->gathered = true;
    for (size_t i = 0; i < draft->span.n; i++)
        gather_span(reader, draft->span.at[i]);
}

static bool is_raw(const ProtobufCFieldDescriptor *field)
{
    return field->offset == FIELD(TensorProto, raw_data);
}

static bool is_text(const ProtobufCFieldDescriptor *field)
{
    return field->offset == FIELD(TensorProto, string_data);
}

/* A field without elements says nothing; some writers always write raw_data. */
static bool is_nothing(const TensorDraft *draft, const WireEvent *event)
{
    if (event->type == WIRE_NUMBER || event->length || is_text(event->field))
        return false;
    return !is_raw(event->field) || draft->field;
}

void data_field(Reader *reader, const WireEvent *event)
{
    TensorDraft *draft = &reader->tensor;
    const bool raw = is_raw(event->field);
    if (is_nothing(draft, event))
        return;
    if (draft->field && is_raw(draft->field) && !draft->span.at[0].length) {
        draft->span.n = 0;
        draft->field = NULL;
    }
    if (draft->field && (draft->field != event->field || raw))
        fail_at(STATUS_MALFORMED, reader_loc(reader, event->at, draft->name),
                NULL, "the tensor's data are given twice");
    draft->field = event->field;
    if (is_text(event->field)) {
        gather_word(reader, event);
        return;
    }
    if (event->type == WIRE_NUMBER || draft->span.n == MOST_SPANS)
        start_gathering(reader);
    const Span s = { event->at, event->length };
    if (!draft->gathered)
        VEC_PUSH(reader->arena, &draft->span, s);
    else if (event->type == WIRE_NUMBER)
        gather_number(reader, event);
    else
        gather_span(reader, s);
}

/* Elements by the dimensions. */
static int64_t count_elements(const Reader *reader, DType type)
{
    const TensorDraft *draft = &reader->tensor;
    int64_t n = 1;
    bool too_many = false;
    bool empty = false;
    for (int i = 0; i < draft->rank; i++) {
        if (draft->dims[i] < 0)
            fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                    "dimension %d is %" PRId64, i, draft->dims[i]);
        if (draft->dims[i] > INT32_MAX)
            fail_at(STATUS_UNSUPPORTED, draft_loc(reader), NULL,
                    "dimension %d is %" PRId64 "; the greatest supported is %d",
                    i, draft->dims[i], INT32_MAX);
        too_many |=
            __builtin_mul_overflow(n, draft->dims[i] ? draft->dims[i] : 1, &n);
        empty |= !draft->dims[i];
    }
    if (empty)
        return 0;
    if (too_many || n > TENSOR_LIMIT || dtype_bytes(type, n) > TENSOR_LIMIT)
        fail_at(STATUS_UNSUPPORTED, draft_loc(reader), NULL,
                "the tensor has more than %" PRId64 " bytes", TENSOR_LIMIT);
    return n;
}

/* The typed field that ONNX prescribes for elements of this type. */
static size_t typed_field(DType type)
{
    switch (type) {
    case DT_F32:
    case DT_C64:
        return FIELD(TensorProto, float_data);
    case DT_F64:
    case DT_C128:
        return FIELD(TensorProto, double_data);
    case DT_I64:
        return FIELD(TensorProto, int64_data);
    case DT_U32:
    case DT_U64:
        return FIELD(TensorProto, uint64_data);
    case DT_STRING:
        return FIELD(TensorProto, string_data);
    default:
        return FIELD(TensorProto, int32_data);
    }
}

/* Numbers of a typed field that hold `count` elements: of packed types a number holds one byte. */
static int64_t count_numbers(DType type, int64_t count)
{
    return dtype_bits(type) < 8 ? dtype_bytes(type, count) : count;
}

/* Varints take 1 to 10 bytes each; everything else has its exact size. */
static void check_size(const Reader *reader, DType type, int64_t count,
                       uint64_t found)
{
    const TensorDraft *draft = &reader->tensor;
    const uint64_t exact = (uint64_t)dtype_bytes(type, count);
    const bool varints = draft->field && !is_fixed(draft->field);
    if (!varints && found != exact)
        fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                "the tensor needs %" PRIu64 " bytes (%" PRId64
                " elements of %s), but its %s has %" PRIu64,
                exact, count, dtype_name(type),
                draft->field ? draft->field->name : "data", found);
    const uint64_t numbers = (uint64_t)count_numbers(type, count);
    const bool fits = found >= numbers && found / 10 <= numbers && numbers;
    if (varints && !fits)
        fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                "the tensor needs %" PRIu64 " numbers, but its %s has %" PRIu64
                " bytes, which cannot be so many",
                numbers, draft->field->name, found);
}

static _Noreturn void fail_numbers(const Reader *reader, int64_t count,
                                   const char *found)
{
    fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
            "the tensor needs %" PRId64 " numbers, but its %s has %s", count,
            reader->tensor.field->name, found);
}

/* Gathered varints as the little-endian elements they stand for. */
static uint8_t *decode_varints(const Reader *reader, DType type, int64_t count)
{
    const TensorDraft *draft = &reader->tensor;
    const int64_t numbers = count_numbers(type, count);
    const int64_t width = dtype_bits(type) < 8 ? 1 : dtype_bits(type) / 8;
    uint8_t *out = NEW_ARRAY(reader->arena, uint8_t, numbers * width);
    size_t at = 0;
    for (int64_t i = 0; i < numbers; i++) {
        uint64_t x = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (at == draft->gather.n)
                fail_numbers(reader, numbers, "fewer");
            const uint8_t b = draft->gather.at[at++];
            if (shift == 63 && b > 1)
                fail_numbers(reader, numbers, "one of more than 64 bits");
            x |= (uint64_t)(b & 127) << shift;
            if (b < 128)
                break;
        }
        for (int k = 0; k < width; k++)
            out[i * width + k] = (uint8_t)(x >> (8 * k));
    }
    if (at != draft->gather.n)
        fail_numbers(reader, numbers, "more");
    return out;
}

/* The source of the draft's data. */
static Recipe *source(Reader *reader, DType type, int64_t count)
{
    TensorDraft *draft = &reader->tensor;
    const bool fixed = is_fixed(draft->field);
    if (draft->spilled)
        flush(reader);
    if (draft->gathered && !draft->spilled)
        return recipe_memory(reader->store, type, draft->rank, draft->dims,
                             fixed ? draft->gather.at
                                   : decode_varints(reader, type, count));
    Source s = { .dtype = type,
                 .count = count,
                 .encoding = fixed ? ENC_FIXED : ENC_VARINT,
                 .file = reader->file,
                 .span = draft->span.at,
                 .spans = (int)draft->span.n };
    if (draft->spilled) {
        s.file = draft->spilled;
        s.span = &draft->spill;
        s.spans = 1;
    }
    return recipe_source(reader->store, &s, draft->rank,
                         draft->dims); /* copies the spans */
}

static Recipe *external_source(Reader *reader, DType type, int64_t count)
{
    TensorDraft *draft = &reader->tensor;
    if (draft->field)
        fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                "the tensor has external data and %s as well",
                draft->field->name);
    if (type == DT_STRING)
        fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                "strings cannot be external data");
    Span span;
    File *f = external_find(&reader->external, draft_loc(reader), &draft->ref,
                            (uint64_t)dtype_bytes(type, count), &span);
    if (!count)
        return recipe_memory(reader->store, type, draft->rank, draft->dims, "");
    const Source source = { .dtype = type,
                            .count = count,
                            .encoding = ENC_FIXED,
                            .file = f,
                            .span = &span,
                            .spans = 1 };
    return recipe_source(reader->store, &source, draft->rank, draft->dims);
}

Recipe *data_recipe(Reader *reader, DType type)
{
    TensorDraft *draft = &reader->tensor;
    const int64_t count = count_elements(reader, type);
    if (draft->external)
        return external_source(reader, type, count);
    if (draft->field && !is_raw(draft->field) &&
        draft->field->offset != typed_field(type))
        fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                "elements of %s cannot be given as %s", dtype_name(type),
                draft->field->name);
    if (type == DT_STRING && draft->field && is_raw(draft->field))
        fail_at(STATUS_MALFORMED, draft_loc(reader), NULL,
                "strings cannot be given as raw_data");
    uint64_t found = draft->gather.n + draft->spill.length;
    if (!draft->gathered)
        for (size_t i = 0; i < draft->span.n; i++)
            found += draft->span.at[i].length;
    check_size(reader, type, count, found);
    if (!count)
        return recipe_memory(reader->store, type, draft->rank, draft->dims, "");
    return source(reader, type, count);
}
