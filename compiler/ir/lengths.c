/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/lengths.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/size.h"

/* ---- combinations ---- */

static int32_t span_of(const Length *length)
{
    return length->most - length->least + 1;
}

int64_t lengths_combinations(const Lengths *lengths)
{
    int64_t count = 1;
    for (int i = 0; i < lengths->n; i++)
        count = i64_mul(count, span_of(lengths->of + i));
    return count;
}

void lengths_at(const Lengths *lengths, int32_t combination,
                int32_t value[MOST_LENGTHS])
{
    for (int i = 0; i < lengths->n; i++) {
        const int32_t span = span_of(lengths->of + i);
        value[i] = lengths->of[i].least + combination % span;
        combination /= span;
    }
}

/* -1: it is out of bounds. */
static int32_t combination_of(const Lengths *lengths, const int32_t *value)
{
    int32_t combination = 0;
    for (int i = lengths->n; i-- > 0;) {
        const Length *length = lengths->of + i;
        if (value[i] < length->least || value[i] > length->most)
            return -1;
        combination = combination * span_of(length) + value[i] - length->least;
    }
    return combination;
}

const char *lengths_text(const Lengths *lengths, int32_t combination)
{
    int32_t value[MOST_LENGTHS];
    const char *text = "";
    lengths_at(lengths, combination, value);
    for (int i = 0; i < lengths->n; i++)
        text = arena_printf(lengths->arena, "%s%s%s=%" PRId32, text,
                            i ? ", " : "", lengths->of[i].symbol, value[i]);
    return text;
}

int lengths_terms(const Lengths *lengths)
{
    return 1 + lengths->n + lengths->n * (lengths->n + 1) / 2;
}

/* ---- the numbers of a program ---- */

static int64_t field_value(const FieldRow *field, const unsigned char *at)
{
    int32_t narrow;
    int64_t wide;
    if (field->size == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static void visit_params(const Step *step, NumberPlace place,
                         NumberVisit *visit, void *context)
{
    place.kind = NUMBER_PARAM;
    for (int i = 0; i < step->kernel->fields; i++) {
        const FieldRow *field = step->kernel->field + i;
        const unsigned char *at = (unsigned char *)step->params + field->offset;
        place.place = i;
        for (int k = 0; k < field->count || k < 1; k++) {
            place.part = k;
            visit(context, place,
                  field_value(field, at + (size_t)k * field->size));
        }
    }
}

/* Of a constant where it begins is not known yet. */
static int64_t offset_of(const Operand *operand)
{
    int64_t at;
    if (!operand->tensor)
        return 0;
    const Tensor *root = tensor_root(operand->tensor, &at);
    return root->storage == STORE_WEIGHTS ? at + operand->offset
                                          : (int64_t)operand->ref.off;
}

static void visit_operand(const Operand *operand, NumberPlace place,
                          NumberVisit *visit, void *context)
{
    const inlay_ref *ref = &operand->ref;
    const int64_t part[REF_PARTS] = {
        [REF_OFF] = offset_of(operand),
        [REF_ROW] = (int64_t)ref->row,
        [REF_CAP] = ref->cap,
        [REF_PIX] = ref->pix,
    };
    place.kind = NUMBER_REF;
    for (int i = 0; i < REF_PARTS; i++) {
        place.part = i;
        visit(context, place, part[i]);
    }
}

void numbers_each(const Program *program, NumberVisit *visit, void *context)
{
    const Graph *graph = program->graph;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        NumberPlace place = { NUMBER_UNITS, (int32_t)i, 0, 0 };
        visit(context, place, step->units);
        visit_params(step, place, visit, context);
        for (int k = 0; k < step->n_operand; k++) {
            place.place = k;
            visit_operand(step->operand + k, place, visit, context);
        }
    }
    for (size_t i = 0; i < graph_results(graph); i++) {
        const Shape shape = tensor_model_shape(graph->output.at[i]);
        NumberPlace place = { NUMBER_DIM, -1, (int32_t)i, 0 };
        for (int k = 0; k < shape.rank; k++) {
            place.part = k;
            visit(context, place, shape.dim[k]);
        }
    }
}

typedef struct NumberList {
    Arena *arena;
    VEC(int64_t) value;
} NumberList;

static void add_number(void *context, NumberPlace place, int64_t value)
{
    NumberList *list = context;
    (void)place;
    VEC_PUSH(list->arena, &list->value, value);
}

const int64_t *numbers_listed(Arena *arena, const Program *program)
{
    NumberList list = { .arena = arena };
    numbers_each(program, add_number, &list);
    return list.value.at;
}

/* ---- columns ---- */

/* The numbers of a variant under way. */
typedef struct Settler {
    Lengths *lengths;
    Variant *variant;
    Map seen; /* columns by their texts */
    /* of each combination in the variant; -1: it is not in it */
    int32_t *place;
    int64_t *value; /* of each member, of the number under way */
    size_t number;  /* its place in Variant.numbers */
} Settler;

/* The value for the lengths; false: they are no member. */
static bool value_at(const Settler *settler, const int32_t *length,
                     int64_t *value)
{
    const int32_t combination = combination_of(settler->lengths, length);
    if (combination < 0 || settler->place[combination] < 0)
        return false;
    *value = settler->value[settler->place[combination]];
    return true;
}

/* The value where one length or two are smaller than in the first member. */
static bool value_below(const Settler *settler, int i, int k, int64_t *value)
{
    int32_t length[MOST_LENGTHS];
    lengths_at(settler->lengths, settler->variant->member.at[0], length);
    if (i >= 0)
        length[i]--;
    if (k >= 0)
        length[k]--;
    return value_at(settler, length, value);
}

/* Twice the second difference, by lengths i and k, at the first member. */
static int64_t second_difference(const Settler *settler, int i, int k)
{
    int64_t here, below_i, below_k, both;
    if (!value_below(settler, -1, -1, &here) ||
        !value_below(settler, i, -1, &below_i) ||
        !value_below(settler, k, -1, &below_k) ||
        !value_below(settler, i, k, &both))
        return 0;
    const int64_t difference = here - below_i - below_k + both;
    return i == k ? difference : 2 * difference;
}

static int64_t evaluate(const Lengths *lengths, const int64_t *term,
                        const int32_t *length)
{
    int64_t sum = *term++;
    for (int i = 0; i < lengths->n; i++)
        sum += *term++ * length[i];
    for (int i = 0; i < lengths->n; i++)
        for (int k = i; k < lengths->n; k++)
            sum += *term++ * length[i] * length[k];
    return sum;
}

/* What numbers of sizes are far below; sums of their products stay exact. */
static const int64_t MOST_VALUE = INT64_C(1) << 40;

static bool is_moderate(const Settler *settler)
{
    for (size_t i = 0; i < settler->variant->member.n; i++)
        if (settler->value[i] > MOST_VALUE || settler->value[i] < -MOST_VALUE)
            return false;
    return true;
}

/* What term[1 + i] lacks, where those of second degree are there. */
static void set_slope(const Settler *settler, int64_t *term, int i)
{
    const Lengths *lengths = settler->lengths;
    int32_t length[MOST_LENGTHS];
    int64_t below;
    if (!value_below(settler, i, -1, &below))
        return;
    lengths_at(lengths, settler->variant->member.at[0], length);
    const int64_t at = evaluate(lengths, term, length);
    length[i]--;
    const int64_t at_below = evaluate(lengths, term, length);
    term[1 + i] += 2 * (settler->value[0] - below) - (at - at_below);
}

static bool is_right(const Settler *settler, const int64_t *term)
{
    int32_t length[MOST_LENGTHS];
    for (size_t i = 0; i < settler->variant->member.n; i++) {
        const int32_t member = settler->variant->member.at[i];
        lengths_at(settler->lengths, member, length);
        if (evaluate(settler->lengths, term, length) != 2 * settler->value[i])
            return false;
    }
    return true;
}

/* The terms of the polynomial that is right for all members; NULL: there is none. */
static const int64_t *polynomial(const Settler *settler)
{
    const Lengths *lengths = settler->lengths;
    const int n = lengths->n;
    int64_t *term = NEW_ARRAY(lengths->arena, int64_t, lengths_terms(lengths));
    int32_t length[MOST_LENGTHS];
    int64_t *second = term + 1 + n;
    if (!is_moderate(settler))
        return NULL;
    for (int i = 0; i < n; i++)
        for (int k = i; k < n; k++)
            *second++ = second_difference(settler, i, k);
    for (int i = 0; i < n; i++)
        set_slope(settler, term, i);
    lengths_at(lengths, settler->variant->member.at[0], length);
    term[0] = 2 * settler->value[0] - evaluate(lengths, term, length);
    return is_right(settler, term) ? term : NULL;
}

static const int64_t *table_of(const Settler *settler)
{
    const Lengths *lengths = settler->lengths;
    const int64_t count = lengths_combinations(lengths);
    int64_t *table = NEW_ARRAY(lengths->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        if (settler->place[i] >= 0)
            table[i] = settler->value[settler->place[i]];
    return table;
}

static const char *key_of(Arena *arena, const Column *column, int64_t count)
{
    const int64_t *value = column->table ? column->table : column->term;
    const size_t each = 17;
    char *key = arena_buffer(arena, (size_t)count * each + 2);
    key[0] = column->table ? 't' : 'p';
    for (int64_t i = 0; i < count; i++)
        snprintf(key + 1 + (size_t)i * each, each + 1, "%016" PRIx64 " ",
                 (uint64_t)value[i]);
    return key;
}

/* The column of these values, which may be another number's, too. */
static int32_t column_of(Settler *settler)
{
    Lengths *lengths = settler->lengths;
    Column column = { .term = polynomial(settler) };
    int64_t count = lengths_terms(lengths);
    if (!column.term) {
        column.table = table_of(settler);
        count = lengths_combinations(lengths);
    }
    const char *key = key_of(lengths->arena, &column, count);
    const int32_t *had = map_get(&settler->seen, key);
    if (had)
        return *had;
    int32_t *number = NEW(lengths->arena, int32_t);
    *number = (int32_t)lengths->column.n;
    map_put(&settler->seen, key, number);
    VEC_PUSH(lengths->arena, &lengths->column, column);
    return *number;
}

static const OwnConstant *own_constant(const Variant *variant,
                                       NumberPlace place)
{
    for (size_t i = 0; i < variant->own.n; i++) {
        const OwnConstant *own = variant->own.at + i;
        if (own->step == place.step && own->operand == place.place)
            return own;
    }
    return NULL;
}

/* Where the constants of the operand begin, which now have their places. */
static void add_constants(const Settler *settler, NumberPlace place)
{
    const Variant *variant = settler->variant;
    const Operand *operand =
        variant->program->step.at[place.step]->operand + place.place;
    int64_t at;
    if (!operand->tensor)
        return;
    const Tensor *root = tensor_root(operand->tensor, &at);
    if (root->storage != STORE_WEIGHTS)
        return;
    const OwnConstant *own = own_constant(variant, place);
    for (size_t i = 0; i < variant->member.n; i++)
        settler->value[i] += own ? own->tensor.at[i]->offset : root->offset;
}

static void settle_number(void *context, NumberPlace place, int64_t value)
{
    Settler *settler = context;
    Variant *variant = settler->variant;
    bool same = true;
    (void)value;
    for (size_t i = 0; i < variant->member.n; i++)
        settler->value[i] = variant->numbers.at[i][settler->number];
    settler->number++;
    if (place.kind == NUMBER_REF && place.part == REF_OFF)
        add_constants(settler, place);
    for (size_t i = 1; i < variant->member.n; i++)
        same = same && settler->value[i] == settler->value[0];
    if (same)
        return;
    const Following following = { place, column_of(settler) };
    VEC_PUSH(settler->lengths->arena, &variant->follows, following);
}

void lengths_settle(Lengths *lengths)
{
    Arena *arena = lengths->arena;
    const int64_t count = lengths_combinations(lengths);
    uint8_t *variant_of = NEW_ARRAY(arena, uint8_t, count);
    Settler settler = {
        .lengths = lengths,
        .seen = map_new(arena),
        .place = NEW_ARRAY(arena, int32_t, count),
        .value = NEW_ARRAY(arena, int64_t, count),
    };
    for (size_t v = 0; v < lengths->variant.n; v++) {
        settler.variant = lengths->variant.at[v];
        settler.number = 0;
        for (int64_t i = 0; i < count; i++)
            settler.place[i] = -1;
        for (size_t i = 0; i < settler.variant->member.n; i++) {
            settler.place[settler.variant->member.at[i]] = (int32_t)i;
            variant_of[settler.variant->member.at[i]] = (uint8_t)v;
        }
        numbers_each(settler.variant->program, settle_number, &settler);
    }
    lengths->variant_of = variant_of;
}

/* ---- results ---- */

int32_t lengths_dim(const Variant *variant, size_t i, int k)
{
    for (size_t f = variant->follows.n; f-- > 0;) {
        const Following *follows = variant->follows.at + f;
        if (follows->at.kind != NUMBER_DIM)
            break;
        if (follows->at.place == (int32_t)i && follows->at.part == k)
            return follows->column;
    }
    return -1;
}

bool lengths_of_result(const Lengths *lengths, size_t i)
{
    const Graph *graph = lengths->variant.at[0]->program->graph;
    const Shape shape = tensor_model_shape(graph->output.at[i]);
    for (size_t v = 0; v < lengths->variant.n; v++) {
        const Variant *variant = lengths->variant.at[v];
        const Graph *own = variant->program->graph;
        const Shape other = tensor_model_shape(own->output.at[i]);
        if (!shape_equal(&shape, &other))
            return true;
        for (int k = 0; k < shape.rank; k++)
            if (lengths_dim(variant, i, k) >= 0)
                return true;
    }
    return false;
}

/* ---- the stack ---- */

/* The most bytes of parameters, or of operands, of the steps in which such numbers follow. */
static int64_t most_bytes(const Lengths *lengths, NumberKind kind)
{
    size_t most = 0;
    for (size_t v = 0; v < lengths->variant.n; v++) {
        const Variant *variant = lengths->variant.at[v];
        for (size_t i = 0; i < variant->follows.n; i++) {
            const NumberPlace *at = &variant->follows.at[i].at;
            if (at->kind != kind)
                continue;
            const Step *step = variant->program->step.at[at->step];
            const size_t bytes = kind == NUMBER_PARAM
                                     ? step->kernel->params_size
                                     : (size_t)step->n_operand;
            most = bytes > most ? bytes : most;
        }
    }
    return (int64_t)most;
}

int64_t lengths_params(const Lengths *lengths)
{
    return most_bytes(lengths, NUMBER_PARAM);
}

int64_t lengths_refs(const Lengths *lengths)
{
    return most_bytes(lengths, NUMBER_REF);
}

/* Of what a call keeps besides. */
enum { CALL_BYTES = 192 };

int64_t lengths_stack(const Lengths *lengths)
{
    return CALL_BYTES + 8 * ((int64_t)lengths->column.n + 2) +
           lengths_params(lengths) +
           lengths_refs(lengths) * (int64_t)sizeof(inlay_ref);
}
