/* SPDX-License-Identifier: 0BSD
 * Steps for lengths that each run is given. Numbers of a step that follow the lengths (sizes,
 * strides, places, units) are put into a copy of its parameters and operands just before it
 * runs. */
#ifndef INLAY_LENGTHS_H
#define INLAY_LENGTHS_H

#include <string.h>

#include "inlay.h"

/* A number for each combination of lengths: from the table, or half of the sum of the terms: 1,
 * each length, each product of two. */
typedef struct inlay_column {
    const int64_t *table; /* NULL: there is none */
    const int64_t *term;
} inlay_column;

/* Where the number goes: into the units of the step, 4 or 8 bytes of its parameters, a 32-bit
 * number or a size of its operands. */
enum {
    INLAY_TO_UNITS,
    INLAY_TO_PARAM32,
    INLAY_TO_PARAM64,
    INLAY_TO_REF32,
    INLAY_TO_REF_SIZE
};

typedef struct inlay_following {
    uint16_t to;     /* INLAY_TO_... */
    uint16_t column; /* which number */
    uint32_t at;     /* bytes into the parameters, or into the operands */
} inlay_following;

/* What of a step follows: entries from `first` on, up to those of the next step. */
typedef struct inlay_follower {
    uint32_t first;
    /* bytes of its parameters that are copied; 0: they are the same for all */
    uint16_t params;
    uint16_t refs; /* operands that are copied, likewise */
} inlay_follower;

/* Steps that are the same but for numbers. */
typedef struct inlay_variant {
    const inlay_step *step;
    const inlay_follower *follower; /* of each step, and one behind the last */
    const inlay_following *following;
    int32_t steps;
    int32_t first; /* number of its first step, for INLAY_ON_STEP */
} inlay_variant;

/* A length: which combinations it counts, from its least value on. */
typedef struct inlay_length {
    int32_t least, most;
} inlay_length;

typedef struct inlay_lengths {
    const inlay_length *length;
    const inlay_column *column;
    /* of each combination; NULL: all are of the first */
    const uint8_t *variant_of;
    const inlay_variant *variant;
    int32_t lengths, columns;
} inlay_lengths;

/* What a run keeps: room for all numbers, and for the largest copies. */
typedef struct inlay_lengths_room {
    int64_t *number;
    void *params;
    inlay_ref *ref;
} inlay_lengths_room;

/* Which combination it is; -1: a length is out of bounds. */
static inline int32_t inlay_combination(const inlay_lengths *l,
                                        const int32_t *value)
{
    int32_t combination = 0;
    int32_t i = l->lengths;
    while (i-- > 0) {
        const inlay_length *length = l->length + i;
        if (value[i] < length->least || value[i] > length->most)
            return -1;
        combination = combination * (length->most - length->least + 1) +
                      value[i] - length->least;
    }
    return combination;
}

static inline int64_t inlay_polynomial(const int64_t *term, int32_t lengths,
                                       const int32_t *value)
{
    int64_t sum = *term++;
    int32_t i, k;
    for (i = 0; i < lengths; i++)
        sum += *term++ * value[i];
    for (i = 0; i < lengths; i++)
        for (k = i; k < lengths; k++)
            sum += *term++ * value[i] * value[k];
    return sum / 2;
}

static inline void inlay_numbers(const inlay_lengths *l, const int32_t *value,
                                 int32_t combination, int64_t *number)
{
    int32_t i;
    for (i = 0; i < l->columns; i++) {
        const inlay_column *column = l->column + i;
        number[i] = column->table
                        ? column->table[combination]
                        : inlay_polynomial(column->term, l->lengths, value);
    }
}

static inline void inlay_put_number(const inlay_following *following,
                                    int64_t number, inlay_step *step,
                                    const inlay_lengths_room *room)
{
    unsigned char *param = (unsigned char *)room->params + following->at;
    unsigned char *ref = (unsigned char *)(void *)room->ref + following->at;
    const int32_t narrow = (int32_t)number;
    const size_t size = (size_t)number;
    switch (following->to) {
    case INLAY_TO_UNITS:
        step->units = narrow;
        break;
    case INLAY_TO_PARAM32:
        memcpy(param, &narrow, sizeof narrow);
        break;
    case INLAY_TO_PARAM64:
        memcpy(param, &number, sizeof number);
        break;
    case INLAY_TO_REF32:
        memcpy(ref, &narrow, sizeof narrow);
        break;
    default:
        memcpy(ref, &size, sizeof size);
        break;
    }
}

/* Step i as it is for these numbers. */
static inline inlay_step inlay_following_step(const inlay_variant *v,
                                              const inlay_lengths_room *room,
                                              int32_t i)
{
    const inlay_follower *follower = v->follower + i;
    inlay_step step = v->step[i];
    uint32_t k;
    if (follower->params) {
        memcpy(room->params, step.params, follower->params);
        step.params = room->params;
    }
    if (follower->refs) {
        memcpy(room->ref, step.ref, follower->refs * sizeof *step.ref);
        step.ref = room->ref;
    }
    for (k = follower->first; k < follower[1].first; k++) {
        const inlay_following *following = v->following + k;
        inlay_put_number(following, room->number[following->column], &step,
                         room);
    }
    return step;
}

/* Which variant runs for the lengths. */
static inline int inlay_variant_at(const inlay_lengths *l, const int32_t *value)
{
    const int32_t combination = inlay_combination(l, value);
    return l->variant_of && combination >= 0 ? l->variant_of[combination] : 0;
}

/* Runs all steps for the lengths. 0 or INLAY_E_... */
static inline int inlay_run_lengths(const inlay_lengths *l,
                                    const int32_t *value,
                                    const inlay_lengths_room *room,
                                    void *const *base)
{
    const int32_t combination = inlay_combination(l, value);
    const inlay_variant *v;
    int32_t i = 0;
    if (combination < 0)
        return INLAY_E_SHAPE;
    v = l->variant + inlay_variant_at(l, value);
    inlay_numbers(l, value, combination, room->number);
    while (i < v->steps) {
        const inlay_step step = inlay_following_step(v, room, i);
        const int r = step.run(base, &step, 0, step.units);
        INLAY_ON_STEP(v->first + i);
        if (r < 0)
            return -r;
        i = r ? r - 1 : i + 1;
    }
    return INLAY_OK;
}

#endif
