/* SPDX-License-Identifier: Apache-2.0
 * The parameters of a step as C: fields by name, as their types are written. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/tables.h"

/* With the fewest digits that give the same value back. */
static void put_decimal(Text *text, double value, bool is_float)
{
    const int most = is_float ? 9 : 17;
    char digits[40];
    for (int precision = 1; precision <= most; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        const bool same = is_float ? strtof(digits, NULL) == (float)value
                                   : !(strtod(digits, NULL) < value) &&
                                         !(strtod(digits, NULL) > value);
        if (same)
            break;
    }
    text_put(text, digits);
    if (!strpbrk(digits, ".e"))
        text_put(text, ".0");
    if (is_float)
        text_put(text, "f");
}

static void put_real(Text *text, double value, bool is_float)
{
    if (isnan(value))
        text_put(text, "NAN");
    else if (isinf(value))
        text_put(text, value < 0 ? "-INFINITY" : "INFINITY");
    else
        put_decimal(text, value, is_float);
}

static double real_at(const FieldRow *field, const void *at)
{
    float single;
    double value;
    if (!strcmp(field->type, "double")) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (strcmp(field->type, "float"))
        return 0;
    memcpy(&single, at, sizeof single);
    return (double)single;
}

static bool has_constants_of_math(const Step *step)
{
    for (int i = 0; i < step->kernel->fields; i++) {
        const FieldRow *field = step->kernel->field + i;
        const unsigned char *at = (unsigned char *)step->params + field->offset;
        for (int k = 0; k < field->count || k < 1; k++)
            if (!isfinite(real_at(field, at + (size_t)k * field->size)))
                return true;
    }
    return false;
}

bool table_needs_math(const Emitter *emitter)
{
    const Program *program = emitter->program;
    for (size_t i = 0; i < program->step.n; i++)
        if (has_constants_of_math(program->step.at[i]))
            return true;
    return false;
}

static void put_int64(Text *text, int64_t value)
{
    if (value == INT64_MIN)
        text_put(text, "INT64_MIN");
    else if (value >= INT32_MIN && value <= INT32_MAX)
        text_print(text, "%" PRId64, value);
    else
        text_print(text, "INT64_C(%" PRId64 ")", value);
}

static void put_int32(Text *text, int32_t value)
{
    if (value == INT32_MIN)
        text_put(text, "INT32_MIN");
    else
        text_print(text, "%" PRId32, value);
}

static void put_element(Text *text, const FieldRow *field, const void *at)
{
    union {
        float f;
        double d;
        int64_t i64;
        uint32_t u32;
        int32_t i32;
    } value;
    memcpy(&value, at, field->size);
    if (!strcmp(field->type, "float"))
        put_real(text, (double)value.f, true);
    else if (!strcmp(field->type, "double"))
        put_real(text, value.d, false);
    else if (!strcmp(field->type, "int64_t"))
        put_int64(text, value.i64);
    else if (!strcmp(field->type, "uint32_t"))
        text_print(text, "%" PRIu32 "u", value.u32);
    else
        put_int32(text, value.i32);
}

/* All bits: a negative zero is none. */
static bool is_zero(const unsigned char *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (at[i])
            return false;
    return true;
}

/* Elements of an array up to the last that is not 0. */
static int elements_shown(const FieldRow *field, const unsigned char *at)
{
    int count = field->count;
    while (count > 0 &&
           is_zero(at + (size_t)(count - 1) * field->size, field->size))
        count--;
    return count;
}

static bool is_shown(const FieldRow *field, const unsigned char *at)
{
    if (field->count)
        return elements_shown(field, at) > 0;
    return !is_zero(at, field->size);
}

/* ".name = value" */
static Text field_text(Arena *arena, const FieldRow *field,
                       const unsigned char *at)
{
    Text text = text_new(arena);
    text_print(&text, ".%s = ", field->name);
    if (!field->count) {
        put_element(&text, field, at);
        return text;
    }
    text_put(&text, "{ ");
    const int count = elements_shown(field, at);
    for (int i = 0; i < count; i++) {
        text_put(&text, i ? ", " : "");
        put_element(&text, field, at + (size_t)i * field->size);
    }
    text_put(&text, " }");
    return text;
}

enum { WIDTH = 100 };

/* The fields that are not 0, in lines. */
Text table_params(Arena *arena, const Step *step)
{
    static const char indent[] = "    ";
    Text text = text_new(arena);
    size_t column = 0;
    for (int i = 0; i < step->kernel->fields; i++) {
        const FieldRow *field = step->kernel->field + i;
        const unsigned char *at = (unsigned char *)step->params + field->offset;
        if (!is_shown(field, at))
            continue;
        const Text one = field_text(arena, field, at);
        const size_t width = one.n + 2;
        if (column && column + width > WIDTH) {
            text_put(&text, "\n");
            column = 0;
        }
        text_put(&text, column ? " " : indent);
        text_print(&text, "%s,", one.at);
        column += column ? width : width + strlen(indent);
    }
    if (!text.n)
        text_print(&text, "%s0", indent);
    return text;
}
